"""Devices made of processes: a world of several Pythons, which run functions of a notebook.

Explained in notebooks 18 and 19. A process shares nothing with the others, as a second machine
wouldn't: what one has, others have only if it is sent.

    world = World(4)
    world.run(function, *args)  # function(comm, *args) in each; a list of what they return
    world.close()
"""

import os
import secrets
import shutil
import subprocess
import sys
import sysconfig
import warnings
import weakref
from contextlib import suppress
from numbers import Real
from operator import index
from queue import Empty, SimpleQueue
from tempfile import mkdtemp
from threading import RLock
from time import monotonic
from types import FunctionType
from typing import Any

import torch

from ..frameworks import THREADS
from ..measure.processes import LastWords, end_group, how_it_ended, in_thread, start_python
from ..measure.worker import GRACE
from .answers import AtBarrier, Ended, Place, Printed, Raised
from .packing import BEGIN, frame, pack, read_frame, unpack
from .sources import Sources

MOST = 16  # each is a Python with torch, of some 200 MB
POLL = 0.1  # seconds between two looks at a process that does not answer
FALL_OUT = 0.5  # seconds in which the others notice that one has failed
LOADING = 120.0  # seconds for Python to load torch, on a busy machine
LONGEST = 1e6  # seconds: gloo knows no limit that is infinite
WHERE = 1.0  # seconds to say where a function hangs
KEPT = 2000  # characters of what a rank prints or raises, at the beginning and at the end
LOOPBACK = {"linux": "lo", "darwin": "lo0"}  # where gloo is to listen, and nowhere else


class RankError(RuntimeError):
    """A function has failed in a process of a world; `ranks` are those where it did.

    The message has the error and the line of the function. The traceback, or what the process said
    before it ended, is a note below.
    """

    def __init__(self, message: str, ranks: tuple[int, ...]):
        super().__init__(message)
        self.ranks = ranks


