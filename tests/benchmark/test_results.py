"""Several processes: their interval, the spread within and between them, build costs and totals."""

from dataclasses import fields, replace
from math import e, inf, sqrt
from statistics import median

import pytest
from benchmark_helpers import several_processes, steady

from d2lhybrid import Comparison
from d2lhybrid.benchmark.timing import Measurement
from d2lhybrid.benchmark.verdict import FASTER, INCONCLUSIVE, SLOWER

SPEEDUPS = [1.25, 1.0, 4.0, 2.0, 1.6, 5.0, 8.0, 2.5, 10.0]  # sorted: 1 1.25 1.6 2 2.5 4 5 8 10


def with_speedups(speedups, others=("b",), **more):
    return several_processes(
        [{"a": steady(1.0)} | {label: steady(1 / s, **more) for label in others} for s in speedups]
    )


@pytest.mark.parametrize(
    ("speedups", "others", "low", "speedup", "high"),
    [
        (SPEEDUPS, "b", 1.25, 2.5, 8.0),  # 9 processes: all but the extremes
        (SPEEDUPS, "bc", 1.0, 2.5, 10.0),  # two candidates: each interval is wider
        (SPEEDUPS[:6], "b", 1.0, 1.8, 5.0),  # 6 processes: from the least to the most
        (SPEEDUPS[:5], "b", 0.0, 1.6, inf),  # an interrupted run: too few
    ],
)
def test_interval_of_several_processes(speedups, others, low, speedup, high):
    result = with_speedups(speedups, others)["b"]
    assert result.low == pytest.approx(low)
    assert result.speedup == pytest.approx(speedup, rel=0.01)
    assert result.high == pytest.approx(high)
    assert result.independent_rounds == len(speedups)


def test_one_outlier_changes_no_verdict():
    assert with_speedups([1.2] * 8 + [0.5])["b"].verdict == FASTER
    assert with_speedups([0.8] * 8 + [2.0])["b"].verdict == SLOWER
    assert with_speedups([1.2] * 7 + [0.5] * 2)["b"].verdict == INCONCLUSIVE


def with_log_speedups(logs):
    """A timing whose speed-ups over one of 1 s have these logarithms."""
    times = tuple(e**-value for value in logs)
    return Measurement(times, times, calls=1, warmup=())


def test_spread_within_and_between_processes():
    rounds = [-0.03, -0.02, -0.01, 0.01, 0.02, 0.03]
    within = several_processes([{"a": steady(1.0), "b": with_log_speedups(rounds)}] * 6)["b"]
    assert within.spread_within == pytest.approx(0.03)
    assert within.spread_between == pytest.approx(0)
    different = [{"a": steady(1.0), "b": with_log_speedups([value] * 6)} for value in rounds]
    between = several_processes(different)["b"]
    assert between.spread_within == pytest.approx(0)
    assert between.spread_between == pytest.approx(2 * 0.01 * sqrt(28 / 5))
    text = str(several_processes(different))
    assert "b spreads by 0.0% within a process, and by 4.7% between processes" in text


def test_noise_floor_of_several_processes():
    def base(ratio, rounds):
        return Measurement((1.0,) * rounds, (ratio,) * rounds, calls=1, warmup=())

    def floor(ratios, rounds):
        processes = [{"a": base(ratio, rounds), "b": base(ratio, rounds)} for ratio in ratios]
        return several_processes(processes).noise_floor

    assert floor([1.0, 1.05, 1 / 1.05] * 2, rounds=1) == pytest.approx(0.05)
    assert floor([14.4, *[1.0, 1.02, 1 / 1.02] * 2][:6], rounds=1) == pytest.approx(0.02)
    assert floor([1.0], rounds=1) == inf


def test_hopeless_candidate_is_in_the_first_rounds_only():
    slow = [{"a": steady(1.0, 40), "b": steady(0.5, 40), "c": steady(30.0, 1)}] * 7
    found = several_processes(slow)
    assert (found.rounds, found["b"].verdict, found["c"].verdict) == (280, FASTER, SLOWER)
    assert found["c"].high == pytest.approx(1 / 30)


def with_build_costs(costs, base=0.0, **more):
    """A call of b saves one second of two."""
    built = [{"a": steady(2.0, build=base), "b": steady(1.0, build=c)} for c in costs]
    return several_processes(built, **more)


