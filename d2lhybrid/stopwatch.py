"""Taking times: of building a function, of its first calls, of blocks of calls."""

import gc
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from numbers import Integral
from random import Random

BLOCK = 0.3e-3  # seconds: 1000 times what the clock needs, far below a scheduler's time slice
SHORT = 3e-6  # seconds: what takes less cannot be timed by a single call
LONG_CALL = 5e-3  # seconds: beside such a call it costs nothing to fill the caches
MAX_CALLS = 2**16  # in one block: a clock that sees nothing then will never see anything
MIN_WARMUP, MAX_WARMUP, LONG_WARMUP = 3, 20, 0.05  # calls, calls, seconds

_kinds_built = set()  # what kinds of things recipes have built in this process


@dataclass(frozen=True)
class Recipe:
    """A candidate that has yet to be built; `recipe` makes it."""

    build: object


def recipe(build):
    """A candidate for `compare` that has to be built, so that building gets its price.

        compare({"eager": net, "TorchScript": recipe(lambda: torch.jit.script(net))}, x)

    `build()` returns the callable that is timed. TypeError where `build` is not callable.
    """
    if not callable(build):
        raise TypeError(f"recipe needs a function that builds, and got {build!r}")
    return Recipe(build)


@dataclass(frozen=True)
class Repeated:
    """A candidate that does many calls in one; `repeated` makes it."""

    function: object
    times: int


def repeated(function, times):
    """A candidate for `compare` one call of which is `times` calls, so that its time is shared.

    For what can only be timed inside another language: a loop in C, of which the Python around
    it is then a small part. TypeError where `function` is not callable, ValueError where `times`
    is not a whole number above 0.
    """
    if not callable(function):
        raise TypeError(f"repeated needs a function, and got {function!r}")
    if not isinstance(times, Integral) or times < 1:
        raise ValueError(f"repeated needs a whole number of calls, 1 or more, not {times!r}")
    return Repeated(function, times)


class CandidateError(RuntimeError):
    """A candidate raised. `label` says which, `__cause__` is the error itself."""

    def __init__(self, label, error):
        super().__init__(f"candidate {label!r} raised {type(error).__name__}: {error}")
        self.label = label


class Runner:
    """One candidate and its clock. It is built and warmed up when the runner is made.

    `build` holds the seconds that building took (None for a ready callable), `built_in` says
    whether process and caches were cold then, `warmup` the seconds of the first calls, `fastest`
    the least of them, `result` what the last one returned. `fit_blocks` then sets how a block is
    made: of how many timed `calls`, behind how many `untimed` ones.
    """

    calls, untimed = 1, 1

    def __init__(self, label, candidate, args, synchronize, clock):
        self.label, self.args = label, args
        self.synchronize, self.clock = synchronize, clock
        self._build(candidate)
        self._warm_up()

    def _build(self, candidate):
        self.function, self.build, self.times = candidate, None, 1
        self._before = _compiler_counts()
        if isinstance(candidate, Recipe):
            self._kinds = _kinds_built | {type(thing) for thing in gc.get_objects()}
            start = self._now()
            with self._blamed():
                self.function = candidate.build()
            self.build = self._now() - start
        if isinstance(self.function, Repeated):
            self.function, self.times = self.function.function, self.function.times
        if not callable(self.function):
            raise TypeError(
                f"the recipe of {self.label!r} built {self.function!r}, which is not callable"
            )

    def _warm_up(self):
        """Call until the calls are alike: TorchScript watches two, and compiles in the third."""
        self.warmup = []
        while len(self.warmup) < MIN_WARMUP or (
            len(self.warmup) < MAX_WARMUP and sum(self.warmup) < LONG_WARMUP
        ):
            with self._blamed():
                start = self._now()
                self.result = self.function(*self.args)
                self.warmup.append(self._now() - start)
        self.fastest = min(self.warmup)
        self.built_in = ""
        if self.build is not None:
            self.built_in = _coldness(self.function, self._kinds, self._before)

    def try_once(self):
        """One more call, to learn how fast a call can be."""
        start = self._now()
        with self._blamed():
            self.function(*self.args)
        self.fastest = min(self.fastest, self._now() - start)

    def fit_block(self):
        """Find how many calls take as long as a block should."""
        self.calls = max(1, round(BLOCK / max(self.fastest, SHORT)))
        while self.calls >= BLOCK / SHORT and min(self._block() for _ in range(3)) < BLOCK / 2:
            self.calls *= 2  # so short a call cannot be timed alone
            if self.calls > MAX_CALLS:
                raise self._below_the_clock()

    def block(self):
        """Seconds a call: the mean over one block, begun with a call that is not timed.

        That call brings the function's own data into the caches. Without it, a block behind a
        block of the same function would be the faster one. A long call does not need it.
        """
        took = self._block()
        if took <= 0:
            raise self._below_the_clock()
        return took / self.calls / self.times

    def _block(self):
        function, args, clock = self.function, self.args, self.clock
        with self._blamed():
            for _ in repeat(None, self.untimed):
                function(*args)
            self.synchronize()
            start = clock()
            for _ in repeat(None, self.calls):
                function(*args)
            self.synchronize()
            return clock() - start

    def _now(self):
        self.synchronize()  # what a device still has to do belongs to what came before
        return self.clock()

    def _below_the_clock(self):
        return ValueError(f"the clock sees no time pass in {self.calls} calls of {self.label!r}")

    @contextmanager
    def _blamed(self):
        try:
            yield
        except Exception as error:
            raise CandidateError(self.label, error) from error


