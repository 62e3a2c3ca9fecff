"""Programs in processes of their own: what they are given and return, and how they fail."""

import os
import sys
from pathlib import Path
from textwrap import dedent

import numpy
import pytest
from process_helpers import noted_starts

from d2lhybrid import CandidateError, isolated
from d2lhybrid.benchmark import processes
from d2lhybrid.benchmark.processes import ProgramRunner, ProgramServer, close_all

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

    def start(source, *args, **options):
        source = dedent(source) if isinstance(source, str) else source
        runners.append(ProgramRunner("mine", isolated(source, **options), args))
        return runners[-1]

    yield start
    close_all(runners)


def run(runner, first_calls=0):
    """All that a comparison asks of a runner; the last result."""
    runner.load()
    runner.warm_up(first_calls)
    for _ in range(50):
        runner.try_once()
    runner.measure(runner.fitting_calls(), 1)
    return runner.results[-1]


# What a program is ----------------------------------------------------------------------------


def test_program_file_is_read_at_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = Path("mine.py")
    file.write_text("def _no(): 'ä'\ndef yes(): pass\n", "utf-8")
    program = isolated(file, threads=2)
    file.unlink()
    assert "def _no(): 'ä'" in program.source
    assert (program.build, program.filename) == ("yes", "mine.py")
    assert program.path == str(tmp_path.resolve() / "mine.py")
    assert program.threads == 2
    assert isolated(program.source, "_no").build == "_no"


@pytest.mark.parametrize(
    ("source", "build", "error"),
    [
        (3, None, TypeError),
        (Path("missing.py"), None, FileNotFoundError),
        ("mine.py", None, ValueError),  # a file's name, and not its Path
        ("def _a(): 1", None, ValueError),
        ("def a(): 1\ndef b(): 1", None, ValueError),
        ("def a(): 1", "b", ValueError),
        ("def a():\n    return (\n", None, SyntaxError),
    ],
)
def test_source_without_a_builder_is_refused(source, build, error):
    with pytest.raises(error):
        isolated(source, build)


# What it is given and returns -----------------------------------------------------------------


def test_program_runner_has_what_a_runner_has(start):
    runner = start(ADDS, numpy.arange(3.0), 2)
    assert run(runner).tolist() == [2, 3, 4]
    assert runner.build_state == "cold process"
    assert 0 < runner.fastest <= min(runner.warmup)
    assert runner.build > 0
    assert set(runner.machine["versions"]) >= {"Python", "numpy"}
    runner.set_args((numpy.zeros(1), 5))
    runner.warm_up(share_cores=False)
    assert runner.results[-1].tolist() == [5]


def test_result_that_cannot_be_sent_is_an_error_only_when_it_is_asked_for(start):
    meta = "import torch\ndef a():\n    return lambda: torch.ones(3, device='meta')"
    for source in ("def a():\n    return object", meta):
        runner = start(source)
        runner.load()
        runner.warm_up()
        with pytest.raises(CandidateError, match=r"cannot be checked: .*; return arrays"):
            runner.results[-1]
        assert runner.measure(2, 1) > 0


def test_arguments_and_results_of_every_kind(start):
    args = 3, "ä", (1, [2.5, None]), {"k": numpy.float32([1])}
    assert repr(run(start("def same(*args):\n    return lambda: args", *args))) == repr(args)
    large = numpy.random.default_rng(1).random(2**17)  # more than a socket holds
    assert (run(start(ADDS, large, 0)) == large).all()


def test_arguments_that_cannot_be_sent_start_no_process(start, started):
    for value in (object(), [lambda: 1]):
        with pytest.raises(TypeError, match="cannot be sent to another process"):
            start(ADDS, value)
    assert started == []


def test_results_of_a_framework_are_numpys(start):
    source = """
        import torch
        def doubles(x):
            x = torch.from_numpy(x)
            return lambda: (2 * x, (2 * x).bfloat16())
    """
    runner = start(source, numpy.float32([1, 2]), threads=1)
    exact, coarse = run(runner)
    assert exact.tolist() == coarse["bfloat16"].tolist() == [2, 4]
    assert (str(exact.dtype), runner.machine["threads"]) == ("float32", 1)
    assert "torch" in runner.machine["versions"]


def test_nothing_large_is_imported_before_the_program(start):
    source = """
        import sys
        LOADED = {"numpy", "torch", "networkx", "matplotlib"} & set(sys.modules)
        def a(x):
            return lambda: [*LOADED]
    """
    assert run(start(source, numpy.ones(1))) == []


