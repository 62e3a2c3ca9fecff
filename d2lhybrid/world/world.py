"""Devices made of processes: a world of several Pythons, which run functions of a notebook.

Explained in notebooks 23 to 26. What one process has, others have only if it is sent.

    world = World(4)
    world.run(function, *args)  # function(comm, *args) in each; a list of what they return
    world.close()
"""

import os
import shutil
import sys
import sysconfig
import warnings
import weakref
from operator import index
from queue import SimpleQueue
from secrets import token_bytes
from tempfile import mkdtemp
from threading import RLock
from time import monotonic
from types import FunctionType
from typing import Any

import torch

from ..children.parent import Child, Kept, end_all, new_answers
from ..frameworks.threads import THREADS
from .comm import Message
from .packing import pack, unpack
from .sources import packed_function

MOST = 16  # each is a Python with torch, of some 200 MB
FAIL_FAST = 0.5  # seconds in which the others notice that one has failed
LOADING = 120.0  # seconds for Python to load torch, on a busy machine
ASK_WHERE = 1.0  # seconds to say where a function hangs
KEPT = 2000  # characters of what a rank prints or raises, at the beginning and at the end
LOOPBACK = {"linux": "lo", "darwin": "lo0"}  # where gloo is to listen, and nowhere else


class RankError(RuntimeError):
    """A function has failed in a process of a world.

    The message has the error and the line of the function. The traceback, or what the process said
    before it ended, is a note below.
    """


class World:
    """So many Python processes, with ranks from 0, which wait for functions to run.

    Each has one thread unless `run` says otherwise, and loads torch: about 200 MB. After a run,
    `messages` lists what its `comm`s have sent, rank by rank. A world is a context manager, and
    ends with Python at the latest. Threads may share it: their runs take place one after the other.
    ValueError for less than one or more than 16 processes.
    """

    def __init__(self, size: int):
        if not 1 <= index(size) <= MOST:
            raise ValueError(f"a world has 1 to {MOST} processes, of 200 MB each, got {size}")
        self.size, self.messages, self._runs, self._lock = size, [], 0, RLock()
        self._children, self._owner, self._folder = [], os.getpid(), mkdtemp()
        self._finalizer = weakref.finalize(self, end_own, self._children, self._folder, self._owner)
        self._start()

    def __repr__(self):
        state = f"without gloo: {self._problem}" if self._problem else "with gloo"
        return f"World({self.size}), {state if self._finalizer.alive else 'closed'}"

    @property
    def has_gloo(self) -> bool:
        """Whether torch.distributed works between the processes; if not, `repr` says why."""
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
        them here is not there. Data of the notebook must be passed, and so must environment
        variables that were set after the start. Arguments and results are tensors, numbers,
        strings, and lists, tuples and dicts of these.

        There, torch's default dtype, its default device, whether it records gradients, the current
        folder and `sys.path` are those of here. torch.distributed is ready, and torch's dice are
        seeded with the rank. What Python prints is shown at the end.

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
        ranks = self.size if ranks is None else index(ranks)
        if not 1 <= ranks <= self.size:
            raise ValueError(f"this world has 1 to {self.size} ranks, got {ranks}")
        for name, seconds in {"timeout": timeout, "alpha": alpha, "beta": beta}.items():
            if not seconds >= 0:  # nan, too
                raise ValueError(f"{name} must be a number of seconds, 0 or more, got {seconds}")
        sources, packed = packed_function(function), pack(args)
        with self._lock:
            if not self._finalizer.alive:
                raise RuntimeError("this world is closed; make another one")
            self._replace_processes()
            self._runs, self.messages = self._runs + 1, []
            request = sources, packed, surroundings(), ranks, threads, alpha, beta, self._store()
            results = self._answers(ranks, timeout, "run", self._runs, *request)
            self.messages = [Message(*sent) for _, messages in results for sent in messages]
        return [unpack(result) for result, _ in results]

    def close(self) -> None:
        """End all processes. A world that is closed stays so."""
        with self._lock:
            self._finalizer()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # ----------------------------------------------------------------------------------------

    def _replace_processes(self):
        """Start all processes anew where one has ended, or has imported what is no longer so."""
        whole = len(self._children) == self.size  # else it was said, or Ctrl-C has left some
        ended = [each for each in self._children if each.process.poll() is not None]
        files = own_modules()
        changed = [file for file, time in self._files.items() if files.get(file, time) != time]
        self._files = files | self._files
        if whole and not ended and not changed:
            return
        if whole:
            first = changed[0] if changed else f"since the last run, rank {ended[0].name}"
            why = "has changed" if changed else ended[0].how_it_ended()
            text = f"{first} {why}: all processes are replaced, and their comm.state is lost"
            warnings.warn(text, RuntimeWarning, stacklevel=3)
        end_all(self._children)
        self._start()

    def _start(self):
        """Start the processes, and wait until each has a way to each other one."""
        self._said, self._printed, self._problem = SimpleQueue(), {}, None
        self._runs, self._files = self._runs + 1, own_modules()  # `meet` needs a new store, too
        try:
            for rank in range(self.size):
                self._children.append(Child("world.rank", variables(), self._said, rank))
            ports, token = self._answers(self.size, LOADING, "join", self._folder), token_bytes(16)
            problems = self._answers(self.size, LOADING, "meet", ports, token, self._store())
        except BaseException:
            end_all(self._children)
            raise
        self._problem = next(filter(None, problems), None)

    def _store(self):
        """A path for a group of torch.distributed, which needs a new one; None if it can't work."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)  # who tidies up may have removed it
        return None if self._problem else os.path.join(self._folder, f"run_{self._runs}")

    def _answers(self, ranks, timeout, do, *args):
        """What the first ranks answer to a request. Processes that can't go on are ended."""
        try:
            numbers = self._ask(ranks, do, *args)
            answers, failures = self._wait(numbers, timeout)
            late = [rank for rank in numbers if rank not in answers | failures]
            places, _ = self._wait({r: self._children[r].ask("where") for r in late}, ASK_WHERE)
            if late or any(process != "usable" for *_, process in failures.values()):
                end_all(self._children)
        except BaseException:  # Ctrl-C, too
            end_all(self._children)
            raise
        finally:
            printed, self._printed = self._printed, {}
            for rank, kept in sorted(printed.items()):
                for line in str(kept).splitlines():
                    print(f"rank {rank}: {line}")
        if failures:
            raise first_error(failures)
        if late:
            raise timed_out(late, places, timeout)
        return [answers[rank] for rank in numbers]

    def _ask(self, ranks, do, *args):
        """Ask the first ranks; returns the numbers of the answers, as a dict by rank."""
        return {child.name: child.ask(do, *args) for child in self._children[:ranks]}

    def _wait(self, numbers, timeout):
        """The answers with these numbers that come in time, and the failures: two dicts by rank.

        A failure is a text, a note and what the process is now: "usable", "stuck" or "ended". They
        are in the order of their coming; after the first, the others have little time.
        """
        answers, failures, at_barrier, late = {}, {}, set(), monotonic() + timeout
        while len(answers | failures) < len(numbers) and monotonic() < late:
            for child, answer in new_answers(self._said, self._children):
                rank = child.name
                number, kind, content = answer or (numbers.get(rank), "ended", None)
                if kind == "printed":
                    self._printed.setdefault(rank, Kept(KEPT, KEPT)).add(content)
                elif kind == "at barrier":
                    at_barrier.add(rank)
                elif rank not in numbers or number != numbers[rank] or rank in answers | failures:
                    continue  # of an earlier request, or of none
                elif kind == "ok":
                    answers[rank] = content
                else:
                    failures[rank] = content or (child.how_it_ended(), child.last_words(), "ended")
                    late = min(late, monotonic() + FAIL_FAST)
            if len(at_barrier) == len(numbers):
                at_barrier.clear()
                self._ask(len(numbers), "go")
        return answers, failures


