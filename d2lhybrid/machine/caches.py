"""What this machine is like: the caches that it reports, and how long common things take.

Explained in notebook 23; lmbench measures latencies professionally.
"""

import ctypes
import os
import socket
import subprocess
import sys
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from subprocess import DEVNULL, SubprocessError
from tempfile import TemporaryFile
from threading import Lock
from time import perf_counter
from timeit import Timer

from ..toolchain import load_function, read_c_file

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")  # of the first core; Linux only
ROUNDS = 5
ROUND = 0.02  # seconds that a round takes at least
ENOUGH = 0.5  # a round of so many seconds is the only one
LIMIT = 10  # seconds to wait for another thread or process that does not answer
QUIET = dict(stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)


def cache_sizes() -> dict[str, int]:
    """Return the sizes of the data caches as Linux reports them: a level, such as "L1" -> bytes.

    On other systems the dict is empty.
    """
    found = {}
    for folder in sorted(CACHES.glob("index*")):
        with suppress(OSError):
            level, kind, size = [
                (folder / name).read_text().strip() for name in ("level", "type", "size")
            ]
            if kind != "Instruction" and size != "0K":
                found[f"L{level}"] = int(size.removesuffix("K")) * 1024
    return found


def _seconds(statement, **names):
    """Return the seconds that a statement takes, the least mean of up to ROUNDS rounds.

    Other programs can only make it longer. `names` are the statement's variables.
    """
    timer, repetitions = Timer(statement, globals=names), 1
    while (best := timer.timeit(repetitions)) < ROUND:
        repetitions *= 2
    if best < ENOUGH:
        best = min(best, *timer.repeat(ROUNDS - 1, repetitions))
    return best / repetitions


def _changed_line(turns=40_000, games=15):
    """Return seconds a turn: two threads, on the first and the last core, write a number in turn.

    A game, of so many turns, is lost where the threads don't run at the same time, as on a single
    or a busy core; TimeoutError if all are lost.
    """
    bounce = load_function(read_c_file(__file__, "bounce.c"), "bounce")
    bounce.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_ssize_t]
    bounce.restype = ctypes.c_ssize_t
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []

    def play(own):
        if cores:  # only Linux lets a thread choose
            os.sched_setaffinity(0, [cores[-own]])
        return bounce(ctypes.addressof(number), own, turns)

    won = []  # seconds
    with ThreadPoolExecutor(2) as pool:
        for _ in range(games):
            number, start = ctypes.c_ssize_t(0), perf_counter()
            stops = [pool.submit(play, own) for own in (0, 1)]
            if min(stop.result() for stop in stops) >= turns:
                won.append(perf_counter() - start)
    if not won:
        raise TimeoutError("no two threads ran at the same time")
    return min(won) / turns


def _compressing():
    """Return the seconds to compress 1000 bytes."""
    text = " ".join(map(str, range(300))).encode()[:1000]
    return _seconds("compress(text, 1)", compress=zlib.compress, text=text)


def _from_memory(size=2**26):
    """Return the seconds to read 10^6 bytes, by a search for a byte that isn't there."""
    return _seconds("ones.find(0)", ones=bytearray(b"\1") * size) * 10**6 / size


def _to_another_thread():
    """Return the seconds for a message to another thread and its answer, through two queues."""
    there, back = SimpleQueue(), SimpleQueue()

    def echo():
        while there.get(timeout=LIMIT):
            back.put(True)

    with ThreadPoolExecutor(1) as pool:
        try:
            pool.submit(echo)
            return _seconds(f"put(True); get(timeout={LIMIT})", put=there.put, get=back.get)
        finally:
            there.put(False)  # the thread's sign to end


ECHO = f"""
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), {LIMIT}) as link:
    while message := link.recv(1):
        link.sendall(message)
"""


def _through_tcp():
    """Return the seconds for one byte to another process and back, over TCP on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:  # 0: any port that is free
        server.settimeout(LIMIT)
        port = str(server.getsockname()[1])
        with subprocess.Popen([sys.executable, "-I", "-c", ECHO, port], **QUIET):
            link, _ = server.accept()
            with link:  # closed, it ends the other process
                link.settimeout(LIMIT)
                return _seconds("send(b'!'); receive(1)", send=link.sendall, receive=link.recv)


def _writing():
    """Return the seconds to write 4096 bytes until the system says that they are on the disk.

    On macOS it says so earlier, and a folder for temporary files may lie in memory.
    """
    with TemporaryFile(buffering=0) as file:
        save = "file.seek(0); file.write(block); fsync(file.fileno())"
        return _seconds(save, file=file, block=bytes(4096), fsync=os.fsync)


def _starting(program="pass"):
    """Return the seconds to start Python, run a program and end."""
    start = partial(subprocess.run, [sys.executable, "-c", program], check=True, **QUIET)
    return _seconds("start()", start=start)


LATENCIES = {
    "a line that another core changed": _changed_line,  # the only one that needs a C compiler
    "acquiring a free lock": lambda: _seconds("lock.acquire(); lock.release()", lock=Lock()),
    # Only the system knows what this asks for, but on Windows Python keeps its parent's number.
    "a system call": lambda: _seconds("ask()", ask=os.times if os.name == "nt" else os.getppid),
    "compressing 1 KB": _compressing,
    "1 MB from memory": _from_memory,
    "to another thread and back": _to_another_thread,
    "through TCP and back": _through_tcp,
    "writing 4 KB to the disk": _writing,
    "starting Python": _starting,
    "starting Python and importing torch": partial(_starting, "import torch"),
}
# What a busy machine, or a sandbox, has in place of an answer. (A TimeoutError is an OSError; a
# RuntimeError says that there are no more threads, or no compiler.)
NOT_NOW = (OSError, RuntimeError, SubprocessError, Empty)


def measured_latencies(report: Callable[[str], object] = print) -> dict[str, float | None]:
    """Return how long common operations take on this machine: name -> seconds.

    The names are the same on every machine. This takes a few seconds. The value of an operation
    that can't be measured at the moment is None, and `report` gets a line that says why.
    """
    found = {}
    for name, measured in LATENCIES.items():
        try:
            found[name] = measured()
        except NOT_NOW as error:
            found[name] = None
            reason = str(error).partition("\n")[0] or type(error).__name__
            report(f"{name}: not measured, {reason}")
    return found
