"""Ruff, with the settings in pyproject.toml."""

import subprocess
import sys

import pytest
from notebook_rules import ROOT


@pytest.mark.parametrize("options", [["check", "--output-format=concise"], ["format", "--check"]])
def test_ruff_finds_nothing(options):
    command = [sys.executable, "-m", "ruff", *options, "--no-cache", "."]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
