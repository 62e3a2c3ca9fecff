"""What this machine has of what the course needs. Notebook 00 shows it."""

import os
import platform
import subprocess
import sysconfig
from importlib.util import find_spec

from .course_data import course_data, notebooks_of
from .toolchain import CompilerNotFound, load_library

OURS = "python3 course.py read (on Colab, run the first cell)"
CPP = {"Darwin": "xcode-select --install", "Windows": "winget install LLVM.LLVM, or use Colab"}


def what_is_here() -> None:
    """Print which of the course's requirements this machine has, and how to get the rest.

    There is a line for each, with the numbers of the notebooks that need it; if it is missing, the
    line below says what to type.
    """
    rows = [(name, find_spec(name), OURS) for name in ("torch", "matplotlib")]
    data, system = course_data(), platform.system()
    for need, about in data["needs"].items():
        numbers = [one["name"][:2] for one in notebooks_of(data) if need in one["needs"]]
        what = f"{about['name']['en']}, for {', '.join(numbers)}"
        if names := about.get("packages"):
            pip = f"in a cell: %pip install {' '.join(names)}"
            rows.append((what, all(map(find_spec, names)), pip))
        elif names := about.get("frameworks"):
            rows.append((what, find_spec(*names), f"python3 course.py frameworks {names[0]}"))
        elif need == "c":
            rows.append((what, _has_c(), "in a cell: %pip install ziglang"))
        elif need == "cxx":
            cure = CPP.get(system, "apt install g++ python3-dev")
            rows.append((what, _has_cxx("g++") or _has_cxx("clang++"), cure))
    print(f"this machine: Python {platform.python_version()}, {system} on {platform.machine()}")
    for what, there, cure in rows:
        print("this machine:", f"has {what}" if there else f"lacks {what}\n  {cure}")


def _has_c():
    try:
        return bool(load_library("int one(void) { return 1; }\n"))
    except CompilerNotFound:
        return False


def _has_cxx(command):
    """Return whether a C++ compiler runs, and finds Python.h, as torch.compile wants it to."""
    options = ["-x", "c++", "-fsyntax-only", f"-I{sysconfig.get_path('include')}", "-"]
    command, lines = os.environ.get("CXX", command), b"#include <map>\n#include <Python.h>\n"
    try:
        return not subprocess.run([command, *options], input=lines, capture_output=True).returncode
    except OSError:  # there is no such program
        return False
