"""The process of one rank of a world: it runs the functions that the world sends."""

import io
import os
import sys
import threading
import traceback
from contextlib import redirect_stderr, redirect_stdout, suppress
from datetime import timedelta

import torch
import torch.distributed as dist

from .. import workers
from ..workers import RequestServer, format_exception_only
from .comm import Comm, connect, listen
from .serialization import dumps, load_function, loads

GLOO_TIMEOUT = 30.0  # seconds to try whether torch.distributed works


class Rank(RequestServer):
    """The object in the process of a rank, whose methods `World` calls."""

    out_of_band = ("stack", "release")

    def __init__(self):
        self._main, self._released = threading.get_ident(), threading.Event()
        self._name, self._files, self._comm = "", {}, None
        self._has_returned, self._state = False, {}

    # Requests -------------------------------------------------------------------------------

    def listen(self, token):
        """Open a socket for the others, who must have the token; returns its port."""
        self._listener = listen(token)
        return self._listener.address[1]

    def connect(self, ports, token, store):
        """Connect with the others, and try torch.distributed; returns whether it works."""
        self.rank = ports.index(self._listener.address[1])
        self._peers = connect(self.rank, self._listener, ports, token)
        try:
            join_group(store, self.rank, len(ports), timedelta(seconds=GLOO_TIMEOUT))
            dist.all_reduce(torch.ones(1))
        except Exception:  # whatever a system lacks
            return False
        return True

    def run(self, run, function, args, path, folder, ranks, threads, alpha, beta, store):
        """Call `function`, as `dump_function` packs it; returns (result as bytes, messages sent).

        The other arguments are those of `World.run`, and what it adds to them.
        """
        self._name, self._files, packed = function
        self._comm, self._has_returned = None, False
        sys.path[:] = path
        os.chdir(folder)
        torch.set_num_threads(threads)
        torch.manual_seed(self.rank)
        self._comm = comm = Comm(self.rank, ranks, self._peers, run, alpha, beta)
        comm.device, comm.state = torch.device(device_of(self.rank, ranks)), self._state
        comm.barrier = self._barrier
        if store:
            join_group(store, self.rank, ranks, timedelta(days=100))  # the world's limit is first
        self._barrier()  # or a quick rank might leave the group while others still join it
        with Stream(self.report) as stream, redirect_stdout(stream), redirect_stderr(stream):
            result = load_function(self._files, packed)(comm, *loads(args))
        self._has_returned = True
        comm.finish()
        return dumps(result), comm.messages

    def stack(self):
        """Return in words at which line of the functions that were sent the main thread is now."""
        if self._has_returned:
            return "has returned, and waits until what it has sent is received"
        lines = self._lines(traceback.extract_stack(sys._current_frames().get(self._main)))
        return lines[-1] if lines else "in no line of a function that was sent"

    def release(self):
        """Let `barrier()` return here: all ranks have called it."""
        self._released.set()

    # ----------------------------------------------------------------------------------------

    def format_error(self, error):
        """Return (error in words, traceback, state): the process is "usable" again, or "stuck".

        It is said before the group ends, which the others would notice.
        """
        trace = traceback.TracebackException.from_exception(error)
        while trace.stack and trace.stack[0].filename in (__file__, workers.__file__):
            del trace.stack[0]
        lines = [f"raised {format_exception_only(error)}", *self._lines(trace.stack)[-1:]]
        is_usable = self._comm is None or self._comm.close()
        return "\n  ".join(lines), "".join(trace.format()), "usable" if is_usable else "stuck"

    def after_reply(self):
        """Send no more, and leave the group of torch.distributed."""
        if self._comm:
            self._comm.close()
        with suppress(Exception):  # there may be no group, or the others may be gone
            dist.destroy_process_group()

    def _barrier(self):
        """Tell the world that this rank is at the barrier, and wait until all are."""
        self._released.clear()
        self.report("at barrier")
        self._released.wait()

    def _lines(self, stack):
        """Return the lines of a traceback that are in functions that were sent, outermost first."""
        lines, name = [], self._name
        for entry in stack:
            if entry.filename in self._files:
                # what has no name of its own, such as a lambda, is of the function around it
                name = name if entry.name.startswith("<") else entry.name
                lines.append(f"line {entry.lineno} of {name}: {entry.line}".removesuffix(": "))
        return lines


class Stream(io.TextIOBase):
    """A file whose text goes to the world at once, so that a killed process keeps nothing."""

    def __init__(self, report):
        self._report = report

    def write(self, text):
        self._report("printed", str(text))
        return len(text)


def device_of(rank: int, ranks: int) -> str:
    """Return a rank's device: a GPU of its own if there are enough for all ranks, else "cpu"."""
    return f"cuda:{rank}" if ranks <= torch.cuda.device_count() else "cpu"


def join_group(store, rank, ranks, timeout):
    """Make `torch.distributed` ready: gloo, and for GPUs NCCL.

    `store` is the path of a new file, by which the ranks find each other.
    """
    device, backend = device_of(rank, ranks), "gloo"
    if device != "cpu":
        torch.cuda.set_device(device)
        backend = "cpu:gloo,cuda:nccl"
    store = dist.FileStore(store, ranks)
    dist.init_process_group(backend, store=store, rank=rank, world_size=ranks, timeout=timeout)
