"""Which notebooks are checked, and how a cell that fails is reported."""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap

import nbformat
import pytest
from checkout import copy_course, load_course
from notebook_rules import ROOT, code_cells, load

import conftest
import course

OWN = sorted(path.name for path in course.course_notebooks())
SHORT = [name for name in OWN if name[:2] in ("01", "02")]  # two that run in a few seconds


@pytest.fixture
def crowded(copy):
    """A copy whose notebooks stand among others that JupyterLab made."""
    for name in ("01_imperative_programs-Copy1", "Untitled", "01_imperative_programs-checkpoint"):
        shutil.copy(copy / "notebooks" / "04_torchscript.ipynb", copy / f"notebooks/{name}.ipynb")
    return copy


def test_notebooks_that_jupyterlab_makes_do_not_belong_to_the_course(crowded, monkeypatch, capsys):
    course, commands = load_course(crowded), []
    monkeypatch.setattr(course, "set_up", lambda: None)
    monkeypatch.setattr(course, "add_frameworks", lambda names: None)
    monkeypatch.setattr(course, "kernel_metadata", dict)
    monkeypatch.setattr(course, "answers", bool)
    monkeypatch.setattr(subprocess, "call", lambda c, **k: commands.append([*map(str, c)]))
    for command in ("read", "slides", "refresh", "handout"):
        course.main(command)
    found = [[os.path.basename(word) for word in c if word.endswith(".ipynb")] for c in commands]
    assert found == [OWN[:1], OWN, OWN]
    for folder in (course.WORK, course.HANDOUT):
        assert sorted(path.name for path in folder.glob("*.ipynb")) == OWN
    capsys.readouterr()
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


def first_printed(notebook):
    """The number of the first cell that only prints, and its output."""
    for number, cell in enumerate(code_cells(notebook), 1):
        if [output["output_type"] for output in cell["outputs"]] == ["stream"]:
            return number, cell["outputs"][0]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """What two processes say of two short notebooks, when the page of the first is wrong."""
    folder = copy_course(tmp_path_factory.mktemp("course"))
    for name in ("tests", "temporary"):
        (folder / name).mkdir()
    for file in ("conftest.py", "tests/sanitize.cfg"):
        shutil.copy(ROOT / file, folder / file)
    path = folder / "notebooks" / SHORT[0]
    notebook = load(path)
    first_printed(notebook)[1]["text"] = ["wrong\n"]
    path.write_text(json.dumps(notebook), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "--color=no", "-v", "--numprocesses=2"]
    command += [f"notebooks/{name}" for name in SHORT]
    env = {**os.environ, "TMPDIR": str(folder / "temporary")}
    said = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True).stdout
    # pytest keeps a temporary folder of its own; the kernels' must be gone.
    assert list((folder / "temporary").glob("ipython-*")) == []
    return said


def test_a_cell_is_reported_by_its_number_in_jupyterlab_and_with_both_outputs(report):
    number, output = first_printed(load(ROOT / "notebooks" / SHORT[0]))
    right = textwrap.indent("".join(output["text"]), "    ")
    assert f"\nFAILED notebooks/{SHORT[0]}::Cell {number} - " in report
    assert f"Cell {number}: Cell outputs differ" in report
    assert "The page says (stdout):\n    wrong\n" in report
    assert f"This machine says (stdout):\n{right}" in report
    name = SHORT[0].removesuffix(".ipynb")
    assert report.splitlines()[-1].startswith(f"not ready: {name} (Cell {number})")


