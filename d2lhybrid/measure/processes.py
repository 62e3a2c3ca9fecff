"""Candidates in processes of their own: starting them, asking them, ending them.

    with started(programs) as runners:
        for runner in runners.values():
            runner.set_args(args)
            runner.warm_up()
        rounds = Rounds([*runners.values()], runners["mine"])

`worker` is the other side. The process times its blocks itself, so what an exchange of messages
takes is not part of any time.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from tempfile import TemporaryDirectory
from time import monotonic, perf_counter
from typing import Any

from .. import workers
from ..frameworks.threads import THREADS
from ..workers import GRACE, Worker, decode, encode, wait_any
from .candidates import CandidateError, Program

# Seconds of calls that are not timed, after others have run and filled caches and branch predictors
# with theirs. The third call of the course's network still takes 6 % too long, the tenth 1 %.
WAKING = 0.3e-3
# The same with several threads, which fell asleep in the pause. With 0.3 ms a network seemed up to
# twice as slow on a busy machine as in a loop; with 3 ms as slow.
WAKING_THREADS = 3e-3
# Of torch.compile; its compiled headers are in the folder for temporary files.
CACHES = ["TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "CUDA_CACHE_PATH"]
CACHES += ["TMPDIR", "TEMP", "TMP"]
FLOOD = 2**20  # bytes: who prints more is timed for the printing
LAST_LINES, LONG_LINE = 5, 200  # lines of it that an error shows, and characters of each


class ProgramRunner:
    """A program's process, with the interface of `timing.Runner`.

    The process starts at once. Then `load` waits until the program's top level has run, and
    `warm_up` builds the candidate; only then there is what a `Runner` has, and `machine`, what
    `describe_machine` says there. With other arguments, from `set_args`, it can be built again. In
    the end `close_all` must be called.
    """

    clock = staticmethod(perf_counter)
    waking = WAKING
    single, memory = (), None

    def __init__(self, label: str, program: Program, args: tuple = (), first_calls: int = 0):
        self.label, self.program = label, program
        self.set_args(args, first_calls)  # before there is a process: it may fail
        variables = {} if program.threads is None else dict.fromkeys(THREADS, str(program.threads))
        self._cache = TemporaryDirectory(ignore_cleanup_errors=True) if program.cold_cache else None
        if self._cache:
            variables |= dict.fromkeys(CACHES, self._cache.name)
        self.worker = Worker("d2lhybrid.measure.worker:Timer", variables)
        names = ("source", "filename", "path", "build", "inputs", "argv")
        self._loading = self.worker.request(
            "load", label, *(getattr(program, name) for name in names)
        )

    def set_args(self, args: tuple, first_calls: int = 0) -> None:
        """Use these arguments when the candidate is built next."""
        self._args, self.first_calls = encode(args), first_calls
        vars(self).pop("results", None)

    def load(self) -> None:
        """Wait until the program's top level has run."""
        self._answer(self._loading, "while its source was run")

    def warm_up(self, share_cores: bool = True, exactly: int | None = None) -> None:
        """Build the candidate and make the first calls, `exactly` so many or as usual.

        `share_cores`: whether all processes with a limit of threads keep to the same cores, as many
        as threads. That suits programs that take turns.
        """
        doing = "while it was built and first called"
        cores = self.program.threads if share_cores else None
        vars(self).update(self._ask(doing, "build", self._args, self.first_calls, exactly, cores))
        self.waking = WAKING if self.machine["threads"] in (None, 1) else WAKING_THREADS

    def try_once(self) -> float:
        """See `Runner.try_once`."""
        self.fastest = self._ask("while it was called", "ask_runner", "try_once")
        return self.fastest

    def fitting_calls(self) -> int:
        """See `Runner.fitting_calls`."""
        return self._ask("while it was called", "ask_runner", "fitting_calls")

    def number_format(self) -> str:
        """See `Runner.number_format`."""
        return self._ask("while it was called", "ask_runner", "number_format")

    def measure(self, calls: int, untimed: int) -> float:
        """See `Runner.measure`."""
        return self._ask("while it was timed", "ask_runner", "measure", calls, untimed)

    @cached_property
    def results(self) -> list[Any]:
        """As a `Runner` has them, with NumPy's arrays. They are sent only now."""
        sent = self._ask("while its results were sent", "results")
        for _, refusal in sent:
            if refusal:
                raise self._error(
                    f"returned what cannot be checked: {refusal}; check=False needs no result"
                )
        return [decode(packed) for packed, _ in sent]

    def time_single_calls(self, seconds: float) -> None:
        """Set `single`, the times of calls that were timed one by one, and `memory`."""
        self.single, self.memory = self._ask("while it was timed", "time_single_calls", seconds)

    # Asking ---------------------------------------------------------------------------------

    def _ask(self, doing, do, *args):
        return self._answer(self.worker.request(do, *args), doing)

    def _answer(self, number, doing):
        late = monotonic() + self.program.timeout
        while True:
            replies = wait_any([self.worker])
            if self.worker.printed_size() > FLOOD:
                raise self._failed(
                    f"printed more than 1 MiB {doing}: it would be timed for printing"
                )
            for _, reply in replies:
                if reply is None:
                    raise self._failed(f"{self.worker.describe_exit()} {doing}")
                answered, kind, content = reply
                if answered == number and kind == "ok":
                    return content
                if answered == number:
                    raise self._raised(*content)
            if monotonic() > late:
                seconds = f"{self.program.timeout:g} s"
                raise self._failed(f"did not answer for {seconds} {doing}, and was ended")

    # Errors ---------------------------------------------------------------------------------

    def _raised(self, text, line, trace):
        """The CandidateError for an error that the program raised."""
        error = self._error(f"raised {text}", line)
        if trace:
            error.add_note(f"In the program:\n{trace.rstrip()}")
        return error

    def _failed(self, text):
        """End the process, and return the CandidateError with its last words."""
        self.worker.kill()
        words, crash, place = self.worker.stderr_tail().partition("Fatal Python error: ")
        words += crash + place.partition("\n")[0]  # behind it, faulthandler says where
        source = re.escape(self.program.filename)
        line = re.search(rf'File "{source}", line (\d+)', place)
        return self._error(text, line and int(line[1]), words.strip().splitlines()[-LAST_LINES:])

    def _error(self, text, line=None, words=()):
        where = f" ({self.program.filename}, line {line})" if line else ""
        last = "".join(f"\n    {word[:LONG_LINE]}" for word in words)
        last = f"; its last words:{last}" if last else ""
        return CandidateError(self.label, text + where + last, self.program.filename, line)


