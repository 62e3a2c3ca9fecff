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

from d2lhybrid import CandidateError, Comparison, build, compare, get_net
from d2lhybrid.benchmark.comparison import Trial
from d2lhybrid.benchmark.metadata import describe_machine
from d2lhybrid.benchmark.timing import Measurement, Runner
from d2lhybrid.benchmark.verdict import EQUIVALENT, FASTER, INCONCLUSIVE, SLOWER
from d2lhybrid.tables import seconds

SPEEDS = [
    (20e-6, FASTER, 1.5),
    (29.9e-6, EQUIVALENT, 30 / 29.9),
    (30e-6, EQUIVALENT, 1.0),
    (30.2e-6, EQUIVALENT, 30 / 30.2),
    (3.0, SLOWER, 1e-5),
]


@pytest.mark.parametrize(("other", "verdict", "speedup"), SPEEDS)
@pytest.mark.parametrize("spread", [0.0, 0.02])
def test_verdict_and_speedup(clock, other, verdict, speedup, spread):
    clock.slow = restless(spread) if spread else clock.slow
    result = compare({"a": clock.work(30e-6), "b": clock.work(other)}, clock=clock)
    r = result["b"]
    assert r.verdict == verdict
    assert r.low <= r.speedup <= r.high
    assert r.speedup == pytest.approx(speedup, rel=0.02 if other > 1 else 0.005)
    assert r.median == pytest.approx(other, rel=0.02)
    assert result["a"].verdict == EQUIVALENT
    assert result["a"].speedup == 1


def test_baseline_is_the_one_that_is_named(clock):
    candidates = {"a": clock.work(20e-6), "b": clock.work(30e-6), "c": clock.work(60e-6)}
    result = compare(candidates, clock=clock, baseline="b")
    assert [*result] == ["a", "b", "c"]
    assert [r.verdict for r in result.values()] == [FASTER, EQUIVALENT, SLOWER]


def test_drift_of_the_machine_cancels(clock):
    clock.slow = lambda now: 1 + 3 * now  # the clock rate falls all the time
    result = compare({"a": clock.work(30e-6), "b": clock.work(29e-6)}, clock=clock)
    assert result["b"].verdict == FASTER
    assert result["b"].speedup == pytest.approx(30 / 29, rel=0.005)
    assert result.noise_floor < 0.005


def test_noise_floor_is_the_difference_of_the_baselines_blocks():
    machine = describe_machine()
    for control, verdict in [(1.0, FASTER), (1.05, INCONCLUSIVE), (0.95, INCONCLUSIVE)]:
        a = Measurement((1.0,) * 200, (control,) * 200, 1, ())
        b = Measurement((0.97 * control**0.5,) * 200, (0.97 * control**0.5,) * 200, 1, ())
        result = Comparison("a", ({"a": a, "b": b},), 0.01, 1.0, True, machine)
        assert result["b"].speedup == pytest.approx(1 / 0.97)
        off = max(control, 1 / control)
        assert result.noise_floor == pytest.approx(off - 1)
        assert result.equivalence_margin == pytest.approx(off * 1.01)
        assert result["b"].verdict == verdict


# building, first calls, a later call, build cost, break-even (the baseline takes 1 ms)
BUILD_COSTS = [
    (2.0, [1.0, 0.1], 0.5e-3, 3.099, 6198),
    (0.0, [0.5e-3], 0.5e-3, 0.0, 0),
    (0.0, [0.1e-3], 0.5e-3, 0.0, 0),  # a cost below nothing would be no cost
    (0.0, [1.0005e-3], 0.5e-3, 0.5005e-3, 2),
    (2.0, [1.0], 2e-3, 2.998, None),  # slower: it never pays
    (2.0, [1.0], 1e-3, 2.999, None),  # inconclusive: who knows
]


@pytest.mark.parametrize(("building", "first_calls", "then", "cost", "break_even"), BUILD_COSTS)
def test_build_cost_and_break_even(clock, building, first_calls, then, cost, break_even):
    candidate = built(clock, building, *first_calls, then=then)
    result = compare({"a": clock.work(1e-3), "b": candidate}, clock=clock)
    assert result["b"].build_cost == pytest.approx(cost, abs=1e-6)
    expected = None if break_even is None else pytest.approx(break_even, abs=1)
    assert result["b"].break_even == expected
    assert result["a"].build_cost is None
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
def test_whether_a_result_needs_gradients_is_shown(needed, mode, said):
    layer = torch.nn.Linear(2, 2).requires_grad_(needed)
    with torch.set_grad_enabled(mode):
        same = dict.fromkeys("ab", lambda x: {"n": 1, "y": layer(x)})
        result = compare(same, torch.ones(1, 2), time_limit=0.01)
    assert f"\nwith: {said}, Python" in str(result)
    assert Comparison.from_dict(result.to_dict()).machine == result.machine


