"""`python -m d2lhybrid`: the files that it writes, and those that it refuses."""

import io
import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib import pyplot
from measure_helpers import Clock

from d2lhybrid import Comparison, compare
from d2lhybrid.cli.main import main
from d2lhybrid.cross_framework import variants as ways
from d2lhybrid.measure.launch import TooFewLaunches
from d2lhybrid.measure.sweeps import Sweep


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (["--json", "none/a.json"], "argument --json: .*No such file or directory: 'none/a.json'"),
        (["--json", "."], r"argument --json: .*'\.'"),
        (["--plot", "none/a.png"], "argument --plot: .*No such file or directory: 'none/a.png'"),
        (["--plot", "a.xyz"], "argument --plot: .*'a.xyz' must end in .png, .pdf or .svg"),
        (["--json", "a.json", "--plot", "a"], "argument --plot: 'a' must end in"),
    ],
)
def test_files_that_cannot_be_written_are_refused_at_once(
    file, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ways, "compare_ways", lambda batches: pytest.fail("it measured"))
    with pytest.raises(SystemExit) as stop:
        main(["bench", *file])
    assert stop.value.code == 2
    assert re.search(message, capsys.readouterr().err)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("path", "name"),
    [("d2lhybrid/__main__.py", "python -m d2lhybrid"), ("bin/d2lhybrid", "d2lhybrid")],
)
def test_usage_names_it_as_it_was_called(path, name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [path, "other.py"])
    with pytest.raises(SystemExit):
        main(["--help"])
    assert capsys.readouterr().out.startswith(f"usage: {name} [-h]")


def test_a_result_stays_until_there_is_a_new_one(tmp_path, monkeypatch):
    def interrupted(batches):
        raise KeyboardInterrupt

    monkeypatch.setattr(ways, "compare_ways", interrupted)
    file = tmp_path / "a.json"
    file.write_text("{}")
    with pytest.raises(KeyboardInterrupt):
        main(["bench", "--json", str(file)])
    assert file.read_text() == "{}"


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """What a command writes into the environment is gone after the test."""
    monkeypatch.setattr("os.environ", os.environ.copy())


@pytest.fixture
def measured(monkeypatch):
    """What the bench seems to have measured at the sizes 1 and 8, with four threads."""
    clock = Clock()

    def comparison():
        ways = {
            "eager": clock.work(3e-5),
            "quick": clock.work(2e-5),
            "limit: read": clock.work(1e-6),
            "ours, limit: read": clock.work(3e-6),
            "no limits": clock.work(1e-5),
        }
        result = compare(ways, clock=clock)
        return replace(result, machine=result.machine | {"threads": 4})

    swept = {1: comparison(), 8: comparison()}
    monkeypatch.setattr(ways, "compare_ways", lambda batches: Sweep({n: swept[n] for n in batches}))
    return swept


def test_the_bench_writes_what_it_shows(measured, tmp_path, capsys):
    files = [str(tmp_path / "r.json"), str(tmp_path / "r.png")]
    main(["bench", "--json", files[0], "--plot", files[1]])
    written = json.loads(Path(files[0]).read_text())
    assert written["format"] == 3
    assert Comparison.from_dict(written["comparison"]) == measured[1]
    assert Path(files[1]).read_bytes().startswith(b"\x89PNG")
    main(["bench", "--batch", "1", "8", "--json", files[0]])
    written = json.loads(Path(files[0]).read_text())
    assert list(Sweep.from_dict(written["sweep"])) == [1, 8]
    assert str(Sweep(measured)) in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["bench", "--batch", "0"])


def test_a_limit_is_no_way_to_run_the_network(measured, capsys):
    main(["bench"])
    out = capsys.readouterr().out.splitlines()
    assert [line for line in out if "limit: " in line] == [
        "limit: read: 1.000 µs a call",
        "ours, limit: read: 3.000 µs a call",
    ]
    assert [line.split()[0] for line in out[1:4]] == ["eager", "quick", "no"]
    assert [line.split()[-1] for line in out[1:4]] == ["baseline", "faster", "faster"]


@pytest.mark.parametrize("batches", [[1], [8], [1, 8]])
def test_the_bench_compares_all_frameworks_if_asked_to(measured, monkeypatch, capsys, batches):
    frameworks = Sweep({n: measured[n].among(["quick", "no limits"]) for n in batches})
    monkeypatch.setattr(
        ways, "compare_frameworks", lambda asked: [*asked] == batches and frameworks
    )
    main(["bench", "--frameworks", "--batch", *map(str, batches)])
    shown = frameworks if len(batches) > 1 else frameworks[batches[0]]
    assert capsys.readouterr().out.startswith(str(shown))
    main(["bench", "--batch", *map(str, batches)])
    assert "eager" in capsys.readouterr().out


def test_the_bench_launches_frameworks_several_times_if_asked_to(measured, monkeypatch, capsys):
    asked = []

    def compare(batches, **options):
        asked.append(options)
        if options["launches"] < 11:
            raise TooFewLaunches("2 launches give no interval; it takes 11")
        return Sweep({1: measured[1]})

    monkeypatch.setattr(ways, "compare_frameworks", compare)
    main(["bench", "--frameworks", "--launches", "11"])
    assert asked == [{"launches": 11}]
    for words, said in (
        (["--frameworks", "--launches", "2"], "it takes 11"),
        (["--launches", "11"], "needs --frameworks"),
    ):
        with pytest.raises(SystemExit, match="2"):
            main(["bench", *words])
        assert said in capsys.readouterr().err


def test_the_bench_uses_one_thread_unless_told_otherwise(measured):
    for words, threads in (([], "1"), (["--threads", "3"], "3")):
        main(["bench", *words])
        assert os.environ["OMP_NUM_THREADS"] == threads


def test_the_picture_says_where_and_when(measured, tmp_path):
    main(["bench", "--plot", str(tmp_path / "r.svg")])
    figure = pyplot.gcf()
    assert figure.get_supxlabel() == measured[1].measured_on()
    assert figure.get_tightbbox().y0 > -0.05


def test_help_explains_every_column_and_every_option(capsys):
    with pytest.raises(SystemExit):
        main(["bench", "--help"])
    out = capsys.readouterr().out
    assert re.search(r"--batch N \[N \.\.\.\]\s+how many", out)
    assert max(map(len, out.splitlines())) <= 100


def test_a_terminal_shows_that_something_happens(measured, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    main(["bench"])
    assert "loading PyTorch" in sys.stderr.getvalue()


def test_without_pytorch_a_line_says_what_to_do(monkeypatch, capsys):
    def without(batches):
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr(ways, "compare_ways", without)
    with pytest.raises(SystemExit) as stop:
        main(["bench"])
    assert stop.value.code == 1
    assert "No module named 'torch': use the Python of" in capsys.readouterr().err
