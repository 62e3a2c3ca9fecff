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
from functools import cached_property
from importlib import import_module
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
        sources, names = cls(function.__name__), {}
        sources._check(function, names, set())
        file = io.BytesIO()
        try:
            _Pickler(file, function.__module__).dump_by_value((function, names))
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            raise TypeError(f"{function.__name__} cannot be sent: {error}") from error
        sources.packed = file.getvalue()
        return sources

    def build(self) -> Any:
        """The function; its lines are found by `linecache`."""
        for filename, lines in self.files.items():
            linecache.cache[filename] = len(lines), None, lines, filename
        function, names = pickle.loads(self.packed)
        inspect.unwrap(function).__globals__.update(names)
        return function

    def _check(self, thing, names, seen):
        """Refuse data, and keep the lines of this function or class, and of all that it uses.

        `names` gets the global names that are used: cloudpickle overlooks those that only the body
        of a class reads.
        """
        seen.add(thing)
        home = thing.__module__
        for value in bases_and_classes(thing):
            self._follow(value, home, names, seen)
        for function in functions_of(thing):
            if function.__globals__.get("__name__") != home:
                continue  # a module's decorator
            filename = function.__code__.co_filename
            linecache.checkcache(filename)
            self.files[filename] = linecache.getlines(filename, function.__globals__)
            for name in global_names(function.__code__):
                if name in function.__globals__ and not name.startswith("__"):
                    names[name] = value = function.__globals__[name]
                    if is_data(value, home):
                        raise TypeError(
                            f"{thing.__name__} uses {name!r}, of type {type(value).__name__}, "
                            "which stays here: another process has only what is passed to it"
                        )
                    self._follow(value, home, names, seen)
            for name, value in around(function):
                if is_data(value, home) and not hasattr(function, "__wrapped__"):
                    raise TypeError(
                        f"{function.__name__} uses {name!r} of the function around it, which stays "
                        "here; pass it as an argument"
                    )
                self._follow(value, home, names, seen)

    def _follow(self, value, home, names, seen):
        is_code = isinstance(value, (FunctionType, type))
        if is_code and value not in seen and not home_of(value, home):
            self._check(value, names, seen)


class _Pickler(cloudpickle.Pickler):
    """Pickles as cloudpickle does, but for what another process can import: that by its name."""

    def __init__(self, file, home):
        super().__init__(file)
        self._home = home

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
        if isinstance(value, ModuleType) and not is_data(value, self._home):
            return import_module, (value.__name__,)
        home = home_of(value, self._home)
        if home and home != own_name(value):  # by which pickle would look for it
            return imported, home
        return super().reducer_override(value)


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
    """The module and the name that a function or class has of itself."""
    return getattr(value, "__module__", None), getattr(value, "__qualname__", None)


def _found(home, path):
    found = sys.modules.get(home)
    for part in path.split("."):
        found = getattr(found, "__dict__", {}).get(part)
    return found


def imported(home: str, path: str) -> Any:
    """What `home_of` has found, in another process."""
    value = import_module(home)
    for part in path.split("."):
        value = getattr(value, part)
    return value


def bases_and_classes(thing):
    """The classes that a class extends, and those in its body."""
    if not isinstance(thing, type):
        return []
    return [*thing.__bases__, *(each for each in vars(thing).values() if isinstance(each, type))]


def functions_of(thing):
    """A function, or the methods of a class, and what they wrap."""
    members = vars(thing).values() if isinstance(thing, type) else [thing]
    for member in members:
        if isinstance(member, property):
            yield from (f for f in (member.fget, member.fset, member.fdel) if f)
        if isinstance(member, cached_property):
            member = member.func
        member = getattr(member, "__func__", member)  # a static or a class method's
        while isinstance(member, FunctionType):
            yield member
            member = getattr(member, "__wrapped__", None)


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
