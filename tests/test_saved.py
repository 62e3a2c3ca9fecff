"""The reader's own compiler: what is collected from cells, written, and taken back."""

import builtins
import dis
import linecache
import sys
from types import CodeType, SimpleNamespace

import pytest
from notebook_rules import ROOT, load

from d2lhybrid import load_compiler, save_compiler, trace
from d2lhybrid.hybrid import passes
from d2lhybrid.saved import HEAD

FOLD = """
import ast
from dataclasses import replace as other, field
from elsewhere import LIMIT

# @save
LIMIT = 3


def helper():
    pass


# why
# @save
@property
def fuse(graph):
    \"\"\"Fuse.\"\"\"
    # all
    return other(graph)
"""
COLLECTED = "02_symbolic_programs", "04_programs_as_graphs", "13_write_your_own_hybridizer"
ONE = "# @save\ndef one():\n    return 1"


@pytest.fixture
def run(monkeypatch, tmp_path):
    """A function that runs `save_compiler` after cells, and returns what it wrote."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "my_compiler", raising=False)

    def run(*cells):
        shell = SimpleNamespace(user_ns={"In": ["", *cells]})
        monkeypatch.setattr("IPython.get_ipython", lambda: shell)
        save_compiler()
        return (tmp_path / "my_compiler.py").read_text()

    return run


def test_marked_definitions_go_along_with_what_they_import(run, capsys):
    text = run(FOLD)
    assert text.startswith(
        f"{HEAD}\nfrom dataclasses import replace as other, field\n\n\n# @save\nL"
    )
    assert "helper" not in text
    assert text.endswith("return other(graph)\n")
    said, machine = capsys.readouterr().out.splitlines()
    assert said == "your compiler: 2 definitions in this notebook, 5 lines"
    assert machine.startswith("this machine: my_compiler.py")


def test_the_last_version_of_each_counts(run):
    text = run(ONE, "def broken(", ONE.replace("1", "2"), "def one():\n    return 3")
    assert text == f"{HEAD}\n\n\n{ONE.replace('1', '2')}\n"


def test_notebooks_add_up(run, capsys):
    first = run(FOLD, ONE)
    assert run(FOLD, ONE) == first  # nothing is there twice
    both = run("import os\n\n# @save\ndef two():\n    return os", ONE.replace("1", "4"))
    assert both.index("import os") < both.index("LIMIT") < both.index("4") < both.index("two")
    exec(compile(both, "my_compiler.py", "exec"), {})
    assert run("# @save\none.x = 1", "# @save\none.x = 2").endswith("# @save\none.x = 2\n")


def test_a_page_in_a_browser_and_a_broken_file_do_no_harm(run, monkeypatch, capsys, tmp_path):
    run(ONE)
    (tmp_path / "my_compiler.py").write_text("def half(")
    assert run(ONE) == "def half("
    monkeypatch.setattr(sys, "platform", "emscripten")
    monkeypatch.delitem(sys.modules, "IPython")
    monkeypatch.setitem(linecache.cache, "<cell 1>", (9, 1.0, ONE.splitlines(True), "<cell 1>"))
    save_compiler()
    said = capsys.readouterr().out.splitlines()
    assert said[::2] == ["your compiler: 1 definitions in this notebook, 2 lines"] * 3
    assert ["not written" in line for line in said[1::2]] == [False, True, True]


@pytest.mark.parametrize(
    ("text", "own"),
    [
        (None, []),
        ("def record(f, *examples):\n    return fuse", ["record"]),
        ("fuse = 1\nimport nowhere_to_be_found", []),
        ("def half(", []),
    ],
)
def test_the_course_fills_in_what_the_reader_has_not_written(run, capsys, tmp_path, text, own):
    if text:
        (tmp_path / "my_compiler.py").write_text(text)
    mine = load_compiler()
    assert capsys.readouterr().out.startswith(f"this machine: your own: {', '.join(own) or 'no'}")
    assert mine.fuse is passes.fuse
    assert (mine.record is trace) == (not own)
    assert mine.record(lambda a: a, 1) is passes.fuse if own else True


def names_read(code):
    """The names that a module, or any function in it, expects outside of itself."""
    steps = [
        step for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    ]
    inner = [names_read(one) for one in code.co_consts if isinstance(one, CodeType)]
    return {step.argval for step in steps}.union(*inner)


def test_the_notebooks_marked_code_is_whole(run):
    """It makes one module, which has all names that it reads."""
    for name in COLLECTED:
        cells = load(ROOT / f"notebooks/{name}.ipynb")["cells"]
        text = run(*("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"))
    names, code = {}, compile(text, "my_compiler.py", "exec")
    exec(code, names)
    inside = {"__module__", "__qualname__", "__class__", "super"}  # of classes
    assert names_read(code) - names.keys() - vars(builtins).keys() - inside == set()
