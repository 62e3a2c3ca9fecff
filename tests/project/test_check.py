"""Which notebooks are checked, how a cell that fails is reported, and what the last line says."""

import os
import re
import shutil
import subprocess
import sys
import time

import nbformat
import pytest
from checkout import copy_course
from notebook_rules import ROOT

import conftest
from tools import checking, manifest

OWN = sorted(path.name for path in manifest.notebooks())


@pytest.mark.parametrize(
    ("named", "run"), [("notebooks", OWN), ("notebooks/Untitled.ipynb", ["Untitled.ipynb"])]
)
def test_only_the_courses_notebooks_are_run_or_those_named(copy, named, run):
    for name in ("01_imperative_programs-Copy1", "Untitled"):
        shutil.copy(copy / "notebooks" / "05_torchscript.ipynb", copy / f"notebooks/{name}.ipynb")
    shutil.copy(ROOT / "conftest.py", copy)
    collected = "\n".join(pytest_in(copy, "-q", "--collect-only", named))
    assert sorted(set(re.findall(r"^notebooks/(.*)::", collected, re.MULTILINE))) == run


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


PAGES = {  # what the pages of five short notebooks say that their cells print: "1", "2", ...
    "right": ["1\n", "2\n"],
    "wrong": ["1\n", "wrong\n"],
    "left out": ["1\n"],
    "not compared": ["wrong\n"],
    "broken": ["1\n"],
}
# C prints to the terminal, unless the kernel catches it; that takes a moment.
FROM_C = r"import os, time\nos.write(1, b'1\\n') and time.sleep(0.3)"
NAMES = dict(zip(PAGES, OWN, strict=False))  # PAGES' keys -> files of the course
TITLES = {key: name.removesuffix(".ipynb") for key, name in NAMES.items()}
LEFT_OUT = f"{TITLES['left out']} (no_such is not installed)"
NOT_COMPARED = f"{TITLES['not compared']} (run, but not compared: no_such is not installed)"


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """A course that can be checked, whose first five notebooks are those of PAGES.

    One needs a framework that nobody has. Two are compared only where there is what none has; in
    the second of them a cell fails.
    """
    folder = tmp_path_factory.mktemp("course")
    copy_course(folder)
    (folder / "tests").mkdir()
    (folder / "tests/test_absent.py").write_text("import pytest\npytest.importorskip('no_such')\n")
    for file in ("conftest.py", "tests/sanitize.cfg"):
        shutil.copy(ROOT / file, folder / file)
    for key, name in NAMES.items():
        write_notebook(folder / "notebooks" / name, *PAGES[key])
    replace(folder / "notebooks" / NAMES["right"], "print(1)", FROM_C)
    replace(folder / "notebooks" / NAMES["broken"], "print(1)", "1 / 0")
    lists = '[needs.none]\nframeworks = ["no_such"]\n[needs.all]\ncompared_with = ["no_such"]\n'
    replace(folder / "course.toml", "[needs.c]", f"{lists}\n[needs.c]")
    for key, need in {"left out": "none", "not compared": "all", "broken": "all"}.items():
        entry = f'name = "{TITLES[key]}"'
        replace(folder / "course.toml", rf"({entry}(\n.*)*?\nneeds = ).*", rf'\1["{need}"]', re.sub)
    return folder


def replace(path, old, new, by=lambda old, new, text: text.replace(old, new)):
    """Write another text in place of one in a file, or of all that a function `by` finds."""
    text = path.read_text(encoding="utf-8")
    changed = by(old, new, text)
    assert changed != text
    path.write_text(changed, encoding="utf-8")


def pytest_in(folder, *arguments, **environment):
    """What pytest prints in a folder, its lines."""
    command = [sys.executable, "-m", "pytest", "--color=no", *arguments]
    env = {k: v for k, v in os.environ.items() if k != "D2LHYBRID_NO_SKIPS"} | environment
    (folder / "temporary").mkdir(exist_ok=True)
    env["TMPDIR"] = str(folder / "temporary")
    said = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True).stdout
    # pytest keeps a temporary folder of its own; the kernels' must be gone.
    assert list((folder / "temporary").glob("ipython-*")) == []
    return said.splitlines()


def checked(folder, keys, *arguments, **environment):
    """What a check of these notebooks prints, its lines."""
    named = [f"notebooks/{NAMES[key]}" for key in keys]
    return pytest_in(folder, *arguments, *named, **environment)


