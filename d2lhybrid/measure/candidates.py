"""What is compared: a callable, a recipe for one, or many calls in one. See notebook 05."""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral


@dataclass(frozen=True)
class Recipe:
    """A candidate that has yet to be built; `recipe` makes it."""

    build: Callable[[], Callable]


def recipe(build: Callable[[], Callable]) -> Recipe:
    """A candidate for `compare` that has to be built, so that building gets its price.

        compare({"eager": net, "TorchScript": recipe(lambda: torch.jit.script(net))}, x)

    `build()` returns the callable that is timed. TypeError if `build` is not callable.
    """
    if not callable(build):
        raise TypeError(f"recipe needs a function that builds, and got {build!r}")
    return Recipe(build)


@dataclass(frozen=True)
class Repeated:
    """A candidate that does many calls in one; `repeated` makes it."""

    function: Callable
    times: int


def repeated(function: Callable, times: int) -> Repeated:
    """A candidate for `compare` whose one call does `times` calls, which share its time.

    For what can only be timed inside another language: a loop in C, of which the Python around
    it is then a small part. TypeError if `function` is not callable, ValueError if `times` is
    not a whole number above 0.
    """
    if not callable(function):
        raise TypeError(f"repeated needs a function, and got {function!r}")
    if not isinstance(times, Integral) or times < 1:
        raise ValueError(f"repeated needs a whole number of calls, 1 or more, not {times!r}")
    return Repeated(function, times)


class CandidateError(RuntimeError):
    """A candidate raised. `label` says which, `__cause__` is the error itself."""

    def __init__(self, label: str, error: Exception):
        super().__init__(f"candidate {label!r} raised {type(error).__name__}: {error}")
        self.label = label


@contextmanager
def blamed_on(label):
    """A block whose errors are the candidate's."""
    try:
        yield
    except Exception as error:
        raise CandidateError(label, error) from error
