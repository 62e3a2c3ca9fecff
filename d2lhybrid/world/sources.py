"""Functions for another process: what a function is, and all of the notebook that it calls.

    name, files, packed = packed_function(train)  # here
    train = unpacked_function(files, packed)      # there

Python pickles a function of a notebook only as its name. cloudpickle sends what it is, and the
notebook's functions and classes that it uses; what is in modules is imported there again. It would
send the notebook's data as well. Here that is refused, so that nothing travels unseen.
"""

import dis
import io
import linecache
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from pkgutil import resolve_name
from types import CodeType, FunctionType, ModuleType
from typing import Any

import cloudpickle

NOTEBOOK = "__main__"  # its module, which another process cannot import


def packed_function(function: FunctionType) -> tuple[str, dict[str, list[str]], bytes]:
    """Its name; the lines of the cells or files where it and its helpers stand; it, pickled.

    TypeError, in words, if it isn't written with `def`, or needs what can't travel so.
    """
    if not isinstance(function, FunctionType) or function.__name__ == "<lambda>":
        given = getattr(function, "__name__", type(function).__name__)
        raise TypeError(f"a world runs functions that are written with def, and got {given}")
    files, file = {}, io.BytesIO()
    keep_lines(function, files)
    try:
        _Pickler(file, files).dump(function)
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        raise TypeError(str(error)) from None  # where pickle was then helps nobody
    return function.__name__, files, file.getvalue()


def unpacked_function(files: dict[str, list[str]], packed: bytes) -> FunctionType:
    """The function; its lines are found by `linecache`."""
    for filename, lines in files.items():
        linecache.cache[filename] = len(lines), None, lines, filename
    return pickle.loads(packed)


class _Pickler(cloudpickle.Pickler):
    """Refuses data; what another process can import goes by its name, all else as it is."""

    def __init__(self, file, files):
        super().__init__(file)
        self._files = files

    def reducer_override(self, value):
        if isinstance(value, CodeType):
            return code_of_file, (value.co_filename, *self.dispatch_table[CodeType](value))
        home = home_of(value)
        if home and home != own_name(value):  # by which pickle would look for it
            return resolve_name, (":".join(home),)
        if isinstance(value, FunctionType) and value.__globals__.get("__name__") == NOTEBOOK:
            keep_lines(value, self._files)
            refuse_data(value)
        return super().reducer_override(value)


def code_of_file(filename: str, make: Callable, parts: tuple) -> CodeType:
    """A code object with its file's name, in place of which cloudpickle 3.1.3 sends a fixed one."""
    return make(*parts).replace(co_filename=filename)


def keep_lines(function: FunctionType, files: dict[str, list[str]]) -> None:
    """Put the lines of a function's file or cell, as they are now, under its name."""
    filename = function.__code__.co_filename
    linecache.checkcache(filename)
    files[filename] = linecache.getlines(filename, function.__globals__)


def refuse_data(function: FunctionType) -> None:
    """TypeError if a function uses data of the notebook, or of the function around it."""
    qualified = function.__qualname__.rpartition("<locals>.")[2]
    thing, _, method = qualified.partition(".")
    known = function.__globals__
    for name in global_names(function.__code__):
        if name in known and not name.startswith("__") and is_data(value := known[name]):
            raise TypeError(
                f"{thing} uses {name!r}, of type {type(value).__name__}, which stays here: "
                "another process has only what is passed to it"
            )
    if method or hasattr(function, "__wrapped__"):
        return  # what is around a method is its class's own, and around a wrapper a decorator's
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # not yet there
            if is_data(cell.cell_contents):
                raise TypeError(
                    f"{thing} uses {name!r} of the function around it, which stays here; pass it "
                    "as an argument"
                )


def is_data(value: Any) -> bool:
    """Whether this is neither a function, a class nor a module that another process can have."""
    if isinstance(value, ModuleType):
        return sys.modules.get(value.__name__) is not value
    return not isinstance(value, (FunctionType, type)) and not home_of(value)


def home_of(value: Any) -> tuple[str, str] | None:
    """The module, and the name there, by which another process finds a function or class.

    None for what is only in the notebook, and for data.
    """
    name = getattr(value, "__name__", None)
    if not callable(value) or not isinstance(name, str) or own_name(value)[0] == NOTEBOOK:
        return None
    # What is written in C doesn't always say from where it is.
    for home, path in [own_name(value), *((home, name) for home in list(sys.modules))]:
        found = sys.modules.get(home)
        for part in path.split("."):
            found = getattr(found, "__dict__", {}).get(part)
        if found is value and home != NOTEBOOK:
            return home, path
    return None


def own_name(value):
    return getattr(value, "__module__", None), getattr(value, "__qualname__", "")


def global_names(code: CodeType) -> list[str]:
    """The global names that a function uses, also by functions within it."""
    names = [each.argval for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL"]
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            names += global_names(inner)
    return names
