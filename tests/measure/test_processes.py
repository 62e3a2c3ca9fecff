"""Programs in processes of their own: what they answer, how they fail, and that they all end."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import FrozenInstanceError
from pathlib import Path
from textwrap import dedent

import numpy
import pytest
import torch
from process_helpers import default_sigint, gone, noted_starts

from d2lhybrid import CandidateError, own_process
from d2lhybrid.measure import processes
from d2lhybrid.measure.processes import ProgramRunner, close_all
from d2lhybrid.measure.timing import LONG_FIRST_CALLS, MIN_WARMUP, Rounds, Runner

posix = pytest.mark.skipif(os.name != "posix", reason="signals and groups are POSIX's")
ADDS = "def adds(x, y=1):\n    return lambda: x + y\n"


@pytest.fixture(autouse=True)
def started(monkeypatch):
    """The processes that a test starts; none of them may be left when it ends."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # else Python itself would flush
    processes_of_test = noted_starts(monkeypatch)
    yield processes_of_test
    left = [process for process in processes_of_test if process.poll() is None]
    for process in left:
        process.kill()
    assert left == []


@pytest.fixture
def start():
    """A function that starts a program, given as text; they are all closed behind the test."""
    runners = []

    def start(source, *args, first_calls=0, **options):
        source = dedent(source) if isinstance(source, str) else source
        options = {"timeout": 30, **options}
        runners.append(ProgramRunner("mine", own_process(source, **options), args, first_calls))
        return runners[-1]

    yield start
    close_all(runners)


def run(runner):
    """All that a comparison asks of a runner."""
    runner.load()
    runner.warm_up()
    for _ in range(50):
        runner.try_once()
    runner.measure(runner.fitting_calls(), untimed=1)
    return runner.results[-1]


def pid_in(file):
    """The number that a process writes into a file, as soon as it is there."""
    for _ in range(200):
        if file.exists() and file.read_text():
            return int(file.read_text())
        time.sleep(0.05)
    raise AssertionError(f"nothing was written to {file}")


# What a program is ----------------------------------------------------------------------------


