"""The bench: its candidates, and what happens to one that fails."""

import sys
from io import StringIO

import pytest
import torch
from measure_helpers import Clock, fails

from d2lhybrid import get_net, own_process, recipe
from d2lhybrid.cli import ways as bench
from d2lhybrid.hybrid.limits import TIMES
from d2lhybrid.measure.launch import TooFewLaunches
from d2lhybrid.side_by_side import PROGRAMS_OF


class Terminal(StringIO):
    def isatty(self):
        return True


def test_the_bench_ends_with_our_compiler_and_its_limits():
    net, x = get_net().requires_grad_(False), torch.ones(1, 512)
    ways = bench.ways(net)
    ours = ["hybridize", "the same C, in a C loop", "limit: read the weights"]
    assert list(ways)[-3:] == ours
    for way in map(ways.get, ours):
        built = way.build()
        function, calls = getattr(built, "function", built), getattr(built, "calls", 1)
        assert calls == (1 if built is function else TIMES)
        for batch in (x, x.expand(3, 512).contiguous()):
            assert torch.allclose(function(batch), net(batch), atol=1e-5)


def test_the_bench_wants_gradients_from_the_baseline_alone():
    net, x = get_net(), torch.ones(2, 512)
    ways = bench.ways(net)
    assert list(ways)[0] == "eager"  # noqa: RUF015
    assert ways["eager"](x).requires_grad
    assert not ways["eager, no gradients"](x).requires_grad
    assert torch.equal(ways["eager"](x), ways["eager, no gradients"](x))


def test_the_progress_of_the_bench_is_not_muted(monkeypatch):
    monkeypatch.setattr(bench, "ways", lambda net: {"a": len, "b": len})
    monkeypatch.setattr(sys, "stderr", Terminal())
    bench.compare_ways([3], time_limit=1e-3)
    assert "warming up a" in sys.stderr.getvalue()


def test_every_way_runs_on_the_benchs_own_inputs(monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda net, **options: net)  # it takes a minute
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    left_out = []
    try:
        swept = bench.compare_ways([3], report=left_out.append, time_limit=1e-3)
    finally:
        torch.set_num_threads(threads)
    assert left_out == []
    installed = {name for name in ("NumPy", "ONNX Runtime", "JAX") if PROGRAMS_OF[name].is_there}
    wanted = {"torch.compile", "hybridize", "limit: read the weights"} | installed
    assert wanted < {*swept.labels}


def test_the_bench_leaves_out_what_fails_and_builds_nothing_twice(monkeypatch, capsys):
    clock, built = Clock(), []

    def builds(label):
        return recipe(lambda: built.append(label) or clock.work(1e-3))

    ways = {"a": clock.work(1e-3), "b": builds("b"), "broken": recipe(fails), "c": builds("c")}
    monkeypatch.setattr(bench, "ways", lambda net: ways)
    swept = bench.compare_ways([1, 2], clock=clock)
    assert list(swept) == [1, 2]
    assert swept.labels == ["b", "c"]
    assert built == ["b", "c"] * 2  # once for each size
    said = "left out: candidate 'broken' raised ZeroDivisionError: by zero\n"
    assert capsys.readouterr() == (said, "")


# The frameworks: programs, here tiny ones, which write down when they start and what they are given


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A function that makes programs the frameworks' ways: label -> text; returns their notes."""
    notes = tmp_path / "notes"
    notes.touch()
    monkeypatch.setattr(bench, "missing_frameworks", list)

    def programs(**texts):
        ways = {}
        for label, text in texts.items():
            where = f"file=open({str(notes)!r}, 'a')"
            note = f"def note(*words):\n    print({label!r}, *words, {where})\n"
            ways[label] = own_process(note + text, "build", threads=1)
        monkeypatch.setattr(bench, "framework_ways", lambda: ways)
        return lambda: notes.read_text().splitlines()

    return programs


def compared(*batches, **options):
    """A quick comparison, and the lines that it reports."""
    lines = []
    options = {"report": lines.append, "time_limit": 1e-3, **options}
    return bench.compare_frameworks(batches, **options), lines


GIVES_2 = """
note("starts")
def build(weights, x):
    note("is built for", len(weights), *x.shape)
    return lambda: 2
"""
GIVES_3 = GIVES_2.replace("lambda: 2", "lambda: 3")
CANNOT_LOAD = "import no_such_module\ndef build(weights, x): pass"
CANNOT_BUILD = "def build(weights, x): return 1 / 0"


@pytest.mark.parametrize(
    ("missing", "said"),
    [(["MXNet", "JAX"], ["not installed, so left out: MXNet, JAX"]), ([], [])],
)
def test_one_line_says_what_is_not_installed(programs, monkeypatch, capsys, missing, said):
    programs(a=GIVES_2, b=GIVES_2)
    monkeypatch.setattr(bench, "missing_frameworks", lambda: missing)
    swept, lines = compared(1)
    assert lines == said
    assert (swept.baseline, swept.labels) == ("a", ["b"])
    compared(1, report=print)
    assert capsys.readouterr() == ("".join(f"{line}\n" for line in said), "")


def test_each_program_is_started_once_for_all_batches(programs):
    notes = programs(a=GIVES_2, b=GIVES_2)
    swept, _ = compared(1, 3, 8)
    assert list(swept) == [1, 3, 8]
    built = [f"is built for 3 {n} 512" for n in (1, 3, 8)]
    for label in "ab":
        of_program = [note[2:] for note in notes() if note[0] == label]
        assert of_program == ["starts", *built]


def test_a_program_that_fails_is_left_out_with_a_line(programs):
    programs(a=GIVES_2, b=CANNOT_LOAD, c=CANNOT_BUILD, d=GIVES_2)
    swept, lines = compared(1, 3)
    assert [list(comparison) for comparison in swept.values()] == [["a", "d"]] * 2
    assert lines == [
        "left out: candidate 'b' raised ModuleNotFoundError: No module named 'no_such_module' "
        "(<program>, line 3)",
        "left out: candidate 'c' raised ZeroDivisionError: division by zero (<program>, line 3)",
    ]


def test_options_of_a_comparison_of_frameworks_go_to_compare(programs):
    programs(a=GIVES_2, b=CANNOT_LOAD, c=CANNOT_BUILD, d=GIVES_3)
    shown = []
    with pytest.raises(ValueError, match="nothing is left to compare with 'a'"):
        compared(1)  # d returns something else
    options = {"progress": shown.append, "baseline": "d"}
    swept, _ = compared(1, check=False, **options)
    assert swept.baseline == "d"
    assert any("warming up a" in text for text in shown)


def test_frameworks_can_be_launched_several_times(programs):
    notes = programs(a=GIVES_2, b=GIVES_2)
    swept, lines = compared(1, launches=6, time_limit=0.06)
    assert lines == []
    assert len(swept[1].launches) == 6
    assert [notes().count(f"{label} starts") for label in "ab"] == [6, 6]
    with pytest.raises(TooFewLaunches, match="2 launches give no 95 % interval"):
        compared(1, launches=2)
