"""Every notebook keeps every rule, and every rule finds the fault that it is there to find."""

import inspect
import json
import re
import tomllib
from base64 import b64encode
from functools import cache
from io import BytesIO

import nbformat
import pytest
from notebook_rules import (
    ENTRIES,
    LINES,
    NOTEBOOKS,
    ROOT,
    RULES,
    begins_with_its_framework,
    code_cells,
    load,
    opens_as_agreed,
    prose,
    says_what_it_needs,
    section,
    text_of,
)
from PIL import Image

from d2lhybrid.text import program
from tools.colab import badge, first_cell
from tools.notebook import agreed_metadata, fingerprint


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


@pytest.mark.parametrize("path", NOTEBOOKS[10:], ids=lambda path: path.stem)
def test_each_check_is_tried_with_right_and_wrong_answers(path):
    exercises = [cell for cell in section(load(path), "exercises") if "### " in text_of(cell)]
    tried = tomllib.loads((ROOT / f"tests/exercises/{path.stem}.toml").read_text("utf-8"))
    assert [one["number"] for one in tried["exercise"]] == list(range(1, len(exercises) + 1))
    for one in tried["exercise"]:
        assert min(len({*one["right"]}), len({*one["wrong"]})) >= 3, f"Exercise {one['number']}"


def is_numbered(path):
    return re.fullmatch(r"\d\d_\w+", path.stem)


def test_the_notebooks_are_numbered_in_reading_order():
    first = int(NOTEBOOKS[0].name[:2])
    assert first in (0, 1)
    assert [int(name[:2]) for name in ENTRIES] == [first + n for n in range(len(NOTEBOOKS))]


# A small notebook that keeps every rule, under the name of one of the course's.

NAME = "02_symbolic_programs.ipynb"
MINUTES = 15  # of the sample


def markdown(*lines, slide="-", **metadata):
    return nbformat.v4.new_markdown_cell("\n".join(lines), metadata=about(slide, metadata))


def code(*lines, outputs=(), slide="-"):
    outputs = [
        output if isinstance(output, dict) else nbformat.v4.new_output("stream", text=output)
        for output in outputs
    ]
    return nbformat.v4.new_code_cell("\n".join(lines), outputs=outputs, metadata=about(slide))


def about(slide, metadata=()):
    return {"slideshow": {"slide_type": slide}, **dict(metadata)}


def picture(width, height, alt):
    """The output of a cell that draws a figure of so many points."""
    shown = [width + 8, height + 8]
    png = white(2 * shown[0], 2 * shown[1]).decode()
    metadata = dict(zip(("width", "height"), shown, strict=True), alt=alt, figure=[width, height])
    data = {"image/png": png, "text/plain": alt}
    return nbformat.v4.new_output("display_data", data=data, metadata={"image/png": metadata})


def white(width, height):
    file = BytesIO()
    Image.new("RGB", (width, height), "white").save(file, "png")
    return b64encode(file.getvalue())


def sample():
    return json.loads(sample_text())


