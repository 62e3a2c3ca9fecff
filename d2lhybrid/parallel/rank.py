"""The process of one rank of a world: it runs the functions that the world sends.

`world` starts it. Requests come and answers go as frames, see `packing`, over the pipes that were
stdin and stdout. Each request is the name of a method below, and its arguments.
"""

import atexit
import io
import os
import shutil
import sys
import threading
import traceback
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from datetime import timedelta
from queue import SimpleQueue

import torch
import torch.distributed as dist

from ..measure.candidates import in_words
from ..measure.worker import end_helpers, end_soon, own_streams
from .answers import AtBarrier, Listens, Place, Printed, Raised, Ready, Returned
from .comm import Comm, connect, listen
from .packing import BEGIN, pack, read_frame, unpack, write_frame

PROBE = 30.0  # seconds for the processes to find each other


def main() -> None:
    """Answer requests until there are no more."""
    atexit.register(end_helpers)
    requests, answers = own_streams()
    answers.write(b"\n" + BEGIN)  # ends whatever Python has printed while it started
    rank = Rank(requests, answers)
    threading.Thread(target=rank.listen, daemon=True).start()
    while request := rank.requests.get():
        do, *args = request
        getattr(rank, do)(*args)


class Rank:
    """What a world can ask its processes for."""

    def __init__(self, requests, answers):
        self._pipes, self._writing = (requests, answers), threading.Lock()
        self.requests, self._go, self._state = SimpleQueue(), threading.Event(), {}
        self._main, self._sources, self._folder = threading.get_ident(), None, None
        self._has_returned, self._process, self._stream = False, os.getpid(), None

    def may_speak(self, stream):
        """Whether this stream is the present run's, and this no copy of its process by `os.fork`.

        If two processes spoke, no word of them could be understood.
        """
        return stream is self._stream and os.getpid() == self._process

    def say(self, answer):
        """Send an answer; several threads of a function may print at the same time."""
        with self._writing:
            write_frame(self._pipes[1], answer)

    def listen(self):
        """Read requests in a thread, so that their end is noticed even while a function runs.

        They also end when the world's process is killed.
        """
        while True:
            try:
                request = read_frame(self._pipes[0])
            except EOFError:
                break
            if request == ("where",):
                self.say(self._where())
            elif request == ("go",):
                self._go.set()
            else:
                self.requests.put(request)
        self.requests.put(None)
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)  # the world may be unable to
        end_soon()

    # Requests -------------------------------------------------------------------------------

    def join(self, rank, folder):
        """Open a socket for the others, and say where."""
        self.rank, self._folder = rank, folder
        self._listener = listen()
        self.say(Listens(self._listener.getsockname()[1]))

    def meet(self, ports, token, store):
        """Connect with the others; then try what torch.distributed can do here."""
        self._sockets = connect(self.rank, self._listener, ports, token, PROBE)
        try:
            with process_group(store, self.rank, len(ports), PROBE):
                number = torch.ones(1)
                dist.all_reduce(number)
                problem = None if number == len(ports) else f"its sum was {number.item()}"
        except Exception as error:  # whatever a system lacks
            problem = in_words(error).splitlines()[0]
        self.say(Ready(problem))

    def run(self, run, sources, args, here, ranks, threads, alpha, beta, timeout, store):
        """Run a function, and answer with what it returns, or with its error.

        `here` is what holds in the world's process, and is set whatever an earlier function set.
        """
        self._sources, self._has_returned = sources, False
        sys.path[:] = here["path"]
        os.chdir(here["folder"])
        torch.set_grad_enabled(here["gradients"])
        torch.set_default_dtype(here["dtype"])
        torch.set_default_device(here["device"])
        torch.set_num_threads(threads)
        torch.manual_seed(self.rank)
        device = device_of(self.rank, ranks)
        comm = Comm(
            self.rank, ranks, self._sockets, run, alpha, beta, self._barrier, self._state, device
        )
        with ExitStack() as stack:
            try:
                stack.enter_context(process_group(store, self.rank, ranks, timeout))
                self._barrier()  # or a quick rank might leave the group while others still join it
                with self._prints_sent():
                    result = self._call(sources, comm, args)
                self._has_returned = True
                comm.finish()
                self.say(Returned(self._packed(result), comm.messages))
            except BaseException as error:  # SystemExit, too
                # said before the group ends, which the others would notice
                self.say(self._described(error, is_stuck=not comm.close()))
            else:
                comm.close()

    # ----------------------------------------------------------------------------------------

    def _call(self, sources, comm, args):
        try:
            return sources.build()(comm, *unpack(args))
        finally:
            if os.getpid() != self._process:  # a copy, which has nothing to do here
                os._exit(sys.exc_info()[0] is not None)

    def _packed(self, result):
        try:
            return pack(result)
        except TypeError as error:
            raise TypeError(f"{self._sources.name} returned what cannot be sent: {error}") from None

    def _barrier(self):
        self._go.clear()
        self.say(AtBarrier())
        self._go.wait()

    @contextmanager
    def _prints_sent(self):
        self._stream = stream = Stream(self)
        try:
            with redirect_stdout(stream), redirect_stderr(stream):
                yield
        finally:
            self._stream = None

    def _place(self, frames):
        """Of a traceback, what is in the functions that were sent."""
        lines, name = [], self._sources.name
        for frame in frames:
            if frame.filename in self._sources.files:
                # what has no name of its own, such as a lambda, is of the function around it
                name = name if frame.name.startswith("<") else frame.name
                lines.append(f"line {frame.lineno} of {name}: {frame.line}".removesuffix(": "))
        return Place(tuple(lines))

    def _described(self, error, is_stuck):
        """An error in words, its place in the functions that were sent, and the traceback."""
        trace = traceback.TracebackException.from_exception(error)
        while trace.stack and trace.stack[0].filename == __file__:
            del trace.stack[0]
        return Raised(in_words(error), self._place(trace.stack), "".join(trace.format()), is_stuck)

    def _where(self):
        """What the main thread does at this moment, in the functions that were sent."""
        frame = sys._current_frames().get(self._main)
        place = self._place(traceback.extract_stack(frame))
        return replace(place, has_returned=self._has_returned)


class Stream(io.TextIOBase):
    """What a function prints goes to the world at once, so that a killed process keeps nothing."""

    def __init__(self, rank):
        self._rank = rank

    def writable(self):
        return True

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"only str can be written, not {type(text).__name__}")
        if not self._rank.may_speak(self):
            return sys.__stderr__.write(text)
        self._rank.say(Printed(text))
        return len(text)


def device_of(rank: int, ranks: int) -> str:
    """A GPU of its own where there are enough; all ranks decide alike."""
    return f"cuda:{rank}" if 0 < ranks <= torch.cuda.device_count() else "cpu"


@contextmanager
def process_group(store, rank, ranks, timeout):
    """A block in which `torch.distributed` is ready: gloo, and for GPUs NCCL.

    `store` is the path of a new file, by which the ranks find each other; None for no group.
    """
    if store is None:
        yield
        return
    device, backend = device_of(rank, ranks), "gloo"
    if device != "cpu":
        torch.cuda.set_device(device)
        backend = "cpu:gloo,cuda:nccl"
    dist.init_process_group(
        backend,
        store=dist.FileStore(store, ranks),
        rank=rank,
        world_size=ranks,
        timeout=timedelta(seconds=timeout),
    )
    try:
        yield
    finally:
        with suppress(Exception):  # the others may be gone
            dist.destroy_process_group()
