"""What `read` and `handout` make of the course's notebooks, and what they never overwrite."""

import json
import platform
import re
import subprocess
import sys
from base64 import b64encode

import nbformat
import pytest
from checkout import files_in, load_course
from notebook_rules import ROOT, code_cells, load, prose

FIRST, SECOND = "01_imperative_programs", "02_symbolic_programs"
KERNEL = {
    "kernelspec": {"display_name": "Python 3 (here)", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "version": "3.12.1"},
}


@pytest.fixture
def course(copy, monkeypatch):
    """The course in a copy, where all seems installed, and what it starts is noted instead."""
    course = load_course(copy)
    monkeypatch.setattr(course.environment, "set_up", lambda: None)
    monkeypatch.setattr(course.environment, "is_installed", lambda name: True)
    monkeypatch.setattr(course.reading, "kernel_metadata", lambda: KERNEL)
    course.commands = []
    run = lambda command, **k: course.commands.append([*map(str, command)])  # noqa: E731
    monkeypatch.setattr(course.environment, "run", run)
    return course


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


def test_read_opens_the_first_notebook_wherever_its_address_is_pasted(course):
    course.main("read")
    (command,) = course.commands
    assert command[1:3] == ["-m", "jupyterlab"]
    assert f"--ServerApp.root_dir={course.files.ROOT}" in command
    assert f"--LabApp.default_url=/lab/tree/work/{course.manifest.notebooks()[0].name}" in command
    (folder,) = [re.sub(".*=", "", part) for part in command if "app_settings_dir" in part]
    assert json.loads((course.files.WORK / ".jupyterlab" / "overrides.json").read_bytes())
    assert folder == str(course.files.WORK / ".jupyterlab")


def test_a_working_copy_has_no_outputs_and_all_that_jupyterlab_adds(course):
    stored = files_in(course.files.NOTEBOOKS)
    course.main("read")
    assert files_in(course.files.NOTEBOOKS) == stored
    copies = sorted(course.files.WORK.glob("*.ipynb"))
    assert [path.name for path in copies] == [path.name for path in course.manifest.notebooks()]
    for path in copies:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        assert {**notebook.metadata, **KERNEL} == notebook.metadata
        cells = code_cells(notebook)
        assert [cell.outputs for cell in cells] == [[]] * len(cells)
        assert [cell.execution_count for cell in cells] == [None] * len(cells)
        assert [cell.source for cell in cells] == [
            "".join(cell["source"]) for cell in code_cells(load(course.files.NOTEBOOKS / path.name))
        ]
        assert "Open in Colab" not in prose(notebook)
        assert "## Solutions" in prose(notebook)


def test_what_jupyterlab_adds_is_that_of_the_environment(copy):
    course = load_course(copy)
    course.environment.VENV, course.environment.VENV_PYTHON = copy, sys.executable
    found = course.reading.kernel_metadata()
    assert found["language_info"]["version"] == platform.python_version()
    assert found["language_info"]["pygments_lexer"] == "ipython3"
    assert found["kernelspec"]["display_name"].startswith("Python 3")


# What happens between two calls of `read`, what then stands last in each copy, and what is said.
UPDATES = [
    ("", {"": "old"}, None),
    ("course", {"": "course 1"}, None),
    ("reader", {"": "reader 1"}, None),
    ("reader course", {"": "reader 1", "-2": "course 2"}, f"work/{FIRST}-2.ipynb"),
    ("reader course course", {"": "reader 1", "-2": "course 3"}, f"work/{FIRST}-2.ipynb"),
    (
        "reader course reader-2 course",
        {"": "reader 1", "-2": "reader 3", "-3": "course 4"},
        f"work/{FIRST}-3.ipynb",
    ),
    ("reader course remove-2", {"": "reader 1", "-2": "course 2"}, f"work/{FIRST}-2.ipynb"),
    ("reader remove", {"": "old"}, None),
    ("damage course", {"": "damaged", "-2": "course 2"}, f"work/{FIRST}-2.ipynb"),
]


