"""Taking times: of building a candidate, of its first calls, and of blocks of calls in rounds.

    runners = [Runner(label, net, (x,), device_clock) for label in ("eager", "same")]
    rounds = Rounds(runners, baseline=runners[0])
    rounds.add()  # two blocks of each candidate, all in random order
    timing = rounds.timings()["eager"]
    timing.block_a, timing.block_b, timing.calls  # (2.554e-05,), (2.563e-05,), 11

A block is some calls of a candidate that are timed together, about 0.3 ms; a round is two blocks
of each candidate. Explained in notebook 06. `timeit` and `torch.utils.benchmark` time one candidate
after the other.
"""

import gc
import sys
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, repeat
from math import ceil, inf
from random import Random
from statistics import fmean, median
from time import perf_counter
from typing import Any, NamedTuple

from .. import frameworks
from .candidates import Recipe, Repeated, blamed_on
from .measured_on import before_building, how_cold

BLOCK = 0.3e-3  # seconds: 1000 times what the clock needs, far below a scheduler's time slice
STEPS = 100  # of the clock in a block, at least: then its rounding is below one percent
SHORT = 3e-6  # seconds: what takes less cannot be timed by a single call
LONG_CALL = 5e-3  # seconds: beside such a call it costs nothing to fill the caches
VERY_LONG = 0.1  # seconds: of such calls none is made that can be done without
MAX_CALLS = 2**16  # in one block: if the clock shows no time after so many, it never will
MANY = 1000  # calls timed one by one: enough for the slowest one in a hundred
MIN_WARMUP, MAX_WARMUP, LONG_WARMUP = 3, 20, 0.05  # calls, calls, seconds
LONG_FIRST_CALLS = 1.0  # seconds: the limit where more first calls are asked for
SETTLED = 1.25  # times a usual call: what takes longer may still have compiled


@dataclass(frozen=True)
class Timing:
    """What was measured of one candidate; all times in seconds."""

    block_a: tuple[float, ...]  # a call's time in one of the two blocks of each round
    block_b: tuple[float, ...]  # in the other one; which came first is random
    calls: int  # timed together in one block
    warmup: tuple[float, ...]  # the times of the calls before the first round
    build: float | None = None  # what a recipe took to build
    built_in: str = ""  # whether process and caches were cold then
    inner_calls: int = 1  # in one call; each time in `warmup` is for all of them
    single: tuple[float, ...] = ()  # the times of calls that were timed one by one, if any were
    memory: int | None = None  # the most bytes that the process had, if it was asked

    @property
    def usual_time(self) -> float:
        """A call's: the median of all blocks."""
        return median(self.block_a + self.block_b)

    @property
    def mean_time(self) -> float:
        """A call's, on average over all blocks."""
        return fmean(self.block_a + self.block_b)

    @property
    def price(self) -> float:
        """Of building, and what the first calls took more than later ones."""
        usual = self.usual_time * self.inner_calls
        return max(0.0, (self.build or 0.0) + sum(time - usual for time in self.warmup))

    @property
    def slowdown(self) -> float:
        """The usual time by that of the fastest first call, when no other program ran."""
        fastest = min(self.warmup, default=0.0)
        return self.usual_time * self.inner_calls / fastest if fastest else 1.0

    @property
    def calls_to_warm_up(self) -> int:
        """How many first calls are enough: up to the last that took longer than SETTLED."""
        settled = SETTLED * self.usual_time * self.inner_calls
        return max([1, *(i for i, time in enumerate(self.warmup, 1) if time > settled)])

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


