"""What the course has to know of each framework: one file for each, and one row here.

A file defines some of these functions; it leaves out those for which its framework has nothing
special:

    synchronize()       wait until its devices have done all that this process asked of them
    to_numpy(array)     a NumPy array of the same numbers; None for what is not its array
    state()             settings that change how fast it is: {"threads": 2, "gradients": True}
    name_of(device)     the device's name, with the model of a GPU; None if the device is not this
                        framework's
    compilations()      how many programs it has compiled, found in its cache, and not found there
    ways(net)           how it runs a PyTorch network: label -> a function that builds a callable,
                        from a tensor (n, inputs) to a result (n, outputs)

This module asks them of every framework that is loaded, and loads none itself, except NumPy in
`to_numpy`; only `ways` asks all that are installed. Used in notebooks 04 to 09.
"""

import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

# As Python imports it -> its file in this folder, or None where its version is all we mention.
FRAMEWORKS = {
    "torch": "pytorch",
    "numpy": "numpy",
    "onnxruntime": "onnxruntime",
    "jax": "jax",
    "mxnet": "mxnet",
    "tensorflow": None,
    "paddle": None,
}


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
    return found


def name_of(device: str) -> str:
    """A device's name, such as `cuda:0`, with the model of a GPU where it is known."""
    names = (ask(device) for ask in _functions("name_of"))
    return next((name for name in names if name is not None), device)


def compilations() -> tuple[int, int, int]:
    """How many programs were compiled so far, found in a compiler's cache, and not found there."""
    counts = [count() for count in _functions("compilations")]
    return tuple(map(sum, zip(*counts, strict=True))) if counts else (0, 0, 0)


def versions() -> dict[str, str]:
    """The versions of the frameworks that are loaded."""
    loaded = {name: sys.modules.get(name) for name in FRAMEWORKS}
    return {
        name: str(module.__version__)
        for name, module in loaded.items()
        if hasattr(module, "__version__")
    }


def ways(net: Any) -> dict[str, Callable[[], Callable]]:
    """Every installed way to run a PyTorch network: label -> what builds it."""
    found = {}
    for name, file in FRAMEWORKS.items():
        if file and find_spec(name):
            find = _function(file, "ways")
            found |= find(net) if find else {}
    return found


def _functions(question: str) -> Iterator[Callable]:
    """The functions of that name, of the frameworks that are loaded."""
    for name, file in FRAMEWORKS.items():
        if file and sys.modules.get(name) and (function := _function(file, question)):
            yield function


@cache  # `compare` asks in every block
def _function(file: str, question: str) -> Callable | None:
    return getattr(import_module(f".{file}", __name__), question, None)
