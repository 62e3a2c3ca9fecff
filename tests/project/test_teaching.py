"""What is made for teachers agrees with the notebooks: TEACHING.md, and Start here."""

import importlib.util
import re
import sys
import sysconfig

import pytest
from notebook_rules import NOT_YET, NOTEBOOKS, ROOT, load, printed, prose, text_of

from tools import handouts, manifest

TEACHING = (ROOT / "TEACHING.md").read_text(encoding="utf-8")
START = load(NOTEBOOKS[0])
COURSE = manifest.entries()


def headings(path):
    """The headings of a notebook's sections, as they are written."""
    return re.findall(r"^##+ (.+)$", prose(load(path)), re.MULTILINE)


def notebook(number):
    (path,) = (path for path in NOTEBOOKS if path.name.startswith(number))
    return path


# TEACHING.md


def rows(title):
    """The rows of the table in a section of TEACHING.md, each as a list of cells."""
    section = TEACHING.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line[:2] == "| "]
    return lines[2:]


@pytest.mark.parametrize("title", ["Sessions", "Where answers differ"])
def test_teaching_plan_names_sections_that_exist(title):
    assert rows(title)
    for row in rows(title):
        line = " | ".join(row)
        number = row[0][:2]
        named = re.findall(r"(?<!\*)\*([^*]+)\*", line)
        assert set(named) <= set(headings(notebook(number))), line


def test_each_exercise_is_set_in_one_session():
    planned = {}
    for number, _, in_class, at_home in rows("Sessions"):
        planned[number] = re.findall(r"\b\d\b", f"{in_class}, {at_home}")
    for number, exercises in planned.items():
        count = printed(load(notebook(number))).splitlines().count(NOT_YET)
        assert sorted(exercises) == [str(n + 1) for n in range(count)], number
    assert sorted(planned) == [path.name[:2] for path in NOTEBOOKS[1:]]


def test_teaching_plan_names_the_reveal_of_the_decks():
    assert f"npm install --no-save {handouts.REVEAL}`" in TEACHING


# Start here


def numbers(words):
    """The numbers in words such as `03, 08 and 10 to 12`."""
    found = set()
    for first, last in re.findall(r"(\d\d)(?: to (\d\d))?", words):
        found |= {f"{n:02}" for n in range(int(first), int(last or first) + 1)}
    return found


def needing(need):
    return {entry["name"][:2] for entry in COURSE if need in entry["needs"]}


def test_start_here_says_what_each_notebook_needs():
    text = prose(START)
    (own,) = re.findall(r"Notebooks ([\d, to and]+) need only what", text)
    assert numbers(own) == {e["name"][:2] for e in COURSE[1:] if not e["needs"]}
    (numba, onnx, cxx, c) = re.search(
        r"Numba is for (\d\d), .+? are for ([\d, and]+)\. .+ C\+\+ in ([\d and,]+), "
        r"one for C in ([\d, to and]+)\.",
        text,
    ).groups()
    assert numbers(numba) == needing("numba")
    assert numbers(onnx) == needing("onnx") | needing("others")
    assert numbers(cxx) == needing("cxx")
    assert numbers(c) >= needing("c")


def test_core_and_further_are_what_start_here_says():
    (core,) = re.findall(r"the core: ([\d, to and]+) \|", prose(START))
    assert numbers(core) == {e["name"][:2] for e in COURSE[1:] if not e.get("further")}


def machine_cells():
    """The code cells of the section that looks at the machine."""
    cells, inside = [], False
    for cell in START["cells"]:
        if text_of(cell).startswith("## "):
            inside = text_of(cell).startswith("## What does this machine have?")
        elif inside and cell["cell_type"] == "code":
            cells.append(cell)
    return cells


def test_bare_machine_is_told_what_it_lacks(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)  # the import fails
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(sysconfig, "get_path", lambda name: "nowhere")
    for name in ("PATH", "CC", "CXX"):
        monkeypatch.setenv(name, "nowhere")
    names = {"sys": sys}
    for cell in machine_cells():
        exec(text_of(cell), names)
    said = capsys.readouterr().out.splitlines()
    stored = printed({"cells": machine_cells()}).splitlines()
    assert len(said) == len(stored) > 10  # masked, the lines are equal; so must be their number
    assert all(line.startswith("this machine: ") for line in said)
    assert sum(line.startswith("this machine: lacks ") for line in said) == len(said) - 2
    assert max(map(len, said)) <= 88
