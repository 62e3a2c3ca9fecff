"""All candidates of a comparison, started together: in this process, or each in its own.

    with Launch({"eager": net, "same": net}, (x,), device_clock, print, print) as launch:
        launch.warm_up(first_calls=0, exactly={})
        launch.measure("eager", time_limit=1.0, min_rounds=10)
        launch.timings()["eager"].calls  # 11

A process may be fast or slow as a whole, by where its memory lies. So `compare` can start all
candidates several times; one start is a launch.
"""

import os
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
from math import inf
from random import sample
from typing import Any

from .candidates import CandidateError, Program, Recipe, Repeated
from .processes import ProgramRunner, passed_to, started
from .results import quoted
from .statistics import ERROR, rank
from .timing import VERY_LONG, Rounds, Runner, Timing, no_garbage_collection

LONG = 2  # seconds; measuring that takes longer shows the time


class TooFewLaunches(ValueError):
    """So few launches give no interval for so many candidates."""


class Launch(ExitStack):
    """Runners of all candidates. A context manager, which ends the processes that it has started.

    `runners` maps labels to runners, `rounds` holds what was measured, in `took` seconds. `show`
    gets texts that say how far it is, `failed` the error of a candidate that fails; if it returns,
    the candidate is left out.
    """

    def __init__(
        self,
        candidates: dict[str, Any],
        args: tuple,
        clock: Callable[[], float],
        show: Callable[[str], None],
        failed: Callable[[CandidateError], None],
    ):
        super().__init__()
        self.candidates, self.args, self.clock = candidates, args, clock
        self.show, self.failed = show, failed
        self.runners, self.rounds, self.took = {}, None, 0.0

    def warm_up(self, first_calls: int, exactly: dict[str, int]) -> None:
        """Build each candidate and make its first calls, one candidate at a time.

        Processes start together, as the imports of a program are not timed; they are built in
        random order, as the first may find the machine in another state. Programs make at least
        `first_calls` if there is time, or just as many as `exactly` says.
        """
        programs = {k: c for k, c in self.candidates.items() if isinstance(c, Program)}
        block = started(programs, self.failed, self.args, first_calls, self.show)
        own = self.enter_context(block)
        ready = {}
        for label, candidate in self.candidates.items():
            if isinstance(candidate, ProgramRunner):
                own[label] = candidate
                candidate.label = label
                candidate.set_args(self.args)
            elif not isinstance(candidate, Program):
                self.show(f"warming up {label}")
                with passed_to(self.failed):
                    ready[label] = Runner(label, candidate, self.args, self.clock)
        for label in sample([*own], len(own)):
            self.show(f"warming up {label}")
            with passed_to(self.failed):
                own[label].warm_up(exactly=exactly.get(label))
                ready[label] = own[label]
        self.runners = {label: ready[label] for label in self.candidates if label in ready}

    def measure(self, baseline: str, time_limit: float, min_rounds: int) -> None:
        """Measure rounds for `time_limit` seconds, or as long as `min_rounds` of the fastest take.

        If that takes LONG, `show` gets the time that passed.
        """
        if len(self.runners) < 2:
            return
        self.show("measuring")
        start = self.clock()
        try:
            self.rounds = Rounds(list(self.runners.values()), self.runners[baseline])
            limit = max(time_limit, min_rounds * self.rounds.shortest())
            # A check of notebooks sets this: nobody looks at the figures that it measures.
            limit = min(limit, float(os.environ.get("D2LHYBRID_TIME_LIMIT", inf)))
            start = self.clock()
            with no_garbage_collection():
                while (passed := self.clock() - start) < limit or not len(self.rounds):
                    if limit >= LONG:
                        self.show(f"{passed:.0f} s of {limit:.0f} s")
                    self.rounds.add()
        except CandidateError as error:
            self.failed(error)
            self.rounds = None
            del self.runners[error.label]
            self.measure(baseline, time_limit, min_rounds)
        finally:
            self.took = self.clock() - start

    def time_single_calls(self, seconds: float) -> None:
        """Let each program time calls one by one, for so many seconds.

        Those whose blocks are calls have done so; they only say how much memory they took.
        """
        timed = []
        for label, runner in sample([*self.runners.items()], len(self.runners)):
            is_done = self.rounds.plans[runner].calls * runner.inner_calls == 1
            with passed_to(self.failed):
                runner.time_single_calls(0.0 if is_done else seconds)
                timed.append(label)
        self.runners = {label: r for label, r in self.runners.items() if label in timed}

    def timings(self) -> dict[str, Timing]:
        """What was measured so far: label -> Timing; empty before the first whole round."""
        return self.rounds.timings() if self.rounds else {}


# What `compare` is given, and says -------------------------------------------------------------


def check_input(candidates, baseline, launches, min_launches, calls):
    if not isinstance(candidates, dict):
        raise TypeError(f"candidates must be a dict from labels to callables, not {candidates!r}")
    if len(candidates) < 2:
        raise ValueError(f"compare needs at least two candidates, got {quoted(candidates)}")
    kinds = (Recipe, Repeated, Program, ProgramRunner)
    for label, candidate in candidates.items():
        if not isinstance(label, str):
            raise TypeError(f"a label must be a string, not {label!r}")
        if not (callable(candidate) or isinstance(candidate, kinds)):
            raise TypeError(
                f"candidate {label!r} must be callable, a recipe or a program, not {candidate!r}"
            )
    if baseline is not None and baseline not in candidates:
        raise ValueError(f"the baseline {baseline!r} is not one of {quoted(candidates)}")
    if launches == 1:
        if calls is not None:
            raise ValueError("calls needs launches: the total is measured once in each of them")
        return
    if others := [label for label, one in candidates.items() if not isinstance(one, Program)]:
        raise TypeError(
            f"only programs can be launched several times, not {quoted(others)}; "
            "see d2lhybrid.own_process"
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
    if any(timing.usual_time * timing.inner_calls < VERY_LONG for timing in timings.values()):
        return {}
    return {label: timing.calls_to_warm_up for label, timing in timings.items()}


def show_launch(show, i, launches, passed, text):
    left = f", about {passed / i * (launches - i):.0f} s left" if 0 < i < launches else ""
    of = f" of {launches}" if i < launches else ", as the interval is wide"
    show(f"launch {i + 1}{of}{left}: {text}")
