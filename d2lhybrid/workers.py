"""A worker: a Python process with one object in it, whose methods are called from here.

    class Adder(RequestServer):                      # in a module `adder`
        def add(self, x, y):
            return x + y

    worker = Worker("adder:Adder", {"OMP_NUM_THREADS": "1"})
    ticket = worker.request("add", 1, 2)             # returns at once
    replies = wait_any([worker], timeout=1.0)        # [(worker, (ticket, "ok", 3))], or [] if late
    close_all([worker], GRACE)

A reply is (ticket, "ok", what the method returns), (ticket, "error", what `format_error` returns),
(0, kind, content) for a `report`, or None where the process has exited and no more can come.
Requests and replies are pickled by `pickle.dumps`: `Connection.send` would use torch's reducers, as
soon as torch is loaded, and send file descriptors. Values of a user's program, and arrays of any
framework, are passed as bytes: see `encode`.
"""

import atexit
import faulthandler
import gc
import io
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection, wait
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryFile
from threading import Lock, Thread
from typing import Any

from .frameworks import to_numpy

GRACE = 2.0  # seconds to end properly
POLL = 0.1  # seconds between two looks at a process that does not reply
# What to do where torch.compile finds no C++ compiler.
GET_ONE = "Install one (on Debian and Ubuntu: apt install g++; on macOS: xcode-select --install; "
GET_ONE += "on Windows: Visual Studio's Build Tools), or set the variable CXX to one"

# The package is loaded from its folder, whatever else of this name is installed.
BOOT = """
import gc, sys
gc.disable()  # a rank of a world loads torch here: an eighth of that is looking for garbage
folder, target, channel = sys.argv[1:]
del sys.argv[1:]
sys.path.insert(0, folder)
from d2lhybrid.workers import serve
sys.path.remove(folder)
serve(target, channel)
"""


class Worker:
    """A process of its own with an object of `target` in it, such as "d2lhybrid.world.rank:Rank".

    `target` is a module and a subclass of `RequestServer` there. `variables` are added to the
    environment. What the process prints goes to a file: see `stderr_tail`. The
    process has a group of its own: Ctrl-C reaches the parent only, and helpers that it starts are
    killed with it. It ends when the parent does. OSError if it can't be started.

    A request of more than some 100 KB blocks until the process has read it.
    """

    def __init__(self, target: str, variables: dict[str, str] | None = None):
        self._requests = 0
        self._printed = TemporaryFile()  # noqa: SIM115 (it is read when the process has exited)
        ours, theirs = socket.socketpair()
        posix = os.name == "posix"
        options = {"pass_fds": [theirs.fileno()]} if posix else {}
        # -P: or a file of the user's such as random.py would be taken for the library's.
        command = [sys.executable, "-P", "-c", BOOT, str(Path(__file__).parents[1]), target]
        with theirs:
            self.process = subprocess.Popen(
                [*command, str(theirs.fileno())],
                env={**os.environ, **(variables or {})},
                stdin=subprocess.DEVNULL if posix else subprocess.PIPE,
                stdout=self._printed,
                stderr=self._printed,
                start_new_session=True,  # POSIX's; the other is Windows's
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
                **options,
            )
            if not posix:
                with self.process.stdin as pipe:
                    pipe.write(theirs.share(self.process.pid))
        self.connection = Connection(ours.detach())

    def request(self, method: str, *args: Any) -> int:
        """Call a method there; returns the ticket that its reply will have.

        If the process has exited, no reply arrives.
        """
        self._requests += 1
        with suppress(OSError):
            self.connection.send_bytes(pickle.dumps((self._requests, method, args)))
        return self._requests

    def close(self) -> None:
        """Close the connection: no more requests, and the process's sign to end properly."""
        self.connection.close()

    def stderr_tail(self, size: int = 2**13) -> str:
        """Return the last `size` bytes that the process printed, as text.

        Kill it first, or it may print more.
        """
        file = self._printed.fileno()
        start = max(0, os.fstat(file).st_size - size)
        if hasattr(os, "pread"):  # the process writes where this file stands, so it isn't moved
            return os.pread(file, size, start).decode("utf-8", "replace")
        self._printed.seek(start)
        return self._printed.read().decode("utf-8", "replace")

    def has_exited(self) -> bool:
        """Return whether the process has exited. It keeps its number: it is not reaped here."""
        if self.process.returncode is not None or not hasattr(os, "waitid"):
            return self.process.poll() is not None
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.process.pid, options) is not None

    def describe_exit(self) -> str:
        """Return how the process exited, such as "ended with exit code 3"; its helpers are killed.

        It has GRACE seconds to exit, or else "stopped answering".
        """
        if not wait_for_exit([self], GRACE):
            return "stopped answering"
        self.kill()
        if (code := self.process.returncode) >= 0:
            return f"ended with exit code {code}"
        name = signal.Signals(-code).name if -code in list(signal.Signals) else "unknown"
        hint = ", as the system does when memory runs out," if name == "SIGKILL" else ""
        return f"was killed by signal {-code} ({name}){hint}"

    def kill(self) -> None:
        """Kill the process, if it is still there, and the helpers that it may have started."""
        if self.process.returncode is None and os.name == "posix":
            # It is not reaped: nobody else has its number, which is its group's, too.
            with suppress(ProcessLookupError, PermissionError):  # macOS says so of a dead one
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()


