"""compare, sweep and what they conclude. The clock is ours: no test depends on the machine."""

import gc
import io
import json
import random
import re
import subprocess
import sys
from itertools import count
from math import comb, inf, log
from pathlib import Path
from types import SimpleNamespace

import numpy
import pytest
import torch

from d2lhybrid import stopwatch
from d2lhybrid.comparison import CandidateError, compare, recipe
from d2lhybrid.machine import describe_machine, machine_line
from d2lhybrid.stopwatch import repeated
from d2lhybrid.sweeps import Crossing, Sweep, sweep
from d2lhybrid.tables import as_markdown, as_text, seconds
from d2lhybrid.verdict import (
    ERROR,
    FASTER,
    LOOKS,
    SLOWER,
    UNCLEAR,
    Comparison,
    Timing,
    interval,
    judge,
    rank,
)


class Clock:
    """A clock that moves when somebody works, and as fast as the machine is `slow`."""

    def __init__(self):
        self.now = 0.0
        self.slow = lambda now: 1.0

    def __call__(self):
        return self.now

    def work(self, seconds, result=None):
        """A function that takes so many seconds."""

        def run(*args):
            self.now += seconds * self.slow(self.now)
            return result

        return run


@pytest.fixture
def clock():
    return Clock()


def restless(scatter):
    """A machine whose every call takes longer or shorter by chance."""
    chance = random.Random(1)
    return lambda now: chance.lognormvariate(0, scatter)


# The statistics -----------------------------------------------------------------------------

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


# Verdicts -----------------------------------------------------------------------------------

SPEEDS = [
    (20e-6, FASTER, 1.5),
    (29e-6, FASTER, 30 / 29),
    (29.9e-6, UNCLEAR, 30 / 29.9),
    (30e-6, UNCLEAR, 1.0),
    (30.2e-6, UNCLEAR, 30 / 30.2),
    (31e-6, SLOWER, 30 / 31),
    (3.0, SLOWER, 1e-5),
]


@pytest.mark.parametrize(("other", "verdict", "speedup"), SPEEDS)
@pytest.mark.parametrize("scatter", [0.0, 0.02])
def test_verdict_and_speedup(clock, other, verdict, speedup, scatter):
    clock.slow = restless(scatter) if scatter else clock.slow
    result = compare({"a": clock.work(30e-6), "b": clock.work(other)}, clock=clock)
    r = result["b"]
    assert r.verdict == verdict
    assert r.low <= r.speedup <= r.high
    assert r.speedup == pytest.approx(speedup, rel=0.02 if other > 1 else 0.005)
    assert r.median == pytest.approx(other, rel=0.02)
    assert result["a"].verdict == UNCLEAR
    assert result["a"].speedup == 1


def test_the_baseline_can_be_any_of_them(clock):
    candidates = {"a": clock.work(20e-6), "b": clock.work(30e-6), "c": clock.work(60e-6)}
    result = compare(candidates, clock=clock, baseline="b")
    assert [r.label for r in result] == ["a", "b", "c"]
    assert [r.verdict for r in result] == [FASTER, UNCLEAR, SLOWER]


def test_a_machine_that_becomes_slower_does_not_matter(clock):
    clock.slow = lambda now: 1 + 3 * now  # the clock rate falls all the time
    result = compare({"a": clock.work(30e-6), "b": clock.work(29e-6)}, clock=clock)
    assert result["b"].verdict == FASTER
    assert result["b"].speedup == pytest.approx(30 / 29, rel=0.005)
    assert result.noise_floor < 0.005


def test_whoever_runs_behind_itself_gains_nothing(clock):
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
    assert result["b"].verdict == UNCLEAR


def test_noise_floor_is_what_the_control_shows():
    machine = describe_machine()
    for control, verdict in [(1.0, FASTER), (1.05, UNCLEAR), (0.95, UNCLEAR)]:
        a = Timing((1.0,) * 200, (control,) * 200, 1, ())
        b = Timing((0.97 * control**0.5,) * 200, (0.97 * control**0.5,) * 200, 1, ())
        result = Comparison("a", {"a": a, "b": b}, 0.01, 1.0, True, machine)
        assert result["b"].speedup == pytest.approx(1 / 0.97)
        off = max(control, 1 / control)
        assert result.noise_floor == pytest.approx(off - 1)
        assert result.grey_zone == pytest.approx(off * 1.01)
        assert result["b"].verdict == verdict


