"""Pictures of training: what changes with its steps.

Explained in notebook 19.
"""

from collections.abc import Iterable

from matplotlib.axes import Axes

from .colours import GREY, looks_of
from .style import add_legend, joined, new_axes, with_alt

MOST_MARKS = 30  # on a line


def plot_steps(lines: dict[str, Iterable[float]], ylabel: str) -> Axes:
    """Draw a value over the steps of training, a line for each label.

    `lines` maps a label to a value for each step, from step 0 on. If some are above 0 and some
    below, a thin line marks 0.
    """
    lines = {label: list(values) for label, values in lines.items()}
    every = -(-max(map(len, lines.values())) // MOST_MARKS)
    ax = new_axes(8, 4, xlabel="step", ylabel=ylabel)
    for label, look in looks_of(lines).items():
        ax.plot(lines[label], markersize=5, markevery=every, linewidth=2, label=label, **look)
    low, high = ax.dataLim.intervaly
    if low < 0 < high:
        ax.axhline(0, color=GREY, linewidth=1, zorder=1)
    add_legend(ax, "beside")
    return with_alt(ax, f"Lines over the step, with {ylabel} upwards: {joined(lines)}.")
