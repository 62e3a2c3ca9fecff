"""What the course has to know of each framework: one file for each, and one row here.

A file defines some of these functions; it leaves out those for which its framework has nothing
special:

    synchronize()       wait until its devices have done all that this process asked of them
    to_numpy(array)     a NumPy array of the same numbers; None for what is not its array
    state()             settings that change how fast it is: {"threads": 2, "gradients": True}
    needs_gradients(array)
                        whether notes were kept for the gradients of what has computed it; None if
                        it is not its array
    name_of(device)     the device's name, with the model of a GPU; None if the device is not this
                        framework's
    compilations()      how many programs it has compiled, found in its cache, and not found there
    prepare()           a context manager in which it is imported: what makes it quiet, what it
                        lacks
    SYSTEMS             the systems that have wheels of it, as `this_system()` calls them; without
                        it, all have

This module asks them of every framework that is loaded, and loads none itself, except in
`import_framework`, and NumPy in `to_numpy`. Used in notebooks 05 to 16.
"""

import os
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from .threads import THREADS, limit_threads

# As Python imports it -> its file in this folder; None where there is nothing special.
FRAMEWORKS = {
    "torch": "pytorch",
    "numpy": "numpy",
    "onnxruntime": None,
    "jax": "jax",
    "mxnet": "mxnet",
    "tensorflow": "tensorflow",
    "paddle": "paddle",
}
_came_along: set[str] = set()  # loaded by another framework, as jax is by tensorflow


class FrameworkNotFound(ImportError):
    """A framework is not installed. `name` is its name, as it is imported.

    A notebook shows the two lines of the message and no traceback, and *Run All* ends there.
    """

    def __init__(self, name: str, advice: str):
        super().__init__(f"This needs {name}, which is not installed.\n{advice}", name=name)

    def _render_traceback_(self):  # IPython asks for this
        return str(self).splitlines()


def import_framework(name: str, *, threads: int | None = None) -> ModuleType:
    """Import a framework and return it. It prints nothing that is not about your program.

        mx = import_framework("mxnet", threads=1)

    Do it before you import anything else, and use one framework in a process: some pairs of them
    crash, and settings of one change another.

    Args:
        name: As Python imports it, such as "mxnet", "tensorflow", "paddle" or "jax".
        threads: How many threads it may use; by default its own choice. Where there are more
            threads than free cores, they wait for each other, and measured times mean little.

    Raises:
        FrameworkNotFound: If it is not installed. The message says how to get it, or that there
            is none for this system.
        RuntimeError: If it is too late to set `threads`, because it is loaded already.
        ValueError: For a framework that is not in the table.
    """
    if name not in FRAMEWORKS:
        known = ", ".join(FRAMEWORKS)
        raise ValueError(f"there is no framework {name!r} here; there are: {known}")
    if name not in sys.modules and not find_spec(name):
        raise FrameworkNotFound(name, advice(name))
    if threads is not None:
        limit_threads(name, threads)
    prepare = _function(FRAMEWORKS[name], "prepare") or nullcontext
    before = set(sys.modules)
    with prepare():
        module = import_module(name)
    _came_along.update((FRAMEWORKS.keys() & sys.modules.keys()) - before - {"numpy"})
    _came_along.discard(name)
    return module


def advice(name: str) -> str:
    """How to get a framework that is not installed, in one line."""
    if this_system() in (_function(FRAMEWORKS[name], "SYSTEMS") or [this_system()]):
        python = "py" if os.name == "nt" else "python3"
        return (
            f"To get it, run this in the folder of the course: {python} course.py frameworks {name}"
        )
    return (
        f"There is none for {this_system()}. Read the stored page, or open the notebook on Colab."
    )


def this_system() -> str:
    """The system and the processor, such as "Linux x86_64", "Darwin arm64", "Windows AMD64"."""
    return f"{platform.system()} {platform.machine()}"


def synchronize() -> None:
    """Wait until every device has finished what this process asked of it.

    A call that computes on a GPU returns when the work is queued, not when it is done. So a
    clock must wait here, before it is read. Where no framework was imported, or none has a
    device that works by itself, there is nothing to wait for.
    """
    for wait in _functions("synchronize"):
        wait()


def to_numpy(array: Any) -> Any:
    """An array of any framework, a number or a list, as a NumPy array."""
    for convert in _functions("to_numpy"):
        converted = convert(array)
        if converted is not None:
            return converted
    return import_module("numpy").asarray(array)


def state() -> dict[str, Any]:
    """Settings of the loaded frameworks that change how fast they are, such as `threads`."""
    found = {}
    for ask in _functions("state"):
        found = ask() | found  # where two have the same setting, the first in the table counts
    limits = {os.environ.get(name, "") for name in THREADS}
    if len(limits) == 1 and (limit := limits.pop()).isdecimal():
        found.setdefault("threads", int(limit))  # set by `import_framework` or `own_process`
    return found


def needs_gradients(array: Any) -> bool | None:
    """Whether notes were kept for the gradients of what has computed an array; None if unknown."""
    said = (ask(array) for ask in _functions("needs_gradients"))
    return next((answer for answer in said if answer is not None), None)


def number_format(call: Callable[[], Any]) -> str:
    """The coarsest number format in which a call computes, such as 'bfloat16'; '' if not known."""
    answers = (ask(call) for ask in _functions("number_format"))
    return next((answer for answer in answers if answer), "")


def name_of(device: str) -> str:
    """A device's name, such as `cuda:0`, with the model of a GPU where it is known."""
    names = (ask(device) for ask in _functions("name_of"))
    return next((name for name in names if name is not None), device)


def compilations() -> tuple[int, int, int]:
    """How many programs were compiled so far, found in a compiler's cache, and not found there."""
    counts = [count() for count in _functions("compilations")]
    return tuple(map(sum, zip(*counts, strict=True))) if counts else (0, 0, 0)


def versions() -> dict[str, str]:
    """The versions of the frameworks that are loaded, without those that only another one uses."""
    loaded = {name: sys.modules.get(name) for name in FRAMEWORKS}
    return {
        name: str(module.__version__)
        for name, module in loaded.items()
        if hasattr(module, "__version__") and name not in _came_along
    }


def _functions(question: str) -> Iterator[Callable]:
    """The functions of that name, of the frameworks that are loaded."""
    for name, file in FRAMEWORKS.items():
        if sys.modules.get(name) and (function := _function(file, question)):
            yield function


@cache  # `compare` asks in every block
def _function(file: str | None, question: str) -> Any:
    return file and getattr(import_module(f".{file}", __name__), question, None)
