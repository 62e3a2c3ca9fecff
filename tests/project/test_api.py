"""API.md and the list of names for editors are made from the package and the notebooks."""

import ast

import pytest
from notebook_rules import ROOT

import d2lhybrid
from tools import api


def test_both_are_made_by_the_command():
    assert (ROOT / "API.md").read_text("utf-8") == api.page(), "run `python3 course.py api`"
    stub = (ROOT / "d2lhybrid/__init__.pyi").read_text("utf-8")
    assert stub == api.stub(), "run `python3 course.py api`"


def test_editors_see_the_names_that_the_package_gives_out():
    seen = {
        alias.name: statement.module
        for statement in ast.parse(api.stub()).body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
        if alias.asname == alias.name  # or a type checker takes it for private
    }
    assert seen == d2lhybrid._HOME


@pytest.mark.parametrize(
    ("module", "name", "file", "about"),
    [
        ("measure.comparison", "compare", "measure/comparison.py", "Find out which candidate"),
        ("hybrid.codegen", "c_source", "hybrid/codegen/c.py", "The graph as the text of a C99"),
        ("hybrid.operations", "OPERATIONS", "hybrid/operations.py", "Name -> Operation"),
    ],
)
def test_a_name_stands_with_its_file_and_what_it_is(module, name, file, about):
    path, said = api.definition(module, name)
    assert path == ROOT / "d2lhybrid" / file
    assert said.startswith(about)
    assert f"| [`{name}`](d2lhybrid/{file}) | {about}" in api.page()


def test_a_name_that_is_not_there_is_named():
    with pytest.raises(LookupError, match=r"d2lhybrid\.nets does not define net"):
        api.definition("nets", "net")


def test_the_notebooks_that_import_a_name_are_found(tmp_path):
    path = tmp_path / "01.ipynb"
    path.write_text(
        '{"cells": [{"cell_type": "markdown", "source": ["from d2lhybrid import no"]}, '
        '{"cell_type": "code", "source": ["%matplotlib inline\\n", "!ls\\n", '
        '"from d2lhybrid import a, b as c\\nfrom d2lhybrid.plot import d\\nfrom x import e"]}]}'
    )
    assert api.imported(path) == {"a", "b", "d"}
