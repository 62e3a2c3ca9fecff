"""The picture of what a machine can do at most, and how close a program comes.

Explained in notebook 21. Williams, Waterman and Patterson, "Roofline: an insightful visual
performance model for multicore architectures", Communications of the ACM, 2009.
"""

from collections.abc import Mapping
from itertools import chain
from math import log10

from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.ticker import LogLocator, NullLocator

from .axes import two_digits
from .colours import BLACK, GREY, looks_of
from .style import add_legend, new_axes, with_alt, write
from .words import joined

SHAPE = 1.75  # so many times as wide as high


def plot_roofline(
    peak: float,
    bandwidths: Mapping[str, float],
    points: Mapping[str, Mapping[object, tuple[float, float]]],
) -> Axes:
    """Draw programs as dots, and the roof that arithmetic and memory put over them.

    A program that does x operations with each byte that it reads or writes can't do more than x
    times the bandwidth operations a second, a slope of the roof, nor more than `peak`, its flat
    part. `peak` is in GFLOP/s, `bandwidths` are in GB/s, by name.

    `points` maps a label to a dict from a size, such as the rows of a batch, to (FLOP per byte,
    GFLOP/s). A line joins them in their order; the size stands once, below the lowest of its dots.
    A power of ten has the same length on both axes.
    """
    ax = new_axes(8, 5, xlabel="FLOP per byte", ylabel="GFLOP/s", xscale="log", yscale="log")
    xs, ys = zip(*(dot for line in points.values() for dot in line.values()), strict=True)
    slowest, fastest = min(bandwidths.values()), max(bandwidths.values())
    left, right = min(*xs, peak / fastest) / 8, max(*xs, peak / slowest) * 2.5
    bottom, top = min(slowest * left * 3, *ys) / 2.5, max(peak, *ys) * 2.5
    wide, high = log10(right / left), log10(top / bottom)
    more = 10 ** max(0, (SHAPE * high - wide) / 2)  # to the left, and to the right
    left, right, bottom = left / more, right * more, bottom / 10 ** max(0, wide / SHAPE - high)
    outside = left / 1e6
    ax.plot([peak / fastest, 1e6 * right], [peak, peak], color=BLACK, linewidth=2)
    _label(ax, f"peak: {two_digits(peak)} GFLOP/s", (right, peak), (-4, 4), ha="right", va="bottom")
    for name, rate in bandwidths.items():
        colour = BLACK if rate == slowest else GREY
        ax.plot([outside, peak / rate], [outside * rate, peak], color=colour, linewidth=2)
        start = max(left, bottom / rate) * 1.15  # where the line comes into the picture
        look = dict(rotation=45, rotation_mode="anchor", ha="left", va="bottom")
        _label(ax, f"{name}: {two_digits(rate)} GB/s", (start, start * rate), (-2, 4), **look)
    for label, look in looks_of(points).items():
        look |= dict(markersize=8, linewidth=1.5, label=label, zorder=3)
        ax.plot(*zip(*points[label].values(), strict=True), **look)
    written = []
    for text in dict.fromkeys(chain(*points.values())):
        dots = [line[text] for line in points.values() if text in line]
        x, y = min(dots, key=lambda dot: dot[1])
        near = sum(x < 1.6 * u and 0.6 < y / v < 1.6 for u, v in written)
        written.append((x, y))
        _label(ax, text, (x, y), (0, -8 - 14 * near), ha="center", va="top")  # a line each

    # widened at one side where the picture has room, so that the slopes rise at 45 degrees
    ax.set_xlim(left, right, auto=True)
    ax.set_ylim(bottom, top, auto=True)
    ax.set_aspect("equal", adjustable="datalim")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set(major_locator=LogLocator(), minor_locator=NullLocator())
        axis.set_major_formatter("{x:,.12g}")
    add_legend(ax, "above")
    lines = [f"{label} ({joined(map(str, line))})" for label, line in points.items()]
    alt = f"""A roof over two logarithmic axes, FLOP per byte from left to right and GFLOP/s
        upwards: it rises with the bandwidth of {joined(bandwidths)}, and is flat at the peak. With
        it, the dots of {joined(lines)}."""
    return with_alt(ax, alt)


def _label(ax, text, at, offset, **look):
    """Write beside a place, on white where a line runs below the letters."""
    halo = [withStroke(linewidth=3, foreground="white")]
    write(ax, str(text), at, offset, path_effects=halo, zorder=4, **look)
