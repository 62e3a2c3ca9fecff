"""Workers: what they reply, how they exit, that nothing of them is left, and values as bytes."""

import enum
import math
import os
import re
import time
from collections import OrderedDict, namedtuple
from pathlib import Path

import numpy
import pytest
import torch
from process_helpers import gone, soon
from torch._inductor.exc import InvalidCxxCompiler

from d2lhybrid import workers
from d2lhybrid.workers import Worker, close_all, decode, encode, wait_any

posix = pytest.mark.skipif(os.name != "posix", reason="signals and groups are POSIX's")
SERVED = """
import os, signal, subprocess, sys, threading, time
from d2lhybrid.workers import RequestServer
LOADED = sorted({"numpy", "torch"} & set(sys.modules))

class Server(RequestServer):
    out_of_band = ("set",)

    def __init__(self):
        self.calls, self.event = 0, threading.Event()

    def call(self, source):
        return eval(source, globals(), {"self": self})

    def do(self, source):
        exec(source, globals(), {"self": self})

    def set(self):
        self.event.set()

    def after_reply(self):
        self.calls += 1
"""


@pytest.fixture
def start(tmp_path):
    """A function that starts a worker whose `call` evaluates an expression, and `do` executes."""
    (tmp_path / "served.py").write_text(SERVED)
    started = []

    def start(**variables):
        path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
        started.append(Worker("served:Server", {"PYTHONPATH": path, **variables}))
        return started[-1]

    yield start
    close_all(started)


def next_reply(worker):
    assert soon(lambda: worker.has_exited() or workers.wait([worker.connection], 1), 20)
    return wait_any([worker], 20)[0][1]


def ask(worker, method, *args):
    """The reply's kind and content."""
    ticket = worker.request(method, *args)
    while (reply := next_reply(worker)) and reply[0] != ticket:
        pass
    return reply and reply[1:]


# Requests and replies -------------------------------------------------------------------------


