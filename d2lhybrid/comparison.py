"""What is faster here, and is that sure? `compare` measures; a `Comparison` answers.

How it is measured. Every candidate is timed in short blocks of calls, two blocks of each in a
round, in random order, and its times are compared with the baseline's of the same round alone:
slow changes, such as the processor's clock rate, are the same for both and cancel. A short
interruption hits one block only; against that the median over all rounds helps. How far the
baseline's two blocks seem to differ is what this machine cannot tell apart today. Each block
begins with a call that is not timed, or whoever runs after a twin finds its data in the cache.
"""

import sys
from math import inf
from time import perf_counter

from .agreement import difference
from .device import synchronize as wait_for_gpus
from .machine import describe_machine
from .stopwatch import (
    CandidateError,
    Recipe,
    Repeated,
    Rounds,
    Runner,
    no_garbage_collection,
    recipe,
)
from .verdict import LOOKS, Comparison, Result, Timing, quoted

__all__ = ["CandidateError", "Comparison", "Result", "Timing", "compare", "recipe"]

MIN_ROUNDS = 10  # for calls so slow that the time limit allows fewer
LONG = 2  # seconds; longer comparisons show progress


def compare(
    candidates,
    *args,
    baseline=None,
    check=True,
    min_effect=0.01,
    time_limit=1.0,
    synchronize=None,
    progress=None,
    clock=perf_counter,
):
    """Which candidate is faster, called with `args`, and is that sure? Returns a `Comparison`.

    `candidates` maps labels to callables, or to a `recipe` for one, whose building is then part
    of the answer; they must not change `args`. `baseline` is the label that the others are
    compared with, the first by default. All must return what the baseline returns, within the
    rounding of its number format; `check` may be another tolerance, relative to the largest
    number, or False.

    A difference below `min_effect` is never called one. While the answer is open, rounds are
    added, for `time_limit` seconds at most, or for what 10 rounds take if that is longer;
    building and warming up come on top. `synchronize()` must wait until a device has done what
    was asked of it. For torch nothing need be given; others are `mx.nd.waitall` and
    `paddle.device.synchronize`, while a JAX candidate ends with `.block_until_ready()`.

    `progress` shows how far it is on stderr; None: if that is a terminal, and it takes long.
    `clock` returns seconds. An interrupt (Ctrl-C, the stop button) ends the rounds, and what was
    measured is returned.

    TypeError or ValueError for what cannot be compared, among them results that differ;
    `CandidateError` for a candidate that raises.
    """
    _check_input(candidates, baseline, min_effect, time_limit)
    tell = teller(progress)
    machine = describe_machine(*args)
    runners = {}
    try:
        for label, candidate in candidates.items():
            tell(f"warming up {label}")
            runners[label] = Runner(label, candidate, args, synchronize or wait_for_gpus, clock)
        base = runners[next(iter(runners)) if baseline is None else baseline]
        if check is not False:
            others = [runner for runner in runners.values() if runner is not base]
            _check_results(others, base, None if check is True else check)

        rounds = Rounds(list(runners.values()), base)
        limit = max(time_limit, MIN_ROUNDS * rounds.shortest())
        start = clock()

        def so_far(complete=True):
            columns = iter(rounds.columns())
            timings = {
                r.label: Timing(first, second, r.calls, tuple(r.warmup), r.build, r.built_in)
                for r, first, second in zip(runners.values(), columns, columns)
            }
            took = clock() - start
            return Comparison(base.label, timings, min_effect, took, complete, machine)

        try:
            with no_garbage_collection():
                for share in LOOKS:
                    while (passed := clock() - start) < share * limit:
                        if limit >= LONG or callable(progress):
                            tell(f"{passed:.0f} s of at most {limit:.0f} s")
                        rounds.add()
                    if not so_far().open:
                        break
        except KeyboardInterrupt:
            if not len(rounds):
                raise  # nothing to give
            return so_far(complete=False)
        return so_far()
    finally:
        tell("")


def _check_input(candidates, baseline, min_effect, time_limit):
    if not isinstance(candidates, dict):
        raise TypeError(f"candidates must be a dict from labels to callables, not {candidates!r}")
    if len(candidates) < 2:
        raise ValueError(
            f"compare needs at least two candidates, got {len(candidates)}: {quoted(candidates)}"
        )
    for label, candidate in candidates.items():
        if not isinstance(label, str):
            raise TypeError(f"a label must be a string, and {label!r} is none")
        if not (callable(candidate) or isinstance(candidate, (Recipe, Repeated))):
            raise TypeError(f"candidate {label!r} must be callable or a recipe, not {candidate!r}")
    if baseline is not None and baseline not in candidates:
        raise ValueError(f"the baseline {baseline!r} is none of {quoted(candidates)}")
    if not 0 <= min_effect < 1:
        raise ValueError(f"min_effect is a share, 0.01 for 1 %, and cannot be {min_effect!r}")
    if not 0 < time_limit < inf:
        raise ValueError(
            f"time_limit is in seconds, above 0 and finite, and cannot be {time_limit!r}"
        )


def _check_results(runners, base, tolerance):
    without = "check=False compares their times all the same"
    for runner in runners:
        try:
            text = difference(runner.result, base.result, tolerance)
        except Exception as error:
            raise TypeError(
                f"what {runner.label!r} and {base.label!r} return cannot be compared "
                f"({type(error).__name__}: {error}); {without}"
            ) from error
        if text:
            raise ValueError(
                f"{runner.label!r} does not return what {base.label!r} returns: {text}; {without}"
            )


def teller(progress):
    """A function that shows a line on stderr in place of its last one, or nothing at all.

    `progress` None: only where a terminal shows it, so that nothing of it is ever stored in a
    notebook. A function is taken as it is; it gets each text, and '' at the end.
    """
    if callable(progress):
        return progress
    stream = sys.stderr
    shown = stream.isatty() if progress is None else progress
    width = 0

    def tell(text):
        nonlocal width
        if shown and (text or width):
            stream.write("\r" + text.ljust(width) + ("" if text else "\r"))
            stream.flush()
            width = len(text)

    return tell
