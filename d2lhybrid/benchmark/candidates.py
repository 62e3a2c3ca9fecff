"""What is compared: a callable, one to build, many calls in one, or a program (notebook 06).

Each kind has a method `start(label, args, clock)`, which returns its runner: a
`timing.Runner` in this process, or a `processes.ProgramRunner`, whose process starts at once.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .processes import Program, ProgramRunner
from .timing import InnerLoops, Runner


@dataclass(frozen=True)
class Ready:
    """A candidate that can be called as it is."""

    function: Callable | InnerLoops

    def start(self, label, args, clock):
        """Return a Runner for the function, which is not called yet."""
        return Runner(label, self.function, args, clock)


@dataclass(frozen=True)
class Build:
    """A candidate that has yet to be built; `build` makes it."""

    make: Callable[[], Callable]

    def start(self, label, args, clock):
        """Return a Runner that will build the function; nothing is built yet."""
        return Runner(label, None, args, clock, self.make)


def build(make: Callable[[], Callable]) -> Build:
    """A candidate for `compare` that has to be built first and therefore has a build cost.

        compare({"eager": net, "TorchScript": build(lambda: torch.jit.script(net))}, x)

    `make()` returns the callable that is timed.
    """
    return Build(make)


def inner_loops(function: Callable, calls: int) -> InnerLoops:
    """A candidate for `compare` whose one call does the work of `calls` calls and is timed as such.

    For what can only be timed inside another language: a loop in C, of which the Python around it
    is then a small part.
    """
    return InnerLoops(function, calls)


def as_candidate(label: str, candidate: Any) -> Any:
    """Return the candidate as something with a method `start`; its label is for the error.

    TypeError for what cannot be timed.
    """
    if isinstance(candidate, (Build, Program, ProgramRunner)):
        return candidate
    if callable(candidate) or isinstance(candidate, InnerLoops):
        return Ready(candidate)
    what = type(candidate).__name__
    raise TypeError(f"{label!r} must be callable, a build or a program, not {what}")


def isolated(
    source: str | Path,
    build: str | None = None,
    *,
    threads: int | None = None,
    cold_cache: bool = False,
) -> Program:
    """A candidate for `compare` that is a program and runs in a new Python process.

        compare({"mine": isolated(Path("mine.py")), "other": isolated(text)}, x)

    Use it for frameworks that do not get along in one process, and to build in a process that is
    really cold.

    Args:
        source: The program: its text, or the `Path` of its file, which is read at once.
        build: The name of the function that builds the candidate; by default the only function
            at the top level whose name does not begin with "_". It gets the arguments of the
            comparison, arrays and tensors as NumPy arrays, and returns a callable without
            arguments, which is timed.
        threads: How many threads the frameworks may use; by default they choose. On Linux the
            process is also restricted to as many cores.
        cold_cache: Whether the process gets an empty folder in place of torch.compile's cache.

    Raises:
        TypeError, ValueError, SyntaxError, OSError: if `source` cannot be a program.
    """
    if isinstance(source, Path):
        filename, path = str(source), str(source.resolve())
        source = source.read_text("utf-8-sig")
    else:
        filename, path = "<program>", ""
    nodes = ast.parse(source, filename).body
    functions = list(dict.fromkeys(n.name for n in nodes if isinstance(n, ast.FunctionDef)))
    possible = [name for name in functions if name == build or not (build or name[0] == "_")]
    if len(possible) != 1:
        what = f"a function {build!r}" if build else "exactly one public function"
        raise ValueError(f"{filename} must have {what} at its top level, and has: {functions}")
    return Program(source, filename, path, possible[0], threads, cold_cache)
