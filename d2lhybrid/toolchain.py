"""From C source to functions that Python can call. Explained in notebook 13."""

import ctypes
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

# No flag makes arithmetic less exact. The order of a sum changes only where the source allows it,
# with a `#pragma omp simd`, for which -fopenmp-simd is needed. With -ffp-contract=off a product and
# a sum stay two operations that round twice; else x * x - x * x might not be 0.
# The last two say that nobody asks for errors of math.h in `errno`, or wants to be stopped by one.
FLAGS = ["-std=c99", "-O3", "-fopenmp-simd", "-ffp-contract=off"]
FLAGS += ["-fno-math-errno", "-fno-trapping-math"]


class CompilerNotFound(RuntimeError):
    """No C compiler could be run on this machine."""


class CompilationFailed(CompilerNotFound):
    """The compiler failed, or its result could not be loaded: no compiler that works was found.

    So whoever goes on without a compiler does so in both cases.
    """


def read_c_file(module: str, name: str) -> str:
    """Return the text of a C file that lies beside a module, whose `__file__` is given."""
    return Path(module).with_name(name).read_text(encoding="utf-8")


def compiler_command() -> list[str]:
    """Return the C compiler, with options for its target, as a list of words.

    The compiler is the one that the variable CC names, or else cc, gcc, clang or the Python package
    ziglang. Code for this machine may use all of the processor's instructions; code for another
    target, if CC names one, may not. CompilerNotFound if there is no compiler.
    """
    compiler = find_compiler()
    if target_of(*compiler) != HERE:
        return [*compiler, *FLAGS]
    if "x86_64" in HERE:  # 512 bits at a time, where it has them
        return [*compiler, *FLAGS, "-march=native", "-mprefer-vector-width=512"]
    return [*compiler, *FLAGS, "-mcpu=native"]


def find_compiler():
    """Return the command that runs the C compiler, as a list; CompilerNotFound if there is none."""
    if command := os.environ.get("CC"):  # a path, perhaps with blanks or backslashes, or a command
        return [command] if shutil.which(command) else shlex.split(command)
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return [name]
    if find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    raise CompilerNotFound(
        "no C compiler was found. Run `pip install ziglang`, which needs no administrator rights, "
        "or install the package gcc (on Debian and Ubuntu: apt install gcc; on macOS: xcode-select "
        "--install; on Windows: winget install LLVM.LLVM), or set the variable CC to one. Until "
        "then, d2lhybrid.python_function(graph) runs a graph without a compiler"
    )


NAMES = {"x86_64": "x86_64|amd64", "aarch64": "aarch64|arm64", "linux": "linux"}
NAMES |= {"darwin": "darwin|macos", "win32": "win32|windows|mingw"}


def known_names(target):
    """Return what a target such as x86_64-linux-gnu names, by one name each: x86_64 and linux."""
    return [name for name, names in NAMES.items() if re.search(names, target.lower())]


HERE = known_names(f"{platform.machine()}-{sys.platform}")


@cache
def target_of(*command):
    """Return the `known_names` of a compiler's target; those of this machine if it says nothing."""
    return known_names(run([*command, "-dumpmachine"]).stdout) or HERE


@cache
def temporary_cache():
    """Return a folder that lasts until Python exits."""
    return TemporaryDirectory(prefix="d2lhybrid-", ignore_cleanup_errors=True)


def run(command):
    """Run a compiler. Returns a CompletedProcess with text; CompilerNotFound if it cannot be run.

    zig keeps what it has compiled in the home folder, and refuses one that can't be written to.
    """
    home = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "HOME", "")
    own = {} if os.access(home, os.W_OK) else {"ZIG_GLOBAL_CACHE_DIR": temporary_cache().name}
    env = own | os.environ
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", env=env)
    except OSError as error:
        what = f"the C compiler {command[0]!r} could not be run: {error}"
        raise CompilerNotFound(what) from error


def run_compiler(*arguments):
    """Run the compiler with these arguments, without a shell.

    CompilationFailed, with its message, where it fails; CompilerNotFound where it cannot be run.
    """
    command = [*compiler_command(), *map(str, arguments)]
    done = run(command)
    if done.returncode != 0:
        what = f"{shlex.join(command)} failed with status {done.returncode}:\n{done.stderr}"
        raise CompilationFailed(what)


def library_options() -> tuple[list[str], list[str]]:
    """Return the options for a shared library that stand before and after its source.

    On Windows all code can be moved and the mathematical functions are always there; clang refuses
    -fPIC for it.
    """
    windows = "win32" in target_of(*find_compiler())
    return (["-shared"], []) if windows else (["-shared", "-fPIC"], ["-lm"])


def with_exports(source: str) -> str:
    """Return C source whose functions and variables a shared library exports.

    Only Windows asks for a word. It is put in front of each line that begins a declaration, but for
    static ones and types.
    """
    if "win32" not in target_of(*find_compiler()):
        return source
    begins = r"^(?!static\b|typedef\b|enum\b|union\b)(?=[a-z]\w*[ *])"
    return re.sub(begins, "__declspec(dllexport) ", source, flags=re.MULTILINE)


@cache
def load_library(source: str) -> ctypes.CDLL:
    """Compile C source to a shared library, and load it. The same source is compiled only once.

    Python never unloads a library: some 20 KB for each source. The files are in a private folder,
    which is removed: a loaded library needs none. CompilerNotFound or CompilationFailed where that
    is not possible; OSError where the disk is full, as another compiler would not help.
    """
    before, after = library_options()
    try:
        with TemporaryDirectory(prefix="d2lhybrid-", ignore_cleanup_errors=True) as folder:
            code, library = Path(folder, "forward.c"), Path(folder, "forward.so")
            code.write_text(with_exports(source), encoding="utf-8")
            run_compiler(*before, "-o", library, code, *after)
            return ctypes.CDLL(str(library))
    except (OSError, CompilationFailed) as error:
        if "No space left" in str(error):  # so say Python and compilers
            what = f"make room in {gettempdir()}, or set the variable TMPDIR to another folder"
            raise OSError(f"No space left on device: {what}") from error
        if isinstance(error, CompilationFailed):
            raise
        raise CompilationFailed(
            f"{error}. Does the variable CC name a C compiler for this machine? Can files be "
            "written to the folder for temporary files, and can programs run from there? If not, "
            "set the variable TMPDIR to another folder"
        ) from error


def load_function(source: str, name: str) -> Callable:
    """Compile C source, and return its function `name`. Errors as those of `load_library`."""
    return getattr(load_library(source), name)


def addresses_of(tensors):
    """Return a C array with the addresses of the tensors' numbers."""
    return (ctypes.c_void_p * len(tensors))(*[tensor.data_ptr() for tensor in tensors])