@cache
def sample_text():
    entry, following = ENTRIES[NAME], ENTRIES["04_programs_as_graphs.ipynb"]
    cells = [
        markdown(f"# {entry['title']['en']}", "", "What a program is.", slide="slide"),
        markdown(badge(NAME), slide="skip"),
        markdown(LINES["goals"], "", "- Read it.", "- Run it.", "- Write it."),
        markdown(f"{LINES['needs']} Python. {LINES['minutes'].format(minutes=MINUTES)}"),
        code(first_cell(ENTRIES[NAME]), slide="skip"),
        markdown("## Ten", slide="slide"),
        code("print(10)", outputs=["10\n", "price: 12 µs (measured here)\n"]),
        code("# @save", inspect.getsource(program.add_)),
        code("draw('flow')", outputs=[picture(300, 200, f"Data flow, {'one: 1 and 2 ' * 3}.")]),
        code("draw('bars')", outputs=[picture(200, 100, f"Times, as bars: {'a and b ' * 4}.")]),
        markdown(LINES["summary"], "", "- One.", "- Two.", "- Three.", slide="slide"),
        markdown(LINES["exercises"], "", "Replace each `...`.", slide="slide"),
        markdown("### Exercise 1: a number", "", "How many?"),
        code("number = ..."),
        code("from d2lhybrid import check", "check(number, 3)", outputs=["not yet\n"]),
        markdown("### Exercise 2: a function", "", "Write it."),
        code("def one_more(x):", "    return ..."),
        code("check(one_more, 3, by=lambda f: f(2))", outputs=["not yet\n"]),
        markdown("### Exercise 3: two words", "", "Which?"),
        code("word, other = ..., ...", "%time", "word?"),
        code("check([word, other], ['a', 'b'])", outputs=["not yet\n"]),
        markdown(LINES["solutions"], slide="skip", **{"jp-MarkdownHeadingCollapsed": True}),
        markdown("### Solution 1", "", "Three."),
        code("number_solution = 3", "check(number_solution, 3)", outputs=["right\n"]),
        markdown("### Solution 2", "", "One more."),
        code("def one_more_solution(x):", "    return x + 1"),
        code("check(one_more_solution, 3, by=lambda f: f(2))", outputs=["right\n"]),
        markdown("### Solution 3", "", "Both."),
        code("check(('a', 'b'), ['a', 'b'])", outputs=["right\n"]),
        markdown(
            *(LINES["next"], "", f"[{following['title']['en']}](04_programs_as_graphs.ipynb)"),
            slide="slide",
        ),
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    for number, cell in enumerate(code_cells(notebook), 1):
        cell["execution_count"] = number
    notebook["metadata"] = agreed_metadata(notebook)
    notebook["metadata"]["outputs_of"] = fingerprint(notebook)
    return nbformat.writes(notebook)


def test_the_sample_keeps_every_rule():
    assert [fault for rule in RULES for fault in rule(sample(), NAME)] == []


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


def alt(notebook, which=0):
    """What the output of a picture says about it, its alternative text among them."""
    return pictures(notebook)[which]["metadata"]["image/png"]


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


def fold(notebook, wanted):
    cell = first_with(notebook, wanted, "markdown")
    cell["metadata"]["jp-MarkdownHeadingCollapsed"] = True


def move_to_the_end(notebook, wanted):
    cells = notebook["cells"]
    cells.append(cells.pop(cells.index(first_with(notebook, wanted, "markdown"))))


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
    (lambda n: tag(n, first_with(n, "import sys"), "nbval-ignore-output"), "just one picture"),
    (lambda n: first_output(n).update(text=["x" * 1_000_001]), "a million at most"),
    (lambda n: code_cells(n)[1].update(source=["a = 1\n"] * 25), "the median is"),
    (lambda n: replace_in_code(n, "print(10)", "print(11)"), "its code"),
    (lambda n: replace_in_outputs(n, "12 µs (measured", "120 µs (measured"), "its code"),
    (lambda n: pictures(n)[0].update(data=pictures(n)[-1]["data"]), "its code"),
    (lambda n: pictures(n)[0]["metadata"]["image/png"].update(alt="Another."), "its code"),
    (lambda n: n["metadata"].pop("outputs_of"), "its code"),
    (lambda n: n["cells"].pop(5), "its text"),
    (lambda n: n["cells"].insert(2, n["cells"].pop(3)), "its text"),
    (lambda n: replace_in_prose(n, "Three", "Four"), "its text"),
    (lambda n: tag(n, code_cells(n)[2], "img:other"), "its text"),
    (lambda n: n["cells"][6]["metadata"]["slideshow"].update(slide_type="notes"), "its text"),
    (lambda n: n["metadata"]["language_info"].update(version="3.11.7"), "the right ones"),
    (lambda n: n["metadata"]["kernelspec"].update(name="mine"), "the right ones"),
    (lambda n: n["metadata"].pop("title"), "the right ones"),
    (lambda n: n["metadata"]["colab"].update(collapsed_sections=["other"]), "the right ones"),
    (lambda n: replace_in_code(n, "--no-deps ", ""), "the first code cell"),
    (lambda n: replace_in_code(n, "print(10)", 'import_framework("jax")'), "says []"),
    (lambda n: replace_in_prose(n, "/blob/main/", "/blob/master/"), "no Colab badge"),
    (lambda n: replace_in_prose(n, "**Needs:**", "Needs:"), "'**Needs:**' is missing"),
    (lambda n: replace_in_prose(n, "## Where next", "## Further"), "Where next' is missing"),
    (lambda n: replace_in_prose(n, "# Symbolic p", "# P"), "'# Symbolic programs' is missing"),
    (lambda n: n["cells"].append(markdown("Word " * 9_000)), "it takes 65 minutes"),
    (lambda n: replace_in_prose(n, f"**About {MINUTES} ", "**About 99 "), "minutes.**' is missing"),
    (lambda n: n["cells"].append(n["cells"].pop(0)), "another order"),
    (lambda n: move_to_the_end(n, "## Summary"), "another order"),
    (lambda n: replace_in_prose(n, "**Needs:** ", "**Needs:** a C compiler, "), "about a C comp"),
    (lambda n: replace_in_prose(n, "## Ten", "# Ten"), "the title's level"),
    (lambda n: replace_in_prose(n, "- Read it.", "Read it."), "be able to do:** is to be a list"),
    (lambda n: replace_in_prose(n, "- Two.", "- Two"), "## Summary is to be a list"),
    (lambda n: replace_in_prose(n, "- Two.", "- Two." + "\n- More." * 3), "## Summary is to be a"),
    (lambda n: replace_in_outputs(n, "not yet", "right"), "exercises, "),
    (lambda n: replace_in_outputs(n, "right", "not right: it gives 1"), "is not right"),
    (lambda n: first_with(n, "## Solutions", "markdown").update(metadata={}), "to be folded"),
    (lambda n: fold(n, "## Summary"), "to be folded"),
    (
        lambda n: replace_in_prose(n, "### Exercise 2: a f", "**2.** A f"),
        "Exercise 3: two words' is",
    ),
    (lambda n: replace_in_prose(n, "### Exercise 3: two words", "### Exercise 3"), "short name"),
    (lambda n: replace_in_prose(n, "### Exercise", "**Exercise**"), "0 exercises have a heading"),
    (lambda n: replace_in_prose(n, "- One.", "- One, in exercise 4."), "exercise 4 is named"),
    (lambda n: replace_in_prose(n, "- One.", "- One (exercise B2)."), "exercise B2 is named"),
    (lambda n: replace_in_prose(n, "### Solution 2", "**2.**"), "the solutions have the headings"),
    (lambda n: n["cells"].remove(first_with(n, "def one_more_s")), "no solution defines"),
    (
        lambda n: replace_in_code(n, "number_solution =", "number = number_solution ="),
        "assigns numb",
    ),
    (
        lambda n: replace_in_code(n, "def one_more_s", "def one_more(): pass\ndef one_more_s"),
        "assigns o",
    ),
    (
        lambda n: replace_in_code(n, "def one_more_s", "import re as word\ndef one_more_s"),
        "assigns w",
    ),
    (lambda n: replace_in_code(n, "number = ...", "number = 0"), "what check(number, 3)"),
    (lambda n: replace_in_code(n, "check(number, ", "check(... or number, "), "what check(... or"),
    (
        lambda n: replace_in_code(n, "check(number, 3", "check(number, 1 + 2"),
        "its solution check(ans",
    ),
    (lambda n: n["cells"].remove(last_with(n, "check(('a'")), "its solution None"),
    (lambda n: replace_in_code(n, "print(10)", f"print({'1' * 73})"), "code has 80 characters"),
    (lambda n: first_output(n).update(text=["x" * 89, "\n"]), "printed text has 89 characters"),
    (lambda n: replace_in_prose(n, ".ipynb)", ".ipnyb)"), "leads to no"),
    (lambda n: replace_in_prose(n, "(04_programs_as_graphs", "(05_torchscript"), "leads to no"),
    (lambda n: replace_in_prose(n, "(04_programs_as_graphs", "(https://d2l.ai/x"), "leads to no"),
    (lambda n: replace_in_outputs(n, ": 12 µs (measured", ": 0 µs (measured"), "says nothing; is"),
    (lambda n: replace_in_prose(n, "Open in Colab", ""), "without alternative text"),
    (lambda n: alt(n).pop("alt"), "alternative text is ''"),
    (lambda n: alt(n).update(alt="Figure 1"), "alternative text is 'Figure 1'"),
    (lambda n: alt(n, 1).update(alt=alt(n)["alt"]), "has the same alternative text"),
    (
        lambda n: alt(n).update(alt="A figure that is another one" * 2),
        "is not its alternative text",
    ),
    (lambda n: pictures(n)[0].update(metadata={}), "twice the density"),
    (lambda n: alt(n).update(figure=[280, 200]), "sticks out"),
    (lambda n: alt(n).pop("figure"), "sticks out"),
    (lambda n: n["cells"][4].update(metadata={}), "says nothing about slides"),
    (
        lambda n: [c["metadata"]["slideshow"].update(slide_type="-") for c in n["cells"]],
        "than five",
    ),
    (lambda n: replace_in_code(n, "# @save\ndef add_", "# @save\ndef add__"), "differs from"),
    (lambda n: replace_in_code(n, "@save\ndef add_", "@save\n\ndef add_"), "no definition"),
]


