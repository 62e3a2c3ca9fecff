"""Pictures of what changes with the size of the data: steps where a memory is full.

Explained in notebook 17.
"""

from collections.abc import Iterable, Mapping
from itertools import cycle
from math import ceil, floor, log2

from matplotlib.axes import Axes

from .style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, dress, listed, new_axes, say
from .times import _plain, _set_log_scale

BYTES = ("bytes", "KiB", "MiB", "GiB", "TiB")


def plot_curves(
    curves: dict[str, Iterable[tuple[float, float]]],
    ylabel: str,
    xlabel: str = "size",
    marks: Mapping[str, float] | None = None,
) -> Axes:
    """Draw curves over a size in bytes; both axes are logarithmic.

    `curves` maps a label to points (bytes, value), numbers above 0, the smallest size first.
    `marks` maps texts to sizes: a dotted line at each that lies on the picture, with the text
    above it. The text for those who cannot see the picture doesn't name them: another machine may
    have other ones, or none.
    """
    curves = {label: list(points) for label, points in curves.items()}
    ax = new_axes(8, 4)
    looks = zip(cycle([BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK]), cycle("os^Dvpd"))
    for (label, points), (colour, marker) in zip(curves.items(), looks, strict=False):
        look = dict(color=colour, marker=marker, markersize=5, linewidth=2)
        ax.plot(*zip(*points, strict=True), label=label, **look)
    sizes, values = zip(*(point for points in curves.values() for point in points), strict=True)
    _set_log_scale(ax.yaxis, values, _plain)
    _set_log_scale(ax.xaxis, sizes, _bytes)
    ticks = _powers_of_two(min(sizes), max(sizes))
    ax.set_xticks(ticks, [_bytes(tick) for tick in ticks])
    low, high = ax.get_xlim()
    for text, size in (marks or {}).items():
        if low < size < high:
            ax.axvline(size, color=GREY, linewidth=1.5, linestyle=":", zorder=1)
            place = dict(transform=ax.get_xaxis_transform(), ha="center", va="bottom")
            ax.text(size, 1.01, text, fontsize=12, **place)
    if len(curves) > 1:
        ax.legend(fontsize=12, frameon=False, loc="upper left", bbox_to_anchor=(1, 0.95))
    dress(ax, xlabel, ylabel, sides=("left", "bottom"))
    marked = " Dotted lines mark sizes, as far as they are known." if marks is not None else ""
    say(
        ax,
        f"Curves over the {xlabel}, from {_bytes(min(sizes))} to {_bytes(max(sizes))}, with "
        f"{ylabel} upwards, both axes logarithmic: {listed(curves)}.{marked}",
    )
    return ax


def _powers_of_two(low, high, most=8):
    """Powers of two from `low` to `high`, equally far from each other on a logarithmic axis."""
    first, last = ceil(log2(low)), floor(log2(high))
    step = max(1, ceil((last - first + 1) / most))
    return [2.0**power for power in range(first, last + 1, step)]


def _bytes(size):
    """A number of bytes in a fitting unit: 48 KiB."""
    power = min(max(0, floor(log2(size) / 10)), len(BYTES) - 1)
    return f"{_plain(round(size / 1024**power, 2))} {BYTES[power]}"
