"""The interval of a median, held against published tables; and the verdict that follows."""

import random
from math import comb, inf, log

import pytest

from d2lhybrid.measure.interval import (
    ERROR,
    FASTER,
    LOOKS,
    SLOWER,
    UNCLEAR,
    interval,
    judge,
    rank,
)

# From tables of the sign test: n, r for a 95 % interval of the median.
PUBLISHED_RANKS = [(5, 0), (6, 1), (8, 1), (9, 2), (10, 2), (12, 3), (20, 6), (50, 18), (100, 40)]


@pytest.mark.parametrize(("n", "r"), PUBLISHED_RANKS)
def test_ranks_are_the_published_ones(n, r):
    assert rank(n, 0.05) == r


@pytest.mark.parametrize("n", [7, 8, 12, 125, 1000])
def test_rank_is_the_largest_that_the_error_allows(n):
    def misses(r):
        return 2 * sum(comb(n, k) for k in range(r)) / 2**n

    assert misses(rank(n)) <= ERROR < misses(rank(n) + 1)


def test_all_looks_together_err_once_in_twenty():
    assert pytest.approx(0.05) == ERROR * len(LOOKS)
    assert LOOKS[-1] == 1


def test_interval_encloses_the_median_whatever_the_order():
    values = list(range(100))
    random.Random(2).shuffle(values)
    low, middle, high = interval(values)
    r = rank(100)
    assert (low, middle, high) == (r - 1, 49.5, 100 - r)
    assert interval([1.0, 2.0, 3.0]) == (-inf, 2.0, inf)  # too few to say anything


# speed-up from, to, smallest effect, noise floor, verdict, open
JUDGEMENTS = [
    (1.02, 1.04, 0.01, 0.0, FASTER, False),
    (0.95, 0.98, 0.01, 0.0, SLOWER, False),
    (0.999, 1.001, 0.01, 0.0, UNCLEAR, False),
    (1.005, 1.02, 0.01, 0.0, UNCLEAR, True),  # reaches into the smallest effect
    (1.001, 1.008, 0.01, 0.0, UNCLEAR, False),  # surely different, and not worth a word
    (1.02, 1.04, 0.01, 0.02, UNCLEAR, True),  # the control itself was off by 2 %
    (1.04, 1.05, 0.01, 0.02, FASTER, False),
    (1.02, 1.04, 0.05, 0.0, UNCLEAR, False),
    (0.9, 1.1, 0.01, 0.0, UNCLEAR, True),
    (1.0, 1.0, 0.0, 0.0, UNCLEAR, False),  # no difference at all is none, however small one counts
    (1.001, 1.002, 0.0, 0.0, FASTER, False),
]


@pytest.mark.parametrize(("low", "high", "effect", "floor", "verdict", "is_open"), JUDGEMENTS)
def test_judge(low, high, effect, floor, verdict, is_open):
    assert judge(log(low), log(high), effect, floor) == (verdict, is_open)
    mirrored = {FASTER: SLOWER, SLOWER: FASTER}.get(verdict, verdict)
    assert judge(-log(high), -log(low), effect, floor) == (mirrored, is_open)
