"""What follows from measured times: an interval, a verdict, and what all calls together take.

    pairs = 3 * [(30, 20), (31, 20), (29, 20), (30, 21), (30, 19), (32, 20), (30, 20), (28, 20)]
    low, middle, high = interval([log(a / b) for a, b in pairs])  # 0.372, 0.405, 0.438
    judge(low, high, min_effect=0.01, noise_floor=0.002)  # 'faster'

If two candidates are the same, and the order within each round is random, either is the faster
one in half of the rounds, as a coin does, even if the machine is busy. From that alone follows the
interval of the median ratio: by the order statistics of the paired ratios, with no assumption
about how times are distributed (the sign test; W. J. Conover, Practical Nonparametric Statistics,
chapter 3). `scipy.stats.quantile_test` gives the same interval. Notebook 05 builds it.

Coins must not influence each other. Where a candidate's own speed changes slowly, because its
memory was moved or a governor wakes up, neighbouring rounds resemble each other, and a thousand
of them may say as little as ten. `effective_size` finds out how many independent rounds they are
worth, and the interval is as wide as if there were only so many.

The verdict calls two candidates as good as equal only where the whole interval lies within the
smallest effect worth a word. Statistics calls that an equivalence test, and the smallest effect its
margin: that two things were not seen to differ does not show that they are equal.

`compare` judges the median, the usual call. Where now and then a call of one candidate takes a
hundred times longer (a flush, a recompilation), the total time says something else.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import inf, log1p, sqrt
from statistics import fmean, median

from .timing import Timing

FASTER, SLOWER, EQUAL = "faster", "slower", "as good as equal"
UNCLEAR = "no clear difference"

# How often the interval may miss the truth: 1 time in 20, of which a fifth is kept for what
# `effective_size` overlooks.
ERROR = 0.04
FEW = 16  # for values that are worth fewer independent ones than this, coins are no guide
NOTICED = 3  # standard deviations: what sums of independent values exceed by chance is no sign
TINY = 1e-6  # values that differ by less are the same, whatever the last digits do
SLOW = 1.5  # a block is slow if it takes so many times its candidate's median
CERTAIN = 4  # standard deviations: by chance once in 30,000 comparisons

Interval = tuple[float, float, float]  # low, median, high


@lru_cache
def rank(n: int, error: float = ERROR) -> int:
    """The r for which the r-th smallest and the r-th largest of n values enclose the median.

    The largest r with 2 P(Bin(n, 1/2) < r) <= error; 0 where n is too small for any.
    """
    r, ways = 0, 1  # ways to draw exactly r of n
    tail = ways  # and to draw r or fewer
    while 2 * tail / 2**n <= error:
        ways = ways * (n - r) // (r + 1)
        r += 1
        tail += ways
    return r


def interval(values: Sequence[float], error: float = ERROR) -> Interval:
    """The median of values, in the order of measuring, and its interval: (low, median, high)."""
    ordered = sorted(values)
    n, worth = len(values), effective_size(values)
    if worth < n and worth < FEW:
        # Too few to count on. What is still to come may lie as far out as what came lies apart.
        low, high = ordered[n // 20], ordered[-1 - n // 20]
        return 2 * low - high, median(ordered), 2 * high - low
    r = rank(worth, error) * n // worth
    if r == 0:
        return -inf, median(ordered), inf
    return ordered[r - 1], median(ordered), ordered[-r]


def effective_size(values: Sequence[float]) -> int:
    """How many independent values say as much about the median as these, in their order.

    Sums of b neighbours scatter b times as much (in variance) as single values if these are
    independent, and more if they resemble each other: the method of batch means (G. S. Fishman,
    Discrete-Event Simulation, section 6.6). The largest b is a third of the run. Two things are
    added up: the signs around the median, on which the interval rests; and the values
    themselves, which show a step that left the median where it was. The farthest twentieths are
    cut off, as interruptions would hide all else.
    """
    ordered, n = sorted(values), len(values)
    if n < 2 * FEW:
        return n  # too few to show a pattern
    low, middle, high = ordered[n // 20], median(ordered), ordered[-1 - n // 20]
    if high - low < TINY:
        return n
    signs = [(value > middle) - (value < middle) for value in values]
    cut = [min(max(value, low), high) for value in values]
    return int(n / max(_excess(signs), _excess(cut)))


def _excess(values):
    """By what factor the variance of sums of neighbours exceeds that of independent values."""
    n, mean = len(values), fmean(values)
    variance = fmean([(value - mean) ** 2 for value in values])
    sums = [0.0]
    for value in values:
        sums.append(sums[-1] + value - mean)
    worst, b = 1.0, 2
    while 3 * b <= n:
        step = max(1, b // 4)
        squares = [(sums[i + b] - sums[i]) ** 2 for i in range(0, n - b + 1, step)]
        # The sum of all is 0 here: that makes sums of many scatter less, by the factor 1 - b/n.
        factor = fmean(squares) / (variance * b * (1 - b / n))
        if factor > 1 + NOTICED * sqrt(2 * b / n):
            worst = max(worst, factor)
        b *= 2
    return worst


def judge(low: float, high: float, min_effect: float, noise_floor: float) -> str:
    """A verdict from the interval of a log speed-up.

    A candidate is faster, or slower, if its whole interval lies beyond the grey zone: the noise
    floor, and the smallest effect worth a word on top of it. If the interval lies within the
    smallest effect, the two are as good as equal. Otherwise this run cannot tell.
    """
    smallest = log1p(min_effect)
    grey = smallest + log1p(noise_floor)
    if low > grey:
        return FASTER
    if high < -grey:
        return SLOWER
    return EQUAL if -smallest <= low and high <= smallest else UNCLEAR


def usual_time(timing: Timing) -> float:
    """Seconds of a call: the median of all blocks."""
    return median(timing.block_a + timing.block_b)


def mean_time(timing: Timing) -> float:
    """Seconds of a call, on average over all blocks."""
    return fmean(timing.block_a + timing.block_b)


def price(timing: Timing) -> float:
    """Seconds of building, and what the first calls took more than later ones."""
    usual = usual_time(timing) * timing.inner_calls
    return max(0.0, (timing.build or 0.0) + sum(time - usual for time in timing.warmup))


def total_time(timing: Timing, calls: int) -> float:
    """Seconds of building and of so many calls, as they come.

    The first calls were timed one by one; each of the others counts as the mean of the blocks.
    """
    first = timing.warmup[: -(-calls // timing.inner_calls)]
    later = max(0, calls - len(first) * timing.inner_calls)
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
    return sum(time > limit for time in timing.block_a + timing.block_b)


def _time_in_blocks(timing):
    """Seconds that the blocks would have taken, had all been usual ones."""
    blocks = len(timing.block_a) + len(timing.block_b)
    return blocks * timing.calls * timing.inner_calls * usual_time(timing)
