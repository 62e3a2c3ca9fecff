"""A program's own process: it builds its candidate and times blocks of it on request.

`processes` starts it. Here the same `Runner` measures as in the comparison's own process. The
garbage collector stays as the program has it: all the garbage is the program's.
"""

import linecache
import os
import sys
import traceback
from contextlib import suppress
from types import ModuleType

from ..workers import RequestServer, decode, encode, format_exception_only
from .candidates import CandidateError, Repeated, recipe
from .measured_on import describe_machine, peak_memory
from .timing import Runner, device_clock

MODULE = "candidate_program"  # not __main__: a block for `__name__ == "__main__"` is not run


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


def packed(result):
    """A result, encoded, and None; or None, and why it cannot be sent."""
    try:
        return encode(result), None
    except Exception as error:  # of the program's own types, too; nobody may ask for the result
        return None, str(error)


class Timer(RequestServer):
    """What can be requested."""

    def load(self, label, source, filename, path, build, inputs=None, argv=()):
        """Run the program's top level, as a module."""
        self.label, self.filename = label, filename
        module = sys.modules[MODULE] = ModuleType(MODULE)
        module.__file__ = path or filename
        sys.path.insert(0, os.path.dirname(path))  # as `python mine.py` would; "" for a text
        # AutoGraph, TorchScript and others read the source of what they compile.
        linecache.cache[filename] = len(source), None, source.splitlines(True), filename
        sys.argv = [path or sys.argv[0], *argv]
        exec(compile(source, filename, "exec", dont_inherit=True), vars(module))
        self.function = getattr(module, build)
        self.inputs = inputs and getattr(module, inputs)

    def build(self, args, first_calls, exactly, cores):
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
            device_clock,
            first_calls,
            exactly,
            keep=packed,  # at once: a later call may change it
            inputs=self.inputs,
        )
        names = ("build", "built_in", "warmup", "fastest", "inner_calls")
        # Gradients are left out: a program may switch them off inside its calls.
        machine = describe_machine() | {"gradients": None}
        return {name: getattr(runner, name) for name in names} | {"machine": machine}

    def ask_runner(self, do, *args):
        return getattr(self.runner, do)(*args)

    def time_single_calls(self, seconds):
        """The times of calls, timed one by one, and the most memory that this process had."""
        return self.runner.single_calls(seconds), peak_memory()

    def results(self):
        """What was kept: see `packed`."""
        return self.runner.results

    def format_error(self, error):
        """An error in words, and where in the program's own source it was."""
        if isinstance(error, CandidateError):
            error = error.__cause__
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename == self.filename]
        line = own[-1].lineno if own else None
        if isinstance(error, SyntaxError) and error.filename == self.filename:
            line = error.lineno  # the compiler finds more than the parser, which had no objection
        trace = "".join(traceback.format_list(own))
        return format_exception_only(error), line, trace
