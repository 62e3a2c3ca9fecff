"""Pictures of ratios of two times. Their axes are logarithmic: half and double are equally far.

Explained in notebook 05; statistics calls the picture of speed-ups with their intervals a forest
plot.
"""

from collections.abc import Iterable, Sequence
from itertools import cycle
from math import inf, log

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from .style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, dress, new_axes

COLOUR_OF = {"faster": BLUE, "slower": RED, "no clear difference": GREY}
TICKS = (1.02, 1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)  # and 1 / these

Speedup = tuple[float, float, float, str]  # speed-up, both ends of its interval, verdict


def plot_ratios(ratios: dict[str, Iterable[float]], title: str = "") -> Axes:
    """Draw ratios of two times as dots, a row for each label; a line marks where both are equal.

    `ratios` maps a label to numbers: the second time divided by the first. Above 1 the second
    was slower.
    """
    ax = new_axes(8, 1.1 + 0.55 * len(ratios))
    ax.axvline(1, color=GREY, linewidth=1.5)
    rows = {label: list(values) for label, values in ratios.items()}
    for row, (values, colour) in enumerate(zip(rows.values(), cycle([BLUE, RED]), strict=False)):
        ax.plot(values, [row] * len(values), "o", color=colour, markersize=9, alpha=0.55)
    _set_scale(ax.xaxis, _farthest([value for values in rows.values() for value in values]))
    ax.set_yticks(range(len(rows)), list(rows))
    ax.set_ylim(len(rows) - 0.5, -0.5)
    label = "\u2190 second faster      second time / first time      second slower \u2192"
    dress(ax, label, title=title)
    return ax


def plot_pairs(ratios: Sequence[float], low: float, high: float) -> Axes:
    """Draw the ratio of each round as a dot, and the interval of their median as a band.

    The band reaches from `low` to `high`. Some of the farthest dots are outside the picture.
    """
    ax = new_axes(9, 3)
    ax.axhline(1, color=GREY, linewidth=1.5)
    ax.plot(range(1, len(ratios) + 1), ratios, ".", color=BLUE, markersize=4, alpha=0.6)
    ax.axhspan(low, high, color=ORANGE, alpha=0.7, label="95 % interval of the median")
    ordered = sorted(ratios)
    far = len(ordered) // 20  # the farthest five per cent on each side would hide the rest
    ax.set_ylim(min(ordered[far], low, 1) / 1.01, max(ordered[-1 - far], high, 1) * 1.01)
    ax.legend(fontsize=12, frameon=False, loc="lower right", bbox_to_anchor=(1, 1))
    dress(ax, "round", "ratio of its two times", sides=("left", "bottom"))
    return ax


def plot_speedups(speedups: dict[str, Speedup], baseline: str, grey_zone: float) -> Axes:
    """Draw speed-ups over a baseline, whose own speed-up is 1, as dots with their intervals.

    `speedups` maps each label but the baseline's to (speed-up, low, high, verdict). The interval
    reaches from `low` to `high`, 0 and infinity where it has no bounds. The verdict is 'faster',
    'slower' or 'no clear difference'. `baseline` is the baseline's label. A grey band reaches
    from 1 / `grey_zone` to `grey_zone`: the noise floor and the smallest effect. An interval that
    touches the band is no clear difference.
    """
    ax = new_axes(8, 1.2 + 0.55 * len(speedups))
    farthest = _farthest_of(speedups.values())
    edge = min(grey_zone, 1e6)  # matplotlib cannot draw an infinite band
    ax.axvspan(1 / edge, edge, color="#EEEEEE", linewidth=0)
    ax.axvline(1, color=GREY, linewidth=1.5)
    for row, (speedup, low, high, verdict) in enumerate(speedups.values()):
        ends = [max(low, 1 / farthest), min(high, farthest)]
        colour = COLOUR_OF[verdict]
        ax.plot(ends, [row, row], color=colour, linewidth=3, solid_capstyle="butt")
        ax.plot(speedup, row, "o", color=colour, markersize=9)
        ax.annotate(
            f"{speedup:.2f}  {verdict}",
            xy=(1, row),
            xycoords=("axes fraction", "data"),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=12,
            color=colour,
        )
    _set_scale(ax.xaxis, farthest)
    ax.set_yticks(range(len(speedups)), list(speedups))
    ax.set_ylim(len(speedups) - 0.5, -0.5)
    dress(ax, f"\u2190 slower      speed-up over {baseline}      faster \u2192")
    return ax


