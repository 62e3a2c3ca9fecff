"""From C source to functions that Python can call."""

import ctypes
import os
import platform
import shlex
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

# No flag relaxes arithmetic: sums change their order only where the source says so (that is what
# -fopenmp-simd reads), and a product and a sum are not made one operation that rounds only once,
# or x * x - x * x might not be 0. -fPIC: a library may be loaded anywhere in memory.
FLAGS = ["-std=c99", "-O3", "-fopenmp-simd", "-ffp-contract=off"]
SHARED = ["-shared", "-fPIC"]
TIME_LIMIT = 600  # seconds; a network of a hundred layers takes a few


class CompilerNotFound(RuntimeError):
    """This machine has no C compiler."""


class CompilationFailed(RuntimeError):
    """The C compiler refused the source."""


def find_compiler():
    """The command that runs the C compiler, as a list: the variable CC, or cc, gcc or clang."""
    if command := os.environ.get("CC"):
        if shutil.which(command):  # a path, perhaps with blanks or backslashes
            return [command]
        try:
            return shlex.split(command)
        except ValueError as error:
            raise CompilerNotFound(f"CC is no command: {command!r}: {error}") from None
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return [name]
    raise CompilerNotFound(
        "no C compiler was found. Install the package gcc (on Debian and Ubuntu: apt install gcc; "
        "on macOS: xcode-select --install; on Windows: winget install LLVM.LLVM), or let the "
        "variable CC name one. Until then, d2lhybrid.hybrid.codegen.python_function(graph) runs "
        "a graph without a compiler"
    )


def flags():
    """How to compile for the processor of this machine."""
    if platform.machine() in ("x86_64", "AMD64"):  # 512 bits at a time, where it has them
        return [*FLAGS, "-march=native", "-mprefer-vector-width=512"]
    return [*FLAGS, "-mcpu=native"]


def run_compiler(*arguments):
    """Run the compiler, without a shell. CompilationFailed with what it says, where it fails."""
    command = [*find_compiler(), *map(str, arguments)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=TIME_LIMIT
        )
    except subprocess.TimeoutExpired:
        raise CompilationFailed(
            f"{shlex.join(command)} had not ended after {TIME_LIMIT} seconds; does CC name a "
            "compiler?"
        ) from None
    except OSError as error:
        raise CompilerNotFound(
            f"the C compiler {command[0]!r} could not be run: {error}"
        ) from error
    if done.returncode != 0:
        raise CompilationFailed(
            f"{shlex.join(command)} failed with status {done.returncode}:\n{done.stderr}"
        )


@cache
def load(source):
    """Compile C source to a library in a private folder, and load it: a `ctypes.CDLL`.

    The same source is compiled once. Once it is loaded, the file is no longer needed.
    """
    try:
        with TemporaryDirectory(prefix="d2lhybrid-", ignore_cleanup_errors=True) as folder:
            code, library = Path(folder, "forward.c"), Path(folder, "forward.so")
            code.write_text(source)
            run_compiler(*flags(), *SHARED, "-o", library, code, "-lm")
            return ctypes.CDLL(str(library))
    except OSError as error:
        raise unusable(error) from error


def load_function(source, name):
    """The function of that name in C source, compiled."""
    try:
        return getattr(load(source), name)
    except AttributeError as error:
        raise unusable(error) from error


def unusable(error):
    return CompilationFailed(
        f"{error}. Does the variable CC name a C compiler for this machine? Can files be written "
        "to the folder for temporary files, and programs be run from there? If not, let the "
        "variable TMPDIR name another"
    )


def array(words):
    """A C array of addresses and whole numbers, which have the same size; None is NULL."""
    return (ctypes.c_void_p * len(words))(*words)