@pytest.mark.parametrize(("steps", "copies", "said"), UPDATES)
def test_a_copy_that_a_reader_has_changed_is_never_overwritten(course, steps, copies, said, capsys):
    source = course.files.NOTEBOOKS / f"{FIRST}.ipynb"
    change(source, "old")
    course.reading.read()
    for number, step in enumerate(steps.split(), 1):
        who, _, which = step.partition("-")
        copy = course.files.WORK / (f"{FIRST}-{which}.ipynb" if which else f"{FIRST}.ipynb")
        if who == "remove":
            copy.unlink()
        elif who == "damage":
            copy.write_text('{"cells": [{"source": "damaged"}], "metadata": []}')
        else:
            change(source if who == "course" else copy, f"{who} {number}")
        capsys.readouterr()
        course.reading.read()
    assert last_lines(course) == copies
    printed = capsys.readouterr().out
    assert said in printed if said else printed == ""
    assert len(list(course.files.WORK.glob(f"{SECOND}*"))) == 1


def test_a_copy_that_was_only_opened_and_saved_is_not_a_readers(course):
    course.reading.read()
    path = course.files.WORK / f"{FIRST}.ipynb"
    saved = load(path)
    saved["metadata"]["language_info"]["version"] = "3.13.0"
    path.write_text(json.dumps(saved))
    change(course.files.NOTEBOOKS / f"{FIRST}.ipynb", "new")
    course.reading.read()
    assert last_lines(course) == {"": "new"}


def test_a_copy_that_is_as_it_should_be_is_not_written_again(course):
    course.reading.read()
    path = course.files.WORK / f"{FIRST}.ipynb"
    path.chmod(0o444)
    before = path.stat().st_mtime_ns
    course.reading.read()
    assert path.stat().st_mtime_ns == before


def test_git_ignores_what_the_commands_make(course):
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    for name in ("WORK", "HANDOUT", "SLIDES", "MARKS"):
        assert f"/{getattr(course.files, name).name}/" in ignored


@pytest.mark.parametrize("solutions", [False, True])
def test_a_handout_has_no_outputs_and_solutions_only_on_request(course, solutions, capsys):
    course.main("handout", *["--solutions"] * solutions)
    names = [path.stem + "-solutions" * solutions for path in course.manifest.notebooks()]
    assert [path.stem for path in sorted(course.files.HANDOUT.iterdir())] == names
    assert f"{len(names)} notebooks are in handout/" in capsys.readouterr().out
    for path in course.files.HANDOUT.iterdir():
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        assert not any(cell.outputs for cell in code_cells(notebook))
        assert "## Exercises" in prose(notebook)
        assert "## Where next" in prose(notebook)
        assert "Open in Colab" not in prose(notebook)
        stored = load(course.files.NOTEBOOKS / f"{path.stem.removesuffix('-solutions')}.ipynb")
        gone = {cell["id"] for cell in stored["cells"]} - {cell["id"] for cell in notebook.cells}
        assert ("## Solutions" in prose(notebook)) == solutions
        assert (len(gone) == 1) == solutions  # the badge
        assert notebook.metadata.title in prose(notebook)
        assert ("colab" in notebook.metadata) == solutions


def test_a_handout_leads_to_what_was_handed_out_and_otherwise_to_the_web(course):
    path = course.files.NOTEBOOKS / f"{FIRST}.ipynb"
    change(
        path, "[a](02_symbolic_programs.ipynb#Step-1) [b](../README.md) [c](https://d2l.ai) [d](#e)"
    )
    course.main("handout", "--solutions", str(path))
    web = f"https://github.com/{course.manifest.repository()}/blob/main"
    text = prose(load(course.files.HANDOUT / f"{FIRST}-solutions.ipynb"))
    assert f"[a]({web}/notebooks/02_symbolic_programs.ipynb#Step-1) [b]({web}/README.md)" in text
    assert "[c](https://d2l.ai) [d](#e)" in text
    course.main("handout", "--solutions")
    text = prose(load(course.files.HANDOUT / f"{FIRST}-solutions.ipynb"))
    assert "[a](02_symbolic_programs-solutions.ipynb#Step-1)" in text


def test_handout_names_an_option_that_it_does_not_have(course, capsys):
    with pytest.raises(SystemExit):
        course.main("handout", "--pdf")
    assert "there is no --pdf here" in capsys.readouterr().err
    assert not course.files.HANDOUT.exists()


DRAWING = '<svg role="img" xmlns="http://www.w3.org/2000/svg"><desc>Three &amp; four</desc></svg>'


