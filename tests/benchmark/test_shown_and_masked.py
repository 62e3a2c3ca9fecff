"""What a comparison shows is masked by the sanitizer, and no fact is."""

import re
from dataclasses import replace

from benchmark_helpers import Clock, crossing_sweep, example
from sanitizer import sanitize

from d2lhybrid.benchmark.sweeps import Sweep


def test_sanitizer_masks_figures_and_no_label(clock):
    one = example(clock, spread=0.1, time_limit=0.1)
    other = example(Clock(), speed=0.02, spread=0.5, time_limit=0.1)
    assert {r.verdict for r in one.values()} != {r.verdict for r in other.values()}
    for show in (str, lambda c: c._repr_html_(), lambda c: str(Sweep({1: c, 8: c}))):
        text = sanitize(show(one)).replace("cold process", "warm process")
        assert text == sanitize(show(other))
        assert not re.search(r"\d\.\d", text)
        for label in ("eager", "same", "compiled"):
            assert label in text


def test_sanitizer_masks_processes_and_totals(clock):
    def several(speed, spread):
        machine = Clock()
        trials = [example(machine, speed, spread, time_limit=0.02) for _ in range(6)]
        processes = tuple(trial.timings for trial in trials)
        return replace(trials[0], processes=processes, calls=200)

    one, other = several(1.0, 0.1), several(0.02, 0.5)
    for show in (str, lambda c: c._repr_html_()):
        text = sanitize(show(one))
        assert text == sanitize(show(other))
        assert not re.search(r"\d\.\d", text)
        assert "200 calls" in text


def test_sanitizer_masks_crossings(clock):
    text = sanitize(str(crossing_sweep(clock)))
    assert "crossings: " in text
    assert "22.6" not in text