def test_python_of_a_worker_is_as_it_would_be_without_us(start, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path("json.py").write_text("raise RuntimeError('the user has a file of this name')")
    source = "__import__('gc').isenabled(), __import__('json').dumps(1)"
    assert ask(start(), "call", source) == ("ok", (True, "1"))


def test_replies_have_the_tickets_of_their_requests(start):
    worker = start()
    tickets = [worker.request("call", source) for source in ("1 + 1", "1 / 0", "lambda: 1")]
    replies = [next_reply(worker) for _ in tickets]
    assert [ticket for ticket, *_ in replies] == tickets
    assert [reply[1] for reply in replies] == ["ok", "error", "error"]  # a lambda isn't pickled
    assert replies[1][2] == "ZeroDivisionError: division by zero"
    assert ask(worker, "call", "sys.exit(3)") == ("error", "SystemExit: 3")
    assert ask(worker, "call", "len(%r)" % ("y" * 2**22)) == ("ok", 2**22)
    assert wait_any([worker], 0.01) == []


def test_out_of_band_methods_run_while_another_one_does(start):
    worker = start()
    ask(worker, "call", "7")
    assert ask(worker, "call", "self.calls") == ("ok", 1)
    waiting = worker.request("do", "self.report('note', [1]); self.event.wait()")
    assert next_reply(worker) == (0, "note", [1])
    queued = worker.request("call", "8")
    released = worker.request("set")
    replies = {ticket: content for ticket, _, content in [next_reply(worker) for _ in range(3)]}
    assert replies == {waiting: None, queued: 8, released: None}  # two of them in any order


def test_wait_any_tells_workers_apart(start):
    one, other = start(), start()
    other.request("call", "2")
    found = []
    while not found:
        found = wait_any([one, other])
    assert found == [(other, (1, "ok", 2))]
    other.kill()
    assert dict(wait_any([one, other])) == {other: None}


def test_worker_has_its_own_environment_and_this_package(start, tmp_path):
    (tmp_path / "d2lhybrid").mkdir()
    (tmp_path / "d2lhybrid" / "__init__.py").write_text("raise RuntimeError('another one')")
    worker = start(OMP_NUM_THREADS="3")
    source = "os.environ['OMP_NUM_THREADS'], sys.argv, LOADED"
    assert ask(worker, "call", source) == ("ok", ("3", ["-c"], []))
    assert ask(worker, "call", "sys.modules['d2lhybrid'].__file__")[1] == str(
        Path(workers.__file__).with_name("__init__.py")
    )


def test_what_is_printed_is_no_reply(start):
    worker = start(PYTHONIOENCODING="ascii")
    assert ask(worker, "do", "print('ä \\ud800'); os.write(2, b'\\xff')") == ("ok", None)
    ask(worker, "do", "os.system('echo from C')")
    worker.kill()
    assert "ä \\ud800\n\ufffdfrom C" in worker.stderr_tail().replace("\r", "")
    assert worker.stderr_tail(7) == "from C\n"


# Exits ----------------------------------------------------------------------------------------

EXITS = [
    ("os._exit(3)", "ended with exit code 3"),
    ("os.kill(os.getpid(), 9)", "was killed by signal 9 (SIGKILL), as the system does when memory"),
    ("os.kill(os.getpid(), 40)", "was killed by signal 40 (unknown)"),
]


@posix
def test_exits_in_words(start):
    started = [start() for _ in EXITS]
    for worker, (source, words) in zip(started, EXITS, strict=True):
        assert ask(worker, "do", source) is None
        assert worker.describe_exit().startswith(words)
        worker.request("call", "1")  # no error
        assert next_reply(worker) is None


@posix
def test_exit_is_noticed_though_a_helper_keeps_the_connection(start):
    worker = start()
    source = "\nif os.fork():\n    os._exit(4)\nos.system('sleep 60')"
    assert ask(worker, "do", source) is None
    assert worker.describe_exit() == "ended with exit code 4"


def test_last_reply_before_the_exit_arrives(start):
    worker = start()
    worker.request("call", "b'x' * 1000")
    worker.request("do", "os._exit(0)")
    assert soon(worker.has_exited, 20)
    assert next_reply(worker) == (1, "ok", b"x" * 1000)
    assert next_reply(worker) is None


def test_workers_end_properly_and_at_the_same_time(start, tmp_path):
    # Each waits at its end for the other's.
    started = [start(), start()]
    for own, other, worker in [("1", "2", started[0]), ("2", "1", started[1])]:
        source = (
            f"import atexit\ndef end():\n    open({str(tmp_path / own)!r}, 'w').close()\n"
            f"    while not os.path.exists({str(tmp_path / other)!r}):\n"
            "        time.sleep(0.01)\natexit.register(end)"
        )
        assert ask(worker, "do", f"exec({source!r}, globals())") == ("ok", None)
    close_all(started, 20)
    assert [worker.process.returncode for worker in started] == [0, 0]
    assert wait_any(started) == [(worker, None) for worker in started]


@posix
def test_helpers_end_with_the_worker(start, tmp_path):
    for end, ignores in [("close", ""), ("close", "trap '' TERM; "), ("exit", "")]:
        file = tmp_path / f"{end}{len(ignores)}"
        helper = f"{ignores}echo $$ > '{file}'; while :; do sleep 1; done"
        worker = start()
        ask(worker, "do", f"subprocess.Popen(['sh', '-c', {helper!r}])")
        assert soon(lambda file=file: file.exists() and file.read_text())
        if end == "exit":
            ask(worker, "do", "os._exit(1)")
            assert worker.describe_exit() == "ended with exit code 1"
        close_all([worker], workers.GRACE if end == "close" else 0)
        assert gone(int(file.read_text())), (end, ignores)


@posix
def test_group_is_not_killed_once_its_number_is_free(start, monkeypatch):
    worker = start()
    ask(worker, "call", "1")
    close_all([worker], 20)
    monkeypatch.setattr(os, "killpg", lambda group, sign: pytest.fail("it may be another's"))
    worker.kill()
    assert worker.describe_exit() == "ended with exit code 0"


@posix
def test_worker_ends_by_force_when_the_parent_is_gone(start):
    worker = start()
    ask(worker, "call", "1")
    worker.request("do", "time.sleep(60)")
    worker.close()
    begin = time.monotonic()
    assert soon(worker.has_exited, 20)
    assert time.monotonic() - begin > workers.GRACE / 2


# Values ---------------------------------------------------------------------------------------


Point = namedtuple("Point", "x y")


class Level(enum.IntEnum):
    HIGH = 3


def test_what_to_do_about_a_missing_compiler_is_said_in_one_line():
    for error in (InvalidCxxCompiler(), RuntimeError(f"{InvalidCxxCompiler()}\n\nSet VERBOSE=1")):
        assert re.fullmatch(r".*C\+\+ .*install g\+\+.*", workers.format_exception_only(error))


def test_values_arrive_as_pythons_own_types():
    same = [None, True, 3, 0.1, -math.inf, 2 - 1j, "ä\0\ud800", b"\0\xff", bytearray(b"a")]
    same += [set(), frozenset("a"), {"a": (1, [2]), (4, 5): None}, [1j, {1: {2}}]]
    pairs = [(value, value) for value in same] + [
        (OrderedDict(b=Point(1, Level.HIGH)), {"b": (1, 3)})
    ]
    for value, expected in pairs:
        arrived = decode(encode(value))
        assert (type(arrived), repr(arrived)) == (type(expected), repr(expected))


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "bool", "complex64"])
def test_arrays_arrive_as_numpys(dtype):
    array = numpy.arange(6).reshape(2, 3).T.astype(dtype)
    for value in (array, torch.from_numpy(array.copy())):
        arrived = decode(encode({"a": [value]}))["a"][0]
        assert (type(arrived), arrived.dtype) == (numpy.ndarray, array.dtype)
        assert numpy.array_equal(arrived, array)


def test_odd_arrays():
    for array in (numpy.zeros((0, 3)), numpy.array(5), numpy.array(["a", "bc"])):
        assert numpy.array_equal(decode(encode(array)), array)
    assert b"torch" not in encode(torch.ones(2, requires_grad=True) * 2)


def test_numbers_in_formats_that_numpy_lacks_are_widened():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for array in (torch.ones(2).bfloat16(), numpy.ones(2, ml_dtypes.bfloat16)):
        arrived = decode(encode(array))
        assert (arrived.dtype, arrived.tolist()) == ("float32", [1.0, 1.0])


def test_what_is_not_data_is_refused():
    for value in [len, lambda: 1, math, object(), Level, range(3), ValueError()]:
        with pytest.raises(TypeError, match=f"^{type(value).__name__} cannot be sent to another"):
            encode([1, {"a": (value,)}])
