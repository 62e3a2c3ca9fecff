"""The picture of what changes with the size of the data."""

from collections.abc import Iterable, Mapping
from math import ceil, floor, log2

from matplotlib.axes import Axes

from .axes import around, in_bytes, set_log_scale
from .colours import GREY, looks_of
from .style import add_legend, new_axes, with_alt
from .words import joined


def plot_curves(
    curves: dict[str, Iterable[tuple[float, float]]],
    ylabel: str,
    xlabel: str = "size",
    marks: Mapping[str, float] = {},
) -> Axes:
    """Draw curves over a size in bytes; both axes are logarithmic.

    `curves` maps a label to points (bytes, value), numbers above 0, the smallest size first.
    `marks` maps texts to sizes: a dotted line at each that lies on the picture. The alternative
    text doesn't name them: another machine may have other ones, or none.
    """
    ax = new_axes(8, 4, xlabel=xlabel, ylabel=ylabel)
    for label, look in looks_of(curves).items():
        ax.plot(*zip(*curves[label], strict=True), label=label, markersize=5, linewidth=2, **look)
    sizes, values = ax.dataLim.intervalx, ax.dataLim.intervaly
    set_log_scale(ax.yaxis, *around(values))
    powers = range(ceil(log2(sizes[0])), floor(log2(sizes[1])) + 1)
    ticks = [2.0**power for power in powers[:: ceil(len(powers) / 8) or 1]]
    set_log_scale(ax.xaxis, *around(sizes), ticks, in_bytes)
    low, high = ax.get_xlim()
    for text, size in marks.items():
        if low < size < high:
            ax.axvline(size, color=GREY, linewidth=1.5, linestyle=":", zorder=1)
            place = dict(transform=ax.get_xaxis_transform(), ha="center", va="bottom")
            ax.text(size, 1.01, text, fontsize=12, **place)
    if len(curves) > 1:
        add_legend(ax, "beside")
    alt = f"""Curves over the {xlabel}, from {in_bytes(sizes[0])} to {in_bytes(sizes[1])}, with
        {ylabel} upwards, both axes logarithmic: {joined(curves)}. Dotted lines mark sizes, as far
        as they are known."""
    return with_alt(ax, alt)
