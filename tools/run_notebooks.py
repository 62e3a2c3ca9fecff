"""Run notebooks and store their outputs: `course.py refresh` starts this in the environment,
where nbclient is.
"""

import json
import os
import re
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from d2lhybrid.plot.course_map import plot_course_map

from .files import NOTEBOOKS, ROOT, write
from .manifest import course, notebooks
from .notebook import agreed_metadata, fingerprint, pictures

QUIET = 5  # per cent: a machine whose noise floor is larger should not make the stored outputs


def run_notebooks(paths, busy=False):
    """Run notebooks with the Python that runs this file, and store what they put out.

    Returns 1 if a machine that was too busy has kept one of them from being stored; if `busy`, it
    is stored.
    """
    status = 0
    for path in paths:
        notebook = nbformat.read(path, as_version=4)
        stored, now = notebook.metadata.get("outputs_of", ""), fingerprint(notebook)
        agreed = {**agreed_metadata(notebook), "outputs_of": now}
        if notebook.metadata != agreed and stored[:8] == now[:8]:
            print(f"{path.name}: only text was changed, so nothing is run; refresh again to run it")
        else:
            print("running", path.name, flush=True)
            run_notebook(notebook)
            noise = noise_floor(notebook)
            if noise > QUIET and not busy:
                print(f"not stored: the machine is busy, with a noise floor of {noise:.1f}%")
                status = 1
                continue
        store(notebook, path)
    return status


def run_notebook(notebook):
    """Run a notebook from top to bottom on a fresh kernel."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    for name in ("MPLBACKEND", "JPY_SESSION_NAME"):  # the kernel's own backend, and no JupyterLab
        os.environ.pop(name, None)
    NotebookClient(
        notebook,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(NOTEBOOKS)}},
    ).execute()


def noise_floor(notebook):
    """The largest noise floor, in per cent, in the outputs of a notebook; 0 without any.

    One that is not known, since there were too few rounds, is infinite.
    """
    texts = json.dumps([cell["outputs"] for cell in notebook["cells"] if "outputs" in cell])
    floors = re.findall(r"noise floor (?:([\d.]+)%|not known)", texts)
    return max((float(floor or "inf") for floor in floors), default=0)


def store(notebook, path):
    """Write a notebook, with its fingerprint, and its pictures for the README."""
    notebook.metadata = {**agreed_metadata(notebook), "outputs_of": fingerprint(notebook)}
    write(path, f"{nbformat.writes(notebook)}\n".encode())
    for name, png in pictures(notebook).items():
        write(ROOT / "img" / f"{name}.png", png)
    if path.name == notebooks()[0].name:
        for language in course()["map"]["yours"]:
            write(ROOT / "img" / f"course_map.{language}.svg", course_map(language).encode())


def course_map(language):
    """The map of the course for README, as SVG that is dark where its reader's pages are."""
    dark = "@media (prefers-color-scheme:dark){svg{--picture-ink:#eee;--picture-ground:#161b22}}"
    svg = plot_course_map(language).svg
    return svg.replace("<title>", f"<style>{dark}</style>\n<title>", 1)


if __name__ == "__main__":
    paths = [Path(one) for one in sys.argv[1:] if one != "--busy"]
    sys.exit(run_notebooks(paths, "--busy" in sys.argv))
