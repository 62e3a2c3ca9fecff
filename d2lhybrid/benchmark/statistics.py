"""From the times of rounds to an interval: log speed-ups, and the interval of their median.

    pairs = 3 * [(30, 20), (31, 20), (29, 20), (30, 21), (30, 19), (32, 20), (30, 20), (28, 20)]
    low, middle, high = interval([log(a / b) for a, b in pairs])  # 0.372, 0.405, 0.438

If two candidates are equally fast, and the order in each round is random, then which of them is
faster in a round is the toss of a coin, however busy the machine is. In the same way, every ratio
lies above the true median as a coin falls. From that follows the median's interval, whatever the
distribution of times: by order statistics (the sign test; W. J. Conover, Practical Nonparametric
Statistics, chapter 3). `scipy.stats.quantile_test` gives the same one, and notebook 06 builds it.

Coins must not influence each other. If a candidate's own speed changes slowly, because its memory
was moved or a governor wakes up, neighbors resemble each other, and a thousand rounds may say as
little as ten. `effective_sample_size` estimates how many independent rounds they are worth, and the
interval is as wide as if there were only so many. Slow changes far below the noise of single rounds
it underestimates; then the interval errs more often.

`results.Comparison` hands the ends of the interval to `verdict.judge`.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from math import inf, log, sqrt
from statistics import fmean, median

from .timing import Measurement

# An interval may err 1 time in 20; a fifth of that is for what `effective_sample_size` overlooks.
ALPHA = 0.04
FEW = 16  # independent values; if there are fewer, `interval` takes the range
NOTICED = 3  # standard deviations: a smaller excess is put down to chance
TINY = 1e-6  # values that differ by less are the same, whatever the last digits do

Interval = tuple[float, float, float]  # low, median, high


def log_speedups(own: Measurement, base: Measurement) -> list[float]:
    """For each round the natural logarithm of the baseline's time divided by the candidate's.

    It takes the geometric mean of the two times of each, so that twice as fast and twice as slow
    are equally far from 0. A hopelessly slow candidate is only in the first rounds.
    """
    rounds = zip(base.block_a, base.block_b, own.block_a, own.block_b, strict=False)
    return [log(a / c * b / d) / 2 for a, b, c, d in rounds]


@lru_cache
def rank(n: int, alpha: float = ALPHA) -> int:
    """The r for which the r-th smallest and the r-th largest of n values enclose the median.

    The largest r with 2 P(Bin(n, 1/2) < r) <= alpha; 0 where n is too small for any.
    """
    r, combinations = 0, 1  # ways to draw exactly r of n
    tail = combinations  # and to draw r or fewer
    while 2 * tail / 2**n <= alpha:
        combinations = combinations * (n - r) // (r + 1)
        r += 1
        tail += combinations
    return r


def interval(values: Sequence[float], alpha: float = ALPHA) -> Interval:
    """Return (low, median, high): the median of the values, and its confidence interval.

    The values are in the order of measuring, as neighbors that resemble each other make it wider.
    `alpha` is how often the interval may miss the median. Too few values give -inf and inf.
    """
    ordered = sorted(values)
    n, size = len(values), effective_sample_size(values)
    if size < n and size < FEW:
        # So few show only a part of what the speed goes through, perhaps a single trend. So we
        # take the range, without its farthest twentieths, and its own length on either side: a
        # guess, with which a difference that every round shows is not lost.
        low, high = ordered[n // 20], ordered[-1 - n // 20]
        return 2 * low - high, median(ordered), 2 * high - low
    r = rank(size, alpha) * n // size  # of all n values, at the same share from either end
    if r == 0:
        return -inf, median(ordered), inf
    return ordered[r - 1], median(ordered), ordered[-r]


def effective_sample_size(values: Sequence[float]) -> int:
    """How many independent values say as much about the median as these, in their order.

    The variance of sums of b neighbors is b times that of single values if these are independent,
    and more if they resemble each other: the method of batch means (G. S. Fishman, Discrete-Event
    Simulation, section 6.6). The largest b is a third of the run. It is applied to two series: the
    signs around the median, on which the interval rests; and the values themselves, which show a
    step that left the median where it was. The farthest twentieths are cut off, as interruptions
    would hide all else.
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
    """Return by what factor the variance of sums of neighbors exceeds that of independent values.

    It is 1 where the excess may be chance.
    """
    n, mean = len(values), fmean(values)
    variance = fmean([(value - mean) ** 2 for value in values])
    sums = [0.0]
    for value in values:
        sums.append(sums[-1] + value - mean)
    worst, b = 1.0, 2
    while 3 * b <= n:
        step = max(1, b // 4)
        squares = [(sums[i + b] - sums[i]) ** 2 for i in range(0, n - b + 1, step)]
        # All values add up to 0 here, so long sums vary less, by the factor 1 - b/n.
        factor = fmean(squares) / (variance * b * (1 - b / n))
        # A variance taken from m values errs by its own sqrt(2 / m), one standard deviation. Here
        # m is n / b: so many of the sums do not overlap.
        if factor > 1 + NOTICED * sqrt(2 * b / n):
            worst = max(worst, factor)
        b *= 2
    return worst


def least_processes(others: int, alpha: float = ALPHA) -> int:
    """Return the fewest processes that give an interval for so many candidates and the baseline."""
    return next(n for n in count(1) if rank(n, alpha / others))