def wait_any(workers: list[Worker], timeout: float = POLL) -> list[tuple[Worker, tuple | None]]:
    """Return (worker, reply) for each worker that has a reply within `timeout` seconds.

    The reply is its next one, or None where the process has exited, and no more can come.
    """
    # Helpers of a process may keep its side of the connection open after its end.
    exited = [worker for worker in workers if worker.connection.closed or worker.has_exited()]
    open_ones = [worker.connection for worker in workers if not worker.connection.closed]
    ready = wait(open_ones, 0 if exited else timeout)
    replies = []
    for worker in workers:
        if worker.connection in ready:
            try:
                replies.append((worker, pickle.loads(worker.connection.recv_bytes())))
            except (EOFError, OSError):
                replies.append((worker, None))
        elif worker in exited:
            replies.append((worker, None))
    return replies


def close_all(workers: list[Worker], grace: float = 0.0) -> None:
    """End all processes at the same time: properly within `grace` seconds, or else by force."""
    for worker in workers:
        worker.close()
    wait_for_exit(workers, grace)
    for worker in workers:
        worker.kill()


def wait_for_exit(workers: list[Worker], seconds: float) -> bool:
    """Return whether all processes exit within so many seconds."""
    late = time.monotonic() + seconds
    while not (done := all(worker.has_exited() for worker in workers)) and time.monotonic() < late:
        time.sleep(0.005)
    return done


def format_exception_only(error: BaseException) -> str:
    """Return an error's type and message, such as "ValueError: no".

    Where torch.compile finds no C++ compiler, what to do is said in place of how to debug it.
    """
    text = f"{type(error).__name__}: {error}".removesuffix(": ")
    return f"{text.splitlines()[0]}. {GET_ONE}" if "No working C++ compiler" in text else text


# In the worker's process --------------------------------------------------------------------


def serve(target: str, channel: str) -> None:
    """Serve requests with an object of `target` until the parent closes the connection."""
    # The first to be registered is the last to be called. At its end Python looks for cycles of
    # garbage among all objects; with TensorFlow loaded that takes half of the import's time.
    atexit.register(gc.freeze)
    atexit.register(end_helpers)
    if os.name == "posix":
        os.set_inheritable(int(channel), False)  # helpers have no part in it
        connection = Connection(int(channel))
    else:
        connection = Connection(socket.fromshare(sys.stdin.buffer.read()).detach())
    for stream in (sys.stdout, sys.stderr):  # by lines: else a crash would take the last words
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    faulthandler.enable(all_threads=False)  # says where a crash was
    module, name = target.split(":")
    server = getattr(import_module(module), name)()
    gc.freeze()
    gc.enable()
    server.serve(connection)


