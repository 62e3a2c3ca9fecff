"""Functions for another process: what a function is, and all of the notebook that it calls.

    sources = Sources.of(train)  # here
    train = sources.build()   # there, after it was pickled

Python pickles a function of a notebook only as its name, which another process can't look up.
cloudpickle sends what it is, and the notebook's functions and classes that it uses; modules are
imported there again. It would send the notebook's data as well. Here that is refused, so that in
lessons about messages nothing travels unseen.
"""

import dis
import inspect
import io
import linecache
import pickle
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pkgutil import resolve_name
from threading import Lock
from types import CodeType, FunctionType, ModuleType
from typing import Any

import cloudpickle

USES = ("LOAD_GLOBAL", "STORE_GLOBAL", "LOAD_NAME")  # the last in the body of a class
_REGISTERING = Lock()  # cloudpickle's list of modules is one for all threads


@dataclass
class Sources:
    """A function, pickled, and the lines of the cells or files in which it and its helpers stand.

    TypeError, in words, if the function needs what can't travel so.
    """

    name: str
    files: dict[str, list[str]] = field(default_factory=dict)
    packed: bytes = b""

    @classmethod
    def of(cls, function: FunctionType) -> "Sources":
        """What a function needs that was written with `def`."""
        if not isinstance(function, FunctionType) or function.__name__ == "<lambda>":
            given = getattr(function, "__name__", type(function).__name__)
            raise TypeError(f"a world runs functions that are written with def, and got {given}")
        sources, names, known = cls(function.__name__), {}, None
        while known != names:  # what a name stands for may use more names
            known, file = dict(names), io.BytesIO()
            pickler = _Pickler(file, function.__module__, names, sources.files)
            try:
                pickler.dump_by_value((function, known))
            except (TypeError, AttributeError, pickle.PicklingError) as error:
                raise TypeError(str(error)) from None  # where pickle was then helps nobody
        sources.packed = file.getvalue()
        return sources

    def build(self) -> Any:
        """The function; its lines are found by `linecache`."""
        for filename, lines in self.files.items():
            linecache.cache[filename] = len(lines), None, lines, filename
        function, names = pickle.loads(self.packed)
        inspect.unwrap(function).__globals__.update(names)
        return function


class _Pickler(cloudpickle.Pickler):
    """Pickles as cloudpickle does, but for what another process can import: that by its name.

    Refuses data. `names` gets the global names that are used, since cloudpickle overlooks those
    that only the body of a class reads; `files` gets the lines.
    """

    def __init__(self, file, home, names, files):
        super().__init__(file)
        self._home, self._names, self._files = home, names, files

    def dump_by_value(self, value):
        """Pickle a value, and what it uses of the module where it is at home."""
        home = sys.modules.get(self._home)
        if home is None or self._home == "__main__":  # then cloudpickle does so
            return self.dump(value)
        with _REGISTERING:
            cloudpickle.register_pickle_by_value(home)
            try:
                self.dump(value)
            finally:
                cloudpickle.unregister_pickle_by_value(home)

    def reducer_override(self, value):
        home = home_of(value, self._home)
        if home and home != own_name(value):  # by which pickle would look for it
            return resolve_name, (":".join(home),)
        if isinstance(value, FunctionType) and value.__globals__.get("__name__") == self._home:
            self._examine(value)
        return super().reducer_override(value)

    def _examine(self, function):
        """Refuse data that a function uses, and keep its lines, and the names that it uses."""
        filename = function.__code__.co_filename
        linecache.checkcache(filename)
        self._files[filename] = linecache.getlines(filename, function.__globals__)
        thing = function.__qualname__.rpartition("<locals>.")[2].partition(".")[0]
        for name in global_names(function.__code__):
            if name in function.__globals__ and not name.startswith("__"):
                self._names[name] = value = function.__globals__[name]
                if is_data(value, self._home):
                    raise TypeError(
                        f"{thing} uses {name!r}, of type {type(value).__name__}, which stays here: "
                        "another process has only what is passed to it"
                    )
        for name, value in around(function):
            if is_data(value, self._home) and not hasattr(function, "__wrapped__"):
                raise TypeError(
                    f"{thing} uses {name!r} of the function around it, which stays here; pass it "
                    "as an argument"
                )


def is_data(value: Any, own: str) -> bool:
    """Whether this is neither a function, a class nor a module that another process can have."""
    if isinstance(value, ModuleType):
        return sys.modules.get(value.__name__) is not value
    return not isinstance(value, (FunctionType, type)) and not home_of(value, own)


def home_of(value: Any, own: str) -> tuple[str, str] | None:
    """The module, and the name there, by which another process finds a function or class.

    None for what is only in the module `own` or in the notebook, and for data.
    """
    name = getattr(value, "__name__", None)
    if not callable(value) or not isinstance(name, str):
        return None
    stays = (own, "__main__", "__mp_main__")
    home, path = own_name(value)
    if home == own:
        return None
    if home not in stays and isinstance(path, str) and _found(home, path) is value:
        return home, path
    # What is written in C doesn't always say from where it is.
    homes = [home for home in sys.modules if home not in stays]
    return next(((home, name) for home in homes if _found(home, name) is value), None)


def own_name(value):
    return getattr(value, "__module__", None), getattr(value, "__qualname__", None)


def _found(home, path):
    found = sys.modules.get(home)
    for part in path.split("."):
        found = getattr(found, "__dict__", {}).get(part)
    return found


def global_names(code: CodeType) -> list[str]:
    """The global names that a function uses, also by functions and classes within it."""
    names = [each.argval for each in dis.get_instructions(code) if each.opname in USES]
    if not code.co_flags & inspect.CO_OPTIMIZED:  # a class: what it defines is its own
        stored = {e.argval for e in dis.get_instructions(code) if e.opname == "STORE_NAME"}
        names = [name for name in names if name not in stored]
    for inner in code.co_consts:
        if isinstance(inner, CodeType) and inner.co_name != "__annotate__":
            names += global_names(inner)
    return list(dict.fromkeys(names))


def around(function):
    """Names and values of the functions around this one; a method's are its class's own."""
    if "." in function.__qualname__.rpartition("<locals>.")[2]:
        return
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # not yet there
            yield name, cell.cell_contents
