"""The parent's side of a child process: start it, ask it, say how it ended, end it.

    answers = SimpleQueue()
    child = Child("measure.worker", {"OMP_NUM_THREADS": "1"}, answers)
    number = child.ask("load", "mine", source)
    child, answer = new_answers(answers, [child])[0]  # answer: None, or (number, kind, content)
    end_all([child], GRACE)

`inside.Responder` is the other side.
"""

import os
import signal
import subprocess
import sys
from codecs import getincrementaldecoder
from collections.abc import Hashable
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any

from .inside import BEGIN, GRACE
from .values import frame, read_frame

POLL = 0.1  # seconds between two looks at a process that does not answer
LAST = 2**13  # characters of what it printed last

# The package is loaded from its folder, whatever else of this name is installed.
BOOTSTRAP_PROGRAM = """
import gc, sys
from importlib import import_module
gc.disable()  # a rank of a world loads torch here: an eighth of that is looking for garbage
module, folder = sys.argv[1:]
del sys.argv[1:]
sys.path.insert(0, folder)
import d2lhybrid
sys.path.remove(folder)
main = import_module("d2lhybrid." + module).main
gc.freeze()
gc.enable()
main()
"""


def start_python(module: str, variables: dict[str, str]) -> subprocess.Popen:
    """Start `main` of a module of this package in another Python, with three pipes.

    `variables` are added to its environment.
    """
    # -P: or a file of the user's such as random.py would be taken for the library's.
    command = [sys.executable, "-P", "-c", BOOTSTRAP_PROGRAM]
    return subprocess.Popen(
        [*command, module, str(Path(__file__).parents[2])],
        env=os.environ | variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A group of its own: Ctrl-C reaches the parent only, and helpers can be ended together.
        start_new_session=True,  # POSIX's; the other is Windows's
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )


class Child:
    """A Python process that waits for requests, and the threads that speak with it.

    `module` has a `main` that serves a `Responder`. What that says is put into the queue `answers`:
    `(child, (number, kind, content))`, and `(child, None)` when nothing more can come. `printed`
    keeps the end of all else that it writes. OSError if it can't be started.
    """

    def __init__(
        self, module: str, variables: dict[str, str], answers: SimpleQueue, name: Hashable = None
    ):
        self.name, self.printed = name, Kept(0, LAST)
        self._asked, self._requests, self._is_killed = 0, SimpleQueue(), False
        self.process = start_python(module, variables)
        self.threads = [
            Thread(target=self._keep_printed, args=[self.process.stderr], daemon=True),
            Thread(target=self._read_answers, args=[self.process.stdout, answers], daemon=True),
            # In a thread, too: a large request has to wait until the process reads.
            Thread(target=self._write_requests, args=[self.process.stdin], daemon=True),
        ]
        for thread in self.threads:
            thread.start()

    def ask(self, do: str, *args: Any) -> int:
        """Request a method; returns its answer's number. Who has ended gives none."""
        self._asked += 1
        self._requests.put(frame((self._asked, do, args)))
        return self._asked

    def ask_no_more(self) -> None:
        """Close the pipe behind the last request: the process's sign to end."""
        self._requests.put(None)

    def how_it_ended(self) -> str:
        """What became of a process that says no more, in words."""
        try:
            return how_it_ended(self.process.wait(GRACE))
        except subprocess.TimeoutExpired:
            return "stopped answering"

    def last_words(self) -> str:
        """What the process printed last. It is killed: else there may be more to come."""
        self.kill()
        self.threads[0].join(GRACE)  # the one that keeps it
        return str(self.printed)

    def kill(self) -> None:
        """Kill the process, if it is still there, and the helpers that it may have started."""
        if self._is_killed:
            return  # its number may belong to another process by now
        if os.name == "posix":
            with suppress(ProcessLookupError, PermissionError):  # macOS says so of a dead one
                os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.kill()
        self.process.wait()
        self._is_killed = True

    # Threads --------------------------------------------------------------------------------

    def _write_requests(self, pipe):
        with suppress(OSError), pipe:  # it has ended: no answer will come
            while request := self._requests.get():
                pipe.write(request)
                pipe.flush()

    def _read_answers(self, pipe, answers):
        with pipe, suppress(EOFError, OSError):
            while pipe.readline() not in (BEGIN, b""):
                pass
            while True:
                answers.put((self, read_frame(pipe)))
        answers.put((self, None))

    def _keep_printed(self, pipe):
        decoder = getincrementaldecoder("utf-8")("replace")
        with pipe:
            while printed := pipe.read1(2**16):
                self.printed.add(decoder.decode(printed))


def new_answers(answers: SimpleQueue, children: list[Child]) -> list[tuple[Child, Any]]:
    """What children say next: pairs of a child and an answer, which is None where it has ended."""
    try:
        return [answers.get(timeout=POLL)]
    except Empty:  # helpers of a process may keep its pipe open after its end
        return [(child, None) for child in children if child.process.poll() is not None]


def end_all(children: list[Child], grace: float = 0.0) -> None:
    """End all processes, at the same time, and their threads, and empty the list.

    They end properly if they do so in `grace` seconds, or else by force.
    """
    for child in children:
        child.ask_no_more()
    late = monotonic() + grace
    while children:
        child = children.pop()
        with suppress(subprocess.TimeoutExpired):
            child.process.wait(max(0, late - monotonic()))
        child.kill()
        for thread in child.threads:
            thread.join(GRACE)


def how_it_ended(code: int) -> str:
    """The exit code of a process in words; a negative one is the number of a signal."""
    if code >= 0:
        return f"ended with exit code {code}"
    name = signal.Signals(-code).name if -code in list(signal.Signals) else "unknown"
    hint = ", as the system does when memory runs out," if name == "SIGKILL" else ""
    return f"was killed by signal {-code} ({name}){hint}"


class Kept:
    """A long text of which only so many characters of the beginning and of the end are kept."""

    def __init__(self, begin: int, end: int, text: str = ""):
        self.count, self._begin, self._end, self._sizes = 0, "", "", (begin, end)
        self.add(text)

    def add(self, text: str) -> None:
        self.count += len(text)
        room = self._sizes[0] - len(self._begin)
        self._begin += text[:room]
        self._end = (self._end + text[room:])[-self._sizes[1] :]

    def __str__(self):
        """What was kept, with a line in place of the rest."""
        left_out = self.count - len(self._begin) - len(self._end)
        line = f"\n... {left_out:,} characters left out ...\n" if left_out else ""
        return self._begin + line + self._end
