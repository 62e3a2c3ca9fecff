"""Blocks and rounds: how many calls, in which order, and what waits for what. The clock is ours."""

import gc
import inspect
import random
import sys
from contextlib import contextmanager
from itertools import count
from types import SimpleNamespace

import pytest
import torch
from benchmark_helpers import restless

from d2lhybrid import build, compare, frameworks, python_calls
from d2lhybrid.benchmark import comparison, metadata, timing
from d2lhybrid.benchmark.candidates import inner_loops
from d2lhybrid.benchmark.verdict import EQUIVALENT, FASTER, INCONCLUSIVE


def test_whole_time_limit_is_used_for_clear_answers_too(clock):
    result = compare({"a": clock.work(30e-6), "b": clock.work(20e-6)}, clock=clock)
    assert 1 <= result.duration < 1.01
    assert "undecided" not in str(result)
    clock.slow = restless(0.3)
    candidates = {"a": clock.work(30e-6), "b": clock.work(30e-6 / 1.013)}
    result = compare(candidates, clock=clock, time_limit=0.4)
    assert result["b"].verdict == INCONCLUSIVE
    assert 0.4 <= result.duration < 0.41
    assert "undecided: b" in str(result)
    longer = compare(candidates, clock=clock, time_limit=4)
    assert longer.rounds > 2 * result.rounds


def test_block_takes_as_many_calls_as_fit(clock):
    candidates = {"a": clock.work(1e-6), "b": clock.work(1e-4), "c": clock.work(0.02)}
    result = compare(candidates, clock=clock)
    assert [timing.calls for timing in result.timings.values()] == [200, 3, 1]
    close = compare({"a": clock.work(30e-6), "b": clock.work(28e-6)}, clock=clock)
    assert {timing.calls for timing in close.timings.values()} == {10}  # 11 would suit b


def test_block_is_long_beside_a_clock_that_takes_time(clock):
    def reading():  # as where a device has to be waited for
        clock.now += 1e-4
        return clock()

    result = compare({"a": clock.work(130e-6), "b": clock.work(20e-6)}, clock=reading)
    assert result["a"].median == pytest.approx(130e-6, rel=0.06)
    assert result["b"].median == pytest.approx(20e-6, rel=0.06)


def test_block_fits_calls_after_warming_up(clock):
    calls = count()

    def at_first_slow():  # for as many calls as warming up takes
        clock.now += 1e-3 if next(calls) < 20 else 30e-6

    result = compare({"a": clock.work(30e-6), "b": at_first_slow}, clock=clock)
    assert result.timings["b"].calls == 10


def test_long_calls_get_rounds_enough_for_an_interval(clock):
    result = compare({"a": clock.work(2.0), "b": clock.work(1.0)}, clock=clock)
    assert result.rounds == 10
    assert result["b"].verdict == FASTER
    assert result["b"].low == pytest.approx(2)
    assert result.duration == 10 * 2 * (2.0 + 1.0)  # no call untimed: they are long
    assert clock.now == pytest.approx(result.duration + 3 * (2.0 + 1.0))  # to warm up, and no trial


def test_one_round_is_always_measured(clock, monkeypatch):
    @contextmanager
    def stands_still():
        clock.now += 60
        yield

    monkeypatch.setattr(comparison, "no_garbage_collection", stands_still)
    candidates = {"a": clock.work(1e-3), "b": clock.work(1e-3)}
    assert compare(candidates, clock=clock).rounds == 1


def test_order_is_random_within_whole_rounds(clock):
    order = []

    def noting(label):
        work = clock.work(1e-3)

        def run():
            order.append(label)
            work()

        return run

    random.seed(5)
    expected = random.Random(5).random()
    result = compare({"a": noting("a"), "b": noting("b")}, clock=clock, time_limit=8)
    assert random.random() == expected  # the program's own generator was left alone
    calls = order[-8 * result.rounds :: 2]  # each block: one call untimed, one timed
    rounds = list(zip(*[iter(calls)] * 4, strict=True))
    assert {tuple(sorted(labels)) for labels in rounds} == {("a", "a", "b", "b")}
    assert len(set(rounds)) == 6


def test_warm_caches_are_no_advantage(clock):
    # The first call after another function finds cold caches and takes twice as long.
    last = None

    def cached(data):
        def run():
            nonlocal last
            clock.now += 100e-6 if last is data else 200e-6
            last = data

        return run

    result = compare({"a": cached("a"), "b": cached("b")}, clock=clock)
    assert result["b"].speedup == pytest.approx(1)
    assert result["b"].verdict == EQUIVALENT


def test_garbage_collector_is_off_meanwhile(clock):
    seen = []

    def work():
        seen.append(gc.isenabled())
        clock.now += 1e-3

    compare({"a": work, "b": work}, clock=clock)
    assert not any(seen[-100:])
    assert gc.isenabled()


def test_clock_waits_for_devices(clock):
    queue = []

    def on_device(seconds):
        return lambda: queue.append(seconds)

    def device_clock():  # waits, and then reads
        clock.now += sum(queue)
        queue.clear()
        return clock()

    candidates = {"a": on_device(30e-6), "b": on_device(20e-6)}
    candidates["c"] = build(lambda: queue.append(2.0) or on_device(20e-6))
    result = compare(candidates, clock=device_clock)
    assert result["b"].speedup == pytest.approx(1.5)
    assert result["a"].median == pytest.approx(30e-6)
    assert result.timings["c"].build == pytest.approx(2.0)
    assert all(time == pytest.approx(30e-6) for time in result.timings["a"].warmup)


