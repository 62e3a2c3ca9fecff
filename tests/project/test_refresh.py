"""`course.py refresh` runs a notebook if it must, and stores what it put out."""

import json

import nbformat
import pytest
from checkout import files_in, load_course
from notebook_rules import code_cells, was_refreshed_after_the_last_change


def put_out(self):
    """What a run of the notebook `small` would put out: a text and a picture."""
    shown = {"image/png": {"alt": "Two bars."}}
    for number, cell in enumerate(code_cells(self.nb), 1):
        cell.execution_count = number
        cell.outputs = [nbformat.v4.new_output("stream", text="one\ntwo\n")]
        cell.outputs.append(nbformat.v4.new_output("display_data", metadata=shown))


@pytest.fixture
def small(copy, monkeypatch):
    """A notebook of a thousand lines and a few cells; it needs no kernel to be run."""
    monkeypatch.setattr("nbclient.NotebookClient.execute", put_out)
    path = copy / "notebooks" / "10_small.ipynb"
    cells = [nbformat.v4.new_code_cell("for word in words:\n    print(word)", id="a")]
    cells.append(nbformat.v4.new_markdown_cell("A line.\n" * 1000, id="b"))
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def test_refresh_stores_outputs_and_their_fingerprint(copy, small):
    small.chmod(0o640)
    load_course(copy).run_notebooks.run_notebooks([small])
    notebook = json.loads(small.read_bytes())
    text, picture = code_cells(notebook)[0]["outputs"]
    assert text["text"] == ["one\n", "two\n"]
    assert picture["metadata"]["image/png"]["alt"] == "Two bars."
    assert list(was_refreshed_after_the_last_change(notebook, small.name)) == []
    assert small.stat().st_mode & 0o777 == 0o640
    assert small.read_bytes().endswith(b"}\n")


@pytest.mark.parametrize(
    ("change", "runs"),
    [
        (lambda notebook: notebook["cells"][1].update(source="Another sentence."), 0),
        (lambda notebook: notebook["metadata"].clear(), 1),
        (lambda notebook: notebook["cells"][0].update(source="print('three')"), 1),
        (lambda notebook: notebook["cells"][0]["outputs"][0].update(text="three"), 1),
        (lambda notebook: None, 1),
    ],
)
def test_refresh_runs_a_notebook_unless_only_its_text_was_changed(
    copy, small, change, runs, capsys
):
    course = load_course(copy)
    course.run_notebooks.run_notebooks([small])
    notebook = json.loads(small.read_bytes())
    change(notebook)
    small.write_text(json.dumps(notebook))
    capsys.readouterr()
    course.run_notebooks.run_notebooks([small])
    assert capsys.readouterr().out.count("running") == runs
    assert list(was_refreshed_after_the_last_change(json.loads(small.read_bytes()), "")) == []


def test_full_disk_leaves_every_file_as_it_was(copy, small):
    resource = pytest.importorskip("resource")
    before, limits = files_in(copy), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))  # no file may grow beyond it
    try:
        with pytest.raises(OSError, match="too large"):
            load_course(copy).run_notebooks.run_notebooks([small])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert files_in(copy) == before


@pytest.mark.parametrize(
    ("floor", "busy", "stored"),
    [
        ("4.9%", False, True),
        ("29.1%", False, False),
        ("not known", False, False),
        ("29.1%", True, True),
    ],
)
def test_refresh_stores_no_outputs_of_a_busy_machine_unless_asked(
    copy, small, monkeypatch, capsys, floor, busy, stored
):
    def measure(self):
        put_out(self)
        for text in ("noise floor 0.2%, 90 rounds", f"noise floor {floor}, 10 rounds"):
            code_cells(self.nb)[0].outputs.append(nbformat.v4.new_output("stream", text=text))

    monkeypatch.setattr("nbclient.NotebookClient.execute", measure)
    before = small.read_bytes()
    status = load_course(copy).run_notebooks.run_notebooks([small], busy)
    printed = capsys.readouterr().out
    assert (small.read_bytes() != before) == stored
    assert (status == 0) == stored
    assert ("not stored: the machine is busy" in printed) == (not stored)
