"""Taking times: of building a candidate, of its first calls, and of blocks of calls in rounds.

    runners = [Runner(label, net, (x,), device_clock) for label in ("eager", "same")]
    for runner in runners:
        runner.warm_up()
    rounds = Rounds(runners, baseline=runners[0])
    rounds.add()  # two blocks of each candidate, all in random order
    measured = rounds.timings()["eager"]
    measured.block_a, measured.block_b, measured.calls  # (2.554e-05,), (2.563e-05,), 11

A block is some calls of a candidate that are timed together, about 0.3 ms; a round is two blocks
of each candidate. Explained in notebook 06. `timeit` and `torch.utils.benchmark` time one candidate
after the other.
"""

import gc
import sys
import weakref
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, repeat
from math import ceil, inf
from random import Random
from statistics import fmean, median
from time import perf_counter, process_time
from typing import Any, NamedTuple

from .. import frameworks
from ..workers import format_exception_only
from .metadata import build_state, kinds_so_far

BLOCK = 0.3e-3  # seconds: 1000 times what the clock needs, far below a scheduler's time slice
READINGS = 20  # of the clock, in a block at least: one of them is timed with the calls
SHORT = 3e-6  # seconds: what takes less cannot be timed by a single call
LONG_CALL = 5e-3  # seconds: beside such a call it costs nothing to fill the caches
VERY_LONG = 0.1  # seconds: of such calls none is made that can be done without
MAX_CALLS = 2**16  # in one block: if the clock shows no time after so many, it never will
MANY = 1000  # calls timed one by one: enough for the slowest one in a hundred
MIN_WARMUP, MAX_WARMUP, LONG_WARMUP = 3, 20, 0.05  # calls, calls, seconds
HOPELESS = 10  # times slower than the baseline
LONG_FIRST_CALLS = 1.0  # seconds: the limit where more first calls are asked for
LONG_COMPILING = 20.0  # seconds: the limit where calls still compile


@dataclass(frozen=True)
class InnerLoops:
    """A candidate whose one call does the work of many; `candidates.inner_loops` makes it."""

    function: Callable
    calls: int


@dataclass(frozen=True)
class Measurement:
    """What was measured of one candidate; all times in seconds."""

    block_a: tuple[float, ...]  # a call's time in one of the two blocks of each round
    block_b: tuple[float, ...]  # in the other one; which came first is random
    calls: int  # timed together in one block
    warmup: tuple[float, ...]  # the times of the calls before the first round
    build: float | None = None  # what building took, if it had to be built
    build_state: str = ""  # whether process and caches were cold then
    inner_calls: int = 1  # in one call; each time in `warmup` is for all of them
    single: tuple[float, ...] = ()  # calls timed one by one, if blocks have several; see below
    memory: int | None = None  # the most bytes that the process had, if it was asked

    @property
    def median_time(self) -> float:
        """Seconds per call: the median of all blocks."""
        return median(self.block_a + self.block_b)

    @property
    def mean_time(self) -> float:
        """Seconds per call: the mean of all blocks."""
        return fmean(self.block_a + self.block_b)

    @property
    def build_cost(self) -> float:
        """Seconds of building, and what the first calls took longer than later ones."""
        usual = self.median_time * self.inner_calls
        return max(0.0, (self.build or 0.0) + sum(time - usual for time in self.warmup))

    @property
    def single_calls(self) -> tuple[float, ...]:
        """Seconds of each call timed alone: the blocks if each is one call, else `single`."""
        return self.block_a + self.block_b if self.calls * self.inner_calls == 1 else self.single

    def total_time(self, calls: int) -> float:
        """Seconds of building and of so many calls, as they come.

        The first calls were timed one by one; each of the others counts as the mean of the blocks.
        """
        first = self.warmup[: ceil(calls / self.inner_calls)]
        later = max(0, calls - len(first) * self.inner_calls)
        return (self.build or 0.0) + sum(first) + later * self.mean_time


class Plan(NamedTuple):
    """How many calls a block times, and how many it makes first, to warm the caches."""

    calls: int
    untimed: int


class CandidateError(RuntimeError):
    """The candidate `label` failed.

    `error` is the exception, or a text that continues "candidate 'label'". `__cause__` is the
    exception that was raised in this process.
    """

    def __init__(self, label: str, error: Exception | str):
        what = f"raised {format_exception_only(error)}" if isinstance(error, Exception) else error
        super().__init__(f"candidate {label!r} {what}")
        self.label = label


@contextmanager
def blamed_on(label):
    """A context manager that raises an error of its block as the CandidateError of `label`."""
    try:
        yield
    except Exception as error:
        raise CandidateError(label, error) from error


