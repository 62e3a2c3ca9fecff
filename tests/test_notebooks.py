"""Every notebook keeps every rule, and every rule finds the fault that it is there to find."""

import re
from base64 import b64encode
from io import BytesIO
from types import SimpleNamespace

import nbformat
import pytest
from notebook_rules import ENTRIES, NOTEBOOKS, ROOT, RULES, code_cells, load, prose
from PIL import Image

import conftest
import course


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_keeps_the_rule(path, rule):
    faults = list(rule(load(path), path.name))
    if faults:
        pytest.fail("\n".join([f"{path.name}:", *faults]), pytrace=False)


def test_the_folder_holds_the_notebooks_that_course_toml_lists():
    # A reader's copies and new notebooks have other names.
    numbered = [path.name for path in (ROOT / "notebooks").glob("*.ipynb") if is_numbered(path)]
    assert sorted(numbered) == sorted(ENTRIES)
    assert all(is_numbered(path) for path in NOTEBOOKS)


def is_numbered(path):
    return re.fullmatch(r"\d\d_\w+", path.stem)


def test_the_notebooks_are_numbered_in_reading_order():
    assert [name[:2] for name in ENTRIES] == [f"{n:02}" for n in range(1, len(NOTEBOOKS) + 1)]


# The faults: how a good notebook is broken, and what a rule then says.


def first_with(notebook, wanted, kind="code"):
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == kind]
    return next(cell for cell in cells if wanted in "".join(cell["source"]))


def last_with(notebook, wanted):
    return first_with({"cells": notebook["cells"][::-1]}, wanted)


def first_output(notebook):
    return next(cell["outputs"][0] for cell in code_cells(notebook) if cell["outputs"])


def pictures(notebook):
    outputs = [output for cell in code_cells(notebook) for output in cell["outputs"]]
    return [output for output in outputs if "image/png" in output.get("data", {})]


def replace_picture(old, new):
    old["data"]["image/png"], old["metadata"] = new["data"]["image/png"], new["metadata"]


def replace_in_prose(notebook, old, new):
    assert old in prose(notebook)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = ["".join(cell["source"]).replace(old, new)]


def replace_in_code(notebook, old, new):
    cell = first_with(notebook, old)
    cell["source"] = ["".join(cell["source"]).replace(old, new)]


def replace_in_outputs(notebook, old, new):
    for cell in code_cells(notebook):
        for output in cell["outputs"]:
            if "text" in output:
                output["text"] = ["".join(output["text"]).replace(old, new)]


def tag(notebook, cell, name):
    cell["metadata"].setdefault("tags", []).append(name)


def tag_all(notebook, name):
    for cell in code_cells(notebook):
        tag(notebook, cell, name)


