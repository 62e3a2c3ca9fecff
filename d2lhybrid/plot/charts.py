"""Pictures of what was measured: times, speed-ups, curves and outcomes, drawn by matplotlib.

Ratios of two times stand on logarithmic axes: half and double are equally far from 1. Each function
makes a figure and returns its Axes, or a list of them where there are several.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from itertools import chain, pairwise, product
from math import atan, ceil, degrees, floor, inf, log2, nan
from statistics import fmean, median

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from ..benchmark.verdict import EQUIVALENT, FASTER, INCONCLUSIVE, SLOWER
from ..tables import seconds, unit_for
from .axes import annotate, beside, label_rows, legend, log_scale, new_axes, new_panels, with_alt
from .style import BLACK, BLUE, GRAY, GREEN, ORANGE, PALE_BLUE, RED, SKY, colors_of, styles

COLOR_OF = {FASTER: BLUE, SLOWER: RED, EQUIVALENT: GREEN, INCONCLUSIVE: GRAY}
DOT_OF = {"eager": dict(color=BLACK, markerfacecolor="white", markeredgewidth=2)}
DOT_OF |= {verdict: dict(color=color) for verdict, color in ({"": BLACK} | COLOR_OF).items()}
CELL_OF = {"right": PALE_BLUE, "silently wrong": RED, "error": "white"}  # its color
CLOSE = dict(handletextpad=0, columnspacing=1)  # a legend of marks
IN_SECONDS = EngFormatter("s")  # a mark of an axis of times: 100 µs

Speedup = tuple[float, float, float, str]  # speed-up, both ends of its interval, verdict
Numbers = dict[str, dict[str, float]]
Points = Iterable[tuple[float, float]]


def _in_bytes(size, _=None):
    """Return the text of a number of bytes, 1 or more, in a fitting unit: 48 KiB."""
    power = floor(log2(size) / 10)
    return f"{size / 1024**power:g} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


def _two_digits(number):
    """Return the text of a number in two digits, or in all those before the point."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


# Speed-ups and other ratios. Explained in notebook 06.


