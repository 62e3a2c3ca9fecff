"""What follows from paired times: the interval of their median ratio.

If two candidates are the same, and the order within each round is random, either is the faster
one in half of the rounds, as a coin does, even if the machine is busy. From that alone follows the
interval of the median ratio: by the order statistics of the paired ratios, with no assumption
about how times are distributed (the sign test; W. J. Conover, Practical Nonparametric Statistics,
chapter 3). Notebook 05 builds it.

Looking several times and stopping at the first clear answer errs more often than 1 time in 20.
`compare` looks at four moments fixed beforehand. So each interval is made wide enough to err only
1 time in 80; then all four together hold the truth 95 times in 100 (Bonferroni's inequality),
whenever it stops, and the interval that is shown is an honest 95 % interval, for each candidate
by itself.
"""

from collections.abc import Iterable
from functools import lru_cache
from math import inf
from statistics import median

LOOKS = (1 / 8, 1 / 4, 1 / 2, 1)  # when to look whether the answer is open: shares of the limit
ERROR = 0.05 / len(LOOKS)  # how often the interval of one look may miss the truth

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


def interval(values: Iterable[float]) -> Interval:
    """The median of values and the interval around it: (low, median, high)."""
    ordered = sorted(values)
    r = rank(len(ordered))
    if r == 0:
        return -inf, median(ordered), inf
    return ordered[r - 1], median(ordered), ordered[-r]