def close_all(runners: Iterable[ProgramRunner]) -> None:
    """End all processes, at the same time: properly if they do so soon, or else by force."""
    runners = list(runners)
    workers.close_all([runner.worker for runner in runners], GRACE)
    for runner in runners:
        if runner._cache:
            runner._cache.cleanup()


@contextmanager
def started(
    programs: dict[str, Program],
    on_error: Callable[[CandidateError], None] | None = None,
    args: tuple = (),
    first_calls: int = 0,
    show: Callable[[str], None] = lambda text: None,
) -> Iterator[dict[str, ProgramRunner]]:
    """Start programs once, for several comparisons: a framework may take seconds to load.

        with started({"mine": own_process(Path("mine.py")), "other": own_process(text)}) as running:
            results = {n: compare(running, inputs(n)) for n in (1, 64)}

    Gives candidates for `compare` and `sweep`, which build them again for each comparison, with its
    arguments in place of `args`. All load at the same time; `show` gets a text about each. The
    processes end with the block. `on_error` gets the error of a program that cannot be loaded; it
    is then left out. By default the error is raised.
    """
    runners, running = [], {}
    try:
        for label, program in programs.items():
            runners.append(ProgramRunner(label, program, args, first_calls))
        for runner in runners:
            show(f"starting {runner.label}")
            with passed_to(on_error):
                runner.load()
                running[runner.label] = runner
        yield running
    finally:
        close_all(runners)


@contextmanager
def passed_to(on_error: Callable[[CandidateError], None] | None) -> Iterator[None]:
    """A block whose CandidateError goes to `on_error`, which may raise it; None raises it."""
    try:
        yield
    except CandidateError as error:
        if on_error is None:
            raise
        on_error(error)
