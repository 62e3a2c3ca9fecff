"""What is made for teachers agrees with the notebooks: TEACHING.md, and Start here."""

import re

import pytest
from notebook_rules import NOT_YET, NOTEBOOKS, ROOT, load, printed, prose

from tools import handouts, manifest

TEACHING, README, CHINESE = (
    (ROOT / name).read_text(encoding="utf-8")
    for name in ("TEACHING.md", "README.md", "README.zh.md")
)
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


def test_the_core_is_the_same_everywhere():
    core = {e["name"][:2] for e in COURSE if not e.get("optional")}
    for text, said in (
        (prose(START), "The core is"),
        (README, "The *core*,"),
        (CHINESE, "*核心*部分，即"),
    ):
        (named,) = re.findall(rf"{said.replace('*', '[*]')} ?(\d[\d, to and到、，以及]+)", text)
        assert numbers(named.replace("到", " to ")) == core
