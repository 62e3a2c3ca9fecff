"""`sweep`: sizes, crossings, and what is shown. The clock is ours."""

import json

import pytest
from benchmark_helpers import crossing_sweep, example, fails

from d2lhybrid import Comparison, sweep
from d2lhybrid.benchmark.sweeps import Crossing, Sweep
from d2lhybrid.benchmark.verdict import FASTER, SLOWER


def test_sweep_finds_the_crossing(clock):
    swept = crossing_sweep(clock)
    assert [c["b"].verdict for c in swept.values()] == [SLOWER, SLOWER, FASTER]
    (crossing,) = swept.crossings()
    assert (crossing.label, crossing.below, crossing.above) == ("b", 16, 32)
    assert crossing.at == pytest.approx(16 * 2**0.5)
    assert crossing.verdict == FASTER
    assert swept.complete
    assert "crossings: b faster from about 22.6 (between 16 and 32)" in str(swept)


@pytest.mark.parametrize(
    ("at", "about"), [(0.123456, "0.123"), (22.63, "22.6"), (1963.4, "1960"), (98765.4, "98800")]
)
def test_crossing_is_printed_with_three_digits(at, about):
    assert Crossing("b", 1, 1e5, at, FASTER).about == about


def test_crossing_lies_between_clear_verdicts(clock):
    def b(n):
        clock.now += {1: 2e-3, 2: 1e-3, 3: 0.5e-3, 4: 1e-3}[n]

    swept = sweep({"a": clock.work(1e-3), "b": b}, lambda n: (n,), [1, 2, 3, 4], clock=clock)
    (crossing,) = swept.crossings()
    assert (crossing.below, crossing.above) == (1, 3)
    assert crossing.at == pytest.approx(2)  # where the drawn line is at 1, not half-way to 3
    assert [line.split()[-1][-1] for line in str(swept).splitlines()[1:5]] == ["0", "~", "0", "~"]


def test_interrupted_sweep_returns_what_was_measured(clock):
    def interrupted(n):
        if n == 2:
            raise KeyboardInterrupt
        clock.now += 1e-3

    swept = sweep({"a": interrupted, "b": interrupted}, lambda n: n, [1, 2, 3], clock=clock)
    assert list(swept) == [1]
    assert not swept.complete
    assert "interrupted" in str(swept)


def test_candidate_that_fails_at_one_size_is_left_out(clock):
    def b(n):
        return fails() if n == 2 else clock.work(2e-3)()

    errors = []
    candidates = {"a": clock.work(1e-3), "b": b, "c": clock.work(2e-3)}
    swept = sweep(candidates, lambda n: n, [1, 2, 3], clock=clock, on_error=errors.append)
    assert swept.labels == ["c"]
    assert ["b" in one for one in swept.values()] == [True, False, False]
    assert [error.label for error in errors] == ["b"]
    assert "b" not in str(swept).splitlines()[0].split()


def test_no_sizes_are_refused(clock):
    with pytest.raises(ValueError, match="at least one size"):
        sweep({"a": clock.work(1e-3), "b": clock.work(1e-3)}, lambda n: n, [])


def test_to_dict_holds_each_comparison(clock):
    swept = Sweep({1: example(clock), 8: example(clock)})
    pairs = json.loads(json.dumps(swept.to_dict()))["comparisons"]
    assert {size: Comparison.from_dict(one) for size, one in pairs} == swept.answers