# Rounds -------------------------------------------------------------------------------------


def test_a_clear_answer_ends_at_the_first_look(clock):
    result = compare({"a": clock.work(30e-6), "b": clock.work(20e-6)}, clock=clock)
    assert LOOKS[0] <= result.took < 1.1 * LOOKS[0]
    assert not result["b"].open


def test_rounds_are_added_while_the_answer_is_open_and_no_longer(clock):
    clock.slow = restless(0.3)
    candidates = {"a": clock.work(30e-6), "b": clock.work(30e-6 / 1.013)}
    result = compare(candidates, clock=clock, time_limit=0.4)
    assert result["b"].open
    assert result["b"].verdict == UNCLEAR
    assert 0.4 <= result.took < 0.41
    assert "still open" in str(result)
    longer = compare(candidates, clock=clock, time_limit=4)
    assert longer.rounds > 2 * result.rounds


def test_a_block_fits_the_call(clock):
    candidates = {"a": clock.work(1e-6), "b": clock.work(1e-4), "c": clock.work(0.02)}
    result = compare(candidates, clock=clock)
    assert [timing.calls for timing in result.timings.values()] == [200, 3, 1]
    close = compare({"a": clock.work(30e-6), "b": clock.work(28e-6)}, clock=clock)
    assert {timing.calls for timing in close.timings.values()} == {10}  # 11 would suit b


def test_a_block_fits_the_call_as_it_becomes(clock):
    calls = count()

    def at_first_slow():  # for as many calls as warming up takes
        clock.now += 1e-3 if next(calls) < 20 else 30e-6

    result = compare({"a": clock.work(30e-6), "b": at_first_slow}, clock=clock)
    assert result.timings["b"].calls == 10


def test_slow_calls_get_rounds_enough_for_an_interval(clock):
    result = compare({"a": clock.work(2.0), "b": clock.work(1.0)}, clock=clock)
    assert result.rounds == 10
    assert result["b"].verdict == FASTER
    assert result["b"].low == pytest.approx(2)
    assert result.took == 10 * 2 * (2.0 + 1.0)  # no call untimed: they are long
    assert clock.now == pytest.approx(result.took + 4 * (2.0 + 1.0))  # to warm up, and to try


def test_the_order_is_random_and_every_round_is_whole(clock):
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
    rounds = list(zip(*[iter(calls)] * 4))
    assert {tuple(sorted(one)) for one in rounds} == {("a", "a", "b", "b")}
    assert len(set(rounds)) == 6


def test_the_garbage_collector_rests_meanwhile_and_comes_back(clock):
    seen = []

    def work():
        seen.append(gc.isenabled())
        clock.now += 1e-3

    compare({"a": work, "b": work}, clock=clock)
    assert not any(seen[-100:])
    assert gc.isenabled()


def test_waits_for_a_device_before_the_clock_is_read(clock):
    queue = []

    def on_device(seconds):
        return lambda: queue.append(seconds)

    def synchronize():
        clock.now += sum(queue)
        queue.clear()

    candidates = {"a": on_device(30e-6), "b": on_device(20e-6)}
    candidates["c"] = recipe(lambda: queue.append(2.0) or on_device(20e-6))
    result = compare(candidates, clock=clock, synchronize=synchronize)
    assert result["b"].speedup == pytest.approx(1.5)
    assert result["a"].median == pytest.approx(30e-6)
    assert result.timings["c"].build == pytest.approx(2.0)
    assert all(time == pytest.approx(30e-6) for time in result.timings["a"].warmup)


@pytest.mark.parametrize("last_call", range(290, 302))
def test_an_interrupt_gives_what_there_is(clock, last_call):
    calls = count()

    def interrupted():
        if next(calls) == last_call:
            raise KeyboardInterrupt
        clock.now += 1e-3

    result = compare({"a": clock.work(1e-3), "b": interrupted}, clock=clock, time_limit=9)
    assert not result.complete
    rounds = result.rounds
    assert 60 < rounds < 75
    for timing in result.timings.values():
        assert len(timing.first) == len(timing.second) == rounds  # whole ones
    assert "interrupted" in str(result)
    assert gc.isenabled()


