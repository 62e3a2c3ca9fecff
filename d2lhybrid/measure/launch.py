"""All candidates of a comparison, started together: in this process, or each in its own.

    with Launch({"eager": net, "same": net}, (x,), first_calls=0) as launch:
        launch.warm_up(synchronize, perf_counter, show=print, failed=print)
        launch.measure("eager", time_limit=1.0, show=print, always=False)
        launch.timings()["eager"].calls  # 11

A process may be fast or slow as a whole, by where its memory lies. So `compare` can start all
candidates several times; one start is a launch.
"""

import os
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
from math import inf
from numbers import Integral
from random import sample
from typing import Any

from .candidates import CandidateError, Program, Recipe, Repeated
from .processes import ProgramRunner, Started, loaded, passed_to
from .results import quoted
from .statistics import ERROR, calls_to_warm_up, rank, usual_time
from .timing import VERY_LONG, Rounds, Runner, Timing, no_garbage_collection

LONG = 2  # seconds; measuring that takes longer shows the time


class TooFewLaunches(ValueError):
    """So few launches give no interval for so many candidates."""


class Launch:
    """Runners of all candidates. A context manager, which ends the processes that it has started.

    `runners` maps labels to runners, `rounds` holds what was measured, in `took` seconds. Programs
    make at least `first_calls` calls of warming up if there is time, or no more than `enough`.
    """

    def __init__(
        self, candidates: dict[str, Any], args: tuple, first_calls: int, enough: dict[str, int]
    ):
        self.candidates, self.args = candidates, args
        self.first_calls, self.enough = first_calls, enough
        self.runners, self.rounds, self.took = {}, None, 0.0
        self._processes = ExitStack()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._processes.close()

    def warm_up(
        self,
        synchronize: Callable[[], None],
        clock: Callable[[], float],
        show: Callable[[str], None],
        failed: Callable[[CandidateError], None],
    ) -> None:
        """Build each candidate and make its first calls, one candidate at a time.

        Processes start together, as the imports of a program are not timed; they are built in
        random order, as the first may find the machine in another state. `failed` gets the error
        of a candidate that fails; if `failed` returns, the candidate is left out.
        """
        programs = {k: c for k, c in self.candidates.items() if isinstance(c, Program)}
        block = loaded(programs, failed, self.args, self.first_calls, show)
        own = self._processes.enter_context(block)
        ready = {}
        for label, candidate in self.candidates.items():
            if isinstance(candidate, Started):
                own[label] = candidate.runner
                own[label].label = label
                own[label].set_args(self.args)
            elif not isinstance(candidate, Program):
                show(f"warming up {label}")
                with passed_to(failed):
                    ready[label] = Runner(label, candidate, self.args, synchronize, clock)
        for label in sample([*own], len(own)):
            show(f"warming up {label}")
            with passed_to(failed):
                own[label].warm_up(enough=self.enough.get(label))
                ready[label] = own[label]
        self.runners = {label: ready[label] for label in self.candidates if label in ready}

    def measure(
        self,
        baseline: str,
        time_limit: float,
        min_rounds: int,
        show: Callable[[str], None],
        failed: Callable[[CandidateError], None],
        always: bool = False,
    ) -> None:
        """Measure rounds for `time_limit` seconds, or as long as `min_rounds` of the fastest take.

        `show` gets the time that passed, if that takes LONG, or `always`. `failed` as in `warm_up`.
        """
        if len(self.runners) < 2:
            return
        base = self.runners[baseline]
        start = base.clock()
        try:
            self.rounds = Rounds(list(self.runners.values()), base)
            limit = max(time_limit, min_rounds * self.rounds.shortest())
            # A check of notebooks sets this: nobody looks at the figures that it measures.
            limit = min(limit, float(os.environ.get("D2LHYBRID_TIME_LIMIT", inf)))
            start = base.clock()
            with no_garbage_collection():
                while (passed := base.clock() - start) < limit:
                    if always or limit >= LONG:
                        show(f"{passed:.0f} s of {limit:.0f} s")
                    self.rounds.add()
        except CandidateError as error:
            failed(error)
            self.rounds = None
            del self.runners[error.label]
            self.measure(baseline, time_limit, min_rounds, show, failed, always)
        finally:
            self.took = base.clock() - start

    def time_single_calls(self, seconds: float, failed: Callable[[CandidateError], None]) -> None:
        """Let each program time calls one by one, for so many seconds.

        Those whose blocks are calls have done so; they only say how much memory they took. `failed`
        as in `warm_up`.
        """
        for label in sample([*self.runners], len(self.runners)):
            runner = self.runners[label]
            is_done = self.rounds.plans[runner].calls * runner.inner_calls == 1
            try:
                runner.time_single_calls(0.0 if is_done else seconds)
            except CandidateError as error:
                failed(error)
                del self.runners[label]

    def timings(self) -> dict[str, Timing]:
        """What was measured so far: label -> Timing; empty before the first whole round."""
        return self.rounds.timings() if self.rounds else {}

    def machines(self) -> list[dict[str, Any]]:
        """How the programs' processes describe their machine."""
        return [r.machine for r in self.runners.values() if isinstance(r, ProgramRunner)]


