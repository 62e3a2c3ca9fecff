"""`python -m d2lhybrid bench`: what it measures, prints and writes."""

import json
import os

import pytest
from benchmark_helpers import Clock

from d2lhybrid import Comparison, compare
from d2lhybrid.benchmark.comparison import TooFewProcesses
from d2lhybrid.benchmark.sweeps import Sweep
from d2lhybrid.cli.bench import without_limits
from d2lhybrid.cli.main import main
from d2lhybrid.cross_framework import variants


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """What a command writes into the environment is gone after the test."""
    monkeypatch.setattr("os.environ", os.environ.copy())


@pytest.fixture
def measured(monkeypatch):
    """What the bench seems to have measured at the sizes 1 and 8."""
    clock = Clock()

    def comparison():
        ways = {
            "eager": clock.work(3e-5),
            "quick": clock.work(2e-5),
            "limit: read": clock.work(1e-6),
            "ours, limit: read": clock.work(3e-6),
            "no limits": clock.work(1e-5),
        }
        return compare(ways, clock=clock)

    swept = {1: comparison(), 8: comparison()}
    monkeypatch.setattr(
        variants, "compare_variants", lambda batches: Sweep({n: swept[n] for n in batches})
    )
    return swept


def test_bench_writes_what_it_shows(measured, tmp_path, capsys):
    file = tmp_path / "r.json"
    main(["bench", "--json", str(file)])
    written = json.loads(file.read_text())
    assert Comparison.from_dict(written["comparison"]) == measured[1]
    main(["bench", "--batch", "1", "8", "--json", str(file)])
    written = json.loads(file.read_text())
    assert [size for size, _ in written["sweep"]["comparisons"]] == [1, 8]
    assert str(Sweep(measured)) in capsys.readouterr().out


def test_limit_is_no_way_to_run_the_network(measured, capsys):
    main(["bench"])
    out = capsys.readouterr().out.splitlines()
    assert [line for line in out if "limit: " in line] == [
        "limit: read: 1.000 µs per call",
        "ours, limit: read: 3.000 µs per call",
    ]
    assert [line.split()[0] for line in out[1:4]] == ["eager", "quick", "no"]
    assert [line.split()[-1] for line in out[1:4]] == ["baseline", "faster", "faster"]
    alone = measured[1].select(["eager", "limit: read"])  # a comparison needs two candidates
    assert without_limits(alone) == (alone, ["limit: read: 1.000 µs per call"])


@pytest.mark.parametrize("batches", [[8], [1, 8]])
def test_bench_compares_all_frameworks_if_asked_to(measured, monkeypatch, capsys, batches):
    frameworks = Sweep({n: measured[n].select(["quick", "no limits"]) for n in batches})
    monkeypatch.setattr(
        variants, "compare_frameworks", lambda asked: [*asked] == batches and frameworks
    )
    main(["bench", "--frameworks", "--batch", *map(str, batches)])
    shown = frameworks if len(batches) > 1 else frameworks[batches[0]]
    assert capsys.readouterr().out.startswith(str(shown))


def test_bench_starts_frameworks_several_times_if_asked_to(measured, monkeypatch):
    asked = []

    def compare(batches, processes):
        asked.append(processes)
        if processes < 11:
            raise TooFewProcesses("it takes 11")
        return Sweep({1: measured[1]})

    monkeypatch.setattr(variants, "compare_frameworks", compare)
    main(["bench", "--frameworks", "--processes", "11"])
    assert asked == [11]
    assert os.environ["OMP_NUM_THREADS"] == "1"
    for words in (["--frameworks", "--processes", "2"], ["--processes", "11"], ["--batch", "0"]):
        with pytest.raises(SystemExit, match="2"):
            main(["bench", *words])


@pytest.mark.parametrize("words", [["--version"], ["bench", "--help"], ["compare", "--help"]])
def test_help_can_be_printed(words):
    with pytest.raises(SystemExit, match="0"):
        main(words)
