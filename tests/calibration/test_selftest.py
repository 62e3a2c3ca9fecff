"""The self-test of `compare`: its questions, its load and its table."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial

import pytest

from calibration import selftest
from d2lhybrid.benchmark.statistics import FASTER, SLOWER, UNCLEAR


@pytest.fixture
def short_calls(monkeypatch):
    """Where many other programs run, long calls are interrupted more often than short ones."""
    monkeypatch.setattr(selftest, "BLOCK", 8)


def test_the_self_test_counts_right(short_calls):
    answers = [
        {"verdict": SLOWER, "speedup": 0.96, "took": 0.1, "timeit": 0.96 / 1.01},
        {"verdict": SLOWER, "speedup": 0.97, "took": 0.3, "timeit": 0.97},
        {"verdict": FASTER, "speedup": 1.02, "took": 0.2, "timeit": 1.0},
        {"verdict": UNCLEAR, "speedup": 0.98, "took": 0.2, "timeit": 0.98},
    ]
    row = selftest.summary("q", "busy", SLOWER, answers)
    titles = [column.title for column in selftest.COLUMNS]
    named = dict(zip(titles, row, strict=True))
    assert [named[k] for k in ("runs", "right", "open", "wrong")] == ["4", "2", "1", "1"]
    assert [named[k] for k in ("above 1", "off by", "at most")] == ["1", "0.5%", "2.0%"]
    assert named["longest"] == "0.30 s"
    row = selftest.summary("q", "busy", SLOWER, answers[:1])
    alone = dict(zip(titles, row, strict=True))
    assert [alone[k] for k in ("runs", "right", "off by", "at most")] == ["1", "1", "1.0%", "1.0%"]
    answer = selftest.two_digests(30_000, 0)
    assert answer["verdict"] in (SLOWER, UNCLEAR)  # a busy machine may leave it open
    assert answer["speedup"] < 0.5
    assert 0 < answer["timeit"] < 0.1


def test_programs_are_launched(short_calls, monkeypatch):
    monkeypatch.setattr(selftest, "LAUNCHES", 6)
    answer = selftest.two_programs(30_000, 0)
    assert answer["verdict"] in (SLOWER, UNCLEAR)  # a busy machine may leave it open
    assert answer["speedup"] < 0.5


def test_every_question_gets_a_row(monkeypatch):
    def asked(one, other, *args, **options):
        return {"verdict": SLOWER, "speedup": 0.9, "took": 0.1}

    monkeypatch.setattr(selftest, "answer", asked)
    monkeypatch.setattr(selftest, "interleaved_timeit", lambda one, other: 0.9)
    rows = []
    table = selftest.self_test(1, rows.append)
    assert table.splitlines()[1:] == rows
    assert len(rows) == 2 + 2 * len(selftest.BLOCKS) + 2 * len(selftest.PROGRAMS)


def test_two_networks_are_compared_although_their_results_differ(monkeypatch):
    monkeypatch.setattr(selftest, "compare", partial(selftest.compare, time_limit=0.01))
    assert selftest.answer(lambda: 1, lambda: 2).keys() == {"verdict", "speedup", "took"}


LOAD = """
from calibration.selftest import busy
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
