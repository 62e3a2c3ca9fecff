"""Candidates in processes of their own: both sides, the proxy here and what runs there.

    with start_workers(programs) as runners:
        for runner in runners.values():
            runner.warm_up()
        rounds = Rounds([*runners.values()], runners["mine"])

`ProgramRunner` has the interface of `timing.Runner` and asks the `Runner` in its process, by way of
a `workers.Worker`. That one times its blocks itself, so what an exchange of messages takes is not
part of any time. The garbage collector stays as the program has it: all the garbage is the
program's.
"""

import linecache
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib import import_module
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic, perf_counter, process_time
from types import ModuleType
from typing import Any

from .. import workers
from ..frameworks import THREADS, compilations, notes
from ..workers import GRACE, Worker, decode, encode, format_exception_only, wait_any
from .agreement import any_needs_gradients, reduce_with_format
from .metadata import available_memory, bytes_in, describe_machine, page_faults, peak_memory
from .timing import CandidateError, Runner, device_clock

# Seconds of calls that are not timed, after others have run and filled caches and branch predictors
# with theirs. The third call of the course's network still takes 6% too long, the tenth 1%.
WAKING = 0.3e-3
# The same with several threads, which fell asleep in the pause. With 0.3 ms a network seemed up to
# twice as slow on a busy machine as in a loop; with 3 ms as slow.
WAKING_THREADS = 3e-3
# Of torch.compile; its compiled headers are in the folder for temporary files.
CACHES = ["TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "CUDA_CACHE_PATH"]
CACHES += ["TMPDIR", "TEMP", "TMP"]
LOADING = 2**29  # bytes that a process may take while it loads: as many at once as there is memory
SPARE, EACH = 2**27, 2**24  # bytes to be left for building: for a compiler, and for each process
TIMEOUT = 300.0  # seconds to wait for any one reply of a process
LAST_LINES, LONG_LINE = 5, 200  # of what it printed, that an error shows; characters of each line
# Methods of the `Runner` there that are called from here, and what the program is doing then.
LONG_CALLS = 0.25  # seconds: to explain a candidate takes five of them
PRINTED = 2**20  # bytes that are looked at of what a program prints
ASKED = dict.fromkeys(["fitting_calls", "draws_random_numbers", "explain"], "while it was called")
ASKED |= dict.fromkeys(["measure", "use_processor_time"], "while it was timed")
MODULE = "candidate_program"  # not __main__: a block for `__name__ == "__main__"` is not run


@dataclass(frozen=True)
class Program:
    """A candidate that is source text, for a process of its own, which `start` starts.

    `candidates.isolated` makes it, and says what the text must define.
    """

    source: str = field(repr=False)
    filename: str  # what errors and tracebacks call it
    path: str  # absolute; "" for a text
    build: str  # the name of the function that builds the candidate
    threads: int | None = None
    cold_cache: bool = False

    def start(self, label, args, clock):
        """Start the program in a process, and return its ProgramRunner. `clock` is not used."""
        return ProgramRunner(label, self, args)


class ProgramRunner:
    """A program's process, with the interface of `timing.Runner`.

    The process starts at once. Then `load` waits until the program's top level has run, and
    `warm_up` builds the candidate. Only after that does it have the attributes of a `Runner`, and
    `machine`, what `describe_machine` says there. It is a candidate, too, and can be started again:
    then it is built with other arguments, in the same process. In the end `close_all` must be
    called.
    """

    clock = staticmethod(perf_counter)
    waking = WAKING
    single, memory = (), None

    def __init__(self, label: str, program: Program, args: tuple = ()):
        self.program = program
        self.start(label, args)  # before there is a process: it may fail
        variables = {} if program.threads is None else dict.fromkeys(THREADS, str(program.threads))
        self._cache = TemporaryDirectory(ignore_cleanup_errors=True) if program.cold_cache else None
        if self._cache:
            variables |= dict.fromkeys(CACHES, self._cache.name)
        variables |= {name: os.environ.get(name, kinds) for name, kinds in notes.LOGS.items()}
        self.worker = Worker(f"{__name__}:ProgramServer", variables)
        self.loading = self.worker.request("load", label, program)

    def start(self, label: str, args: tuple, clock: Any = None) -> "ProgramRunner":
        """Use this label, and build the candidate with these arguments next.

        TypeError for arguments that cannot be sent. `clock` is not used: the process has its own.
        """
        self.label = label
        self.set_args(args)
        return self

    def set_args(self, args: tuple) -> None:
        """Build the candidate with these arguments next. TypeError if they cannot be sent."""
        self.args, self._args = args, encode(args)
        vars(self).pop("results", None)

    def result_for(self, args: tuple) -> Any:
        """Build the candidate with other arguments, beside the one that is timed, and call it."""
        return decode(self._ask("while it was called", "result_for", encode(args)))

    def load(self) -> None:
        """Wait until the program's top level has run. CandidateError if that fails."""
        if self.loading:
            self._reply(self.loading, "while its source was run")
            self.loading = None

    def warm_up(self, first_calls: int = 0, share_cores: bool = True) -> None:
        """Build and warm up the candidate there, see `Runner.warm_up`. CandidateError if it fails.

        `share_cores`: whether all processes with a limit of threads keep to the same cores, as many
        as threads. That suits programs that take turns.
        """
        doing = "while it was built and first called"
        cores = self.program.threads if share_cores else None
        vars(self).update(self._ask(doing, "build", self._args, first_calls, cores))
        self.waking = WAKING if self.machine["threads"] in (None, 1) else WAKING_THREADS
        self._warm = len(self.worker.stderr_tail(PRINTED))

    def notes(self) -> list[str]:
        """Return what must be said of the candidate below a table, one text each."""
        said = notes.notes_from(self.worker.stderr_tail(PRINTED), self._warm)
        return [notes.COMPILED_NOTHING] * self.compiled_nothing + said

    def try_once(self) -> float:
        """See `Runner.try_once`."""
        self.fastest = self._ask("while it was called", "try_once")
        return self.fastest

    def __getattr__(self, name):
        """Return a method of ASKED, which calls the method of the `Runner` in the process."""
        if name not in ASKED:
            raise AttributeError(f"a program's runner has no {name!r}, or not yet")
        return partial(self._ask, ASKED[name], name)

    @cached_property
    def results(self) -> list[Any]:
        """What the first calls returned, arrays as NumPy's; sent when first asked for.

        CandidateError if a result cannot be sent.
        """
        sent = self._ask("while its results were sent", "results")
        for refusal in [result for result in sent if isinstance(result, str)]:
            text = f"returned something that cannot be checked: {refusal}; return arrays or numbers"
            raise CandidateError(self.label, text)
        return [decode(result) for result in sent]

    def time_single_calls(self, seconds: float) -> None:
        """Set `single`, the seconds of calls that were timed one by one, and `memory`, in bytes."""
        self.single, self.memory = self._ask("while it was timed", "time_single_calls", seconds)

    def _ask(self, doing, method, *args):
        """Call a method of the ProgramServer, and return its result; errors as of `_reply`."""
        return self._reply(self.worker.request(method, *args), doing)

    def _reply(self, ticket, doing):
        """Wait for the reply that has this ticket, and return its content.

        CandidateError if the program has raised, has ended, or does not answer for TIMEOUT seconds;
        `doing` says in the message what it was doing.
        """
        late = monotonic() + TIMEOUT
        while monotonic() < late:
            for _, reply in wait_any([self.worker]):
                if reply is None:
                    raise self._failed(f"{self.worker.describe_exit()} {doing}")
                if reply[0] == ticket:  # and not of a request that was interrupted
                    _, kind, content = reply
                    if kind == "ok":
                        return content
                    text, line = content
                    where = f" ({self.program.filename}, line {line})" if line else ""
                    raise CandidateError(self.label, f"raised {text}{where}")
        raise self._failed(f"did not answer for {TIMEOUT:g} s {doing}, and was ended")

    def _failed(self, text):
        """End the process, and return the CandidateError with what it printed last."""
        self.worker.kill()
        printed = "\n".join(notes.NOT_LOGGED.findall(self.worker.stderr_tail(PRINTED)))
        words, crash, place = printed.partition("Fatal Python error: ")
        words += crash + place.partition("\n")[0]  # behind it are addresses and modules
        last = [f"\n    {line[:LONG_LINE]}" for line in words.strip().splitlines()[-LAST_LINES:]]
        return CandidateError(self.label, text + "; it printed last:" * bool(last) + "".join(last))


def close_all(runners: Iterable[Runner | ProgramRunner]) -> None:
    """End the processes of all runners at the same time, after GRACE seconds by force.

    Runners of this process are left alone.
    """
    runners = [runner for runner in runners if runner.worker]
    workers.close_all([runner.worker for runner in runners], GRACE)
    for runner in runners:
        if runner._cache:
            runner._cache.cleanup()


@contextmanager
def start_workers(
    programs: dict[str, Program],
    on_error: Callable[[CandidateError], None] | None = None,
    args: tuple = (),
    show: Callable[[str], None] = lambda text: None,
    clock: Callable[[], float] = device_clock,
) -> Iterator[dict[str, ProgramRunner]]:
    """Start programs once, for several comparisons, because loading a framework can take seconds.

        with start_workers({"mine": isolated(Path("mine.py")), "other": isolated(text)}) as running:
            results = {n: compare(running, inputs(n)) for n in (1, 64)}

    Yields candidates for `compare` and `sweep`, which build them again for each comparison, with
    its arguments in place of `args`. Programs load at the same time, as many as there is memory
    for; `show` gets a text about each. The processes end with the block. `on_error` gets the error
    of a program that cannot be loaded, which is then left out; by default the error is raised. If
    memory runs out, that program is the largest one, but never the first.

    `compare` starts candidates of every kind this way; those in this process get the `clock`.
    """
    runners, running, waiting = [], {}, list(programs.items())
    try:
        while waiting:
            fit = int(max(1, min(available_memory() / LOADING, len(waiting))))
            group, waiting = waiting[:fit], waiting[fit:]
            for label, program in group:
                runners.append(program.start(label, args, clock))
            for runner in runners[-fit:]:
                with passed_to(on_error):
                    if is_new := runner.loading:
                        show(f"starting {runner.label}")
                        runner.load()
                    running[runner.label] = runner
                if is_new:
                    make_room(running, on_error)
        yield running
    finally:
        own = zip(runners, programs.values(), strict=False)  # one may have failed to start
        close_all(runner for runner, program in own if runner is not program)


def make_room(running: dict[str, ProgramRunner], on_error: Any) -> None:
    """End the largest processes, but never the first one, until there is memory to go on.

    They are taken out of `running`, and `on_error` gets a CandidateError about each.
    """
    while available_memory() < SPARE + EACH * len(running):
        others = [runner for runner in [*running.values()][:0:-1] if runner.worker]
        sizes = {r: bytes_in(f"/proc/{r.worker.process.pid}/status", "RssAnon") for r in others}
        if not sizes:
            break
        largest = max(sizes, key=lambda runner: sizes[runner] // EACH)  # or the last of several
        running.pop(largest.label).worker.kill()
        with passed_to(on_error):
            what = f"took {sizes[largest] >> 20} MiB, and was ended before memory ran out"
            raise CandidateError(largest.label, what)


@contextmanager
def passed_to(on_error: Callable[[CandidateError], None] | None) -> Iterator[None]:
    """A context manager that passes a CandidateError of its block to `on_error`, or raises it."""
    try:
        yield
    except CandidateError as error:
        if on_error is None:
            raise
        on_error(error)


# In the program's process -------------------------------------------------------------------


class ProgramServer(workers.RequestServer):
    """The object in a program's process: it serves the requests of `ProgramRunner`."""

    runner = None

    def load(self, label, program):
        """Run the program's top level, as a module, and find the function that builds."""
        self.label, self.filename, path = label, program.filename, program.path
        module = sys.modules[MODULE] = ModuleType(MODULE)
        module.__file__ = path or program.filename
        sys.path.insert(0, os.path.dirname(path))  # as `python mine.py` would; "" for a text
        # AutoGraph, TorchScript and others read the source of what they compile.
        lines = program.source.splitlines(True)
        linecache.cache[self.filename] = len(program.source), None, lines, self.filename
        sys.argv = [path or sys.argv[0]]
        exec(compile(program.source, self.filename, "exec", dont_inherit=True), vars(module))
        self.function = getattr(module, program.build)

    def build(self, args, first_calls, cores):
        """Build the candidate with these encoded arguments, and warm it up.

        `first_calls` is for `Runner.warm_up`, `cores` for `keep_to_cores`. Returns a dict for the
        ProgramRunner's attributes: the Runner's `build`, `build_state`, `warmup`, `fastest`,
        `inner_calls` and `returns_same`, and `machine`, `needs_gradients`, `compiled_nothing`,
        `graphs` and `only_computes`.
        """
        before, needs = compilations(), []

        def keep(result):  # encoded at once: a later call may change it
            needs.append(any_needs_gradients([result]))
            return encoded(result)

        args = decode(args)  # only now: it loads NumPy, and the program comes first
        keep_to_cores(cores)  # and what it starts from now on
        build = partial(self.function, *args)
        self.runner, self.new_pages = Runner(self.label, None, (), device_clock, build, keep), []
        self.runner.warm_up(first_calls)
        tried, graphs, *_ = (now - then for now, then in zip(compilations(), before, strict=True))
        names = ("build", "build_state", "warmup", "fastest", "inner_calls", "returns_same")
        # Gradients are left out: a program may switch them off inside its calls.
        found = {"machine": describe_machine() | {"gradients": None}, "needs_gradients": needs[-1]}
        found |= {"compiled_nothing": tried > 0 and not graphs, "graphs": graphs}
        found["only_computes"] = only_computes(self.runner, found["machine"]["threads"])
        return {name: getattr(self.runner, name) for name in names} | found

    def result_for(self, args):
        """Build the candidate with these encoded arguments, and return what a call returns."""
        function = self.function(*decode(args))
        return encoded(getattr(function, "function", function)())

    def results(self):
        """Return what the first calls returned, each as `encoded` returns it."""
        return self.runner.results

    def time_single_calls(self, seconds):
        """Return (seconds of each call, timed by itself; this process's peak memory in bytes).

        Here waiting for a core counts: that is how long somebody waits for an answer.
        """
        self.runner.clock = device_clock
        return self.runner.single_calls(seconds), peak_memory()

    def measure(self, calls, untimed):
        """As the Runner does; and note how many pages of memory the system hands out for a call."""
        before = page_faults()
        took = self.runner.measure(calls, untimed)
        self.new_pages.append((page_faults() - before) / (calls + untimed))
        return took

    def explain(self, function):
        """Return what `function`, a "module:name", says of the candidate and its new pages.

        None for LONG_CALLS, for an inner loop of calls, and if it raises.
        """
        module, name = function.split(":")
        if self.runner.fastest < LONG_CALLS and self.runner.inner_calls == 1:
            with suppress(Exception):
                explain = getattr(import_module(module), name)
                return explain(self.runner.function, median(self.new_pages))
        return None

    def __getattr__(self, name):
        """All other requests are for the Runner."""
        return getattr(self.runner, name)

    def format_error(self, error):
        """Return (message, line of the program's source where the error was, or 0)."""
        if isinstance(error, CandidateError):
            error = error.__cause__ or error
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == self.filename]
        return format_exception_only(error), lines[-1] if lines else 0


def only_computes(runner, threads):
    """Return whether calls compute on one thread of the CPU all the time, and wait for nothing.

    Then the processor's clock, which stands still while other programs have the core, says how long
    they take. A thread that waits gives its core away by itself, which the system counts.
    """
    if sys.platform != "linux" or threads not in (None, 1):
        return False
    from resource import RUSAGE_SELF, getrusage

    opened = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
    if any(map(re.compile("/dev/(nvidia|kfd|dri|accel)").match, opened)):
        return False  # it may keep the core while it waits for the device
    calls = runner.fitting_calls()
    waits, used, elapsed = getrusage(RUSAGE_SELF).ru_nvcsw, -process_time(), -perf_counter()
    runner.measure(calls, untimed=0)
    used, elapsed = used + process_time(), elapsed + perf_counter()
    return getrusage(RUSAGE_SELF).ru_nvcsw == waits and used < 1.1 * elapsed  # or several threads


def encoded(result):
    """Return the result as bytes, see `encode`; or, if it can't be sent, why, as a str."""
    try:
        return encode(result, reduce_with_format)
    except Exception as error:  # of the program's own types, too
        return str(error)


def keep_to_cores(count):
    """Keep all threads of this process to the same `count` cores, on Linux; None is for no limit.

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
