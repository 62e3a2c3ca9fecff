"""How much Python one call runs: its functions, counted."""

import sys
from collections.abc import Callable
from typing import Any


def python_calls(function: Callable, *args: Any) -> int:
    """Count the functions of Python that one call of `function(*args)` calls, itself among them.

    What is done only in the first calls, such as compiling, is not counted: there are three calls
    before the one that is. Functions written in C are not counted either.
    """
    for _ in range(3):
        function(*args)
    count = 0

    def note(frame, event, _):
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function(*args)
    finally:
        sys.setprofile(before)
    return count