@pytest.mark.parametrize("last_call", [0, 10, 20, 26, 29])  # in warming up, then in a round
def test_an_interrupt_before_the_first_round_is_passed_on(clock, last_call):
    calls = count()

    def interrupted():
        if next(calls) == last_call:
            raise KeyboardInterrupt
        clock.now += 3e-3

    with pytest.raises(KeyboardInterrupt):
        compare({"a": clock.work(3e-3), "b": interrupted}, clock=clock)


# The price ----------------------------------------------------------------------------------


def built(clock, building, *first_calls, then):
    """A recipe: so many seconds to build, then the first calls, then every other call."""

    def build():
        clock.now += building
        times = iter(first_calls)

        def run():
            clock.now += next(times, then)

        return run

    return recipe(build)


# building, first calls, a later call, price, calls until it pays (the baseline takes 1 ms)
PRICES = [
    (2.0, [1.0, 0.1], 0.5e-3, 3.099, 6198),
    (0.0, [0.5e-3], 0.5e-3, 0.0, 0),
    (0.0, [0.1e-3], 0.5e-3, 0.0, 0),  # a price below nothing would be no price
    (0.0, [1.0005e-3], 0.5e-3, 0.5005e-3, 2),
    (2.0, [1.0], 2e-3, 2.998, None),  # slower: it never pays
    (2.0, [1.0], 1e-3, 2.999, None),  # no clear difference: who knows
]


@pytest.mark.parametrize(("building", "first_calls", "then", "price", "break_even"), PRICES)
def test_price_and_break_even(clock, building, first_calls, then, price, break_even):
    candidate = built(clock, building, *first_calls, then=then)
    result = compare({"a": clock.work(1e-3), "b": candidate}, clock=clock)
    assert result["b"].price == pytest.approx(price, abs=1e-6)
    assert result["b"].break_even == (break_even and pytest.approx(break_even, abs=1))
    assert result["a"].price is None
    assert result["a"].break_even is None


def test_whether_the_process_was_cold(clock, monkeypatch):
    monkeypatch.setattr(stopwatch, "_kinds_built", set())

    class Compiled:
        def __call__(self):
            clock.now += 1e-3

    candidates = {"a": clock.work(1e-3), "b": recipe(Compiled), "c": recipe(Compiled)}
    candidates["d"] = recipe(lambda: clock.work(1e-3))
    candidates["e"] = recipe(lambda: lambda: candidates["a"]())  # another function
    result = compare(candidates, clock=clock)
    said = [r.built_in for r in result]
    assert said == ["", "cold process", "warm process", "cold process", "cold process"]
    assert compare(candidates, clock=clock)["d"].built_in == "warm process"


def test_whether_the_compilers_cache_was_cold(clock, monkeypatch):
    stats, inductor = {"unique_graphs": 2}, {"fxgraph_cache_hit": 3, "fxgraph_cache_miss": 5}
    dynamo = SimpleNamespace(counters={"stats": stats, "inductor": inductor})
    monkeypatch.setitem(sys.modules, "torch._dynamo.utils", dynamo)
    monkeypatch.setattr(stopwatch, "_kinds_built", set())

    def compiling(counter):
        def build():
            stats["unique_graphs"] += 1
            inductor[counter] += 1
            return clock.work(1e-3)

        return recipe(build)

    candidates = {"a": clock.work(1e-3), "b": compiling("fxgraph_cache_miss")}
    candidates["c"] = compiling("fxgraph_cache_hit")
    said = [r.built_in for r in compare(candidates, clock=clock)]
    assert said == ["", "cold process, cold cache", "warm process, warm cache"]


# Bad input ----------------------------------------------------------------------------------


def two(clock, **others):
    return {"a": clock.work(1e-3, 1.0), "b": clock.work(1e-3, 1.0)} | others


def fails():
    raise ZeroDivisionError("by zero")


def works_until(clock, end):
    def run():
        clock.now += 1e-3 if clock.now < end else 0

    return run


def cycle():
    ring = []
    ring.append(ring)
    return ring


def sparse():
    return torch.eye(2).to_sparse()


def returning(clock, make):
    """Two candidates that return what `make` makes, each its own."""
    return {"a": clock.work(1e-3, make()), "b": clock.work(1e-3, make())}


