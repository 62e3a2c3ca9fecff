"""The interval of a median, and whether calls that take far longer are a candidate's own doing.

    pairs = 3 * [(30, 20), (31, 20), (29, 20), (30, 21), (30, 19), (32, 20), (30, 20), (28, 20)]
    low, middle, high = interval([log(a / b) for a, b in pairs])  # 0.372, 0.405, 0.438

If two candidates are equally fast, and the order in each round is random, then which of them is
faster in a round is the toss of a coin, however busy the machine is. From that alone follows the
interval of the median ratio: by the order statistics of the paired ratios, with no assumption
about how times are distributed (the sign test; W. J. Conover, Practical Nonparametric Statistics,
chapter 3). `scipy.stats.quantile_test` gives the same interval. Notebook 06 builds it.

Coins must not influence each other. Where a candidate's own speed changes slowly, because its
memory was moved or a governor wakes up, neighbouring rounds resemble each other, and a thousand
of them may say as little as ten. `effective_size` finds out how many independent rounds they are
worth, and the interval is as wide as if there were only so many.

The values come from `results.log_speedups`, and `Comparison._judged`, in results.py, gives the
interval to `verdicts.judge`.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import inf, log, sqrt
from statistics import fmean, median

from .timing import Timing

ERROR = 0.04  # 1 time in 20 the interval may err; a fifth is for what `effective_size` overlooks
FEW = 16  # independent values; if there are fewer, `interval` takes the range
NOTICED = 3  # standard deviations: a smaller excess is put down to chance
TINY = 1e-6  # values that differ by less are the same, whatever the last digits do
SLOW = 1.5  # a block is slow if it takes so many times its candidate's median
CERTAIN = log(30_000)  # by chance less than once in 30,000 comparisons

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
    """The median of values, in the order of measuring, and its interval: (low, median, high).

    `error` is how often the interval may miss the median. Too few values give -inf and inf.
    """
    ordered = sorted(values)
    n, worth = len(values), effective_size(values)
    if worth < n and worth < FEW:
        # So few show only a part of what the speed goes through, perhaps a single trend. So we
        # take the range, without its farthest twentieths, and its own length on either side: a
        # guess, with which a difference that every round shows is not lost.
        low, high = ordered[n // 20], ordered[-1 - n // 20]
        return 2 * low - high, median(ordered), 2 * high - low
    r = rank(worth, error) * n // worth  # of all n values, at the same share from either end
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
        # A variance taken from m values errs by its own sqrt(2 / m), one standard deviation. Here
        # m is n / b: so many of the sums do not overlap.
        if factor > 1 + NOTICED * sqrt(2 * b / n):
            worst = max(worst, factor)
        b *= 2
    return worst


def has_slow_calls(own: Sequence[Timing], other: Sequence[Timing]) -> bool:
    """Whether some calls of `own` take far longer than usual, and that is its own doing.

    Both are the timings of all launches. Other programs interrupt either candidate as often as it
    runs. So if the slow blocks fall to both in that proportion, it may have been the machine.
    """
    (mine, ran), (others, other_ran) = map(_slow_blocks, (own, other))
    share = ran / (ran + other_ran)
    slow = mine + others
    if mine <= slow * share:
        return False
    # Chernoff's bound: by chance so many fall to `own` less often than exp(-surprise)
    surprise = mine * log(mine / (slow * share))
    if others:
        surprise += others * log(others / (slow * (1 - share)))
    return surprise > CERTAIN


def _slow_blocks(timings):
    """How many blocks were slow, and the seconds of all blocks if all had been usual ones."""
    slow, seconds = 0, 0.0
    for timing in timings:
        blocks, usual = timing.block_a + timing.block_b, timing.usual_time
        slow += sum(time > SLOW * usual for time in blocks)
        seconds += len(blocks) * timing.calls * timing.inner_calls * usual
    return slow, seconds
