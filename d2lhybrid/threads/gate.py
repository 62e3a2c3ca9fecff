"""A gate that holds threads back, to prove an order of events without a clock.

    >>> gate = Gate("the gate of worker 2")
    >>> gate.wait(timeout=0)
    Traceback (most recent call last):
    TimeoutError: waited 0 s for the gate of worker 2 to be opened
    >>> gate.open()
    >>> gate.wait()

Explained in notebook 18; Java calls a gate that opens once a latch.
"""

from threading import Event


class Gate:
    """Closed until `open` is called, and open for ever after."""

    def __init__(self, name: str = "the gate"):
        self.name, self._opened = name, Event()

    def open(self) -> None:
        """Let all pass: those who wait, and those who come later."""
        self._opened.set()

    def wait(self, timeout: float = 10) -> None:
        """Return as soon as the gate is open. TimeoutError after `timeout` seconds."""
        if not self._opened.wait(timeout):
            raise TimeoutError(f"waited {timeout:g} s for {self.name} to be opened")
