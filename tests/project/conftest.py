"""What the tests of the project share."""

import pytest
from checkout import copy_course


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """The files that course.py reads or writes, in a folder of their own."""
    monkeypatch.delenv("D2LHYBRID_VENV", raising=False)
    return copy_course(tmp_path)
