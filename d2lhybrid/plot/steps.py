"""Pictures of training: what changes with its steps.

Explained in notebook 19.
"""

from collections.abc import Iterable
from itertools import cycle

from matplotlib.axes import Axes

from .style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, dress, listed, new_axes, say

MOST_MARKS = 30  # on a line


def plot_steps(
    lines: dict[str, Iterable[float]],
    ylabel: str,
    xlabel: str = "step",
) -> Axes:
    """Draw a value over the steps of training, a line for each label.

    `lines` maps a label to a value for each step, from step 0 on. If some are above 0 and some
    below, a thin line marks 0.
    """
    lines = {label: list(values) for label, values in lines.items()}
    steps = max(map(len, lines.values()))
    ax = new_axes(8, 4)
    looks = zip(cycle([BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK]), cycle("os^Dvpd"))
    for (label, values), (colour, marker) in zip(lines.items(), looks, strict=False):
        look = dict(color=colour, marker=marker, markersize=5, linewidth=2)
        ax.plot(values, label=label, markevery=-(-steps // MOST_MARKS), **look)
    shown = [value for values in lines.values() for value in values]
    if min(shown) < 0 < max(shown):
        ax.axhline(0, color=GREY, linewidth=1, zorder=1)
    if len(lines) > 1:
        ax.legend(fontsize=12, frameon=False, loc="upper left", bbox_to_anchor=(1, 0.95))
    dress(ax, xlabel, ylabel, sides=("left", "bottom"))
    say(ax, f"Lines over the {xlabel}, with {ylabel} upwards: {listed(lines)}.")
    return ax
