"""Events of threads: a gate that orders them, a log of what happened, and an emulated link.

    >>> gate = Gate("the gate of worker 2")
    >>> gate.wait(timeout=0)
    Traceback (most recent call last):
    TimeoutError: waited 0 s for the gate of worker 2 to be opened
    >>> gate.open()
    >>> gate.wait()

    >>> log = Log()
    >>> with log.span("worker 1", "a product"):
    ...     seconds = log.note("worker 2", "waits")
    >>> print(log)
    worker 1: starts a product
    worker 2: waits
    worker 1: ends a product

    >>> with Link(alpha=1e-3, beta=1e-6) as link:  # 1 ms, and 1 ms for each kB
    ...     arrived = link.send(torch.ones(250))
    >>> arrived.result().sum()
    tensor(250.)

A lane is a row of a picture of the log, such as a thread; tracing tools call its entries events and
spans. Java calls a gate that opens once a latch. `alpha` and `beta` are Hockney's model of a
message (1994). Explained in notebooks 19 and 20.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from time import perf_counter, sleep

import torch


class Gate:
    """A gate that is closed until `open` is called, and stays open from then on."""

    def __init__(self, name: str = "the gate"):
        self.name, self._opened = name, Event()

    def open(self) -> None:
        """Let everyone pass: those who wait already, and those who come later."""
        self._opened.set()

    def wait(self, timeout: float = 10) -> None:
        """Return as soon as the gate is open. TimeoutError after `timeout` seconds."""
        if not self._opened.wait(timeout):
            raise TimeoutError(f"waited {timeout:g} s for {self.name} to be opened")


@dataclass(frozen=True)
class Span:
    """Something that took time on a lane. `start` and `end` are in seconds, or another unit."""

    lane: str
    label: str
    start: float
    end: float


class Log:
    """Events in the order in which any thread wrote them down.

    `events` holds tuples (seconds since the log was created, lane, text), `spans` holds everything
    that took time, in the order of completion. `print(log)` shows the events without their times.
    """

    def __init__(self):
        self.events, self.spans, self._begin = [], [], perf_counter()

    def note(self, lane: str, text: str) -> float:
        """Write down an event, and return its time in seconds since the log was created."""
        seconds = perf_counter() - self._begin
        self.events.append((seconds, lane, text))  # appending is safe, in any number of threads
        return seconds

    @contextmanager
    def span(self, lane: str, label: str) -> Iterator[None]:
        """Write down when a block of code starts and when it ends, even if it fails."""
        start = self.note(lane, f"starts {label}")
        try:
            yield
        finally:
            self.spans.append(Span(lane, label, start, self.note(lane, f"ends {label}")))

    def __str__(self):
        return "\n".join(f"{lane}: {text}" for _, lane, text in self.events)


class Link:
    """An emulated link: a thread that sleeps for each message and uses no core.

    It carries one message at a time, in the order of sending. A context manager.

    A message of n bytes takes `alpha` seconds plus `beta` seconds per byte, or slightly longer. At
    the end of the block, the link delivers all messages that were sent and ends its thread.
    """

    def __init__(self, alpha: float, beta: float, log: Log | None = None):
        self.alpha, self.beta = alpha, beta
        self.log = Log() if log is None else log
        self._thread = ThreadPoolExecutor(1)

    def send(self, tensor: torch.Tensor, label: str = "message") -> Future:
        """Put a tensor on the link and return at once; the result of the future is a copy of it."""
        return self._thread.submit(self._carry, tensor.detach().clone(), label)

    def _carry(self, tensor, label):
        """Deliver a tensor after the time that it takes, and log the span."""
        with self.log.span("link", label):
            sleep(self.alpha + self.beta * tensor.nbytes)
        return tensor

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._thread.shutdown()
