"""Which notebooks are checked, and how a cell that fails is reported."""

import json
import os
import re
import shutil
import subprocess
import sys

import nbformat
import pytest
from checkout import copy_course, load_course
from notebook_rules import ROOT, code_cells, load

import conftest
from tools import checking, manifest

OWN = sorted(path.name for path in manifest.notebooks())
SHORT = [name for name in OWN if name[:2] in ("01", "02")]  # two that run in a few seconds


@pytest.fixture
def crowded(copy):
    """A copy whose notebooks stand among others that JupyterLab made."""
    for name in ("01_imperative_programs-Copy1", "Untitled", "01_imperative_programs-checkpoint"):
        shutil.copy(copy / "notebooks" / "04_torchscript.ipynb", copy / f"notebooks/{name}.ipynb")
    return copy


def test_notebooks_that_jupyterlab_makes_do_not_belong_to_the_course(crowded, monkeypatch, capsys):
    course, commands = load_course(crowded), []
    monkeypatch.setattr(course.environment, "set_up", lambda: None)
    monkeypatch.setattr(course.environment, "add_frameworks", lambda names: None)
    monkeypatch.setattr(course.reading, "kernel_metadata", dict)
    monkeypatch.setattr(course.teaching, "answers", bool)
    monkeypatch.setattr(subprocess, "call", lambda c, **k: commands.append([*map(str, c)]))
    for command in ("read", "slides", "refresh", "handout"):
        course.main(command)
    found = [[os.path.basename(word) for word in c if word.endswith(".ipynb")] for c in commands]
    assert found == [OWN[:1], OWN, OWN]
    for folder in (course.files.WORK, course.files.HANDOUT):
        assert sorted(path.name for path in folder.glob("*.ipynb")) == OWN
    capsys.readouterr()
    course.authoring.address("ada/course")
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


def write_notebook(path, *printed):
    """A notebook that prints its cells' numbers, and a page that says `printed`."""
    cells = [
        nbformat.v4.new_code_cell(
            f"print({number})",
            outputs=[nbformat.v4.new_output("stream", text=text)],
            execution_count=number,
        )
        for number, text in enumerate(printed, 1)
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)


def copy_to_check(folder, *printed):
    """A course in a folder, which can be checked; two of its notebooks are those of `printed`."""
    copy_course(folder)
    for name in ("tests", "temporary"):
        (folder / name).mkdir()
    for file in ("conftest.py", "tests/sanitize.cfg"):
        shutil.copy(ROOT / file, folder / file)
    for name, lines in zip(SHORT, printed, strict=True):
        write_notebook(folder / "notebooks" / name, *lines)
    return folder


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """What two processes say of two notebooks, when the page of the first is wrong."""
    folder = copy_to_check(tmp_path_factory.mktemp("course"), ["1\n", "wrong\n"], ["1\n", "2\n"])
    command = [sys.executable, "-m", "pytest", "--color=no", "-v", "--numprocesses=2"]
    command += [f"notebooks/{name}" for name in SHORT]
    env = {**os.environ, "TMPDIR": str(folder / "temporary")}
    said = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True).stdout
    # pytest keeps a temporary folder of its own; the kernels' must be gone.
    assert list((folder / "temporary").glob("ipython-*")) == []
    return said


def test_a_cell_is_reported_by_its_number_in_jupyterlab_and_with_both_outputs(report):
    assert f"\nFAILED notebooks/{SHORT[0]}::Cell 2 - " in report
    assert "Cell 2: Cell outputs differ" in report
    assert "The page says (stdout):\n    wrong\n" in report
    assert "This machine says (stdout):\n    2\n" in report
    name = SHORT[0].removesuffix(".ipynb")
    assert report.splitlines()[-1] == f"not ready: {name} (Cell 2)"
    assert re.match(r"slowest: 0\d_\w+ \d+ s, 0\d_\w+ \d+ s$", report.splitlines()[-2])


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
    assert checking.verdict(status, failed, arguments, {}) == line


