"""What exercises and cells need: errors made on purpose, checked answers, optional sections.

>>> with raises(TypeError):
...     1 + "1"
TypeError: unsupported operand type(s) for +: 'int' and 'str'
>>> check(3 * 4, 12)
right
>>> check(..., 12)
not yet
"""

import io
import logging
import math
import textwrap
import traceback
import warnings
from collections.abc import Callable
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from decimal import Decimal
from fractions import Fraction
from typing import Any


@contextmanager
def raises(*expected: type[BaseException], show_calls: bool = False, line: int | None = None):
    """Run a block that must fail, and print how it failed, so that the notebook goes on.

    `expected` are the types of errors that are accepted. With `show_calls`, the line that failed in
    each function on the way is printed above the error, outermost first. `line` selects one line of
    a long message, as an index does; for a shorter message the last line is shown. An error of
    another type passes through; if there is no error at all, that is an AssertionError.
    """
    try:
        yield
    except expected as error:
        if show_calls:
            for call in traceback.extract_tb(error.__traceback__)[1:]:  # the first is our yield
                # IPython 7 calls the frame of a cell "<cell line: 1>"
                name = "<module>" if call.name.startswith("<cell line") else call.name
                print(f"in {name}: {call.line or '(no source line known)'}")
        name = type(error).__name__
        lines = f"{name}: {error}".splitlines()
        if line is not None:
            whole = [text.strip() for text in str(error).splitlines() if text.strip()] or [""]
            chosen = whole[line] if -len(whole) <= line < len(whole) else whole[-1]
            lines = [chosen if chosen.startswith(f"{name}:") else f"{name}: {chosen}"]
        for text in lines:
            print(textwrap.fill(text, 88, break_long_words=False, break_on_hyphens=False))
    else:
        names = " or ".join(kind.__name__ for kind in expected)
        raise AssertionError(f"{names} was expected here, and nothing was raised")


def check(answer: Any, truth: Any, by: Callable[[Any], Any] = lambda answer: answer) -> None:
    """Print whether the answer to an exercise is right; `...` is an answer not yet given.

    Prints `not yet` if `answer` is or contains `...`, `right` if `by(answer)` is the same as
    `truth`, and otherwise what it is instead, or which error it raised. A tuple is the same as a
    list, and a list as a set where the truth is one; a tensor or an array is the same as its
    numbers; capitals and repeated blanks in a string make no difference, and neither does the last
    digit of a float.
    """
    try:
        if has_blank(answer) or has_blank(value := by(answer)):
            print("not yet")
        else:
            print("right" if same(value, truth) else f"not right: your answer gives {value!r}")
    except (Exception, SystemExit) as error:
        print(f"not right: {type(error).__name__}: {error}")


def has_blank(answer):
    """Whether an answer is `...`, or holds one somewhere."""
    if isinstance(answer, dict):
        return has_blank([*answer.keys(), *answer.values()])
    if isinstance(answer, (list, tuple, set, frozenset)):
        return any(map(has_blank, answer))
    return answer is ...


def same(value, truth):
    """Return whether two values are the same, up to what `check` says does not count."""
    value, truth = map(normalized, (value, truth))
    if isinstance(truth, set) and isinstance(value, list):
        value = normalized(set(value))
    if isinstance(value, str) and isinstance(truth, str):
        return value.split() == truth.split()
    if isinstance(value, list) and isinstance(truth, list):
        return len(value) == len(truth) and all(map(same, value, truth))
    if isinstance(value, dict) and isinstance(truth, dict):
        return value.keys() == truth.keys() and all(same(value[key], truth[key]) for key in truth)
    if isinstance(value, (int, float)) and isinstance(truth, (int, float)):
        exact = isinstance(value, int) and isinstance(truth, int)
        return value == truth if exact else math.isclose(value, truth, rel_tol=1e-6)
    return bool(value == truth)


def normalized(value):
    """Return the value with arrays, tuples and ranges as lists, and text in lower case.

    Fractions and decimals become floats. Not recursive: `same` is.
    """
    if not isinstance(value, type):  # a class has the methods of its tensors, too
        if hasattr(value, "__array__") and not hasattr(value, "tolist"):
            value = value.__array__()  # TensorFlow's have only this
        if hasattr(value, "tolist"):
            value = value.tolist()
    if isinstance(value, (tuple, range)):
        return list(value)
    if isinstance(value, (set, frozenset)):
        return {normalized(item) if isinstance(item, str) else item for item in value}
    if isinstance(value, (Fraction, Decimal)):
        return float(value)
    return value.casefold() if isinstance(value, str) else value


def needs(there: Any, what: str) -> bool:
    """Return whether what a section needs is there; if not, print a line that says so.

        if needs(shutil.which("g++"), "C++ compiler"):
            ...

    The section is then skipped, and Run All continues.
    """
    if not there:
        print(f"this machine: has no {what}; the stored outputs show this section")
    return bool(there)


@contextmanager
def muted():
    """A context manager that hides the messages and warnings of compilers and exporters.

    Meanwhile, Python's output, warnings and log records are held back in the whole process. Errors
    pass through, and output of libraries written in C is still shown.
    """
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
