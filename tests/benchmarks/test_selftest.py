"""The self-test of `compare`: its questions, its load and its table."""

import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from benchmarks import selftest
from benchmarks.__main__ import main
from d2lhybrid.benchmark.verdict import FASTER, INCONCLUSIVE, SLOWER


def test_summary_counts_right():
    answers = [
        {"verdict": SLOWER, "speedup": 0.96, "took": 0.1, "timeit": 0.96 / 1.01},
        {"verdict": SLOWER, "speedup": 0.97, "took": 0.3, "timeit": 0.97},
        {"verdict": FASTER, "speedup": 1.02, "took": 0.2, "timeit": 1.0},
        {"verdict": INCONCLUSIVE, "speedup": 0.98, "took": 0.2, "timeit": 0.98},
    ]
    row = selftest.summary("q", "busy", SLOWER, answers)
    head = ["q", "busy", "4", "2", "1", "1", "1"]
    assert row == [*head, "0.9750", "0.9750", "0.5%", "2.0%", "0.30 s"]


@pytest.mark.parametrize("question", ["two_digests", "two_programs"])
def test_longer_input_is_slower(question, monkeypatch):
    monkeypatch.setattr(selftest, "BLOCK", 8)  # on a busy machine, long calls are interrupted
    monkeypatch.setattr(selftest, "PROCESSES", 6)
    answer = getattr(selftest, question)(30_000, 0)
    assert answer["verdict"] in (SLOWER, INCONCLUSIVE)  # a busy machine may leave it open
    assert answer["speedup"] < 0.5
    assert 0 < answer.get("timeit", 0.05) < 0.1


def test_every_question_gets_a_row(monkeypatch, capsys):
    def asked(one, other, *args, **options):
        return {"verdict": SLOWER, "speedup": 0.9, "took": 0.1}

    monkeypatch.setattr(selftest, "answer", asked)
    monkeypatch.setattr(selftest, "interleaved_timeit", lambda one, other: 0.9)
    main(["self-test", "4"])
    rows = capsys.readouterr().out.splitlines()[1:]
    assert len(rows) == 2 + 2 * len(selftest.BLOCKS) + 2 * len(selftest.PROGRAMS)


LOAD = """
from benchmarks.selftest import busy
with busy():
    print("busy", flush=True)
    import os; os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs groups of processes, to clean up")
def test_load_ends_with_the_program():
    command = [sys.executable, "-c", LOAD]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    try:
        # The children hold its standard output, too: it ends when they all have.
        assert program.communicate(timeout=20)[0].split() == [b"busy"]
    finally:
        with suppress(ProcessLookupError):  # there is none left
            os.killpg(program.pid, signal.SIGKILL)