class World:
    """So many Python processes, with ranks from 0, which wait for functions to run.

    Each has one thread unless `run` says otherwise, and loads torch: about 200 MB. `has_gloo` says
    whether torch.distributed works between them; if not, `repr` has the reason. After a run,
    `messages` lists what its `comm`s have sent, rank by rank. A world is a context manager, and
    ends with Python at the latest. Threads may share it: their runs take place one after the other.
    ValueError for less than one or more than 16 processes.
    """

    def __init__(self, size: int):
        if not 1 <= whole("size", size) <= MOST:
            raise ValueError(
                f"a world has 1 to {MOST} processes, got {size}: each loads torch, and takes about "
                "200 MB"
            )
        self.size, self.messages, self._runs = size, [], 0
        self._processes, self._owner, self._lock = [], os.getpid(), RLock()
        self._finalizer = weakref.finalize(self, end_own, self._processes, self._owner)
        self._start()

    def __repr__(self):
        state = f"without gloo: {self._problem}" if self._problem else "with gloo"
        return f"World({self.size}), {state}" if self._finalizer.alive else "a closed World"

    @property
    def has_gloo(self) -> bool:
        """Whether torch.distributed works between the processes."""
        return not self._problem

    def run(
        self,
        function: FunctionType,
        *args: Any,
        ranks: int | None = None,
        threads: int = 1,
        timeout: float = 60.0,
        alpha: float = 0.0,
        beta: float = 0.0,
    ) -> list[Any]:
        """Call `function(comm, *args)` in each process; returns the results, by rank.

        `function` is written with `def`. The notebook's functions and classes that it uses are sent
        with it, and so are the values of its defaults. Modules are imported there: what was set in
        them here is not there. Data of the notebook is not sent, and must be passed, and so must
        environment variables that were set after the start. Arguments and results are tensors,
        numbers, strings, and lists, tuples and dicts of these.

        There, torch's default dtype, its default device, whether it records gradients, the current
        folder and `sys.path` are those of here. torch.distributed is ready, and torch's dice are
        seeded with the rank. What Python prints is shown at the end; what other programs or C
        print is not.

        `ranks`: only the first so many take part. `threads`: for torch, in each process. `alpha`,
        `beta`: what `comm` sends takes `alpha` + `beta` * bytes seconds to leave a process, and to
        enter one, as over a `Link`.

        RankError if the function fails in a process. TimeoutError, with the line where each is, if
        not all have ended after `timeout` seconds. Processes that are stuck are killed then, and
        all are replaced at the next run; their `comm.state` is lost. So it is, with a warning,
        where a process has ended since the last run, or the file of a module has changed.
        """
        if os.getpid() != self._owner:
            raise RuntimeError("this world belongs to the process that started it")
        with self._lock:
            return self._run(function, args, ranks, threads, timeout, alpha, beta)

    def close(self) -> None:
        """End all processes. A world that is closed stays so."""
        with self._lock:
            self._finalizer()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # ----------------------------------------------------------------------------------------

    def _run(self, function, args, ranks, threads, timeout, alpha, beta):
        ranks = self.size if ranks is None else ranks
        if not 1 <= whole("ranks", ranks) <= self.size:
            raise ValueError(
                f"this world can run a function on 1 to {self.size} ranks, got {ranks}"
            )
        if not self._finalizer.alive:
            raise RuntimeError("this world is closed; make another one")
        if whole("threads", threads) < 1:
            raise ValueError(f"threads must be 1 or more, got {threads}")
        for name, seconds in {"timeout": timeout, "alpha": alpha, "beta": beta}.items():
            if not isinstance(seconds, Real) or isinstance(seconds, bool) or not seconds >= 0:
                raise ValueError(f"{name} must be a number of seconds, 0 or more, got {seconds!r}")
        sources, packed = Sources.of(function), pack(args)
        self._replace_processes()
        limit = min(timeout, LONGEST) + LOADING  # for gloo: we want to be the first to notice
        request = sources, packed, surroundings(), ranks, threads, alpha, beta, limit
        try:
            self._runs, self.messages = self._runs + 1, []
            self._ask(ranks, "run", self._runs, *request, self._store())
            answers = self._wait(ranks, timeout)
            late = [rank for rank in range(ranks) if rank not in answers]
            places = self._places(late)
            if late or any(map(is_broken, answers.values())):
                end_all(self._processes)
        except BaseException:  # Ctrl-C, too
            end_all(self._processes)
            raise
        finally:
            self._show_prints()
        error = failure(answers) or (timed_out(places, timeout) if late else None)
        if error:
            raise error
        self.messages = [m for rank in range(ranks) for m in answers[rank].messages]
        return [unpack(answers[rank].result) for rank in range(ranks)]

    def _replace_processes(self):
        """Start all processes anew where one has ended, or has imported what is no longer so."""
        why = None
        if len(self._processes) == self.size:  # else it was said, or Ctrl-C has left some
            ended = [process for process in self._processes if process.has_ended]
            changed = [file for file, time in self._files.items() if changed_at(file) != time]
            if ended:
                why = f"since the last run, rank {ended[0].rank} {ended[0].ended().how}"
            elif changed:
                why = f"{changed[0]} has changed"
            else:
                self._files = own_modules() | self._files
                return
        end_all(self._processes)
        if why:
            text = f"{why}: all processes are replaced, and their comm.state is lost"
            warnings.warn(text, RuntimeWarning, stacklevel=4)
        self._start()

    def _start(self):
        """Start the processes, and wait until each has a way to each other one."""
        self._events, self._printed, self._problem = SimpleQueue(), {}, None
        self._folder, self._files = mkdtemp(), own_modules()
        try:
            for rank in range(self.size):
                self._processes.append(RankProcess(rank, self._folder))
                self._processes[-1].start(self._events)  # Ctrl-C may come while it starts
            for rank, process in enumerate(self._processes):
                process.ask(frame(("join", rank, self._folder)))
            ports = [answer.port for answer in self._wait_to_start()]
            self._ask(self.size, "meet", ports, secrets.token_bytes(16), self._store())
            problems = [answer.problem for answer in self._wait_to_start()]
        except BaseException:
            end_all(self._processes)
            raise
        self._problem = next(filter(None, problems), None)

    def _wait_to_start(self):
        answers = self._wait(self.size, LOADING)
        if error := failure(answers):
            raise error
        if len(answers) < self.size:
            raise TimeoutError(f"the processes of a world had not started after {LOADING:g} s")
        return [answers[rank] for rank in range(self.size)]

    def _ask(self, ranks, *request):
        asked = frame(request)
        for process in self._processes[:ranks]:
            process.ask(asked)

    def _store(self):
        """A path for a group of torch.distributed: each needs a new one."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)  # who tidies up may have removed it
        return None if self._problem else os.path.join(self._folder, f"run_{self._runs}")

    def _wait(self, ranks, timeout):
        """The answers that come in time, as a dict by rank in the order of their coming.

        After the first failure, the others have little time left.
        """
        answers, at_barrier, late = {}, set(), monotonic() + timeout
        while len(answers) < ranks and monotonic() < late:
            for rank, answer in self._new_answers():
                if isinstance(answer, AtBarrier):
                    at_barrier.add(rank)
                elif rank < ranks and rank not in answers:
                    answers[rank] = answer
                    if isinstance(answer, (Raised, Ended)):
                        late = min(late, monotonic() + FALL_OUT)
            if len(at_barrier) == ranks:
                at_barrier.clear()
                self._ask(ranks, "go")
        return answers

    def _new_answers(self):
        """What the next answer is, and from which rank; what was printed is kept."""
        try:
            rank, answer = self._events.get(timeout=POLL)
        except Empty:  # helpers of a process may keep its pipe open after its end
            return [(p.rank, p.ended()) for p in self._processes if p.has_ended]
        if isinstance(answer, Printed):
            self._printed.setdefault(rank, Kept()).add(answer.text)
            return []
        return [(rank, answer or self._processes[rank].ended())]

    def _places(self, ranks):
        """At which lines these ranks are, as far as they answer."""
        places, late = {}, monotonic() + WHERE
        for rank in ranks:
            self._processes[rank].ask(frame(("where",)))
        while len(places) < len(ranks) and monotonic() < late:
            for rank, answer in self._new_answers():
                if isinstance(answer, Place):
                    places[rank] = answer
        return {rank: str(places.get(rank, "does not answer")) for rank in ranks}

    def _show_prints(self):
        printed, self._printed = self._printed, {}
        for rank, kept in sorted(printed.items()):
            for line in kept.text().splitlines():
                show(f"rank {rank}: {line}")


class RankProcess:
    """The process of one rank."""

    def __init__(self, rank: int, folder: str):
        self.rank, self.folder, self._popen, self._threads = rank, folder, None, []
        self._requests = SimpleQueue()

    def start(self, events: SimpleQueue) -> None:
        """Start the process. What it says is put into a queue of events."""
        variables = dict.fromkeys(THREADS, "1")
        # Threads that wait for each other actively take the cores from those that they wait for:
        # on a busy machine a step of training took a hundred times as long.
        variables["OMP_WAIT_POLICY"] = os.environ.get("OMP_WAIT_POLICY", "PASSIVE")
        if sys.platform in LOOPBACK:
            variables["GLOO_SOCKET_IFNAME"] = LOOPBACK[sys.platform]
        self._popen = start_python(sys.executable, "d2lhybrid.parallel.rank", variables)
        self._words = LastWords(self._popen.stderr)
        self._threads.append(self._words.thread)
        self._threads.append(in_thread(read_answers, self._popen.stdout, self.rank, events))
        # In a thread, too: a large request has to wait until the process reads.
        self._threads.append(in_thread(write_requests, self._popen.stdin, self._requests))

    def ask(self, request: bytes) -> None:
        """Send a frame, and don't wait for it; a process that has ended gets none."""
        self._requests.put(request)

    @property
    def has_ended(self) -> bool:
        """Whether there is no such process any more."""
        return self._popen.poll() is not None

    def ended(self) -> Ended:
        """How a process has ended whose answers have."""
        try:
            how = how_it_ended(self._popen.wait(GRACE))
        except subprocess.TimeoutExpired:
            how = "stopped answering"
        self._words.thread.join(POLL)  # not for ever: helpers of the process may keep the pipe open
        return Ended(how, self._words.text().strip())

    def kill(self) -> None:
        """End the process, and what it may have started."""
        if self._popen:
            end_group(self._popen)
        self._requests.put(None)
        for thread in self._threads:
            thread.join(GRACE)
        shutil.rmtree(self.folder, ignore_errors=True)


