"""Which candidate is faster here, and is that sure? `compare` measures; a `Comparison`,
in results.py, answers.

    result = compare({"eager": net, "TorchScript": recipe(lambda: torch.jit.script(net))}, x)
    result["TorchScript"].verdict  # 'faster'
    result["TorchScript"].speedup  # 1.410, and from .low to .high its 95 % interval: 1.391, 1.477

Every candidate is timed in short blocks of calls, two blocks of each in a round, in random order,
and its times are compared only with the baseline's of the same round: slow changes, such as the
processor's clock rate, are the same for both and cancel. A short interruption hits one block only;
against that the median over all rounds helps. The difference between the baseline's two blocks is
the noise floor: smaller differences cannot be distinguished from chance here, now.

The rounds fill the whole time limit, and the answer is looked at once, at its end. To stop as soon
as it looks clear would err more often: each look is another chance to see something by accident.

From times to a verdict: `Launch.measure` adds rounds, `results.log_speedups` makes a ratio of each,
`statistics.interval` encloses their median, and `Comparison._judged` asks `verdicts.judge`.
Notebook 06 builds a small version. The usual tool for two separate runs is `pyperf compare_to`.
"""

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

from .agreement import any_needs_gradients, check_results
from .candidates import CandidateError, Program, Recipe, Repeated
from .launch import Launch, check_input, enough_calls, show_launch
from .measured_on import describe_machine, is_busy, load_average, together
from .processes import ProgramRunner
from .results import Comparison
from .show import progress_line
from .timing import Runner, device_clock

SINGLE = 0.1  # seconds in which calls are timed one by one
WIDE, PATIENCE = 1.2, 75  # an interval's high by its low; seconds from the first launch's start
MIN_EFFECT = 0.01  # a difference below this share is never called one
MIN_ROUNDS = 10  # of a single launch, for calls so slow that the time limit allows fewer


def compare(
    candidates: dict[str, Callable | Recipe | Repeated | Program | ProgramRunner],
    *args: Any,
    baseline: str | None = None,
    launches: int = 1,
    min_launches: int | None = None,
    extra_launches: int = 0,
    calls: int | None = None,
    check: bool = True,
    tolerance: float | None = None,
    time_limit: float | None = None,
    single_calls: bool = False,
    progress: Callable[[str], None] | None = None,
    on_error: Callable[[CandidateError], None] | None = None,
    clock: Callable[[], float] = device_clock,
) -> Comparison:
    """Find out which candidate is faster, called with `args`, and whether that is sure.

        compare({"eager": net, "compiled": recipe(lambda: torch.compile(net))}, x)

    The intervals of all candidates hold together, 95 times in 100. An interrupt (Ctrl-C, the stop
    button) ends the measuring, and what was measured is returned.

    Args:
        candidates: Maps labels to callables, to a `recipe` for one, whose building is then part
            of the answer, to an `own_process`, or to what `started` has made of one. They must not
            change `args`.
        args: The arguments of each call. A program gets them once, when it is built.
        baseline: The label that the others are compared with; by default the first.
        launches: How often all candidates are started, 6 times or more, so that the interval holds
            for the candidates, and not only for the processes of one launch.
        min_launches: After so many no further one begins once the time limit is over; by default
            after all of them.
        extra_launches: So many more are made if an interval is wider than by the factor WIDE after
            all launches, as long as a further one ends before PATIENCE seconds are over. That is
            asked once, whatever the answer: to go on until it is clear would err more often.
        calls: How often the candidates are to be called. Then there is also a verdict on the total
            of building and so many calls in a new process. For several launches.
        check: Whether all must return what the baseline returns.
        tolerance: How far results may differ, relative to the largest number; by default the
            rounding of their number format, see `d2lhybrid.difference`.
        time_limit: Seconds of measuring, in all launches together; by default 1, and of several
            launches a quarter for each. Where calls are long it is exceeded: one launch measures
            10 rounds at least, and of several each measures one.
        single_calls: Whether in each of several launches programs also time calls one by one, up to
            SINGLE seconds, and say how much memory they took.
        progress: Gets a text about each step, and the seconds of what takes longer than 2 s. By
            default they are shown on stderr if that is a terminal.
        on_error: Gets the error of a candidate that fails, or returns something else than the
            baseline; it is then left out. By default every error is raised, and the baseline's
            always, unless some launches were made without one: these are the answer then.
        clock: Returns seconds. By default it first waits until every framework that is loaded has
            done what was asked of its devices, as is done in a program's process.

    Raises:
        TypeError, ValueError: for what cannot be compared, among them results that differ.
        CandidateError: for a candidate that raises, or whose process ends or hangs.
    """
    check_input(candidates, baseline, launches, min_launches, calls)
    base_label = next(iter(candidates)) if baseline is None else baseline
    time_limit = time_limit or (1.0 if launches == 1 else launches / 4)
    machine = describe_machine(*args)
    show = progress_line(progress)
    launch, done, took, began = None, [], 0.0, perf_counter()
    load = load_average()
    busy = is_busy(load)

    def failed(error):
        if on_error is None or error.label == base_label:
            raise error
        on_error(error)

    def answer(complete):
        left = [label for label in candidates if all(label in timings for timings in done)]
        kept = tuple({label: timings[label] for label in left} for timings in done)
        here = machine | {"load": [load, load_average()], "is_busy": busy}
        return Comparison(base_label, kept, MIN_EFFECT, took, complete, here, calls)

    def is_enough():
        i = len(done)
        if i < launches:  # a lack of time ends it early, the answer never does
            return took >= time_limit and i >= (min_launches or launches)
        end = (perf_counter() - began) * (i + 1) / i  # if one more takes as long as the others
        # all extra ones are made; one more takes too long; or none is needed, which is asked once
        return i >= launches + extra_launches or end > PATIENCE or (i == launches and is_narrow())

    def is_narrow():
        return all(r.high <= WIDE * r.low for r in answer(True).values() if r.label != base_label)

    try:
        while not (done and is_enough()):
            i, show_here = len(done), show
            if launches > 1:
                show_here = partial(show_launch, show, i, launches, perf_counter() - began)
            with Launch(candidates, args, clock, show_here, failed) as launch:
                launch.warm_up(calls or 0, enough_calls(done))
                if i == 0:
                    own = [r for r in launch.runners.values() if isinstance(r, Runner)]
                    others = [r.machine for r in launch.runners.values() if r not in own]
                    machine = together(others or [machine])
                    machine["gradients_needed"] = any_needs_gradients([r.results[-1] for r in own])
                    if check:
                        notes = check_results(launch.runners, base_label, tolerance, failed)
                        machine["notes"] = notes
                least = MIN_ROUNDS if launches == 1 else 0  # one is always made
                seconds = time_limit / launches
                launch.measure(base_label, seconds, least)
                if single_calls and launches > 1 and len(launch.runners) > 1:
                    launch.time_single_calls(min(seconds, SINGLE))
            if len(launch.runners) < 2:
                if done:
                    return answer(complete=False)
                raise ValueError(f"nothing is left to compare with {base_label!r}")
            candidates = {label: candidates[label] for label in launch.runners}
            took += launch.took
            done.append(launch.timings())
    except KeyboardInterrupt:
        if not done and launch and launch.timings():
            done.append(launch.timings())
            took = launch.took
        if not done:
            raise
        return answer(complete=False)
    except CandidateError as error:  # the baseline's
        if not done or on_error is None:
            raise
        on_error(error)
        return answer(complete=False)
    finally:
        show("")
    return answer(complete=True)
