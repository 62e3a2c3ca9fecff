"""What the course has to know of each framework: one file for each, and one row here.

A file answers, for its framework, some of the questions below that are asked by `_functions`, in
functions of the same names. It says None to what is not its own, an array or a device, and leaves
out questions for which its framework has nothing special. It may also define

    prepare()   a context manager in which it is imported: what makes it quiet, what it lacks
    SYSTEMS     the systems that have wheels of it, as `this_system()` calls them; by default all

This module asks every framework that is loaded, and loads none itself, except in
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
    crash, and settings of one change another. By default it chooses its number of threads. Where
    there are more than free cores, they wait for each other, and measured times mean little.

    Raises:
        FrameworkNotFound: If it is not installed. The message says how to get it, or that there
            is none for this system.
        RuntimeError: If it is too late to set `threads`, because it is loaded already.
        ValueError: For a framework that is not in the table.
    """
    if name not in FRAMEWORKS:
        raise ValueError(f"there is no framework {name!r} here; there are: {', '.join(FRAMEWORKS)}")
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
    systems = _function(FRAMEWORKS[name], "SYSTEMS")
    if systems and this_system() not in systems:
        where = "Read the stored page, or open the notebook on Colab."
        return f"There is none for {this_system()}. {where}"
    python = "py" if os.name == "nt" else "python3"
    return f"To get it, run this in the folder of the course: {python} course.py frameworks {name}"


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
    """An array of any framework, a number or a list, as a NumPy array of the same numbers."""
    converted = _first("to_numpy", array)
    return import_module("numpy").asarray(array) if converted is None else converted


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
    return _first("needs_gradients", array)


def name_of(device: str) -> str:
    """A device's name, such as `cuda:0`, with the model of a GPU where it is known."""
    return _first("name_of", device) or device


def compilations() -> tuple[int, int, int]:
    """How many programs were compiled so far, found in a compiler's cache, and not found there."""
    counts = [count() for count in _functions("compilations")]
    return tuple(map(sum, zip((0, 0, 0), *counts, strict=True)))


def versions() -> dict[str, str]:
    """The versions of the frameworks that are loaded, without those that only another one uses."""
    named = [name for name in FRAMEWORKS if name not in _came_along]
    found = {name: getattr(sys.modules.get(name), "__version__", None) for name in named}
    return {name: str(version) for name, version in found.items() if version}


def _functions(question: str) -> Iterator[Callable]:
    """The functions of that name, of the frameworks that are loaded."""
    files = [file for name, file in FRAMEWORKS.items() if sys.modules.get(name)]
    return filter(None, (_function(file, question) for file in files))


def _first(question, about):
    """What the first framework says that does not say None."""
    answers = (answer(about) for answer in _functions(question))
    return next((said for said in answers if said is not None), None)


@cache  # `compare` asks in every block
def _function(file: str | None, question: str) -> Any:
    return file and getattr(import_module(f".{file}", __name__), question, None)