# what is asked of compare, the error, what its message must name
BAD = [
    (lambda c: compare([fails, fails]), TypeError, "a dict from labels to callables, not"),
    (lambda c: compare({}), ValueError, "at least two candidates, got 0: none"),
    (lambda c: compare({"a": fails}), ValueError, "at least two candidates, got 1: 'a'"),
    (lambda c: compare({"a": fails, "b": 3}), TypeError, "'b' must be callable or a recipe, not 3"),
    (lambda c: compare({"a": fails, 2: fails}), TypeError, "a label must be a string, and 2"),
    (lambda c: compare(two(c), baseline="x"), ValueError, "'x' is none of 'a', 'b'"),
    (lambda c: compare(two(c), min_effect=1), ValueError, "cannot be 1"),
    (lambda c: compare(two(c), min_effect=-0.1), ValueError, "cannot be -0.1"),
    (lambda c: compare(two(c), time_limit=0), ValueError, "in seconds, above 0"),
    (lambda c: compare(two(c, x=fails), time_limit=inf), ValueError, "finite, and cannot be inf"),
    (lambda c: repeated(fails, 0), ValueError, "a whole number of calls, 1 or more, not 0"),
    (lambda c: repeated(fails, -1), ValueError, "1 or more, not -1"),
    (lambda c: repeated(fails, 1.5), ValueError, "1 or more, not 1.5"),
    (lambda c: repeated(3, 16), TypeError, "repeated needs a function, and got 3"),
    (lambda c: recipe(3), TypeError, "recipe needs a function that builds, and got 3"),
    (
        lambda c: compare(two(c, x=recipe(lambda: 3)), clock=c),
        TypeError,
        "the recipe of 'x' built 3, which is not callable",
    ),
    (
        lambda c: compare(two(c, x=fails), clock=c),
        CandidateError,
        "candidate 'x' raised ZeroDivisionError: by zero",
    ),
    (
        lambda c: compare(two(c, x=recipe(fails)), clock=c),
        CandidateError,
        "candidate 'x' raised ZeroDivisionError: by zero",
    ),
    (
        lambda c: compare(two(c, x=lambda: 1.0), clock=c),
        ValueError,
        "the clock sees no time pass in .* calls of 'x'",
    ),
    (
        lambda c: compare(two(c, x=works_until(c, 0.15)), clock=c, check=False),
        ValueError,
        "the clock sees no time pass in 1 calls of 'x'",
    ),
    (
        lambda c: compare(two(c, x=c.work(1e-3, 1.25)), clock=c),
        ValueError,
        "'x' does not return what 'a' returns: the largest difference is 0.25, and",
    ),
    (
        lambda c: compare(returning(c, cycle), clock=c),
        TypeError,
        r"'b' and 'a' return cannot be compared \(RecursionError: .*\); check=False compares",
    ),
    (
        lambda c: compare(returning(c, sparse), clock=c),
        TypeError,
        r"'b' and 'a' return cannot be compared \(TypeError: .*Sparse.*\); check=False compares",
    ),
    (lambda c: compare(two(c), clock=c)["x"], KeyError, "'x' is none of 'a', 'b'"),
    (lambda c: sweep(two(c), 3, [1]), TypeError, "a function from a size to arguments, not 3"),
    (lambda c: sweep(two(c), abs, []), ValueError, "one at least"),
    (lambda c: sweep(two(c), abs, [1, 0]), ValueError, "numbers above 0"),
    (lambda c: sweep(two(c), abs, ["1"]), ValueError, "numbers above 0"),
]


@pytest.mark.parametrize(("ask", "error", "message"), BAD)
def test_bad_input_gets_a_clear_error(clock, ask, error, message):
    with pytest.raises(error, match=message):
        ask(clock)


def test_a_candidate_that_raises_keeps_its_error(clock):
    calls = count()

    def fails_later(x):
        if next(calls) == 60:
            raise ZeroDivisionError
        clock.now += 1e-3

    with pytest.raises(CandidateError) as caught:
        compare({"a": clock.work(1e-3), "late": fails_later}, 1, clock=clock)
    assert caught.value.label == "late"
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert gc.isenabled()


def test_check_can_be_switched_off_or_widened(clock):
    candidates = {"a": clock.work(1e-3, 1.0), "b": clock.work(1e-3, 1.2)}
    assert compare(candidates, clock=clock, check=False)["b"].verdict == UNCLEAR
    assert compare(candidates, clock=clock, check=0.5)["b"].verdict == UNCLEAR
    with pytest.raises(ValueError, match=r"0\.12 is allowed"):
        compare(candidates, clock=clock, check=0.1)


