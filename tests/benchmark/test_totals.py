"""What all calls together take: slow calls of one's own, interruptions, prices, totals."""

import pytest
from benchmark_helpers import launched, steady

from d2lhybrid.benchmark.statistics import has_slow_calls
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
    ("own", "other", "expected"),
    [
        ([with_slow_calls(20)], [with_slow_calls(0)], True),
        ([with_slow_calls(0)], [with_slow_calls(20)], False),
        ([with_slow_calls(20)], [with_slow_calls(20)], False),  # the machine
        ([with_slow_calls(3)], [with_slow_calls(0)], False),  # may be by chance
        ([with_slow_calls(3)] * 9, [with_slow_calls(0)] * 9, True),  # in each of 9 launches
        # what runs nine times as long is interrupted nine times as often
        ([with_slow_calls(27, calls=9)], [with_slow_calls(3)], False),
        ([with_slow_calls(27, inner_calls=9)], [with_slow_calls(3)], False),
        ([with_slow_calls(27, seconds=9.0)], [with_slow_calls(3)], False),
        ([with_slow_calls(3, calls=9)], [with_slow_calls(27)], False),
    ],
)
def test_slow_calls_are_ones_own_only_if_the_other_has_fewer(own, other, expected):
    assert has_slow_calls(own, other) is expected


def test_a_candidate_with_slow_calls_is_marked():
    result = launched([{"a": with_slow_calls(0), "b": with_slow_calls(20, seconds=0.5)}])
    b = result["b"]
    assert b.speedup == 2
    assert b.mean_speedup == pytest.approx(2 / (1 + 49 * 20 / 400))
    assert b.slow_calls_of == "b"
    assert "2.000*" in str(result)
    assert (
        "note: * now and then b takes far longer: by all calls together the speed-up is 0.580"
        in str(result).splitlines()
    )


def test_the_baseline_may_be_the_one_with_slow_calls():
    result = launched([{"a": with_slow_calls(20), "b": steady(1.0, 200)}])
    assert result["b"].slow_calls_of == "a"
    assert result["b"].mean_speedup == pytest.approx(1 + 49 * 20 / 400)
    assert result["a"].slow_calls_of == ""


def test_interruptions_that_hit_both_are_not_reported():
    result = launched([{"a": with_slow_calls(20), "b": with_slow_calls(25)}])
    assert result["b"].mean_speedup < 0.9
    assert result["b"].slow_calls_of == ""
    assert "*" not in str(result)


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
