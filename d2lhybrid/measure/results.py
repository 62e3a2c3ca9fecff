"""What follows from measured times: a `Result` for each candidate, together a `Comparison`.

The times of a round are compared with each other, and the rounds give an interval. Programs can be
launched several times: then each launch gives one speed-up, and the launches give the interval. So
it covers what differs between two processes, such as where their data lie in memory, the seeds of
their hashes, and what a compiler found out by trial.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from math import ceil, exp, inf, isfinite, log
from statistics import median, mode, stdev
from typing import Any

from ..tables import Column, Table, seconds, text_table
from .interval import ERROR, effective_size, interval
from .machine import machine_line, software_line
from .timing import Timing
from .totals import has_slow_calls, mean_time, price, total_time, usual_time
from .verdict import FASTER, SLOWER, UNCLEAR, judge

LABEL, INTERVAL = Column(""), Column("95 % interval", 16)
RATIO = [Column("speed-up", 9), INTERVAL, Column("verdict", 19)]
SPEEDS = [Column("time a call"), *RATIO]
PRICES = [Column("price", 9), Column("pays after", 13)]


@dataclass(frozen=True)
class Speedup:
    """The baseline's time divided by the candidate's: above 1 is faster."""

    speedup: float
    low: float  # its 95 % interval
    high: float
    verdict: str  # 'faster', 'slower', 'as good as equal' or 'no clear difference'

    @property
    def drawn(self) -> tuple[float, float, float, str]:
        """As the functions that draw speed-ups take it."""
        return self.speedup, self.low, self.high, self.verdict


@dataclass(frozen=True)
class Total(Speedup):
    """Of building and a number of calls together, in a new process."""

    time: float  # seconds, the median of the launches


@dataclass(frozen=True)
class Result(Speedup):
    """What follows for one candidate; times in seconds."""

    label: str
    median: float  # one call
    worth: int  # how many independent rounds, or launches, say as much as those measured
    mean_speedup: float  # by the mean of all calls; `speedup` compares the usual call
    uneven: str  # the label of the one with calls that take far longer than usual; '' if none
    within: float | None  # how far rounds let a launch's speed-up scatter: 0.01 for 1 %, up or down
    between: float | None  # how far the launches' speed-ups scatter; None for a single launch
    price: float | None  # building, and what the first calls cost more than a later one
    break_even: int | None  # after so many calls the price is paid; None for never
    break_even_low: int | None  # its 95 % interval, from several launches; None for never
    break_even_high: int | None
    built_in: str  # such as 'cold process, warm cache'; '' if it was not built
    total: Total | None  # where `compare` was told the number of calls


@dataclass(frozen=True, repr=False)
class Comparison(Table, Mapping):
    """The answer of `compare`: a mapping from the candidates' labels to a `Result` each.

    `print` shows a table, a notebook an HTML table, `plot()` a picture, `to_markdown()` a table
    for a page; `to_dict()` returns all that was measured, ready for JSON.
    """

    baseline: str
    launches: tuple[dict[str, Timing], ...]  # what was measured in each, by label
    min_effect: float
    took: float  # seconds of measuring
    complete: bool  # False where it was interrupted
    machine: dict[str, Any]  # as `describe_machine` returns it
    calls: int | None = None  # how often the programs are to be called

    @property
    def timings(self) -> dict[str, Timing]:
        """What was measured in the first launch, by label."""
        return self.launches[0]

    @property
    def rounds(self) -> int:
        """How many rounds were measured, in all launches together."""
        return sum(len(timings[self.baseline].first) for timings in self.launches)

    @cached_property
    def noise_floor(self) -> float:
        """How far the baseline may seem to differ from itself: 0.01 for one per cent."""
        controls = [
            [log(a / b) for a, b in zip(base.first, base.second, strict=True)]
            for base in self._of(self.baseline)
        ]
        low, _, high = interval(_independent(controls))
        return exp(max(-low, high)) - 1

    @property
    def grey_zone(self) -> float:
        """Where the grey zone ends: the ratio that a verdict must exceed.

        It is the smallest effect, on top of the noise floor.
        """
        return (1 + self.min_effect) * (1 + self.noise_floor)

    @property
    def error(self) -> float:
        """How often the interval of one candidate may miss the truth.

        It is so small that the intervals of all candidates hold together 95 times in 100
        (Bonferroni's inequality). With 4 candidates beside the baseline an interval as narrow as
        with one needs about 1.6 times as many rounds, with 9 about 1.9 times.
        """
        return ERROR / (len(self.timings) - 1)

    @property
    def open(self) -> bool:
        """Whether more rounds, or launches, might change a verdict."""
        return any(result.verdict == UNCLEAR for result in self.values())

    @cached_property
    def results(self) -> dict[str, Result]:
        """All results, in the order of the candidates: label -> Result."""
        return {label: self._result(label) for label in self.timings}

    def among(self, labels: Iterable[str]) -> "Comparison":
        """The same measurement, of these candidates alone; the first of them is the baseline.

        Every round has two blocks of each candidate, so each can be the baseline. KeyError for a
        label that is not there, ValueError for fewer than two.
        """
        labels = list(dict.fromkeys(labels))
        if len(labels) < 2:
            raise ValueError(
                f"among needs at least two labels, got {len(labels)}: {quoted(labels)}"
            )
        for label in labels:
            self[label]
        launches = tuple({label: timings[label] for label in labels} for timings in self.launches)
        return replace(self, baseline=labels[0], launches=launches)

    def _of(self, label):
        """The candidate's timings, one for each launch."""
        return [timings[label] for timings in self.launches]

    def _result(self, label):
        owns, bases = self._of(label), self._of(self.baseline)
        rounds = [log_speedups(own, base) for own, base in zip(owns, bases, strict=True)]
        values = _independent(rounds)
        speedup = self._judged(values, self.noise_floor)
        mean_times = [median(map(mean_time, timings)) for timings in (bases, owns)]
        mean_speedup = mean_times[0] / mean_times[1]
        is_built = owns[0].build is not None
        pays = [None] * 3
        if is_built and speedup.verdict == FASTER:
            pays = self._break_even(owns, [median(ratios) for ratios in rounds])
        return Result(
            **vars(speedup),
            label=label,
            median=median(map(usual_time, owns)),
            worth=effective_size(values),
            mean_speedup=mean_speedup,
            uneven=self._uneven(label, speedup, mean_speedup),
            within=median(map(self._half_width, rounds)) if len(rounds) > 1 else None,
            between=2 * stdev(values) if len(rounds) > 1 else None,  # 95 % of a bell curve
            price=median(map(price, owns)) if is_built else None,
            break_even_low=pays[0],
            break_even=pays[1],
            break_even_high=pays[2],
            built_in=mode(own.built_in for own in owns),
            total=self._total(owns, bases),
        )

    def _judged(self, values, noise_floor):
        low, middle, high = interval(values, self.error)
        verdict = judge(low, high, self.min_effect, noise_floor)
        return Speedup(exp(middle), exp(low), exp(high), verdict)

    def _half_width(self, ratios):
        low, _, high = interval(ratios, self.error)
        return (high - low) / 2

    def _uneven(self, label, speedup, mean_speedup):
        """Whose slow calls make the mean disagree with the median; '' where they agree."""
        owns, bases = self._of(label), self._of(self.baseline)
        if speedup.low / self.grey_zone <= mean_speedup <= speedup.high * self.grey_zone:
            return ""
        if has_slow_calls(owns, bases):
            return label
        return self.baseline if has_slow_calls(bases, owns) else ""

    def _break_even(self, owns, speedups):
        """After how many calls the price is paid: low, middle, high; None for never."""
        found = []
        for own, speedup in zip(owns, speedups, strict=True):
            saved = usual_time(own) * (exp(speedup) - 1)
            found.append(price(own) / saved if saved > 0 else inf)
        ends = interval(found, self.error)
        return [ceil(calls) if isfinite(calls) else None for calls in ends]

    def _total(self, owns, bases):
        if self.calls is None:
            return None
        own = [total_time(timing, self.calls) for timing in owns]
        base = [total_time(timing, self.calls) for timing in bases]
        ratios = [log(b / a) for a, b in zip(own, base, strict=True)]
        return Total(**vars(self._judged(ratios, noise_floor=0.0)), time=median(own))

    def __getitem__(self, label: str) -> Result:
        try:
            return self.results[label]
        except KeyError:
            raise KeyError(f"{label!r} is not one of {quoted(self.results)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    # How it is shown: as text in tables, one above the other, for a line of 88 characters

    def _columns(self):
        return [LABEL, *SPEEDS, *(self._prices if self._built else []), *self._totals]

    def _rows(self):
        for r in self.values():
            cells = self._speed(r) + (self._price(r) if self._built else []) + self._total_of(r)
            yield [r.label, *cells]

    @property
    def _built(self):
        """What had to be built, and so has a price."""
        return [result for result in self.values() if result.price is not None]

    @property
    def _prices(self):
        return PRICES if len(self.launches) == 1 else [*PRICES, INTERVAL]

    @property
    def _totals(self):
        return [] if self.calls is None else [Column(f"{self.calls} calls", 11), *RATIO]

    def _speed(self, r):
        return [seconds(r.median), *self._ratio(r, r, "*" if r.uneven else "")]

    def _ratio(self, r, speedup, mark=""):
        if r.label == self.baseline:
            return ["", "", "baseline"]
        ends = f"{speedup.low:.3f} to {speedup.high:.3f}"
        return [f"{speedup.speedup:.3f}{mark}", ends, speedup.verdict]

    def _price(self, r):
        if r.price is None:
            cells = ["", "", ""]
        elif r.label == self.baseline:
            cells = [seconds(r.price), "baseline", ""]
        elif r.break_even is not None:
            ends = (r.break_even_low, r.break_even_high)
            low, high = ("never" if end is None else end for end in ends)
            cells = [seconds(r.price), f"{r.break_even} calls", f"{low} to {high}"]
        else:
            cells = [seconds(r.price), "never" if r.verdict == SLOWER else "no clear gain", ""]
        return cells[: len(self._prices)]

    def _total_of(self, r):
        return [seconds(r.total.time), *self._ratio(r, r.total)] if r.total else []

    def _text(self):
        results = list(self.values())
        lines = [text_table([LABEL, *SPEEDS], [[r.label, *self._speed(r)] for r in results])]
        if built := self._built:
            rows = [[r.label, self._where(r), *self._price(r)] for r in built]
            where = Column("built", max(len(row[1]) for row in rows))
            lines += ["", text_table([LABEL, where, *self._prices], rows), ""]
        if self.calls:
            rows = [[r.label, *self._total_of(r)] for r in results]
            lines += [text_table([LABEL, *self._totals], rows), ""]
        return [*lines, self._spread(), *self._remarks(), *self.measured_on().splitlines()]

    def _where(self, r):
        return f"in a {r.built_in}" if r.built_in else ""

    def _notes(self):
        built = [f"{r.label} {self._where(r)}" for r in self._built if r.built_in]
        prices = [f"built: {'; '.join(built)}"] if built else []
        return [self._spread(), *self._remarks(), *prices, *self.measured_on().splitlines()]

    def _spread(self):
        launches = f"{len(self.launches)} launches, " if len(self.launches) > 1 else ""
        rounds = f"{launches}{self.rounds} rounds in {self.took:.2f} s"
        spread = f"noise floor {self.noise_floor:.1%}, {rounds}"
        if not self.complete:
            spread += ", interrupted"
        elif unsure := [r.label for r in self.values() if r.verdict == UNCLEAR]:
            spread += f"; still open: {', '.join(unsure)}"
        return spread

    def _remarks(self):
        """What must be known of single candidates, a line for each."""
        for r in self.values():
            if r.label != self.baseline and r.within is not None:
                yield (
                    f"note: {r.label} scatters by {r.within:.1%} within a launch, "
                    f"and by {r.between:.1%} between launches"
                )
            if len(self.launches) == 1 and r.worth < self.rounds:
                yield (
                    f"note: {r.label} or {self.baseline} changes its speed slowly: "
                    f"{self.rounds} rounds are worth {r.worth}"
                )
            if r.uneven:
                yield (
                    f"note: * now and then {r.uneven} takes far longer: "
                    f"by all calls together the speed-up is {r.mean_speedup:.3f}"
                )

    def measured_on(self) -> str:
        """Where, when and with what it was measured, in two lines."""
        return f"measured on: {machine_line(self.machine)}\nwith: {software_line(self.machine)}"

    def plot(self):
        """Draw speed-ups with their intervals; returns matplotlib Axes.

        Several launches are drawn one by one, too: how long their bars are shows the scatter
        within a launch, and how far they lie apart the scatter between launches.
        """
        from ..plot import plot_speedups

        others = [result for result in self.values() if result.label != self.baseline]
        speedups = {r.label: r.drawn for r in others}
        launches = {r.label: self._launches_of(r.label) for r in others}
        several = launches if len(self.launches) > 1 else {}
        return plot_speedups(speedups, self.baseline, self.grey_zone, several)

    def _launches_of(self, label):
        """The speed-up of each launch with its own interval: (speed-up, low, high)."""
        pairs = zip(self._of(label), self._of(self.baseline), strict=True)
        intervals = [interval(log_speedups(own, base), self.error) for own, base in pairs]
        return [(exp(middle), exp(low), exp(high)) for low, middle, high in intervals]

    def to_dict(self) -> dict[str, Any]:
        """All that was measured, of types that JSON has."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Comparison":
        """The comparison that `to_dict` wrote, perhaps through JSON."""
        data = dict(data)
        if "timings" in data:  # from a version without launches
            data["launches"] = [data.pop("timings")]
        launches = [
            {label: _timing_from(timing) for label, timing in timings.items()}
            for timings in data["launches"]
        ]
        return cls(**(data | {"launches": tuple(launches)}))


def log_speedups(own: Timing, base: Timing) -> list[float]:
    """For each round the logarithm of the baseline's time divided by the candidate's.

    It takes the geometric mean of the two times of each, so that twice as fast and twice as slow
    are equally far from 0.
    """
    rounds = zip(base.first, base.second, own.first, own.second, strict=True)
    return [log(a / c * b / d) / 2 for a, b, c, d in rounds]


def _independent(rounds):
    """The values whose median counts: of a single launch its rounds, of several their medians."""
    return rounds[0] if len(rounds) == 1 else [median(values) for values in rounds]


def _timing_from(data):
    sequences = {name: tuple(data[name]) for name in ("first", "second", "warmup")}
    return Timing(**(data | sequences))


def quoted(labels: Iterable[str]) -> str:
    """Labels as an error message names them."""
    return ", ".join(map(repr, labels)) or "none"