def plot_ratios(ratios: dict[str, Sequence[float]], title: str = "", clouds: bool = False) -> Axes:
    """Draw ratios, the second time divided by the first, as dots in a row for each label.

    With `clouds`, ten or more ratios are drawn as a cloud of small dots, without the tenth at
    either end, around a black dot, their median. Heights within a cloud have no meaning.
    """
    xlabel = "\u2190 second faster      second time / first time      second slower \u2192"
    ax = new_axes(8, 1.1 + 0.55 * len(ratios), xlabel=xlabel, title=title)
    cuts = {label: len(v) // 10 * clouds for label, v in ratios.items()}
    near = {label: sorted(v)[(n := cuts[label]) : len(v) - n] for label, v in ratios.items()}
    _scale_around_one(ax, "x", chain(*near.values()))
    for row, (label, values) in enumerate(near.items()):
        look = dict(color=(BLUE, RED)[row % 2], alpha=0.55)
        if cuts[label]:
            heights = [row + 0.7 * (0.618 * i % 1 - 0.5) for i in range(len(values))]
            ax.plot(values, heights, ".", markersize=4, **look)
            values, look = [median(values)], dict(color=BLACK)
        ax.plot(values, [row] * len(values), "o", markersize=9, **look)
    label_rows(ax, ratios)
    return with_alt(ax, f"{title or 'Ratios of two times'}. Dots around 1, in rows", ratios)


def plot_coins(ratios: Sequence[float], true_median: float, low: float, high: float) -> Axes:
    """Draw sorted ratios as coins, open below the true median and full above it.

    A band reaches from `low` to `high`, the ends of the median's 95% CI.
    """
    ax = new_axes(8, 3.3, xlabel="ratio", ylabel="place in their order")
    ax.axvspan(low, high, color=ORANGE, alpha=0.35, linewidth=0, label="95% CI of the median")
    ax.axvline(true_median, color=BLACK, linestyle="--", linewidth=2, label="true median")
    for place, ratio in enumerate(sorted(ratios), 1):
        face = "white" if ratio < true_median else BLUE
        ax.plot(
            ratio, place, "o", color=BLUE, markerfacecolor=face, markeredgewidth=2, markersize=9
        )
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    legend(ax, "above, right")
    alt = "Coins in the order of their ratios, open below the line of the true median, full above"
    return with_alt(ax, f"{alt}, and a band for its 95% CI")


def plot_speedups(
    speedups: dict[str, Speedup], baseline: str, gray_zone: float, processes: Mapping = {}
) -> Axes:
    """Draw speed-ups over a baseline as dots with their intervals, a forest plot.

    `speedups` maps each label but the baseline's to (speed-up, low, high, verdict), `low` 0 and
    `high` infinity where the interval has no bounds. A gray band reaches from 1 / `gray_zone` to
    `gray_zone`: an interval that touches it is not clearly faster or slower. `processes` maps each
    label to the (speed-up, low, high) of each process, if there were several: thin bars below.
    """
    several = max(map(len, processes.values()), default=0)
    xlabel = f"\u2190 slower      speed-up over {baseline}      faster \u2192"
    ax = new_axes(8, 1.2 + (0.55 + 0.1 * several) * len(speedups), xlabel=xlabel)
    bars = []
    for row, (label, (*numbers, verdict)) in enumerate(speedups.items()):
        beside(ax, 1, row, f"{numbers[0]:.2f}  {verdict}", 8, va="center")
        bars.append((row, COLOR_OF[verdict], 3, *numbers))
        for i, process in enumerate(processes.get(label, ())):  # between its row and the next
            bars.append((row + 0.15 + 0.6 * i / several, BLACK, 1, *process))
    edges = _scale_around_one(ax, "x", [number for bar in bars for number in bar[3:]])
    ax.axvspan(*_within(edges, (1 / gray_zone, gray_zone)), color="#EEEEEE", linewidth=0)
    for row, color, width, speedup, *ends in bars:
        look = dict(color=color, linewidth=width, solid_capstyle="butt")
        ax.plot(_within(edges, ends), [row, row], **look)
        ax.plot(speedup, row, "o", color=color, markersize=3 * width)
    label_rows(ax, speedups)
    if several:
        ax.set_ylim(len(speedups) - 0.15, -0.3)
    below = ", each with its processes below" if processes else ""
    return with_alt(ax, f"Speed-ups over {baseline} as dots with intervals{below}", speedups)


def plot_speedups_by_size(
    sizes: Sequence, speedups: dict[str, Sequence[Speedup]], baseline: str, crossings: Iterable = ()
) -> Axes:
    """Draw speed-ups over the size: for each label a line, with its intervals as a band.

    `sizes` are above 0, the smallest first. `speedups` maps a label to what `plot_speedups` takes,
    for each size. `crossings` are (label, size, text): a dotted line where a candidate becomes
    faster than the baseline, or slower.
    """
    ax = new_axes(8, 4.5, xlabel="size", ylabel=f"speed-up over {baseline}", xscale="log")
    every = chain(*speedups.values())
    edges = _scale_around_one(ax, "y", [number for one in every for number in one[:3]])
    colors, texts = colors_of(speedups), [f"{size:.15g}" for size in sizes]
    for label, color in colors.items():
        middles, *ends, verdicts = zip(*speedups[label], strict=True)
        faces = [color if verdict in (FASTER, SLOWER) else "white" for verdict in verdicts]
        ends = [_within(edges, numbers) for numbers in ends]
        ax.fill_between(sizes, *ends, color=color, alpha=0.25, linewidth=0)
        ax.plot(sizes, middles, color=color, linewidth=2, label=label)
        ax.scatter(sizes, middles, s=45, c=faces, edgecolors=color, zorder=3)
    for label, at, text in crossings:
        ax.axvline(at, color=colors[label], linewidth=1.5, linestyle=":")
        annotate(ax, text, (at, 0), (4, 4), xycoords=("data", "axes fraction"))
    ax.set_xticks(sizes, texts)
    ax.xaxis.set_minor_locator(NullLocator())
    legend(ax, "inside")
    return with_alt(ax, f"Speed-ups over {baseline} by size, lines in bands", speedups, texts)


def plot_published(ratios: Iterable[tuple[str, float, str]]) -> Axes:
    """Draw published speed-ups over their dates; `ratios` are ('2019-05-17', 1.2, 'label')."""
    dates, speedups, labels = zip(*ratios, strict=True)
    years = [1 + date.fromisoformat(day).toordinal() / 365.2425 for day in dates]
    ax = new_axes(9, 3.6, xlabel="date", ylabel="published speed-up")
    _scale_around_one(ax, "y", speedups)
    for year, speedup, label in zip(years, speedups, labels, strict=True):
        color = BLUE if speedup > 1 else RED if speedup < 1 else GRAY
        edge = BLACK if label else color  # or the label could be taken for a neighbor's
        ax.plot(year, speedup, "o", color=color, markersize=7, alpha=0.7, markeredgecolor=edge)
        points, va = (7, "bottom") if speedup > 1 else (-7, "top")  # away from the line
        annotate(ax, label, (year, speedup), (0, points), ha="center", va=va)
    ax.set_xlim(min(years) - 0.3, max(years) + 0.3)
    ax.xaxis.set(major_locator=MaxNLocator(8, integer=True), major_formatter="{x:.0f}")
    above, below = (sum(sign * speedup > sign for speedup in speedups) for sign in (1, -1))
    alt = f"Dots from {min(dates)[:4]} to {max(dates)[:4]}, {above} above 1, {below} below"
    named = [label for label in labels if label]
    return with_alt(ax, f"{alt}. Labels", named) if named else with_alt(ax, alt)


def _scale_around_one(ax, name, ratios):
    """Show all ratios but 0 and infinity on the axis `name`, "x" or "y", with a line at 1.

    Returns the ends of the axis.
    """
    shown = [ratio for ratio in ratios if 0 < ratio < inf]
    farthest = max(1.02, *shown, *[1 / ratio for ratio in shown]) ** 1.15
    ends = 1 / farthest, farthest  # as far down as up
    log_scale(getattr(ax, f"{name}axis"), ends, "{x:.4g}", pad=0)
    (ax.axvline if name == "x" else ax.axhline)(1, color=GRAY, linewidth=1.5)
    return ends


def _within(edges, numbers):
    """Return the numbers, each moved to the nearer of the two edges if it lies beyond them."""
    return [min(max(number, edges[0]), edges[1]) for number in numbers]


# Times: what they are made of, how they spread, when they pay.


def plot_grouped_times(groups: dict[str, dict[str, tuple[float, str]]], xlabel: str) -> Axes:
    """Draw the times of several variants as dots, with a row for each variant, in groups.

    `groups` maps the name of a group to a dict from variants to (seconds, verdict). The first
    variant is the eager one, with verdict '': a hollow dot, and a dotted line through the rows of
    its group. If all verdicts of a group are '', nothing is compared, and the dots are black.
    """
    gap, height = 0.35, 0.27  # between two groups, in rows; of a row, in inches
    rows = sum(map(len, groups.values())) + gap * (len(groups) - 1)
    ax = new_axes(9, 0.95 + height * rows, xlabel=xlabel)
    place, names, places, dots = 0.0, [], [], {}
    for name, group in groups.items():
        if places:
            place += gap
            # through the labels and the times, too; the layout must not make room for it
            line = ax.axhline(place - (1 + gap) / 2, -9, 9, color="#CCCCCC", linewidth=1)
            line.set(clip_on=False, in_layout=False)
        names.append(beside(ax, 0, place, name, 0, fontweight="bold"))
        compared = any(verdict for _, verdict in group.values())
        for number, (time, kind) in enumerate(group.values()):
            if compared and not number:
                kind, ends = "eager", [place, place + len(group) - 0.6]
                ax.plot([time, time], ends, ":", color=BLACK, linewidth=1.5)
            (dots[kind],) = ax.plot(time, place, "o", markersize=8, zorder=3, **DOT_OF[kind])
            beside(ax, 1, place, seconds(time, digits=3), 8)
            places.append(place)
            place += 1
    log_scale(ax.xaxis, ax.dataLim.intervalx, IN_SECONDS)
    label_rows(ax, list(chain(*groups.values())), places, room=0.6)
    ax.grid(axis="y", color="#EEEEEE")
    # the names of the groups stand in a column of their own, left of the labels of the rows
    columns = [names, ax.get_yticklabels()]
    widths = [max(text.get_window_extent().width for text in column) for column in columns]
    for text in names:
        text.set_position((-sum(widths) - 24, 0))  # in points: a new figure has 72 dots an inch
    if kinds := [kind for kind in DOT_OF if kind and kind in dots]:
        legend(ax, "above, right", [dots[kind] for kind in kinds], kinds, **CLOSE)
    shown = [f"{name} ({', '.join(group)})" for name, group in groups.items()]
    return with_alt(ax, f"{xlabel.capitalize()}, as dots in the colors of verdicts", shown)


def plot_stacked_bars(
    shares: Numbers, limit: float | None = None, limit_label: str = "limit", xlabel: str = ""
) -> Axes:
    """Draw what each time consists of as a bar in pieces, and a line at the `limit` of all.

    `shares` maps a label to a dict from parts to seconds; all have the same parts, in the same
    order. With an `xlabel` such as 'MiB per device', the numbers are not times.
    """
    whole = max(sum(parts.values()) for parts in shares.values())
    unit, factor = ("", 1) if xlabel else unit_for(whole)
    ax = new_axes(9, 1.5 + 0.5 * len(shares), xlabel=xlabel or f"{unit} per call")
    left = [0.0] * len(shares)
    parts = next(iter(shares.values()))
    for part, color in colors_of(parts).items():
        pieces = [share[part] * factor for share in shares.values()]
        ax.barh(range(len(shares)), pieces, left=left, color=color, height=0.6, label=part)
        left = [a + b for a, b in zip(left, pieces, strict=True)]
    if limit is not None:
        ax.axvline(limit * factor, color=BLACK, linewidth=2, linestyle="--", label=limit_label)
    label_rows(ax, shares, room=0.28 + 0.05 * len(shares))
    legend(ax, "above")
    line = "" if limit is None else f", and a dashed line for {limit_label}"
    return with_alt(ax, f"{xlabel or 'Time per call'}: bars in pieces{line}", shares, parts)


def plot_over_time(blocks: dict[str, tuple[Sequence[float], Sequence[float]]]) -> Axes:
    """Draw the time of each block of calls over the moment at which the block began.

    `blocks` maps a label to (moments, times), both in seconds and in the order of measurement.
    """
    start = min(moments[0] for moments, _ in blocks.values())
    unit, factor = unit_for(median(time for _, times in blocks.values() for time in times))
    ax = new_axes(9, 3.5, xlabel="seconds since the start", ylabel=f"{unit} per call")
    for label, color in colors_of(blocks, (BLUE, RED)).items():
        moments = [moment - start for moment in blocks[label][0]]
        times = [time * factor for time in blocks[label][1]]
        ax.plot(moments, times, ".", color=color, markersize=3, alpha=0.5)
        middle = (moments[0] + moments[-1]) / 2
        annotate(ax, label, (middle, 1), (0, 3), xycoords=("data", "axes fraction"), ha="center")
    log_scale(ax.yaxis, ax.dataLim.intervaly)
    return with_alt(ax, "The time of each block of calls over the moment of measuring", blocks)


def plot_distribution(times: Sequence[float]) -> Axes:
    """Draw how often each time, in seconds, was measured, with the median and the mean.

    The longest 5% of the times are left out of the picture, but not of the mean.
    """
    unit, factor = unit_for(median(times))
    ax = new_axes(8, 3, xlabel=f"{unit} per call", ylabel="blocks")
    values = sorted(time * factor for time in times)
    mean, shown = fmean(values), values[: len(values) - len(values) // 20]
    low, high = shown[0] / 1.03, 1.03 * max(shown[-1], mean)
    ax.hist(shown, bins=[low * (high / low) ** (i / 80) for i in range(81)], color=SKY)
    ax.axvline(median(values), color=BLACK, linestyle="-", linewidth=2, label="median")
    ax.axvline(mean, color=RED, linestyle="--", linewidth=2, label="mean")
    log_scale(ax.xaxis, [low, high], pad=0)
    legend(ax, "inside")
    return with_alt(ax, "How many blocks of calls took how long, with their median and mean")


def plot_break_even(costs: dict[str, tuple[float, float]]) -> Axes:
    """Draw the total time over the number of calls.

    `costs` maps a label to (build cost, time per call), in seconds. The first label is the one that
    the others must overtake; its build cost is 0. The picture extends to twice the last crossing.
    """
    first, *others = costs
    base = costs[first][1]
    crossings = {label: p / (base - each) for label, (p, each) in costs.items() if each < base}
    calls = 2 * max(crossings.values(), default=max(costs.values())[0] / base)
    unit, factor = unit_for(max(cost + each * calls for cost, each in costs.values()))
    ax = new_axes(8, 3.5, xlabel="calls", ylabel=f"total time in {unit}")
    colors = {first: BLACK} | colors_of(others)
    for label, (cost, each) in costs.items():
        line = [cost * factor, (cost + each * calls) * factor]
        ax.plot([0, calls], line, color=colors[label], linewidth=2, label=label)
    for label, at in crossings.items():
        ax.plot(at, at * base * factor, "o", color=colors[label], markersize=9)
    ax.set(xlim=(0, calls), ylim=(0, None))
    ax.xaxis.set_major_formatter("{x:,.0f}")
    legend(ax, "inside")
    return with_alt(ax, f"Total time over calls, with dots where {first} is overtaken", costs)


def plot_latencies(times: Mapping[str, Mapping[str, float]], rows: Sequence[str]) -> Axes:
    """Draw how long operations take, by powers of ten: a row for each, with a mark for each source.

    `times` maps a source, such as 'measured here', to a dict from operations to seconds. `rows` are
    the operations to show, from the top; a source need not have all of them. Only the marks of the
    first source are filled.
    """
    ax = new_axes(9, 0.9 + 0.28 * len(rows))
    for number, (source, look) in enumerate(styles(times, (BLUE, ORANGE, RED)).items()):
        found = [times[source].get(thing, nan) for thing in rows]
        look |= dict(markersize=8, markeredgewidth=2, linestyle="", zorder=3, label=source)
        face = "none" if number else look["color"]
        ax.plot(found, range(len(rows)), markerfacecolor=face, **look)
    log_scale(ax.xaxis, ax.dataLim.intervalx, IN_SECONDS)
    ax.xaxis.set(minor_locator=LogLocator(numticks=99), minor_formatter=NullFormatter())
    label_rows(ax, rows, room=0.6)
    ax.grid(which="both", color="#DDDDDD")
    legend(ax, "above, right", **CLOSE)
    return with_alt(ax, "Times on a logarithmic axis, marks in rows", times, rows)


# Two numbers for each point.


def plot_scatter(
    points: dict[str, Points], xlabel: str, ylabel: str, *, diagonal: str = "", paths: bool = False
) -> Axes:
    """Draw points (x, y) of several labels, on logarithmic axes.

    `points` maps a label to its points, numbers above 0. With `diagonal`, a short text such as
    'equal', both axes are the same, and a line with this text marks where x is y. With `paths`,
    thin lines lead from the first point of a label, which is hollow, to each of its others.
    """
    ax = new_axes(*((6.5, 5) if diagonal else (8, 4.5)), xlabel=xlabel, ylabel=ylabel)
    for label, look in styles(points).items():
        dots = list(points[label])
        look |= dict(markersize=8 if paths else 6, linestyle="")
        look["zorder"] = 3 + 1 / len(dots)  # or a large cloud would hide a small one
        if paths and len(dots) > 1:
            first, *dots = dots
            for dot in dots:
                ax.plot(*zip(first, dot, strict=True), color=look["color"], linewidth=1)
            ax.plot(*first, markerfacecolor="white", markeredgewidth=1.5, **look)
        ax.plot(*zip(*dots, strict=True), label=label, alpha=1 if paths else 0.55, **look)
    xs, ys = ax.dataLim.intervalx, ax.dataLim.intervaly
    log_scale(ax.xaxis, [*xs, *ys] if diagonal else xs)
    log_scale(ax.yaxis, [*xs, *ys] if diagonal else ys)
    if diagonal:
        ax.axline((1, 1), (2, 2), color=GRAY, linewidth=1.5)
        beside(ax, 1, ax.get_ylim()[1], diagonal, 6)  # where the line ends: no point is there
    legend(ax, "beside", handletextpad=0)
    line = f", with a line where both are {diagonal}" if diagonal else ""
    return with_alt(ax, f"Points over {xlabel}, with {ylabel} upwards{line}", points)


def plot_curves(
    curves: dict[str, Points], ylabel: str, xlabel: str = "size", marks: Mapping[str, float] = {}
) -> Axes:
    """Draw curves over a size in bytes; both axes are logarithmic.

    `curves` maps a label to points (bytes, value), numbers above 0, the smallest size first.
    `marks` maps texts to sizes: each that lies within the picture gets a dotted line. The
    alternative text doesn't name them, because another machine may have different ones, or none.
    """
    ax = new_axes(8, 4, xlabel=xlabel, ylabel=ylabel)
    for label, look in styles(curves).items():
        ax.plot(*zip(*curves[label], strict=True), label=label, markersize=5, linewidth=2, **look)
    sizes = ax.dataLim.intervalx
    log_scale(ax.yaxis, ax.dataLim.intervaly)
    log_scale(ax.xaxis, sizes, _in_bytes, base=2, subs=(1,), numticks=8)
    low, high = ax.get_xlim()
    for text, size in marks.items():
        if low < size < high:
            ax.axvline(size, color=GRAY, linewidth=1.5, linestyle=":", zorder=1)
            annotate(ax, text, (size, 1), (0, 3), xycoords=("data", "axes fraction"), ha="center")
    if len(curves) > 1:
        legend(ax, "beside")
    return with_alt(ax, f"Curves over {xlabel}, with {ylabel} upwards", curves)


def plot_steps(lines: dict[str, Sequence[float]], ylabel: str) -> Axes:
    """Draw values over the steps of training, from step 0 on, as a line for each label.

    Values that are not finite are left out: a curve ends where it diverges.
    """
    ax = new_axes(8, 4, xlabel="step", ylabel=ylabel)
    every = ceil(max(map(len, lines.values())) / 30)  # marks on a line
    for label, look in styles(lines).items():
        ax.plot(lines[label], label=label, markersize=6, linewidth=2, markevery=every, **look)
    low, high = ax.dataLim.intervaly
    if low < 0 < high:
        ax.axhline(0, color=GRAY, linewidth=1, zorder=1)
    ax.xaxis.set_major_locator(MaxNLocator(9, integer=True))
    legend(ax, "beside")
    return with_alt(ax, f"Lines over the step, with {ylabel} upwards", lines)


def plot_roofline(
    peak: float, bandwidths: Mapping[str, float], points: Mapping[str, Mapping[object, tuple]]
) -> Axes:
    """Draw programs as dots, below the roof that arithmetic and memory put over them.

    A program that does x operations per byte that it reads or writes can't do more operations per
    second than x times the bandwidth, a slope of the roof, nor more than `peak`, its flat part.
    `peak` is in GFLOP/s, `bandwidths` are in GB/s, by name.

    `points` maps a label to a dict from a size, such as the batch size, to (FLOP per byte,
    GFLOP/s). A line joins them in their order; each size is written once, below its lowest dot.

    Explained in notebooks 12, 22. Williams, Waterman and Patterson, "Roofline: an insightful visual
    performance model for multicore architectures", Communications of the ACM, 2009.
    """
    ax = new_axes(8, 5, xlabel="FLOP per byte", ylabel="GFLOP/s")
    for label, look in styles(points).items():
        look |= dict(markersize=8, linewidth=1.5, label=label, zorder=3)
        ax.plot(*zip(*points[label].values(), strict=True), **look)
    (left, right), (bottom, top) = ax.dataLim.intervalx, ax.dataLim.intervaly
    slowest, fastest = min(bandwidths.values()), max(bandwidths.values())
    left, right = min(left, peak / fastest) / 8, max(right, peak / slowest) * 2.5
    log_scale(ax.xaxis, [left, right], pad=0, subs=(1,))
    bottom, top = min(bottom, 3 * slowest * left) / 2.5, max(peak, top) * 2.5
    log_scale(ax.yaxis, [bottom, top], pad=0, subs=(1,))
    ax.plot([peak / fastest, right], [peak, peak], color=BLACK, linewidth=2)
    halo = dict(path_effects=[withStroke(linewidth=3, foreground="white")], zorder=4)
    name = f"peak: {_two_digits(peak)} GFLOP/s"
    annotate(ax, name, (right, peak), (-4, 4), ha="right", va="bottom", **halo)
    along = dict(rotation_mode="anchor", transform_rotates_text=True, fontsize=12) | halo
    for name, rate in bandwidths.items():
        color = BLACK if rate == slowest else GRAY
        ax.plot([left, peak / rate], [left * rate, peak], color=color, linewidth=2)
        start = max(left, bottom / rate) * 1.15  # where the line comes into the picture
        above, text = 1.25 * rate, f"{name}: {_two_digits(rate)} GB/s"
        ax.text(start, start * above, text, rotation=degrees(atan(above)), **along)
    written = []
    for text in dict.fromkeys(chain(*points.values())):
        x, y = min((line[text] for line in points.values() if text in line), key=lambda dot: dot[1])
        near = sum(x < 1.6 * u and 0.6 < y / v < 1.6 for u, v in written)
        written.append((x, y))  # those that are close stand on a line each
        annotate(ax, str(text), (x, y), (0, -8 - 14 * near), ha="center", va="top", **halo)
    legend(ax, "above")
    return with_alt(ax, "A roof over FLOP per byte, with dots below it", bandwidths, points)


# A row for each thing that was tried.


def plot_outcomes(outcomes: dict[str, dict[str, str]], gap_before: str | None = None) -> Axes:
    """Draw a table of outcomes as colored cells, with a gap above the row `gap_before`.

    `outcomes` maps the label of a row to a dict from columns to 'right', 'silently wrong' or
    'error'; all rows have the same columns, in the same order.
    """
    columns = list(next(iter(outcomes.values())))
    gap = list(outcomes).index(gap_before) if gap_before else len(outcomes)
    rows = [row + 0.5 * (row >= gap) for row in range(len(outcomes))]
    width = 9 if len(columns) <= 4 else 2.7 + 1.4 * len(columns)
    ax = new_axes(width, 0.85 + 0.35 * rows[-1], frame_on=False)
    for row, cells in zip(rows, outcomes.values(), strict=True):
        for column, outcome in enumerate(cells.values()):
            ax.barh(row, 0.97, left=column - 0.485, height=0.9, color=CELL_OF[outcome])
            ink = GRAY if outcome == "error" else BLACK
            ax.text(column, row, outcome, color=ink, ha="center", va="center", fontsize=12)
    label_rows(ax, outcomes, rows)
    ax.set_xticks(range(len(columns)), columns, fontweight="bold")
    ax.tick_params(length=0, labeltop=True, labelbottom=False)
    rows = [f"{row}: {', '.join(map(' '.join, c.items()))}" for row, c in outcomes.items()]
    return with_alt(ax, f"Table of outcomes. {'; '.join(rows)}")


def plot_chunk_ownership(states: Iterable[Sequence], complete: float) -> list[Axes]:
    """Draw what the ranks have in their chunks, step by step, as tables side by side.

    Each state, beginning with the start, is a table with a row for each rank and a column for each
    chunk. A cell that has reached `complete` is dark, one above 1 is pale.
    """
    states = [[[round(value) for value in row] for row in state] for state in states]
    ranks, chunks = len(states[0]), len(states[0][0])
    side = min(0.4, (9.2 / len(states) - 0.15) / chunks)  # of a cell, in inches
    width, height = 0.8 + len(states) * (side * chunks + 0.15), 0.9 + side * ranks
    look = dict(frame_on=False, xlabel="chunk", xlim=(-0.5, chunks - 0.5), xticks=range(chunks))
    axes = new_panels(width, height, len(states), **look)
    pairs = pairwise([states[0], *states])  # each with the one before
    for step, (ax, (before, state)) in enumerate(zip(axes, pairs, strict=True)):
        for rank, chunk in product(range(ranks), range(chunks)):
            value = state[rank][chunk]
            done, new = value >= complete, value != before[rank][chunk]
            look = dict(edgecolor=BLACK, linewidth=2) if new else dict(edgecolor="#DDDDDD")
            look["facecolor"] = BLUE if done else PALE_BLUE if value > 1 else "white"
            ax.add_patch(Rectangle((chunk - 0.47, rank - 0.47), 0.94, 0.94, **look))
            ink = dict(color="white", fontweight="bold") if done else dict(color=BLACK)
            ax.text(chunk, rank, f"{value}", ha="center", va="center", fontsize=12, **ink)
        label_rows(ax, [f"rank {rank}" for rank in range(ranks)])
        ax.set_title(f"step {step}" if step else "start", fontsize=13)
        ax.tick_params(length=0)
    counts = [f"{sum(value >= complete for row in state for value in row)}" for state in states]
    alt = f"Tables of {ranks} ranks by {chunks} chunks, from the start to step {len(states) - 1}"
    with_alt(axes[0], f"{alt}. Cells that have reached {complete}", counts)
    return axes


def plot_bar_panels(measures: Numbers, dots: Collection[str] = ()) -> list[Axes]:
    """Draw several measures of each label, such as size and speed, each on an axis of its own.

    `measures` maps a label to a dict from names of measures to numbers above 0; all dicts have the
    same names, in the same order, and an unknown number is nan. Labels in `dots` are drawn as blue
    dots, all others as red squares. On all axes, which are logarithmic, equal distances mean equal
    factors.
    """
    names = list(next(iter(measures.values())))
    axes = new_panels(9.5, 0.9 + 0.4 * len(measures), len(names))
    columns = [{k: row[name] for k, row in measures.items() if row[name] > 0} for name in names]
    span = max(max(column.values()) / min(column.values()) for column in columns)
    span *= 6 * span**0.35  # with room for the number beside the last dot
    rows = {label: row for row, label in enumerate(measures)}
    for ax, name, column in zip(axes, names, columns, strict=True):
        for label, value in column.items():
            color, marker = (BLUE, "o") if label in dots else (RED, "s")
            place = value, rows[label]
            ax.plot(*place, marker, color=color, markersize=8)
            annotate(ax, _two_digits(value), place, (7, 0), va="center", fontsize=11)
        ends = min(column.values()) / 2, min(column.values()) / 2 * span
        log_scale(ax.xaxis, ends, "{x:g}", pad=0, subs=(1,), numticks=4)
        label_rows(ax, measures)
        ax.grid(axis="y", color="#DDDDDD")
        ax.set_title(name, fontsize=13)
    with_alt(axes[0], "Panels side by side, with a dot in each row", names, sorted(measures))
    return axes
