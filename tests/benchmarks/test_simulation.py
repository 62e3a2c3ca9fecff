"""The simulated clock: a small part of the table, and whether the noise is what it says."""

from functools import partial
from itertools import pairwise
from math import log
from random import Random
from statistics import correlation, fmean, stdev
from types import SimpleNamespace

import pytest

from benchmarks import simulation
from benchmarks.__main__ import main
from benchmarks.simulation import CALL, CALM, KINDS, ROUGH, Clock, outcome
from d2lhybrid.benchmark.verdict import EQUIVALENT, FASTER, INCONCLUSIVE, SLOWER

RUNS = 40
LEAST = 33  # of 40 intervals that hold 95 times in 100 fewer hold less than once in 1000 times


@pytest.mark.parametrize(
    ("kind", "effect", "decided"),
    [
        ("calm", 0.0, True),
        ("another process", 0.02, True),
        ("modes of 20 ms", 0.0, False),
        ("processes, 3 % apart", 0.02, False),
    ],
)
def test_intervals_cover_the_truth_and_verdicts_are_not_wrong(kind, effect, decided):
    outcomes = [outcome((kind, effect, i)) for i in range(RUNS)]
    covers, right, wrong = (sum(each) for each in zip(*outcomes, strict=True))
    assert covers >= LEAST
    assert wrong == 0
    assert right == RUNS or not decided


@pytest.mark.parametrize(
    ("effect", "true", "false", "open_is_right"),
    [
        (0.0, EQUIVALENT, {FASTER, SLOWER}, False),
        (0.005, EQUIVALENT, {FASTER, SLOWER}, False),
        (0.01, EQUIVALENT, {SLOWER}, True),
        (0.01, FASTER, {SLOWER}, True),
        (0.02, FASTER, {EQUIVALENT, SLOWER}, False),
    ],
)
def test_outcome_compares_verdicts_with_the_truth(effect, true, false, open_is_right, monkeypatch):
    def answer(verdict, low=0.9, high=1.2):
        return SimpleNamespace(verdict=verdict, low=low, high=high)

    def said(*answers):
        monkeypatch.setattr(simulation, "measured", lambda *_: answers)
        return outcome(("calm", effect, 0))

    assert said(answer(true)) == (True, True, False)
    assert said(answer(INCONCLUSIVE)) == (True, open_is_right, False)
    for verdict in false:
        assert said(answer(verdict)) == (True, False, True)
        assert said(answer(true), answer(verdict)) == (True, False, True)
    assert said(answer(true), answer(true, low=1.1)) == (False, True, False)
    assert said(answer(true), answer(true, high=0.99)) == (False, True, False)


def test_simulation_is_reproducible():
    def once():
        (result,) = simulation.measured(KINDS["rough"], 0.02, Random("seed"))
        return result.low, result.speedup, result.high

    assert once() == once()


def test_several_candidates_and_processes_are_measured():
    kinds = [KINDS["5 together, rough"], KINDS["processes, 1 % apart"]]
    together, several = [simulation.measured(kind, 0.0, Random(1)) for kind in kinds]
    assert len(together) == 4
    assert [result.independent_rounds for result in several] == [simulation.PROCESSES]


def calls(noises, count=50_000):
    """How long calls take, in parts of what they take without noise, one after the other."""
    chance, clock = Random(1), Clock()
    run = clock.candidate(CALL, [noise(chance) for noise in noises])
    times = [0.0]
    for _ in range(count):
        run()
        times.append(clock.now)
    return [(after - before) / CALL for before, after in pairwise(times)]


def test_scatter_has_its_size():
    assert stdev(map(log, calls(CALM))) == pytest.approx(0.003, rel=0.05)


def test_rough_calls_scatter_drift_and_are_interrupted():
    times = calls(ROUGH)
    assert fmean(time > 1.5 for time in times) == pytest.approx(0.01 * 0.6, rel=0.2)
    quarters = [fmean(times[i : i + 5000]) for i in range(0, len(times), 5000)]
    assert 1.15 < max(quarters) / min(quarters) < 1.25


def test_wandering_speed_decorrelates():
    times = list(map(log, calls([partial(simulation.wandering, 0.05, 5e-3)])))
    assert stdev(times) == pytest.approx(0.05, rel=0.1)
    assert correlation(times[:-50], times[50:]) == pytest.approx(0.37, abs=0.05)
    assert correlation(times[:-300], times[300:]) == pytest.approx(0, abs=0.05)


def test_call_waits_for_the_other_process():
    times = calls([partial(simulation.waking, 10e-3, 1e-3)])
    waits = [time for time in times if time > 2]
    assert waits == [pytest.approx(11)] * len(waits)
    assert len(waits) == pytest.approx(sum(times) * CALL / 10e-3, abs=1)


def test_modes_last_as_long_as_they_should():
    times = calls([partial(simulation.modes, 1.15, 2e-3)])
    slow = [time > 1.1 for time in times]
    changes = sum(a != b for a, b in pairwise(slow))
    assert sum(times) * CALL / changes == pytest.approx(2e-3, rel=0.1)
    assert fmean(slow) == pytest.approx(0.5, abs=0.05)


def test_process_has_one_speed():
    noises = [simulation.apart(0.03, Random(i)) for i in range(1000)]
    factors = [noise(0.0, 1.0) for noise in noises]
    assert factors == [noise(5.0, 1.0) for noise in noises]
    assert stdev(map(log, factors)) == pytest.approx(0.03, rel=0.1)


def test_simulate_prints_a_row_for_each_kind(monkeypatch, capsys):
    monkeypatch.setattr(simulation, "KINDS", {"calm": KINDS["calm"]})
    main(["simulate", "1"])
    title, row = capsys.readouterr().out.splitlines()
    assert title.split()[-7:] == ["0.0%", "0.5%", "1.0%", "2.0%", "3.0%", "5.0%", "10.0%"]
    assert row.split()[0] == "calm"
    assert [cell.count("/") for cell in row.split()[1:]] == [2] * 7
