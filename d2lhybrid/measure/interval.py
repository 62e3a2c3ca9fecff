"""What follows from paired times: the interval of their median ratio, and a verdict.

If two candidates are the same, and the order within each round is random, either is the faster
one in half of the rounds, like a coin, however restless the machine. From that alone follows the
interval of the median ratio: by the order statistics of the paired ratios, with no assumption
about how times are distributed (the sign test; W. J. Conover, Practical Nonparametric Statistics,
chapter 3). Notebook 05 builds it.

To look several times, and to stop when the answer pleases, is to err more often than once in
twenty. `compare` looks at four moments fixed beforehand. So each interval is made wide enough to
err only once in eighty; then all four together hold the truth 95 times in 100 (Bonferroni's
inequality), whenever it stops, and the interval that is shown is an honest 95 % interval, for
each candidate by itself.
"""

from collections.abc import Iterable
from functools import lru_cache
from math import inf, log1p
from statistics import median

LOOKS = (1 / 8, 1 / 4, 1 / 2, 1)  # when to look whether the answer is open: shares of the limit
ERROR = 0.05 / len(LOOKS)  # how often the interval of one look may miss the truth

FASTER, SLOWER, UNCLEAR = "faster", "slower", "no clear difference"

Interval = tuple[float, float, float]  # low, median, high


@lru_cache
def rank(n: int, error: float = ERROR) -> int:
    """The r for which the r-th smallest and the r-th largest of n values enclose the median.

    The largest r with 2 P(Bin(n, 1/2) < r) <= error; 0 where n is too small for any.
    """
    ways, tail = 1, 0  # to draw exactly r of n, and fewer than r
    for r in range(n + 1):
        tail += ways
        if 2 * tail / 2**n > error:
            return r
        ways = ways * (n - r) // (r + 1)
    return 0


def interval(values: Iterable[float]) -> Interval:
    """The median of values and the interval around it: (low, median, high)."""
    ordered = sorted(values)
    r = rank(len(ordered))
    if r == 0:
        return -inf, median(ordered), inf
    return ordered[r - 1], median(ordered), ordered[-r]


def judge(low: float, high: float, min_effect: float, noise_floor: float) -> tuple[str, bool]:
    """A verdict from the interval of a log speed-up, and whether more rounds might change it.

    A candidate is faster, or slower, if its whole interval lies beyond the grey zone: the noise
    floor, and the smallest effect worth a word on top of it. If the interval lies within the
    smallest effect, the two are as good as equal, and that is sure. Otherwise it is open.
    """
    smallest = log1p(min_effect)
    grey = smallest + log1p(noise_floor)
    if low > grey:
        return FASTER, False
    if high < -grey:
        return SLOWER, False
    return UNCLEAR, low < -smallest or high > smallest