# Showing ------------------------------------------------------------------------------------


def example(clock, speed=1.0, scatter=0.0, **options):
    clock.slow = restless(scatter) if scatter else clock.slow
    candidates = {"eager": clock.work(30e-6 * speed), "same": clock.work(30e-6 * speed)}
    candidates["compiled"] = built(clock, 2.0 * speed, 0.1, then=20e-6)
    return compare(candidates, clock=clock, **options)


def test_as_dict_and_back(clock):
    result = example(clock, scatter=0.05)
    assert Comparison.from_dict(json.loads(json.dumps(result.to_dict()))) == result
    swept = Sweep({1: result, 8: result})
    assert Sweep.from_dict(json.loads(json.dumps(swept.to_dict()))) == swept


def test_text_has_one_line_each_and_fixed_columns(clock):
    text = str(example(clock))
    assert text == repr(example(Clock()))
    head, eager, same, compiled, noise, made, machine = text.splitlines()
    assert same.endswith("1.000    1.000 to 1.000  no clear difference")
    assert eager.split() == ["eager", "30.00", "µs", "baseline"]
    assert compiled.split()[4:6] == ["1.500", "to"]
    for title, cell in [("time a call", "30.00 µs"), ("verdict", "no clear difference")]:
        line = next(line for line in (eager, same) if cell in line)
        assert head.index(title) + len(title) == line.index(cell) + len(cell)
    assert noise.startswith("noise floor 0.0%, ")
    assert made == "built: compiled in a cold process" or "warm process" in made
    assert machine.startswith("measured on: ")


def test_markdown_and_html_hold_what_the_text_holds(clock):
    result = example(clock)
    markdown, html = result.to_markdown(), result._repr_html_()
    for r in result:
        for shown in (r.label, seconds(r.median)):
            assert shown in markdown
            assert shown in html
    assert len({line.count("|") for line in markdown.splitlines()[:5]}) == 1
    assert "faster" in markdown
    assert "faster" in html
    assert as_markdown(["", "a"], [["x|y", "1"]]).splitlines()[2] == "| x\\|y | 1 |"
    label = "<script>"
    result = compare({label: clock.work(1e-3), "b": clock.work(1e-3)}, clock=clock)
    assert label not in result._repr_html_()


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (None, ""),
        (0, "0.000 s"),
        (3.21e-5, "32.10 µs"),
        (0.0123456, "12.35 ms"),
        (2.5e-9, "2.500 ns"),
        (1e-10, "0.1000 ns"),
        (17, "17.00 s"),
    ],
)
def test_seconds(time, text):
    assert seconds(time) == text


def test_a_long_figure_moves_no_other_line():
    header = ["", " 1234"]
    short, long = as_text(header, [["a", "1"]]), as_text(header, [["a", "1"], ["b", "1234567"]])
    assert long.startswith(short)


def test_pictures_show_labels_verdicts_and_crossings(clock):
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    result = example(clock)
    ax = result.plot()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["same", "compiled"]
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["1.00  no clear difference", "1.50  faster"]
    ax = crossing_sweep(clock).plot()
    assert "22.6" in [text.get_text() for text in ax.texts]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["b"]
    few = result.to_dict()
    for timing in few["timings"].values():
        timing.update(first=timing["first"][:3], second=timing["second"][:3])
    few = Comparison.from_dict(few)
    few.plot().figure.canvas.draw()  # an interval without bounds can be drawn too
    plt.close("all")


# Sizes --------------------------------------------------------------------------------------


def crossing_sweep(clock, **options):
    """b takes twice as long for size 1 to 16, then half as long from 32 on."""

    def a(n):
        clock.now += n * 1e-5

    def b(n):
        clock.now += n * 1e-5 * (2 if n <= 16 else 0.5)

    return sweep({"a": a, "b": b}, lambda n: n, [1, 16, 32], clock=clock, **options)


def test_sweep_finds_the_crossing(clock):
    swept = crossing_sweep(clock)
    assert [c["b"].verdict for c in swept] == [SLOWER, SLOWER, FASTER]
    (crossing,) = swept.crossings()
    assert (crossing.label, crossing.below, crossing.above) == ("b", 16, 32)
    assert crossing.at == pytest.approx(16 * 2**0.5)
    assert crossing.verdict == FASTER
    assert swept.complete
    assert "crossings: b faster from about 22.6 (between 16 and 32)" in str(swept)


