"""What all calls together take: slow calls of one's own, interruptions, prices, totals."""

import pytest
from benchmark_helpers import steady

from d2lhybrid.benchmark.timing import Timing


def with_slow_calls(slow, seconds=1.0, rounds=200, **more):
    """A timing of which so many blocks, spread over all rounds, take 50 times as long."""
    first = [seconds] * rounds
    for i in range(slow):
        first[i * rounds // slow] *= 50
    return Timing(tuple(first), (seconds,) * rounds, **{"calls": 1, "warmup": ()} | more)


def test_mean_and_median_of_all_blocks():
    timing = Timing((1.0, 1.0, 1.0), (1.0, 1.0, 7.0), calls=1, warmup=())
    assert timing.usual_time == 1
    assert timing.mean_time == 2


@pytest.mark.parametrize(
    ("timing", "seconds"),
    [
        (steady(1.0), 0),
        (steady(1.0, build=5.0), 5),
        (steady(1.0, build=5.0, warmup=(4.0, 1.0, 1.0)), 8),
        (steady(1.0, build=0.5, warmup=(0.5, 0.2)), 0),  # quicker at first: no price
        (steady(1.0, build=5.0, warmup=(14.0, 10.0), inner_calls=10), 9),
    ],
)
def test_the_price_is_building_and_what_first_calls_cost_more(timing, seconds):
    assert timing.price == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("timing", "calls", "seconds"),
    [
        (steady(1.0), 7, 7),
        (steady(1.0, build=5.0), 7, 12),
        (steady(1.0, build=5.0, warmup=(4.0, 2.0)), 1, 9),
        (steady(1.0, build=5.0, warmup=(4.0, 2.0)), 2, 11),
        (steady(1.0, build=5.0, warmup=(4.0, 2.0)), 10, 19),
        # one time for ten calls: the first call cannot be told from the nine others
        (steady(1.0, build=5.0, warmup=(14.0, 10.0), inner_calls=10), 1, 19),
        (steady(1.0, build=5.0, warmup=(14.0, 10.0), inner_calls=10), 21, 30),
        (with_slow_calls(20), 100, 345),  # later calls count as they come, slow ones too
    ],
)
def test_the_total_is_building_first_calls_and_later_ones(timing, calls, seconds):
    assert timing.total_time(calls) == pytest.approx(seconds)