class Rounds:
    """The times of several runners, round by round. `len` counts the whole rounds.

    A round has two blocks of each runner, all in random order. Why two? If the baseline alone
    came twice, as its own control, it would more often run behind itself and find its data in
    the caches; and whoever is treated better is faster.
    """

    def __init__(self, runners, baseline):
        fit_blocks(runners, baseline)
        self._columns = [(runner, []) for runner in runners for _ in range(2)]
        self._order = list(self._columns)
        self._shuffle = Random().shuffle  # its own: the program's random numbers stay the same

    def add(self):
        """Measure one more round."""
        self._shuffle(self._order)
        for runner, times in self._order:
            times.append(runner.block())

    def __len__(self):
        return min(len(times) for _, times in self._columns)

    def shortest(self):
        """Seconds that a round takes at least."""
        return sum((r.untimed + r.calls) * r.fastest for r, _ in self._columns)

    def columns(self):
        """For each runner twice: seconds a call, in each round."""
        return [tuple(times[: len(self)]) for _, times in self._columns]


def fit_blocks(runners, baseline):
    """Choose how many calls make a block, for all runners together.

    They are tried in turn, so that a busy moment is one for all. Whoever then seems to take up
    to four times as long as the `baseline`, or as short, gets as many calls as it, not one more:
    only if equal functions are treated as equals is either as likely to be the faster in a round.
    """
    start = baseline.clock()
    for _ in range(MAX_WARMUP):
        for runner in runners:
            runner.try_once()
        if baseline.clock() - start > LONG_WARMUP:
            break
    for runner in runners:
        runner.fit_block()
    all_long = all(runner.fastest >= LONG_CALL for runner in runners)
    for runner in runners:
        runner.untimed = 0 if all_long else 1
        if baseline.calls / 4 <= runner.calls <= baseline.calls * 4:
            runner.calls = baseline.calls


def _coldness(built, kinds, before):
    """Whether this process had built such a thing before, and what the compiler's cache gave.

    `kinds` are what recipes had built before, and the types of whatever was alive. "Such a
    thing" is one of the same type; or one of the same source, for a function, whose type says
    nothing; or one that torch.compile had a hand in.
    """
    graphs, hits, misses = (now - then for now, then in zip(_compiler_counts(), before))
    kind = "torch.compile" if graphs else getattr(built, "__code__", type(built))
    process = "warm process" if kind in kinds else "cold process"
    _kinds_built.add(kind)
    return process + (", cold cache" if misses else ", warm cache" if hits else "")


def _compiler_counts():
    """How many graphs torch.compile has seen so far, found in its cache, and not found there."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    if dynamo is None:  # not loaded, so it has done nothing
        return 0, 0, 0
    stats, inductor = dynamo.counters["stats"], dynamo.counters["inductor"]
    return (
        stats["unique_graphs"],
        inductor["fxgraph_cache_hit"],
        inductor["fxgraph_cache_miss"],
    )


@contextmanager
def no_garbage_collection():
    """Keep the collector from running in somebody's block, like `timeit`."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
