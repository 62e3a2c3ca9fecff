"""The child's side: its own two pipes, the requests that come, its helpers, its end."""

import atexit
import faulthandler
import gc
import os
import signal
import sys
import time
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from .values import frame, read_frame

GRACE = 2.0  # seconds to end properly
BEGIN = b"answers begin here\n"  # the line of stdout behind which frames come


class Responder:
    """Answers the requests of the parent's `Child`; a subclass has a method for each.

    A method gets the arguments of the request, and returns plain values; for an error that it
    raises, the subclass's `described(error)` does. What is said is a frame, see `values`: the
    request's number; "ok" or "error", or another kind in a `report`; a content.
    """

    urgent = ()  # names of methods that a thread calls at once, while another one may be running

    def __init__(self):
        # The first to be registered is the last to be called. At its end Python looks for cycles
        # of garbage among all objects; with TensorFlow loaded that takes half of the import's time.
        atexit.register(gc.freeze)
        atexit.register(end_helpers)
        self._pipes, self._writing, self._waiting = own_streams(), Lock(), SimpleQueue()
        self._pipes[1].write(b"\n" + BEGIN)  # ends whatever Python has printed while it started

    def serve(self) -> None:
        """Answer requests until there are no more."""
        Thread(target=self._listen, daemon=True).start()
        while request := self._waiting.get():
            self._respond(*request)
            self.answered()

    def report(self, kind: str, content: Any = None) -> None:
        """Tell the parent what it has not asked for. Several threads may speak at the same time."""
        self._write(frame((0, kind, content)))

    def answered(self) -> None:
        """Called behind each answer, but for urgent ones."""

    def ending(self) -> None:
        """Called in a thread when there will be no more requests."""

    def _listen(self):
        """Read requests; their end is noticed while a method runs, and is our parent's, too."""
        with suppress(EOFError):
            while True:
                _, do, _ = request = read_frame(self._pipes[0])
                if do in self.urgent:
                    self._respond(*request)
                else:
                    self._waiting.put(request)
        self._waiting.put(None)
        self.ending()
        end_soon()

    def _respond(self, number, do, args):
        try:
            answer = frame((number, "ok", getattr(self, do)(*args)))
        except BaseException as error:  # SystemExit, too
            answer = frame((number, "error", self.described(error)))
        self._write(answer)

    def _write(self, packed):
        with self._writing:
            self._pipes[1].write(packed)
            self._pipes[1].flush()


def own_streams():
    """Two binary files, for requests and for answers, which nothing else can read or write.

    What the process prints goes to stderr instead, even if C prints it.
    """
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)  # or `input()` would read our requests
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):  # by lines: else a crash would take the last words
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    faulthandler.enable(all_threads=False)  # says where a crash was
    return requests, answers


def end_soon():
    """End this process and its helpers by force, if it doesn't end by itself in a while."""
    time.sleep(GRACE)
    if leads_group():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def end_helpers():
    """Ask the processes that the program has started to end: compilers have some."""
    if leads_group():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # we are in the group ourselves
        os.killpg(0, signal.SIGTERM)


def leads_group():
    return os.name == "posix" and os.getpgrp() == os.getpid()


def in_words(error):
    """An error's type and message."""
    try:
        return f"{type(error).__name__}: {error}".removesuffix(": ")
    except Exception:  # its own __str__ fails; Python's tracebacks say so too
        return f"{type(error).__name__}: <exception str() failed>"