class RequestServer:
    """Executes requests of the parent's `Worker`; a subclass has a method for each."""

    out_of_band = ()  # names of methods that a thread calls at once, while another one may run

    def serve(self, connection: Connection) -> None:
        """Reply to requests until there are no more."""
        self._connection, self._sending, self._waiting = connection, Lock(), SimpleQueue()
        Thread(target=self._listen, daemon=True).start()
        while request := self._waiting.get():
            self._reply(*request)
            self.after_reply()

    def report(self, kind: str, content: Any = None) -> None:
        """Send the parent (0, kind, content), for which it has not asked; from any thread."""
        self._send((0, kind, content))

    def after_reply(self) -> None:
        """Called after each reply, but for out-of-band ones."""

    def format_error(self, error: BaseException) -> Any:
        """Return the content of the reply for an error that a method has raised."""
        return format_exception_only(error)

    def _listen(self):
        """Receive requests until the connection ends; then the process ends, even in a method."""
        with suppress(EOFError, OSError):
            while True:
                _, method, _ = request = pickle.loads(self._connection.recv_bytes())
                if method in self.out_of_band:
                    self._reply(*request)
                else:
                    self._waiting.put(request)
        self._waiting.put(None)
        end_soon()

    def _reply(self, ticket, method, args):
        """Call the method, and send its result or its error, with the ticket of the request."""
        try:
            self._send((ticket, "ok", getattr(self, method)(*args)))
        except BaseException as error:  # SystemExit, too
            self._send((ticket, "error", self.format_error(error)))

    def _send(self, content):
        """Send a reply, from any thread; not an error if the parent has ended."""
        packed = pickle.dumps(content)
        with self._sending, suppress(OSError):  # the parent may have ended
            self._connection.send_bytes(packed)


def end_soon() -> None:
    """End this process and its helpers by force, if it doesn't end by itself in a while."""
    time.sleep(GRACE)
    if leads_group():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def end_helpers() -> None:
    """Ask the processes that the program has started to end: compilers have some."""
    if leads_group():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # we are in the group ourselves
        os.killpg(0, signal.SIGTERM)


def leads_group() -> bool:
    """Return whether this process leads a group of its own, in which its helpers are."""
    return os.name == "posix" and os.getpgrp() == os.getpid()


# Values as bytes ----------------------------------------------------------------------------

PLAIN = bool, int, float, complex, str, bytes, bytearray, list, tuple, set, frozenset, dict


def encode(value: Any, reduce_array: Callable[[Any], tuple | None] | None = None) -> bytes:
    """Return a value as bytes, from which `decode` makes it again.

    It may be None, a number, a string, bytes, an array, or a list, tuple, set or dict of these. An
    array of whatever framework arrives as NumPy's, since the other process need not have that
    framework; a subclass of dict, list, tuple, str or a number arrives as one of these. TypeError
    for all else. `reduce_array(value)` gives what `__reduce__` does for an array, and None for
    other values; by default it is `reduce_to_numpy`.
    """
    file = io.BytesIO()
    _Pickler(file, reduce_array or reduce_to_numpy).dump(value)
    return file.getvalue()


decode = pickle.loads  # the value that `encode` was given


def reduce_to_numpy(value: Any) -> tuple | None:
    """Return (function, arguments) that make an array of any framework again as NumPy's.

    None for all else. Numbers in a format that NumPy lacks, such as bfloat16, are widened to
    float32.
    """
    if not (hasattr(value, "shape") and hasattr(value, "dtype")):  # NumPy's numbers have them
        return None
    if hasattr(value, "mask"):  # a masked array, of which the numbers are not all
        return None
    import numpy

    array = to_numpy(value)
    if str(value.dtype).endswith(".float16"):
        array = array.astype("float16")  # `to_numpy` widens it, and NumPy has it
    elif array.dtype.isbuiltin == 2:  # a format that some package has added to NumPy
        array = array.astype("float32")
    if array.dtype.hasobject or array.dtype.names:
        return None
    return numpy.ndarray, (array.shape, array.dtype.str, bytearray(array.tobytes()))


class _Pickler(pickle.Pickler):
    def __init__(self, file, reduce_array):
        super().__init__(file, protocol=5)
        self._reduce_array, self._by_name = reduce_array, [*PLAIN]

    def reducer_override(self, value):
        """Pickle's hook: (function, arguments) for arrays and for subclasses of plain types.

        TypeError for all else.
        """
        if type(value) is complex or any(value is each for each in self._by_name):
            return NotImplemented  # pickle itself knows how
        if reduced := self._reduce_array(value):
            self._by_name.append(reduced[0])
            return reduced
        for kind in PLAIN:
            if isinstance(value, kind):
                return kind, (kind(value),)
        raise TypeError(f"{type(value).__name__} cannot be sent to another process")