@pytest.mark.parametrize(("break_it", "message"), FAULTS)
def test_rule_finds_the_fault(break_it, message):
    notebook = sample()
    break_it(notebook)
    found = [fault for rule in RULES for fault in rule(notebook, NAME)]
    assert any(message in fault for fault in found), found


IMPORT = 'from d2lhybrid import import_framework\n\njax = import_framework("jax", threads=1)'


@pytest.mark.parametrize(
    ("second_cell", "faults"),
    [
        (IMPORT, 0),
        (f"{IMPORT}\nimport numpy", 0),
        (f"import numpy\n{IMPORT}", 1),
        (IMPORT.replace(", threads=1", ""), 1),
        (IMPORT.replace('"jax"', '"mxnet"'), 2),
        ("print(10)", 2),
    ],
)
def test_a_notebook_begins_with_its_framework(monkeypatch, second_cell, faults):
    monkeypatch.setitem(ENTRIES[NAME], "needs", ["jax"])
    notebook = sample()
    replace_in_code(notebook, "print(10)", second_cell)
    assert len(list(begins_with_its_framework(notebook, NAME))) == faults


@pytest.mark.parametrize(("call", "faults"), [("print(10)", 0), ('import_framework("jax")', 1)])
def test_a_notebook_that_compares_all_frameworks_imports_none(monkeypatch, call, faults):
    notebook = sample()  # first, since it is made only once
    monkeypatch.setitem(ENTRIES[NAME], "needs", ["others"])
    replace_in_code(notebook, "print(10)", call)
    assert len(list(begins_with_its_framework(notebook, NAME))) == faults
    assert len(list(opens_as_agreed(notebook, NAME))) == 1  # Colab's lines are missing
    code_cells(notebook)[0]["source"] = [first_cell(ENTRIES[NAME])]
    assert list(opens_as_agreed(notebook, NAME)) == []
    assert len(list(says_what_it_needs(notebook, NAME))) == 1
    replace_in_prose(notebook, "Python.", "the other frameworks, as many as you have.")
    assert list(says_what_it_needs(notebook, NAME)) == []


def test_every_rule_has_found_a_fault():
    silent = {rule.__name__ for rule in RULES}
    for break_it, _ in FAULTS:
        notebook = sample()
        break_it(notebook)
        silent -= {rule.__name__ for rule in RULES if list(rule(notebook, NAME))}
    assert silent == set()


def test_a_fingerprint_does_not_depend_on_how_texts_are_split_into_lines():
    path = ROOT / "notebooks" / "02_symbolic_programs.ipynb"
    whole = nbformat.read(path, as_version=4)
    assert isinstance(load(path)["cells"][0]["source"], list)
    assert isinstance(whole.cells[0].source, str)
    assert fingerprint(whole) == fingerprint(load(path))
