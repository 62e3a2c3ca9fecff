"""The repository has one address, and one command changes it everywhere."""

import re

import pytest
from checkout import files_in, load_course
from notebook_rules import ADDRESS, ROOT

from tools import translate
from tools.authoring import files_with_address


def test_every_address_is_the_projects():
    project = ADDRESS.removeprefix("https://github.com/")
    assert re.fullmatch(r"[\w.-]+/[\w.-]+", project)
    for path in files_with_address():
        text = path.read_text(encoding="utf-8")
        found = re.findall(r"(?:github\.com|/github)/([\w.-]+/[\w.-]*\w)", text)
        assert {one.removesuffix(".git") for one in found} <= {project}, path.name
        if path.suffix == ".ipynb":
            assert len(found) == 2, f"{path.name}: the badge's address and the first cell's"


def test_one_command_changes_the_address_everywhere(copy, capsys):
    old = ADDRESS.removeprefix("https://github.com/")
    load_course(copy).authoring.address("ada/my-course.2")
    said = capsys.readouterr().out
    for path in copy.rglob("*.*"):
        text = path.read_text(encoding="utf-8")
        assert f"/{old}" not in text or path.name == "course.py", path.name
        assert ("/ada/my-course.2" in text) == (f"changed {path.relative_to(copy)}\n" in said)
    assert "(https://ada.github.io/my-course.2/)" in (copy / "README.md").read_text("utf-8")
    assert said.count("changed") >= 3 + len(list(copy.glob("notebooks/*")))
    assert '"https://github.com/ada/my-course.2"' in (copy / "pyproject.toml").read_text()
    for name in translate.DOCUMENTS:
        assert load_course(copy).translate.lacking(name, "zh") == translate.lacking(name, "zh")
    load_course(copy).authoring.address(old)
    for path in copy.rglob("*.*"):
        assert path.read_bytes() == (ROOT / path.relative_to(copy)).read_bytes()


NO_ADDRESS = ["", "ada", "https://github.com/ada/course", "a/b/c", "a b/c", "ada/", "ada/cöurse"]
NO_ADDRESS += ["../..", "./.", "ada/..", "ada/.", "-ada/b", ".ada/b", "ada/b.git", 40 * "a" + "/b"]


@pytest.mark.parametrize("wrong", NO_ADDRESS)
def test_anything_but_an_address_is_refused(copy, wrong):
    with pytest.raises(SystemExit, match=f"OWNER/NAME.*not {re.escape(repr(wrong))}"):
        load_course(copy).authoring.address(wrong)


@pytest.mark.parametrize("damage", [b"<<<<<<< HEAD\n", "Größe".encode("latin-1"), b"[]"])
def test_a_notebook_that_cannot_be_read_stops_a_change_of_address_before_it_begins(copy, damage):
    notebook = copy / "notebooks" / "05_torchscript.ipynb"
    good = notebook.read_bytes()
    notebook.write_bytes(damage)
    before = files_in(copy)
    with pytest.raises(SystemExit, match=r"05_torch.* can't be read.*nothing was changed"):
        load_course(copy).authoring.address("ada/course")
    assert files_in(copy) == before
    notebook.write_bytes(good)
    load_course(copy).authoring.address("ada/course")
    old = ADDRESS.removeprefix("https://github.com").encode()
    assert [path.name for path, text in files_in(copy).items() if old in text] == []


def test_a_change_of_address_keeps_the_ends_of_lines(copy):
    for path, text in files_in(copy).items():
        path.write_bytes(text.replace(b"\n", b"\r\n"))
    lines = {path: text.count(b"\r\n") for path, text in files_in(copy).items()}
    load_course(copy).authoring.address("ada/course")
    assert b"github.com/ada/course" in (copy / "README.md").read_bytes()
    for path, text in files_in(copy).items():
        assert text.count(b"\n") == text.count(b"\r\n") == lines[path], path.name
