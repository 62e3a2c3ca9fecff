"""The self-test of `compare`: its questions, its load and its table."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial
from math import exp

import pytest

from d2lhybrid.measure import selftest
from d2lhybrid.measure.verdict import FASTER, SLOWER


def test_the_self_test_counts_right():
    answers = [
        {"verdict": SLOWER, "speedup": 0.96, "took": 0.1, "timeit": 0.96 / 1.01},
        {"verdict": SLOWER, "speedup": 0.97, "took": 0.3, "timeit": 0.97},
        {"verdict": FASTER, "speedup": 1.02, "took": 0.2, "timeit": 1.0},
    ]
    row = selftest.summary("q", "busy", SLOWER, answers)
    titles = [column.title for column in selftest.COLUMNS]
    named = dict(zip(titles, row, strict=True))
    assert [named[k] for k in ("runs", "right", "faster", "slower")] == ["3", "2", "1", "2"]
    assert [named[k] for k in ("above 1", "off by", "at most")] == ["1", "1.0%", "2.0%"]
    assert named["longest"] == "0.30 s"
    row = selftest.summary("q", "busy", SLOWER, answers[:1])
    alone = dict(zip(titles, row, strict=True))
    assert [alone[k] for k in ("runs", "right", "off by", "at most")] == ["1", "1", "1.0%", "1.0%"]
    answer = selftest.two_loops(3000, 0)
    assert answer["verdict"] == SLOWER
    assert exp(-1.5) < answer["timeit"] < 0.6


def test_twins_are_asked_about_in_both_orders(monkeypatch):
    nets = iter("abcd")
    monkeypatch.setattr("d2lhybrid.nets.get_net", lambda: next(nets))
    monkeypatch.setattr(selftest, "answer", lambda one, other, x: (one, other, tuple(x.shape)))
    assert selftest.twins(0) == ("a", "b", (1, 512))
    assert selftest.twins(1) == ("d", "c", (1, 512))


def test_two_networks_are_compared_although_their_results_differ(monkeypatch):
    monkeypatch.setattr(selftest, "compare", partial(selftest.compare, time_limit=0.01))
    assert selftest.answer(lambda: 1, lambda: 2).keys() == {"verdict", "speedup", "took"}


LOAD = """
from d2lhybrid.measure.selftest import busy
with busy():
    print("busy", flush=True)
    {then}
"""


@pytest.mark.skipif(os.name != "posix", reason="needs groups of processes, to clean up")
@pytest.mark.parametrize("then", ["pass", "import os; os.kill(os.getpid(), 9)"])
def test_the_load_ends_with_the_program(then):
    command = [sys.executable, "-c", LOAD.format(then=then)]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    try:
        # The children hold its standard output, too: it ends when they all have.
        assert program.communicate(timeout=20)[0].split() == [b"busy"]
    finally:
        with suppress(ProcessLookupError):  # there is none left
            os.killpg(program.pid, signal.SIGKILL)
