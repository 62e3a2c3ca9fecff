"""The interval of a median, held against published tables; the verdict that follows from it."""

import random
from math import comb, inf, log
from statistics import median

import pytest

from d2lhybrid.benchmark.statistics import ALPHA, FEW, effective_sample_size, interval, rank
from d2lhybrid.benchmark.verdict import EQUIVALENT, FASTER, INCONCLUSIVE, SLOWER, judge

# From tables of the sign test: n, r for a 95% CI of the median.
PUBLISHED_RANKS = [(5, 0), (6, 1), (8, 1), (9, 2), (10, 2), (12, 3), (20, 6), (50, 18), (100, 40)]


def test_ranks_are_the_published_ones():
    assert [(n, rank(n, 0.05)) for n, _ in PUBLISHED_RANKS] == PUBLISHED_RANKS


def test_rank_is_the_largest_that_the_error_allows():
    def misses(n, r):
        return 2 * sum(comb(n, k) for k in range(r)) / 2**n

    for n in (7, 8, 12, 125, 1000):
        assert misses(n, rank(n)) <= ALPHA < misses(n, rank(n) + 1), n


def test_interval_encloses_the_median_whatever_the_order():
    values = list(range(100))
    random.Random(2).shuffle(values)
    low, middle, high = interval(values)
    r = rank(100)
    assert (low, middle, high) == (r - 1, 49.5, 100 - r)
    assert interval([1.0, 2.0, 3.0]) == (-inf, 2.0, inf)  # too few to say anything


def noise(n, seed=1):
    chance = random.Random(seed)
    return [chance.gauss(0, 1) for _ in range(n)]


def test_independent_values_count_fully():
    for n in (10, 40, 625, 5000):
        sizes = [effective_sample_size(noise(n, seed)) for seed in range(40)]
        assert sorted(sizes)[20] == n
        assert sum(size < n for size in sizes) <= 4, n


def test_repeated_values_count_once():
    for times in (4, 16, 64):
        sizes, widths = [], []
        for seed in range(20):
            once = noise(100, seed)
            values = [value for value in once for _ in range(times)]
            sizes.append(effective_sample_size(values))
            (low, _, high), ends = interval(values), interval(once)
            widths.append((high - low) / (ends[2] - ends[0]))
        assert 60 <= median(sizes) <= 120, times
        assert 0.9 < median(widths) < 1.5, times


def test_trend_makes_the_sample_small_and_changing_spread_does_not():
    values = noise(600)
    assert effective_sample_size(sorted(values)) < FEW
    low, _, high = interval(sorted(values))  # of a trend nothing follows but how far it went
    assert low < min(values) < max(values) < high
    low = interval([value / 10 + 3 for value in sorted(values)])[0]
    assert low > 2  # which is enough, if what it went through is all far from 0
    for size in (100, 600):
        restless = [v * (3 if i % 100 < 50 else 1) for i, v in enumerate(noise(size, seed=2))]
        assert effective_sample_size(restless) == size


def test_a_step_is_seen_where_the_median_does_not_move():
    values = [0.1 * value for value in noise(600)]
    values[:90] = [value - 1 for value in values[:90]]  # another mode, at the beginning only
    assert effective_sample_size(values) < FEW


def test_a_step_widens_the_interval_by_the_range_on_either_side():
    assert interval([0.1] * 30 + [0.2] * 30) == pytest.approx((0.0, 0.15, 0.3))


def test_differences_in_the_last_digits_are_ignored():
    values = [1 + (i // 50) * 1e-12 for i in range(600)]
    assert effective_sample_size(values) == 600


# speed-up from, to, smallest effect, noise floor, verdict
JUDGEMENTS = [
    (1.02, 1.04, 0.01, 0.0, FASTER),
    (0.95, 0.98, 0.01, 0.0, SLOWER),
    (0.999, 1.001, 0.01, 0.0, EQUIVALENT),
    (1.005, 1.02, 0.01, 0.0, INCONCLUSIVE),  # reaches into the smallest effect
    (1.001, 1.008, 0.01, 0.0, EQUIVALENT),  # surely different, and not worth a word
    (0.999, 1.001, 0.01, 0.5, EQUIVALENT),  # the control was off, and the interval is narrow
    (1.02, 1.04, 0.01, 0.02, INCONCLUSIVE),  # the control itself was off by 2 %
    (1.04, 1.05, 0.01, 0.02, FASTER),
    (1.02, 1.04, 0.05, 0.0, EQUIVALENT),
    (0.9, 1.1, 0.01, 0.0, INCONCLUSIVE),
    (1.0, 1.0, 0.0, 0.0, EQUIVALENT),  # no difference at all
    (1.001, 1.002, 0.0, 0.0, FASTER),
]


def test_judge():
    for low, high, effect, floor, verdict in JUDGEMENTS:
        case = (low, high, effect, floor)
        assert judge(log(low), log(high), effect, floor) == verdict, case
        mirrored = {FASTER: SLOWER, SLOWER: FASTER}.get(verdict, verdict)
        assert judge(-log(high), -log(low), effect, floor) == mirrored, case