def test_break_even_has_an_interval():
    result = with_build_costs([50.0, 10.0, 80.0, 30.0, 20.5, 60.0, 70.0, 90.0, 40.0])
    b = result["b"]
    assert (b.break_even_low, b.break_even, b.break_even_high) == (21, 50, 80)
    assert b.build_cost == 50
    row = next(line for line in str(result).splitlines() if "50.00 s" in line)
    assert " ".join(row.split()) == "b in a cold process 50.00 s 50 calls 21 to 80"


@pytest.mark.parametrize(("base", "ends"), [(20.0, (1, 30, 60)), (95.0, (0, 0, 0))])
def test_break_even_counts_what_building_costs_more_than_with_the_baseline(base, ends):
    result = with_build_costs([50.0, 10.0, 80.0, 30.0, 20.5, 60.0, 70.0, 90.0, 40.0], base)
    b = result["b"]
    assert (b.break_even_low, b.break_even, b.break_even_high) == ends
    assert b.build_cost == 50
    assert ("at once" in str(result)) == (base > 90)


def test_only_what_is_faster_breaks_even():
    slower = several_processes([{"a": steady(1.0), "b": steady(2.0, build=3.0)}] * 9)
    assert slower["b"].break_even is None
    assert "never" in str(slower)
    unclear = with_speedups([1.2] * 7 + [0.5] * 2, build=3.0)
    assert unclear["b"].break_even is None
    assert "no clear gain" in str(unclear)


@pytest.mark.parametrize(
    ("speedups", "more", "said"),
    [
        (
            [1.25] * 9,
            {"build": 50.0},
            "net (fast) ran it 1.25 times as fast (95% CI 1.25 to 1.25) as b, and compiling it "
            "pays off after about 250 calls.",
        ),
        ([1.25] * 9, {"build": 0.0}, "as b, and compiling it pays off at once."),
        ([1.25] * 9, {}, "net (fast) ran it 1.25 times as fast (95% CI 1.25 to 1.25) as b."),
        ([0.5] * 9, {"build": 50.0}, "net (fast) ran it no faster than b: 0.50 times as fast"),
        ([1.0] * 9, {}, "ran it no faster than b: 1.00 times as fast (95% CI 1.00 to 1.00)."),
        (
            [1.25] * 5,
            {"build": 50.0},
            "this run cannot tell whether net (fast) ran it faster than b: 1.25 times as fast.",
        ),
    ],
)
def test_sentence_to_take_home(speedups, more, said):
    timings = [{"b": steady(1.0), "net, fast": steady(1 / s, **more)} for s in speedups]
    found = several_processes(timings)
    found = replace(found, machine=found.machine | {"processor": "an i7", "cores": 2})
    sentence = found.sentence()
    assert max(map(len, sentence.splitlines())) <= 88
    text = sentence.replace("\n", " ")
    assert text.startswith("On my machine (an i7, 2 cores), ")
    assert said in text
    assert text.endswith(".")


def test_sentence_is_about_the_fastest_that_is_sure_or_a_named_one():
    times = {"a": 1.0, "b": 0.8, "c": 0.5}
    processes = [{k: steady(t) for k, t in times.items()} for _ in range(9)]
    wild = [one | {"d": steady(t)} for one, t in zip(processes, [0.1] * 6 + [3] * 3, strict=True)]
    found = several_processes(wild)
    assert found["d"].speedup > found["c"].speedup
    assert "c ran the net 2.00 times" in found.sentence(what="the net").replace("\n", " ")
    assert "b ran it 1.25 times" in found.sentence("b").replace("\n", " ")


@pytest.mark.parametrize(
    ("calls", "speedup", "verdict"), [(1, 2 / 11, SLOWER), (10, 1, INCONCLUSIVE), (90, 1.8, FASTER)]
)
def test_total_is_judged_with_the_building(calls, speedup, verdict):
    costs = (
        [10.0] * 9 if verdict != INCONCLUSIVE else [8.0, 9.0, 10.0, 10.0, 10.0, 10.0, 11.0, 12.0]
    )
    result = with_build_costs(costs, calls=calls)
    total = result["b"].total
    assert result["b"].verdict == FASTER
    assert total.speedup == pytest.approx(speedup)
    assert total.verdict == verdict
    assert total.time == pytest.approx(10 + calls)
    assert f"{calls} calls" in str(result)
    assert result["a"].total.time == 2 * calls


# Among some of the candidates


def times(*first):
    """A timing whose second blocks take one per cent longer for each round."""
    second = [seconds * 1.01**n for n, seconds in enumerate(first)]
    return Measurement(first, tuple(second), calls=1, warmup=())


@pytest.fixture
def three():
    return several_processes(
        [
            {
                "a": times(3.0, 3.1, 2.9, 3.0, 3.3, 2.7, 3.2),
                "b": steady(2.0, rounds=7),
                "c": times(1.0, 1.2, 1.1, 0.9, 1.3, 1.4, 0.8),
            }
        ]
    )


@pytest.mark.parametrize(("labels", "label"), [("ca", "a"), ("cb", "b"), ("bca", "a")])
def test_select_takes_any_baseline(three, labels, label):
    base, own = three.timings[labels[0]], three.timings[label]
    rounds = zip(base.block_a, base.block_b, own.block_a, own.block_b, strict=True)
    wanted = median(sqrt(a * b / (c * d)) for a, b, c, d in rounds)
    assert three.select(labels)[label].speedup == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("labels", "error", "low", "high"),
    [("ab", 0.04, 1.25, 8.0), ("abab", 0.04, 1.25, 8.0), ("abc", 0.02, 1.0, 10.0)],
)
def test_select_of_fewer_narrows_the_interval(labels, error, low, high):
    selected = with_speedups(SPEEDUPS, others="bcdef").select(labels)
    assert selected.alpha == pytest.approx(error)
    assert selected["b"].low == pytest.approx(low)
    assert selected["b"].high == pytest.approx(high)


def test_select_has_the_noise_floor_of_its_baseline(three):
    assert three.select("ba").noise_floor == 0
    assert three.select("cb").noise_floor == pytest.approx(1.01**6 - 1)


def test_select_changes_nothing_else():
    result = with_build_costs([10.0, 20.0, 30.0, 40.0, 50.0, 60.0], calls=20)
    selected = result.select("ba")
    assert (selected.baseline, list(selected)) == ("b", ["b", "a"])
    others = {field.name for field in fields(Comparison)} - {"baseline"}
    assert all(getattr(selected, name) == getattr(result, name) for name in others)
    assert selected["a"].speedup == pytest.approx(0.5)
    assert selected["a"].verdict == SLOWER
    assert selected["a"].low == 1 / result["b"].high
    assert list(result) == ["a", "b"]


@pytest.mark.parametrize(
    ("labels", "error"), [("az", KeyError), ("a", ValueError), ("", ValueError)]
)
def test_select_needs_two_known_labels(three, labels, error):
    with pytest.raises(error):
        three.select(labels)


# Costs of building, and totals


def with_hiccups(count, seconds=1.0, rounds=200, **more):
    """A timing of which so many blocks, spread over all rounds, take 50 times as long."""
    first = [seconds] * rounds
    for i in range(count):
        first[i * rounds // count] *= 50
    return Measurement(tuple(first), (seconds,) * rounds, **{"calls": 1, "warmup": ()} | more)


def test_single_calls_are_blocks_of_one_call_or_were_timed_apart():
    single = {"single": (3.0,), "warmup": ()}
    assert Measurement((1.0,), (2.0,), calls=1, **single).single_calls == (1.0, 2.0)
    assert Measurement((1.0,), (2.0,), calls=2, **single).single_calls == (3.0,)
    assert Measurement((1.0,), (2.0,), calls=1, inner_calls=2, **single).single_calls == (3.0,)


@pytest.mark.parametrize(
    ("timing", "seconds"),
    [
        (steady(1.0), 0),
        (steady(1.0, build=5.0), 5),
        (steady(1.0, build=5.0, warmup=(4.0, 1.0, 1.0)), 8),
        (steady(1.0, build=0.5, warmup=(0.5, 0.2)), 0),  # quicker at first: no cost
        (steady(1.0, build=5.0, warmup=(14.0, 10.0), inner_calls=10), 9),
    ],
)
def test_build_cost_is_building_and_the_surplus_of_first_calls(timing, seconds):
    assert timing.build_cost == pytest.approx(seconds)


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
        (with_hiccups(20), 100, 345),  # later calls count as they come, slow ones too
    ],
)
def test_total_time_is_building_first_calls_and_later_ones(timing, calls, seconds):
    assert timing.total_time(calls) == pytest.approx(seconds)