def test_sizes_may_be_numpys(clock):
    sizes = [numpy.int64(1), numpy.float32(16.0), 32]
    work = {"a": lambda n: clock.work(n * 1e-5)(), "b": lambda n: clock.work(n * 1e-5)()}
    swept = sweep(work, lambda n: n, sizes, clock=clock)
    assert list(Sweep.from_dict(json.loads(json.dumps(swept.to_dict()))).comparisons) == sizes


@pytest.mark.parametrize(
    ("at", "about"), [(0.123456, "0.123"), (22.63, "22.6"), (1963.4, "1960"), (98765.4, "98800")]
)
def test_a_crossing_is_told_in_three_digits(at, about):
    assert Crossing("b", 1, 1e5, at, FASTER).about == about


def test_an_unclear_size_between_is_no_crossing_of_its_own(clock):
    def b(n):
        clock.now += {1: 2e-3, 2: 1e-3, 3: 0.5e-3, 4: 1e-3}[n]

    swept = sweep({"a": clock.work(1e-3), "b": b}, lambda n: (n,), [1, 2, 3, 4], clock=clock)
    (crossing,) = swept.crossings()
    assert (crossing.below, crossing.above) == (1, 3)
    assert [line.split()[-1][-1] for line in str(swept).splitlines()[1:5]] == ["0", "~", "0", "~"]


def test_an_interrupted_sweep_gives_the_sizes_it_has(clock):
    def interrupted(n):
        if n == 2:
            raise KeyboardInterrupt
        clock.now += 1e-3

    swept = sweep({"a": interrupted, "b": interrupted}, lambda n: n, [1, 2, 3], clock=clock)
    assert list(swept.comparisons) == [1]
    assert not swept.complete
    assert "interrupted" in str(swept)


# The sanitizer ------------------------------------------------------------------------------

RULES = re.findall(
    r"^regex: (.*)\nreplace: (.*)$",
    (Path(__file__).parent / "sanitize.cfg").read_text(encoding="utf-8"),
    re.MULTILINE,
)


def masked(text):
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text)
    return text


def test_the_sanitizer_masks_all_that_was_measured_and_no_label(clock):
    one = example(clock, scatter=0.1, time_limit=0.1)
    other = example(Clock(), speed=0.02, scatter=0.5, time_limit=0.1)
    assert {r.verdict for r in one} != {r.verdict for r in other}
    for show in (str, lambda c: c._repr_html_(), lambda c: str(Sweep({1: c, 8: c}))):
        text = masked(show(one)).replace("cold process", "warm process")
        assert text == masked(show(other))
        assert not re.search(r"\d\.\d", text)
        for label in ("eager", "same", "compiled"):
            assert label in text


def test_the_sanitizer_masks_crossings(clock):
    text = masked(str(crossing_sweep(clock)))
    assert "crossings: " in text
    assert "22.6" not in text


@pytest.mark.parametrize(
    "fact",
    [
        "2.1447 → 4.0545",
        "the baseline takes 30.00 µs, and compiled is faster",
        "built: TorchScript in a cold process",
        "164,482 parameters, 1.5 times as many",
        "speed-up  verdict",
    ],
)
def test_the_sanitizer_masks_no_fact(fact):
    assert masked(fact) == fact


# Around it ----------------------------------------------------------------------------------


