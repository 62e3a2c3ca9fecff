"""Gates: closed until they are opened; a timeout names the gate."""

from threading import Thread

import pytest

from d2lhybrid import Gate, Log


def test_wait_passes_once_the_gate_is_open():
    gate, log = Gate(), Log()

    def pass_through():
        gate.wait()
        log.note("other", "passes")

    other = Thread(target=pass_through)
    other.start()
    other.join(0.05)
    log.note("this", "opens")  # however long this took
    for _ in range(2):
        gate.open()
        gate.wait(0)  # it stays open
    other.join(10)
    assert str(log) == "this: opens\nother: passes"


def test_timeout_names_the_gate():
    with pytest.raises(TimeoutError, match=r"^waited 0\.01 s for the copy to be opened$"):
        Gate("the copy").wait(0.01)
