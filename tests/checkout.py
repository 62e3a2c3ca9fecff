"""A checkout of the course, as the tests of its commands need it."""

import importlib
import shutil
import sys

from notebook_rules import NOTEBOOKS, ROOT


def load_course(folder):
    """The module course.py of a folder, with the folder's own `tools` as attributes."""
    forget_course()
    sys.path.insert(0, str(folder))
    try:
        course = importlib.import_module("course")
        for path in (folder / "tools").glob("[!_]*.py"):
            setattr(course, path.stem, importlib.import_module(f"tools.{path.stem}"))
    finally:
        sys.path.remove(str(folder))
    return course


def forget_course():
    """Take course.py and `tools` from the modules that are loaded, and return them."""
    importlib.invalidate_caches()
    ours = [name for name in sys.modules if name.split(".")[0] in ("course", "tools", "grading")]
    return {name: sys.modules.pop(name) for name in ours}


def files_in(folder):
    """From each file in a folder to its bytes; not the bytecode that Python leaves there."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return {path: path.read_bytes() for path in files}


def copy_course(folder):
    """Copy the files that course.py reads or writes to a folder, and return it."""
    (folder / "notebooks").mkdir()
    names = ["course.py", "course.toml", "pyproject.toml", "CITATION.cff"]
    names += ["requirements.txt", "requirements-frameworks.txt", "requirements-site.txt"]
    for path in [*(ROOT / name for name in names), *ROOT.glob("*.md"), *NOTEBOOKS]:
        shutil.copyfile(path, folder / path.relative_to(ROOT))
    for name in ("templates", "tools", "grading", "translations"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder
