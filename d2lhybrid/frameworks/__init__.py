"""What the course has to know about each framework: a file for each, and a row in the table here.

A file defines those of the functions below, from `synchronize` to `compilations`, for which its
framework needs something special. They return None for an array or a device that is not its own.
A file also defines

    THREADS     the environment variables that limit its number of threads
    prepare()   a context manager in which it is imported: what makes it quiet, what it lacks
    SYSTEMS     the systems that have wheels of it, as `this_system()` calls them; by default all

No file imports its framework at the top. This module asks every framework that is loaded, and
loads none itself, except in `import_framework`, and NumPy in `to_numpy`. Used in notebooks 05 to
18.
"""

import os
import platform
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from . import jax, mxnet, numpy, paddle, pytorch, tensorflow

# As Python imports it -> its file in this folder; None where there is nothing special.
FRAMEWORKS = {
    "torch": pytorch,
    "numpy": numpy,
    "onnxruntime": None,
    "jax": jax,
    "mxnet": mxnet,
    "tensorflow": tensorflow,
    "paddle": paddle,
}
# All variables that limit threads. They are read only when a framework is loaded.
THREADS = sorted({name for file in FRAMEWORKS.values() if file for name in file.THREADS})
# How long idle threads wait actively for more work: those of GNU's OpenMP, which PyTorch has on
# Linux, of Intel's, of any OpenMP, and of NumPy's OpenBLAS.
WAITING = ["GOMP_SPINCOUNT", "KMP_BLOCKTIME", "OMP_WAIT_POLICY", "OPENBLAS_THREAD_TIMEOUT"]
SOON = {"GOMP_SPINCOUNT": "30000", "OPENBLAS_THREAD_TIMEOUT": "20"}  # for about a millisecond
AT_ONCE = {"GOMP_SPINCOUNT": "1000", "OPENBLAS_THREAD_TIMEOUT": "4"}  # hardly at all
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
    """Import a framework and return it, without any messages that are not about your program.

        mx = import_framework("mxnet", threads=1)

    Call this before you import anything else, and use one framework per process: some pairs of them
    crash, and the settings of one can change another. By default the framework chooses its number
    of threads. If there are more threads than free cores, they wait for each other, and measured
    times mean little.

    Raises:
        FrameworkNotFound: If it is not installed. The message says how to get it, or that there
            is none for this system.
        RuntimeError: If it is already loaded, so that it is too late to set `threads`.
        KeyError: For a framework that is not in the table.
    """
    file = FRAMEWORKS[name]
    if name not in sys.modules and not find_spec(name):
        raise FrameworkNotFound(name, advice(name))
    if threads is not None:
        wanted = dict.fromkeys(THREADS, str(threads))
        if name in sys.modules and not wanted.items() <= os.environ.items():
            raise RuntimeError(f"{name} is loaded already: it is too late to limit its threads")
        os.environ |= wanted
    before = set(sys.modules)
    with getattr(file, "prepare", nullcontext)():
        module = import_module(name)
    _came_along.update((FRAMEWORKS.keys() & sys.modules.keys()) - before - {"numpy"})
    _came_along.discard(name)
    return module


def advice(name: str) -> str:
    """How to get a framework that is not installed, in one line."""
    if this_system() not in getattr(FRAMEWORKS[name], "SYSTEMS", [this_system()]):
        where = "Read the stored outputs, or open the notebook on Colab."
        return f"There is none for {this_system()}. {where}"
    python = "py" if os.name == "nt" else "python3"
    return f"To get it, run this in the folder of the course: {python} course.py frameworks {name}"


def this_system() -> str:
    """The system and the processor, such as "Linux x86_64", "Darwin arm64", "Windows AMD64"."""
    return f"{platform.system()} {platform.machine()}"


def synchronize() -> None:
    """Wait until every device has finished the work that this process gave it.

    A call that computes on a GPU returns when the work is queued, not when it is done, so you have
    to wait here before you read a clock. If no framework has been imported, or none has a device
    that works asynchronously, there is nothing to wait for.
    """
    for wait in _of_loaded("synchronize"):
        wait()


def to_numpy(array: Any) -> Any:
    """Return an array of any framework, a number or a list, as a NumPy array of its numbers."""
    converted = _first("to_numpy", array)
    return import_module("numpy").asarray(array) if converted is None else converted


def state() -> dict[str, Any]:
    """Return what the loaded frameworks are set to, as far as they say it and it changes times.

    `threads` is how many each call may use, `gradients` whether they are recorded.
    """
    found = {}
    for ask in _of_loaded("state"):
        found = ask() | found  # where two have the same setting, the first in the table counts
    for variables in [*_of_loaded("THREADS"), THREADS]:  # where none of them knows its threads
        limits = {os.environ.get(name, "") for name in variables}
        if len(limits) == 1 and (limit := limits.pop()).isdecimal():
            found.setdefault("threads", int(limit))
    return found


def needs_gradients(array: Any) -> bool | None:
    """Return whether an array requires gradients, of its own framework; None if that is unknown."""
    return _first("needs_gradients", array)


def name_of(device: str) -> str:
    """Return a device's name for readers: `cuda:0` with the model of the GPU, where it is known."""
    return _first("name_of", device) or device


def compilations() -> tuple[int, int, int, int]:
    """Return how many functions were tried so far, programs compiled, cache hits and misses."""
    counts = [count() for count in _of_loaded("compilations")]
    return tuple(map(sum, zip((0, 0, 0, 0), *counts, strict=True)))


def unused_kinds(things: list) -> set[type]:
    """Return the types of compiled functions of which none of these things has ever run."""
    return {kind for ask in _of_loaded("unused_kinds") for kind in ask(things)}


def random_states() -> list[bytes]:
    """Return the states of the random numbers of the frameworks that are loaded."""
    return [state() for state in _of_loaded("random_state")]


def versions() -> dict[str, str]:
    """The versions of the frameworks that are loaded, without those that only another one uses."""
    named = [name for name in FRAMEWORKS if name not in _came_along]
    found = {name: getattr(sys.modules.get(name), "__version__", None) for name in named}
    return {name: str(version) for name, version in found.items() if version}


def _of_loaded(attribute: str) -> Iterator[Any]:
    """Yield what the files of the loaded frameworks define under this name, where they do."""
    files = [file for name, file in FRAMEWORKS.items() if sys.modules.get(name)]
    return filter(None, (getattr(file, attribute, None) for file in files))


def _first(function, argument):
    """Ask each loaded framework's function of this name; the first answer that is not None."""
    results = (ask(argument) for ask in _of_loaded(function))
    return next((result for result in results if result is not None), None)
