"""Which program is faster here, and is that sure? `compare` measures; a `Comparison` answers.

How it is measured. Every candidate is timed in short blocks of calls, two blocks of each in a
round, in random order, and its times are compared only with the baseline's of the same round:
slow changes, such as the processor's clock rate, are the same for both and cancel. A short
interruption hits one block only; against that the median over all rounds helps. The difference
between the baseline's two blocks is the noise floor: smaller differences cannot be distinguished
from chance here, now. Unless all calls are long, each block begins with a call that is not timed:
without it, a block that follows a block of the same function would find its data in the cache, and
seem faster.

Notebook 05 builds a small version. The usual tool for two separate runs is `pyperf compare_to`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from math import ceil, exp, inf, log
from statistics import median
from time import perf_counter
from typing import Any

from .. import frameworks
from ..tables import Column, Table, seconds, text_table
from .agreement import difference
from .candidates import CandidateError, Recipe, Repeated
from .interval import LOOKS, Interval, interval
from .machine import describe_machine, machine_line, software_line
from .progress import progress_line
from .timing import Rounds, Runner, Timing, no_garbage_collection
from .verdict import FASTER, SLOWER, judge

MIN_ROUNDS = 10  # for calls so slow that the time limit allows fewer
LONG = 2  # seconds; longer comparisons show progress
SPEEDS = [
    Column(""),
    Column("time a call"),
    Column("speed-up"),
    Column("95 % interval", 16),
    Column("verdict", 19),
]
PRICES = [Column("price", 9), Column("pays after", 13)]


# What was measured, and what follows from it --------------------------------------------------


@dataclass(frozen=True)
class Result:
    """What follows for one candidate; times in seconds."""

    label: str
    median: float  # one call
    speedup: float  # the baseline's time divided by this one's: above 1 is faster
    low: float  # the speed-up's 95 % interval
    high: float
    verdict: str  # 'faster', 'slower' or 'no clear difference'
    open: bool  # True where more rounds might change 'no clear difference'
    price: float | None  # building, and what the first calls cost more than a later one
    break_even: int | None  # after so many calls the price is paid; None for never
    built_in: str  # such as 'cold process, warm cache'; '' if it was not built


@dataclass(frozen=True, repr=False)
class Comparison(Table, Mapping):
    """The answer of `compare`: a mapping from the candidates' labels to a `Result` each.

    `print` shows a table, a notebook an HTML table, `plot()` a picture, `to_markdown()` a table
    for a page; `to_dict()` returns all that was measured, ready for JSON.
    """

    baseline: str
    timings: dict[str, Timing]  # by label
    min_effect: float
    took: float  # seconds of measuring
    complete: bool  # False where it was interrupted
    machine: dict[str, Any]  # as `describe_machine` returns it

    @property
    def rounds(self) -> int:
        """How many rounds were measured."""
        return len(self.timings[self.baseline].first)

    @cached_property
    def noise_floor(self) -> float:
        """How far the baseline may seem to differ from itself: 0.01 for one per cent."""
        base = self.timings[self.baseline]
        low, _, high = interval(log(a / b) for a, b in zip(base.first, base.second, strict=True))
        return exp(max(-low, high)) - 1

    @property
    def grey_zone(self) -> float:
        """Where the grey zone ends: the ratio that a verdict must exceed.

        It is the smallest effect, on top of the noise floor.
        """
        return (1 + self.min_effect) * (1 + self.noise_floor)

    @property
    def open(self) -> bool:
        """Whether more rounds might change a verdict."""
        return any(result.open for result in self.values())

    @cached_property
    def results(self) -> dict[str, Result]:
        """All results, in the order of the candidates: label -> Result."""
        return {label: self._result(label) for label in self.timings}

    def _result(self, label):
        own, base = self.timings[label], self.timings[self.baseline]
        steady = median(own.first + own.second)
        low, middle, high = log_speedup(own, base)
        verdict, is_open = judge(low, high, self.min_effect, self.noise_floor)
        price = break_even = None
        if own.build is not None:
            more = sum(time - steady * own.repeats for time in own.warmup)
            price = max(0.0, own.build + more)
            if verdict == FASTER:
                saved_a_call = steady * (exp(middle) - 1)
                break_even = ceil(price / saved_a_call)
        return Result(
            label=label,
            median=steady,
            speedup=exp(middle),
            low=exp(low),
            high=exp(high),
            verdict=verdict,
            open=is_open,
            price=price,
            break_even=break_even,
            built_in=own.built_in,
        )

    def __getitem__(self, label: str) -> Result:
        try:
            return self.results[label]
        except KeyError:
            raise KeyError(f"{label!r} is not one of {quoted(self.results)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    # How it is shown: as text in two tables, one above the other, for a line of 88 characters

    def _columns(self):
        return SPEEDS + PRICES if self._built else SPEEDS

    def _rows(self):
        for r in self.values():
            yield self._speed(r) + (self._price(r) if self._built else [])

    @property
    def _built(self):
        """What was built by a recipe, and so has a price."""
        return [result for result in self.values() if result.price is not None]

    def _speed(self, r):
        row = [r.label, seconds(r.median)]
        if r.label == self.baseline:
            return [*row, "", "", "baseline"]
        return [*row, f"{r.speedup:.3f}", f"{r.low:.3f} to {r.high:.3f}", r.verdict]

    def _price(self, r):
        if r.price is None:
            return ["", ""]
        if r.label == self.baseline:
            pays = "baseline"
        elif r.break_even is not None:
            pays = f"{r.break_even} calls"
        else:
            pays = "never" if r.verdict == SLOWER else "no clear gain"
        return [seconds(r.price), pays]

    def _text(self):
        lines = [text_table(SPEEDS, map(self._speed, self.values()))]
        if built := self._built:
            rows = [[r.label, self._where(r), *self._price(r)] for r in built]
            where = Column("built", max(len(row[1]) for row in rows))
            lines += ["", text_table([SPEEDS[0], where, *PRICES], rows), ""]
        return [*lines, self._spread(), *self.measured_on().splitlines()]

    def _where(self, r):
        return f"in a {r.built_in}" if r.built_in else ""

    def _notes(self):
        # One line for each, whatever was measured: a reader's output has as many lines as ours.
        built = [f"{r.label} {self._where(r)}" for r in self._built if r.built_in]
        prices = [f"built: {'; '.join(built)}"] if built else []
        return [self._spread(), *prices, *self.measured_on().splitlines()]

    def _spread(self):
        rounds = f"{self.rounds} rounds in {self.took:.2f} s"
        spread = f"noise floor {self.noise_floor:.1%}, {rounds}"
        if not self.complete:
            spread += ", interrupted"
        elif unsure := [r.label for r in self.values() if r.open]:
            spread += f"; still open at this time_limit: {', '.join(unsure)}"
        return spread

    def measured_on(self) -> str:
        """Where, when and with what it was measured, in two lines."""
        return f"measured on: {machine_line(self.machine)}\nwith: {software_line(self.machine)}"

    def plot(self):
        """Draw speed-ups with their intervals; returns matplotlib Axes."""
        from ..plot import plot_speedups

        others = [result for result in self.values() if result.label != self.baseline]
        speedups = {r.label: (r.speedup, r.low, r.high, r.verdict) for r in others}
        return plot_speedups(speedups, self.baseline, self.grey_zone)

    def to_dict(self) -> dict[str, Any]:
        """All that was measured, of types that JSON has."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Comparison":
        """The comparison that `to_dict` wrote, perhaps through JSON."""
        timings = {}
        for label, timing in data["timings"].items():
            sequences = {name: tuple(timing[name]) for name in ("first", "second", "warmup")}
            timings[label] = Timing(**(timing | sequences))
        return cls(**(data | {"timings": timings}))


