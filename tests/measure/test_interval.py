"""The interval of a median, held against published tables."""

import random
from math import comb, inf

import pytest

from d2lhybrid.measure.interval import ERROR, LOOKS, interval, rank

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
