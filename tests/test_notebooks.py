"""Every notebook keeps every rule, and every rule finds the fault that it is there to find."""

import inspect
import json
import re
import tomllib
from base64 import b64encode
from functools import cache
from io import BytesIO

import nbformat
import notebook_rules as rules
import pytest
from notebook_rules import (
    ENTRIES,
    LINES,
    NOTEBOOKS,
    ROOT,
    RULES,
    badge,
    code_cells,
    load,
    section,
    text_of,
)
from PIL import Image

from d2lhybrid.text import program
from tools.colab import first_cell
from tools.notebook import agreed_metadata, fingerprint


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_keeps_the_rule(path, rule):
    faults = list(rule(load(path), path.name))
    if faults:
        pytest.fail("\n".join([f"{path.name}:", *faults]), pytrace=False)


def test_folder_holds_the_notebooks_that_course_toml_lists():
    # A reader's copies and new notebooks have other names.
    numbered = [path.name for path in (ROOT / "notebooks").glob("*.ipynb") if is_numbered(path)]
    assert sorted(numbered) == sorted(ENTRIES)
    assert all(is_numbered(path) for path in NOTEBOOKS)


@pytest.mark.parametrize("path", NOTEBOOKS[10:], ids=lambda path: path.stem)
def test_each_check_has_three_right_and_three_wrong_answers(path):
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
        markdown(LINES["goals"], "", "- Read it.", "- Run it.", "- Write it.", slide="subslide"),
        markdown(f"{LINES['needs']} Python. {LINES['minutes'].format(minutes=MINUTES)}"),
        code(first_cell(ENTRIES[NAME]), slide="skip"),
        markdown("## Ten", slide="slide"),
        code("print(10)", outputs=["10\n", "build_cost: 12 µs (measured here)\n"]),
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


# The faults: how a good notebook is broken, so that a rule finds it.


def first_with(notebook, wanted, kind="code"):
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == kind]
    return next(cell for cell in cells if wanted in "".join(cell["source"]))


def first_output(notebook):
    return next(cell["outputs"][0] for cell in code_cells(notebook) if cell["outputs"])


def pictures(notebook):
    return [each for _, each in rules.outputs(notebook) if "image/png" in each.get("data", {})]


def alt(notebook, which=0):
    """What the output of a picture says about it, its alternative text among them."""
    return pictures(notebook)[which]["metadata"]["image/png"]


def in_prose(old, new):
    """What breaks a notebook: another text in its prose."""
    return lambda notebook: replace(notebook["cells"], old, new, "markdown")


def in_code(old, new):
    """What breaks a notebook: another text in the first code cell that has this one."""
    return lambda notebook: replace([first_with(notebook, old)], old, new, "code")


def replace(cells, old, new, kind):
    cells = [cell for cell in cells if cell["cell_type"] == kind and old in text_of(cell)]
    assert cells
    for cell in cells:
        cell["source"] = [text_of(cell).replace(old, new)]


def in_outputs(old, new):
    """What breaks a notebook: another text in what it has printed."""

    def break_it(notebook):
        for _, output in rules.outputs(notebook):
            if "text" in output:
                output["text"] = ["".join(output["text"]).replace(old, new)]

    return break_it


def tag(notebook, cell, name):
    cell["metadata"].setdefault("tags", []).append(name)


def fold(notebook, wanted):
    cell = first_with(notebook, wanted, "markdown")
    cell["metadata"]["jp-MarkdownHeadingCollapsed"] = True