class Runner:
    """A candidate, built and warmed up, and the clock that times it.

    `build`, `built_in`, `warmup` and `inner_calls` are those of its `Timing`, `fastest` the seconds
    of the fastest call so far, `results` what the first and the third call returned, or what
    `keep` makes of it: a later call may change it. The third, as TorchScript compiles in it.

    `first_calls` asks for at least so many calls of warming up, in case there is time for them;
    `exactly` for so many, no more. `inputs` returns the arguments of one call, in place of `args`.
    """

    single, memory = (), None  # a program's process is asked for them
    waking = 0.0  # seconds until calls are as fast as ever again after a pause; here is none

    def __init__(
        self,
        label: str,
        candidate: Callable | Recipe | Repeated,
        args: tuple,
        clock: Callable[[], float],
        first_calls: int = 0,
        exactly: int | None = None,
        keep: Callable[[Any], Any] = lambda result: result,
        inputs: Callable[[], tuple] | None = None,
    ):
        self.label, self.args, self.clock, self._inputs = label, args, clock, inputs
        built, self.build, before = self._built(candidate)
        many = isinstance(built, Repeated)
        self.function, self.inner_calls = (built.function, built.calls) if many else (built, 1)
        self.warmup, self.results = self._warmed_up(first_calls, exactly, keep)
        self.fastest = min(self.warmup)
        # only now: torch.compile compiles in the first calls
        self.built_in = how_cold(self.function, before) if before else ""

    def _built(self, candidate):
        """What is called; for a recipe also the seconds of building, and what was there before."""
        if not isinstance(candidate, Recipe):
            return candidate, None, None
        before = before_building()
        start = self.clock()
        with blamed_on(self.label):
            built = candidate.build()
        took = self.clock() - start
        if not (callable(built) or isinstance(built, Repeated)):
            raise TypeError(f"the recipe of {self.label!r} built {built!r}, which is not callable")
        return built, took, before

    def _warmed_up(self, first_calls, exactly, keep):
        """Call until the calls are alike: TorchScript watches two, and compiles in the third.

        Returns the seconds of these calls, and the results that are kept.
        """
        times, kept, took = [], [], 0.0
        limits = [(exactly or MIN_WARMUP, inf)]  # calls and seconds
        if not exactly:
            limits += [(MAX_WARMUP, LONG_WARMUP), (first_calls, LONG_FIRST_CALLS)]

        def is_one_more_due():
            return any(len(times) < calls and took < seconds for calls, seconds in limits)

        while is_one_more_due():
            time, result = self._one_call()
            times.append(time)
            took += time
            if len(times) in (1, MIN_WARMUP):
                kept.append(keep(result))
            del result  # two are kept, and no more
        return tuple(times), kept

    def _one_call(self):
        """Its seconds, and what it returned."""
        with blamed_on(self.label):
            (args,) = self._args_of(1)
            start = self.clock()
            result = self.function(*args)
            return self.clock() - start, result

    def number_format(self) -> str:
        """The coarsest format in which a call computes, such as 'bfloat16'; '' if not known."""
        with blamed_on(self.label):
            (args,) = self._args_of(1)
            return frameworks.number_format(lambda: self.function(*args))

    def try_once(self) -> float:
        """One more call, to learn how fast a call can be; returns `fastest`."""
        self.fastest = min(self.fastest, self._one_call()[0])
        return self.fastest

    def fitting_calls(self) -> int:
        """How many calls take as long as a block should."""
        block = block_length()
        short = max(SHORT, block / STEPS)
        calls = max(1, round(block / max(self.fastest, short)))
        while calls >= block / short:  # so short a call cannot be timed alone
            if min(self._block(calls, untimed=1) for _ in range(3)) >= block / 2:
                break
            if calls * 2 > MAX_CALLS:
                raise self._below_the_clock(calls)
            calls *= 2
        return calls

    def measure(self, calls: int, untimed: int) -> float:
        """Seconds a call: the mean over one block, begun with the calls that are not timed.

        One such call brings the function's own data into the caches. Without it, a block that
        follows a block of the same function would seem faster. A long call does not need it.
        """
        took = self._block(calls, untimed)
        if took <= 0:
            raise self._below_the_clock(calls)
        return took / calls / self.inner_calls

    def single_calls(self, seconds: float) -> list[float]:
        """The times of calls, each timed by itself, in so many seconds; MANY at most."""
        times, began = [], self.clock()
        while len(times) < MANY and self.clock() - began < seconds:
            times.append(self._block(1, untimed=0) / self.inner_calls)
        return times

    def _block(self, calls, untimed):
        function, clock = self.function, self.clock
        with blamed_on(self.label):
            first, then = self._args_of(untimed), self._args_of(calls)
            for args in first:
                function(*args)
            start = clock()
            for args in then:
                function(*args)
            return clock() - start

    def _args_of(self, calls):
        """The arguments of each of so many calls; if they are to be new ones, they are made now."""
        return [self._inputs() for _ in range(calls)] if self._inputs else repeat(self.args, calls)

    def _below_the_clock(self, calls):
        return ValueError(f"the clock sees too little time pass in {calls} calls of {self.label!r}")


class Rounds:
    """The times of several runners, round by round. `len` counts the whole rounds.

    A round has two blocks of each runner, all in random order. Why two? If only the baseline
    came twice, as its own control, it would more often follow itself, find its data in the
    caches, and so seem faster.
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

    def __len__(self):
        return min(len(times) for _, times in self._order)

    def shortest(self) -> float:
        """Seconds that a round takes at least."""
        return sum(sum(self.plans[runner]) * runner.fastest for runner, _ in self._order)

    def timings(self) -> dict[str, Timing]:
        """What was measured so far: label -> Timing."""
        whole, found = len(self), {}  # a round that was interrupted does not count
        for runner, blocks in self._blocks.items():
            a, b = (tuple(times[:whole]) for times in blocks)
            before = runner.warmup, runner.build, runner.built_in, runner.inner_calls
            after = tuple(runner.single), runner.memory
            found[runner.label] = Timing(a, b, self.plans[runner].calls, *before, *after)
        return found


def fit_blocks(runners: list[Runner], baseline: Runner) -> dict[Runner, Plan]:
    """Choose how the blocks of each runner are made, for all runners together.

    They are tried in turn, so that a busy moment is one for all. A runner whose block size is
    within a factor of four of the baseline's gets the baseline's: only if equal functions are
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


@cache
def block_length() -> float:
    """Seconds that a block should take: BLOCK, if the clock is fine enough for that.

    In a browser it moves in steps of 0.1 or 1 ms, so that no page can spy on others.
    """
    return max(BLOCK, STEPS * smallest_step(perf_counter))


def smallest_step(clock: Callable[[], float]) -> float:
    """The shortest time by which a clock was seen to move, in seconds."""
    seen = [clock()]
    while len(seen) < 20:
        if (now := clock()) > seen[-1]:
            seen.append(now)
    return min(later - before for before, later in pairwise(seen))


def device_clock() -> float:
    """Seconds, read when every device has done what was asked of it."""
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
    """Count the functions of Python that one call of `function(*args)` calls, itself among them.

    What is done only in the first calls, such as compiling, is not counted: there are three calls
    before the one that is. Functions written in C are not counted either.
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
