"""Devices made of processes: a world of several Pythons that run functions of a notebook.

Explained in notebooks 24 to 27. What one process has, others have only if it is sent.

    world = World(4)
    world.run(function, *args)  # function(comm, *args) in each; a list of what they return
    world.close()

World itself starts the processes, gives them work, and ends them. The rest of the folder:

rank           the other side: what runs in a process
comm           how processes communicate: messages from rank to rank
collectives    the sum over all ranks: a ring and its rivals
serialization  values and functions as bytes
"""

import os
import sys
import weakref
from collections.abc import Collection
from secrets import token_bytes
from tempfile import TemporaryDirectory
from time import monotonic
from types import FunctionType
from typing import Any

from ..benchmark.metadata import available_memory
from ..frameworks import THREADS
from ..workers import POLL, Worker, close_all, wait_any
from .comm import Message
from .serialization import dump_function, dumps, loads

MOST = 16  # each is a Python with torch, of some 160 MB
LEAST = 2**27  # bytes: with less memory for each the system would kill one, or this process
FAIL_FAST = 0.5  # seconds in which the others notice that one has failed
LOADING = 120.0  # seconds for Python to load torch, on a busy machine
STACK_TIMEOUT = 1.0  # seconds to say where a function hangs
LOOPBACK = {"linux": "lo", "darwin": "lo0"}  # where gloo is to listen, and nowhere else


class RankError(RuntimeError):
    """A function has failed in a process of a world.

    The message contains the error and the line of the function. The traceback, or the last output
    of the process before it ended, is added as a note.
    """


