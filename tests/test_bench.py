"""The bench: its candidates, and what happens to one that fails."""

import sys
from io import StringIO

import torch
from measure_helpers import Clock, fails

from d2lhybrid import bench, get_net, recipe
from d2lhybrid.limits import TIMES


class Terminal(StringIO):
    def isatty(self):
        return True


def test_the_bench_ends_with_our_compiler_and_its_limits():
    net, x = get_net(), torch.ones(1, 512)
    ways = bench.our_ways(net)
    assert list(ways) == ["hybridize", "the same C, in a C loop", "limit: read the weights"]
    for way in ways.values():
        built = way.build()
        function, times = getattr(built, "function", built), getattr(built, "times", 1)
        assert times == (1 if built is function else TIMES)
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
    assert {"torch.compile", "NumPy", "hybridize", "limit: read the weights"} < {*swept.labels}


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


def test_a_callers_on_error_gets_the_errors(monkeypatch, capsys):
    clock, errors = Clock(), []
    ways = {"a": clock.work(1e-3), "broken": recipe(fails), "c": clock.work(1e-3)}
    monkeypatch.setattr(bench, "ways", lambda net: ways)
    bench.compare_ways([1], clock=clock, on_error=errors.append)
    assert [error.label for error in errors] == ["broken"]
    assert capsys.readouterr().out == ""
