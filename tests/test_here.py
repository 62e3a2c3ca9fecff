"""What notebook 00 prints about the machine."""

import sysconfig

import pytest
from notebook_rules import NOTEBOOKS, load, printed

from d2lhybrid import here
from d2lhybrid.toolchain import CompilerNotFound
from tools import manifest

BARE = "Windows", "Darwin", "Linux"


@pytest.fixture
def nothing(monkeypatch):
    """A machine on which there is none of what the course needs."""

    def no_compiler(source):
        raise CompilerNotFound

    monkeypatch.setattr(here, "find_spec", lambda name: None)
    monkeypatch.setattr(here, "load_library", no_compiler)
    for name in ("PATH", "CXX"):
        monkeypatch.setenv(name, "nowhere")


def lines_of(capsys):
    """What is printed: a list for each line, with the indented one below it if there is one."""
    here.what_is_here()
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 88
    assert all(one[:14] in ("this machine: ", f"  {one[2:14]}") for one in text.splitlines())
    return [one.split("\n  ") for one in text.rstrip().split("\nthis machine: ")]


def test_a_bare_machine_is_told_what_it_lacks(nothing, capsys):
    first, *rows = lines_of(capsys)
    assert first[0].startswith("this machine: Python 3.")
    assert all(what.startswith("lacks ") and cure for what, cure in rows)
    stored = printed(load(NOTEBOOKS[0])).splitlines()
    there = [line for line in stored if line.startswith("this machine: has ")]
    assert len(there) == len(rows) > 9  # masked, the lines are equal; so must be their number


def test_each_need_comes_with_the_notebooks_that_have_it(nothing, capsys):
    said = {
        what.partition(", for ")[0]: what.partition(", for ")[2] for what, *_ in lines_of(capsys)
    }
    for need, about in manifest.course()["needs"].items():
        if "compared_with" not in about:
            numbers = [e["name"][:2] for e in manifest.entries() if need in e["needs"]]
            assert said[f"lacks {about['name']['en']}"] == ", ".join(numbers)


@pytest.mark.parametrize("system", BARE)
def test_a_compiler_is_got_as_the_system_gets_one(nothing, monkeypatch, capsys, system):
    monkeypatch.setattr(here.platform, "system", lambda: system)
    rows = {what: cure for what, *cure in lines_of(capsys)}
    (cure,) = next(rows[what] for what in rows if "C++" in what)
    assert (
        cure.split()[0] == {"Linux": "apt", "Darwin": "xcode-select", "Windows": "winget"}[system]
    )


def test_a_cpp_compiler_that_finds_no_python_h_is_none(monkeypatch, capsys):
    monkeypatch.setattr(sysconfig, "get_path", lambda name: "nowhere")
    assert any(what.startswith("lacks a C++ compiler") for what, *_ in lines_of(capsys))
