"""Pictures of speed-ups and other ratios of two times.

Their axes are logarithmic: half and double are equally far from 1. Explained in notebook 05, the
dates in notebook 04; statistics calls the picture of speed-ups with their intervals a forest
plot.
"""

from collections.abc import Iterable, Sequence
from itertools import cycle
from math import inf, log, sqrt

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullLocator

from .style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    dress,
    listed,
    new_axes,
    say,
)

COLOUR_OF = {"faster": BLUE, "slower": RED, "as good as equal": GREEN}
COLOUR_OF["no clear difference"] = GREY
# The marks of an axis, and 1 / each of them
TICKS = (1.001, 1.002, 1.005, 1.01, 1.02, 1.05, 1.1, 1.25, 1.5, 2, 3, 5)
TICKS += (10, 20, 50, 100, 200, 500, 1000)

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
    farthest = _farthest([value for values in rows.values() for value in values])
    _set_scale(ax.xaxis, 1 / farthest, farthest)
    ax.set_yticks(range(len(rows)), list(rows))
    ax.set_ylim(len(rows) - 0.5, -0.5)
    label = "\u2190 second faster      second time / first time      second slower \u2192"
    dress(ax, label, title=title)
    name = f"{title}: ratios" if title else "Ratios"
    say(
        ax,
        f"{name} of two times as dots around a line at 1, on a logarithmic axis. "
        f"The rows: {listed(rows)}.",
    )
    return ax


def plot_pairs(ratios: Sequence[float], low: float, high: float) -> Axes:
    """Draw the ratio of each round as a dot, and the interval of their median as a band.

    The band reaches from `low` to `high`. The picture shows the middle eighty per cent of the
    dots, or less where the band would else be too thin to be seen; all others are small triangles
    at its edge.
    """
    ax = new_axes(9, 3)
    ordered, far = sorted(ratios), len(ratios) // 10
    middle, reach = sqrt(low * high), (high / low) ** 6
    bottom = min(max(ordered[far], middle / reach), low, 1) / 1.002
    top = max(min(ordered[-1 - far], middle * reach), high, 1) * 1.002
    rounds = range(1, len(ratios) + 1)
    ax.plot(rounds, ratios, ".", color=BLUE, markersize=5, alpha=0.6)
    for edge, marker, is_beyond in ((top, "^", top.__lt__), (bottom, "v", bottom.__gt__)):
        beyond = [at for at, ratio in zip(rounds, ratios, strict=True) if is_beyond(ratio)]
        ax.plot(beyond, [edge] * len(beyond), marker, color=SKY, markersize=4, clip_on=False)
    ax.axhspan(low, high, color=ORANGE, alpha=0.75, zorder=3, label="95 % interval of the median")
    ax.axhline(1, color=BLACK, linewidth=1.2, linestyle="--", zorder=4)
    _set_scale(ax.yaxis, bottom, top)
    ax.legend(fontsize=12, frameon=False, loc="lower right", bbox_to_anchor=(1, 1))
    dress(ax, "round", "ratio of its two times", sides=("left", "bottom"))
    say(
        ax,
        "The ratio of the two times of each round as a dot, round by round, on a logarithmic "
        "axis, with a dashed line at 1 and a band for the 95 % interval of the median. "
        "The farthest dots are triangles at the edge.",
    )
    return ax


def plot_speedups(
    speedups: dict[str, Speedup],
    baseline: str,
    grey_zone: float,
    launches: dict[str, Sequence[tuple[float, float, float]]] | None = None,
) -> Axes:
    """Draw speed-ups over a baseline, whose own speed-up is 1, as dots with their intervals.

    `speedups` maps each label but the baseline's to (speed-up, low, high, verdict). The interval
    reaches from `low` to `high`, 0 and infinity where it has no bounds. The verdict is 'faster',
    'slower', 'as good as equal' or 'no clear difference'. `baseline` is the baseline's label. A
    grey band reaches from 1 / `grey_zone` to `grey_zone`: the noise floor and the smallest
    effect. An interval that touches the band is neither faster nor slower.

    `launches` maps each label to the (speed-up, low, high) of each launch, if there were several.
    They are drawn below the interval that follows from them, as thin bars: how long these are
    shows the scatter within a launch, and how far they lie apart that between launches.
    """
    launches = launches or {}
    several = max(map(len, launches.values()), default=0)
    ax = new_axes(8, 1.2 + (0.55 + 0.1 * several) * len(speedups))
    shown = [*speedups.values(), *((*each, "") for bars in launches.values() for each in bars)]
    farthest = _farthest_of(shown)
    edge = min(grey_zone, 1e6)  # matplotlib cannot draw an infinite band
    ax.axvspan(1 / edge, edge, color="#EEEEEE", linewidth=0)
    ax.axvline(1, color=GREY, linewidth=1.5)
    for row, (label, (speedup, low, high, verdict)) in enumerate(speedups.items()):
        ends = [max(low, 1 / farthest), min(high, farthest)]
        colour = COLOUR_OF[verdict]
        ax.plot(ends, [row, row], color=colour, linewidth=3, solid_capstyle="butt")
        ax.plot(speedup, row, "o", color=colour, markersize=9)
        _draw_launches(ax, row, launches.get(label, ()), farthest)
        ax.annotate(
            f"{speedup:.2f}  {verdict}",
            xy=(1, row),
            xycoords=("axes fraction", "data"),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=12,
        )
    _set_scale(ax.xaxis, 1 / farthest, farthest)
    ax.set_yticks(range(len(speedups)), list(speedups))
    ax.set_ylim(len(speedups) - (0.15 if several else 0.5), -0.3 if several else -0.5)
    dress(ax, f"\u2190 slower      speed-up over {baseline}      faster \u2192")
    say(
        ax,
        f"Speed-ups over {baseline} as dots with their intervals, on a logarithmic axis, around "
        "a line at 1 and a grey band of what cannot be told from it. "
        + ("Below each, its launches as thin bars. " if launches else "")
        + f"The rows, each with its verdict: {listed(speedups)}.",
    )
    return ax