def log_speedup(own: Timing, base: Timing) -> Interval:
    """The interval of the logarithm of the baseline's time divided by the candidate's.

    For each round it takes the geometric mean of the two times, so that twice as fast and twice
    as slow are equally far from 0.
    """
    rounds = zip(base.first, base.second, own.first, own.second, strict=True)
    return interval(log(a / c * b / d) / 2 for a, b, c, d in rounds)


# Measuring ------------------------------------------------------------------------------------


def compare(
    candidates: dict[str, Callable | Recipe | Repeated],
    *args: Any,
    baseline: str | None = None,
    check: bool = True,
    tolerance: float | None = None,
    min_effect: float = 0.01,
    time_limit: float = 1.0,
    synchronize: Callable[[], None] | None = None,
    progress: bool | Callable[[str], None] | None = None,
    on_error: Callable[[CandidateError], None] | None = None,
    clock: Callable[[], float] = perf_counter,
) -> Comparison:
    """Find out which candidate is faster, called with `args`, and whether that is sure.

        compare({"eager": net, "compiled": recipe(lambda: torch.compile(net))}, x)

    While the answer is open, rounds are added. An interrupt (Ctrl-C, the stop button) ends them,
    and what was measured is returned.

    Args:
        candidates: Maps labels to callables, or to a `recipe` for one, whose building is then
            part of the answer. They must not change `args`.
        args: The arguments of each call.
        baseline: The label that the others are compared with; by default the first.
        check: Whether all must return what the baseline returns.
        tolerance: How far results may differ, relative to the largest number; by default the
            rounding of their number format, see `d2lhybrid.difference`.
        min_effect: A difference below this share is never called one: 0.01 is 1 %.
        time_limit: Seconds of measuring, at most; or what 10 rounds take, if that is longer.
            Building and warming up come on top.
        synchronize: Waits until a device has done what was asked of it. By default every
            framework that is loaded and can wait is asked to. JAX cannot: a candidate of JAX
            ends with `.block_until_ready()`.
        progress: Whether to show on stderr how far it is. None: only in a terminal; the seconds
            only if it takes longer than 2 s. Or a function that gets each text.
        on_error: Gets the error of a candidate that fails while it is built or warmed up; it is
            then left out. The baseline's error is always raised, and so is a later one. By
            default every error is raised.
        clock: Returns seconds.

    Returns:
        A `Comparison`, a mapping from labels to a `Result` each.

    Raises:
        TypeError, ValueError: for what cannot be compared, among them results that differ.
        CandidateError: for a candidate that raises.
    """
    _check_input(candidates, baseline, check, tolerance, min_effect, time_limit)
    show = progress_line(progress)
    machine = describe_machine(*args)
    base_label = next(iter(candidates)) if baseline is None else baseline
    runners = []
    try:
        for label, candidate in candidates.items():
            show(f"warming up {label}")
            try:
                runners.append(
                    Runner(label, candidate, args, synchronize or frameworks.synchronize, clock)
                )
            except CandidateError as error:
                if on_error is None or label == base_label:
                    raise
                on_error(error)
        if len(runners) < 2:
            raise ValueError(f"nothing is left to compare with {base_label!r}")
        base = next(runner for runner in runners if runner.label == base_label)
        if check:
            _check_results([runner for runner in runners if runner is not base], base, tolerance)

        rounds = Rounds(runners, base)
        limit = max(time_limit, MIN_ROUNDS * rounds.shortest())
        start = clock()

        def so_far(complete=True):
            took = clock() - start
            return Comparison(base_label, rounds.timings(), min_effect, took, complete, machine)

        try:
            with no_garbage_collection():
                for share in LOOKS:
                    while (passed := clock() - start) < share * limit:
                        if limit >= LONG or callable(progress):
                            show(f"{passed:.0f} s of at most {limit:.0f} s")
                        rounds.add()
                    if not so_far().open:
                        break
        except KeyboardInterrupt:
            if not len(rounds):
                raise  # nothing was measured yet
            return so_far(complete=False)
        return so_far()
    finally:
        show("")


