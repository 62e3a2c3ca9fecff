"""Candidates in processes of their own: starting them, asking them, ending them.

    runners = [ProgramRunner(label, program, args) for label, program in programs.items()]
    try:
        for runner in runners:
            runner.load()  # they all load at the same time
        for runner in runners:
            runner.warm_up()
        rounds = Rounds(runners, runners[0])
    finally:
        close_all(runners)

`started` keeps processes for several comparisons. `worker` is the other side. The process times its
blocks itself, so what an exchange of messages takes is not part of any time.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic, perf_counter
from typing import Any

from ..frameworks import THREADS
from .candidates import CandidateError, Program
from .messages import decode, encode
from .timing import Plan
from .worker import ANSWER, GRACE

# Seconds of calls that are not timed, after others have run and filled caches and branch predictors
# with theirs. The third call of the course's network still takes 6 % too long, the tenth 1 %.
WAKING = 0.3e-3
POLL = 0.1  # seconds between two looks at a process that does not answer
FLOOD = 2**20  # bytes: who prints more is timed for the printing
KEPT = 2**13  # bytes of what it printed last
LAST_LINES, LONG_LINE = 5, 200  # lines of it that an error shows, and characters of each

# The package is loaded from its folder, so that it need not be installed for the other Python, and
# what is installed beside it stays where it is. The first lines are read by any Python. Without
# the "", which -c brings, a file of the user's such as random.py is not taken for the library's.
BOOTSTRAP = """
import sys
if sys.version_info < (3, 11):
    sys.exit("d2lhybrid needs Python 3.11 or later, and this is %d.%d" % sys.version_info[:2])
if "" in sys.path:
    sys.path.remove("")
