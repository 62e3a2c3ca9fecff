"""What a rank's process says to its world; each is a frame, see `packing`."""

from dataclasses import dataclass

from .comm import Message


@dataclass(frozen=True)
class Listens:
    """It waits for the others at this port."""

    port: int


@dataclass(frozen=True)
class Ready:
    """It has a way to each other rank; `problem` is why torch.distributed doesn't work, if so."""

    problem: str | None


@dataclass(frozen=True)
class Printed:
    """Its function has printed this."""

    text: str


@dataclass(frozen=True)
class AtBarrier:
    """Its function waits for the others."""


@dataclass(frozen=True)
class Place:
    """The lines, outermost first, at which its function is, or was; none once it has returned."""

    lines: tuple[str, ...]
    has_returned: bool = False

    def __str__(self):
        if self.has_returned:
            return "has returned, and waits until what it has sent is received"
        return self.lines[-1] if self.lines else "in no line of a function that was sent"


@dataclass(frozen=True)
class Returned:
    """Its function has returned; `result` is packed."""

    result: bytes
    messages: list[Message]


@dataclass(frozen=True)
class Raised:
    """Its function has raised an error. `is_stuck`: something is still on its way out."""

    text: str
    place: Place
    trace: str
    is_stuck: bool


@dataclass(frozen=True)
class Ended:
    """Not said, but seen: the process has ended, and these were its last words."""

    how: str
    words: str
