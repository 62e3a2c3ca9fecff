"""What a machine reports and measures of itself: which names, and that nothing is left behind."""

import ctypes
import os
import queue
import socket
import subprocess
import threading
import timeit
from functools import partial

import pytest
from benchmark_helpers import Clock

from d2lhybrid import cache_sizes, measured_latencies
from d2lhybrid.machine import caches as machine
from d2lhybrid.machine.caches import ENOUGH, LATENCIES, ROUND, ROUNDS
from d2lhybrid.toolchain import CompilationFailed, load_function, read_c_file

# Caches ------------------------------------------------------------------------------------------


@pytest.fixture
def caches(tmp_path, monkeypatch):
    """A function that writes what Linux would report, in the order given."""
    monkeypatch.setattr(machine, "CACHES", tmp_path)

    def report(*reported):
        for number, texts in enumerate(reported):
            folder = tmp_path / f"index{number}"
            folder.mkdir()
            for name, text in zip(("level", "type", "size"), texts.split(), strict=False):
                (folder / name).write_text(text + "\n")
        return cache_sizes()

    return report


def test_the_caches_for_data_are_reported(caches):
    found = caches("1 Data 48K", "1 Instruction 32K", "2 Unified 1024K", "3 Unified 32768K")
    assert list(found.items()) == [("L1", 49152), ("L2", 2**20), ("L3", 2**25)]


def test_odd_caches_are_left_out(caches):
    assert caches() == {}
    assert caches("", "2", "3 Data", "5 Data 0K", "1 Data 48K") == {"L1": 49152}


# The clock ---------------------------------------------------------------------------------------


@pytest.fixture
def rounds(monkeypatch):
    """Each round of `machine._seconds`, as its repetitions; `do` is what it repeats."""
    clock, seen = Clock(), []

    class Timer(timeit.Timer):
        def __init__(self, statement, globals):
            self.names = globals

        def timeit(self, repetitions):
            seen.append(repetitions)
            before = clock.now
            clock.work(repetitions * self.names["takes"](len(seen)))()
            return clock.now - before

    monkeypatch.setattr(machine, "Timer", Timer)
    return seen


def test_the_least_of_the_rounds_counts(rounds):
    times = [0.04, 0.05, 0.03, 0.06, 0.07]
    assert machine._seconds("do()", takes=lambda n: times[n - 1]) == pytest.approx(0.03)
    assert rounds == [1] * ROUNDS


def test_what_is_quick_is_repeated_until_a_round_is_long(rounds):
    assert machine._seconds("do()", takes=lambda n: ROUND / 100) == pytest.approx(ROUND / 100)
    assert rounds == [1, 2, 4, 8, 16, 32, 64, *[128] * ROUNDS]


def test_what_is_slow_is_not_repeated_for_ever(rounds):
    assert machine._seconds("do()", takes=lambda n: 1.2 * ENOUGH) == pytest.approx(1.2 * ENOUGH)
    assert rounds == [1]


# Latencies ---------------------------------------------------------------------------------------

NAMES = """
a line that another core changed
acquiring a free lock
a system call
compressing 1 KB
1 MB from memory
to another thread and back
through TCP and back
writing 4 KB to the disk
starting Python
starting Python and importing torch
"""


def test_all_is_measured_in_this_order(monkeypatch):
    monkeypatch.setattr(machine, "ROUND", ROUND / 10)
    lines, threads = [], set(threading.enumerate())
    measured = measured_latencies(lines.append)
    assert list(measured) == NAMES.strip().splitlines()
    changed = "a line that another core changed"
    if measured[changed] is None:  # one core, or others keep the cores busy
        assert lines == [f"{changed}: not measured, no two threads ran at the same time"]
        del measured[changed]
    assert all(seconds > 0 for seconds in measured.values())
    importing = measured["starting Python and importing torch"]
    assert importing > measured["starting Python"] > measured["acquiring a free lock"]
    assert set(threading.enumerate()) == threads


BRIEF = [name for name in LATENCIES if "torch" not in name]  # the other is a longer one of these


def fails(*args, **options):
    raise OSError("a sandbox does not allow it\nand says more")


def no_thread(self):
    raise RuntimeError("can't start new thread")  # as Python says it


def succeeds():
    return 1.0


def once(statement, **names):
    exec(statement, names)
    return 1.0