from importlib.util import module_from_spec, spec_from_file_location
main, folder = sys.argv[1:]
del sys.argv[1:]
spec = spec_from_file_location(
    "d2lhybrid", folder + "/__init__.py", submodule_search_locations=[folder]
)
package = sys.modules["d2lhybrid"] = module_from_spec(spec)
spec.loader.exec_module(package)
from importlib import import_module
import_module(main).main()
"""


class ProgramRunner:
    """A program's process, with the interface of `timing.Runner`.

    The process starts at once. Then `load` waits until the program's top level has run, and
    `warm_up` builds the candidate; only then there are `build`, `built_in`, `warmup`, `fastest`,
    `times`, as a `Runner` has them, and `machine`, what `describe_machine` says there. `take` gives
    it other arguments, with which it can be built again. In the end `close` must be called.

    TypeError for arguments that cannot be sent. Any failure of the program or its process is a
    CandidateError.
    """

    clock = staticmethod(perf_counter)
    waking = WAKING

    def __init__(self, label: str, program: Program, args: tuple = (), first_calls: int = 0):
        self.label, self.program = label, program
        self.take(args, first_calls)  # before there is a process: it may fail
        request = {
            "label": label,
            "source": program.source,
            "filename": program.filename,
            "path": program.path,
            "build": program.build,
        }
        self._asked, self._answers, self._is_over = 0, SimpleQueue(), False
        line = self._numbered("load", request)
        self._process = self._started()
        stdin, stdout = self._process.stdin, self._process.stdout
        self._words = LastWords(self._process.stderr)
        self._reader = in_thread(_read_answers, stdout, self._answers, self._words)
        # In a thread, too: a large request has to wait until the process reads.
        self._writer = in_thread(_write, stdin, line)

    def _started(self):
        python, threads = self.program.python or sys.executable, self.program.threads
        variables = {} if threads is None else dict.fromkeys(THREADS, str(threads))
        try:
            return start_python(python, "d2lhybrid.measure.worker", variables)
        except OSError as error:
            raise CandidateError(
                self.label, f"could not be started: {python} cannot be run ({error.strerror})"
            ) from error

    def take(self, args: tuple, first_calls: int = 0) -> None:
        """Use these arguments when the candidate is built next."""
        self._args, self.first_calls = encode(args, widening=False), first_calls
        json.dumps(self._args)  # this may fail as well: a whole number may be too long
        vars(self).pop("result", None)

    def load(self) -> None:
        """Wait until the program's top level has run."""
        self._answer("while its source was run")

    def warm_up(self, share_cores: bool = True) -> None:
        """Build the candidate and make the first calls.

        `share_cores`: whether a process with a limit of threads keeps to as many cores, the same
        as all others. That suits programs that take turns.
        """
        doing = "while it was built and first called"
        cores = self.program.threads if share_cores else None
        request = {"args": self._args, "first_calls": self.first_calls, "cores": cores}
        got = self._ask("build", doing, **request)
        self.build, self.built_in, self.warmup = got["build"], got["built_in"], tuple(got["warmup"])
        self.fastest, self.times, self.machine = got["fastest"], got["times"], got["machine"]

    def try_once(self) -> None:
        """One more call, to learn how fast a call can be."""
        self.fastest = self._ask("try_once", "while it was called")

    def fitting_calls(self) -> int:
        """How many calls take as long as a block should."""
        return self._ask("fitting_calls", "while it was called")

    def measure(self, plan: Plan) -> float:
        """Seconds a call: the mean over one block, see `Runner.measure`."""
        return self._ask("measure", "while it was timed", calls=plan.calls, untimed=plan.untimed)

    @cached_property
    def result(self) -> Any:
        """What the last of the first calls returned, with NumPy's arrays. It is sent only now."""
        got = self._ask("result", "while its result was sent")
        if refusal := got.get("refusal"):
            raise self._error(
                f"returned what cannot be checked: {refusal}; check=False needs no result"
            )
        return decode(got["result"])

    def close(self) -> None:
        """End the process, if it has not ended yet."""
        close_all([self])

    # Asking ---------------------------------------------------------------------------------

    def _ask(self, do, doing, **request):
        _write(self._process.stdin, self._numbered(do, request))
        return self._answer(doing)

    def _numbered(self, do, request):
        """A request as a line. By its number an answer is recognised, even after an interrupt."""
        self._asked += 1
        return json.dumps({"number": self._asked, "do": do} | request).encode() + b"\n"

    def _answer(self, doing):
        late = monotonic() + self.program.timeout
        while True:
            try:
                answer = self._answers.get(timeout=POLL)
            except Empty:  # its helpers may keep the pipe open after its end
                answer = None if self._process.poll() is not None else {}
            if self._words.count > FLOOD:
                raise self._failed(
                    f"printed more than 1 MiB {doing}: it would be timed for printing"
                )
            if answer is None:
                raise self._ended(doing)
            if answer.get("number") == self._asked:
                break
            if monotonic() > late:
                seconds = f"{self.program.timeout:g} s"
                raise self._failed(f"did not answer for {seconds} {doing}, and was ended")
        if error := answer.get("error"):
            raise self._raised(**error)
        return answer["ok"]

    # Errors ---------------------------------------------------------------------------------

    def _raised(self, text, line, trace):
        """The CandidateError for an error that the program raised."""
        error = self._error(f"raised {text}", line)
        if trace:
            error.add_note(f"In the program:\n{trace.rstrip()}")
        return error

    def _ended(self, doing):
        """The CandidateError for a process that has ended by itself."""
        try:
            code = self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            return self._failed(f"stopped answering {doing}")
        return self._failed(f"{how_it_ended(code)} {doing}")

    def _failed(self, text):
        """End the process, and return the CandidateError with its last words."""
        self._end()
        self._words.thread.join(GRACE)
        words, crash, place = self._words.text().partition("Fatal Python error: ")
        words += crash + place.partition("\n")[0]  # behind it, faulthandler says where
        source = re.escape(self.program.filename)
        line = re.search(rf'File "{source}", line (\d+)', place)
        return self._error(text, line and int(line[1]), words.strip().splitlines()[-LAST_LINES:])

    def _error(self, text, line=None, words=()):
        where = f" ({self.program.filename}, line {line})" if line else ""
        last = "".join(f"\n    {word[:LONG_LINE]}" for word in words)
        last = f"; its last words:{last}" if last else ""
        return CandidateError(self.label, text + where + last, self.program.filename, line)

    def _end(self):
        """Kill the process, if it is still there, and the helpers that it may have started."""
        if self._is_over:
            return  # its number may belong to another process by now
        end_group(self._process)
        self._is_over = True