def _check_input(candidates, baseline, check, tolerance, min_effect, time_limit):
    if not isinstance(candidates, dict):
        raise TypeError(f"candidates must be a dict from labels to callables, not {candidates!r}")
    if len(candidates) < 2:
        raise ValueError(
            f"compare needs at least two candidates, got {len(candidates)}: {quoted(candidates)}"
        )
    for label, candidate in candidates.items():
        if not isinstance(label, str):
            raise TypeError(f"a label must be a string, not {label!r}")
        if not (callable(candidate) or isinstance(candidate, (Recipe, Repeated))):
            raise TypeError(f"candidate {label!r} must be callable or a recipe, not {candidate!r}")
    if baseline is not None and baseline not in candidates:
        raise ValueError(f"the baseline {baseline!r} is not one of {quoted(candidates)}")
    if not isinstance(check, bool):
        raise TypeError(f"check must be True or False, not {check!r}; see tolerance")
    if tolerance is not None and not 0 <= tolerance < inf:
        raise ValueError(f"tolerance must be 0 or more, and finite, not {tolerance!r}")
    if not 0 <= min_effect < 1:
        raise ValueError(f"min_effect must be a share, such as 0.01 for 1 %, not {min_effect!r}")
    if not 0 < time_limit < inf:
        raise ValueError(f"time_limit must be seconds, above 0 and finite, not {time_limit!r}")


def _check_results(runners, base, tolerance):
    advice = "check=False compares their times all the same"
    for runner in runners:
        try:
            text = difference(runner.result, base.result, tolerance)
        except Exception as error:
            raise TypeError(
                f"what {runner.label!r} and {base.label!r} return cannot be compared "
                f"({type(error).__name__}: {error}); {advice}"
            ) from error
        if text:
            raise ValueError(
                f"{runner.label!r} does not return what {base.label!r} returns: {text}; {advice}"
            )


def quoted(labels):
    """Labels as an error message names them."""
    return ", ".join(map(repr, labels)) or "none"
