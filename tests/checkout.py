"""A checkout of the course, as the tests of its commands need it."""

import importlib.util
import shutil

from notebook_rules import ROOT

import course


def load_course(folder):
    """The module course.py of a folder, which then is its ROOT."""
    spec = importlib.util.spec_from_file_location("course_under_test", folder / "course.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def files_in(folder):
    """From each file in a folder to its bytes."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def copy_course(folder):
    """Copy the files that course.py reads or writes to a folder, and return it."""
    (folder / "notebooks").mkdir()
    names = ["course.py", "course.toml", "requirements.txt", "requirements-frameworks.txt"]
    others = [ROOT / name for name in names]
    for path in [*others, *course.files_with_address()]:
        (folder / path.relative_to(ROOT)).write_bytes(path.read_bytes())
    shutil.copytree(ROOT / "templates", folder / "templates")
    return folder
