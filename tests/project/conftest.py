"""What the tests of the project share."""

import sys

import pytest
from checkout import copy_course, forget_course


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """The files that course.py reads or writes, in a folder of their own."""
    monkeypatch.delenv("D2LHYBRID_VENV", raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    ours = forget_course()
    yield copy_course(tmp_path)
    forget_course()
    sys.modules.update(ours)