@pytest.mark.parametrize(("most", "seconds"), [("0.25", 0.25), ("9", 2), (None, 2)])
def test_environment_limits_the_time_and_says_so(clock, monkeypatch, most, seconds):
    monkeypatch.setenv("D2LHYBRID_TIME_LIMIT", most or "")
    if most is None:
        monkeypatch.delenv("D2LHYBRID_TIME_LIMIT")
    result = example(clock, time_limit=2)
    assert result.duration == pytest.approx(seconds, rel=0.1)
    assert result.machine["time_limit"] == most
    note = f"note: D2LHYBRID_TIME_LIMIT={most} limits the seconds of measuring"
    assert (note in str(result)) == (most is not None)


@pytest.mark.parametrize("seconds", [1e-5, 0.2])
def test_time_limit_of_zero_means_one_round(clock, seconds):
    candidates = {"a": clock.work(seconds), "b": clock.work(seconds)}
    assert compare(candidates, clock=clock, time_limit=0).rounds == 1


def two(clock, **others):
    return {"a": clock.work(1e-3, 1.0), "b": clock.work(1e-3, 1.0)} | others


# what is asked of compare, the error, what its message must name
BAD = [
    (lambda c: compare({"a": fails}), ValueError, "at least two candidates"),
    (lambda c: compare({"a": fails, "b": 3}), TypeError, "'b' must be callable"),
    (lambda c: compare({"a": fails, "b": torch.ones(9)}), TypeError, "program, not Tensor$"),
    (lambda c: compare([fails, fails]), TypeError, "takes a dict {name: function}, not list$"),
    (lambda c: compare(two(c), scale=2.0), TypeError, r"no option scale; .*lambda: net\(x, scale="),
    (lambda c: compare(two(c), baseline=get_net()), ValueError, r"baseline must be one of \['a', "),
    (lambda c: compare(two(c), baseline="x"), ValueError, "baseline must be one of"),
    (lambda c: compare(two(c, x=build(lambda: 3)), clock=c), TypeError, "'x' returned 3, which"),
    (lambda c: compare(two(c, x=fails), clock=c), CandidateError, "'x' raised ZeroDivisionError"),
    (lambda c: compare(two(c, x=build(fails)), clock=c), CandidateError, "'x' raised ZeroDiv"),
    (lambda c: compare(two(c, x=lambda: 1.0), clock=c), ValueError, "too little time .* of 'x'"),
    (lambda c: compare(two(c, x=c.work(1e-3, 1.25)), clock=c), ValueError, "'x' does not return"),
    (lambda c: compare(two(c), clock=c)["x"], KeyError, "x"),
]


@pytest.mark.parametrize(("ask", "error", "message"), BAD)
def test_what_cannot_be_compared_is_refused(clock, ask, error, message):
    with pytest.raises(error, match=message):
        ask(clock)


def test_error_of_a_candidate_is_kept_as_cause(clock):
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


def test_check_and_tolerance(clock):
    candidates = {"a": clock.work(1e-3, 1.0), "b": clock.work(1e-3, 1.2)}
    assert compare(candidates, clock=clock, check=False)["b"].verdict == EQUIVALENT
    assert compare(candidates, clock=clock, tolerance=0.5)["b"].verdict == EQUIVALENT
    with pytest.raises(ValueError, match=r"0\.12 is allowed"):
        compare(candidates, clock=clock, tolerance=0.1)


def test_interrupt_returns_what_was_measured():
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


def test_on_error_leaves_out_what_fails(clock):
    errors = []
    candidates = two(clock, x=fails, y=build(fails))
    result = compare(candidates, clock=clock, on_error=errors.append)
    assert list(result) == ["a", "b"]
    assert [error.label for error in errors] == ["x", "y"]
    with pytest.raises(CandidateError):
        compare({"x": fails, **candidates}, clock=clock, on_error=errors.append)
    with pytest.raises(ValueError, match="nothing is left to compare with 'a'"):
        compare({"a": candidates["a"], "x": fails}, clock=clock, on_error=errors.append)


