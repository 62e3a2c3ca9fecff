"""What limits a program of PyTorch: overhead, memory or arithmetic; and what compiling could gain.

    found = limits(net, x)
    found          # a table by operation, and below it why
    found.regime   # 'overhead'
    found.bound()  # 3.6: compiling can hardly make it faster than so many times
    found.plot()

Every operation costs its overhead, and after that the longer of two: its bytes through the memory's
bandwidth, or its arithmetic at the machine's peak (the roofline of Williams, Waterman and
Patterson, 2009). On a CPU one comes after the other, so they are added.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from statistics import median
from typing import Any

from ..benchmark.metadata import page_faults
from ..benchmark.results import ratio
from ..benchmark.timing import python_calls
from ..frameworks import compilations, state
from ..tables import Column, Table, seconds

WORDS = {"overhead": "overhead", "memory": "memory", "compute": "arithmetic"}
FIELDS = ["name", "calls", "bytes", "flops", *WORDS]
NEW_MEMORY = "new pages of memory"
ALIKE = {"gelu_backward": "gelu", "silu_backward": "silu"}


@dataclass(frozen=True, repr=False)
class Limits(Table):
    """What `limits` returns: a table by operation, which `print` and a notebook show.

    Times are in seconds; they are predicted from counts and ceilings, and not measured.
    """

    rows: list[dict[str, Any]]  # of equal operations together; the keys are FIELDS
    operations: int
    views: int
    least_bytes: int  # if all but products is fused: theirs, and inputs and results
    least: float  # seconds that this takes
    ceilings: dict[str, Any]  # what the machine can do, see `ceilings.measured`

    def total(self, field: str) -> float:
        """The sum of a field of all rows, such as 'flops' or 'overhead'."""
        return sum(row[field] for row in self.rows)

    @property
    def parts(self) -> dict[str, float]:
        """Seconds of a call by what they go to: 'overhead', 'memory' and 'compute'."""
        return {part: self.total(part) for part in WORDS}

    @property
    def time(self) -> float:
        """Seconds of a call."""
        return sum(self.parts.values())

    @property
    def regime(self) -> str:
        """What most of the time goes to: 'overhead', 'memory' or 'compute'."""
        return max(self.parts, key=self.parts.get)

    def bound(self, time: float | None = None) -> float:
        """How many times faster compiling can make a call, at the most.

        `time` is a call's as it was measured; by default it is the predicted one. The bound holds
        for compilers that compute products, and functions such as tanh, no faster than PyTorch,
        each of them once. They fuse all else, and a call costs as much as a single operation.
        """
        return max(1.0, (time or self.time) / self.least)

    def reasons(self, time: float | None = None) -> list[str]:
        """Return in words what limits the program, four lines; `time` is as for `bound`."""
        flops, size = self.total("flops"), self.total("bytes")
        shares = [f"{took / self.time:.0%} {WORDS[part]}" for part, took in self.parts.items()]
        new = sum(row["memory"] for row in self.rows if row["name"] == NEW_MEMORY) / self.time
        measured = f", measured {seconds(time, 3)}" if time else ""
        measured += f"; {new:.0%} for newly mapped pages" * (new > 0.1)
        most = f"at most {ratio(self.bound(time), 1)} times as fast"
        counts = f"{self.operations} operations and {self.views} views, {si(flops)}FLOP"
        return [
            f"{counts}, {si(size)}B: {flops / max(1, size):.2g} FLOP per byte",
            f"{self.regime}-bound: {', '.join(shares)}",
            f"predicted {seconds(self.time, 3)}{measured}",
            f"fused, {si(self.least_bytes)}B: {most}",
        ]

    def plot(self):
        """Draw the predicted time by operation, as bars of three parts; returns matplotlib Axes."""
        from ..plot.charts import plot_stacked_bars

        bars = defaultdict(Counter)
        for row in self.rows:
            bars[row["name"]].update({word: row[part] for part, word in WORDS.items()})
        return plot_stacked_bars(bars)

    def _columns(self):
        return [Column(""), *(Column(field, 9) for field in FIELDS[1:])]

    def _rows(self):
        for name, calls, *numbers in map(dict.values, self.rows):
            sizes = [si(n).strip() if n else "" for n in numbers[:2]]
            yield [name, f"{calls}", *sizes, *(seconds(t, 3) if t else "" for t in numbers[2:])]

    _notes = reasons


def limits(
    function: Callable,
    *args: Any,
    ceilings: dict[str, Any] | None = None,
    new_pages: float | None = None,
) -> Limits:
    """Find out what limits `function(*args)`, a PyTorch program on the CPU, as it is now.

        limits(net, x)

    The function is called eight times, three of them to count `new_pages`, the pages of memory that
    a call is given, unless they are known, and once to count its operations. `ceilings` may be
    those of another machine; by default this machine's are measured, in a second, once per process.

    Raises:
        ValueError: If it runs no PyTorch operation, or one that `record` does not know.
    """
    if new_pages is None:
        pages = [page_faults()]
        for _ in range(3):  # first of all: what is loaded below changes which memory is free
            function(*args)
            pages.append(page_faults())
        new_pages = median(after - before for before, after in pairwise(pages))
    from .ceilings import OF_ROWS, between, measured, seconds_a_number
    from .counting import record

    python = python_calls(function, *args)
    (operations, kept), found = record(lambda: function(*args)), defaultdict(list)
    work = [op for op in operations if op.kind != "view"]
    needed = _needed(work, kept)
    if not work:
        raise ValueError("it runs no PyTorch operation")
    if not ceilings:
        unary = [op for op in work if op.kind == "pointwise" and len(op.reads) == 1]
        names = {op.name for op in unary} | {op.name for op in work} & {*OF_ROWS, *ALIKE}
        threads = state()["threads"]
        functions = {n: seconds_a_number(ALIKE.get(n, n), threads) for n in sorted(names)}
        ceilings = measured(threads) | {"functions": functions}
    of, products = ceilings["overhead"], [op for op in needed if op.flops]
    different, (many, factor) = len({op.name for op in operations}), ceilings["company"]
    company = 1 + (factor - 1) * min(1, (different - 1) / (many - 1))
    inputs = {v: size for op in needed for v, size in op.reads.items() if v[1] is None}
    results = {v: size for op in work for v, size in op.writes.items() if v in kept}

    def times(op, far):  # (overhead, memory, compute); `far` bytes of inputs pass in between
        overhead = of.get(op.name, of[op.kind]) * company + of["recorded"] * op.recorded
        memory = op.moved / between(ceilings["bandwidth"], op.bytes + far)
        compute = _arithmetic(op, ceilings)
        return (overhead, memory, 0) if memory >= compute else (overhead, 0, compute)

    for op in operations:
        key = "views" if op.kind == "view" else op.name, op.bytes, op.flops
        found[key].append((1, *key[1:], *times(op, sum(inputs.values()))))
    found["Python's functions",] = [(python, 0, 0, python * of["python"], 0, 0)]
    found[NEW_MEMORY,] = [(round(new_pages), 0, 0, 0, new_pages * ceilings["page"], 0)]
    rows = [(name, *map(sum, zip(*each, strict=True))) for (name, *_), each in found.items()]
    rows = [dict(zip(FIELDS, row, strict=True)) for row in rows]
    used = {value for op in products for value in (*op.reads, *op.writes)}
    inputs, results = (
        sum(size for value, size in one.items() if value not in used) for one in (inputs, results)
    )
    others = sum(_arithmetic(op, ceilings) for op in needed if op.kind == "pointwise")
    rest = inputs + results
    least = of["pointwise"]
    least += max(others, (rest + results) / between(ceilings["bandwidth"], rest))
    for op in products:
        memory = op.moved / between(ceilings["bandwidth"], op.bytes)
        least += max(memory, _arithmetic(op, ceilings, best=True))
        rest += op.bytes
    return Limits(rows, len(work), len(operations) - len(work), rest, least, ceilings)


def _needed(work, kept):
    """The operations that stay if each is done once, and none whose result nobody needs."""
    first, same, once = {}, {}, []
    for op in work:
        inputs = tuple((same.get(value, value), *how) for value, *how in op.inputs)
        twin = first.setdefault((op.name, inputs, *op.writes.values()), op)
        same |= dict(zip(op.writes, twin.writes, strict=True))
        once += [op] * (twin is op)
    wanted, needed = {same.get(value, value) for value in kept}, []
    for op in reversed(once):
        if not op.writes or wanted & op.writes.keys():
            wanted |= {same.get(value, value) for value in op.reads}
            needed.append(op)
    return needed


def _arithmetic(op, ceilings, best=False):
    """Seconds of an operation's products or functions; what is cheaper never limits it.

    `best`: as if a convolution or attention were as fast as a large product.
    """
    from .ceilings import between

    peak, function = ceilings["peak"], ceilings["functions"].get(op.name, 0)
    # A product with a vector uses each weight once: its arithmetic hides behind reading them.
    narrow = op.narrow if op.narrow > 1 else inf
    own = between(peak["product"], inf if op.name in peak else narrow)
    own = max(own, peak[op.name]) if best and op.name in peak else peak.get(op.name, own)
    return op.flops / own + op.numbers * function


def explain(function: Callable, new_pages: float) -> dict[str, Any] | None:
    """Return the Limits of a candidate as a dict; None if it is not PyTorch, or was compiled."""
    if "torch" not in sys.modules or compilations()[0]:
        return None
    return vars(limits(function, new_pages=new_pages))


def si(number: float) -> str:
    """Return a number with the prefix of its unit: `1.5 M`; `12 ` if it needs none."""
    power = min(4, (len(f"{number:.0f}") - 1) // 3)
    return f"{number / 1000**power:.3g} {' kMGT'[power].strip()}"