class Runner:
    """A candidate in this process, and the clock that times it, a function that returns seconds.

    `function(*args)` is what is timed; it may be an `InnerLoops`. Or `build()` returns it, and
    building is timed, too. `warm_up` must come first; then `build`, `build_state`, `warmup` and
    `inner_calls` are those of its `Measurement`, `fastest` the seconds of the fastest call so far,
    `results` what the first MIN_WARMUP calls returned, or what `keep` makes of it: a later call may
    change it. `returns_same` is whether the last of these returned the object of the one before.

    `processes.ProgramRunner` has the same interface, for a candidate in a process of its own.
    """

    single, memory = (), None  # a program's process is asked for them
    machine = None  # of a program's process: what `describe_machine` says there
    worker = loading = None  # a program's process, and the request that loads it
    only_computes = False  # of a program's process: whether it says so
    waking = 0.0  # seconds until calls are as fast as before a pause: there is no pause here

    def __init__(self, label, function, args, clock, build=None, keep=lambda result: result):
        self.label, self.function, self.args, self.clock = label, function, args, clock
        self.build, self.build_state, self._build, self._keep = None, "", build, keep

    def warm_up(self, first_calls: int = 0) -> None:
        """Build the candidate, if that is asked for, and make its first calls.

        They are `first_calls` or more, unless these take longer than LONG_FIRST_CALLS.
        CandidateError if it fails, TypeError if what is built cannot be called.
        """
        before, start = self._build and kinds_so_far(), self.clock()
        if self._build:
            with blamed_on(self.label):
                self.function = self._build()
            self.build = self.clock() - start
        self.inner_calls = 1
        if isinstance(self.function, InnerLoops):
            self.function, self.inner_calls = self.function.function, self.function.calls
        if not callable(self.function):
            text = f"the build of {self.label!r} returned {self.function!r}, which is not callable"
            raise TypeError(text)
        self.warmup, self.results = self._warmed_up(first_calls)
        self.fastest = min(self.warmup)
        if before:  # only now: torch.compile compiles in the first calls
            self.build_state = build_state(self.function, *before)

    def _warmed_up(self, first_calls):
        """Call until the calls are alike: TorchScript watches two, and compiles in the third.

        Where inputs of several shapes take turns, torch.compile compiles for each: it is over when
        MIN_WARMUP calls have compiled nothing. Returns the seconds of each of these calls, and the
        results that are kept.
        """
        times, kept, elapsed, compiled = [], [], 0.0, frameworks.compilations()
        last = object  # a weak reference, called for what the last call returned, if it is alive
        limits = [(MIN_WARMUP, inf), (MAX_WARMUP, LONG_WARMUP), (first_calls, LONG_FIRST_CALLS)]
        while any(len(times) < calls and elapsed < seconds for calls, seconds in limits):
            time, result = self._one_call()
            if compiled != (compiled := frameworks.compilations()):
                limits.append((min(len(times) + 1 + MIN_WARMUP, MAX_WARMUP), LONG_COMPILING))
            times.append(time)
            elapsed += time
            if len(times) <= MIN_WARMUP:
                kept.append(self._keep(result))
                result = result[0] if isinstance(result, (list, tuple)) and result else result
                self.returns_same = result is last()
                last = weakref.ref(result) if type(result).__weakrefoffset__ else object
            del result
        return tuple(times), kept

    def _one_call(self):
        """Call once; returns the seconds, and what the call returned."""
        with blamed_on(self.label):
            start = self.clock()
            result, seconds = self.function(*self.args), self.clock() - start
            if isinstance(result, (Generator, Coroutine, map, filter, zip)):
                what = type(result).__name__
                raise TypeError(f"it returned a {what}, which computes nothing: return the values")
            return seconds, result

    def notes(self) -> list[str]:
        """Nothing: what is printed in this process, its user sees."""
        return []

    def result_for(self, args: tuple) -> Any:
        """Call the candidate once with other arguments; returns what it returns."""
        return self.function(*args)

    def draws_random_numbers(self) -> bool:
        """Call once more, and return whether that has changed a framework's random numbers."""
        before = frameworks.random_states()
        self._one_call()
        return frameworks.random_states() != before

    def use_processor_time(self) -> None:
        """Take times from the processor's clock, which stands still while others have the core."""
        self.clock = process_time

    def try_once(self) -> float:
        """Make one more call, to learn how fast a call can be; returns `fastest`, in seconds."""
        self.fastest = min(self.fastest, self._one_call()[0])
        return self.fastest

    def fitting_calls(self) -> int:
        """Return how many calls take as long as a block should. ValueError if they take no time."""
        reading = min(-self.clock() + self.clock() for _ in range(5))  # JAX's may take 0.1 ms
        block = max(BLOCK, READINGS * reading)
        calls = max(1, round(block / max(self.fastest - reading, SHORT)))
        while calls >= block / SHORT:  # so short a call cannot be timed alone
            if min(self._block(calls, untimed=1) for _ in range(3)) >= block / 2:
                break
            if calls * 2 > MAX_CALLS:
                raise self._below_the_clock(calls)
            calls *= 2
        return calls

    def measure(self, calls: int, untimed: int) -> float:
        """Make `untimed` calls, then time a block of `calls` calls; returns the seconds per call.

        An untimed call brings the function's own data into the caches. Without it, a block that
        follows a block of the same function would seem faster. A long call does not need it.
        ValueError if the clock sees no time pass.
        """
        duration = self._block(calls, untimed)
        if duration <= 0:
            raise self._below_the_clock(calls)
        return duration / calls / self.inner_calls

    def single_calls(self, seconds: float) -> list[float]:
        """Time calls one by one for `seconds`, at most MANY; returns the seconds of each."""
        times, began = [], self.clock()
        while len(times) < MANY and self.clock() - began < seconds:
            times.append(self._block(1, untimed=0) / self.inner_calls)
        return times

    def _block(self, calls, untimed):
        """Make `untimed` calls, then `calls` calls; returns the seconds of the latter together."""
        function, clock = self.function, self.clock
        with blamed_on(self.label):
            for args in repeat(self.args, untimed):
                function(*args)
            start = clock()
            for args in repeat(self.args, calls):
                function(*args)
            return clock() - start

    def _below_the_clock(self, calls):
        return ValueError(f"the clock sees too little time pass in {calls} calls of {self.label!r}")


