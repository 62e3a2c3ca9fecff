"""Pictures of speed-ups and other ratios of two times.

Their axes are logarithmic: half and double are equally far from 1. Explained in notebook 06.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from itertools import chain
from math import inf, sqrt

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullLocator

from ..benchmark.statistics import EQUAL, FASTER, SLOWER, UNCLEAR
from .axes import set_ratio_scale
from .colours import BLACK, BLUE, GREEN, GREY, ORANGE, RED, SKY, colours_of
from .style import add_legend, label_rows, new_axes, with_alt, write, write_beside
from .words import joined

COLOUR_OF = {FASTER: BLUE, SLOWER: RED, EQUAL: GREEN, UNCLEAR: GREY}

Speedup = tuple[float, float, float, str]  # speed-up, both ends of its interval, verdict


def plot_ratios(ratios: dict[str, Sequence[float]], title: str = "") -> Axes:
    """Draw ratios, the second time divided by the first, as dots in a row for each label."""
    xlabel = "\u2190 second faster      second time / first time      second slower \u2192"
    ax = new_axes(8, 1.1 + 0.55 * len(ratios), xlabel=xlabel, title=title)
    _scale_around_one(ax, "x", chain(*ratios.values()))
    for row, values in enumerate(ratios.values()):
        look = dict(color=(BLUE, RED)[row % 2], markersize=9, alpha=0.55)
        ax.plot(values, [row] * len(values), "o", **look)
    label_rows(ax, ratios)
    name = f"{title}: ratios" if title else "Ratios"
    alt = "of two times as dots around a line at 1, on a logarithmic axis"
    return with_alt(ax, f"{name} {alt}. The rows: {joined(ratios)}.")


def plot_pairs(ratios: Sequence[float], low: float, high: float) -> Axes:
    """Draw the ratio of each round as a dot, and the interval of their median as a band.

    The picture shows the middle eighty per cent of the dots, or less where the band would else be
    too thin to be seen; all others are small triangles at its edge.
    """
    ax = new_axes(9, 3, xlabel="round", ylabel="ratio of its two times")
    ordered, far = sorted(ratios), len(ratios) // 10
    middle, reach = sqrt(low * high), (high / low) ** 6
    bottom = min(max(ordered[far], middle / reach), low, 1) / 1.002
    top = max(min(ordered[-1 - far], middle * reach), high, 1) * 1.002
    rounds = range(1, len(ratios) + 1)
    ax.plot(rounds, ratios, ".", color=BLUE, markersize=5, alpha=0.6)
    for edge, marker, sign in ((top, "^", 1), (bottom, "v", -1)):
        beyond = [at for at in rounds if sign * ratios[at - 1] > sign * edge]
        ax.plot(beyond, [edge] * len(beyond), marker, color=SKY, markersize=4, clip_on=False)
    ax.axhspan(low, high, color=ORANGE, alpha=0.75, zorder=3, label="95 % interval of the median")
    ax.axhline(1, color=BLACK, linewidth=1.2, linestyle="--", zorder=4)
    set_ratio_scale(ax.yaxis, bottom, top)
    add_legend(ax, "above, right")
    alt = """The ratio of the two times of each round as a dot, round by round, on a logarithmic
        axis, with a dashed line at 1 and a band for the 95 % interval of the median. The farthest
        dots are triangles at the edge."""
    return with_alt(ax, alt)


def plot_speedups(
    speedups: dict[str, Speedup],
    baseline: str,
    grey_zone: float,
    launches: Mapping[str, Sequence[tuple[float, float, float]]] = {},
) -> Axes:
    """Draw speed-ups over a baseline as dots with their intervals, a forest plot.

    `speedups` maps each label but the baseline's to (speed-up, low, high, verdict), `low` 0 and
    `high` infinity where the interval has no bounds. A grey band reaches from 1 / `grey_zone` to
    `grey_zone`: an interval that touches it is not clearly faster or slower. `launches` maps each
    label to the (speed-up, low, high) of each launch, if there were several: thin bars below.
    """
    several = max(map(len, launches.values()), default=0)
    xlabel = f"\u2190 slower      speed-up over {baseline}      faster \u2192"
    ax = new_axes(8, 1.2 + (0.55 + 0.1 * several) * len(speedups), xlabel=xlabel)
    edge = min(grey_zone, 1e6)  # matplotlib cannot draw an infinite band
    ax.axvspan(1 / edge, edge, color="#EEEEEE", linewidth=0)
    bars = []
    for row, (label, (*numbers, verdict)) in enumerate(speedups.items()):
        write_beside(ax, 1, row, f"{numbers[0]:.2f}  {verdict}", 8, va="center")
        bars.append((row, COLOUR_OF[verdict], 3, *numbers))
        for i, launch in enumerate(launches.get(label, ())):  # between its row and the next
            bars.append((row + 0.15 + 0.6 * i / several, BLACK, 1, *launch))
    farthest = _scale_around_one(ax, "x", [number for bar in bars for number in bar[3:]])
    for row, colour, width, speedup, low, high in bars:
        ends = [max(low, 1 / farthest), min(high, farthest)]  # or the edge of the picture
        ax.plot(ends, [row, row], color=colour, linewidth=width, solid_capstyle="butt")
        ax.plot(speedup, row, "o", color=colour, markersize=3 * width)
    label_rows(ax, speedups)
    if several:
        ax.set_ylim(len(speedups) - 0.15, -0.3)
    below = "Below each, its launches as thin bars. " if launches else ""
    alt = f"""Speed-ups over {baseline} as dots with their intervals, on a logarithmic axis, around
        a line at 1 and a grey band of what cannot be told from it. {below}The rows, each with its
        verdict: {joined(speedups)}."""
    return with_alt(ax, alt)


def plot_speedups_by_size(
    sizes: Sequence[float],
    speedups: dict[str, Sequence[Speedup]],
    baseline: str,
    crossings: Iterable[tuple[str, float, str]] = (),
) -> Axes:
    """Draw speed-ups over the size: for each label a line, with its intervals as a band.

    `sizes` are above 0, the smallest first. `speedups` maps a label to what `plot_speedups` takes,
    for each size. `crossings` are (label, size, text): a dotted line where a candidate becomes
    faster than the baseline, or slower.
    """
    ax = new_axes(8, 4.5, xlabel="size", ylabel=f"speed-up over {baseline}")
    every = chain(*speedups.values())
    farthest = _scale_around_one(ax, "y", [number for one in every for number in one[:3]])
    ax.set_xscale("log", base=2)
    colours = colours_of(speedups)
    for label, colour in colours.items():
        middles, lows, highs, verdicts = zip(*speedups[label], strict=True)
        lows = [max(low, 1 / farthest) for low in lows]
        highs = [min(high, farthest) for high in highs]
        faces = [colour if verdict in (FASTER, SLOWER) else "white" for verdict in verdicts]
        ax.fill_between(sizes, lows, highs, color=colour, alpha=0.25, linewidth=0)
        ax.plot(sizes, middles, color=colour, linewidth=2, label=label)
        ax.scatter(sizes, middles, s=45, c=faces, edgecolors=colour, zorder=3)
    for label, at, text in crossings:
        ax.axvline(at, color=colours[label], linewidth=1.5, linestyle=":")
        write(ax, text, (at, 0), (4, 4), xycoords=("data", "axes fraction"))
    ax.set_xticks(sizes, [f"{n:.15g}" for n in sizes])
    ax.xaxis.set_minor_locator(NullLocator())
    add_legend(ax, "inside")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    alt = f"""Speed-ups over {baseline} at the sizes {joined(f"{n:.15g}" for n in sizes)}, both axes
        logarithmic, around a line at 1. A line with a band for its intervals, filled dots where the
        verdict is clear, for each of: {joined(speedups)}."""
    return with_alt(ax, alt)


def plot_published(ratios: Iterable[tuple[str, float, str]]) -> Axes:
    """Draw published speed-ups over their dates; `ratios` are ('2019-05-17', 1.2, 'label')."""
    dates, speedups, labels = zip(*ratios, strict=True)
    years = [1 + date.fromisoformat(day).toordinal() / 365.2425 for day in dates]
    ax = new_axes(9, 3.6, xlabel="date", ylabel="published speed-up")
    _scale_around_one(ax, "y", speedups)
    for year, speedup, label in zip(years, speedups, labels, strict=True):
        colour = BLUE if speedup > 1 else RED if speedup < 1 else GREY
        ax.plot(year, speedup, "o", color=colour, markersize=7, alpha=0.7)
        points, va = (7, "bottom") if speedup > 1 else (-7, "top")  # away from the line
        write(ax, label, (year, speedup), (0, points), ha="center", va=va)
    ax.set_xlim(min(years) - 0.3, max(years) + 0.3)
    ax.xaxis.set(major_locator=MaxNLocator(8, integer=True), major_formatter="{x:.0f}")
    above, below = (sum(sign * speedup > sign for speedup in speedups) for sign in (1, -1))
    shown = [label for label in labels if label]
    labelled = f" Labelled: {joined(shown)}." if shown else ""
    alt = f"""{len(dates)} published speed-ups as dots over the years {min(dates)[:4]} to
        {max(dates)[:4]}, on a logarithmic axis: {above} above the line at 1, {below}
        below.{labelled}"""
    return with_alt(ax, alt)


def _scale_around_one(ax, name, ratios):
    """Show all ratios but 0 and infinity on an axis, and a line at 1; returns the axis' end."""
    shown = [ratio for ratio in ratios if 0 < ratio < inf]
    farthest = max(1.02, *shown, *[1 / ratio for ratio in shown]) ** 1.15
    set_ratio_scale(getattr(ax, f"{name}axis"), 1 / farthest, farthest)
    (ax.axvline if name == "x" else ax.axhline)(1, color=GREY, linewidth=1.5)
    return farthest
