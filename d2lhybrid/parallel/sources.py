"""Functions as text, so that another process can have them: a function, and all that it calls.

    sources = Sources.of(train)  # here
    train = sources.build()   # there, after it was pickled

Python can pickle a function of a notebook only as its name, which another process can't look up.
So its source is sent, and the source of the notebook's functions and classes that it uses. Modules
are imported there again. Data of the notebook doesn't come along: it must be passed.
"""

import ast
import builtins
import inspect
import linecache
import symtable
import sys
from dataclasses import dataclass, field
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

COMPREHENSIONS = ("listcomp", "setcomp", "dictcomp", "genexpr")  # in Python 3.11, symtable's names
MODULE = "notebook"  # what the module with the functions is called in the other process


@dataclass(frozen=True)
class Source:
    """The text of a function or a class, and the line of its cell or file in which it begins."""

    name: str
    text: str
    line: int

    @property
    def filename(self) -> str:
        """What a traceback calls it."""
        return f"<{self.name}>"

    @property
    def padded(self) -> str:
        """The text with empty lines before it, so that its lines keep their numbers."""
        if self.text[0].isspace():  # it stood in a block
            return "\n" * (self.line - 2) + "if True:\n" + self.text
        return "\n" * (self.line - 1) + self.text


@dataclass
class Sources:
    """All that a function needs: `Source` by `Source`, and what is imported under which name.

    TypeError or NameError, in words, if the function needs what can't travel so.
    """

    name: str
    parts: list[Source] = field(default_factory=list)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, function: FunctionType) -> "Sources":
        """What a function needs that was written with `def`, in a cell or a file."""
        if not isinstance(function, FunctionType) or function.__name__ == "<lambda>":
            given = getattr(function, "__name__", type(function).__name__)
            raise TypeError(f"a world runs functions that are written with def, and got {given}")
        sources = cls(function.__name__)
        sources._add(function, set())
        return sources

    def _add(self, thing, seen):
        """Add a function or class of the notebook, behind what its definition needs.

        What it uses only later comes behind it: a class may be used by the class that it extends.
        """
        seen.add(thing)
        if free := getattr(getattr(inspect.unwrap(thing), "__code__", None), "co_freevars", ()):
            raise TypeError(
                f"{thing.__name__} uses {free[0]!r} of the function around it, which stays "
                "here; pass it as an argument"
            )
        source, there = source_of(thing)
        names = global_names(source.padded)
        for name in names:
            if name not in there and not hasattr(builtins, name):
                raise NameError(f"{thing.__name__} uses {name!r}, which is not defined", name=name)
        for at_once in (True, False):
            for name in names:
                if name in there and names[name] == at_once and not _is_shells(name, there[name]):
                    self._add_name(name, there[name], thing, seen)
            if at_once:
                self.parts.append(source)

    def _add_name(self, name, value, user, seen):
        is_code = isinstance(value, (FunctionType, type))
        if is_code and value.__module__ == user.__module__:
            if value.__name__ == "<lambda>":
                raise TypeError(f"{user.__name__} uses {name!r}, a lambda: write it with def")
            if value.__name__ != name:
                raise TypeError(
                    f"{user.__name__} uses {name!r}, another name of {value.__name__}: "
                    "use the name that it was defined with"
                )
            if value not in seen:
                self._add(value, seen)
        elif isinstance(value, ModuleType):
            self.imports[name] = value.__name__, ""
        elif home := home_of(value, user.__module__):
            self.imports[name] = home
        else:
            raise TypeError(
                f"{user.__name__} uses {name!r}, of type {type(value).__name__}, which stays here: "
                "another process has only what is passed to it"
            )

    def build(self) -> Any:
        """The function, in a module of its own; its lines are found by `linecache`."""
        module = sys.modules[MODULE] = ModuleType(MODULE)
        for name, (home, path) in self.imports.items():
            value = import_module(home)
            for part in filter(None, path.split(".")):
                value = getattr(value, part)
            setattr(module, name, value)
        for part in self.parts:
            lines = part.padded.splitlines(True)
            linecache.cache[part.filename] = len(part.padded), None, lines, part.filename
            exec(compile(part.padded, part.filename, "exec", dont_inherit=True), vars(module))
        return getattr(module, self.name)


def source_of(thing: FunctionType | type) -> tuple[Source, dict[str, Any]]:
    """The source of a function or class, and the names of the module that defines it.

    `inspect.getsource` finds no classes of a notebook before Python 3.13; their methods say where
    they are. TypeError for what is not written in a cell or a file.
    """
    is_class = isinstance(thing, type)
    kinds = ast.ClassDef if is_class else (ast.FunctionDef, ast.AsyncFunctionDef)
    for function in map(inspect.unwrap, _methods(thing) if is_class else [thing]):
        code = function.__code__
        lines = linecache.getlines(code.co_filename, function.__globals__)
        for node in ast.walk(ast.parse("".join(lines))):
            if isinstance(node, kinds) and node.name == thing.__name__:
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                last = node.end_lineno if is_class else first
                if first <= code.co_firstlineno <= last:
                    text = "".join(lines[first - 1 : node.end_lineno])
                    return Source(thing.__name__, text, first), function.__globals__
    why = ": it has no methods" if is_class else ""
    raise TypeError(f"the source of {thing.__name__} cannot be found{why}")


def _methods(cls):
    """The functions that are written in the body of a class."""
    members = (getattr(m, "__func__", getattr(m, "fget", m)) for m in vars(cls).values())
    return [member for member in members if isinstance(member, FunctionType)]


def global_names(source: str) -> dict[str, bool]:
    """The names that a text of Python reads and does not define itself.

    True for those that it reads at once, as decorators and base classes; a function's body doesn't.
    """
    top = symtable.symtable(source, "", "exec")
    defined = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned()}
    tables, names = [(top, True)], {}
    for table, at_once in tables:
        for child in table.get_children():
            runs_at_once = child.get_type() != "function" or child.get_name() in COMPREHENSIONS
            tables.append((child, at_once and runs_at_once))
        for symbol in table.get_symbols():
            name, outside = symbol.get_name(), symbol.is_global() or table is top
            read = symbol.is_referenced() and not symbol.is_assigned()
            if outside and read and name not in defined:
                names[name] = names.get(name, False) or at_once
    return names


def _is_shells(name, value):
    """Whether this wraps the builtin of the same name: in a notebook, IPython's `open` does."""
    return hasattr(builtins, name) and getattr(value, "__wrapped__", None) is vars(builtins)[name]


def home_of(value: Any, own: str) -> tuple[str, str] | None:
    """The module, and the name there, by which another process finds a function or class.

    None for what is only in the module `own`, and for data.
    """
    name = getattr(value, "__name__", None)
    if not callable(value) or not isinstance(name, str):
        return None
    home, path = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if home != own and isinstance(path, str) and _found(home, path) is value:
        return home, path
    # What is written in C doesn't always say from where it is.
    homes = [home for home in sys.modules if home not in (own, "__main__", "__mp_main__")]
    return next(((home, name) for home in homes if _found(home, name) is value), None)


def _found(home, path):
    found = sys.modules.get(home)
    for part in path.split("."):
        found = getattr(found, "__dict__", {}).get(part)
    return found
