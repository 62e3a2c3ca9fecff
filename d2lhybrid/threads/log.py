"""What happened when, and on which lane: a log that several threads write together.

    >>> log = Log()
    >>> with log.span("worker 1", "a product"):
    ...     seconds = log.note("worker 2", "waits")
    >>> print(log)
    worker 1: starts a product
    worker 2: waits
    worker 1: ends a product

A lane is a row of a picture of the log, such as a thread. Explained in notebook 18; tracing tools
call its entries events and spans.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter


@dataclass(frozen=True)
class Span:
    """Something that took time on a lane. `start` and `end` are seconds, or any other unit."""

    lane: str
    label: str
    start: float
    end: float


class Log:
    """Events in the order in which they were written down, by any thread.

    `events` holds tuples (seconds since the log was made, lane, text), `spans` what took time, in
    the order of their ends. `print(log)` shows the events without their times.
    """

    def __init__(self):
        self.events, self.spans, self._begin = [], [], perf_counter()

    def note(self, lane: str, text: str) -> float:
        """Write an event down; returns its time."""
        seconds = perf_counter() - self._begin
        self.events.append((seconds, lane, text))  # appending is safe, in any number of threads
        return seconds

    @contextmanager
    def span(self, lane: str, label: str) -> Iterator[None]:
        """Write down when a block starts and ends, even if it fails."""
        start = self.note(lane, f"starts {label}")
        try:
            yield
        finally:
            self.spans.append(Span(lane, label, start, self.note(lane, f"ends {label}")))

    def __str__(self):
        return "\n".join(f"{lane}: {text}" for _, lane, text in self.events)