class World:
    """`size` Python processes, with ranks from 0, which wait for functions to run.

    Each has one thread unless `run` says otherwise, and loads torch: about 200 MB. After a run,
    `messages` lists what its `comm`s have sent, rank by rank. `has_gloo` says whether
    torch.distributed works between the processes. A world is a context manager, and ends with
    Python at the latest. ValueError for fewer than 1 or more than 16 processes; MemoryError if
    there is not enough memory for them.
    """

    def __init__(self, size: int):
        if not 1 <= size <= MOST:
            raise ValueError(f"a world has 1 to {MOST} processes, got {size}")
        self.size, self.messages, self.has_gloo = size, [], True
        self._runs, self._workers = 0, []
        self._folder = TemporaryDirectory()
        weakref.finalize(self, close_all, self._workers)
        self._start()

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

        The notebook's functions and classes that `function` uses are sent with it, and so are the
        values of its defaults. Modules are imported in the processes, without anything that was set
        in them here. Data of the notebook must be passed, and so must environment variables that
        were set after the start. Arguments and results are tensors, numbers, strings, and lists,
        tuples and dicts of these.

        The processes have this process's current folder and `sys.path`. torch.distributed is ready,
        and torch's random number generator is seeded with the rank. What Python prints is shown at
        the end. If a module has changed since a process imported it, create a new world.

        `ranks`: only this many ranks take part. `threads`: for torch, in each process. `alpha`,
        `beta`: what `comm` sends takes `alpha` + `beta` * bytes seconds to leave a process, and to
        enter one, as over a `Link`.

        RankError if the function fails in a process. TimeoutError, with the line where each is, if
        not all have ended after `timeout` seconds. Processes that are stuck are then killed, and
        all are replaced at the next run, as they are if one has ended since the last run; their
        `comm.state` is lost.
        """
        ranks = self.size if ranks is None else ranks
        if not 1 <= ranks <= self.size:
            raise ValueError(f"this world has 1 to {self.size} ranks, got {ranks}")
        request = dump_function(function), dumps(args), list(sys.path), os.getcwd()
        if not self._workers or any(worker.has_exited() for worker in self._workers):
            self._start()  # the last run may have ended them
        self._runs, self.messages = self._runs + 1, []
        request += ranks, threads, alpha, beta, self._store()
        replies = self._request(ranks, timeout, "run", self._runs, *request)
        self.messages = [Message(*sent) for _, messages in replies for sent in messages]
        return [loads(result) for result, _ in replies]

    def close(self) -> None:
        """End all processes; another run starts new ones."""
        close_all(self._workers)
        self._workers.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # ----------------------------------------------------------------------------------------

    def _start(self):
        """Start the processes, and wait until each has a connection to each other one."""
        self.close()
        if (most := available_memory() / LEAST) < self.size:
            raise MemoryError(f"there is memory for a world of {int(most)}, not of {self.size}")
        self._runs += 1  # `connect` needs a new store, too
        for _ in range(self.size):
            self._workers.append(Worker("d2lhybrid.world.rank:Rank", variables()))
        token = token_bytes(16)
        ports = self._request(self.size, LOADING, "listen", token)
        works = self._request(self.size, LOADING, "connect", ports, token, self._store())
        self.has_gloo = all(works)

    def _store(self):
        """Return a path for torch.distributed's group of this run; None if it can't work."""
        return os.path.join(self._folder.name, f"run_{self._runs}") if self.has_gloo else None

    def _request(self, ranks, timeout, method, *args):
        """Return what the first ranks reply to a request, by rank; print what they have printed.

        Processes that can't go on are ended. RankError if one fails, TimeoutError if one is late.
        """
        self._printed = {}
        try:
            workers = dict(enumerate(self._workers[:ranks]))
            tickets = {rank: worker.request(method, *args) for rank, worker in workers.items()}
            results, failures = self._wait(workers, tickets, timeout)
            late = {r: worker for r, worker in workers.items() if r not in results | failures}
            asked = {rank: worker.request("stack") for rank, worker in late.items()}
            places, _ = self._wait(late, asked, STACK_TIMEOUT)
            if late or any(state != "usable" for *_, state in failures.values()):
                self.close()
        except BaseException:  # Ctrl-C, too
            self.close()
            raise
        finally:
            for rank, text in sorted(self._printed.items()):
                for line in text.splitlines():
                    print(f"rank {rank}: {line}")
        if failures:
            raise first_error(failures)
        if late:
            raise timed_out(late, places, timeout)
        return [results[rank] for rank in workers]

    def _wait(self, workers, tickets, timeout):
        """Return two dicts by rank: the replies with these tickets that come in time; the failures.

        A failure is a text, a note and the process's state: "usable", "stuck" or "exited". They are
        in the order of their coming; after the first, the others have little time.
        """
        pending, ranks = dict(workers), {worker: rank for rank, worker in workers.items()}
        results, failures, at_barrier, late = {}, {}, 0, monotonic() + timeout
        while pending and (left := late - monotonic()) > 0:
            for worker, reply in wait_any([*pending.values()], min(left, POLL)):
                rank = ranks[worker]
                ticket, kind, content = reply or (tickets[rank], "exited", None)
                if kind == "printed":
                    self._printed[rank] = self._printed.get(rank, "") + content
                elif kind == "at barrier":
                    at_barrier += 1
                elif ticket == tickets[rank]:
                    del pending[rank]
                    if kind == "ok":
                        results[rank] = content
                        continue
                    if kind == "exited":
                        content = worker.describe_exit(), worker.stderr_tail(), "exited"
                    failures[rank] = content
                    late = min(late, monotonic() + FAIL_FAST)
            if at_barrier == len(workers):
                at_barrier = 0
                for worker in workers.values():
                    worker.request("release")
        return results, failures


def variables():
    """Return what is added to the environment of the processes."""
    added = dict.fromkeys(THREADS, "1")
    # Threads that wait for each other actively take the cores from those that they wait for:
    # on a busy machine a step of training took a hundred times as long.
    added["OMP_WAIT_POLICY"] = os.environ.get("OMP_WAIT_POLICY", "PASSIVE")
    if sys.platform in LOOPBACK:
        added["GLOO_SOCKET_IFNAME"] = LOOPBACK[sys.platform]
    return added


# Errors -------------------------------------------------------------------------------------


def first_error(failures: dict[int, tuple[str, str, str]]) -> RankError:
    """Return the error for what went wrong first; others fail because of it, or in the same way."""
    # A process that has exited comes before all: its neighbors may notice earlier than we do.
    text, note, _ = max(failures.values(), key=lambda failure: failure[2] == "exited")
    ranks = [rank for rank, failure in failures.items() if failure[0] == text]
    error = RankError(f"{in_list(ranks)} {text}")
    if note := note.strip():
        error.add_note(f"On rank {min(ranks)}:\n{note}")
    return error


def timed_out(late: Collection[int], places: dict[int, str], timeout: float) -> TimeoutError:
    """Return the error that says where each late rank is; `places` has what ranks answered."""
    ranks_at = {}
    for rank in late:
        ranks_at.setdefault(places.get(rank, "does not answer"), []).append(rank)
    lines = [f"  {in_list(ranks)}: {place}" for place, ranks in ranks_at.items()]
    return TimeoutError("\n".join([f"{in_list(late)} had not ended after {timeout:g} s", *lines]))


def in_list(ranks) -> str:
    """Return ranks in words: `rank 1`, `ranks 0 and 1`, `ranks 0, 1 and 2`."""
    *others, last = map(str, sorted(ranks))
    return f"ranks {', '.join(others)} and {last}" if others else f"rank {last}"