def test_what_fails_is_reported_and_has_no_figure(monkeypatch, capsys):
    kinds = {"one": succeeds, "two": fails, "three": succeeds}
    monkeypatch.setattr(machine, "LATENCIES", kinds)
    assert measured_latencies() == {"one": 1.0, "two": None, "three": 1.0}
    assert capsys.readouterr().out == "two: not measured, a sandbox does not allow it\n"


def test_a_reason_is_a_line_and_what_is_no_reason_ends_all(monkeypatch):
    def measured(error):
        def fails():
            raise error

        lines = []
        monkeypatch.setattr(machine, "LATENCIES", {"one": fails})
        assert measured_latencies(lines.append) == {"one": None}
        return lines

    assert measured(queue.Empty()) == ["one: not measured, Empty"]
    assert measured(CompilationFailed("cc failed:\nmuch")) == ["one: not measured, cc failed:"]
    assert len(measured(subprocess.TimeoutExpired("python", 9))) == 1
    for error in (KeyboardInterrupt, ZeroDivisionError):
        with pytest.raises(error):
            measured(error)


@pytest.fixture
def missing(monkeypatch):
    """A function that says which of the brief ones can't be measured here."""
    kinds = {name: LATENCIES[name] for name in BRIEF}
    # one turn each, which threads can also take one after the other: on one core, or a busy one
    kinds["a line that another core changed"] = partial(machine._changed_line, turns=1, games=1)
    monkeypatch.setattr(machine, "LATENCIES", kinds)
    monkeypatch.setattr(machine, "_seconds", once)

    def not_measured():
        measured = measured_latencies()
        assert list(measured) == BRIEF
        return [name for name in kinds if measured[name] is None]

    return not_measured


LACKING = {
    "sockets": ((socket, "create_server", fails), ["through TCP and back"]),
    "fsync": ((os, "fsync", fails), ["writing 4 KB to the disk"]),
    "processes": ((subprocess, "Popen", fails), ["through TCP and back", "starting Python"]),
    "threads": (
        (threading.Thread, "start", no_thread),
        ["a line that another core changed", "to another thread and back"],
    ),
}


@pytest.mark.parametrize("what", LACKING)
def test_what_a_sandbox_lacks_is_not_measured(what, missing, monkeypatch):
    place, expected = LACKING[what]
    monkeypatch.setattr(*place)
    assert missing() == expected


# The line that two cores write -------------------------------------------------------------------


def impatient(*file):
    text = read_c_file(*file)
    assert "patience = 20000000" in text
    return text.replace("patience = 20000000", "patience = 1000")


def test_a_thread_writes_only_when_it_is_its_turn():
    bounce = load_function(impatient(machine.__file__, "bounce.c"), "bounce")
    bounce.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_ssize_t]
    bounce.restype = ctypes.c_ssize_t
    cases = [(0, 0, 1, 2, 1), (0, 0, 9, 2, 1), (0, 1, 9, 1, 0), (7, 7, 8, 9, 8), (0, 0, 0, 0, 0)]
    for first, own, turns, stops, then in cases:
        number = ctypes.c_ssize_t(first)
        found = bounce(ctypes.addressof(number), own, turns), number.value
        assert found == (stops, then), (first, own, turns)


def test_threads_that_do_not_run_at_the_same_time_are_not_timed(monkeypatch):
    monkeypatch.setattr(machine, "read_c_file", impatient)
    with pytest.raises(TimeoutError):
        machine._changed_line()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="threads can't choose cores here")
def test_each_thread_has_a_core_of_its_own(monkeypatch):
    chosen = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {7, 3, 5})
    monkeypatch.setattr(os, "sched_setaffinity", lambda pid, cores: chosen.append((pid, *cores)))
    machine._changed_line(turns=1, games=2)
    assert sorted(chosen) == [(0, 3), (0, 3), (0, 7), (0, 7)]  # 0 is the thread itself


def test_the_best_game_counts_and_those_lost_do_not(monkeypatch):
    clock, games = Clock(), iter([0.04, 0.001, 0.03, 0.05])

    def load_another(source, name):
        def bounce(number, own, turns):
            if own == 0:
                clock.now += (takes := next(games))
            return 0 if own == 0 and takes == 0.001 else turns + own

        return bounce

    monkeypatch.setattr(machine, "load_function", load_another)
    monkeypatch.setattr(machine, "perf_counter", clock)
    assert machine._changed_line(turns=10, games=4) == pytest.approx(0.003)
