"""What all calls together take, where the usual call does not tell. See notebook 05.

`compare` judges the median, the usual call. Where now and then a call of one candidate takes a
hundred times longer (a flush, a recompilation), the total time says something else.
"""

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, median

from .timing import Timing

SLOW = 1.5  # a block is slow if it takes so many times its candidate's median
CERTAIN = 4  # standard deviations: by chance once in 30,000 comparisons


def usual_time(timing: Timing) -> float:
    """Seconds of a call: the median of all blocks."""
    return median(timing.first + timing.second)


def mean_time(timing: Timing) -> float:
    """Seconds of a call, on average over all blocks."""
    return fmean(timing.first + timing.second)


def price(timing: Timing) -> float:
    """Seconds of building, and what the first calls took more than later ones."""
    usual = usual_time(timing) * timing.repeats
    return max(0.0, (timing.build or 0.0) + sum(time - usual for time in timing.warmup))


def total_time(timing: Timing, calls: int) -> float:
    """Seconds of building and of so many calls, as they come.

    The first calls were timed one by one; each of the others counts as the mean of the blocks.
    """
    first = timing.warmup[: -(-calls // timing.repeats)]
    later = max(0, calls - len(first) * timing.repeats)
    return (timing.build or 0.0) + sum(first) + later * mean_time(timing)


def has_slow_calls(own: Sequence[Timing], other: Sequence[Timing]) -> bool:
    """Whether some calls of `own` take far longer than usual, and that is its own doing.

    Both are the timings of all launches. Other programs interrupt either candidate as often as it
    runs. So if the slow blocks fall to both in that proportion, it may have been the machine.
    """
    mine, others = sum(map(_slow_blocks, own)), sum(map(_slow_blocks, other))
    ran, other_ran = sum(map(_time_in_blocks, own)), sum(map(_time_in_blocks, other))
    share = ran / (ran + other_ran)
    expected = (mine + others) * share
    return mine > expected + CERTAIN * sqrt(expected * (1 - share))


def _slow_blocks(timing):
    limit = SLOW * usual_time(timing)
    return sum(time > limit for time in timing.first + timing.second)


def _time_in_blocks(timing):
    """Seconds that the blocks would have taken, had all been usual ones."""
    blocks = len(timing.first) + len(timing.second)
    return blocks * timing.calls * timing.repeats * usual_time(timing)