def test_default_clock_synchronizes_first(monkeypatch):
    seen = []
    monkeypatch.setattr(frameworks, "synchronize", lambda: seen.append("wait"))
    monkeypatch.setattr(timing, "perf_counter", lambda: seen.append("read"))
    inspect.signature(compare).parameters["clock"].default()
    assert seen == ["wait", "read"]


def test_repeated_calls_share_the_time(clock):
    many = inner_loops(clock.work(16e-3), 16)
    for loop in (many, build(lambda: many)):
        result = compare({"one": clock.work(1e-3), "loop": loop}, clock=clock)
        assert result["loop"].median == pytest.approx(1e-3)
        assert result["loop"].verdict == EQUIVALENT


def test_build_cost_of_repeated_calls_is_in_seconds(clock):
    first = iter([1.0])

    def run():
        clock.now += next(first, 16e-3)

    loop = build(lambda: inner_loops(run, 16))
    result = compare({"one": clock.work(2e-3), "loop": loop}, clock=clock)
    assert result["loop"].build_cost == pytest.approx(1.0 - 16e-3)
    assert result["loop"].break_even == pytest.approx((1.0 - 16e-3) / 1e-3, abs=1)


def test_process_is_cold_at_the_first_build_of_a_kind(clock, monkeypatch):
    monkeypatch.setattr(metadata, "_built", set())

    class Compiled:
        def __call__(self):
            clock.now += 1e-3

    candidates = {"a": clock.work(1e-3), "b": build(Compiled), "c": build(Compiled)}
    candidates["d"] = build(lambda: clock.work(1e-3))
    candidates["e"] = build(lambda: lambda: candidates["a"]())  # another function
    result = compare(candidates, clock=clock)
    said = [r.build_state for r in result.values()]
    assert said == ["", "cold process", "warm process", "cold process", "cold process"]
    assert compare(candidates, clock=clock)["d"].build_state == "warm process"


def test_cache_is_cold_if_the_compiler_missed_it(clock, monkeypatch):
    stats, inductor = {"unique_graphs": 2}, {"fxgraph_cache_hit": 3, "fxgraph_cache_miss": 5}
    dynamo = SimpleNamespace(
        counters={"frames": {"total": 1}, "stats": stats, "inductor": inductor}
    )
    monkeypatch.setitem(sys.modules, torch.__name__, torch)  # only what is loaded is asked
    monkeypatch.setitem(sys.modules, "torch._dynamo.utils", dynamo)
    monkeypatch.setattr(metadata, "_built", set())

    def compiling(counter):
        def make():
            stats["unique_graphs"] += 1
            inductor[counter] += 1
            return clock.work(1e-3)

        return build(make)

    candidates = {"a": clock.work(1e-3), "b": compiling("fxgraph_cache_miss")}
    candidates["c"] = compiling("fxgraph_cache_hit")
    said = [r.build_state for r in compare(candidates, clock=clock).values()]
    assert said == ["", "cold process, cold cache", "warm process, warm cache"]


def test_first_calls_are_enough_and_not_too_long(clock):
    def calls(seconds, first_calls):
        runner = timing.Runner("a", clock.work(seconds), (), clock)
        runner.warm_up(first_calls)
        return len(runner.warmup)

    assert calls(1e-3, 0) == calls(1e-3, 10) == 20
    assert calls(1e-3, 100) == 100
    assert calls(1 / 8, 100) == 8
    assert calls(9.0, 100) == calls(9.0, 0) == 3


@pytest.mark.parametrize(("shapes", "warmup"), [(1, 4), (8, 11), (99, 20)])
def test_warming_up_goes_on_while_calls_still_compile(clock, monkeypatch, shapes, warmup):
    seen, calls = set(), count()
    monkeypatch.setattr(frameworks, "compilations", lambda: (len(seen), 0, 0, 0))

    def run():
        shape = next(calls) % shapes
        clock.now += 0.1 if shape in seen else 0.5
        seen.add(shape)

    runner = timing.Runner("a", None, (), clock, lambda: run)
    runner.warm_up()
    assert len(runner.warmup) == warmup  # compiled calls are part of the build cost
    assert sum(runner.warmup) == pytest.approx(0.1 * warmup + 0.4 * min(shapes, warmup))


# Calls of Python, counted


def inner(x):
    return x


def outer(x, y):
    return inner(x) + inner(y)


def test_python_calls_counts_functions_of_python():
    assert python_calls(outer, 1, 2) == 3
    assert python_calls(abs, -1) == 0


def test_python_calls_leaves_out_first_calls():
    calls = []

    def learns():
        calls.append(1)
        if len(calls) < 3:
            outer(1, 2)

    assert python_calls(learns) == 1
    assert len(calls) == 4


def test_python_calls_restores_the_profiler():
    before = sys.getprofile()
    with pytest.raises(TypeError):
        python_calls(outer, 1)
    assert sys.getprofile() is before
