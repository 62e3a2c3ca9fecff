"""Gates: closed until they are opened; who waits in vain is told for what."""

from threading import Thread

import pytest

from d2lhybrid import Gate, Log


def test_who_waits_passes_once_the_gate_is_open():
    gate, log = Gate(), Log()

    def pass_through():
        gate.wait()
        log.note("other", "passes")

    other = Thread(target=pass_through)
    other.start()
    other.join(0.05)
    log.note("this", "opens")  # however long this took
    gate.open()
    other.join(10)
    assert str(log) == "this: opens\nother: passes"


def test_an_open_gate_stays_open():
    gate = Gate()
    for _ in range(2):
        gate.open()
        gate.wait(0)
        gate.wait(0)


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        (Gate("the copy"), r"^waited 0\.01 s for the copy to be opened$"),
        (Gate(), r"^waited 0\.01 s for the gate to be opened$"),
    ],
)
def test_who_waits_in_vain_is_told_for_what(gate, message):
    with pytest.raises(TimeoutError, match=message):
        gate.wait(0.01)
