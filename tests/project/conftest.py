"""What the tests of the project share."""

import pytest
from notebook_rules import ROOT

import course


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """The files that course.py reads or writes, in a folder of their own."""
    monkeypatch.delenv("D2LHYBRID_VENV", raising=False)
    (tmp_path / "notebooks").mkdir()
    others = [ROOT / name for name in ("course.py", "course.toml", "requirements.txt")]
    for path in [*others, *course.files_with_address()]:
        (tmp_path / path.relative_to(ROOT)).write_bytes(path.read_bytes())
    return tmp_path