@pytest.fixture
def small(course, monkeypatch):
    """A course of one notebook with a picture, a drawing, a note and solutions."""
    shown = {"width": 100, "height": 50, "alt": 'Two "bars"'}
    data = {"image/png": "iVBORw0KGgo=", "text/plain": "Two"}
    pictures = [nbformat.v4.new_output("display_data", data=data, metadata={"image/png": shown})]
    shown = {"width": 200, "height": 50, "alt": "Three & four"}
    data = data | {"image/svg+xml": DRAWING, "text/plain": "Three & four"}
    pictures.append(
        nbformat.v4.new_output("display_data", data=data, metadata={"image/png": shown})
    )
    cells = [
        nbformat.v4.new_markdown_cell("# Small & good", metadata=slide("slide")),
        nbformat.v4.new_markdown_cell("[more](../README.md)", metadata=slide("-")),
        nbformat.v4.new_code_cell("draw()", outputs=pictures, metadata=slide("fragment")),
        nbformat.v4.new_markdown_cell("Say it slowly.", metadata=slide("notes")),
        nbformat.v4.new_markdown_cell(
            "## Solutions", metadata={"jp-MarkdownHeadingCollapsed": True, **slide("skip")}
        ),
        nbformat.v4.new_markdown_cell("The answer.", metadata=slide("skip")),
        nbformat.v4.new_markdown_cell("## Where next", metadata=slide("slide")),
    ]
    path = course.files.NOTEBOOKS / "10_small.ipynb"
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"title": "Small & good"})
    nbformat.write(notebook, path)
    course.environment.VENV_PYTHON = sys.executable
    monkeypatch.setattr(course.environment, "run", subprocess.call)
    return path


def slide(kind):
    return {"slideshow": {"slide_type": kind}}


@pytest.mark.parametrize("solutions", [False, True])
def test_a_page_has_a_title_texts_of_pictures_and_folded_solutions(course, small, solutions):
    status = course.main("handout", "--html", str(small), *["--solutions"] * solutions)
    assert status == 0
    (page,) = course.files.HANDOUT.iterdir()
    assert page.name == f"10_small{'-solutions' * solutions}.html"
    text = page.read_text(encoding="utf-8")
    assert "<title>Small &amp; good</title>" in text
    assert re.search(r'<img[^>]* alt="Two &quot;bars&quot;|<img[^>]* alt=\'Two "bars"\'', text)
    assert DRAWING in text
    assert len(re.findall("<img[^>]*image/png", text)) == 1  # not the drawing's PNG, too
    assert f"github.com/{course.manifest.repository()}/blob/main/README.md" in text
    folded = (
        r"<details>\s*<summary>Solutions</summary>(.(?!</details>))*The answer\..*</details>.*next"
    )
    assert bool(re.search(folded, text, re.DOTALL)) == solutions
    assert ("The answer." in text) == solutions
    assert "<script" not in text  # nothing is loaded from the web


@pytest.mark.parametrize("installed", [False, True])
def test_a_deck_has_texts_of_pictures_notes_and_what_shows_it(
    course, small, installed, monkeypatch, capsys
):
    monkeypatch.setattr(course.teaching, "answers", lambda url: False)
    if installed:
        (course.files.ROOT / "node_modules" / "reveal.js").mkdir(parents=True)
    assert course.main("slides", str(small)) == 0
    assert ("no network" in capsys.readouterr().out) == (not installed)
    (deck,) = course.files.SLIDES.iterdir()
    text = deck.read_text(encoding="utf-8")
    where = (
        "../node_modules/reveal.js" if installed else f"https://unpkg.com/{course.teaching.REVEAL}"
    )
    sources = re.findall(r'<(?:script|link)[^>]* (?:src|href)="([^"]*)"', text)
    assert sorted(sources) == [
        f"{where}/{file}"
        for file in (
            "dist/reveal.css",
            "dist/reveal.js",
            "dist/theme/white.css",
            "plugin/notes/notes.js",
        )
    ]
    assert re.search(r'<aside class="notes">.*Say it slowly\..*</aside>', text, re.DOTALL)
    assert "width: 180px" in text  # 1.8 times
    assert "Two &quot;bars&quot;" in text or "alt='Two \"bars\"'" in text
    drawing = f"data:image/svg+xml;base64,{b64encode(DRAWING.encode()).decode()}"
    assert f'<img alt="Three &amp; four" src="{drawing}" style="width: 360px' in text
    assert len(re.findall("<img[^>]*image/png", text)) == 1
    assert "The answer." not in text


def test_the_teaching_plan_names_the_reveal_of_the_decks(course):
    command = f"npm install --no-save {course.teaching.REVEAL}`"
    assert command in (ROOT / "TEACHING.md").read_text("utf-8")
