"""The bench's candidates, as they are; and what its command line refuses."""

import logging
import re
import sys
import warnings
from io import StringIO

import pytest
import torch

from d2lhybrid import bench, get_net
from d2lhybrid.__main__ import main
from d2lhybrid.bench import compiled_ways, muted, torch_ways
from d2lhybrid.limits import TIMES, c_loop, reading


class Terminal(StringIO):
    def isatty(self):
        return True


def test_the_bench_ends_with_our_compiler_and_its_limits():
    net, x = get_net(), torch.ones(1, 512)
    ways = compiled_ways(net)
    assert list(ways) == ["hybridize", "the same C, in a C loop", "limit: read the weights"]
    for way in ways.values():
        built = way.build()
        function, times = getattr(built, "function", built), getattr(built, "times", 1)
        assert times == (1 if built is function else TIMES)
        for batch in (x, x.expand(3, 512).contiguous()):
            assert torch.allclose(function(batch), net(batch), atol=1e-5)


def test_the_bench_wants_gradients_from_the_baseline_alone():
    net, x = get_net(), torch.ones(2, 512)
    ways = torch_ways(net)
    assert list(ways)[0] == "eager"  # noqa: RUF015
    assert ways["eager"](x).requires_grad
    assert not ways["eager, no gradients"](x).requires_grad
    assert torch.equal(ways["eager"](x), ways["eager, no gradients"](x))


def test_muted_may_stand_in_muted(caplog):
    with muted():
        with muted():
            pass
        logging.getLogger("torch").warning("no GPU")
    assert caplog.records == []


def test_the_progress_of_the_bench_is_not_muted(monkeypatch):
    monkeypatch.setattr(bench, "torch_ways", lambda net: {"a": len, "b": len})
    monkeypatch.setattr(bench, "other_ways", lambda net: {})
    monkeypatch.setattr(bench, "compiled_ways", lambda net: {})
    monkeypatch.setattr(sys, "stderr", Terminal())
    bench.bench([3], time_limit=1e-3)
    assert "warming up a" in sys.stderr.getvalue()


def test_every_way_runs_on_the_benchs_own_inputs(monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda net, **options: net)  # it takes a minute
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    left_out = []
    try:
        swept = bench.bench([3], report=left_out.append, time_limit=1e-3)
    finally:
        torch.set_num_threads(threads)
    assert left_out == []
    assert {"torch.compile", "NumPy", "hybridize", "limit: read the weights"} < {*swept.labels}


def test_reports_and_warnings_of_the_compilers_are_not_shown(capsys, caplog):
    with warnings.catch_warnings(record=True) as heard, muted():
        warnings.warn("no GPU", stacklevel=1)
        logging.getLogger("torch").warning("no GPU")
        print("chosen: a kernel")
        print("chosen: a kernel", file=sys.stderr)  # as max_autotune does
    assert [heard, caplog.records, *capsys.readouterr()] == [[], [], "", ""]


@pytest.mark.parametrize("limit", [c_loop, reading])
def test_a_limit_returns_what_its_input_gives(limit):
    net, x = get_net(), torch.ones(2, 512)
    run = limit(net, x).function
    for other in (x, -x, x):
        assert torch.allclose(run(other), net(other), atol=1e-5)
    x *= 2
    assert torch.allclose(run(x), net(x), atol=1e-5)
    with torch.inference_mode():
        assert torch.allclose(run(x + 1), net(x + 1), atol=1e-5)


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
    monkeypatch.setattr(bench, "bench", lambda batches: pytest.fail("it measured"))
    with pytest.raises(SystemExit) as stop:
        main(["bench", *file])
    assert stop.value.code == 2
    assert re.search(message, capsys.readouterr().err)
    assert not any(tmp_path.iterdir())


def test_a_result_stays_until_there_is_a_new_one(tmp_path, monkeypatch):
    def interrupted(batches):
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "bench", interrupted)
    file = tmp_path / "a.json"
    file.write_text("{}")
    with pytest.raises(KeyboardInterrupt):
        main(["bench", "--json", str(file)])
    assert file.read_text() == "{}"