# Rule -> what breaks it. Each fault is of another kind.
FAULTS = {
    rules.runs_once_from_top_to_bottom: [
        lambda n: code_cells(n)[3].update(execution_count=7),
    ],
    rules.ends_without_errors_and_warnings: [
        lambda n: first_output(n).update(name="stderr"),
        lambda n: first_output(n).update(output_type="error"),
    ],
    rules.tells_nothing_about_the_machine: [
        lambda n: first_output(n).update(text=["/home/ada/x.py"]),
        lambda n: first_output(n).update(text=["ada@laptop"]),
        lambda n: first_output(n).update(data={"text/html": "/tmp/a"}),
    ],
    rules.output_is_compared: [
        lambda n: tag(n, code_cells(n)[2], "nbval-skip"),
        lambda n: code_cells(n)[2].update(source=["# NBVAL_SKIP\n", "1"]),
        lambda n: tag(n, first_with(n, "import sys"), "nbval-ignore-output"),
        lambda n: [tag(n, first_with(n, f"draw('{x}"), "nbval-ignore-output") for x in "fb"],
    ],
    rules.is_small: [
        lambda n: first_output(n).update(text=["x" * 1_000_001]),
        lambda n: code_cells(n)[1].update(source=["a = 1\n"] * 25),
    ],
    rules.was_refreshed_after_the_last_change: [
        in_code("print(10)", "print(11)"),
        in_outputs("12 µs (measured", "120 µs (measured"),
        in_prose("Three", "Four"),
        lambda n: pictures(n)[0].update(data=pictures(n)[-1]["data"]),
        lambda n: tag(n, code_cells(n)[2], "img:other"),
        lambda n: n["cells"][6]["metadata"]["slideshow"].update(slide_type="notes"),
    ],
    rules.has_the_agreed_metadata: [
        lambda n: n["metadata"]["language_info"].update(version="3.11.7"),
        lambda n: n["metadata"]["colab"].update(collapsed_sections=["other"]),
    ],
    rules.opens_as_agreed: [in_code("--no-deps ", ""), in_prose("/blob/main/", "/blob/master/")],
    rules.begins_with_its_framework: [in_code("print(10)", 'import_framework("jax")')],
    rules.has_all_its_parts: [
        in_prose("**Prerequisites:**", "Prerequisites:"),
        in_prose("## Next", "## Further"),
        in_prose("## Ten", "# Ten"),
        in_prose(f"**About {MINUTES} ", "**About 99 "),
        lambda n: n["cells"].append(n["cells"].pop(0)),
    ],
    rules.takes_an_hour_at_most: [lambda n: n["cells"].append(markdown("Word " * 9_000))],
    rules.says_what_it_needs: [
        in_prose("**Prerequisites:** ", "**Prerequisites:** a C compiler, ")
    ],
    rules.says_in_a_list_what_it_is_about: [
        in_prose("- Read it.", "Read it."),
        in_prose("- Two.", "- Two." + "\n- More." * 3),
    ],
    rules.exercises_are_open_and_solved: [
        in_outputs("not yet", "right"),
        in_outputs("right", "not right: your answer gives 1"),
        lambda n: first_with(n, "## Solutions", "markdown").update(metadata={}),
        lambda n: fold(n, "## Summary"),
    ],
    rules.exercises_have_headings: [
        in_prose("### Exercise 2: a f", "**2.** A f"),
        in_prose("### Exercise 3: two words", "### Exercise 3"),
        in_prose("### Exercise", "**Exercise**"),
        in_prose("- One.", "- One, in exercise 4."),
        in_prose("### Solution 2", "**2.**"),
    ],
    rules.an_exercise_asks_for_code: [
        lambda n: n["cells"].remove(first_with(n, "def one_more_s")),
    ],
    rules.exercises_stay_open_after_run_all: [
        in_code("def one_more_s", "def one_more(): pass\ndef one_more_s"),
        in_code("def one_more_s", "import re as word\ndef one_more_s"),
    ],
    rules.exercises_show_what_is_to_be_replaced: [
        in_code("number = ...", "number = 0"),
        in_code("check(number, ", "check(... or number, "),
    ],
    rules.solutions_pass_the_check_of_their_exercise: [
        in_code("check(number, 3", "check(number, 1 + 2"),
        lambda n: n["cells"].remove(first_with(n, "check(('a'")),
    ],
    rules.lines_fit_on_page_and_slide: [
        in_code("print(10)", f"print({'1' * 73})"),
        lambda n: first_output(n).update(text=["x" * 89, "\n"]),
    ],
    rules.links_lead_where_they_say: [
        in_prose(".ipynb)", ".ipnyb)"),
        in_prose("(04_programs_as_graphs", "(https://d2l.ai/x"),
    ],
    rules.measured_times_are_above_zero: [in_outputs(": 12 µs (measured", ": 0 µs (measured")],
    rules.pictures_can_be_read_aloud: [
        in_prose("Open in Colab", ""),
        lambda n: alt(n, 1).update(alt=alt(n)["alt"]),
        lambda n: alt(n).update(alt="A figure that is another one" * 2),
    ],
    rules.pictures_are_sharp_and_whole: [
        lambda n: pictures(n)[0].update(metadata={}),
        lambda n: alt(n).update(figure=[280, 200]),
    ],
    rules.has_slides: [
        lambda n: n["cells"][4].update(metadata={}),
        lambda n: [c["metadata"]["slideshow"].update(slide_type="-") for c in n["cells"]],
        lambda n: n["cells"][2]["metadata"]["slideshow"].update(slide_type="-"),
        lambda n: n["cells"][3]["metadata"]["slideshow"].update(slide_type="slide"),
        lambda n: n["cells"][12]["metadata"]["slideshow"].update(slide_type="subslide"),
    ],
    rules.saved_code_is_the_packages: [
        in_code("return a + b", "return b + a"),
        in_code("# @save\ndef add_", "# @save\nx, y = 1, 2\ndef add_"),
        in_code("@save\ndef add_", "@save\n\ndef add_"),
    ],
}


@pytest.mark.parametrize(
    ("rule", "break_it"), [(rule, one) for rule, faults in FAULTS.items() for one in faults]
)
def test_rule_finds_its_fault(rule, break_it):
    notebook = sample()
    break_it(notebook)
    assert list(rule(notebook, NAME))


def test_every_rule_is_tried():
    assert set(FAULTS) == set(RULES)


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
    in_code("print(10)", second_cell)(notebook)
    assert len(list(rules.begins_with_its_framework(notebook, NAME))) == faults


@pytest.mark.parametrize(("call", "faults"), [("print(10)", 0), ('import_framework("jax")', 1)])
def test_a_notebook_that_compares_all_frameworks_imports_none(monkeypatch, call, faults):
    notebook = sample()  # first, since it is made only once
    monkeypatch.setitem(ENTRIES[NAME], "needs", ["others"])
    in_code("print(10)", call)(notebook)
    assert len(list(rules.begins_with_its_framework(notebook, NAME))) == faults
    assert len(list(rules.opens_as_agreed(notebook, NAME))) == 1  # Colab's lines are missing
    code_cells(notebook)[0]["source"] = [first_cell(ENTRIES[NAME])]
    assert list(rules.opens_as_agreed(notebook, NAME)) == []
    assert len(list(rules.says_what_it_needs(notebook, NAME))) == 1
    in_prose("Python.", "the other frameworks, as many as you have.")(notebook)
    assert list(rules.says_what_it_needs(notebook, NAME)) == []


def test_a_fingerprint_does_not_depend_on_how_texts_are_split_into_lines():
    path = ROOT / "notebooks" / "02_symbolic_programs.ipynb"
    whole = nbformat.read(path, as_version=4)
    assert isinstance(load(path)["cells"][0]["source"], list)
    assert isinstance(whole.cells[0].source, str)
    assert fingerprint(whole) == fingerprint(load(path))
