"""Which candidate is faster here, and is that sure? `compare` measures; a `Comparison`,
in results.py, answers.

    result = compare({"eager": net, "TorchScript": build(lambda: torch.jit.script(net))}, x)
    result["TorchScript"].verdict  # 'faster'
    result["TorchScript"].speedup  # 1.410, and from .low to .high its 95% CI: 1.391, 1.477

From times to a verdict, in this order: `Trial.measure` adds rounds (timing.py),
`statistics.log_speedups` makes a ratio of each round, `statistics.interval` encloses their median,
`verdict.judge` gives the verdict, and `results.Comparison` shows it. Notebook 06 builds a small
version. What was decided, and why:

1. *Blocks.* A call is timed in a block of about 0.3 ms: 1000 times what the clock needs, far below
   a scheduler's time slice. An interruption then hits one block only (timing.py).
2. *Rounds.* Each round has two blocks of each candidate, all in random order, and times are
   compared only within a round. Slow changes, such as the processor's clock rate, are the same for
   all and cancel. Equal candidates are then equally likely to be the faster one in a round.
3. *The baseline twice.* The difference between its two blocks is the noise floor (an A/A test):
   smaller differences count as chance here, now. Every candidate has two blocks, as what follows
   itself finds its data in the caches.
4. *The median, and its interval by order statistics.* Nothing is assumed about how times are
   distributed: they have long tails, several modes, and drifts (statistics.py).
5. *Rounds that resemble each other count for fewer.* Else a thousand rounds in one state of the
   machine would look like certainty (`statistics.effective_sample_size`).
6. *One look, at the end.* The rounds fill the whole time limit. To stop as soon as it looks clear
   would err more often: each look is another chance to see something by accident.
7. *Four verdicts.* "Equivalent" is an answer of its own, and "inconclusive" is none.
8. *All intervals hold at once* in 95 of 100 comparisons (Bonferroni's inequality), so each further
   candidate makes them wider.
9. *Several processes.* A process may be fast or slow as a whole, by where its memory lies. So each
   candidate can have several. One process of each makes a trial, and gives one value. Their
   number is fixed beforehand, for the reason given in 6. A candidate that is ten times slower
   than the baseline leaves the rounds of a process at half time, as one call of it may take as
   long as a hundred rounds of the others. It keeps all its processes, each with a value of its own,
   so no interval errs more often: what was seen decides only how often the hopeless is timed.
10. *Building is timed apart*, with the first calls: what compiling costs, and when it pays.
11. *Results are compared first.* A wrong candidate may be fast (agreement.py).
12. *The processor's clock, where all programs only compute, on one thread.* It stands still while
   other programs have the core. On two busy cores (load 4 to 9) a call of 4 ms seemed 20 to 50
   times as long as one of 0.4 ms by the wall clock, and 10.0 to 10.1 times by this one; of 0.7 ms
   and twice as much both were right. Who waits, for a GPU or a thread, is timed by the wall clock.

The usual tool for two separate runs is `pyperf compare_to`.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from math import inf
from random import Random
from typing import Any

from .agreement import any_needs_gradients, check_results, formats_of, has_values
from .candidates import Build, as_candidate
from .metadata import TIME_LIMIT, describe_machine, load_average, merge_metadata
from .processes import Program, ProgramRunner, passed_to, start_workers
from .results import Comparison
from .statistics import least_processes
from .timing import CandidateError, InnerLoops, Rounds, device_clock, no_garbage_collection

SINGLE = 0.1  # seconds in which calls are timed one by one
MIN_EFFECT = 0.01  # a difference below this share is never called one
NOTHING = 0.5e-6  # seconds: in less, Python does hardly more than to call a function
MIN_ROUNDS = 10  # of a single trial, for calls so slow that the time limit allows fewer


class TooFewProcesses(ValueError):
    """There are too few processes for a 95% CI of so many candidates."""


def compare(
    candidates: dict[str, Callable | Build | InnerLoops | Program | ProgramRunner],
    *args: Any,
    baseline: str | None = None,
    processes: int = 1,
    calls: int | None = None,
    check: bool = True,
    tolerance: float | None = None,
    time_limit: float | None = None,
    single_calls: bool = False,
    explain: str | None = None,
    progress: Callable[[str], None] | None = None,
    on_error: Callable[[CandidateError], None] | None = None,
    clock: Callable[[], float] = device_clock,
    **unknown: Any,
) -> Comparison:
    """Find out which candidate is faster when called with `args`, and how sure that is.

        compare({"eager": net, "compiled": build(lambda: torch.compile(net))}, x)

    In 95 of 100 comparisons, all intervals hold simultaneously. An interrupt (Ctrl-C, the stop
    button) ends the measuring, and what has been measured by then is returned.

    Args:
        candidates: Maps labels to callables; to a `build` of one, whose building is then part of
            the answer; to an `isolated` program; or to what `start_workers` has made of one.
            Candidates must not change `args`.
        args: The arguments of each call. A program gets them once, when it is built.
        baseline: The label with which the others are compared; by default the first.
        processes: How many processes each candidate gets, one after another: 6 or more, so that
            the interval holds for the program, and not only for one process of it.
        calls: How often the candidates will be called. The answer then includes a verdict on the
            total of building and this many calls in a new process. Needs several processes.
        check: Whether all candidates must return what the baseline returns.
        tolerance: How far a number may be off, relative to its size, or to the usual size in its
            array if that is larger; by default the format's rounding, see `d2lhybrid.mismatch`.
        time_limit: Seconds of measuring, in all processes together; by default 1, or a quarter
            of a second for each of several processes. One round is always measured, so 0 asks for
            one. If calls are long, a single trial measures at least 10 rounds.
        single_calls: Whether programs also time calls one by one, each for up to SINGLE seconds,
            and report how much memory they took.
        explain: A function, "module:name", that the baseline's last process calls with the
            candidate when all is measured. It returns JSON types, for the answer's `reason`.
        progress: Gets a text about each step. By default they are shown on stderr if that is a
            terminal.
        on_error: Gets the error of a candidate that fails or does not return what the baseline
            returns; it is then left out. By default every error is raised, the baseline's always.
        clock: Returns seconds. By default it first waits until every loaded framework has done
            the work that its devices were given, as in a program's process.

    Raises:
        TypeError, ValueError: for anything that cannot be compared, including differing results.
        CandidateError: for a candidate that raises, or whose process ends or hangs.
    """
    if unknown:
        what = f"compare has no option {', '.join(unknown)}; for keyword arguments of a candidate"
        raise TypeError(f"{what} write lambda: net(x, scale=2.0)")
    candidates = checked(candidates, baseline, processes, calls)
    base_label = next(iter(candidates)) if baseline is None else baseline
    if time_limit is None:
        time_limit = 1.0 if processes == 1 else processes / 4
    machine = describe_machine(*args)
    show = progress_line(progress)
    trial, done, notes, duration, reason = None, [], [], 0.0, None
    load = load_average()

    def failed(error):
        if on_error is None or error.label == base_label:
            raise error
        on_error(error)

    def answer(complete):
        left = [label for label in candidates if all(label in timings for timings in done)]
        kept = tuple({label: timings[label] for label in left} for timings in done)
        here = machine | {"load": [load, load_average()]}
        return Comparison(
            base_label, kept, MIN_EFFECT, duration, complete, here, calls, tuple(notes), reason
        )

    try:
        for i in range(processes):
            which = f"process {i + 1} of {processes}: " if processes > 1 else ""
            show_here = partial(show_after, show, which)
            with start_workers(candidates, failed, args, show_here, clock) as runners:
                trial = Trial(runners, clock, show_here, failed)
                trial.warm_up(calls or 0)
                if i == 0:
                    programs = [r.machine for r in trial.runners.values() if r.worker]
                    own = [r.results[-1] for r in trial.runners.values() if not r.worker]
                    machine = merge_metadata(programs or [machine])
                    machine["gradients_needed"] = any_needs_gradients(own)
                    if check:
                        check_results(trial.runners, base_label, tolerance, failed)
                trial.measure(base_label, time_limit / processes, processes == 1 and time_limit > 0)
                if i == 0:
                    notes += trial.notes(base_label, check)
                    machine["by_processor"] = trial.by_processor
                if single_calls and all(runner.worker for runner in trial.runners.values()):
                    trial.time_single_calls(min(time_limit / processes, SINGLE))
                if explain and i == processes - 1:
                    reason = trial.explain(base_label, explain)
            if len(trial.runners) < 2:
                raise ValueError(f"nothing is left to compare with {base_label!r}")
            candidates = {label: candidates[label] for label in trial.runners}
            duration += trial.duration
            done.append(trial.timings())
    except KeyboardInterrupt:
        if not done and trial and trial.timings():
            done.append(trial.timings())
            duration = trial.duration
        if not done:
            raise
        return answer(complete=False)
    finally:
        show("")
    return answer(complete=True)


def checked(candidates, baseline, processes, calls):
    """Return label -> candidate, each with a method `start`.

    Raises TypeError, ValueError or TooFewProcesses if they cannot be compared as asked.
    """
    if not isinstance(candidates, dict):
        raise TypeError(f"compare takes a dict {{name: function}}, not {type(candidates).__name__}")
    if len(candidates) < 2:
        raise ValueError(f"compare needs at least two candidates, got {list(candidates)}")
    if baseline not in [None, *candidates]:
        raise ValueError(f"the baseline must be one of {list(candidates)}")
    found = {label: as_candidate(label, candidate) for label, candidate in candidates.items()}
    if processes == 1 and calls is not None:
        raise ValueError("calls needs processes: the total is measured once in each of them")
    if processes > 1 and not all(isinstance(one, Program) for one in found.values()):
        raise TypeError("only programs can have several processes, see d2lhybrid.isolated")
    if 1 < processes < (least := least_processes(len(found) - 1)):
        text = f"{processes} processes give no 95% CI for {len(found)} candidates"
        raise TooFewProcesses(f"{text} ({', '.join(found)}); it takes {least}")
    return found


class Trial:
    """One process of each candidate: warmed up, and measured in rounds.

    `runners` maps labels to loaded runners, `rounds` is what was measured, in `duration` seconds.
    `show` gets texts on progress, `failed` a candidate's error, which is left out if that returns.
    """

    def __init__(self, runners, clock, show, failed):
        self.runners, self.clock, self.show, self.failed = runners, clock, show, failed
        self.rounds, self.duration, self.by_processor = None, 0.0, False

    def warm_up(self, first_calls: int) -> None:
        """Build each candidate and make its first calls, one candidate at a time.

        Programs are built in random order, as the first may find the machine in another state; they
        make at least `first_calls` if there is time.
        """
        programs = [runner for runner in self.runners.values() if runner.worker]
        Random().shuffle(programs)
        ready = []
        for runner in [r for r in self.runners.values() if not r.worker] + programs:
            self.show(f"warming up {runner.label}")
            with passed_to(self.failed):
                runner.warm_up(first_calls)
                ready.append(runner.label)
        self._keep(ready)

    def measure(self, baseline: str, time_limit: float, at_least: bool) -> None:
        """Set `rounds` and `duration`: measure rounds for `time_limit` seconds, and one at least.

        With `at_least`, the limit is as long as MIN_ROUNDS rounds of the fastest calls, if that is
        longer. Without it, candidates that are hopelessly slow leave at half time, and the others
        have the other half. The environment variable that TIME_LIMIT names may shorten it. If a
        candidate fails, the measuring starts again without it.
        """
        if len(self.runners) < 2:
            return
        self.show("measuring")
        self.by_processor = all(runner.only_computes for runner in self.runners.values())
        for runner in self.runners.values() if self.by_processor else ():
            runner.use_processor_time()
        start = self.clock()
        try:
            self.rounds = Rounds(list(self.runners.values()), self.runners[baseline])
            limit = max(time_limit, MIN_ROUNDS * at_least * self.rounds.shortest())
            limit = min(limit, float(os.environ.get(TIME_LIMIT, inf)))
            start = self.clock()
            with no_garbage_collection():
                if not at_least:
                    self._add_until(start + limit / 2)
                    if self.rounds.drop(self.runners[baseline]):
                        limit = max(limit, self.clock() - start + limit / 2)
                self._add_until(start + limit)
        except CandidateError as error:
            self.failed(error)
            self.rounds = None
            del self.runners[error.label]
        finally:
            self.duration = self.clock() - start
        if self.rounds is None:
            self.measure(baseline, time_limit, at_least)

    def _add_until(self, end):
        """Measure rounds until the clock shows `end`, and one at least."""
        while self.clock() < end or not len(self.rounds):
            self.rounds.add()

    def time_single_calls(self, seconds: float) -> None:
        """Let each program time calls one by one for so many seconds, and say what memory it took.

        Where a block is a single call, blocks are such times already: only memory is asked for.
        """
        if not self.rounds:  # too few candidates are left
            return
        ready, runners = [], list(self.runners.values())
        Random().shuffle(runners)
        for runner in runners:
            has_single = self.rounds.plans[runner].calls * runner.inner_calls == 1
            with passed_to(self.failed):
                runner.time_single_calls(0.0 if has_single else seconds)
                ready.append(runner.label)
        self._keep(ready)

    def explain(self, label: str, function: str) -> dict[str, Any] | None:
        """Return {"limits": what the function says of a candidate, "graphs": what each became}.

        None if it says nothing, or fails: what was measured is there all the same.
        """
        with suppress(CandidateError, AttributeError):  # a callable of this process has no explain
            said = self.runners[label].explain(function)
            graphs = {label: runner.graphs for label, runner in self.runners.items()}
            return said and {"limits": said, "graphs": graphs}

    def notes(self, baseline: str, checked: bool) -> list[str]:
        """Return what must be said beside speeds. `checked`: whether results were compared."""
        runners = self.runners.values()
        notes = [f"{runner.label}: {note}" for runner in runners for note in runner.notes()]
        if not self.runners[baseline].returns_same:  # or all may write to a buffer of their own
            what = "returned the same object in each call, so it may compute nothing"
            notes += [f"{runner.label}: {what}" for runner in runners if runner.returns_same]
        if not checked:
            return notes
        results = {runner: runner.results for runner in runners}
        needs = {
            r.label: r.needs_gradients if r.worker else any_needs_gradients(results[r][-1:])
            for r in runners
        }
        if {True, False} <= {*needs.values()}:
            recorded = ", ".join(repr(label) for label, need in needs.items() if need)
            notes.append(f"only {recorded} kept what gradients need: see torch.no_grad()")
        formats = {runner.label: formats_of(results[runner]) for runner in runners}
        if len({*map(frozenset, formats.values())}) > 1 and all(formats.values()):
            kinds = [f"{label} in {', '.join(sorted(one))}" for label, one in formats.items()]
            what = "formats differ, so the coarsest one's rounding is allowed"
            notes.append(f"{what}: {'; '.join(kinds)}")
        if not any(has_values(result) for kept in results.values() for result in kept):
            notes.append("all results are None or NaN, so only times were compared")
            quick = [n for n, one in self.timings().items() if one.median_time < NOTHING]
            notes += [f"{label}: so short a call does next to nothing" for label in quick]
        return notes

    def _keep(self, labels):
        """Leave out the runners that have none of these labels."""
        self.runners = {label: r for label, r in self.runners.items() if label in labels}

    def timings(self):
        """What was measured so far: label -> Measurement; empty before the first whole round."""
        return self.rounds.timings() if self.rounds else {}


# How far it is ------------------------------------------------------------------------------


def show_after(show: Callable[[str], None], prefix: str, text: str) -> None:
    """Call `show` with the text behind the prefix; an empty text stays empty, and erases both."""
    show(text and prefix + text)


def progress_line(progress: Callable[[str], None] | None) -> Callable[[str], None]:
    """Returns a function that shows a text on stderr in place of the previous one; '' erases it.

    It shows text only in a terminal, so that none is ever stored in a notebook. If `progress` is
    given, it is returned as it is: it gets each text, and '' at the end.
    """
    stream, width = sys.stderr, 0
    if progress or not (stream and stream.isatty()):  # None if it was closed
        return progress or (lambda text: None)

    def show(text):
        nonlocal width
        if text or width:
            stream.write("\r" + text.ljust(width) + ("" if text else "\r"))
            stream.flush()
            width = len(text)

    return show
