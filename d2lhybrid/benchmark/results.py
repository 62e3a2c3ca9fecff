"""What follows from measured times: a `Result` for each candidate, together a `Comparison`.

A `Comparison` shows itself as tables in text, one above the other with lines of 88 characters at
most, and as one wide table.

The times of a round are compared with each other, and the rounds give an interval. Of several
processes each gives one speed-up, and these give the interval. So it covers what differs between
two processes: where their data lie in memory, and what a compiler found out by trial.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib import import_module
from itertools import chain
from math import ceil, exp, inf, isfinite, log
from statistics import median, mode, stdev
from textwrap import fill
from types import ModuleType
from typing import Any

from ..tables import Column, Table, seconds, text_table
from .metadata import TIME_LIMIT, format_metadata
from .statistics import ALPHA, effective_sample_size, interval, log_speedups
from .timing import Measurement
from .verdict import FASTER, INCONCLUSIVE, SLOWER, judge

LABEL, INTERVAL = Column(""), Column("95% CI", 16)
RATIO = [Column("speed-up", 9), INTERVAL, Column("verdict", 19)]
SPEEDS = [Column("time per call"), *RATIO]
BUILD_COSTS = [Column("build cost", 9), Column("break-even", 13)]
ALPHA_OF_NOISE = 0.25  # of six rounds, one in each process, no single block makes the noise floor


@dataclass(frozen=True)
class Speedup:
    """A speed-up, the baseline's time divided by the candidate's: above 1 is faster."""

    speedup: float
    low: float  # its 95% CI
    high: float
    verdict: str  # 'faster', 'slower', 'equivalent' or 'inconclusive'

    @property
    def is_known(self) -> bool:
        """Whether there is an interval; too few rounds or processes give none."""
        return self.low > 0 and isfinite(self.high)

    @property
    def drawn(self) -> tuple[float, float, float, str]:
        """(speed-up, low, high, verdict), as `plot_speedups` takes it."""
        return self.speedup, self.low, self.high, self.verdict


@dataclass(frozen=True)
class Total(Speedup):
    """The speed-up of building and a number of calls together, in a new process."""

    time: float  # seconds, the median of the processes


@dataclass(frozen=True)
class Result(Speedup):
    """What the measurements of one candidate say; times in seconds."""

    label: str
    median: float  # one call
    independent_rounds: int  # how many independent ones say as much as those measured
    # Half the 95% CI of one process's log speed-up, the median over processes; 0.01 is 1%.
    spread_within: float | None
    spread_between: float | None  # two standard deviations of the processes' log speed-ups
    build_cost: float | None  # building, and what the first calls cost more than a later one
    # After so many calls is paid back what building costs more than with the baseline; None: never.
    break_even: int | None
    break_even_low: int | None  # its 95% CI, from several processes; None for never
    break_even_high: int | None
    build_state: str  # its build state, such as 'cold process, warm cache'; '' if it was not built
    total: Total | None  # where `compare` was told the number of calls


class Answers(Table, Mapping):
    """A table that is also a mapping; a subclass has what it maps as a dict, `answers`."""

    def __getitem__(self, key):
        return self.answers[key]

    def __iter__(self) -> Iterator:
        return iter(self.answers)

    def __len__(self) -> int:
        return len(self.answers)


@dataclass(frozen=True, repr=False)
class Comparison(Answers):
    """The answer of `compare`: a mapping from the candidates' labels to a `Result` each.

    `print` shows tables, a notebook shows an HTML table, `plot()` draws a picture, and
    `to_markdown()` returns a table for a page; `to_dict()` returns all measurements, ready for
    JSON.
    """

    baseline: str
    processes: tuple[dict[str, Measurement], ...]  # what was measured in each, by label
    min_effect: float
    duration: float  # seconds of measuring
    complete: bool  # False where it was interrupted
    machine: dict[str, Any]  # as `describe_machine` returns it
    calls: int | None = None  # how often the candidates are to be called
    notes: tuple[str, ...] = ()  # on single candidates, for below the tables
    reason: dict[str, Any] | None = None  # of the baseline's time, where it was asked for

    @property
    def timings(self) -> dict[str, Measurement]:
        """The measurements in the first process of each candidate, by label."""
        return self.processes[0]

    @property
    def rounds(self) -> int:
        """The number of rounds that were measured, in all processes together."""
        return sum(len(timings[self.baseline].block_a) for timings in self.processes)

    @cached_property
    def noise_floor(self) -> float:
        """How far the baseline may seem to differ from itself: 0.01 for 1%; infinity if unknown."""
        bases = self._of(self.baseline)
        pairs = [zip(base.block_a, base.block_b, strict=True) for base in bases]
        # Of all processes together: the blocks of a round are in random order, so in each process
        # their ratio is as likely to be above 1 as below it.
        rounds = [log(a / b) for each in pairs for a, b in each]
        low, _, high = interval(rounds, ALPHA if len(bases) == 1 else ALPHA_OF_NOISE)
        return exp(max(-low, high)) - 1

    @property
    def equivalence_margin(self) -> float:
        """The speed-up that a clear verdict must exceed: the smallest effect on top of the noise.

        It is (1 + `min_effect`) * (1 + `noise_floor`).
        """
        return (1 + self.min_effect) * (1 + self.noise_floor)

    @property
    def alpha(self) -> float:
        """How often the interval of one candidate may miss the true value.

        It is so small that the intervals of all candidates hold simultaneously in 95 of 100
        comparisons (Bonferroni's inequality).
        """
        return ALPHA / (len(self.timings) - 1)

    @cached_property
    def answers(self) -> dict[str, Result]:
        """All results, in the order of the candidates: label -> Result."""
        return {label: self._result(label) for label in self.timings}

    def select(self, labels: Iterable[str]) -> "Comparison":
        """Return the same measurement of only these candidates; the first is the baseline.

        Every round has two blocks of each candidate, so any of them can be the baseline. KeyError
        for an unknown label, ValueError for fewer than two.
        """
        labels = list(dict.fromkeys(labels))
        if len(labels) < 2:
            raise ValueError(f"select needs at least two labels, got {labels}")
        processes = tuple({label: timings[label] for label in labels} for timings in self.processes)
        return replace(self, baseline=labels[0], processes=processes, reason=None)

    def _of(self, label):
        """The candidate's measurements, one for each process."""
        return [timings[label] for timings in self.processes]

    def _result(self, label):
        """Return the Result of the candidate that has this label."""
        owns, bases = self._of(label), self._of(self.baseline)
        rounds = [log_speedups(own, base) for own, base in zip(owns, bases, strict=True)]
        values = _independent(rounds)
        speedup = self._judged(values, self.noise_floor)
        pays = [None] * 3
        each = self._each_process(label)
        is_built = owns[0].build is not None
        if is_built and speedup.verdict == FASTER:
            pays = self._break_even(owns, bases, [median(ratios) for ratios in rounds])
        return Result(
            **vars(speedup),
            label=label,
            median=median(own.median_time for own in owns),
            independent_rounds=effective_sample_size(values),
            spread_within=median((high - low) / 2 for low, _, high in each) if each else None,
            spread_between=2 * stdev(values) if each else None,  # 95% of a bell curve
            build_cost=median(own.build_cost for own in owns) if is_built else None,
            break_even_low=pays[0],
            break_even=pays[1],
            break_even_high=pays[2],
            build_state=mode(own.build_state for own in owns),
            total=self._total(owns, bases),
        )

    def _judged(self, values, noise_floor):
        """Return the Speedup, with interval and verdict, that these log speed-ups show."""
        low, middle, high = interval(values, self.alpha)
        verdict = judge(low, high, self.min_effect, noise_floor)
        return Speedup(exp(middle), exp(low), exp(high), verdict)

    def _each_process(self, label):
        """Return (low, median, high) of the log speed-up in each process; [] if there is one."""
        pairs = list(zip(self._of(label), self._of(self.baseline), strict=True))
        several = pairs if len(pairs) > 1 else []
        return [interval(log_speedups(own, base), self.alpha) for own, base in several]

    def _break_even(self, owns, bases, speedups):
        """Return after how many calls building is paid back: [low, median, high]; None for never.

        `owns` are the candidate's measurements, `bases` the baseline's, which may have to be built,
        too, `speedups` the log speed-ups, one for each process.
        """
        found = []
        for own, base, speedup in zip(owns, bases, speedups, strict=True):
            saved = own.median_time * (exp(speedup) - 1)
            more = own.build_cost - (0.0 if base.build is None else base.build_cost)
            found.append(max(0.0, more) / saved if saved > 0 else inf)
        ends = interval(found, self.alpha)
        return [ceil(calls) if isfinite(calls) else None for calls in ends]

    def _total(self, owns, bases):
        """Return the Total of building and `calls` calls; None where `calls` was not given."""
        if self.calls is None:
            return None
        own, base = ([t.total_time(self.calls) for t in timings] for timings in (owns, bases))
        ratios = [log(b / a) for a, b in zip(own, base, strict=True)]
        return Total(**vars(self._judged(ratios, noise_floor=0.0)), time=median(own))

    def sentence(self, label: str | None = None, what: str = "it") -> str:
        """Return one sentence to quote: how fast a candidate ran `what`, on which machine.

        Without a `label` it is about the fastest; a label `a, b` is written `a (b)`. Its lines have
        at most 88 characters, and it includes the break-even if there is one.
        """
        others = [r for r in self.values() if r.label != self.baseline]
        r = self[label] if label else max(others, key=lambda r: (r.verdict == FASTER, r.speedup))
        name, base = (re.sub(", (.+)", r" (\1)", one) for one in (r.label, self.baseline))
        speed = f"{ratio(r.speedup, 2)} times as fast"
        speed += f" (95% CI {ratio(r.low, 2)} to {ratio(r.high, 2)})" if r.is_known else ""
        said = f"{name} ran {what} no faster than {base}: {speed}."
        if r.verdict == INCONCLUSIVE:
            said = f"this run cannot tell whether {name} ran {what} faster than {base}: {speed}."
        elif r.verdict == FASTER:
            calls = f"after about {float(f'{r.break_even or 0:.3g}'):,.0f} calls"
            pays = f", and compiling it pays off {'at once' if r.break_even in (0, 1) else calls}"
            said = f"{name} ran {what} {speed} as {base}{'' if r.break_even is None else pays}."
        machine, cores = self.machine["processor"], self.machine["cores"]
        return fill(f"On my machine ({machine}, {cores} core{'s' * (cores != 1)}), {said}", 88)

    def measured_on(self) -> str:
        """When, where and with what the measurement was made, in two lines."""
        return "\n".join(format_metadata(self.machine))

    def plot(self):
        """Draw the speed-ups with their intervals; returns Matplotlib axes."""
        speedups = {r.label: r.drawn for r in self.values() if r.label != self.baseline}
        processes = {
            label: [(exp(middle), exp(low), exp(high)) for low, middle, high in each]
            for label in speedups
            if (each := self._each_process(label))
        }
        margin = self.equivalence_margin
        return pictures().plot_speedups(speedups, self.baseline, margin, processes)

    def to_dict(self) -> dict[str, Any]:
        """Return all measurements, in types that JSON has."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Comparison":
        """Return the comparison of which `to_dict` made this dict, perhaps in an older version."""
        data = _renamed(data)
        processes = [{k: _measurement_from(m) for k, m in one.items()} for one in data["processes"]]
        data |= {"processes": tuple(processes), "notes": tuple(data.get("notes", ()))}
        return cls(**data)

    # How it is shown ------------------------------------------------------------------------

    def _tables(self, wide):
        """Yield (columns, cells) of each table of the text, or of each part of the one wide table.

        `cells` maps labels to the strings of a row, without the label.
        """
        yield (
            SPEEDS,
            {r.label: [seconds(r.median), *self._ratio_cells(r, r)] for r in self.values()},
        )
        if self._built():
            columns = BUILD_COSTS if len(self.processes) == 1 else [*BUILD_COSTS, INTERVAL]
            costs = {r.label: self._cost_cells(r)[: len(columns)] for r in self._built()}
            if not wide:
                costs = {label: [_where_built(self[label]), *costs[label]] for label in costs}
                columns = [Column("built", max(len(row[0]) for row in costs.values())), *columns]
            yield columns, costs
        if self.calls:
            totals = {
                r.label: [seconds(r.total.time), *self._ratio_cells(r, r.total)]
                for r in self.values()
            }
            yield [Column(f"{self.calls} calls", 11), *RATIO], totals

    def _text(self):
        tables = [
            text_table([LABEL, *columns], [[label, *row] for label, row in cells.items()])
            for columns, cells in self._tables(wide=False)
        ]
        return ["\n\n".join(tables) + "\n" * (len(tables) > 1), *self._summary()]

    def _columns(self):
        return [LABEL, *chain(*(columns for columns, _ in self._tables(wide=True)))]

    def _rows(self):
        for label in self:
            parts = self._tables(wide=True)
            cells = (cells.get(label, [""] * len(columns)) for columns, cells in parts)
            yield [label, *chain(*cells)]

    def _notes(self):
        built = [f"{r.label} {_where_built(r)}" for r in self._built() if r.build_state]
        return self._summary([f"built: {'; '.join(built)}"] if built else [])

    def _built(self):
        """Return the Results of the candidates that had to be built, and so have a build cost."""
        return [result for result in self.values() if result.build_cost is not None]

    def _ratio_cells(self, r, speedup):
        """Return the cells of RATIO: of a Result, with its own speed-up or that of its Total."""
        if r.label == self.baseline:
            return ["", "", "baseline"]
        if not speedup.is_known:
            return ["?", "not known", speedup.verdict]
        ends = f"{ratio(speedup.low)} to {ratio(speedup.high)}"
        return [ratio(speedup.speedup), ends, speedup.verdict]

    def _cost_cells(self, r):
        """Return three cells of a Result: build cost, break-even, and the interval of that."""
        if r.label == self.baseline:
            return [seconds(r.build_cost), "baseline", ""]
        if r.break_even is None:
            return [seconds(r.build_cost), "never" if r.verdict == SLOWER else "no clear gain", ""]
        ends = (r.break_even_low, r.break_even_high)
        low, high = ("never" if end is None else end for end in ends)
        calls = f"{r.break_even} calls" if r.break_even > 1 else "at once"
        return [seconds(r.build_cost), calls, f"{low} to {high}"]

    def _summary(self, built=()):
        """Return the lines below the tables: the precision, notes, and where it was measured."""
        floor = f"{self.noise_floor:.1%}" if isfinite(self.noise_floor) else "not known"
        processes = f"{len(self.processes)} processes, " if len(self.processes) > 1 else ""
        line = f"noise floor {floor}, {processes}{self.rounds} rounds in {self.duration:.2f} s"
        others = [r for r in self.values() if r.label != self.baseline]
        unsure = [r.label for r in others if r.verdict == INCONCLUSIVE]
        if not self.complete:
            line += ", interrupted"
        elif unsure:
            line += f"; undecided: {', '.join(unsure)}"
        notes = [f"note: {note}" for note in self._remarks()]
        return [line, *notes, *built, *self.measured_on().splitlines()]

    def _remarks(self):
        """Yield, in words, what must be known of the machine and of single candidates."""
        yield from self.notes
        if limit := self.machine.get("time_limit"):
            yield f"{TIME_LIMIT}={limit} limits the seconds of measuring"
        worst = min(self.values(), key=lambda r: r.independent_rounds)
        if len(self.processes) == 1 and worst.independent_rounds < self.rounds:
            size = f"effective sample size {worst.independent_rounds} of {self.rounds} rounds"
            yield f"speeds change slowly: {worst.label} has an {size}"
        for r in self.values():
            if r.label != self.baseline and r.spread_within is not None:
                within = f" by {r.spread_within:.1%} within a process, and"
                within *= isfinite(r.spread_within)
                yield f"{r.label} spreads{within} by {r.spread_between:.1%} between processes"


def _where_built(r):
    """Return `in a cold process, warm cache` or the like; '' if it was not built."""
    return f"in a {r.build_state}" if r.build_state else ""


def ratio(number: float, decimals: int = 3) -> str:
    """Return a speed-up in so many decimals; three significant digits if it is 10 or more, or tiny.

    >>> ratio(1.41), ratio(24.01), ratio(1983.4), ratio(0.00012)
    ('1.410', '24.0', '1980', '0.00012')
    """
    if number >= 10:
        return f"{float(f'{number:.3g}'):.{int(number < 99.95)}f}"
    return f"{number:.{decimals}f}" if number >= 10**-decimals else f"{number:.3g}"


def pictures() -> ModuleType:
    """The module of the package that draws speed-ups.

    By name, when a picture is asked for: measuring needs nothing of it, nor matplotlib.
    """
    return import_module("d2lhybrid.plot.charts")


def _independent(rounds):
    """Return the values whose median counts, from the log speed-ups of the rounds of each process.

    Of a single process these are its rounds, of several processes the median of each.
    """
    return rounds[0] if len(rounds) == 1 else [median(values) for values in rounds]


# The fields whose names have changed since older files were written.
RENAMED = {"took": "duration", "built_in": "build_state", "launches": "processes"}


def _renamed(data):
    """Return a dict from a file, with its fields under their present names."""
    return {RENAMED.get(name, name): value for name, value in data.items()}


def _measurement_from(data):
    """Return the Measurement of a dict from a file."""
    fields = _renamed(data).items()
    return Measurement(**{k: tuple(v) if isinstance(v, list) else v for k, v in fields})