def test_file_imports_its_neighbors_and_is_not_the_main_program(start, tmp_path):
    (tmp_path / "sched.py").write_text("VALUE = 7")  # the library has one, too
    file = tmp_path / "mine.py"
    file.write_text(
        "import sched, os, sys\n"
        "def value():\n"
        "    own = __file__ == os.path.abspath(__file__) == sys.argv[0]\n"
        "    return lambda: [sched.VALUE, own]\n"
        "if __name__ == '__main__':\n"
        "    raise SystemExit('this is not for us')\n"
    )
    assert run(start(file)) == [7, True]


def test_threads_are_limited_before_the_start(start, monkeypatch):
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
def test_all_threads_keep_to_as_many_cores(start):
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
    for threads, cores in ((None, here), (1, here[-1:]), (99, here)):
        found = run(start(source, threads=threads))
        assert len(found) > 1
        assert found == [cores] * len(found), threads


def test_reply_to_an_interrupted_request_is_not_taken_for_the_next(start, monkeypatch):
    runner = start(ADDS, 1)
    runner.load()
    runner.warm_up()

    def interrupted(self, ticket, doing):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ProgramRunner, "_reply", interrupted)
        with pytest.raises(KeyboardInterrupt):
            runner.measure(1, 1)
    assert runner.results[-1] == 2


def test_more_first_calls_can_be_asked_for(start):
    runner = start(ADDS, 1)
    run(runner, first_calls=50)
    assert len(runner.warmup) == 50


def test_peak_memory_is_of_the_process_alone(start):
    large = bytearray(300_000_000)
    large[::4096] = bytes(len(large[::4096]))
    runner = start("def one():\n    return lambda: 1\n")
    run(runner)
    runner.time_single_calls(0.01)
    assert len(runner.single) > 10
    assert runner.memory is None or 1_000_000 < runner.memory < 200_000_000


# How it fails ---------------------------------------------------------------------------------

FAILS = [
    ("1 / 0\ndef a(): pass", "raised ZeroDivisionError: .* (<program>, line 1)"),
    (
        "import json\ndef a():\n    json.loads('')",  # inside the library
        "raised JSONDecodeError: Expecting value.* (<program>, line 3)",
    ),
    (
        "def a():\n    left = [0] * 40\n    return lambda: left.pop()",  # in a late call
        "raised IndexError: pop from empty list (<program>, line 3)",
    ),
    ("def a():\n    return 3", "raised TypeError: .* returned 3, which is not callable"),
    ("def a(): pass\ndel a", "raised AttributeError: .*'a'"),  # no such function any more
    (
        "import os\ndef a():\n    print('bye')\n    os._exit(3)",
        "ended with exit code 3 while it was built .*; it printed last:\n    bye",
    ),
]
SIGNALLED = [
    (
        "import ctypes\ndef a():\n    print('bye')\n    ctypes.string_at(0)",
        "was killed by signal 11 (SIGSEGV) while it was built .*; it printed last:\n    bye\n"
        "    Fatal Python error: Segmentation fault",
    ),
]


@pytest.mark.parametrize(("source", "message"), FAILS + SIGNALLED * (os.name == "posix"))
def test_failure_says_what_happened_and_where(start, source, message):
    pattern = r"(?s)candidate 'mine' " + message.replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(CandidateError, match=pattern) as caught:
        run(start(source))
    assert caught.value.label == "mine"
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("source", "doing"),
    [
        ("import time\ntime.sleep(60)\ndef a(): pass", "while its source was run"),
        ("import time\ndef a():\n    return lambda: time.sleep(60)", "while it was built and"),
        (
            "import time\ndef a():\n    t = [0] * 40\n    return lambda: t and t.pop() or "
            "time.sleep(0 if t else 60)",
            "while it was called",
        ),
    ],
)
def test_program_that_hangs_is_killed(start, started, source, doing, monkeypatch):
    monkeypatch.setattr(processes, "TIMEOUT", 2)
    with pytest.raises(CandidateError, match=f"'mine' did not answer for 2 s {doing}"):
        run(start(source))
    assert started[0].poll() is not None  # not only after `close_all`


def test_request_after_the_end_is_an_error(start):
    runner = start(ADDS, 1)
    run(runner)
    close_all([runner])
    with pytest.raises(CandidateError, match="'mine' ended with exit code 0 while it was called"):
        runner.try_once()


WAITS = "import time\ndef waits(x):\n    return lambda: time.sleep(1e-3)\n"


@pytest.mark.parametrize(
    ("source", "threads", "expected"),
    [(ADDS, 1, sys.platform == "linux"), (ADDS, 2, False), (WAITS, 1, False)],
)
def test_processors_clock_is_for_what_computes_on_one_thread(start, source, threads, expected):
    runner = start(source, 1, threads=threads)
    run(runner)
    assert runner.only_computes == expected


def test_error_of_a_candidate_within_a_program_keeps_its_words():
    server = ProgramServer()
    server.filename = "<a program>"
    message, line = server.format_error(CandidateError("inner", "it ended"))
    assert "it ended" in message
    assert line == 0
