"""A program's own process: it builds its candidate and times blocks of it on request.

`processes` starts it, with any Python from 3.11 on, and only the standard library is needed.
A request is a line of JSON on stdin, an answer a line of JSON on stdout. What the program prints
goes to stderr instead, even if C prints it.

Here the same `Runner` measures as in the comparison's own process. The garbage collector stays
as the program has it: all the garbage is the program's.
"""

import atexit
import faulthandler
import json
import linecache
import os
import signal
import sys
import time
import traceback
from contextlib import suppress
from io import TextIOWrapper
from queue import SimpleQueue
from threading import Thread
from types import ModuleType

from .. import frameworks
from .candidates import CandidateError, Repeated, in_words, recipe
from .machine import describe_machine
from .messages import decode, encode
from .timing import Plan, Runner

GRACE = 2.0  # seconds to end properly
MODULE = "candidate_program"  # not __main__: a block for `__name__ == "__main__"` is not run
ANSWER = '{"number": '  # so an answer begins, and nothing else that may come from stdout


def main() -> None:
    """Answer requests until there are no more."""
    atexit.register(end_helpers)  # the first to be registered is the last to be called
    requests, answers = own_streams()
    answers = TextIOWrapper(answers, encoding="utf-8")
    answers.write("\n")  # ends whatever Python has printed while it started
    lines = SimpleQueue()
    Thread(target=listen, args=(requests, lines), daemon=True).start()
    worker = Worker()
    while line := lines.get():
        request = json.loads(line)
        number, do = request.pop("number"), request.pop("do")
        try:
            answer = json.dumps({"number": number, "ok": getattr(worker, do)(**request)})
        except BaseException as error:  # SystemExit, too
            answer = json.dumps({"number": number, "error": worker.described(error)})
        answers.write(answer + "\n")
        answers.flush()


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


def listen(requests, lines):
    """Read requests in a thread, so that their end is noticed even while the program is busy.

    They also end when the comparison's process is killed.
    """
    for line in requests:
        lines.put(line)
    lines.put(b"")
    end_soon()


def end_soon():
    """End this process and its helpers by force, if it doesn't end by itself in a while."""
    time.sleep(GRACE)
    if leads_group():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def keep_to_cores(count):
    """Let all threads of this process share so many cores, on Linux; None for all cores.

    A framework may hand the work of its one thread to another one. How long that one takes to wake
    up depends on the core where it happens to be: on another one, a call of JAX takes half as long
    again. All programs get the same cores, since only one of them is timed at once.
    """
    if count is None or not hasattr(os, "sched_setaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))[-count:]
    for thread in os.listdir("/proc/self/task"):
        with suppress(OSError):  # it may have ended
            os.sched_setaffinity(int(thread), cores)


def leads_group():
    return os.name == "posix" and os.getpgrp() == os.getpid()


def end_helpers():
    """Ask the processes that the program has started to end: compilers have some."""
    if leads_group():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # we are in the group ourselves
        os.killpg(0, signal.SIGTERM)


class Worker:
    """What can be requested; a request names the method."""

    def load(self, label, source, filename, path, build):
        """Run the program's top level, as a module."""
        self.label, self.filename = label, filename
        module = sys.modules[MODULE] = ModuleType(MODULE)
        module.__file__ = path or filename
        sys.path.insert(0, os.path.dirname(path))  # as `python mine.py` would; "" for a text
        # AutoGraph, TorchScript and others read the source of what they compile.
        linecache.cache[filename] = len(source), None, source.splitlines(True), filename
        exec(compile(source, filename, "exec", dont_inherit=True), vars(module))
        self.function = getattr(module, build)

    def build(self, args, first_calls, cores):
        """Build the candidate and warm it up; returns what the comparison wants to have of it."""
        args = decode(args)  # only now: it loads NumPy, and the program comes first

        def build():
            built = self.function(*args)
            if callable(built) or isinstance(built, Repeated):
                return built
            name, kind = self.function.__name__, type(built).__name__
            raise TypeError(f"{name}() must return a function without arguments, not {kind}")

        keep_to_cores(cores)  # and what it starts from now on
        self.runner = runner = Runner(
            self.label,
            recipe(build),
            (),
            frameworks.synchronize,
            time.perf_counter,
            first_calls,
        )
        names = ("build", "built_in", "warmup", "fastest", "times")
        # Gradients are left out: a program may switch them off inside its calls.
        machine = describe_machine() | {"gradients": None}
        return {name: getattr(runner, name) for name in names} | {"machine": machine}

    def try_once(self):
        self.runner.try_once()
        return self.runner.fastest

    def fitting_calls(self):
        return self.runner.fitting_calls()

    def measure(self, calls, untimed):
        return self.runner.measure(Plan(calls, untimed))

    def result(self):
        try:
            return {"result": encode(self.runner.result)}
        except TypeError as error:
            return {"refusal": str(error)}

    def described(self, error):
        """An error in words, and where in the program's own source it was."""
        if isinstance(error, CandidateError):
            error = error.__cause__
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename == self.filename]
        line = own[-1].lineno if own else None
        if isinstance(error, SyntaxError) and error.filename == self.filename:
            line = error.lineno  # an older Python may not know all of the syntax
        trace = "".join(traceback.format_list(own))
        return {"text": in_words(error), "line": line, "trace": trace}