def end_all(processes: list[RankProcess]) -> None:
    """End these processes, and forget them."""
    while processes:
        processes.pop().kill()


def end_own(processes: list[RankProcess], owner: int) -> None:
    """End these processes, unless this is only a copy, by `fork`, of the one that started them."""
    if os.getpid() == owner:
        end_all(processes)


def write_requests(pipe, requests):
    """Write what comes from a queue, up to None."""
    with suppress(OSError), pipe:
        while request := requests.get():
            pipe.write(request)
            pipe.flush()


def read_answers(pipe, rank, events):
    """Put the answers into a queue, then None."""
    with pipe, suppress(EOFError, OSError):
        while pipe.readline() not in (BEGIN, b""):
            pass
        while True:
            events.put((rank, read_frame(pipe)))
    events.put((rank, None))


class Kept:
    """What a rank prints: the beginning and the end, if it is much."""

    def __init__(self):
        self.begin, self.end, self.left_out = "", "", 0

    def add(self, text: str) -> None:
        """Keep what there is room for."""
        room = KEPT - len(self.begin)
        self.begin, text = self.begin + text[:room], text[room:]
        self.left_out += max(0, len(self.end) + len(text) - KEPT)
        self.end = (self.end + text)[-KEPT:]

    def text(self) -> str:
        """What was kept, with a line in place of the rest."""
        left_out = f"\n... {self.left_out:,} characters left out ...\n" if self.left_out else ""
        return self.begin + left_out + self.end