class Rounds:
    """The times of several runners, round by round. `len` counts the whole rounds.

    A round has two blocks of each runner, all in random order. Why two? If only the baseline came
    twice, as its control, it would follow itself more often, find its data cached, and seem faster.
    """

    def __init__(self, runners: list[Runner], baseline: Runner):
        self.plans = fit_blocks(runners, baseline)
        self._blocks = {runner: ([], []) for runner in runners}
        self._order = [(runner, times) for runner in runners for times in self._blocks[runner]]
        self._shuffle = Random().shuffle  # its own: the program's random numbers stay the same

    def add(self) -> None:
        """Measure one more round."""
        self._shuffle(self._order)
        for runner, times in self._order:
            times.append(runner.measure(*self.plans[runner]))

    def drop(self, baseline: Runner) -> bool:
        """Leave what is HOPELESS times slower than the baseline out of later rounds.

        Returns whether there is any, beside others that are left.
        """
        fast = HOPELESS * median(chain(*self._blocks[baseline]))
        order = [(r, times) for r, times in self._order if min(chain(*self._blocks[r])) < fast]
        if are_any := 2 < len(order) < len(self._order):
            self._order = order
        return are_any

    def __len__(self):
        return min(len(times) for _, times in self._order)

    def shortest(self) -> float:
        """Return the seconds of a round in which each call is as fast as the fastest so far."""
        return sum(sum(self.plans[runner]) * runner.fastest for runner, _ in self._order)

    def timings(self) -> dict[str, Measurement]:
        """What was measured so far: label -> Measurement."""
        whole, found = len(self), {}  # a round that was interrupted does not count
        for runner, blocks in self._blocks.items():
            a, b = (tuple(times[:whole]) for times in blocks)
            warmup = runner.warmup, runner.build, runner.build_state, runner.inner_calls
            single = tuple(runner.single), runner.memory
            found[runner.label] = Measurement(a, b, self.plans[runner].calls, *warmup, *single)
        return found


def fit_blocks(runners: list[Runner], baseline: Runner) -> dict[Runner, Plan]:
    """Return runner -> Plan: how the blocks of each are made, chosen for all together.

    The runners are tried in turn, so that a busy moment is one for all. A runner whose block size
    is within a factor of four of the baseline's gets the baseline's: only if equal functions are
    treated as equals is either as likely to be the faster one in a round.
    """
    start = baseline.clock()
    last = 0 if all(runner.fastest >= VERY_LONG for runner in runners) else MAX_WARMUP
    for _ in range(last):
        for runner in runners:
            runner.try_once()
        if baseline.clock() - start > LONG_WARMUP:
            break
    calls = {runner: runner.fitting_calls() for runner in runners}
    usual = calls[baseline]
    are_long = all(runner.fastest >= LONG_CALL for runner in runners)
    return {
        runner: Plan(
            usual if usual / 4 <= own <= usual * 4 else own,
            untimed=0 if are_long else max(1, round(runner.waking / max(runner.fastest, SHORT))),
        )
        for runner, own in calls.items()
    }


def device_clock() -> float:
    """Wait until every device has done what was asked of it, and return the time, in seconds."""
    frameworks.synchronize()  # what is still to be done belongs to what came before
    return perf_counter()


@contextmanager
def no_garbage_collection():
    """Keep the garbage collector from running inside the `with`, like `timeit`."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def python_calls(function: Callable, *args: Any) -> int:
    """Return how many Python functions one call of `function(*args)` runs, itself included.

    Work that is done only in the first calls, such as compiling, is not counted: three calls come
    before the one that is counted. Functions written in C are not counted either.
    """
    for _ in range(3):
        function(*args)
    count = 0

    def note(frame, event, _):
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function(*args)
    finally:
        sys.setprofile(before)
    return count