def test_to_dict_and_from_dict(clock):
    result = example(clock, spread=0.05)
    data = json.loads(json.dumps(result.to_dict()))
    assert Comparison.from_dict(data) == result


OLD_TIMES = {"block_a": [0.5, 0.5], "block_b": [0.5, 0.5], "calls": 1, "warmup": [0.75]}
OLD_REST = {"inner_calls": 1, "single": [], "memory": None}
OLD_FILE = {  # as version 1.0.0 wrote it
    "baseline": "a",
    "launches": [
        {
            "a": OLD_TIMES | {"build": None, "built_in": ""} | OLD_REST,
            "b": OLD_TIMES | {"build": 2.0, "built_in": "cold process"} | OLD_REST,
        }
    ],
    "min_effect": 0.01,
    "took": 2.0,
    "complete": True,
    "machine": {"date": "2026-11-26T21:08:19+00:00", "notes": []},
    "calls": None,
}


def test_from_dict_reads_older_files():
    comparison = Comparison.from_dict(json.loads(json.dumps(OLD_FILE)))
    assert (comparison.duration, comparison.rounds) == (2.0, 2)
    b = comparison["b"]
    assert (b.build_state, b.build_cost, b.median) == ("cold process", 2.25, 0.5)
    assert Comparison.from_dict(comparison.to_dict()) == comparison


def test_text_has_a_table_of_speeds_and_one_of_build_costs(clock):
    speeds, costs, notes = (part.splitlines() for part in str(example(clock)).split("\n\n"))
    _, eager, same, compiled = speeds
    assert same.split()[3:] == ["1.000", "1.000", "to", "1.000", "equivalent"]
    assert eager.split() == ["eager", "30.00", "µs", "baseline"]
    assert compiled.split()[4:6] == ["1.500", "to"]
    assert costs[0].split() == ["built", "build", "cost", "break-even"]
    assert re.fullmatch(r"compiled  in a (cold|warm) process +2\.100 s +\d+ calls", costs[1])
    starts = ["noise floor 0.0%, ", "note: all results are None or NaN", "measured on: ", "with: "]
    for note, start in zip(notes, starts, strict=True):
        assert note.startswith(start)
    assert max(map(len, [*speeds, *costs])) <= 88


def test_markdown_and_html_hold_what_the_text_holds(clock):
    result = example(clock)
    for shown in (result.to_markdown(), result._repr_html_()):
        for r in result.values():
            assert r.label in shown
            assert seconds(r.median) in shown
        for cell in ("faster", "2.100 s", "built: compiled in a ", "build cost", "break-even"):
            assert cell in shown
    table = [line for line in result.to_markdown().splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in table}) == 1


def test_picture_shows_labels_and_verdicts(clock):
    ax = example(clock).plot()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["same", "compiled"]
    assert [text.get_text() for text in ax.texts] == ["1.00  equivalent", "1.50  faster"]


def test_interrupt_after_a_failure_keeps_what_was_measured(clock):
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


def test_hopeless_candidate_does_not_take_the_time_of_the_others(clock):
    seconds = {"a": 1e-3, "b": 0.9e-3, "slow": 1.0, "c": 5e-3}
    runners = {k: Runner(k, clock.work(s), (), clock) for k, s in seconds.items()}
    trial = Trial(runners, clock, lambda text: None, None)
    trial.warm_up(0)
    trial.measure("a", 0.5, at_least=False)
    rounds = {label: len(timing.block_a) for label, timing in trial.timings().items()}
    assert rounds == {"a": rounds["b"], "b": rounds["b"], "slow": 1, "c": rounds["b"]}
    assert rounds["b"] > 10
    assert trial.duration < 4.5


def test_duration_is_that_of_the_rounds_that_are_kept(clock):
    calls = iter(range(10**9))

    def fails_late():
        clock.work(1e-2)()
        if next(calls) > 30:
            raise ZeroDivisionError

    candidates = {"a": clock.work(1e-2), "b": fails_late, "c": clock.work(1e-2)}
    result = compare(candidates, clock=clock, time_limit=1, on_error=lambda error: None)
    assert list(result) == ["a", "c"]
    assert 1 <= result.duration < 1.1
