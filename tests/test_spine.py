"""The spine of the package, which CONTRIBUTING names: its examples, and how long it is."""

import doctest
import re
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 2900  # lines that can be read in an evening


def spine():
    """The modules that CONTRIBUTING names, in order, as paths."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("**spine**")[2]
    return [ROOT / "d2lhybrid" / name for name in re.findall(r"[\w/]+\.py", text.split("```")[1])]


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
