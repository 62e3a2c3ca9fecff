"""The log that threads write together: nothing is lost, and what fails ends too."""

import sys
from itertools import count
from threading import Barrier, Thread

import pytest

from d2lhybrid import Log, Span


@pytest.fixture
def ticking(monkeypatch):
    """A clock that shows 100 at first, and one second more at each look."""
    monkeypatch.setattr("d2lhybrid.threads.log.perf_counter", count(100).__next__)


@pytest.mark.usefixtures("ticking")
def test_events_have_the_time_since_the_log_was_made():
    log = Log()
    assert [log.note("a", "begins"), log.note("b", "ends")] == [1, 2]
    assert log.events == [(1, "a", "begins"), (2, "b", "ends")]
    assert log.spans == []


@pytest.mark.usefixtures("ticking")
def test_spans_come_in_the_order_of_their_ends():
    log = Log()
    with log.span("a", "outer"), log.span("b", "inner"):
        log.note("c", "is there")
    assert log.spans == [Span("b", "inner", 2, 4), Span("a", "outer", 1, 5)]


def test_a_printed_log_has_no_times():
    log = Log()
    assert str(log) == ""
    with log.span("worker", "add"):
        log.note("main", "waits")
    assert str(log) == "worker: starts add\nmain: waits\nworker: ends add"


@pytest.mark.usefixtures("ticking")
def test_a_block_that_fails_ends_too():
    log = Log()
    with pytest.raises(ZeroDivisionError), log.span("a", "1 / 0"):
        1 / 0  # noqa: B018
    assert log.spans == [Span("a", "1 / 0", 1, 2)]
    assert str(log) == "a: starts 1 / 0\na: ends 1 / 0"


@pytest.fixture
def many_switches():
    """Python goes from thread to thread as often as it can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("many_switches")
def test_eight_threads_lose_nothing():
    log, together = Log(), Barrier(8, timeout=10)

    def write(lane):
        together.wait()
        for i in range(200):
            with log.span(lane, str(i)):
                log.note(lane, f"is at {i}")

    lanes = [f"thread {i}" for i in range(8)]
    threads = [Thread(target=write, args=[lane]) for lane in lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    lines = [text for i in range(200) for text in (f"starts {i}", f"is at {i}", f"ends {i}")]
    for lane in lanes:
        assert [text for _, other, text in log.events if other == lane] == lines
        own = [span for span in log.spans if span.lane == lane]
        assert [span.label for span in own] == [str(i) for i in range(200)]
        assert all(span.start <= span.end for span in own)
    assert (len(log.events), len(log.spans)) == (8 * 600, 8 * 200)
