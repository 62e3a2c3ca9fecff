"""The comparisons of `bench`: their candidates, and what happens to one that fails."""

import sys
from io import StringIO

import pytest
import torch
from benchmark_helpers import Clock, fails

from d2lhybrid import build, get_net, isolated
from d2lhybrid.benchmark.comparison import TooFewProcesses
from d2lhybrid.cross_framework import missing_frameworks, variants
from d2lhybrid.hybrid.compiler import TIMES


def test_last_variants_are_our_compiler_and_its_limits():
    net, x = get_net().requires_grad_(False), torch.ones(1, 512)
    candidates = variants.variants(net)
    ours = ["hybridize", "the same C, in a C loop", "limit: read the weights"]
    assert list(candidates)[-3:] == ours
    for label in ours:
        built = candidates[label].make()
        function, calls = getattr(built, "function", built), getattr(built, "calls", 1)
        assert calls == (1 if built is function else TIMES)
        for batch in (x, x.expand(3, 512).contiguous()):
            assert torch.allclose(function(batch), net(batch), atol=1e-5)


def test_only_the_baseline_keeps_gradients():
    net, x = get_net(), torch.ones(2, 512)
    (baseline, eager), (frozen, function), *_ = variants.variants(net).items()
    assert (baseline, frozen) == ("eager", "eager, no gradients")
    assert eager(x).requires_grad
    assert not function(x).requires_grad
    assert torch.equal(eager(x), function(x))


def test_progress_is_not_muted(monkeypatch):
    terminal = StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(variants, "variants", lambda net: {"a": len, "b": len})
    monkeypatch.setattr(sys, "stderr", terminal)
    variants.compare_variants([3], time_limit=1e-3)
    assert "warming up a" in terminal.getvalue()


def test_every_variant_runs(monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda net, **options: net)  # it takes a minute
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    left_out = []
    try:
        swept = variants.compare_variants([3], report=left_out.append, time_limit=1e-3)
    finally:
        torch.set_num_threads(threads)
    assert left_out == []
    installed = {"NumPy", "ONNX Runtime", "JAX"} - {*missing_frameworks()}
    assert {"torch.compile", "hybridize", "limit: read the weights"} | installed < {*swept.labels}


def test_what_fails_is_left_out_and_the_others_are_built_once_for_each_size(monkeypatch, capsys):
    clock, built = Clock(), []

    def builds(label):
        return build(lambda: built.append(label) or clock.work(1e-3))

    candidates = {"a": clock.work(1e-3), "b": builds("b"), "broken": build(fails)}
    monkeypatch.setattr(variants, "variants", lambda net: candidates | {"c": builds("c")})
    swept = variants.compare_variants([1, 2], clock=clock)
    assert list(swept) == [1, 2]
    assert swept.labels == ["b", "c"]
    assert built == ["b", "c"] * 2
    said = "left out: candidate 'broken' raised ZeroDivisionError: by zero\n"
    assert capsys.readouterr() == (said, "")


# The frameworks: programs, here tiny ones, which note when they start and what they are given


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A function that makes programs, label -> text, the variants, and returns their notes."""
    notes = tmp_path / "notes"
    notes.touch()
    monkeypatch.setattr(variants, "missing_frameworks", list)

    def programs(**texts):
        note = (
            f"def note(label, *words):\n    print(label, *words, file=open({str(notes)!r}, 'a'))\n"
        )
        found = {
            label: isolated(note + text.replace("LABEL", repr(label)), "build", threads=1)
            for label, text in texts.items()
        }
        monkeypatch.setattr(variants, "framework_variants", lambda: found)
        return lambda: notes.read_text().splitlines()

    return programs


GIVES_2 = """
note(LABEL, "starts")
def build(weights, x):
    note(LABEL, "is built for", len(weights), *x.shape)
    return lambda: 2
"""
GIVES_3 = GIVES_2.replace("lambda: 2", "lambda: 3")
CANNOT_LOAD = "import no_such_module\ndef build(weights, x): pass"
CANNOT_BUILD = "def build(weights, x): return 1 / 0"


def test_frameworks_start_once_for_all_sizes_and_missing_ones_are_named(
    programs, monkeypatch, capsys
):
    notes = programs(a=GIVES_2, b=GIVES_2)
    monkeypatch.setattr(variants, "missing_frameworks", lambda: ["MXNet", "JAX"])
    swept = variants.compare_frameworks((1, 3, 8), time_limit=1e-3)
    assert capsys.readouterr() == ("not installed, so left out: MXNet, JAX\n", "")
    assert (list(swept), swept.baseline, swept.labels) == ([1, 3, 8], "a", ["b"])
    built = [f"is built for 3 {n} 512" for n in (1, 3, 8)]
    for label in "ab":
        assert [note[2:] for note in notes() if note[0] == label] == ["starts", *built]


def test_frameworks_that_fail_are_left_out(programs, capsys):
    programs(a=GIVES_2, b=CANNOT_LOAD, c=CANNOT_BUILD, d=GIVES_2)
    swept = variants.compare_frameworks((1, 3), time_limit=1e-3)
    assert [list(comparison) for comparison in swept.values()] == [["a", "d"]] * 2
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("left out: candidate 'b' raised ModuleNotFoundError")
    assert second.startswith("left out: candidate 'c' raised ZeroDivisionError")


def test_options_of_compare_frameworks_go_to_compare(programs):
    programs(a=GIVES_2, b=CANNOT_LOAD, c=CANNOT_BUILD, d=GIVES_3)
    with pytest.raises(ValueError, match="nothing is left to compare with 'a'"):
        variants.compare_frameworks(time_limit=1e-3)  # d returns something else
    swept = variants.compare_frameworks(time_limit=1e-3, check=False, baseline="d")
    assert swept.baseline == "d"


def test_frameworks_can_be_launched_several_times(programs, capsys):
    notes = programs(a=GIVES_2, b=GIVES_2)
    swept = variants.compare_frameworks(processes=6, time_limit=0.06)
    assert capsys.readouterr().out == ""
    assert len(swept[1].processes) == 6
    assert [notes().count(f"{label} starts") for label in "ab"] == [6, 6]
    with pytest.raises(TooFewProcesses):
        variants.compare_frameworks(processes=2)
