"""Pictures of times: how long they are, what they are made of, how they spread, and when they pay.

Explained in notebook 05; statistics calls them bar chart, dot plot, scatter plot, stacked bars,
run-sequence plot, histogram and break-even chart.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, cycle
from math import ceil, floor, log10, sqrt
from statistics import fmean, median

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from ..tables import unit_for
from .speedups import COLOUR_OF
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

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def plot_times(times: dict[str, float], title: str = "") -> Axes:
    """Draw times as bars; the longest bar is the longest time. `times` maps labels to seconds."""
    ax = new_axes(8, 0.9 + 0.45 * len(times))
    labels = list(times)
    unit, factor = unit_for(max(times.values()))
    ax.barh(labels, [times[label] * factor for label in labels], color=BLUE, height=0.6)
    ax.invert_yaxis()
    dress(ax, f"time in {unit}", title=title)
    say(ax, f"{title or 'Times'}, as bars from a common start: {listed(labels)}.")
    return ax


def plot_grouped_times(
    groups: dict[str, dict[str, tuple[float, str]]], xlabel: str = "time a call"
) -> Axes:
    """Draw the times of several ways to compute the same as dots, a row for each, in groups.

    `groups` maps the name of a group to a dict from ways to (seconds, verdict). The first way of a
    group is its eager one: its dot is hollow, its verdict '', and a dotted line leads from it
    through the rows of its group. The dots of the others have the colour of their verdict:
    'faster', 'slower', 'as good as equal' or 'no clear difference'. Where all verdicts of a group
    are '', nothing is compared, and the dots are black.
    """
    gap, height = 0.35, 0.27  # between two groups, in rows; of a row, in inches
    rows = sum(map(len, groups.values())) + gap * (len(groups) - 1)
    ax = new_axes(9, 0.95 + height * rows)
    place = 0.0
    names, places, ways, times, verdicts = [], [], [], [], {}
    for name, group in groups.items():
        if place:
            place += gap
            # through the labels and the times, too; the layout must not make room for it
            line = ax.axhline(place - (1 + gap) / 2, -9, 9, color="#CCCCCC", linewidth=1)
            line.set(clip_on=False, in_layout=False)
        names.append((place, name))
        first = next(iter(group)) if any(verdict for _, verdict in group.values()) else None
        if first is not None:
            ends = [place, place + len(group) - 0.6]
            ax.plot([group[first][0]] * 2, ends, ":", color=BLACK, linewidth=1.5)
        for way, (time, verdict) in group.items():
            kind = "eager" if way == first else verdict
            look = _look_of(kind)
            (verdicts[kind],) = ax.plot(time, place, "o", markersize=8, zorder=3, **look)
            _beside(ax, 1, place, _short(time), 8)
            places.append(place)
            ways.append(way)
            times.append(time)
            place += 1
    _set_log_scale(ax.xaxis, times, _time)
    ax.set_yticks(places, ways)
    ax.set_ylim(place - 0.4, -0.6)
    ax.grid(axis="y", color="#EEEEEE")
    ax.set_axisbelow(True)
    dress(ax, xlabel)
    _write_names(ax, names)
    order = [kind for kind in ("eager", *COLOUR_OF) if kind in verdicts]
    if order:
        dots = [verdicts[kind] for kind in order]
        look = dict(ncols=len(order), handletextpad=0, columnspacing=1)
        look |= dict(loc="lower right", bbox_to_anchor=(1, 1))
        ax.legend(dots, order, fontsize=12, frameon=False, **look)
    shown = []
    for name, group in groups.items():
        comma = "; " if any("," in way for way in group) else ", "
        shown.append(f"{name} ({comma.join(group)})")
    say(
        ax,
        f"{xlabel.capitalize()}: a dot in a row for each way, with the time beside it, in groups, "
        "on a logarithmic axis. The first dot of a group with verdicts is hollow, and a dotted "
        "line leads from it through the rows of its group; the colours of the others are their "
        f"verdicts. Shown: {', '.join(shown)}.",
    )
    return ax


def _look_of(kind):
    if kind == "eager":
        return dict(color=BLACK, markerfacecolor="white", markeredgewidth=2)
    return dict(color=COLOUR_OF[kind] if kind else BLACK)


def _beside(ax, side, row, text, points, **looks):
    """Write beside a row, so many points away from the left side (0) or the right one (1)."""
    return ax.annotate(
        text,
        xy=(side, row),
        xycoords=("axes fraction", "data"),
        xytext=(points, 0),
        textcoords="offset points",
        va="center_baseline",  # as the labels of the rows
        fontsize=12,
        **looks,
    )


def _write_names(ax, names):
    """Write the names of groups in a column of their own, left of the labels of the rows."""
    texts = [_beside(ax, 0, row, name, 0, fontweight="bold") for row, name in names]
    columns = [texts, ax.get_yticklabels()]
    widths = [max(text.get_window_extent().width for text in column) for column in columns]
    for text in texts:
        text.set_position((-sum(widths) - 24, 0))  # in points: a new figure has 72 dots an inch


def plot_scatter(
    points: dict[str, Iterable[tuple[float, float]]],
    xlabel: str,
    ylabel: str,
    *,
    diagonal: str = "",
    paths: bool = False,
    log: bool = True,
) -> Axes:
    """Draw points (x, y) of several labels, each with its own colour and shape.

    `points` maps a label to its points, numbers above 0; a label without points is left out. Both
    axes are logarithmic, or without `log` linear. With `diagonal`, a short text such as 'equal',
    both axes are the same, and a line with this text marks where x is y. With `paths`, thin lines
    lead from the first point of a label, which is hollow, to each of its others; a point that is
    alone is filled.
    """
    points = {label: list(dots) for label, dots in points.items()}
    points = {label: dots for label, dots in points.items() if dots}
    ax = new_axes(*((6.5, 5) if diagonal else (8, 4.5)))
    looks = zip(cycle([BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK, GREY]), cycle("os^DvpdP"))
    for (label, dots), (colour, marker) in zip(points.items(), looks, strict=False):
        look = dict(color=colour, marker=marker, markersize=8 if paths else 6, linestyle="")
        look["zorder"] = 3 + 1 / len(dots)  # or a large cloud would hide a small one
        if paths and len(dots) > 1:
            first, *dots = dots
            for dot in dots:
                ax.plot(*zip(first, dot, strict=True), color=colour, linewidth=1)
            ax.plot(*first, markerfacecolor="white", markeredgewidth=1.5, **look)
        look["alpha"] = 1 if paths else 0.55
        ax.plot(*zip(*dots, strict=True), label=label, **look)
    across, upwards = zip(*(dot for dots in points.values() for dot in dots), strict=True)
    for axis, values in ((ax.xaxis, across), (ax.yaxis, upwards)):
        values = across + upwards if diagonal else values
        _set_log_scale(axis, values, _plain) if log else _set_linear_scale(axis, values)
    if diagonal:
        ax.axline((1, 1), (2, 2), color=GREY, linewidth=1.5)
        _beside(ax, 1, ax.get_ylim()[1], diagonal, 6)  # where the line ends: no point is there
    look = dict(loc="upper left", bbox_to_anchor=(1, 0.95), handletextpad=0)
    ax.legend(fontsize=12, frameon=False, **look)
    dress(ax, xlabel, ylabel, sides=("left", "bottom"))
    kind = "logarithmic axes" if log else "axes"
    line = f" A straight line marks where both are the same: {diagonal}." if diagonal else ""
    star = " Thin lines lead from a label's first point, hollow, to its others." if paths else ""
    say(
        ax,
        f"Points over two {kind}: {xlabel} from left to right, {ylabel} upwards.{line}"
        f"{star} Shown: {listed(points)}.",
    )
    return ax


def _set_log_scale(axis, values, text_of):
    """Make an axis logarithmic, with all values on it and two marks or more."""
    low, high = min(values), max(values)
    middle, reach = sqrt(low * high), max(high / low, 3) ** 0.55  # beyond the first and the last
    low, high = middle / reach, middle * reach
    name = axis.axis_name  # 'x' or 'y'
    axis.axes.set(**{f"{name}scale": "log", f"{name}lim": (low, high)})
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    for digits in ((1,), (1, 3), (1, 2, 5), range(1, 10)):  # the first that gives three marks
        ticks = [float(f"{digit}e{power}") for power in powers for digit in digits]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) >= 3:
            break
    ticks = ticks[:: ceil(len(ticks) / 5)]
    axis.set_ticks(ticks, [text_of(tick) for tick in ticks])
    axis.set_minor_locator(NullLocator())


def _set_linear_scale(axis, values):
    """Show all values on an axis, with a little room beyond, and a few marks."""
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 0.1 * high
    axis.axes.set(**{f"{axis.axis_name}lim": (low - room, high + room)})
    axis.set_major_locator(MaxNLocator(5))


def _plain(number):
    """A mark of an axis without an exponent: 1,000 or 0.1. Very small ones have one: 10⁻⁸."""
    if 0 < number < 5e-4:
        digit, power = f"{number:.0e}".split("e")
        small = f"10{str(int(power)).translate(SUPERSCRIPTS)}"
        return small if digit == "1" else f"{digit}·{small}"
    return f"{number:,.12f}".rstrip("0").rstrip(".")


def _time(tick):
    """A mark of an axis of times: 100 µs."""
    unit, factor = unit_for(tick)
    return f"{_plain(tick * factor)} {unit}"


def _short(time):
    """A time with three digits and a fitting unit: 56.1 µs."""
    time = float(f"{time:.3g}")  # first, since 999.9 µs become 1.00 ms
    unit, factor = unit_for(time)
    return f"{time * factor:,.{max(0, 2 - floor(log10(time * factor)))}f} {unit}"


def plot_latencies(times: Mapping[str, Mapping[str, float]], rows: Sequence[str]) -> Axes:
    """Draw how long things take that differ by powers of ten: a row for each, a mark a source.

    `times` maps a source, such as 'measured here', to a dict from things to seconds. `rows` are
    the things to show, from the top to the bottom; not every source must have each. The marks of
    the first source are filled, those of the others hollow. The axis is logarithmic, with a line
    at each power of ten.
    """
    ax = new_axes(9, 0.9 + 0.28 * len(rows))
    looks = zip(cycle([BLUE, ORANGE, RED, GREEN, PURPLE]), cycle("os^Dv"))
    shown = []
    for (source, known), (colour, marker) in zip(times.items(), looks, strict=False):
        places = [(known[thing], at) for at, thing in enumerate(rows) if thing in known]
        shown += [time for time, _ in places]
        look = dict(color=colour, marker=marker, markersize=8, markeredgewidth=2, linestyle="")
        look["zorder"] = 3
        look["markerfacecolor"] = "none" if known is not next(iter(times.values())) else colour
        ax.plot([time for time, _ in places], [at for _, at in places], label=source, **look)
    low, high = floor(log10(min(shown))), ceil(log10(max(shown)))
    powers = [10.0**power for power in range(low, high + 1)]
    ax.set_xscale("log")
    ax.set_xlim(powers[0] / 1.5, powers[-1] * 1.5)
    ax.set_xticks(powers[::2], [_time(power) for power in powers[::2]])
    ax.set_xticks(powers[1::2], [""] * len(powers[1::2]), minor=True)
    ax.set_yticks(range(len(rows)), rows)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.grid(which="both", color="#DDDDDD")
    ax.set_axisbelow(True)
    look = dict(ncols=len(times), handletextpad=0, columnspacing=1)
    ax.legend(fontsize=12, frameon=False, loc="lower right", bbox_to_anchor=(1, 1), **look)
    dress(ax)
    say(
        ax,
        "Times as marks in a row for each thing, on a logarithmic axis, with a shape and a colour "
        f"for each source: {listed(times)}. The rows, from the top: {listed(rows)}.",
    )
    return ax


def plot_shares(
    shares: dict[str, dict[str, float]],
    limit: float | None = None,
    limit_label: str = "limit",
    xlabel: str = "",
) -> Axes:
    """Draw what each time is made of as a bar in pieces, and a line for the least possible time.

    `shares` maps a label to a dict from parts to seconds; all have the same parts, in one order.
    `limit` is the least possible time in seconds. With `xlabel`, such as 'MiB a device', they are
    no times, and drawn as they are.
    """
    ax = new_axes(9, 1.5 + 0.5 * len(shares))
    labels = list(shares)
    whole = max(sum(parts.values()) for parts in shares.values())
    unit, factor = (xlabel, 1) if xlabel else unit_for(whole)
    left = [0.0] * len(labels)
    parts = next(iter(shares.values()))
    for part, colour in zip(parts, cycle([BLUE, ORANGE, SKY, GREEN, PURPLE]), strict=False):
        pieces = [shares[label][part] * factor for label in labels]
        ax.barh(labels, pieces, left=left, color=colour, height=0.6, label=part)
        left = [a + b for a, b in zip(left, pieces, strict=True)]
    if limit is not None:
        ax.axvline(limit * factor, color=RED, linewidth=2, linestyle="--", label=limit_label)
    ax.invert_yaxis()
    ax.legend(fontsize=12, frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
    dress(ax, xlabel or f"{unit} a call")
    line = f" A dashed line marks {limit_label}." if limit is not None else ""
    title = f"{xlabel}, and what they are" if xlabel else "What the time of a call is"
    say(
        ax,
        f"{title} made of, as bars in pieces. The bars: {listed(labels)}. "
        f"The pieces, from the left: {listed(parts)}.{line}",
    )
    return ax


def plot_over_time(blocks: dict[str, tuple[Sequence[float], Sequence[float]]]) -> Axes:
    """Draw the time of each block of calls over the moment at which the block began.

    `blocks` maps a label to (moments, times), both in seconds and in the order of measuring. Each
    label is written above its blocks.
    """
    ax = new_axes(9, 3.5)
    start = min(moments[0] for moments, _ in blocks.values())
    unit, factor = unit_for(median(time for _, times in blocks.values() for time in times))
    for (label, (moments, times)), colour in zip(blocks.items(), cycle([BLUE, RED]), strict=False):
        seconds = [moment - start for moment in moments]
        values = [time * factor for time in times]
        ax.plot(seconds, values, ".", color=colour, markersize=3, alpha=0.5)
        middle = (seconds[0] + seconds[-1]) / 2
        ax.text(middle, 1.01, label, transform=ax.get_xaxis_transform(), ha="center", fontsize=12)
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter("{x:g}")
    dress(ax, "seconds since the start", f"{unit} a call", sides=("left", "bottom"))
    say(
        ax,
        "The time of each block of calls as a dot over the moment of measuring, on a logarithmic "
        f"axis. From left to right: {listed(blocks)}.",
    )
    return ax


def plot_distribution(times: Sequence[float]) -> Axes:
    """Draw how often each time, in seconds, was measured, with the median and the mean.

    The axis is logarithmic. The longest five per cent are left out of the picture, but not of the
    mean.
    """
    ax = new_axes(8, 3)
    unit, factor = unit_for(median(times))
    values = sorted(time * factor for time in times)
    middle, mean = median(values), fmean(values)
    shown = values[: len(values) - len(values) // 20]
    low, high = shown[0] / 1.03, 1.03 * max(shown[-1], mean)
    step = log10(high / low) / 80
    ax.hist(shown, bins=[low * 10 ** (step * i) for i in range(81)], color=SKY)
    ax.axvline(middle, color=BLACK, linestyle="-", linewidth=2, label="median")
    ax.axvline(mean, color=RED, linestyle="--", linewidth=2, label="mean")
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)) if high > 4 * low else MaxNLocator(8))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter("{x:g}")
    ax.legend(fontsize=12, frameon=False)
    dress(ax, f"{unit} a call", "blocks", sides=("left", "bottom"))
    say(
        ax,
        "How many blocks of calls took how long, as bars over a logarithmic axis of time, with "
        "lines at the median and at the mean.",
    )
    return ax


def plot_break_even(costs: dict[str, tuple[float, float]]) -> Axes:
    """Draw the total time over the number of calls.

    `costs` maps a label to (price, time of a call), in seconds. The first is the one that the
    others must overtake; its price must be 0, so subtract it from all if it has one. The picture
    reaches to twice the last crossing or, if there is no crossing, to where the first has cost
    twice the highest price.
    """
    ax = new_axes(8, 3.5)
    (first_price, base), *others = costs.values()
    if first_price:
        raise ValueError(f"the first's price must be 0, not {first_price!r}: subtract it from all")
    crossings = [price / (base - each) for price, each in others if each < base]
    highest = max(price for price, _ in others)
    calls = 2 * max(crossings, default=highest / base)
    end = max(price + each * calls for price, each in costs.values())
    unit, factor = unit_for(end)
    palette = chain([BLACK], cycle([BLUE, RED, ORANGE, GREEN, PURPLE, SKY]))
    colours = dict(zip(costs, palette, strict=False))
    for label, (price, each) in costs.items():
        line = [price * factor, (price + each * calls) * factor]
        ax.plot([0, calls], line, color=colours[label], linewidth=2, label=label)
    for label, (price, each) in costs.items():
        if each < base:
            at = price / (base - each)
            ax.plot(at, at * base * factor, "o", color=colours[label], markersize=9)
    ax.set_xlim(0, calls)
    ax.set_ylim(0)
    ax.legend(fontsize=12, frameon=False)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    dress(ax, "calls", f"total time in {unit}", sides=("left", "bottom"))
    first, *others = costs
    say(
        ax,
        f"The total time over the number of calls, as straight lines. {first} starts at zero; "
        f"{listed(others)} start at their price, with a dot where one overtakes it.",
    )
    return ax