# What `compare` is given, and says -------------------------------------------------------------


def check_input(candidates, baseline, check, tolerance, min_effect, time_limit):
    if not isinstance(candidates, dict):
        raise TypeError(f"candidates must be a dict from labels to callables, not {candidates!r}")
    if len(candidates) < 2:
        raise ValueError(
            f"compare needs at least two candidates, got {len(candidates)}: {quoted(candidates)}"
        )
    for label, candidate in candidates.items():
        if not isinstance(label, str):
            raise TypeError(f"a label must be a string, not {label!r}")
        if not (callable(candidate) or isinstance(candidate, (Recipe, Repeated, Program, Started))):
            raise TypeError(
                f"candidate {label!r} must be callable, a recipe or a program, not {candidate!r}"
            )
    if baseline is not None and baseline not in candidates:
        raise ValueError(f"the baseline {baseline!r} is not one of {quoted(candidates)}")
    if not isinstance(check, bool):
        raise TypeError(f"check must be True or False, not {check!r}; see tolerance")
    if tolerance is not None and not 0 <= tolerance < inf:
        raise ValueError(f"tolerance must be 0 or more, and finite, not {tolerance!r}")
    if not 0 <= min_effect < 1:
        raise ValueError(f"min_effect must be a share, such as 0.01 for 1 %, not {min_effect!r}")
    if time_limit is not None and not 0 < time_limit < inf:
        raise ValueError(f"time_limit must be seconds, above 0 and finite, not {time_limit!r}")


def check_launches(candidates, launches, min_launches, calls):
    numbers = {"launches": launches, "min_launches": min_launches, "calls": calls}
    for name, number in numbers.items():
        is_left_out = number is None and name != "launches"
        if not is_left_out and not (isinstance(number, Integral) and number >= 1):
            raise ValueError(f"{name} must be a whole number, 1 or more, not {number!r}")
    if launches == 1:
        if calls is not None:
            raise ValueError("calls needs launches: the total is measured once in each of them")
        return
    for label, candidate in candidates.items():
        if not isinstance(candidate, Program):
            raise TypeError(
                f"only programs can be launched several times; {label!r} is not one, but "
                f"{candidate!r}; see d2lhybrid.own_process"
            )
    least = least_launches(len(candidates) - 1)
    if (fewest := min(launches, min_launches or launches)) < least:
        raise TooFewLaunches(
            f"{fewest} launches give no 95 % interval for {len(candidates)} candidates "
            f"({', '.join(candidates)}); it takes {least}"
        )


def least_launches(others: int) -> int:
    """How many launches give an interval for so many candidates beside the baseline."""
    return next(n for n in count(1) if rank(n, ERROR / others))


def enough_calls(done):
    """How many first calls each program needs, where the first launch shows that calls are long."""
    timings = done[0] if done else {}
    if any(usual_time(timing) * timing.inner_calls < VERY_LONG for timing in timings.values()):
        return {}
    return {label: calls_to_warm_up(timing) for label, timing in timings.items()}


def show_launch(show, i, launches, passed, text):
    left = f", about {passed / i * (launches - i):.0f} s left" if 0 < i < launches else ""
    of = f" of {launches}" if i < launches else ", as the interval is wide"
    show(f"launch {i + 1}{of}{left}: {text}")