def plot_speedups_by_size(
    sizes: Sequence[float],
    speedups: dict[str, Sequence[Speedup]],
    baseline: str,
    crossings: Iterable[tuple[str, float, str]] = (),
) -> Axes:
    """Draw speed-ups over the size: for each label a line, with its intervals as a band.

    `sizes` are numbers above 0, the smallest first. `speedups` maps each label but the baseline's
    to (speed-up, low, high, verdict) for each size, as `plot_speedups` takes them; `baseline` is
    the baseline's label. A dot is filled where its verdict is clear. `crossings` are (label, size,
    text): a dotted line in the label's colour, with the text beside it, shows where a candidate
    becomes faster than the baseline, or slower.
    """
    ax = new_axes(8, 4.5)
    farthest = _farthest_of(point for line in speedups.values() for point in line)
    ax.axhline(1, color=GREY, linewidth=1.5)
    ax.set_xscale("log", base=2)
    palette = cycle([BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK])
    colours = dict(zip(speedups, palette, strict=False))
    for label, line in speedups.items():
        colour = colours[label]
        middles, lows, highs, verdicts = zip(*line, strict=True)
        lows = [max(low, 1 / farthest) for low in lows]
        highs = [min(high, farthest) for high in highs]
        faces = ["white" if verdict == "no clear difference" else colour for verdict in verdicts]
        ax.fill_between(sizes, lows, highs, color=colour, alpha=0.25, linewidth=0)
        ax.plot(sizes, middles, color=colour, linewidth=2, label=label)
        ax.scatter(sizes, middles, s=45, c=faces, edgecolors=colour, zorder=3)
    for label, at, text in crossings:
        ax.axvline(at, color=colours[label], linewidth=1.5, linestyle=":")
        ax.annotate(
            text,
            xy=(at, 0),
            xycoords=("data", "axes fraction"),
            xytext=(4, 4),
            textcoords="offset points",
            fontsize=12,
            color=colours[label],
        )
    _set_scale(ax.yaxis, farthest)
    ax.set_xticks(sizes, [f"{n:.15g}" for n in sizes])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.legend(fontsize=12, frameon=False)
    dress(ax, "size", f"speed-up over {baseline}")
    return ax


def _farthest(ratios):
    """How far from 1, as a ratio, the axis must reach to show all ratios."""
    return 1.1 * max(1.1, *ratios, *[1 / ratio for ratio in ratios])


def _farthest_of(speedups):
    """How far from 1 the axis must reach to show all speed-ups, and the bounds that there are."""
    numbers = [number for *numbers, _ in speedups for number in numbers]
    return _farthest([number for number in numbers if 0 < number < inf])


def _set_scale(axis, farthest):
    """Make an axis logarithmic, as far to one side of 1 as to the other."""
    ticks = [1]
    for tick in TICKS:  # outwards, leaving out what would run into the one before
        if tick < farthest and log(tick / ticks[-1]) > 0.2 * log(farthest):
            ticks.append(tick)
    ticks = [1 / tick for tick in ticks[:0:-1]] + ticks
    name = axis.axis_name  # 'x' or 'y'
    axis.axes.set(**{f"{name}scale": "log", f"{name}lim": (1 / farthest, farthest)})
    axis.set_ticks(ticks, [f"{tick:.2g}" if tick < 1 else f"{tick:g}" for tick in ticks])
    axis.set_minor_locator(NullLocator())