def start_python(python: str, module: str, variables: dict[str, str]) -> subprocess.Popen:
    """Start `main` of a module of this package in another Python, with three pipes.

    `variables` are added to its environment. `end_group` ends it. OSError if there is no such
    Python.
    """
    # A group of its own: Ctrl-C reaches the parent only, and helpers can be ended together.
    if os.name == "posix":
        own_group = {"start_new_session": True}
    else:
        own_group = {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    return subprocess.Popen(
        [python, "-c", BOOTSTRAP, module, str(Path(__file__).resolve().parents[1])],
        env=os.environ | variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **own_group,
    )


def end_group(process: subprocess.Popen) -> None:
    """Kill a process of `start_python`, and the helpers that it may have."""
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):  # macOS says so of a dead one
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def close_all(runners: Iterable[ProgramRunner]) -> None:
    """End all processes, at the same time: properly if they do so soon, or else by force."""
    runners = list(runners)
    for runner in runners:
        if runner._writer.is_alive():  # it does not even read
            runner._end()
        with suppress(OSError):  # it may have ended already
            runner._process.stdin.close()  # the worker's sign to end
    late = monotonic() + GRACE
    for runner in runners:
        with suppress(subprocess.TimeoutExpired):
            runner._process.wait(max(0, late - monotonic()))
        runner._end()
    for runner in runners:
        for thread in (runner._reader, runner._words.thread):
            thread.join(GRACE)


@dataclass(frozen=True)
class Started:
    """A candidate whose process runs already; `started` makes it."""

    runner: ProgramRunner


@contextmanager
def started(
    programs: dict[str, Program], on_error: Callable[[CandidateError], None] | None = None
) -> Iterator[dict[str, Started]]:
    """Start programs once, for several comparisons: a framework may take seconds to load.

        with started({"mine": own_process(Path("mine.py")), "other": own_process(text)}) as running:
            results = {n: compare(running, inputs(n)) for n in (1, 64)}

    Gives candidates for `compare` and `sweep`, which build them again for each comparison, in the
    same processes. The processes end with the block. `on_error` gets the error of a program that
    cannot be loaded; it is then left out. By default the error is raised.
    """

    def failed(error):
        if on_error is None:
            raise error
        on_error(error)

    runners = {}
    try:
        loaded = load_all(programs, runners, failed)
        yield {label: Started(runner) for label, runner in loaded.items()}
    finally:
        close_all(runners.values())


def load_all(
    programs: dict[str, Program],
    runners: dict[str, ProgramRunner],
    failed: Callable[[CandidateError], None],
    args: tuple = (),
    first_calls: int = 0,
    show: Callable[[str], None] = lambda text: None,
) -> dict[str, ProgramRunner]:
    """Start all programs, at the same time, and return those whose top level has run.

    Each process is put into `runners` as soon as it is started, for the caller to close. `failed`
    gets the error of a program that fails; if it returns, the program is left out.
    """
    for label, program in programs.items():
        with passed_to(failed):
            runners[label] = ProgramRunner(label, program, args, first_calls)
    loaded = {}
    for label, runner in runners.items():
        show(f"starting {label}")
        with passed_to(failed):
            runner.load()
            loaded[label] = runner
    return loaded


@contextmanager
def passed_to(failed: Callable[[CandidateError], None]) -> Iterator[None]:
    """A block whose CandidateError goes to `failed`, which may raise it again."""
    try:
        yield
    except CandidateError as error:
        failed(error)


def how_it_ended(code: int) -> str:
    """The exit code of a process in words; a negative one is the number of a signal."""
    if code >= 0:
        return f"ended with exit code {code}"
    name = signal.Signals(-code).name if -code in list(signal.Signals) else "unknown"
    hint = ", as the system does when memory runs out," if name == "SIGKILL" else ""
    return f"was killed by signal {-code} ({name}){hint}"


class LastWords:
    """What a process prints: a thread reads it, counts it and keeps the end."""

    def __init__(self, pipe):
        self.count, self._kept = 0, b""
        self.thread = in_thread(self._drain, pipe)

    def _drain(self, pipe):
        with pipe:
            while printed := pipe.read1(2**16):
                self.add(printed)

    def add(self, printed):
        self.count += len(printed)
        self._kept = (self._kept + printed)[-KEPT:]

    def text(self):
        return self._kept.decode("utf-8", "replace")


def in_thread(function: Callable, *args: Any) -> Thread:
    """Call a function in a thread that doesn't keep Python from ending."""
    thread = Thread(target=function, args=args, daemon=True)
    thread.start()
    return thread


def _read_answers(pipe, answers, words):
    """Queue the answers, then None. What else was printed to stdout is part of the words."""
    with pipe:
        for line in pipe:
            if line.startswith(ANSWER.encode()):
                answers.put(json.loads(line))
            else:
                words.add(line)
    answers.put(None)


def _write(pipe, line):
    with suppress(OSError, ValueError):  # it has ended, or is closed: no answer will come
        pipe.write(line)
        pipe.flush()
