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
from math import inf
from random import sample
from typing import Any

from .candidates import CandidateError, Program
from .processes import ProgramRunner, Started, loaded, passed_to
from .timing import Rounds, Runner, Timing, no_garbage_collection

LONG = 2  # seconds; measuring that takes longer shows the time


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

    def time_single_calls(self, seconds: float) -> None:
        """Let each program time calls one by one, for so many seconds."""
        for label in sample([*self.runners], len(self.runners)):
            self.runners[label].time_single_calls(seconds)

    def timings(self) -> dict[str, Timing]:
        """What was measured so far: label -> Timing; empty before the first whole round."""
        return self.rounds.timings() if self.rounds else {}

    def machines(self) -> list[dict[str, Any]]:
        """How the programs' processes describe their machine."""
        return [r.machine for r in self.runners.values() if isinstance(r, ProgramRunner)]