@pytest.fixture(scope="module")
def report(short):
    """What is said of two notebooks that fail."""
    return "\n".join(checked(short, ["wrong", "broken"], "-n0"))


@pytest.fixture(scope="module")
def ready(short):
    """What two processes say of three notebooks that don't, and of tests that can't run here."""
    keys = "right", "left out", "not compared"
    return "\n".join(checked(short, keys, "-v", "-n2", "tests/test_absent.py"))


def test_failed_cell_is_reported_by_its_number_in_jupyterlab_and_with_both_outputs(report):
    assert f"\nFAILED notebooks/{NAMES['wrong']}::Cell 2 - " in report
    assert "The page says (stdout):\n    wrong\n" in report
    assert "This machine says (stdout):\n    2\n" in report


def test_cell_that_raises_fails_although_nothing_is_compared(report):
    failed = f"notebooks/{NAMES['wrong']}, notebooks/{NAMES['broken']}"
    assert report.splitlines()[-1] == f"not ready: {failed}"
    assert "2 failed, 1 passed" in report.splitlines()[-2]


def test_each_notebook_stays_with_one_process(ready):
    found = set(re.findall(r"^\[(gw\d)\].* [A-Z]+ notebooks/(\d\d)", ready, re.MULTILINE))
    assert len(found) == 3
    assert {process for process, _ in found} == {"gw0", "gw1"}


def test_last_line_names_what_was_left_out_and_what_was_not_compared(ready):
    line = ready.splitlines()[-1]
    assert line == f"ready, as far as was asked, but for {LEFT_OUT}; {NOT_COMPARED}"


def test_nothing_is_left_out_where_nothing_may_be(short):
    said = checked(short, ["left out", "not compared"], "-n0", D2LHYBRID_NO_SKIPS="1")
    assert said[-1] == f"not ready: notebooks/{NAMES['not compared']}"
    assert "1 failed, 1 passed" in said[-2]


def test_dead_kernel_is_noticed_at_once(short):
    own = short / "notebooks/own.ipynb"
    write_notebook(own, "1\n", "2\n")
    replace(own, "print(2)", "import os\\nos._exit(1)")
    started = time.monotonic()
    said = pytest_in(short, "-n0", "notebooks/own.ipynb")
    failed = [line.split(" - ")[0] for line in said if line.startswith("FAILED")]
    assert failed == ["FAILED notebooks/own.ipynb::Cell 2"]
    assert "pytest plugin exception: the kernel died in this cell" in said
    assert time.monotonic() - started < 60


def test_notebooks_get_a_home_where_there_is_none_to_write_to(short):
    own = short / "notebooks/own.ipynb"
    write_notebook(own, "1\n")
    replace(own, "print(1)", "from pathlib import Path\\nprint(int(Path.home().exists()))")
    assert pytest_in(short, "-n0", "notebooks/own.ipynb", HOME="/dev/null/home")[-1].startswith(
        "ready"
    )


FAILED = [
    "notebooks/05_t.ipynb::Cell 7",
    "tests/test_a.py::test_b[1]",
    "notebooks/05_t.ipynb::Cell 9",
]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((0, [], [], []), "ready"),
        ((0, [], ["-k", "name"], []), "ready, as far as was asked"),
        ((0, [], [], ["12_b (why)", "10_a (why)"]), "ready, but for 10_a (why); 12_b (why)"),
        ((1, FAILED, ["tests"], ["10_a"]), "not ready: notebooks/05_t.ipynb, tests/test_a.py"),
        ((2, [], [], []), "not ready: see above"),
    ],
)
def test_last_line_says_whether_the_course_is_ready(arguments, line):
    assert checking.last_line(*arguments) == line


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
        (["here", "package"], "no_package is not installed"),
        (["not here", "package", "command"], "no_such, nor_this, no_package, no-command are not "),
        (["command"], ""),  # of such a notebook all outputs are compared
    ],
)
def test_notebook_is_not_compared_where_what_it_shows_is_missing(monkeypatch, needs, missing):
    monkeypatch.setattr(manifest, "course", lambda: {"needs": NEEDS})
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/this" if name == "this" else None)
    found = conftest.missing_for_comparing({"needs": needs})
    assert found.startswith(missing) if missing else found == ""