def test_the_line_before_it_says_where_the_time_went():
    took = [("notebooks/08_a.ipynb::Cell 1", 30.2), ("notebooks/08_a.ipynb::Cell 2", 30.4)]
    took += [(f"tests/b/test_{n}.py::test_it", n) for n in range(6)]
    said = "slowest: 08_a 61 s, test_5.py 5 s, test_4.py 4 s, test_3.py 3 s, test_2.py 2 s"
    assert checking.slowest(took) == said


def test_the_last_line_names_what_was_left_out():
    left_out = {"12_b": "Skipped: b is not installed", "10_a": "Skipped: a is not installed"}
    but = "but for 10_a (a is not installed); 12_b (b is not installed)"
    assert checking.verdict(0, [], [], left_out) == f"ready, {but}"
    assert checking.verdict(0, [], ["-x"], left_out) == f"ready, as far as was asked, {but}"
    assert checking.verdict(1, ["tests/test_a.py::test_b"], [], left_out).startswith("not ready")


def course_with_a_need(folder, need):
    """A course whose notebook 02 needs something; its page is wrong, as that of 01."""
    copy_to_check(folder, ["2\n"], ["2\n"])
    manifest = (folder / "course.toml").read_text(encoding="utf-8")
    place = manifest.index("needs = []", manifest.index(f'"{SHORT[1][:-6]}"'))
    manifest = f'{manifest[:place]}needs = ["none"]{manifest[place + 10 :]}'
    manifest = manifest.replace("[needs.c]", f"[needs.none]\n{need}\n\n[needs.c]")
    (folder / "course.toml").write_text(manifest, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def lacking(tmp_path_factory):
    """A course whose notebook 02 needs a framework that nobody has; the page of 01 is right."""
    folder = course_with_a_need(tmp_path_factory.mktemp("course"), 'frameworks = ["no_such"]')
    write_notebook(folder / "notebooks" / SHORT[0], "1\n")
    return folder


def checked(folder, *arguments, **environment):
    """The lines that a check prints."""
    command = [sys.executable, "-m", "pytest", "--color=no", "-n0", *arguments]
    env = {k: v for k, v in os.environ.items() if k != "D2LHYBRID_NO_SKIPS"} | environment
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
    assert re.search(r"\d+ passed, \d+ skipped", said[-3])


def test_where_nothing_may_be_left_out_it_is_run(lacking):
    option = "--nbval-kernel-name=no_such_kernel"
    said = checked(lacking, f"notebooks/{SHORT[1]}", option, D2LHYBRID_NO_SKIPS="1")
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
    monkeypatch.setattr(manifest, "course", lambda: {"needs": NEEDS})
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/this" if name == "this" else None)
    found = conftest.missing_for_comparing({"needs": needs})
    assert found.startswith(missing) if missing else found == ""


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    """A course with two wrong pages; notebook 02 is compared only where there is what none has."""
    return course_with_a_need(tmp_path_factory.mktemp("course"), 'compared_with = ["no_such"]')


BUT = "but for 02_symbolic_programs (run, but not compared: no_such is not installed)"


@pytest.mark.parametrize("processes", ["-n0", "-n1"])  # in this one, in one of pytest-xdist
def test_the_last_line_names_what_was_run_and_not_compared(wrong, processes):
    said = checked(wrong, processes, f"notebooks/{SHORT[1]}")
    assert said[-1] == f"ready, as far as was asked, {BUT}"
    assert "1 passed" in said[-3]


def test_the_others_are_compared(wrong):
    said = checked(wrong, *(f"notebooks/{name}" for name in SHORT))
    assert said[-1] == "not ready: 01_imperative_programs (Cell 1)"


def test_where_nothing_may_be_left_out_it_is_compared(wrong):
    said = checked(wrong, f"notebooks/{SHORT[1]}", D2LHYBRID_NO_SKIPS="1")
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
    assert "1 passed" in checked(lacking, f"notebooks/{path.name}")[-3]


def test_each_notebook_stays_with_one_process(report):
    found = re.findall(r"^\[(gw\d)\].* (?:PASSED|FAILED) notebooks/(\d\d)", report, re.MULTILINE)
    assert len(found) == 4
    assert sorted(set(found)) in ([("gw0", "01"), ("gw1", "02")], [("gw0", "02"), ("gw1", "01")])
