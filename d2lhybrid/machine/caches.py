"""What this machine is like: the caches that it reports, and how long common things take.

Explained in notebook 22. lmbench measures latencies professionally (McVoy and Staelin,
"lmbench: portable tools for performance analysis", USENIX 1996).
"""

import ctypes
import os
import re
import socket
import subprocess
import sys
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from math import inf
from pathlib import Path
from queue import Empty, SimpleQueue
from subprocess import DEVNULL, SubprocessError
from tempfile import TemporaryFile
from threading import Lock
from time import perf_counter
from timeit import Timer

from ..toolchain import CompilationFailed, CompilerNotFound, load_function, read_c_file

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")  # of the first core; Linux only
BYTES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}

ROUNDS = 5
ROUND = 0.02  # seconds that a round takes at least
ENOUGH = 0.5  # seconds after which no other round begins
LIMIT = 10  # seconds to wait for another thread or process that does not answer


def cache_sizes() -> dict[str, int]:
    """What Linux reports of the caches for data: a level, such as "L1", -> bytes.

    Empty where nothing is reported, as on Windows and macOS. A virtual machine may report what it
    does not have, or has to share.
    """
    found = {}
    for folder in sorted(CACHES.glob("index*")):
        with suppress(OSError):
            level, kind, size = [
                (folder / name).read_text().strip() for name in ("level", "type", "size")
            ]
            number = re.fullmatch(r"(\d*[1-9]\d*)([KMG]?)", size)  # not 0
            if kind != "Instruction" and number:
                found[f"L{level}"] = int(number[1]) * BYTES[number[2]]
    return dict(sorted(found.items()))


def _seconds(statement, **names):
    """The least mean of some rounds of a statement: other programs can only make it longer."""
    timer, repetitions, start = Timer(statement, globals=names), 1, perf_counter()
    while (best := timer.timeit(repetitions)) < ROUND:
        repetitions *= 2
    for _ in range(ROUNDS - 1):
        if perf_counter() - start < ENOUGH:
            best = min(best, timer.timeit(repetitions))
    return best / repetitions


def _changed_line(turns=40_000, games=15):
    """Two threads write the same number in turn.

    A game, of so many turns, is lost where the threads don't run at the same time, as on a single
    or a busy core; TimeoutError if all are lost. The first and the last core may be of two kinds,
    or of two processors: then it is the time between these.
    """
    bounce = load_function(read_c_file(__file__, "bounce.c"), "bounce")
    bounce.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_ssize_t]
    bounce.restype = ctypes.c_ssize_t
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []

    def play(own):
        if cores:  # on Linux: 0 runs on the first core, 1 on the last, however busy they are
            os.sched_setaffinity(0, [cores[-own]])
        return bounce(ctypes.addressof(number), own, turns)

    best = inf  # seconds
    with ThreadPoolExecutor(2) as pool:
        for _ in range(games):
            number, start = ctypes.c_ssize_t(0), perf_counter()
            stops = [pool.submit(play, own) for own in (0, 1)]
            if min(stop.result() for stop in stops) >= turns:
                best = min(best, perf_counter() - start)
    if best == inf:
        raise TimeoutError("no two threads ran at the same time")
    return best / turns


def _free_lock():
    return _seconds("lock.acquire(); lock.release()", lock=Lock())


def _system_call():
    """The number of the process that started this one. Only the operating system can tell it."""
    return _seconds("getppid()", getppid=os.getppid)


def _compressing():
    text = " ".join(map(str, range(300))).encode()[:1000]
    return _seconds("compress(text, 1)", compress=zlib.compress, text=text)


def _from_memory(size=2**26):
    """Seconds for 10^6 bytes: a search for a byte that isn't there reads all others."""
    return _seconds("ones.find(0)", ones=bytearray(b"\1") * size) * 10**6 / size


def _to_another_thread():
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
    """One byte to another process on this machine, and back."""

    def send():
        link.sendall(b"!")
        if link.recv(1) != b"!":
            raise ConnectionError("the other process has ended")

    with socket.create_server(("127.0.0.1", 0)) as server:  # 0: any port that is free
        server.settimeout(LIMIT)
        port = str(server.getsockname()[1])
        echo = subprocess.Popen(
            [sys.executable, "-I", "-c", ECHO, port], stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL
        )
        try:
            link, _ = server.accept()
            with link:
                link.settimeout(LIMIT)
                return _seconds("send()", send=send)
        finally:
            echo.kill()
            echo.wait()


def _writing():
    """Until the disk reports that it has the bytes.

    macOS doesn't wait for that, and a temporary folder that lies in memory has no disk.
    """

    def save():
        file.seek(0)
        file.write(block)
        os.fsync(file.fileno())

    block = bytes(4096)
    with TemporaryFile(buffering=0) as file:
        return _seconds("save()", save=save)


def _starting(program="pass"):
    def start():
        command = [sys.executable, "-c", program]
        quiet = dict(stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
        subprocess.run(command, check=True, timeout=6 * LIMIT, **quiet)

    return _seconds("start()", start=start)


LATENCIES = {
    "a line that another core changed": _changed_line,  # the only one that needs a C compiler
    "taking a free lock": _free_lock,
    "a system call": _system_call,
    "compressing 1 KB": _compressing,
    "1 MB from memory": _from_memory,
    "to another thread and back": _to_another_thread,
    "through TCP and back": _through_tcp,
    "writing 4 KB to the disk": _writing,
    "starting Python": _starting,
    "starting Python and importing torch": partial(_starting, "import torch"),
}


# What a busy machine, or a sandbox, has in place of an answer. (A TimeoutError is an OSError, and
# a RuntimeError says that there are no more threads.)
NOT_NOW = (OSError, RuntimeError, SubprocessError, Empty, CompilerNotFound, CompilationFailed)


def measured_latencies(report: Callable[[str], object] = print) -> dict[str, float | None]:
    """How long things take on this machine: name -> seconds. The names are the same everywhere.

    They take a few seconds. What can't be measured at this moment is None, and `report` is called
    with a line that says why: there may be no C compiler, no TCP, or no two free cores.
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
