"""The log: events and spans with their times, and what fails ends too."""

from itertools import count

import pytest

from d2lhybrid import Log, Span


@pytest.fixture
def ticking(monkeypatch):
    """A clock that shows 100 at first, and one second more at each look."""
    monkeypatch.setattr("d2lhybrid.threads.events.perf_counter", count(100).__next__)


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


@pytest.mark.usefixtures("ticking")
def test_span_of_a_block_that_fails_ends():
    log = Log()
    assert str(log) == ""
    with pytest.raises(ZeroDivisionError), log.span("a", "1 / 0"):
        1 / 0  # noqa: B018
    assert log.spans == [Span("a", "1 / 0", 1, 2)]
    assert str(log) == "a: starts 1 / 0\na: ends 1 / 0"
