"""Which notebooks are checked, and how a cell that fails is reported."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from checkout import load_course
from notebook_rules import ROOT, code_cells

import course


@pytest.fixture
def crowded(copy):
    """A copy whose notebooks stand among others that JupyterLab made."""
    for name in ("01_imperative_programs-Copy1", "Untitled", "01_imperative_programs-checkpoint"):
        shutil.copy(copy / "notebooks" / "04_torchscript.ipynb", copy / f"notebooks/{name}.ipynb")
    return copy


OWN = sorted(path.name for path in course.course_notebooks())


def test_notebooks_that_jupyterlab_makes_do_not_belong_to_the_course(crowded, monkeypatch, capsys):
    course, commands = load_course(crowded), []
    monkeypatch.setattr(course, "set_up", lambda: None)
    monkeypatch.setattr(subprocess, "call", lambda c, **k: commands.append([*map(str, c)]))
    for command in ("read", "slides", "refresh"):
        course.main(command)
    found = [[os.path.basename(word) for word in c if word.endswith(".ipynb")] for c in commands]
    assert found == [["01_imperative_programs.ipynb"], OWN, OWN]
    course.address("ada/course")
    assert sorted(re.findall(r"notebooks.(.+)", capsys.readouterr().out)) == OWN


@pytest.mark.parametrize(
    ("named", "run"), [("notebooks", OWN), ("notebooks/Untitled.ipynb", ["Untitled.ipynb"])]
)
def test_pytest_runs_the_courses_notebooks_or_those_named(crowded, named, run):
    shutil.copy(ROOT / "conftest.py", crowded)
    (crowded / "temporary").mkdir()
    collected = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", named],
        cwd=crowded,
        env={**os.environ, "TMPDIR": str(crowded / "temporary")},
        capture_output=True,
        text=True,
    ).stdout
    assert sorted(set(re.findall(r"^notebooks/(.*)::", collected, re.MULTILINE))) == run
    assert list((crowded / "temporary").iterdir()) == []


def test_a_cell_is_reported_by_its_number_in_jupyterlab_and_with_both_outputs(copy):
    (copy / "tests").mkdir()
    for file in ("conftest.py", "tests/sanitize.cfg"):
        shutil.copy(ROOT / file, copy / file)
    path = copy / "notebooks" / "01_imperative_programs.ipynb"
    text = path.read_text(encoding="utf-8")
    assert text.count('"24\\n"') == 1
    path.write_text(text.replace('"24\\n"', '"25\\n"'), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "--color=no", path]
    report = subprocess.run(command, cwd=copy, capture_output=True, text=True).stdout
    outputs = {c["execution_count"]: c["outputs"] for c in code_cells(json.loads(text))}
    number = next(n for n, found in outputs.items() if found and found[0].get("text") == ["24\n"])
    assert f"\nFAILED notebooks/01_imperative_programs.ipynb::Cell {number} - " in report
    assert f"Cell {number}: Cell outputs differ" in report
    assert "The page says (stdout):\n    25\n" in report
    assert "This machine says (stdout):\n    24\n" in report
    assert " 1 failed" in report


def test_each_notebook_stays_with_one_process(copy):
    (copy / "tests").mkdir()
    for file in ("conftest.py", "tests/sanitize.cfg"):
        shutil.copy(ROOT / file, copy / file)
    two = [f"notebooks/{name}" for name in OWN[:2]]
    command = [sys.executable, "-m", "pytest", "--color=no", "-v", "--numprocesses=2", *two]
    report = subprocess.run(command, cwd=copy, capture_output=True, text=True).stdout
    found = re.findall(r"^\[(gw\d)\].* PASSED notebooks/(\d\d)", report, re.MULTILINE)
    cells = [len(code_cells(json.loads((copy / path).read_bytes()))) for path in two]
    assert len(found) == sum(cells)
    assert {number for _, number in found} == {"01", "02"}
    assert len(set(found)) == len({process for process, _ in found}) == 2