def shortened(text: str) -> str:
    """A text, or its beginning and its end."""
    kept = Kept()
    kept.add(text)
    return kept.text()


def show(line):
    """Print a line, also where the console lacks some of its characters, or is closed."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    with suppress(OSError, ValueError):
        print(line.encode(encoding, "backslashreplace").decode(encoding))


def surroundings():
    """What holds here and has to hold in the processes, too."""
    device = torch.get_default_device()
    return {
        "path": list(sys.path),
        "folder": os.getcwd(),
        "gradients": torch.is_grad_enabled(),
        "dtype": torch.get_default_dtype(),
        "device": None if device.type == "cpu" else device,
    }


def own_modules():
    """The files of modules that are loaded here and not installed, and when they were changed."""
    library = sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")
    own = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__dict__", {}).get("__file__") or library[0]
        is_installed = file.startswith(library) or "-packages" in file
        if not is_installed and name not in ("__main__", "__mp_main__"):  # those can't be imported
            own[file] = changed_at(file)
    return own


def changed_at(file):
    """When a file was changed; None if it is gone."""
    with suppress(OSError):
        return os.stat(file).st_mtime_ns


def whole(name, number):
    """This number. TypeError if it is none that can count."""
    if isinstance(number, bool):
        raise TypeError(f"{name} must be a whole number, got {number}")
    return index(number)


# Errors -------------------------------------------------------------------------------------


def is_broken(answer: Any) -> bool:
    """Whether a process that has answered so can't be used again."""
    return isinstance(answer, Ended) or (isinstance(answer, Raised) and answer.is_stuck)


def failure(answers: dict[int, Any]) -> RankError | None:
    """The error for what went wrong first; the others fail because of it, or in the same way.

    A process that has ended comes before all: its neighbours may notice earlier than we do.
    """
    failed = {rank: each for rank, each in answers.items() if isinstance(each, (Raised, Ended))}
    if not failed:
        return None
    first = next((a for a in failed.values() if isinstance(a, Ended)), next(iter(failed.values())))
    text = said(first)
    ranks = tuple(sorted(rank for rank, answer in failed.items() if said(answer) == text))
    if len(ranks) > 1:
        text = text.replace("was killed", "were killed", 1)
    error = RankError(f"{in_list(ranks)} {shortened(text)}", ranks)
    if note := first.trace if isinstance(first, Raised) else first.words:
        error.add_note(f"On rank {ranks[0]}:\n{shortened(note.rstrip())}")
    return error


def said(answer: Raised | Ended) -> str:
    """A failure in words."""
    if isinstance(answer, Ended):
        return answer.how
    place = f"\n  {answer.place}" if answer.place.lines else ""
    return f"raised {answer.text}{place}"


def timed_out(places: dict[int, str], timeout: float) -> TimeoutError:
    """The error that says where each rank is that has not ended."""
    late = in_list(list(places))
    lines = [f"{late} had not ended after {timeout:g} s"]
    for place in dict.fromkeys(places.values()):
        there = in_list([rank for rank, each in places.items() if each == place])
        lines.append(f"  {there}: {place}")
    return TimeoutError("\n".join(lines))


def in_list(ranks) -> str:
    """`rank 1`, `ranks 0 and 1`, `ranks 0, 1 and 2`."""
    *others, last = map(str, sorted(ranks))
    return f"ranks {', '.join(others)} and {last}" if others else f"rank {last}"
