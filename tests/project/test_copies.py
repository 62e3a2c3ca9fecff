"""What `read`, `handout` and `slides` make of the course's notebooks, and never overwrite."""

import json
import re
import subprocess
from pathlib import Path

import nbformat
import pytest
from checkout import files_in
from notebook_rules import code_cells, load, prose

FIRST, SECOND = "01_imperative_programs", "02_symbolic_programs"


def change(path, text):
    """Write a line at the end of a notebook, as its author or its reader would."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.append(nbformat.v4.new_markdown_cell(text))
    nbformat.write(notebook, path)


def last_lines(course):
    """From the name of each copy of the first notebook to what stands last in it."""
    return {
        path.stem.removeprefix(FIRST): "".join(load(path)["cells"][-1]["source"])
        for path in sorted(course.files.WORK.glob(f"{FIRST}*"))
    }


def test_read_opens_copies_without_outputs_at_the_first_notebook(course):
    stored = files_in(course.files.NOTEBOOKS)
    course.main("read")
    (command,) = course.commands
    assert command[1:3] == ["-m", "jupyterlab"]
    assert f"--ServerApp.root_dir={course.files.ROOT}" in command
    assert f"--LabApp.default_url=/lab/tree/work/{course.manifest.notebooks()[0].name}" in command
    (settings,) = [one.partition("=")[2] for one in command if "app_settings_dir" in one]
    assert json.loads((Path(settings) / "overrides.json").read_bytes())
    assert files_in(course.files.NOTEBOOKS) == stored
    copies = sorted(course.files.WORK.glob("*.ipynb"))
    assert [path.name for path in copies] == [path.name for path in course.manifest.notebooks()]
    for path in copies:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        cells = code_cells(notebook)
        assert not any(cell.outputs or cell.execution_count for cell in cells)
        original = code_cells(load(course.files.NOTEBOOKS / path.name))
        assert [cell.source for cell in cells] == ["".join(cell["source"]) for cell in original]
        assert "Open in Colab" not in prose(notebook)
        assert "## Solutions" in prose(notebook)


# What happens between two calls of `read`, what then stands last in each copy, and what is said.
UPDATES = [
    ("course", {"": "course 1"}, None),
    ("reader", {"": "reader 1"}, None),
    ("reader course", {"": "reader 1", "-2": "course 2"}, f"work/{FIRST}-2.ipynb"),
    ("reader course course", {"": "reader 1", "-2": "course 3"}, f"work/{FIRST}-2.ipynb"),
    (
        "reader course reader-2 course",
        {"": "reader 1", "-2": "reader 3", "-3": "course 4"},
        f"work/{FIRST}-3.ipynb",
    ),
    ("save course", {"": "course 2"}, None),
    ("damage course", {"": "damaged", "-2": "course 2"}, f"work/{FIRST}-2.ipynb"),
]


@pytest.mark.parametrize(("steps", "copies", "said"), UPDATES)
def test_changed_copy_is_never_overwritten(course, steps, copies, said, capsys):
    source = course.files.NOTEBOOKS / f"{FIRST}.ipynb"
    change(source, "old")
    course.reading.read()
    for number, step in enumerate(steps.split(), 1):
        who, _, which = step.partition("-")
        copy = course.files.WORK / (f"{FIRST}-{which}.ipynb" if which else f"{FIRST}.ipynb")
        if who == "damage":
            copy.write_text('{"cells": [{"source": "damaged"}], "metadata": []}')
        elif who == "save":  # JupyterLab adds such things to a notebook that was only opened
            saved = load(copy)
            saved["metadata"]["language_info"]["version"] = "3.13.0"
            copy.write_text(json.dumps(saved))
        else:
            change(source if who == "course" else copy, f"{who} {number}")
        capsys.readouterr()
        course.reading.read()
    assert last_lines(course) == copies
    printed = capsys.readouterr().out
    assert said in printed if said else "work/" not in printed
    assert len(list(course.files.WORK.glob(f"{SECOND}*"))) == 1


@pytest.mark.parametrize("solutions", [False, True])
def test_handout_has_no_outputs_and_solutions_only_on_request(course, solutions):
    course.main("handout", *["--solutions"] * solutions)
    names = [path.stem + "-solutions" * solutions for path in course.manifest.notebooks()]
    assert [path.stem for path in sorted(course.files.HANDOUT.iterdir())] == names
    for path in course.files.HANDOUT.iterdir():
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        assert not any(cell.outputs for cell in code_cells(notebook))
        assert "## Exercises" in prose(notebook)
        assert "## Next" in prose(notebook)
        assert "Open in Colab" not in prose(notebook)
        assert ("## Solutions" in prose(notebook)) == solutions
        stored = load(course.files.NOTEBOOKS / f"{path.stem.removesuffix('-solutions')}.ipynb")
        gone = {cell["id"] for cell in stored["cells"]} - {cell["id"] for cell in notebook.cells}
        assert (len(gone) == 1) == solutions  # the badge


def test_links_of_a_handout_lead_to_handouts_or_to_the_web(course):
    path = course.files.NOTEBOOKS / f"{FIRST}.ipynb"
    change(path, f"[a]({SECOND}.ipynb#Step-1) [b](../README.md) [c](https://d2l.ai) [d](#e)")
    course.main("handout", "--solutions", str(path))
    web = f"https://github.com/{course.manifest.repository()}/blob/main"
    text = prose(load(course.files.HANDOUT / f"{FIRST}-solutions.ipynb"))
    assert f"[a]({web}/notebooks/{SECOND}.ipynb#Step-1) [b]({web}/README.md)" in text
    assert "[c](https://d2l.ai) [d](#e)" in text
    course.main("handout", "--solutions")
    text = prose(load(course.files.HANDOUT / f"{FIRST}-solutions.ipynb"))
    assert f"[a]({SECOND}-solutions.ipynb#Step-1)" in text


DRAWING = '<svg role="img" xmlns="http://www.w3.org/2000/svg"><desc>Three &amp; four</desc></svg>'


@pytest.fixture
def small(course, monkeypatch):
    """A course of one notebook with a picture, a drawing, a note and solutions."""
    shown = [{"image/png": {"width": 100 * n, "height": 50, "alt": f"Number {n}"}} for n in (1, 2)]
    data = {"image/png": "iVBORw0KGgo=", "text/plain": "Two"}
    kinds = [data, data | {"image/svg+xml": DRAWING}]
    pictures = [
        nbformat.v4.new_output("display_data", data=one, metadata=metadata)
        for one, metadata in zip(kinds, shown, strict=True)
    ]
    texts = ["# Small & good", "Say it slowly.", "## Solutions", "The answer.", "## Next"]
    types = ["slide", "notes", "skip", "skip", "slide"]
    cells = [
        nbformat.v4.new_markdown_cell(text, metadata={"slideshow": {"slide_type": kind}})
        for text, kind in zip(texts, types, strict=True)
    ]
    cells[2].metadata["jp-MarkdownHeadingCollapsed"] = True
    cells.insert(1, nbformat.v4.new_code_cell("draw()", outputs=pictures))
    path = course.files.NOTEBOOKS / "10_small.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"title": "Small & good"}), path)
    monkeypatch.setattr(course.environment, "run", subprocess.call)
    return path


@pytest.mark.parametrize("solutions", [False, True])
def test_page_has_a_title_alternative_texts_and_folded_solutions(course, small, solutions):
    assert course.main("handout", "--html", str(small), *["--solutions"] * solutions) == 0
    (page,) = course.files.HANDOUT.iterdir()
    assert page.name == f"10_small{'-solutions' * solutions}.html"
    text = page.read_text(encoding="utf-8")
    assert "<title>Small &amp; good</title>" in text
    assert re.search(r'<img[^>]* alt="Number 1"', text)
    assert DRAWING in text
    assert len(re.findall("<img[^>]*image/png", text)) == 1  # not the drawing's PNG, too
    folded = r"<details>\s*<summary>Solutions</summary>(.(?!</details>))*The answer\..*</details>"
    assert bool(re.search(f"{folded}.*Next", text, re.DOTALL)) == solutions
    assert ("The answer." in text) == solutions
    assert "<script" not in text  # nothing is loaded from the web


@pytest.mark.parametrize("installed", [False, True])
def test_deck_has_alternative_texts_notes_and_what_shows_it(course, small, installed):
    if installed:
        (course.files.ROOT / "node_modules" / "reveal.js").mkdir(parents=True)
    assert course.main("slides", str(small)) == 0
    (deck,) = course.files.SLIDES.iterdir()
    text = deck.read_text(encoding="utf-8")
    web = f"https://unpkg.com/{course.handouts.REVEAL}"
    sources = re.findall(r'<(?:script|link)[^>]* (?:src|href)="([^"]*)"', text)
    where = "../node_modules/reveal.js" if installed else web
    assert len(sources) == 4
    assert all(source.startswith(f"{where}/") for source in sources)
    assert re.search(r'<aside class="notes">.*Say it slowly\..*</aside>', text, re.DOTALL)
    assert re.search(r'<img alt="Number 2" src="data:image/svg\+xml;base64', text)
    assert "The answer." not in text
