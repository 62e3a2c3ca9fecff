"""How a `Comparison` is shown: as tables in text, one above the other, and as one wide table.

Here `c` is the comparison, and `r` one of its results. A line of text has 88 characters at most.
`progress_line` shows how far the measuring is.
"""

import sys
from collections.abc import Callable
from math import isfinite

from ..tables import Column, seconds, text_table
from ..verdicts import SLOWER, UNCLEAR

LABEL, INTERVAL = Column(""), Column("95 % interval", 16)
RATIO = [Column("speed-up", 9), INTERVAL, Column("verdict", 19)]
SPEEDS = [Column("time a call"), *RATIO]
PRICES = [Column("price", 9), Column("pays after", 13)]
SLOWED = 3  # times what a call took alone: more than a cold cache does


def columns(c):
    """The columns of the one wide table."""
    return [LABEL, *SPEEDS, *(price_columns(c) if built(c) else []), *total_columns(c)]


def rows(c):
    """Its rows, one for each candidate: the label and the other cells."""
    for r in c.values():
        cells = speed_cells(c, r) + (price_cells(c, r) if built(c) else []) + total_cells(c, r)
        yield [r.label, *cells]


def built(c):
    """What had to be built, and so has a price."""
    return [result for result in c.values() if result.price is not None]


def price_columns(c):
    return PRICES if len(c.launches) == 1 else [*PRICES, INTERVAL]


def total_columns(c):
    return [] if c.calls is None else [Column(f"{c.calls} calls", 11), *RATIO]


def speed_cells(c, r):
    return [seconds(r.median), *ratio_cells(c, r, r, "*" if r.slow_calls_of else "")]


def ratio_cells(c, r, speedup, mark=""):
    if r.label == c.baseline:
        return ["", "", "baseline"]
    if not speedup.is_known:
        return ["?", "not known", speedup.verdict]
    ends = f"{ratio(speedup.low)} to {ratio(speedup.high)}"
    return [f"{ratio(speedup.speedup)}{mark}", ends, speedup.verdict]


def ratio(number):
    """A speed-up in three decimals, or where these are 0 in three digits."""
    return f"{number:.3f}" if number >= 0.001 else f"{number:.3g}"


def price_cells(c, r):
    if r.price is None:
        cells = ["", "", ""]
    elif r.label == c.baseline:
        cells = [seconds(r.price), "baseline", ""]
    elif r.break_even is not None:
        ends = (r.break_even_low, r.break_even_high)
        low, high = ("never" if end is None else end for end in ends)
        calls = f"{r.break_even} call{'s' * (r.break_even != 1)}"
        cells = [seconds(r.price), calls, f"{low} to {high}"]
    else:
        cells = [seconds(r.price), "never" if r.verdict == SLOWER else "no clear gain", ""]
    return cells[: len(price_columns(c))]


def total_cells(c, r):
    return [seconds(r.total.time), *ratio_cells(c, r, r.total)] if r.total else []


def text(c):
    """The lines that `print` shows: speeds, prices, totals, and notes below them."""
    results = list(c.values())
    lines = [text_table([LABEL, *SPEEDS], [[r.label, *speed_cells(c, r)] for r in results])]
    if with_price := built(c):
        prices = [[r.label, where_built(r), *price_cells(c, r)] for r in with_price]
        where = Column("built", max(len(row[1]) for row in prices))
        lines += ["", text_table([LABEL, where, *price_columns(c)], prices), ""]
    if c.calls:
        totals = [[r.label, *total_cells(c, r)] for r in results]
        lines += [text_table([LABEL, *total_columns(c)], totals), ""]
    return [*lines, spread(c), *remarks(c), *c.measured_on().splitlines()]


def where_built(r):
    """Whether process and caches were cold, in words; '' if it was not built."""
    return f"in a {r.built_in}" if r.built_in else ""


def notes(c):
    """The lines below the one wide table."""
    places = [f"{r.label} {where_built(r)}" for r in built(c) if r.built_in]
    prices = [f"built: {'; '.join(places)}"] if places else []
    return [spread(c), *remarks(c), *prices, *c.measured_on().splitlines()]


def spread(c):
    """How fine the measuring was, and which verdicts are still open."""
    floor = f"{c.noise_floor:.1%}" if isfinite(c.noise_floor) else "not known"
    launches = f"{len(c.launches)} launches, " if len(c.launches) > 1 else ""
    line = f"noise floor {floor}, {launches}{c.rounds} rounds in {c.took:.2f} s"
    if not c.complete:
        return f"{line}, interrupted"
    unsure = [r.label for r in c.values() if r.label != c.baseline and r.verdict == UNCLEAR]
    return line + (f"; still open: {', '.join(unsure)}" if unsure else "")


def remarks(c):
    """What must be known of the machine and of single candidates, a line for each."""
    for r in built(c):
        first = c.launches[0][r.label]
        if "cold cache" in first.built_in and first.built_in != r.built_in:
            yield f"note: the first {r.label} on this machine had the price {seconds(first.price)}"
    for note in c.machine.get("notes") or []:
        yield f"note: {note}"
    if waiting := c.machine.get("waiting"):
        yield f"note: idle threads wait as set by {waiting}"
    if c.machine.get("is_busy"):
        load = c.machine["load"][0]
        yield f"note: the machine was busy when this began: load {load:.1f}"
    worst = min(c.values(), key=lambda r: r.independent_rounds)
    if len(c.launches) == 1 and worst.independent_rounds < c.rounds:
        yield (
            f"note: speeds change slowly: for {worst.label} the {c.rounds} rounds are worth "
            f"{worst.independent_rounds}"
        )
    for r in c.values():
        if r.slowdown > SLOWED:
            yield f"note: calls of {r.label} take {r.slowdown:.1f} times as long as they took alone"
        if r.label != c.baseline and r.scatter_within is not None:
            within = f" by {r.scatter_within:.1%} within a launch, and"
            yield (
                f"note: {r.label} scatters{within * isfinite(r.scatter_within)} "
                f"by {r.scatter_between:.1%} between launches"
            )
        if r.slow_calls_of:
            yield (
                f"note: * now and then {r.slow_calls_of} takes far longer: "
                f"by all calls together the speed-up is {r.mean_speedup:.3f}"
            )


def progress_line(progress: Callable[[str], None] | None) -> Callable[[str], None]:
    """A function that shows a text on stderr in place of the previous one; '' erases it.

    It shows something only in a terminal, so that nothing of it is ever stored in a notebook. A
    `progress` that is given is used as it is: it gets each text, and '' at the end.
    """
    stream, width = sys.stderr, 0
    if progress or not (stream and stream.isatty()):  # None if it was closed
        return progress or (lambda text: None)

    def show(text):
        nonlocal width
        if text or width:
            stream.write("\r" + text.ljust(width) + ("" if text else "\r"))
            stream.flush()
            width = len(text)

    return show
