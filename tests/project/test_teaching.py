"""What is made for teachers agrees with the notebooks: TEACHING.md, GLOSSARY.md, Start here."""

import importlib.util
import re
import sys
import sysconfig
from collections import Counter

import pytest
from nbconvert.filters import markdown2html_mistune
from notebook_rules import (
    NOT_YET,
    NOTEBOOKS,
    ROOT,
    load,
    printed,
    prose,
    text_of,
)

from tools import glossary, manifest

TEACHING = (ROOT / "TEACHING.md").read_text(encoding="utf-8")
GLOSSARY = (ROOT / "GLOSSARY.md").read_text(encoding="utf-8")
START = load(NOTEBOOKS[0])
COURSE = manifest.entries()


def headings(path):
    """The headings of a notebook's sections, as they are written."""
    return re.findall(r"^##+ (.+)$", prose(load(path)), re.MULTILINE)


def notebook(number):
    (path,) = (path for path in NOTEBOOKS if path.name.startswith(number))
    return path


# The glossary


def test_the_glossary_is_made_from_the_notebooks():
    assert glossary.page(glossary.titles()) == GLOSSARY, "run `python3 course.py glossary`"


@pytest.mark.parametrize(
    ("paragraph", "found"),
    [
        ("A **node** is a box.", [("node", "A *node* is a box.")]),
        (
            "One. A **b** or **c** is it.",
            [("b", "A *b* or *c* is it."), ("c", "A *b* or *c* is it.")],
        ),
        ("We cut. That is a **cut**.", [("cut", "We cut. That is a *cut*.")]),
        ("We cut. (Why? See below.) So it is a **cut**.", [("cut", "We cut. So it is a *cut*.")]),
        ("Two. A **d** is new. It is red. It is hot.", [("d", "A *d* is new. It is red.")]),
        ("(It divides. That is a **rate**.) Now.", [("rate", "It divides. That is a *rate*.")]),
        ("**Needs:** Python. **About 20 minutes.**", []),
        ("**1.** How many?", []),
        ("**1. Find the bug.** It runs.", []),
        ("Both are **as good as equal**.", [("as good as equal", "Both are *as good as equal*.")]),
        ("The question is **what all of them need**.", []),
        ("一。这称为**守卫**（guard）。二。", [("守卫（guard）", "一。这称为*守卫*（guard）。")]),
        ("（为什么？）**XLA**编译。它快（A. B）。三。", [("XLA", "*XLA*编译。它快（A. B）。")]),
        ("**它们取决于什么**。**文件**：一。**编译省下的，是Python**", []),
    ],
)
def test_a_term_comes_with_the_sentence_that_explains_it(paragraph, found):
    assert list(glossary.terms(paragraph)) == found


def test_each_term_is_introduced_once():
    found = [term for path in NOTEBOOKS for _, term, _ in glossary.definitions(load(path))]
    times = Counter(map(str.lower, found))
    assert [term for term in times if times[term] > 1] == []


def test_the_glossary_takes_its_terms_from_the_sections():
    texts = ["# Title\n\nA **zero**.", "## First\n\nA **one**.", "## Summary", "A **two**."]
    cells = [{"cell_type": "markdown", "source": text} for text in texts]
    cells.insert(2, {"cell_type": "code", "source": "2 **x** 3"})
    assert list(glossary.definitions({"cells": cells})) == [("First", "one", "A *one*.")]


def test_a_point_of_a_list_explains_a_term_without_its_neighbours():
    text = "## First\n\nTwo:\n\n- One. A **bias** is one.\n- It comes next.\n- **c** is last."
    cells = [{"cell_type": "markdown", "source": text}]
    found = [("First", "bias", "A *bias* is one."), ("First", "c", "*c* is last.")]
    assert list(glossary.definitions({"cells": cells})) == found


def test_links_of_the_glossary_lead_to_headings():
    links = re.findall(r"\[(.+): (.+)\]\(notebooks/(.+)#(.+)\)", GLOSSARY)
    assert len(links) > 40
    for _, _, name, place in links:
        pages = [markdown2html_mistune(f"## {one}") for one in headings(ROOT / "notebooks" / name)]
        assert any(f'id="{place}"' in page for page in pages), f"{name}#{place}"


# TEACHING.md


def test_links_of_the_teaching_plan_lead_somewhere():
    targets = re.findall(r"\]\(([^)\s]+)\)", TEACHING)
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def rows(title):
    """The rows of the table in a section of TEACHING.md, each as a list of cells."""
    section = TEACHING.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line[:2] == "| "]
    return lines[2:]


@pytest.mark.parametrize("title", ["Sessions", "Where answers differ"])
def test_the_teaching_plan_names_sections_that_exist(title):
    assert rows(title)
    for row in rows(title):
        line = " | ".join(row)
        number = row[0][:2]
        named = re.findall(r"(?<!\*)\*([^*]+)\*", line)
        assert set(named) <= set(headings(notebook(number))), line


def test_what_the_teaching_plan_names_elsewhere_exists():
    verdicts = {"faster", "slower", "as good as equal", "no clear difference", "ready", "not ready"}
    menus = {"Run All Above Selected Cell", "Kernel", "Edit", "Clear all outputs"}
    menus |= {"Restart Kernel and Run up to Selected Cell", "Run", "View", "Appearance", "Settings"}
    menus |= {"Presentation Mode", "Theme", "Increase Code Font Size"}
    text = re.sub(r"```.*?```", "", TEACHING, flags=re.DOTALL)
    text = re.sub(r"`[^`]*`", lambda code: code[0] if f"*{code[0]}*" in text else "", text)
    named = set(re.findall(r"(?<!\*)\*([^*|]+)\*(?!\*)", text))
    known = {heading for path in NOTEBOOKS for heading in headings(path)}
    assert named - known == verdicts | menus


def test_each_exercise_is_set_in_one_session():
    planned = {}
    for number, _, in_class, at_home in rows("Sessions"):
        planned[number] = re.findall(r"\b\d\b", f"{in_class}, {at_home}")
    for number, exercises in planned.items():
        count = printed(load(notebook(number))).splitlines().count(NOT_YET)
        assert sorted(exercises) == [str(n + 1) for n in range(count)], number
    assert sorted(planned) == [path.name[:2] for path in NOTEBOOKS[1:]]


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


def test_a_bare_machine_is_told_what_it_lacks(monkeypatch, capsys):
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
