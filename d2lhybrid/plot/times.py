"""Pictures of times: how long they are, what they are made of, how they spread, and when they pay.

Explained in notebook 05; statistics calls them bar chart, stacked bars, run-sequence plot,
histogram and break-even chart.
"""

from collections.abc import Sequence
from itertools import chain, cycle
from math import log10
from statistics import fmean, median

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from ..tables import unit_for
from .style import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, SKY, dress, listed, new_axes, say


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


def plot_shares(
    shares: dict[str, dict[str, float]],
    limit: float | None = None,
    limit_label: str = "limit",
) -> Axes:
    """Draw what each time is made of as a bar in pieces, and a line for the least possible time.

    `shares` maps a label to a dict from parts to seconds; all have the same parts, in one order.
    `limit` is the least possible time in seconds.
    """
    ax = new_axes(9, 1.5 + 0.5 * len(shares))
    labels = list(shares)
    unit, factor = unit_for(max(sum(parts.values()) for parts in shares.values()))
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
    dress(ax, f"{unit} a call")
    line = f" A dashed line marks {limit_label}." if limit is not None else ""
    say(
        ax,
        f"What the time of a call is made of, as bars in pieces. The bars: {listed(labels)}. "
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