def test_a_program_is_read_at_once_and_does_not_change(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = Path("mine.py")
    file.write_text("# -*- coding: latin-1 -*-\ndef _no(): 'ä'\ndef yes(): pass\n", "latin-1")
    program = own_process(file, threads=2, timeout=5)
    file.unlink()
    assert "def _no(): 'ä'" in program.source
    assert (program.build, program.filename) == ("yes", "mine.py")
    assert program.path == str(tmp_path.resolve() / "mine.py")
    assert (program.threads, program.timeout) == (2, 5.0)
    assert own_process(program.source, "_no").build == "_no"
    with pytest.raises(FrozenInstanceError):
        program.threads = 1


NO_PROGRAMS = [
    (3, {}, TypeError, "a text or the pathlib.Path of a file, not 3"),
    (Path("missing.py"), {}, FileNotFoundError, "missing.py"),
    ("mine.py", {}, ValueError, "one public function .* has: none; .* pass its pathlib.Path"),
    ("def _a(): 1", {}, ValueError, "has: none; add one"),
    ("def a(): 1\ndef b(): 1", {}, ValueError, "has: a, b; name the one .* build="),
    ("def a(): 1", {"build": "b"}, ValueError, "<program> has no function 'b' .* has: a"),
    ("class a: 1", {"build": "a"}, ValueError, "no function 'a' .* it has: none"),
    ("def a(): 1", {"build": 3}, ValueError, "no function 3"),
]


def test_what_is_no_program_gets_a_clear_error():
    for source, options, error, message in NO_PROGRAMS:
        with pytest.raises(error, match=message):
            own_process(source, **options)


def test_a_syntax_error_is_raised_at_once_with_its_place(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def a():\n    return (\n")
    with pytest.raises(SyntaxError) as caught:
        own_process(file)
    assert (caught.value.filename, caught.value.lineno) == (str(file), 2)


# What it answers ------------------------------------------------------------------------------


def test_it_has_what_a_runner_has(start):
    runner = start(ADDS, numpy.arange(3.0), 2)
    assert run(runner).tolist() == [2, 3, 4]
    here = Runner("mine", lambda: None, (), time.perf_counter)
    private = {name for name in vars(here) if name[0] == "_"} | {"args", "function"}
    for name in (vars(here).keys() | {"measure", "try_once", "fitting_calls"}) - private:
        assert hasattr(runner, name), name
    assert runner.built_in == "cold process"
    assert 0 < runner.fastest <= min(runner.warmup)
    assert runner.build > 0
    assert runner.inner_calls == 1
    assert runner.clock is time.perf_counter
    assert set(runner.machine["versions"]) >= {"Python", "numpy"}


def test_several_are_timed_in_rounds(start):
    runners = [start("def sums():\n    return lambda: sum(range(100))") for _ in range(2)]
    runners[1].label = "again"
    for runner in runners:
        runner.load()
    for runner in runners:
        runner.warm_up()
    rounds = Rounds(runners, runners[0])
    for _ in range(3):
        rounds.add()
    assert len(rounds) == 3
    assert all(time > 0 for timing in rounds.timings().values() for time in timing.block_a)


def test_the_result_is_fetched_when_it_is_asked_for(start):
    meta = "import torch\ndef a():\n    return lambda: torch.ones(3, device='meta')"
    for source, found in (("def a():\n    return object", "object cannot be sent "), (meta, "")):
        runner = start(source)
        runner.load()
        runner.warm_up()
        message = f"'mine' returned what cannot be checked: {found}.*; check=False needs no result"
        with pytest.raises(CandidateError, match=message):
            runner.results[-1]
        assert runner.measure(2, 1) > 0


def test_arguments_and_results_of_every_kind(start):
    args = 3, "ä", (1, [2.5, None]), {"k": numpy.float32([1])}
    result = run(start("def same(*args):\n    return lambda: args", *args))
    assert repr(result) == repr(args)
    large = numpy.random.default_rng(1).random(2**17)  # more than a pipe holds
    assert (run(start(ADDS, large, 0)) == large).all()


def test_arguments_that_cannot_be_sent_start_no_process(start, started):
    for value in (object(), [lambda: 1], torch.ones(2, dtype=torch.bfloat16)):
        with pytest.raises(TypeError, match="cannot be sent to another process"):
            start(ADDS, value)
    assert started == []


def test_results_of_a_framework(start):
    source = """
        import torch
        def doubles(x):
            x = torch.from_numpy(x)
            return lambda: (2 * x, (2 * x).bfloat16())
    """
    runner = start(source, numpy.float32([1, 2]), threads=1)
    exact, coarse = run(runner)
    assert exact.tolist() == numpy.asarray(coarse).tolist() == [2, 4]
    assert (str(exact.dtype), coarse.dtype) == ("float32", "torch.bfloat16")
    assert runner.machine["threads"] == 1
    assert "torch" in runner.machine["versions"]


def test_nothing_large_is_imported_before_the_program(start):
    source = """
        import sys
        LOADED = {"numpy", "torch", "networkx", "matplotlib"} & set(sys.modules)
        def a(x):
            return lambda: [*LOADED]
    """
    assert run(start(source, numpy.ones(1))) == []


def test_its_python_is_as_it_would_be_without_us(start, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "json.py").write_text("raise RuntimeError('the user has a file of this name')")
    say = "import sys; print([sys.path, sys.prefix])"
    plain = subprocess.run([sys.executable, "-c", say], capture_output=True, text=True).stdout
    source = """
        import gc, sys
        def a():
            return lambda: (repr([sys.path, sys.prefix]), gc.isenabled())
    """
    assert run(start(source)) == (plain.strip(), True)


def test_a_file_finds_its_neighbours_and_is_not_the_main_program(start, tmp_path):
    (tmp_path / "sched.py").write_text("VALUE = 7")  # the library has one, too
    file = tmp_path / "mine.py"
    file.write_text(
        "import sched, os\n"
        "def value():\n"
        "    return lambda: [sched.VALUE, __file__ == os.path.abspath(__file__), __name__]\n"
        "if __name__ == '__main__':\n"
        "    raise SystemExit('this is not for us')\n"
    )
    value, absolute, name = run(start(file))
    assert (value, absolute) == (7, True)
    assert name != "__main__"


def test_its_source_can_be_read_and_its_objects_be_pickled(start):
    source = """
        import copy, inspect, pickle
        from dataclasses import dataclass
        @dataclass
        class Point:
            x: "int" = 1
        def _helper():
            return "the source"
        def a():
            assert pickle.loads(pickle.dumps(Point(2))) == Point(2)
            return lambda: inspect.getsource(_helper) + inspect.getsource(Point)
    """
    result = run(start(source))
    assert "the source" in result
    assert 'x: "int" = 1' in result


def test_threads_are_set_before_the_start(start, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    source = """
        import os
        NAMES = "OMP_NUM_THREADS OPENBLAS_NUM_THREADS TF_NUM_INTRAOP_THREADS NPROC".split()
        def a():
            return lambda: [os.environ.get(name) for name in NAMES]
    """
    assert run(start(source, threads=3)) == ["3"] * 4
    assert run(start(source))[0] == "7"


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="Linux only")
def test_threads_are_also_the_number_of_its_cores(start):
    source = """
    import os, threading

    def cores():
        early = threading.Thread(target=threading.Event().wait, daemon=True)
        early.start()
        def ask():
            return [sorted(os.sched_getaffinity(int(t))) for t in os.listdir("/proc/self/task")]
        return ask
    """
    here = sorted(os.sched_getaffinity(0))
    for threads, cores in ((None, here), (1, here[-1:]), (2, here[-2:]), (99, here)):
        found = run(start(source, threads=threads))
        assert len(found) > 1
        assert found == [cores] * len(found), threads
    assert sorted(os.sched_getaffinity(0)) == here


def test_what_it_prints_and_reads_never_touches_the_answers(start, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    source = """
        import os, sys
        print('{"number": 1, "ok": null}')
        def a():
            try:
                input()
            except EOFError:
                pass
            print("ä \\ud800")
            def call():
                print("from Python", "." * 100)
                os.write(1, b'{"number": 2}\\n')
                os.write(2, b"\\xff")
                os.system("echo from C")
                return "fine"
            return call
    """
    assert run(start(source)) == "fine"


def test_many_calls_in_one(start):
    source = """
        from d2lhybrid.measure.candidates import repeated
        def a():
            return repeated(lambda: 5, 16)
    """
    runner = start(source)
    assert run(runner) == 5
    assert runner.inner_calls == 16


def test_an_answer_that_comes_late_is_not_taken_for_the_next(start, monkeypatch):
    runner = start(ADDS, 1)
    runner.load()
    runner.warm_up()

    def interrupted(self, number, doing):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ProgramRunner, "_answer", interrupted)
        with pytest.raises(KeyboardInterrupt):
            runner.measure(1, 1)
    assert runner.results[-1] == 2


# How it fails ---------------------------------------------------------------------------------

FAILS = [
    ("1 / 0\ndef a(): pass", "raised ZeroDivisionError: .* (<program>, line 1)", 1),
    ("def a():\n    return int('x')", "raised ValueError: invalid .* 'x' (<program>, line 2)", 2),
    (
        "import json\ndef a():\n    json.loads('')",  # inside the library
        "raised JSONDecodeError: Expecting value.* (<program>, line 3)",
        3,
    ),
    ("def a():\n    return lambda: 1 / 0", "raised ZeroDivisionError: .*, line 2)", 2),
    (
        "def a():\n    left = [0] * 40\n    return lambda: left.pop()",  # in a late call
        "raised IndexError: pop from empty list (<program>, line 3)",
        3,
    ),
    ("def a():\n    raise KeyError", "raised KeyError (<program>, line 2)", 2),
    ("import sys\ndef a():\n    sys.exit(3)", "raised SystemExit: 3 .*line 3)", 3),
    (
        "def a():\n    return 3",
        "raised TypeError: a() must return a function without arguments, not int",
        None,
    ),
    ("def a(): pass\ndel a", "raised AttributeError: .*'a'", None),  # no such function any more
    ("def a(): pass\nreturn", "raised SyntaxError: 'return' outside .* (<program>, line 2)", 2),
    (
        "import os\ndef a():\n    print('bye')\n    os._exit(3)",
        "ended with exit code 3 while it was built .*; its last words:\n    bye",
        None,
    ),
]
SIGNALLED = [
    (
        "import os\nimport sys\nprint('bye', file=sys.stderr)\n"
        "def a():\n    return lambda: os.kill(os.getpid(), 9)",
        "was killed by signal 9 (SIGKILL), as the system does when memory runs out, while .* "
        "first called; its last words:\n    bye",
        None,
    ),
    (
        "import ctypes\ndef a():\n    print('bye')\n    ctypes.string_at(0)",
        "was killed by signal 11 (SIGSEGV) while it was built .* (<program>, line 4); "
        "its last words:\n    bye\n    Fatal Python error: Segmentation fault",
        4,
    ),
    (
        "import resource\nresource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))\n"
        "def a():\n    return lambda: bytearray(2**31)",
        "raised MemoryError (<program>, line 4)",
        4,
    ),
    (  # its helper lives on
        "import os\ndef a():\n    if os.fork():\n        os._exit(4)\n    os.system('sleep 60')",
        "ended with exit code 4 while it was built",
        None,
    ),
]


def test_a_failure_says_what_happened_and_where(start):
    cases = FAILS + SIGNALLED * (os.name == "posix")
    for (source, message, line), runner in [(case, start(case[0])) for case in cases]:
        pattern = r"(?s)candidate 'mine' " + message.replace("(", r"\(").replace(")", r"\)")
        with pytest.raises(CandidateError, match=pattern) as caught:
            run(runner)
        error = caught.value
        assert (error.label, error.filename, error.line) == ("mine", "<program>", line), source
        assert len(str(error)) < 400


def test_the_traceback_shows_the_programs_own_lines(start, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("import json\ndef _read():\n    json.loads('')\ndef a():\n    _read()\n")
    with pytest.raises(CandidateError, match=r"mine\.py, line 3\)") as caught:
        run(start(file))
    (note,) = caught.value.__notes__
    assert note.count('mine.py", line') == 2
    assert "json.loads('')" in note


HANGS = [
    ("import time\ntime.sleep(60)\ndef a(): pass", "while its source was run"),
    ("import time\ndef a():\n    time.sleep(60)", "while it was built and first called"),
    ("import time\ndef a():\n    return lambda: time.sleep(60)", "while it was built and first"),
    (
        "import time\ndef a():\n    t = [0] * 40\n    return lambda: t and t.pop() or "
        "time.sleep(0 if t else 60)",
        "while it was called",
    ),
]


def test_a_program_that_hangs_is_ended(start, started):
    runners = [start(source, timeout=1) for source, _ in HANGS]
    for runner, process, (_, doing) in zip(runners, started, HANGS, strict=True):
        with pytest.raises(CandidateError, match=f"'mine' did not answer for 1 s {doing}"):
            run(runner)
        assert process.poll() is not None  # not only after `close`


def test_a_flood_is_an_error(start):
    floods = [
        "while True: print('x' * 999)",
        "while True: os.write(1, b'x' * 999)",
        "return lambda: print('x' * 2**16)",  # a quick one
    ]
    message = "'mine' printed more than 1 MiB while it was .*: it would be timed for printing"
    for runner in [start(f"import os\ndef a():\n    {flood}") for flood in floods]:
        with pytest.raises(CandidateError, match=message):
            run(runner)


# How it ends ----------------------------------------------------------------------------------


def test_programs_end_properly_and_at_the_same_time(start, tmp_path):
    # Each waits at its end for the other's.
    source = """
        import atexit, os, time
        def a(own, other):
            def end():
                open(own, "w").close()
                while not os.path.exists(other):
                    time.sleep(0.01)
                open(own + " done", "w").close()
            atexit.register(end)
            return int
    """
    one, two = str(tmp_path / "1"), str(tmp_path / "2")
    runners = [start(source, one, two), start(source, two, one)]
    for runner in runners:
        run(runner)
    close_all(runners)
    close_all(runners)
    assert Path(f"{one} done").exists()
    assert Path(f"{two} done").exists()


@posix
def test_a_program_that_does_not_even_read_is_late_and_killed(start, started):
    for timeout in (0.3, 30):
        runner = start(ADDS, numpy.ones(2**17), timeout=timeout)
        runner.load()
        os.kill(started[-1].pid, signal.SIGSTOP)
        if timeout < 1:
            with pytest.raises(CandidateError, match=r"did not answer for 0\.3 s"):
                runner.warm_up()
        else:
            runner.child.ask("build", b"x" * 2**20, 0, None)
        close_all([runner])
        assert started[-1].returncode == -signal.SIGKILL


def test_what_is_asked_after_the_end_is_an_error(start):
    runner = start(ADDS, 1)
    run(runner)
    close_all([runner])
    with pytest.raises(CandidateError, match="'mine' ended with exit code 0 while it was called"):
        runner.try_once()


def test_a_program_that_does_not_end_is_killed(start, started, monkeypatch):
    monkeypatch.setattr(processes, "GRACE", 0.2)
    runners = [
        start("import atexit, time\ndef a():\n    atexit.register(time.sleep, 60)\n    return int"),
        start(
            "import threading, time\ndef a():\n"
            "    threading.Thread(target=time.sleep, args=(60,)).start()\n    return int"
        ),
    ]
    for runner in runners:
        run(runner)
    close_all(runners)
    assert 0 not in [process.returncode for process in started]


@posix
def test_its_helpers_end_with_it(start, tmp_path):
    for fails in (False, True):
        for ignores in ("", "trap '' TERM; "):
            file = tmp_path / f"pid {fails} {len(ignores)}"
            helper = f"{ignores}echo $$ > '{file}'; while :; do sleep 1; done"
            source = f"""
                import os, subprocess
                def a():
                    subprocess.Popen(["sh", "-c", {helper!r}])
                    while not os.path.exists({str(file)!r}):
                        pass
                    return os.abort if {fails} else int
            """
            runner = start(source)
            if fails:
                with pytest.raises(CandidateError, match="SIGABRT"):
                    run(runner)
            else:
                run(runner)
                close_all([runner])
            assert gone(pid_in(file)), (fails, ignores)


PARENT = """
from d2lhybrid import own_process
from d2lhybrid.measure.processes import ProgramRunner, close_all

PROGRAM = '''
import os, subprocess, time
helper = subprocess.Popen(["sleep", "60"])
def _write(name, pid):
    with open(name + " new", "w") as file:
        file.write(str(pid))
    os.rename(name + " new", name)
def a():
    _write("helper", helper.pid)
    _write("worker", os.getpid())
    try:
        {work}
    except KeyboardInterrupt:
        _write("interrupted", 1)
    return int
'''
if __name__ == "__main__":
    runner = ProgramRunner("mine", own_process(PROGRAM))
    try:
        runner.load()
        runner.warm_up()
        open("ready", "w").write("1")
        import time
        time.sleep(60)
    finally:
        close_all([runner])
"""


@posix
def test_it_ends_when_the_comparison_is_interrupted_or_killed(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(Path(processes.__file__).parents[2])}
    parents = {}
    for sign in ("SIGKILL", "SIGTERM", "SIGINT"):
        for work in ("pass", "time.sleep(60)"):
            folder = tmp_path / f"{sign} {work}"
            folder.mkdir()
            parents[sign, folder] = subprocess.Popen(
                [sys.executable, "-c", PARENT.replace("{work}", work)],
                cwd=folder,
                env=environment,
                stderr=subprocess.PIPE,
                preexec_fn=default_sigint,
                start_new_session=True,  # as in a terminal: the signal goes to its whole group
            )
    pids = {}
    for (sign, folder), parent in parents.items():
        pids[folder] = [pid_in(folder / "worker"), pid_in(folder / "helper")]
        if folder.name.endswith("pass"):
            pid_in(folder / "ready")
        os.killpg(parent.pid, signal.Signals[sign])
    for (sign, folder), parent in parents.items():
        with parent:
            errors = parent.communicate(timeout=20)[1]
        assert all(map(gone, pids[folder])), folder
        assert not (folder / "interrupted").exists(), folder
        assert (b"KeyboardInterrupt" in errors) == (sign == "SIGINT"), folder


# The first calls ------------------------------------------------------------------------------


def test_more_first_calls_can_be_asked_for(clock, start):
    def calls(seconds, first_calls):
        runner = Runner("a", clock.work(seconds), (), clock, first_calls)
        return len(runner.warmup)

    assert calls(1e-3, 0) == calls(1e-3, 10) == 20
    assert calls(1e-3, 100) == 100
    assert calls(LONG_FIRST_CALLS / 8, 100) == 8
    assert calls(9.0, 100) == calls(9.0, 0) == MIN_WARMUP
    runner = start(ADDS, 1, first_calls=50)
    run(runner)
    assert len(runner.warmup) == 50


def test_peak_memory_is_of_the_process_alone(start):
    large = bytearray(300_000_000)
    large[::4096] = bytes(len(large[::4096]))
    runner = start("def one():\n    return lambda: 1\n")
    run(runner)
    runner.time_single_calls(0.01)
    assert len(runner.single) > 10
    assert runner.memory is None or runner.memory < 200_000_000
