"""The line that shows how far it is."""

import io
import re
import sys

from benchmark_helpers import crossing_sweep

from d2lhybrid import compare


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_for_terminals_and_leaves_nothing(clock, monkeypatch, capsys):
    candidates = {"a": clock.work(0.5), "b": clock.work(1.0)}
    compare(candidates, clock=clock)
    assert capsys.readouterr() == ("", "")  # a notebook's or a file's stderr
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    compare({"a": clock.work(1e-3), "b": clock.work(1e-3)}, clock=clock)
    assert " s of " not in terminal.getvalue()  # soon done
    compare(candidates, clock=clock)
    shown = terminal.getvalue()
    assert re.search(r"\r18 s of 30 s", shown)
    lines = shown.split("\r")
    assert lines[-1] == ""
    assert not lines[-2].strip()  # wiped
    said = []
    crossing_sweep(clock, progress=said.append)
    assert "size 16, 2 of 3: warming up b" in said
    assert said[-1] == ""
    monkeypatch.setattr(sys, "stderr", None)  # closed
    compare(candidates, clock=clock)
