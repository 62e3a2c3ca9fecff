"""What the tests of measuring use."""

import os

import pytest
from benchmark_helpers import Clock


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(autouse=True)
def quiet_machine(monkeypatch):
    """No note about other programs, whatever else runs on this machine."""
    monkeypatch.setattr(os, "getloadavg", lambda: (0.5, 0.5, 0.5), raising=False)
