"""The line that shows how far it is."""

import io
import sys

from benchmark_helpers import crossing_sweep

from d2lhybrid import compare


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_for_terminals_and_is_erased(clock, monkeypatch, capsys):
    candidates = {"a": clock.work(0.5), "b": clock.work(1.0)}
    compare(candidates, clock=clock)
    assert capsys.readouterr() == ("", "")  # a notebook's or a file's stderr
    monkeypatch.setattr(sys, "stderr", Terminal())
    compare(candidates, clock=clock)
    lines = sys.stderr.getvalue().split("\r")
    assert "measuring" in [line.strip() for line in lines]
    assert lines[-1] == lines[-2].strip() == ""
    monkeypatch.setattr(sys, "stderr", None)  # closed
    compare(candidates, clock=clock)


def test_progress_gets_each_step(clock):
    said = []
    crossing_sweep(clock, progress=said.append)
    assert "size 16, 2 of 3: warming up b" in said
    assert said[-1] == ""
