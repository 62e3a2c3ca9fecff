"""What follows from measured times: a `Result` for each candidate, together a `Comparison`.

The times of a round are compared with each other, and the rounds give an interval. Of several
launches each gives one speed-up, and these give the interval. So it covers what differs between two
processes: where their data lie in memory, and what a compiler found out by trial.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from math import ceil, exp, inf, isfinite, log
from statistics import median, mode, stdev
from typing import Any

from ..tables import Table
from ..verdicts import FASTER, judge
from . import show
from .measured_on import lines_about
from .statistics import ERROR, effective_size, has_slow_calls, interval
from .timing import Timing


@dataclass(frozen=True)
class Speedup:
    """The baseline's time divided by the candidate's: above 1 is faster."""

    speedup: float
    low: float  # its 95 % interval
    high: float
    verdict: str  # 'faster', 'slower', 'as good as equal' or 'no clear difference'

    @property
    def is_known(self) -> bool:
        """Whether there is an interval; too few rounds or launches give none."""
        return self.low > 0 and isfinite(self.high)

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
    independent_rounds: int  # so many (or launches) say as much as those that were measured
    mean_speedup: float  # by the mean of all calls; `speedup` compares the usual call
    slow_calls_of: str  # the label of the one some of whose calls take far longer; '' if none
    # Half the 95 % interval of one launch's log speed-up, the median over launches; 0.01 is 1 %.
    scatter_within: float | None
    scatter_between: float | None  # two standard deviations of the launches' log speed-ups
    slowdown: float  # the usual time by that of the fastest first call, which was made alone
    price: float | None  # building, and what the first calls cost more than a later one
    break_even: int | None  # after so many calls the price is paid; None for never
    break_even_low: int | None  # its 95 % interval, from several launches; None for never
    break_even_high: int | None
    built_in: str  # such as 'cold process, warm cache'; '' if it was not built
    total: Total | None  # where `compare` was told the number of calls


class Answers(Table, Mapping):
    """A table that also maps to the answers in it; a subclass has them as a dict, `answers`."""

    def __getitem__(self, key):
        try:
            return self.answers[key]
        except KeyError:
            raise KeyError(f"{key!r} is not one of {quoted(self.answers)}") from None

    def __iter__(self) -> Iterator:
        return iter(self.answers)

    def __len__(self) -> int:
        return len(self.answers)


@dataclass(frozen=True, repr=False)
class Comparison(Answers):
    """The answer of `compare`: a mapping from the candidates' labels to a `Result` each.

    `print` shows tables, a notebook an HTML table, `plot()` a picture, `to_markdown()` a table
    for a page; `to_dict()` returns all that was measured, ready for JSON.
    """

    baseline: str
    launches: tuple[dict[str, Timing], ...]  # what was measured in each, by label
    min_effect: float
    took: float  # seconds of measuring
    complete: bool  # False where it was interrupted
    machine: dict[str, Any]  # as `describe_machine` returns it
    calls: int | None = None  # how often the candidates are to be called

    _columns, _rows, _text, _notes = show.columns, show.rows, show.text, show.notes

    @property
    def timings(self) -> dict[str, Timing]:
        """What was measured in the first launch, the only one of most comparisons; by label."""
        return self.launches[0]

    @property
    def rounds(self) -> int:
        """How many rounds were measured, in all launches together."""
        return sum(len(timings[self.baseline].block_a) for timings in self.launches)

    @cached_property
    def noise_floor(self) -> float:
        """How far the baseline may seem to differ from itself: 0.01 for one per cent."""
        bases = self._of(self.baseline)
        pairs = [zip(base.block_a, base.block_b, strict=True) for base in bases]
        low, _, high = interval(_independent([[log(a / b) for a, b in each] for each in pairs]))
        return exp(max(-low, high)) - 1

    @property
    def grey_zone(self) -> float:
        """The ratio that a verdict must exceed: the smallest effect, on top of the noise floor."""
        return (1 + self.min_effect) * (1 + self.noise_floor)

    @property
    def error(self) -> float:
        """How often the interval of one candidate may miss the truth.

        It is so small that the intervals of all candidates hold together 95 times in 100
        (Bonferroni's inequality).
        """
        return ERROR / (len(self.timings) - 1)

    @cached_property
    def answers(self) -> dict[str, Result]:
        """All results, in the order of the candidates: label -> Result."""
        return {label: self._result(label) for label in self.timings}

    def among(self, labels: Iterable[str]) -> "Comparison":
        """The same measurement, of these candidates alone; the first of them is the baseline.

        Every round has two blocks of each candidate, so each can be the baseline. KeyError for a
        label that is not there, ValueError for fewer than two.
        """
        labels = list(dict.fromkeys(labels))
        if len(labels) < 2:
            raise ValueError(f"among needs at least two labels, got {quoted(labels)}")
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
        mean_speedup = median(b.mean_time for b in bases) / median(o.mean_time for o in owns)
        slow_calls_of, pays = "", [None] * 3
        if not speedup.low / self.grey_zone <= mean_speedup <= speedup.high * self.grey_zone:
            if has_slow_calls(owns, bases):
                slow_calls_of = label
            elif has_slow_calls(bases, owns):
                slow_calls_of = self.baseline
        each = self._each_launch(label)
        is_built = owns[0].build is not None
        if is_built and speedup.verdict == FASTER:
            pays = self._break_even(owns, [median(ratios) for ratios in rounds])
        return Result(
            **vars(speedup),
            label=label,
            median=median(own.usual_time for own in owns),
            independent_rounds=effective_size(values),
            mean_speedup=mean_speedup,
            slow_calls_of=slow_calls_of,
            scatter_within=median((high - low) / 2 for low, _, high in each) if each else None,
            scatter_between=2 * stdev(values) if each else None,  # 95 % of a bell curve
            slowdown=median(own.slowdown for own in owns),
            price=median(own.price for own in owns) if is_built else None,
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

    def _each_launch(self, label):
        """The interval of the log speed-up of each launch, if there are several."""
        pairs = list(zip(self._of(label), self._of(self.baseline), strict=True))
        several = pairs if len(pairs) > 1 else []
        return [interval(log_speedups(own, base), self.error) for own, base in several]

    def _break_even(self, owns, speedups):
        """After how many calls the price is paid: low, middle, high; None for never."""
        found = []
        for own, speedup in zip(owns, speedups, strict=True):
            saved = own.usual_time * (exp(speedup) - 1)
            found.append(own.price / saved if saved > 0 else inf)
        ends = interval(found, self.error)
        return [ceil(calls) if isfinite(calls) else None for calls in ends]

    def _total(self, owns, bases):
        if self.calls is None:
            return None
        own, base = ([t.total_time(self.calls) for t in timings] for timings in (owns, bases))
        ratios = [log(b / a) for a, b in zip(own, base, strict=True)]
        return Total(**vars(self._judged(ratios, noise_floor=0.0)), time=median(own))

    def measured_on(self) -> str:
        """Where, when and with what it was measured, in two lines."""
        return "\n".join(lines_about(self.machine))

    def plot(self):
        """Draw speed-ups with their intervals, of several launches too; returns matplotlib Axes."""
        from ..plot.charts import plot_speedups

        speedups = {r.label: r.drawn for r in self.values() if r.label != self.baseline}
        launches = {
            label: [(exp(middle), exp(low), exp(high)) for low, middle, high in each]
            for label in speedups
            if (each := self._each_launch(label))
        }
        return plot_speedups(speedups, self.baseline, self.grey_zone, launches)

    def to_dict(self) -> dict[str, Any]:
        """All that was measured, of types that JSON has."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Comparison":
        """The comparison that `to_dict` wrote, perhaps through JSON."""
        launches = [{k: _timing_from(t) for k, t in one.items()} for one in data["launches"]]
        return cls(**(data | {"launches": tuple(launches)}))


def log_speedups(own: Timing, base: Timing) -> list[float]:
    """For each round the logarithm of the baseline's time divided by the candidate's.

    It takes the geometric mean of the two times of each, so that twice as fast and twice as slow
    are equally far from 0.
    """
    rounds = zip(base.block_a, base.block_b, own.block_a, own.block_b, strict=True)
    return [log(a / c * b / d) / 2 for a, b, c, d in rounds]


def _independent(rounds):
    """The values whose median counts: of a single launch its rounds, of several their medians."""
    return rounds[0] if len(rounds) == 1 else [median(values) for values in rounds]


def _timing_from(data):
    return Timing(**{k: tuple(v) if isinstance(v, list) else v for k, v in data.items()})


def quoted(labels: Iterable[str]) -> str:
    """Labels as an error message names them."""
    return ", ".join(map(repr, labels)) or "none"
