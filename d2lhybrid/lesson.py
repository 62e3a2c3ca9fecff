"""What a lesson needs: errors made on purpose, checked answers, sections that can be left out."""

import io
import logging
import traceback
import warnings
from collections.abc import Callable
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any


@contextmanager
def raises(*expected: type[BaseException], show_calls: bool = False):
    """Run a block that must fail, and print how it failed, so that the notebook goes on.

        with raises(TypeError):
            1 + "1"

    prints `TypeError: unsupported operand type(s) for +: 'int' and 'str'`. With `show_calls`,
    the line that failed in each function on the way is printed above it, outermost first.
    Another type of error passes through; no error at all is an AssertionError.
    """
    try:
        yield
    except expected as error:
        if show_calls:
            for call in traceback.extract_tb(error.__traceback__)[1:]:  # the first is our yield
                # IPython 7 calls the frame of a cell "<cell line: 1>"
                name = "<module>" if call.name.startswith("<cell line") else call.name
                print(f"in {name}: {call.line or '(no source line known)'}")
        print(f"{type(error).__name__}: {error}")
    else:
        names = " or ".join(one.__name__ for one in expected)
        raise AssertionError(f"{names} was expected here, and nothing was raised")


def check(answer: Any, truth: Any, by: Callable[[Any], Any] = lambda answer: answer) -> None:
    """Say whether an exercise's answer is right. `...` is an answer not given yet.

    Prints `not yet` for an `answer` that is or holds `...`, `right` if `by(answer)` equals
    `truth`, and otherwise what it is instead, without giving the truth away. An error in
    `by(answer)` is printed, too, not raised: Run All goes on.
    """
    given = answer if isinstance(answer, (list, tuple)) else [answer]
    if any(part is ... for part in given):
        print("not yet")
        return
    try:
        value = by(answer)
    except Exception as error:
        print(f"not right: {type(error).__name__}: {error}")
    else:
        print("right" if value == truth else f"not right: it gives {value!r}")


def needs(there: Any, what: str) -> bool:
    """Whether what a section needs is there; if not, a line says so, and Run All goes on.

        if needs(shutil.which("g++"), "C++ compiler"):
            ...

    prints, on a machine without: `this machine: has no C++ compiler; the stored page shows what
    comes here`.
    """
    if not there:
        print(f"this machine: has no {what}; the stored page shows what comes here")
    return bool(there)


@contextmanager
def muted():
    """A block without the reports and warnings of compilers and exporters."""
    before = logging.root.manager.disable  # one of these may stand in another
    logging.disable(max(before, logging.WARNING))
    try:
        with (
            warnings.catch_warnings(),
            redirect_stdout(io.StringIO()),
            redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
