"""What is compared: a callable, a recipe for one, many calls in one, or a program. See notebook 06.

A program runs in a process of its own, see `processes`.
"""

import ast
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import decode_source
from pathlib import Path

from ..workers import format_exception_only


@dataclass(frozen=True)
class Recipe:
    """A candidate that has yet to be built; `recipe` makes it."""

    build: Callable[[], Callable]


def recipe(build: Callable[[], Callable]) -> Recipe:
    """A candidate for `compare` that has to be built, so that building gets its price.

        compare({"eager": net, "TorchScript": recipe(lambda: torch.jit.script(net))}, x)

    `build()` returns the callable that is timed. TypeError if `build` is not callable.
    """
    if not callable(build):
        raise TypeError(f"recipe needs a function that builds, and got {build!r}")
    return Recipe(build)


@dataclass(frozen=True)
class Repeated:
    """A candidate that does many calls in one; `repeated` makes it."""

    function: Callable
    calls: int


def repeated(function: Callable, calls: int) -> Repeated:
    """A candidate for `compare` whose one call does so many calls, which share its time.

    For what can only be timed inside another language: a loop in C, of which the Python around
    it is then a small part.
    """
    return Repeated(function, calls)


@dataclass(frozen=True)
class Program:
    """A candidate in a process of its own; `own_process` makes it."""

    source: str = field(repr=False)
    filename: str  # what errors and tracebacks call it
    path: str  # absolute; "" for a text
    build: str  # the name of the function that builds the candidate
    threads: int | None = None
    timeout: float = 300.0
    inputs: str | None = None  # the name of the function that returns a call's arguments
    argv: Sequence[str] = ()
    cold_cache: bool = False


def own_process(
    source: str | Path,
    build: str | None = None,
    *,
    threads: int | None = None,
    timeout: float = 300.0,
    inputs: str | None = None,
    argv: Sequence[str] = (),
    cold_cache: bool = False,
) -> Program:
    """A candidate for `compare` that is a program and runs in a fresh Python process.

        compare({"mine": own_process(Path("mine.py")), "other": own_process(text)}, x)

    For frameworks that do not get along in one process, and for building in a process that is
    really cold.

    Args:
        source: The program: its text, or the `Path` of its file, which is read at once.
        build: The name of its function that builds the candidate; by default its only function
            at the top level whose name does not begin with "_". It gets the arguments of the
            comparison, arrays and tensors as NumPy arrays, and returns a callable without
            arguments, which is timed.
        threads: How many threads the frameworks may use; by default their own choice. On Linux
            the process also keeps to as many cores.
        timeout: Seconds to wait for any one answer of the process.
        inputs: The name of its function that returns the arguments of one call, as a tuple. It is
            called once for each call, outside the timing.
        argv: What it finds in sys.argv behind its own name.
        cold_cache: Whether the process gets an empty folder in place of torch.compile's cache.

    Raises:
        TypeError, ValueError, SyntaxError, OSError: for what cannot be a program.
    """
    if isinstance(source, Path):
        filename, path = str(source), str(source.resolve())
        source = decode_source(source.read_bytes())
    elif isinstance(source, str):
        filename, path = "<program>", ""
    else:
        raise TypeError(f"a program is a text or the pathlib.Path of a file, not {source!r}")
    tree = ast.parse(source, filename)
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    for name in (build, inputs):
        if name is not None and name not in functions:
            found = ", ".join(functions) or "none"
            raise ValueError(
                f"{filename} has no function {name!r} at its top level; it has: {found}"
            )
    build = build or _only_public(functions, filename)
    return Program(source, filename, path, build, threads, timeout, inputs, argv, cold_cache)


def _only_public(functions, filename):
    public = list(dict.fromkeys(name for name in functions if not name.startswith("_")))
    if len(public) == 1:
        return public[0]
    advice = "name the one that builds: build=..." if public else "add one that builds"
    if not public and filename == "<program>":
        advice += ", or if a file is meant, pass its pathlib.Path"
    raise ValueError(
        f"{filename} must have exactly one public function at its top level, and has: "
        f"{', '.join(public) or 'none'}; {advice}"
    )


class CandidateError(RuntimeError):
    """The candidate `label` failed.

    `__cause__` is the error that it raised in this process. Of a program `filename` and `line` are
    the place in its source, as far as it is known.
    """

    def __init__(
        self,
        label: str,
        error: Exception | str,
        filename: str | None = None,
        line: int | None = None,
    ):
        what = f"raised {format_exception_only(error)}" if isinstance(error, Exception) else error
        super().__init__(f"candidate {label!r} {what}")
        self.label, self.filename, self.line = label, filename, line


@contextmanager
def blamed_on(label):
    """A block whose errors are the candidate's."""
    try:
        yield
    except Exception as error:
        raise CandidateError(label, error) from error