def test_nothing_else_need_be_installed():
    program = (
        "import sys\n"
        "for name in ('torch', 'numpy', 'matplotlib', 'networkx'): sys.modules[name] = None\n"
        "from d2lhybrid.comparison import compare\n"
        "from d2lhybrid.sweeps import sweep\n"
        "r = compare({'a': lambda: sum(range(99)), 'b': lambda: sum(range(999))}, check=False)\n"
        "print(r['b'].verdict)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("slower\n", "")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_for_terminals_and_leaves_nothing(clock, monkeypatch, capsys):
    candidates = {"a": clock.work(0.5), "b": clock.work(1.0)}
    compare(candidates, clock=clock)
    assert capsys.readouterr() == ("", "")  # a notebook's or a file's stderr
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    compare(candidates, clock=clock, progress=False)
    assert terminal.getvalue() == ""
    compare({"a": clock.work(1e-3), "b": clock.work(1e-3)}, clock=clock)
    assert "of at most" not in terminal.getvalue()  # soon done
    compare(candidates, clock=clock)
    shown = terminal.getvalue()
    assert re.search(r"\r18 s of at most 30 s", shown)
    lines = shown.split("\r")
    assert lines[-1] == ""
    assert not lines[-2].strip()  # wiped
    said = []
    crossing_sweep(clock, progress=said.append)
    assert "size 16, 2 of 3: warming up b" in said
    assert said[-1] == ""


def test_what_a_reader_must_know():
    import torch

    with torch.no_grad():
        machine = describe_machine(torch.zeros(1))
    assert machine["gradients"] is False
    assert describe_machine()["gradients"] is True
    assert machine["device"] == "cpu"
    assert machine["threads"] == torch.get_num_threads()
    assert machine["versions"]["torch"] == torch.__version__
    assert json.loads(json.dumps(machine)) == machine
    line = machine_line(machine)
    for part in ("gradients off", torch.__version__, machine["processor"], machine["date"][:10]):
        assert part in line


@pytest.mark.filterwarnings(r"ignore:`torch\.jit\.")
def test_torchscript_has_a_price():
    import torch

    from d2lhybrid.nets import get_net

    net, x = get_net(), torch.randn(1, 512)
    candidates = {"eager": net, "TorchScript": recipe(lambda: torch.jit.script(net))}
    result = compare(candidates, x, time_limit=0.05)
    r, timing = result["TorchScript"], result.timings["TorchScript"]
    extra = sum(time - r.median for time in timing.warmup)
    assert timing.build > 0
    assert r.price == pytest.approx(max(0, timing.build + extra))
    assert len(timing.warmup) >= 3  # it watches two calls and compiles in the third
    with pytest.raises(ValueError, match="'other' does not return what 'eager' returns"):
        compare({"eager": net, "other": get_net()}, x)


def test_the_bench_leaves_out_what_fails(clock, monkeypatch):
    from d2lhybrid import bench

    ways = {"a": clock.work(1e-3), "broken": recipe(fails), "b": clock.work(1e-3)}
    monkeypatch.setattr(bench, "torch_ways", lambda net: ways)
    monkeypatch.setattr(bench, "other_ways", lambda net: {})
    monkeypatch.setattr(bench, "compiled_ways", lambda net: {})
    said = []
    swept = bench.bench([1, 2], report=said.append, clock=clock)
    assert list(swept.comparisons) == [1, 2]
    assert swept.labels == ["b"]
    assert said == ["left out: candidate 'broken' raised ZeroDivisionError: by zero"]


def test_the_bench_writes_what_it_shows(clock, monkeypatch, tmp_path, capsys):
    from d2lhybrid import __main__, bench

    monkeypatch.setattr(bench, "bench", lambda batches: Sweep({n: example(clock) for n in batches}))
    files = [str(tmp_path / "r.json"), str(tmp_path / "r.png")]
    __main__.main(["bench", "--json", files[0], "--plot", files[1]])
    result = Comparison.from_dict(json.loads(Path(files[0]).read_text()))
    assert str(result) == capsys.readouterr().out.rstrip("\n")
    assert Path(files[1]).read_bytes().startswith(b"\x89PNG")
    __main__.main(["bench", "--batch", "1", "8", "--json", files[0]])
    assert list(Sweep.from_dict(json.loads(Path(files[0]).read_text())).comparisons) == [1, 8]
    with pytest.raises(SystemExit):
        __main__.main(["bench", "--batch", "0"])


def test_the_machine_names_the_devices_of_the_arguments():
    there = SimpleNamespace(device="mps:0")
    assert describe_machine(3, there, there)["device"] == "mps:0"
    assert describe_machine(3)["device"] == "cpu"
    assert "mps:0" in machine_line(describe_machine(there))


def test_the_band_of_the_picture_is_the_grey_zone(clock):
    result = compare({"a": clock.work(30e-6), "b": clock.work(20e-6)}, clock=clock)
    (band,) = result.plot().patches
    edge = result.grey_zone
    assert edge == pytest.approx(1.01)
    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx((1 / edge, edge))


def test_many_calls_in_one_share_its_time(clock):
    many = repeated(clock.work(16e-3), 16)
    for loop in (many, recipe(lambda: many)):
        result = compare({"one": clock.work(1e-3), "loop": loop}, clock=clock)
        assert result["loop"].median == pytest.approx(1e-3)
        assert result["loop"].verdict == UNCLEAR
