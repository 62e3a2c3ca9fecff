"""The size of the package, as CONTRIBUTING says it: its spine, and a budget for each folder."""

import ast
import doctest
import re
import tokenize
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
LONGEST = 3000  # lines that can be read in an evening
TESTS = 1.6  # lines for each line of what they test


def spine():
    """The modules that CONTRIBUTING names, in order, as paths."""
    text = CONTRIBUTING.partition("**spine**")[2]
    return [ROOT / "d2lhybrid" / name for name in re.findall(r"[\w/]+\.py", text.split("```")[1])]


def code_lines(*places):
    """How many lines of code there are in files and folders.

    Those of blank lines, comments and docstrings do not count.
    """
    files = [file for p in places for file in ([p] if p.is_file() else p.rglob("*.py"))]
    return sum(map(_code_lines_of, files))


def _code_lines_of(path):
    no_code = {"COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENCODING", "ENDMARKER"}
    with path.open("rb") as file:
        tokens = [
            t for t in tokenize.tokenize(file.readline) if tokenize.tok_name[t.type] not in no_code
        ]
    found = {n for token in tokens for n in range(token.start[0], token.end[0] + 1)}
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None:
            found -= {*range(node.body[0].lineno, node.body[0].end_lineno + 1)}
    return len(found)


def test_the_spine_is_read_in_an_evening():
    assert len(spine()) > 12
    assert sum(len(path.read_text("utf-8").splitlines()) for path in spine()) <= LONGEST


def test_each_of_its_modules_opens_with_an_example_that_holds():
    for path in spine():
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        module = import_module(name)
        (test,) = [t for t in doctest.DocTestFinder().find(module) if t.name == name] or [None]
        assert test, f"{name} opens without an example"
        shown = test.examples or "\n    " in test.docstring
        assert shown, f"{name} opens without an example"
        assert doctest.DocTestRunner().run(test).failed == 0, name


def test_code_lines_are_counted_without_blank_lines_comments_and_docstrings(tmp_path):
    text = '"""Two\nlines."""\n\n# why\nx = """a\nb"""\n\n\n'
    function = 'def f():\n    """One."""\n    return (\n        x\n    )\n'
    (tmp_path / "a.py").write_text(text + function)
    assert code_lines(tmp_path) == code_lines(tmp_path / "a.py") == 6


def test_each_folder_keeps_its_budget():
    rows = re.findall(r"^\| (`.+?`) \|.*\| ([\d,]+) \|$", CONTRIBUTING, re.MULTILINE)
    assert len(rows) > 10
    over = {}
    for places, budget in rows:
        used = code_lines(*(ROOT / "d2lhybrid" / p for p in re.findall(r"`([\w/.]+)`", places)))
        if used > int(budget.replace(",", "")):
            over[places] = f"{used} lines of code, at most {budget}"
    assert over == {}, "something has to leave, see CONTRIBUTING"


def test_tests_are_not_much_longer_than_what_they_test():
    tested = [ROOT / name for name in ("d2lhybrid", "tools", "grading", "benchmarks")]
    assert code_lines(ROOT / "tests") <= TESTS * code_lines(*tested)