def _draw_launches(ax, row, launches, farthest):
    """A thin bar for each launch, one below the other, between its row and the next."""
    for i, (speedup, low, high) in enumerate(launches):
        y = row + 0.15 + 0.6 * i / len(launches)
        ends = [max(low, 1 / farthest), min(high, farthest)]
        ax.plot(ends, [y, y], color=BLACK, linewidth=1, solid_capstyle="butt")
        ax.plot(speedup, y, "o", color=BLACK, markersize=3)


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
        faces = [colour if verdict in ("faster", "slower") else "white" for verdict in verdicts]
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
        )
    _set_scale(ax.yaxis, 1 / farthest, farthest)
    ax.set_xticks(sizes, [f"{n:.15g}" for n in sizes])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.legend(fontsize=12, frameon=False)
    dress(ax, "size", f"speed-up over {baseline}")
    say(
        ax,
        f"Speed-ups over {baseline} at the sizes {listed(f'{n:.15g}' for n in sizes)}, both axes "
        "logarithmic, around a line at 1. A line with a band for its intervals, filled dots where "
        f"the verdict is clear, for each of: {listed(speedups)}.",
    )
    return ax


def plot_published(ratios: Iterable[tuple[str, float, str]]) -> Axes:
    """Draw published speed-ups as dots over their dates; a line marks where nothing is gained.

    `ratios` are (date, speed-up, label). The date is '2019', '2019-05' or '2019-05-17'. Above 1
    the compiled program was the faster one. The label stands above or below the dot; '' for none.
    """
    found = [(_year(date), ratio, label) for date, ratio, label in ratios]
    ax = new_axes(9, 3.6)
    ax.axhline(1, color=GREY, linewidth=1.5)
    for at, ratio, label in found:
        colour = BLUE if ratio > 1 else RED if ratio < 1 else GREY
        ax.plot(at, ratio, "o", color=colour, markersize=7, alpha=0.7)
        ax.annotate(
            label,
            xy=(at, ratio),
            xytext=(0, 7 if ratio > 1 else -7),  # away from the line
            textcoords="offset points",
            ha="center",
            va="bottom" if ratio > 1 else "top",
            fontsize=12,
        )
    farthest = _farthest([ratio for _, ratio, _ in found])
    _set_scale(ax.yaxis, 1 / farthest, farthest)
    years = [at for at, _, _ in found]
    ax.set_xlim(min(years) - 0.3, max(years) + 0.3)
    ax.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    ax.xaxis.set_major_formatter("{x:.0f}")
    dress(ax, "date", "published speed-up", sides=("left", "bottom"))
    above, below = (sum(sign * ratio > sign for _, ratio, _ in found) for sign in (1, -1))
    labels = [label for _, _, label in found if label]
    say(
        ax,
        f"{len(found)} published speed-ups as dots over the years {int(min(years))} to "
        f"{int(max(years))}, on a logarithmic axis: {above} above the line at 1, {below} below. "
        + (f"Labelled: {listed(labels)}." if labels else ""),
    )
    return ax


def _year(date):
    """A date as a year with its fraction: the middle of the year, the month or the day."""
    year, month, day, *_ = [*map(int, str(date).split("-")), None, None]
    if month is None:
        return year + 0.5
    return year + (month - 1 + (0.5 if day is None else (day - 0.5) / 31)) / 12


def _farthest(ratios):
    """How far from 1, as a ratio, the axis must reach to show all ratios."""
    return max(1.02, *ratios, *[1 / ratio for ratio in ratios]) ** 1.15


def _farthest_of(speedups):
    """How far from 1 the axis must reach to show all speed-ups, and the bounds that there are."""
    numbers = [number for *numbers, _ in speedups for number in numbers]
    return _farthest([number for number in numbers if 0 < number < inf])


def _set_scale(axis, low, high):
    """Make an axis that has 1 on it logarithmic."""
    name = axis.axis_name  # 'x' or 'y'
    axis.axes.set(**{f"{name}scale": "log", f"{name}lim": (low, high)})
    up, down = [1], [1]
    for ticks, end in ((up, high), (down, 1 / low)):
        for tick in TICKS:  # outwards, leaving out what would run into the one before
            if tick < end and log(tick / ticks[-1]) > 0.1 * log(high / low):
                ticks.append(tick)
    ticks = [1 / tick for tick in down[:0:-1]] + up
    axis.set_ticks(ticks, [_three_digits(tick) for tick in ticks])
    axis.set_minor_locator(NullLocator())


def _three_digits(tick):
    """A mark of an axis, in two digits below 1 unless these would make it 1."""
    return f"{tick:.2g}" if tick < 0.985 else f"{tick:.4g}" if tick > 1 else f"{tick:.3g}"