VERDICTS = [
    (0, [], [], "ready"),
    (0, [], ["-k", "name"], "ready, as far as was asked"),
    (1, ["notebooks/04_torchscript.ipynb::Cell 7"], [], "not ready: 04_torchscript (Cell 7)"),
    (
        1,
        [
            "notebooks/04_torchscript.ipynb::Cell 7",
            "tests/test_a.py::test_b[1-2]",
            "notebooks/04_torchscript.ipynb::Cell 9",
            "notebooks/04_torchscript.ipynb::Cell 10",
        ],
        ["notebooks"],
        "not ready: 04_torchscript (Cell 7 and 2 more); test_a.py (test_b[1-2])",
    ),
    (
        1,
        ["tests/test_notebooks.py::test_keeps[02_symbolic_programs-is_small]"],
        [],
        "not ready: 02_symbolic_programs (is_small)",
    ),
    (2, ["tests/test_broken.py"], [], "not ready: test_broken.py"),
    (2, [], [], "not ready: see above"),
    (5, [], [], "not ready: see above"),
]


@pytest.mark.parametrize(("status", "failed", "arguments", "line"), VERDICTS)
def test_the_last_line_says_whether_the_course_is_ready(status, failed, arguments, line):
    assert conftest.verdict(status, failed, arguments, {}) == line


def test_the_last_line_names_what_was_left_out():
    left_out = {"12_b": "Skipped: b is not installed", "10_a": "Skipped: a is not installed"}
    but = "but for 10_a (a is not installed); 12_b (b is not installed)"
    assert conftest.verdict(0, [], [], left_out) == f"ready, {but}"
    assert conftest.verdict(0, [], ["-x"], left_out) == f"ready, as far as was asked, {but}"
    assert conftest.verdict(1, ["tests/test_a.py::test_b"], [], left_out).startswith("not ready")


def course_with_a_need(folder, need):
    """A course whose notebook 02 needs something, and the tests' files in its folder."""
    copy_course(folder)
    (folder / "tests").mkdir()
    for file in ("conftest.py", "tests/sanitize.cfg"):
        shutil.copy(ROOT / file, folder / file)
    manifest = (folder / "course.toml").read_text(encoding="utf-8")
    place = manifest.index("needs = []", manifest.index(f'"{SHORT[1][:-6]}"'))
    manifest = f'{manifest[:place]}needs = ["none"]{manifest[place + 10 :]}'
    manifest = manifest.replace("[needs.c]", f"[needs.none]\n{need}\n\n[needs.c]")
    (folder / "course.toml").write_text(manifest, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def lacking(tmp_path_factory):
    """A course whose notebook 02 needs a framework that nobody has."""
    return course_with_a_need(tmp_path_factory.mktemp("course"), 'frameworks = ["no_such"]')


def checked(folder, *arguments, **environment):
    """The lines that a check prints."""
    command = [sys.executable, "-m", "pytest", "--color=no", "-n0", *arguments]
    env = {k: v for k, v in os.environ.items() if k != "D2LHYBRID_COMPLETE"} | environment
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True
    ).stdout.splitlines()


def test_a_notebook_without_its_framework_is_left_out_and_no_kernel_is_started(lacking):
    said = checked(lacking, f"notebooks/{SHORT[1]}", "--nbval-kernel-name=no_such_kernel")
    name = SHORT[1].removesuffix(".ipynb")
    assert said[-1] == f"ready, as far as was asked, but for {name} (no_such is not installed)"
    assert not any("passed" in line or "failed" in line for line in said)


def test_with_several_processes_the_other_notebooks_are_checked(lacking):
    said = checked(lacking, "--numprocesses=2", *(f"notebooks/{name}" for name in SHORT))
    assert said[-1].endswith("but for 02_symbolic_programs (no_such is not installed)")
    assert re.search(r"\d+ passed, \d+ skipped", said[-2])


def test_where_nothing_may_be_left_out_it_is_run(lacking):
    option = "--nbval-kernel-name=no_such_kernel"
    said = checked(lacking, f"notebooks/{SHORT[1]}", option, D2LHYBRID_COMPLETE="1")
    assert said[-1].startswith(f"not ready: {SHORT[1].removesuffix('.ipynb')}")


