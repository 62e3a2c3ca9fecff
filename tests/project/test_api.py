"""API.md is made from the package and the notebooks."""

import pytest
from notebook_rules import ROOT

from tools import api


def test_the_page_is_made_by_the_command():
    assert (ROOT / "API.md").read_text("utf-8") == api.page(), "run `python3 course.py api`"


@pytest.mark.parametrize(
    ("module", "name", "file", "about"),
    [
        ("measure.comparison", "compare", "measure/comparison.py", "Find out which candidate"),
        ("hybrid.codegen", "c_source", "hybrid/codegen.py", "The graph as the text of a C99"),
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
