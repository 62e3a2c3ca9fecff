"""What a machine reports and measures of itself: which names, and that nothing is left behind."""

import ctypes
import os
import queue
import socket
import subprocess
import tempfile
import threading
import timeit
from functools import partial
from pathlib import Path

import pytest
from benchmark_helpers import Clock

from d2lhybrid import CompilerNotFound, cache_sizes, measured_latencies
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
    assert caches("", "2", "3 Data", "5 Data 0K", "1 Data 48K") == {"L1": 49152}


def test_a_cache_that_may_not_be_read_is_left_out(caches, tmp_path):
    for name in ("level", "type", "size"):
        (tmp_path / "index7" / name).mkdir(parents=True)  # as unreadable, even for root
    assert caches("1 Data 48K") == {"L1": 49152}


def test_no_caches_are_reported(caches, monkeypatch, tmp_path):
    assert caches() == {}
    monkeypatch.setattr(machine, "CACHES", tmp_path / "nowhere")
    assert cache_sizes() == {}


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
taking a free lock
a system call
compressing 1 KB
1 MB from memory
to another thread and back
through TCP and back
writing 4 KB to the disk
starting Python
starting Python and importing torch
"""


@pytest.fixture
def leftovers(monkeypatch, tmp_path):
    """A function that says what is still there: threads, processes, sockets, files."""
    processes, sockets, threads = [], [], set(threading.enumerate())

    class Popen(subprocess.Popen):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            processes.append(self)

    def create_server(*args, create=socket.create_server):
        sockets.append(create(*args))
        return sockets[-1]

    monkeypatch.setattr(subprocess, "Popen", Popen)
    monkeypatch.setattr(socket, "create_server", create_server)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    opened = Path("/proc/self/fd")  # Linux only
    before = len(list(opened.glob("*")))

    def left():
        yield from set(threading.enumerate()) - threads
        yield from [one for one in processes if one.returncode is None]
        yield from [one for one in sockets if one.fileno() != -1]
        yield from tmp_path.iterdir()
        if (now := len(list(opened.glob("*")))) != before:
            yield f"{now - before} files or sockets"

    return lambda: list(left())


def test_all_is_measured_in_this_order_and_nothing_is_left(leftovers, monkeypatch):
    monkeypatch.setattr(machine, "ROUND", ROUND / 10)
    lines = []
    measured = measured_latencies(lines.append)
    assert list(measured) == NAMES.strip().splitlines()
    changed = "a line that another core changed"
    if measured[changed] is None:  # one core, or others keep the cores busy
        assert lines == [f"{changed}: not measured, no two threads ran at the same time"]
        del measured[changed]
    assert all(seconds > 0 for seconds in measured.values())
    importing = measured["starting Python and importing torch"]
    assert importing > measured["starting Python"] > measured["taking a free lock"]
    assert leftovers() == []


BRIEF = [name for name in LATENCIES if "torch" not in name]  # the other is a longer one of these


@pytest.mark.parametrize("error", [KeyboardInterrupt, ArithmeticError])
@pytest.mark.parametrize("name", BRIEF)
def test_nothing_is_left_after_an_error(name, error, monkeypatch, leftovers):
    def interrupted(statement, **names):
        exec(statement, names)
        raise error

    before = []

    def no_longer():  # the second question for the time is one too many
        if before:
            raise error
        before.append(0.0)
        return 0.0

    monkeypatch.setattr(machine, "_seconds", interrupted)
    monkeypatch.setattr(machine, "perf_counter", no_longer)
    with pytest.raises(error):
        LATENCIES[name]()
    assert leftovers() == []


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


def raises(error):
    raise error


def test_a_reason_is_a_line(monkeypatch):
    for error, reason in [
        (TimeoutError("no two threads"), "no two threads"),
        (subprocess.TimeoutExpired("python", 9), "Command 'python' timed out after 9 seconds"),
        (subprocess.CalledProcessError(3, "python"), "non-zero exit status 3."),
        (queue.Empty(), "Empty"),
        (CompilerNotFound("no C compiler was found"), "no C compiler was found"),
        (CompilationFailed("cc failed:\nmuch text"), "cc failed:"),
    ]:
        lines = []
        monkeypatch.setattr(machine, "LATENCIES", {"one": partial(raises, error)})
        assert measured_latencies(lines.append) == {"one": None}, reason
        (line,) = lines
        assert line.startswith("one: not measured, ")
        assert line.endswith(reason)


def test_an_interrupt_or_a_fault_of_ours_ends_all(monkeypatch):
    for error in (KeyboardInterrupt, ZeroDivisionError):
        monkeypatch.setattr(machine, "LATENCIES", {"one": partial(raises, error)})
        with pytest.raises(error):
            measured_latencies()


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


def test_without_a_compiler(missing, monkeypatch, tmp_path):
    assert missing() == []
    monkeypatch.setattr(
        machine, "read_c_file", lambda *file: read_c_file(*file) + "/* not yet compiled */"
    )
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert missing() == ["a line that another core changed"]


LACKING = {
    "sockets": ((socket, "create_server", fails), ["through TCP and back"]),
    "fsync": ((os, "fsync", fails), ["writing 4 KB to the disk"]),
    "temporary files": ((machine, "TemporaryFile", fails), ["writing 4 KB to the disk"]),
    "processes": ((subprocess, "Popen", fails), ["through TCP and back", "starting Python"]),
    "threads": (
        (threading.Thread, "start", no_thread),
        ["a line that another core changed", "to another thread and back"],
    ),
}


@pytest.mark.parametrize("what", LACKING)
def test_what_a_sandbox_lacks_is_not_measured(what, missing, monkeypatch, leftovers):
    place, expected = LACKING[what]
    monkeypatch.setattr(*place)
    assert missing() == expected
    assert leftovers() == []


CONNECT = "import socket, sys; a = socket.create_connection(('127.0.0.1', int(sys.argv[1])))"


@pytest.mark.parametrize(
    ("program", "limit", "error"),
    [
        ("pass", 0.2, "timed out"),
        (f"{CONNECT}; a.recv(2); a.recv(1)", 0.3, "timed out"),
        (f"{CONNECT}; a.recv(1)", 30, None),  # it has ended
    ],
)
def test_the_other_process_may_not_answer(program, limit, error, monkeypatch, leftovers):
    monkeypatch.setattr(machine, "ECHO", program)
    monkeypatch.setattr(machine, "LIMIT", limit)
    with pytest.raises(OSError, match=error):
        machine._through_tcp()
    assert leftovers() == []


def test_a_process_that_fails_is_not_timed():
    with pytest.raises(subprocess.CalledProcessError):
        machine._starting("import sys; sys.exit(3)")


def test_nothing_is_printed(capfd):
    assert machine._starting("import sys; print(1); print(2, file=sys.stderr)") > 0
    assert capfd.readouterr() == ("", "")


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


def test_threads_that_do_not_run_at_the_same_time_are_not_timed(monkeypatch, leftovers):
    monkeypatch.setattr(machine, "read_c_file", impatient)
    with pytest.raises(TimeoutError):
        machine._changed_line()
    assert leftovers() == []


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="threads can't choose cores here")
def test_each_thread_has_a_core_of_its_own(monkeypatch):
    before, chosen = os.sched_getaffinity(0), []
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {7, 3, 5})
    monkeypatch.setattr(os, "sched_setaffinity", lambda pid, cores: chosen.append((pid, *cores)))
    machine._changed_line(turns=1, games=2)
    assert sorted(chosen) == [(0, 3), (0, 3), (0, 7), (0, 7)]  # 0 is the thread itself
    monkeypatch.undo()
    machine._changed_line(turns=1, games=2)
    assert os.sched_getaffinity(0) == before


def test_a_system_may_not_let_threads_choose(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert machine._changed_line(turns=2, games=9) > 0


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
