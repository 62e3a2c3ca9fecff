"""Pictures of times: what they are made of, how they spread, when they pay."""

from collections.abc import Iterable, Mapping, Sequence
from math import nan
from statistics import fmean, median

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from ..tables import seconds, unit_for
from .axes import around, in_seconds, powers_of_ten, set_log_scale
from .colours import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, colours_of, looks_of
from .speedups import COLOUR_OF
from .style import add_legend, label_rows, new_axes, with_alt, write_beside
from .words import joined

LOOK_OF = {"eager": dict(color=BLACK, markerfacecolor="white", markeredgewidth=2)}  # of a dot
LOOK_OF |= {verdict: dict(color=colour) for verdict, colour in ({"": BLACK} | COLOUR_OF).items()}
CLOSE = dict(handletextpad=0, columnspacing=1)  # a legend of marks


def plot_grouped_times(groups: dict[str, dict[str, tuple[float, str]]], xlabel: str) -> Axes:
    """Draw the times of several ways to compute the same as dots, a row for each, in groups.

    `groups` maps the name of a group to a dict from ways to (seconds, verdict). The first way is
    the eager one, with '': a hollow dot, and a dotted line through the rows of its group. Where all
    verdicts of a group are '', nothing is compared, and the dots are black.
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
        names.append(write_beside(ax, 0, place, name, 0, fontweight="bold"))
        compared = any(verdict for _, verdict in group.values())
        for number, (time, kind) in enumerate(group.values()):
            if compared and not number:
                kind, ends = "eager", [place, place + len(group) - 0.6]
                ax.plot([time, time], ends, ":", color=BLACK, linewidth=1.5)
            (dots[kind],) = ax.plot(time, place, "o", markersize=8, zorder=3, **LOOK_OF[kind])
            write_beside(ax, 1, place, seconds(time, digits=3), 8)
            places.append(place)
            place += 1
    set_log_scale(ax.xaxis, *around(ax.dataLim.intervalx), text_of=in_seconds)
    label_rows(ax, [way for group in groups.values() for way in group], places, room=0.6)
    ax.grid(axis="y", color="#EEEEEE")
    # the names of the groups stand in a column of their own, left of the labels of the rows
    columns = [names, ax.get_yticklabels()]
    widths = [max(text.get_window_extent().width for text in column) for column in columns]
    for text in names:
        text.set_position((-sum(widths) - 24, 0))  # in points: a new figure has 72 dots an inch
    if kinds := [kind for kind in LOOK_OF if kind and kind in dots]:
        add_legend(ax, "above, right", [dots[kind] for kind in kinds], kinds, **CLOSE)
    shown = [f"{name} ({', '.join(group)})" for name, group in groups.items()]
    alt = f"""{xlabel.capitalize()}: a dot in a row for each candidate, with the time beside it, in
        groups, on a logarithmic axis. The first dot of a group with verdicts is hollow, and a
        dotted line leads from it through the rows of its group; the colours of the others are their
        verdicts. Shown: {", ".join(shown)}."""
    return with_alt(ax, alt)


def plot_scatter(
    points: dict[str, Iterable[tuple[float, float]]],
    xlabel: str,
    ylabel: str,
    *,
    diagonal: str = "",
    paths: bool = False,
) -> Axes:
    """Draw points (x, y) of several labels, on logarithmic axes.

    `points` maps a label to its points, numbers above 0. With `diagonal`, a short text such as
    'equal', both axes are the same, and a line with this text marks where x is y. With `paths`,
    thin lines lead from the first point of a label, which is hollow, to each of its others.
    """
    size = (6.5, 5) if diagonal else (8, 4.5)
    ax = new_axes(*size, xlabel=xlabel, ylabel=ylabel)
    for label, look in looks_of(points).items():
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
    set_log_scale(ax.xaxis, *around([*xs, *ys] if diagonal else xs))
    set_log_scale(ax.yaxis, *around([*xs, *ys] if diagonal else ys))
    if diagonal:
        ax.axline((1, 1), (2, 2), color=GREY, linewidth=1.5)
        write_beside(ax, 1, ax.get_ylim()[1], diagonal, 6)  # where the line ends: no point is there
    add_legend(ax, "beside", handletextpad=0)
    line = f" A straight line marks where both are the same: {diagonal}." if diagonal else ""
    star = " Thin lines lead from a label's first point, hollow, to its others." if paths else ""
    alt = f"""Points over two logarithmic axes: {xlabel} from left to right, {ylabel}
        upwards.{line}{star} Shown: {joined(points)}."""
    return with_alt(ax, alt)


def plot_latencies(times: Mapping[str, Mapping[str, float]], rows: Sequence[str]) -> Axes:
    """Draw how long things take that differ by powers of ten: a row for each, a mark a source.

    `times` maps a source, such as 'measured here', to a dict from things to seconds. `rows` are
    the things to show, from the top; not every source must have each. Only the marks of the first
    source are filled.
    """
    ax = new_axes(9, 0.9 + 0.28 * len(rows))
    for number, (source, look) in enumerate(looks_of(times, (BLUE, ORANGE, RED)).items()):
        found = [times[source].get(thing, nan) for thing in rows]
        look |= dict(markersize=8, markeredgewidth=2, linestyle="", zorder=3, label=source)
        face = "none" if number else look["color"]
        ax.plot(found, range(len(rows)), markerfacecolor=face, **look)
    powers = powers_of_ten(*ax.dataLim.intervalx)
    set_log_scale(ax.xaxis, powers[0] / 1.5, powers[-1] * 1.5, powers[::2], in_seconds)
    ax.set_xticks(powers[1::2], [""] * len(powers[1::2]), minor=True)
    label_rows(ax, rows, room=0.6)
    ax.grid(which="both", color="#DDDDDD")
    add_legend(ax, "above, right", **CLOSE)
    alt = f"""Times as marks in a row for each thing, on a logarithmic axis, with a shape and a
        colour for each source: {joined(times)}. The rows, from the top: {joined(rows)}."""
    return with_alt(ax, alt)


def plot_shares(
    shares: dict[str, dict[str, float]],
    limit: float | None = None,
    limit_label: str = "limit",
    xlabel: str = "",
) -> Axes:
    """Draw what each time is made of as a bar in pieces, and a line at the `limit` of all.

    `shares` maps a label to a dict from parts to seconds; all have the same parts, in one order.
    With `xlabel`, such as 'MiB a device', they are no times.
    """
    whole = max(sum(parts.values()) for parts in shares.values())
    unit, factor = ("", 1) if xlabel else unit_for(whole)
    ax = new_axes(9, 1.5 + 0.5 * len(shares), xlabel=xlabel or f"{unit} a call")
    left = [0.0] * len(shares)
    parts = next(iter(shares.values()))
    for part, colour in colours_of(parts, (BLUE, ORANGE, SKY, GREEN, PURPLE)).items():
        pieces = [share[part] * factor for share in shares.values()]
        ax.barh(range(len(shares)), pieces, left=left, color=colour, height=0.6, label=part)
        left = [a + b for a, b in zip(left, pieces, strict=True)]
    if limit is not None:
        ax.axvline(limit * factor, color=RED, linewidth=2, linestyle="--", label=limit_label)
    label_rows(ax, shares, room=0.28 + 0.05 * len(shares))
    add_legend(ax, "above")
    line = f" A dashed line marks {limit_label}." if limit is not None else ""
    title = f"{xlabel}, and what they are" if xlabel else "What the time of a call is"
    alt = f"""{title} made of, as bars in pieces. The bars: {joined(shares)}. The pieces, from the
        left: {joined(parts)}.{line}"""
    return with_alt(ax, alt)


def plot_over_time(blocks: dict[str, tuple[Sequence[float], Sequence[float]]]) -> Axes:
    """Draw the time of each block of calls over the moment at which the block began.

    `blocks` maps a label to (moments, times), both in seconds and in the order of measuring.
    """
    start = min(moments[0] for moments, _ in blocks.values())
    unit, factor = unit_for(median(time for _, times in blocks.values() for time in times))
    ax = new_axes(9, 3.5, xlabel="seconds since the start", ylabel=f"{unit} a call", yscale="log")
    for label, colour in colours_of(blocks, (BLUE, RED)).items():
        moments = [moment - start for moment in blocks[label][0]]
        times = [time * factor for time in blocks[label][1]]
        ax.plot(moments, times, ".", color=colour, markersize=3, alpha=0.5)
        middle = (moments[0] + moments[-1]) / 2
        ax.text(middle, 1.01, label, transform=ax.get_xaxis_transform(), ha="center", fontsize=12)
    ax.yaxis.set(major_locator=LogLocator(subs=(1, 2, 5)), minor_locator=NullLocator())
    ax.yaxis.set_major_formatter("{x:g}")
    alt = f"""The time of each block of calls as a dot over the moment of measuring, on a
        logarithmic axis. From left to right: {joined(blocks)}."""
    return with_alt(ax, alt)


def plot_distribution(times: Sequence[float]) -> Axes:
    """Draw how often each time, in seconds, was measured, with the median and the mean.

    The longest five per cent are left out of the picture, but not of the mean.
    """
    unit, factor = unit_for(median(times))
    ax = new_axes(8, 3, xlabel=f"{unit} a call", ylabel="blocks")
    values = sorted(time * factor for time in times)
    middle, mean = median(values), fmean(values)
    shown = values[: len(values) - len(values) // 20]
    low, high = shown[0] / 1.03, 1.03 * max(shown[-1], mean)
    ax.hist(shown, bins=[low * (high / low) ** (i / 80) for i in range(81)], color=SKY)
    ax.axvline(middle, color=BLACK, linestyle="-", linewidth=2, label="median")
    ax.axvline(mean, color=RED, linestyle="--", linewidth=2, label="mean")
    ax.set(xscale="log", xlim=(low, high))
    locator = LogLocator(subs=(1, 2, 5)) if high > 4 * low else MaxNLocator(8)
    ax.xaxis.set(major_locator=locator, minor_locator=NullLocator(), major_formatter="{x:g}")
    add_legend(ax, "inside")
    alt = """How many blocks of calls took how long, as bars over a logarithmic axis of time, with
        lines at the median and at the mean."""
    return with_alt(ax, alt)


def plot_break_even(costs: dict[str, tuple[float, float]]) -> Axes:
    """Draw the total time over the number of calls.

    `costs` maps a label to (price, time of a call), in seconds. The first is the one that the
    others must overtake; its price is 0. The picture reaches to twice the last crossing, if any.
    """
    first, *others = costs
    base = costs[first][1]
    crossings = {label: p / (base - each) for label, (p, each) in costs.items() if each < base}
    calls = 2 * max(crossings.values(), default=max(costs.values())[0] / base)
    unit, factor = unit_for(max(price + each * calls for price, each in costs.values()))
    ax = new_axes(8, 3.5, xlabel="calls", ylabel=f"total time in {unit}")
    colours = {first: BLACK} | colours_of(others, (BLUE, RED, ORANGE, GREEN, PURPLE, SKY))
    for label, (price, each) in costs.items():
        line = [price * factor, (price + each * calls) * factor]
        ax.plot([0, calls], line, color=colours[label], linewidth=2, label=label)
    for label, at in crossings.items():
        ax.plot(at, at * base * factor, "o", color=colours[label], markersize=9)
    ax.set(xlim=(0, calls), ylim=(0, None))
    add_legend(ax, "inside")
    ax.xaxis.set_major_formatter("{x:,.0f}")
    alt = f"""The total time over the number of calls, as straight lines. {first} starts at zero;
        {joined(others)} start at their price, with a dot where one overtakes it."""
    return with_alt(ax, alt)
