"""`compare`, what it concludes, refuses and shows. The clock is ours."""

import gc
import json
import re
import subprocess
import sys
from itertools import count

import pytest
import torch
from benchmark_helpers import Clock, built, example, fails, restless

from d2lhybrid import CandidateError, Comparison, compare, get_net, recipe
from d2lhybrid.benchmark.metadata import describe_machine
from d2lhybrid.benchmark.statistics import EQUAL, FASTER, SLOWER, UNCLEAR
from d2lhybrid.benchmark.timing import Timing
from d2lhybrid.tables import seconds

SPEEDS = [
    (20e-6, FASTER, 1.5),
    (29e-6, FASTER, 30 / 29),
    (29.9e-6, EQUAL, 30 / 29.9),
    (30e-6, EQUAL, 1.0),
    (30.2e-6, EQUAL, 30 / 30.2),
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
    assert result["a"].verdict == EQUAL
    assert result["a"].speedup == 1


def test_the_baseline_can_be_any_of_them(clock):
    candidates = {"a": clock.work(20e-6), "b": clock.work(30e-6), "c": clock.work(60e-6)}
    result = compare(candidates, clock=clock, baseline="b")
    assert [*result] == ["a", "b", "c"]
    assert [r.verdict for r in result.values()] == [FASTER, EQUAL, SLOWER]


def test_a_machine_that_becomes_slower_does_not_matter(clock):
    clock.slow = lambda now: 1 + 3 * now  # the clock rate falls all the time
    result = compare({"a": clock.work(30e-6), "b": clock.work(29e-6)}, clock=clock)
    assert result["b"].verdict == FASTER
    assert result["b"].speedup == pytest.approx(30 / 29, rel=0.005)
    assert result.noise_floor < 0.005


def test_noise_floor_is_what_the_control_shows():
    machine = describe_machine()
    for control, verdict in [(1.0, FASTER), (1.05, UNCLEAR), (0.95, UNCLEAR)]:
        a = Timing((1.0,) * 200, (control,) * 200, 1, ())
        b = Timing((0.97 * control**0.5,) * 200, (0.97 * control**0.5,) * 200, 1, ())
        result = Comparison("a", ({"a": a, "b": b},), 0.01, 1.0, True, machine)
        assert result["b"].speedup == pytest.approx(1 / 0.97)
        off = max(control, 1 / control)
        assert result.noise_floor == pytest.approx(off - 1)
        assert result.equivalence_margin == pytest.approx(off * 1.01)
        assert result["b"].verdict == verdict


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
    expected = None if break_even is None else pytest.approx(break_even, abs=1)
    assert result["b"].break_even == expected
    assert result["a"].price is None
    assert result["a"].break_even is None


@pytest.mark.filterwarnings(r"ignore:`torch\.jit\.")
@pytest.mark.parametrize(
    ("needed", "mode", "said"),
    [
        (False, True, "gradients on, but no result needs them"),
        (True, True, "gradients on"),
        (True, False, "gradients off"),
    ],
)
@pytest.mark.parametrize("packed", [lambda y: y, lambda y: (1, y), lambda y: {"y": y}])
def test_it_says_whether_notes_for_gradients_were_kept(needed, mode, said, packed):
    layer = torch.nn.Linear(2, 2).requires_grad_(needed)
    with torch.set_grad_enabled(mode):
        same = dict.fromkeys("ab", lambda x: packed(layer(x)))
        result = compare(same, torch.ones(1, 2), time_limit=0.01)
    assert f"\nwith: {said}, Python" in str(result)
    assert Comparison.from_dict(result.to_dict()).machine == result.machine


def test_of_a_step_that_returns_a_number_nobody_knows_what_it_keeps():
    weight = torch.ones(2, requires_grad=True)

    def step():
        (weight**2).sum().backward()
        return 1.0

    assert "\nwith: gradients on, Python" in str(
        compare(dict.fromkeys("ab", step), time_limit=0.01)
    )


@pytest.mark.parametrize(("most", "asked", "seconds"), [("0.25", 2, 0.25), ("9", 2, 2), ("", 2, 2)])
def test_the_environment_limits_the_time(clock, monkeypatch, most, asked, seconds):
    monkeypatch.setenv("D2LHYBRID_TIME_LIMIT", most)
    if not most:
        monkeypatch.delenv("D2LHYBRID_TIME_LIMIT")
    assert example(clock, time_limit=asked).duration == pytest.approx(seconds, rel=0.1)


def test_the_environments_limit_is_kept_for_long_calls_too(clock, monkeypatch):
    monkeypatch.setenv("D2LHYBRID_TIME_LIMIT", "0.25")
    candidates = {"a": clock.work(0.2), "b": clock.work(0.1)}
    assert compare(candidates, clock=clock).rounds == 1


def test_torchscript_has_a_price():
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


def two(clock, **others):
    return {"a": clock.work(1e-3, 1.0), "b": clock.work(1e-3, 1.0)} | others


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
    (lambda c: compare({}), ValueError, "at least two candidates, got none"),
    (lambda c: compare({"a": fails}), ValueError, "at least two candidates, got 'a'"),
    (
        lambda c: compare({"a": fails, "b": 3}),
        TypeError,
        "'b' must be callable, a recipe or a program, not 3",
    ),
    (lambda c: compare({"a": fails, 2: fails}), TypeError, "a label must be a string, not 2"),
    (
        lambda c: compare(two(c), baseline="x"),
        ValueError,
        "baseline 'x' is not one of 'a', 'b'",
    ),
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
        "the clock sees too little time pass in .* calls of 'x'",
    ),
    (
        lambda c: compare(two(c, x=works_until(c, 0.15)), clock=c, check=False),
        ValueError,
        "the clock sees too little time pass in 1 calls of 'x'",
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
    (lambda c: compare(two(c), clock=c)["x"], KeyError, "^\"'x' is not one of 'a', 'b'"),
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


def test_check_can_be_switched_off_and_its_tolerance_be_widened(clock):
    candidates = {"a": clock.work(1e-3, 1.0), "b": clock.work(1e-3, 1.2)}
    assert compare(candidates, clock=clock, check=False)["b"].verdict == EQUAL
    assert compare(candidates, clock=clock, tolerance=0.5)["b"].verdict == EQUAL
    with pytest.raises(ValueError, match=r"0\.12 is allowed"):
        compare(candidates, clock=clock, tolerance=0.1)


def test_an_interrupt_gives_what_there_is():
    for last_call in range(290, 302):
        clock, calls = Clock(), count()

        def interrupted(clock=clock, calls=calls, last_call=last_call):
            if next(calls) == last_call:
                raise KeyboardInterrupt
            clock.now += 1e-3

        result = compare({"a": clock.work(1e-3), "b": interrupted}, clock=clock, time_limit=9)
        assert not result.complete, last_call
        rounds = result.rounds
        assert 60 < rounds < 75, last_call
        for timing in result.timings.values():
            assert len(timing.block_a) == len(timing.block_b) == rounds, last_call  # whole ones
        assert "interrupted" in str(result), last_call
        assert gc.isenabled(), last_call


@pytest.mark.parametrize("last_call", [0, 10, 20, 26, 29])  # in warming up, then in a round
def test_an_interrupt_before_the_first_round_is_passed_on(clock, last_call):
    calls = count()

    def interrupted():
        if next(calls) == last_call:
            raise KeyboardInterrupt
        clock.now += 3e-3

    with pytest.raises(KeyboardInterrupt):
        compare({"a": clock.work(3e-3), "b": interrupted}, clock=clock)


def test_nothing_else_need_be_installed():
    program = (
        "import sys\n"
        "for name in ('torch', 'numpy', 'matplotlib', 'networkx'): sys.modules[name] = None\n"
        "from d2lhybrid import compare, sweep\n"
        "r = compare({'a': lambda: sum(range(99)), 'b': lambda: sum(range(999))}, check=False)\n"
        "print(r['b'].verdict)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("slower\n", "")


def test_a_comparison_is_a_mapping_from_labels_to_results(clock):
    result = example(clock)
    assert "same" in result
    assert "other" not in result
    assert list(result) == ["eager", "same", "compiled"]
    assert [r.label for r in result.values()] == list(result)
    assert dict(result)["same"] is result["same"]
    with pytest.raises(KeyError, match="'other' is not one of 'eager', 'same', 'compiled'"):
        result["other"]


def test_a_candidate_that_fails_at_the_start_can_be_left_out(clock):
    errors = []
    candidates = two(clock, x=fails, y=recipe(fails))
    result = compare(candidates, clock=clock, on_error=errors.append)
    assert list(result) == ["a", "b"]
    assert [error.label for error in errors] == ["x", "y"]
    with pytest.raises(CandidateError):
        compare({"x": fails, **candidates}, clock=clock, on_error=errors.append)
    with pytest.raises(ValueError, match="nothing is left to compare with 'a'"):
        compare({"a": candidates["a"], "x": fails}, clock=clock, on_error=errors.append)


def test_as_dict_and_back(clock):
    result = example(clock, scatter=0.05)
    assert Comparison.from_dict(json.loads(json.dumps(result.to_dict()))) == result


def test_text_has_one_line_each_and_fixed_columns(clock):
    text = str(example(clock))
    assert text == repr(example(Clock()))
    speeds, prices, notes = (part.splitlines() for part in text.split("\n\n"))
    head, eager, same, compiled = speeds
    assert same.endswith("1.000    1.000 to 1.000     as good as equal")
    assert eager.split() == ["eager", "30.00", "µs", "baseline"]
    assert compiled.split()[4:6] == ["1.500", "to"]
    for title, cell in [("time a call", "30.00 µs"), ("verdict", "as good as equal")]:
        line = next(line for line in (eager, same) if cell in line)
        assert head.index(title) + len(title) == line.index(cell) + len(cell)
    assert prices[0].split() == ["built", "price", "pays", "after"]
    assert re.fullmatch(r"compiled  in a (cold|warm) process +2\.100 s +\d+ calls", prices[1])
    starts = ["noise floor 0.0%, ", "measured on: ", "with: "]
    for note, start in zip(notes, starts, strict=True):
        assert note.startswith(start)
    assert max(map(len, [*speeds, *prices])) <= 88


def test_only_what_is_sure_to_be_no_faster_never_pays(clock):
    candidates = {
        "eager": built(clock, 1.0, then=30e-6),
        "quick": built(clock, 1.0, then=20e-6),
        "same": built(clock, 1.0, then=30e-6),
        "slow": built(clock, 1.0, then=40e-6),
    }
    result = compare(candidates, clock=clock)
    _, prices, _ = str(result).split("\n\n")
    ends = [re.split(" {2,}", line)[-1] for line in prices.splitlines()[1:]]
    assert ends == ["baseline", f"{result['quick'].break_even} calls", "no clear gain", "never"]
    assert all(f">{end}</td>" in result._repr_html_() for end in ends)


def test_markdown_and_html_hold_what_the_text_holds(clock):
    result = example(clock)
    markdown, html = result.to_markdown(), result._repr_html_()
    for r in result.values():
        for shown in (r.label, seconds(r.median)):
            assert shown in markdown
            assert shown in html
    assert len({line.count("|") for line in markdown.splitlines()[:5]}) == 1
    assert "faster" in markdown
    assert "faster" in html
    label = "<script>"
    result = compare({label: clock.work(1e-3), "b": clock.work(1e-3)}, clock=clock)
    assert label not in result._repr_html_()


def test_the_picture_shows_labels_and_verdicts(clock):
    result = example(clock)
    ax = result.plot()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["same", "compiled"]
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["1.00  as good as equal", "1.50  faster"]
    few = result.to_dict()
    for timing in few["launches"][0].values():
        timing.update(block_a=timing["block_a"][:3], block_b=timing["block_b"][:3])
    few = Comparison.from_dict(few)
    few.plot().figure.canvas.draw()  # an interval without bounds can be drawn too


def test_the_band_of_the_picture_is_the_equivalence_margin(clock):
    result = compare({"a": clock.work(30e-6), "b": clock.work(20e-6)}, clock=clock)
    (band,) = result.plot().patches
    edge = result.equivalence_margin
    assert edge == pytest.approx(1.01)
    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx((1 / edge, edge))


def test_an_interrupt_behind_a_failure_keeps_what_was_measured(clock):
    calls = iter(range(10**9))

    def interrupted():
        if next(calls) > 100:
            raise KeyboardInterrupt
        clock.work(1e-2)()

    candidates = {"a": clock.work(1e-2), "b": fails, "c": interrupted}
    left_out = []
    result = compare(candidates, clock=clock, time_limit=1e3, on_error=left_out.append)
    assert list(result) == ["a", "c"]
    assert not result.complete
    assert [error.label for error in left_out] == ["b"]