NEEDS = {
    "here": {"compared_with": ["json"], "packages": ["wave"], "commands": ["this"]},
    "not here": {"compared_with": ["json", "no_such", "nor_this"]},
    "package": {"packages": ["no_package"]},
    "command": {"commands": ["no-command"]},
}


@pytest.mark.parametrize(
    ("needs", "missing"),
    [
        (["here"], ""),
        (["not here"], "no_such, nor_this are not installed"),
        (["here", "package"], "no_package is not installed"),
        (["command", "here"], "no-command is not installed"),
        (["not here", "package", "command"], "no_such, nor_this, no_package, no-command are not "),
        (["package", "command"], "no_package is not installed"),
        (["command"], ""),  # of such a notebook all outputs are compared
    ],
)
def test_a_notebook_is_not_compared_where_what_it_shows_is_missing(monkeypatch, needs, missing):
    monkeypatch.setattr(course, "manifest", lambda: {"needs": NEEDS})
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/this" if name == "this" else None)
    found = conftest.missing_for_comparing({"needs": needs})
    assert found.startswith(missing) if missing else found == ""


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    """A course with two wrong pages; notebook 02 is compared only where there is what none has."""
    folder = course_with_a_need(tmp_path_factory.mktemp("course"), 'compared_with = ["no_such"]')
    printed = nbformat.v4.new_output("stream", text="2")
    cell = nbformat.v4.new_code_cell("print(1)", outputs=[printed], execution_count=1)
    for name in SHORT:
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), folder / "notebooks" / name)
    return folder


BUT = "but for 02_symbolic_programs (run, but not compared: no_such is not installed)"


@pytest.mark.parametrize("processes", ["-n0", "-n1"])  # in this one, in one of pytest-xdist
def test_the_last_line_names_what_was_run_and_not_compared(wrong, processes):
    said = checked(wrong, processes, f"notebooks/{SHORT[1]}")
    assert said[-1] == f"ready, as far as was asked, {BUT}"
    assert "1 passed" in said[-2]


def test_the_others_are_compared(wrong):
    said = checked(wrong, *(f"notebooks/{name}" for name in SHORT))
    assert said[-1] == "not ready: 01_imperative_programs (Cell 1)"


def test_where_nothing_may_be_left_out_it_is_compared(wrong):
    said = checked(wrong, f"notebooks/{SHORT[1]}", D2LHYBRID_COMPLETE="1")
    assert said[-1] == "not ready: 02_symbolic_programs (Cell 1)"


def test_a_cell_that_fails_is_reported_although_nothing_is_compared(wrong):
    path = wrong / "notebooks" / SHORT[1]
    notebook = load(path)
    broken = notebook | {"cells": [code_cells(notebook)[0] | {"source": "1 / 0"}]}
    path.write_text(json.dumps(broken), encoding="utf-8")
    said = checked(wrong, f"notebooks/{SHORT[1]}")
    path.write_text(json.dumps(notebook), encoding="utf-8")
    assert said[-1] == "not ready: 02_symbolic_programs (Cell 1)"


def test_a_kernel_shows_what_c_prints(lacking):
    source = "import os, time\nos.write(1, b'from C') and time.sleep(0.3)"
    printed = nbformat.v4.new_output("stream", text="from C")
    cell = nbformat.v4.new_code_cell(source, outputs=[printed], execution_count=1)
    path = lacking / "notebooks" / "mine.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    assert "1 passed" in checked(lacking, f"notebooks/{path.name}")[-2]


def test_each_notebook_stays_with_one_process(report):
    found = re.findall(r"^\[(gw\d)\].* (?:PASSED|FAILED) notebooks/(\d\d)", report, re.MULTILINE)
    cells = [len(code_cells(load(ROOT / "notebooks" / name))) for name in SHORT]
    assert len(found) == sum(cells)
    assert sorted(set(found)) in ([("gw0", "01"), ("gw1", "02")], [("gw0", "02"), ("gw1", "01")])
