"""What the tests of the project share."""

import sys

import pytest
from checkout import copy_course, forget_course, load_course


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """The files that course.py reads or writes, in a folder of their own."""
    monkeypatch.delenv("D2LHYBRID_VENV", raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    ours = forget_course()
    yield copy_course(tmp_path)
    forget_course()
    sys.modules.update(ours)


@pytest.fixture
def course(copy, monkeypatch):
    """The course in a copy, where all seems installed.

    `commands` lists what it would start, each of which ends with `status`, and `asked` the
    frameworks that it would install.
    """
    course = load_course(copy)
    course.commands, course.asked, course.status = [], [], 0

    def run(command, **options):
        course.commands.append([*map(str, command)])
        return course.status

    monkeypatch.setattr(course.environment, "set_up", lambda: None)
    monkeypatch.setattr(course.environment, "for_pages", lambda: sys.executable)
    monkeypatch.setattr(course.environment, "add_frameworks", course.asked.extend)
    monkeypatch.setattr(course.environment, "run", run)
    monkeypatch.chdir(copy)
    return course