FAULTS = [
    (lambda n: code_cells(n)[3].update(execution_count=None), "were run in the order"),
    (lambda n: code_cells(n)[3].update(execution_count=7), "were run in the order"),
    (lambda n: first_output(n).update(name="stderr"), "an error or a warning"),
    (lambda n: first_output(n).update(output_type="error"), "an error or a warning"),
    (lambda n: first_output(n).update(text=["/home/ada/x.py"]), "shows '/home/'"),
    (lambda n: first_output(n).update(text=["in C:\\Users"]), "shows 'C:"),
    (lambda n: first_output(n).update(text=["ada@laptop"]), "shows 'a@l'"),
    (lambda n: first_output(n).update(data={"text/html": "/tmp/a"}), "shows '/tmp/'"),
    (lambda n: tag(n, code_cells(n)[2], "nbval-skip"), "is not checked"),
    (lambda n: tag(n, code_cells(n)[2], "raises-exception"), "is not checked"),
    (lambda n: code_cells(n)[2].update(source=["# NBVAL_SKIP\n", "1"]), "a marker for nbval"),
    (lambda n: tag_all(n, "nbval-ignore-output"), "one in ten at most"),
    (lambda n: tag(n, first_with(n, "check("), "nbval-ignore-output"), "just one picture"),
    (lambda n: tag(n, first_with(n, "\nprint(prog)"), "nbval-ignore-output"), "just one picture"),
    (lambda n: tag(n, first_with(n, "import sys"), "nbval-ignore-output"), "just one picture"),
    (lambda n: first_output(n).update(text=["x" * 1_000_001]), "a million at most"),
    (lambda n: code_cells(n)[1].update(source=["a = 1\n"] * 25), "the median is"),
    (lambda n: replace_in_code(n, 'times["as written"] -', 'times["as written"] +'), "its code"),
    (lambda n: replace_in_outputs(n, " times (measured", "0 times (measured"), "its code"),
    (lambda n: pictures(n)[0].update(data=pictures(n)[-1]["data"]), "its code"),
    (lambda n: n["metadata"].pop("outputs_of"), "its code"),
    (lambda n: n["cells"].pop(13), "its text"),
    (lambda n: n["cells"].insert(8, n["cells"].pop(9)), "its text"),
    (lambda n: replace_in_prose(n, "10", "11"), "its text"),
    (lambda n: tag(n, code_cells(n)[2], "img:other"), "its text"),
    (lambda n: n["cells"][6]["metadata"]["slideshow"].update(slide_type="notes"), "its text"),
    (lambda n: n["metadata"]["language_info"].update(version="3.11.7"), "the right ones"),
    (lambda n: n["metadata"]["kernelspec"].update(name="mine"), "the right ones"),
    (lambda n: replace_in_code(n, "--no-deps ", ""), "the first code cell"),
    (lambda n: replace_in_prose(n, "/blob/main/", "/blob/master/"), "no Colab badge"),
    (lambda n: replace_in_prose(n, "**Needs:**", "Needs:"), "'**Needs:**' is missing"),
    (lambda n: replace_in_prose(n, "## Where next", "## Further"), "Where next' is missing"),
    (lambda n: replace_in_prose(n, "# Symbolic p", "# P"), "'# Symbolic programs' is missing"),
    (lambda n: replace_in_prose(n, "**About 35 ", "**About 36 "), "'**About 35 minutes.**' is m"),
    (lambda n: n["cells"].append(n["cells"].pop(0)), "another order"),
    (lambda n: replace_in_prose(n, "**Needs:** ", "**Needs:** a C compiler, "), "about a C comp"),
    (lambda n: replace_in_prose(n, "## Step 1", "# Step 1"), "the title's level"),
    (
        lambda n: n["cells"].append(
            n["cells"].pop(n["cells"].index(first_with(n, "## Summary", "markdown")))
        ),
        "another order",
    ),
    (lambda n: replace_in_outputs(n, "not yet", "right"), "exercises, "),
    (lambda n: replace_in_outputs(n, "right", "not right: it is 1"), "is not right"),
    (
        lambda n: first_with(n, "## Solutions", "markdown").update(metadata={}),
        "are to be folded",
    ),
    (
        lambda n: first_with(n, "## Summary", "markdown")["metadata"].update(
            {"jp-MarkdownHeadingCollapsed": True}
        ),
        "are to be folded",
    ),
    (
        lambda n: replace_in_code(n, "check(additions_after, s", "check(additions_after, 1 + s"),
        "its solution",
    ),
    (lambda n: n["cells"].remove(last_with(n, "check(exception,")), "its solution None"),
    (lambda n: replace_in_prose(n, ".ipynb)", ".ipnyb)"), "leads to no"),
    (lambda n: replace_in_prose(n, "(03_programs_as_graphs", "(04_torchscript"), "leads to no"),
    (lambda n: replace_in_prose(n, "(03_programs_as_graphs", "(https://d2l.ai/x"), "leads to no"),
    (lambda n: replace_in_outputs(n, " µs (measured", " x: 0 µs (measured"), "says nothing; is"),
    (lambda n: replace_in_prose(n, "Open in Colab", ""), "without alternative text"),
    (lambda n: pictures(n)[0].update(metadata={}), "twice the density"),
    (lambda n: replace_picture(pictures(n)[0], pictures(n)[-1]), "sticks out"),
    (lambda n: n["cells"][4].update(metadata={}), "says nothing about slides"),
    (
        lambda n: [c["metadata"]["slideshow"].update(slide_type="-") for c in n["cells"]],
        "fewer than five slides",
    ),
    (lambda n: replace_in_code(n, "# @save\ndef add_", "# @save\ndef add__"), "differs from"),
    (lambda n: replace_in_code(n, "@save\ndef add_", "@save\n\ndef add_"), "no definition"),
]


@pytest.mark.parametrize(("break_it", "message"), FAULTS)
def test_rule_finds_the_fault(break_it, message):
    path = ROOT / "notebooks" / "02_symbolic_programs.ipynb"
    notebook = load(path)
    break_it(notebook)
    found = [fault for rule in RULES for fault in rule(notebook, path.name)]
    assert any(message in fault for fault in found), found


def test_every_rule_has_found_a_fault():
    path = ROOT / "notebooks" / "02_symbolic_programs.ipynb"
    silent = {rule.__name__ for rule in RULES}
    for break_it, _ in FAULTS:
        notebook = load(path)
        break_it(notebook)
        silent -= {rule.__name__ for rule in RULES if list(rule(notebook, path.name))}
    assert silent == set()


def test_a_fingerprint_does_not_depend_on_how_texts_are_split_into_lines():
    path = ROOT / "notebooks" / "02_symbolic_programs.ipynb"
    whole = nbformat.read(path, as_version=4)
    assert isinstance(load(path)["cells"][0]["source"], list)
    assert isinstance(whole.cells[0].source, str)
    assert course.fingerprint(whole) == course.fingerprint(load(path))


def white(width, height):
    file = BytesIO()
    Image.new("RGB", (width, height), "white").save(file, "png")
    return b64encode(file.getvalue())


def test_a_drawing_of_another_program_is_reported():
    drawn = pictures(load(ROOT / "notebooks" / "03_programs_as_graphs.ipynb"))
    sizes = [output["data"]["text/plain"] for output in drawn]
    one, other = [[output] for output in drawn if sizes.count(output["data"]["text/plain"]) > 1]
    cell = SimpleNamespace(source="ax = plot_data_flow(f)")
    item = SimpleNamespace(cell=cell, comparison_traceback=[])

    def compare(page, machine):
        return conftest.compare_drawings(item, machine, page, compare=lambda *texts: True)

    assert compare(one, one)
    assert not conftest.look_alike(white(320, 320), white(640, 640))
    assert not compare(one, other)
    assert item.comparison_traceback == ["The picture differs from the one on the page."]
    assert not compare(one + one, one + other)
    cell.source = "ax = plot_times(times)"
    assert compare(one, other)