def variables():
    """What is added to the environment of the processes."""
    added = dict.fromkeys(THREADS, "1")
    # Threads that wait for each other actively take the cores from those that they wait for:
    # on a busy machine a step of training took a hundred times as long.
    added["OMP_WAIT_POLICY"] = os.environ.get("OMP_WAIT_POLICY", "PASSIVE")
    if sys.platform in LOOPBACK:
        added["GLOO_SOCKET_IFNAME"] = LOOPBACK[sys.platform]
    return added


def end_own(children: list[Child], folder: str, owner: int) -> None:
    """End all, unless this is only a copy, by `fork`, of the process that started them."""
    if os.getpid() == owner:
        end_all(children)
        shutil.rmtree(folder, ignore_errors=True)


def surroundings():
    """What holds here and has to hold in the processes, too."""
    device = torch.get_default_device()
    return {
        "path": list(sys.path),
        "folder": os.getcwd(),
        "gradients": torch.is_grad_enabled(),
        "dtype": str(torch.get_default_dtype()).removeprefix("torch."),
        "device": None if device.type == "cpu" else str(device),
    }


def own_modules():
    """The files of modules that are loaded here and not installed, and when they were changed."""
    library = sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")
    modules = {**sys.modules, "__main__": None, "__mp_main__": None}  # those can't be imported
    files = {getattr(module, "__dict__", {}).get("__file__") for module in modules.values()}
    own = [file for file in filter(None, files) if not file.startswith(library)]
    own = [file for file in own if "-packages" not in file and os.path.exists(file)]
    return {file: os.path.getmtime(file) for file in own}


# Errors -------------------------------------------------------------------------------------


def first_error(failures: dict[int, tuple[str, str, str]]) -> RankError:
    """The error for what went wrong first; the others fail because of it, or in the same way."""
    # A process that has ended comes before all: its neighbours may notice earlier than we do.
    text, note, _ = max(failures.values(), key=lambda failure: failure[2] == "ended")
    ranks = [rank for rank, failure in failures.items() if failure[0] == text]
    text = text if len(ranks) == 1 else text.replace("was killed", "were killed", 1)
    error = RankError(f"{in_list(ranks)} {Kept(KEPT, KEPT, text)}")
    if note := note.strip():
        error.add_note(f"On rank {min(ranks)}:\n{Kept(KEPT, KEPT, note)}")
    return error


def timed_out(late: list[int], places: dict[int, str], timeout: float) -> TimeoutError:
    """The error that says where each rank is that has not ended, as far as they answer."""
    ranks_at = {}
    for rank in late:
        ranks_at.setdefault(places.get(rank, "does not answer"), []).append(rank)
    lines = [f"  {in_list(ranks)}: {place}" for place, ranks in ranks_at.items()]
    return TimeoutError("\n".join([f"{in_list(late)} had not ended after {timeout:g} s", *lines]))


def in_list(ranks) -> str:
    """`rank 1`, `ranks 0 and 1`, `ranks 0, 1 and 2`."""
    *others, last = map(str, sorted(ranks))
    return f"ranks {', '.join(others)} and {last}" if others else f"rank {last}"
