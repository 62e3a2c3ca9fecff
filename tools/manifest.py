"""The course as course.toml describes it: parts, notebooks in reading order, what they need."""

import functools
import os
import re
import tomllib
from pathlib import Path

from .files import NOTEBOOKS, ROOT


@functools.cache
def course():
    """All that course.toml says, as Python reads it."""
    return tomllib.loads((ROOT / "course.toml").read_text("utf-8"))


def entries():
    """What course.toml says of each notebook, in reading order."""
    return [entry for part in course()["parts"] for entry in part["notebooks"]]


def notebooks():
    """The paths of the course's own notebooks, in reading order."""
    return [NOTEBOOKS / f"{entry['name']}.ipynb" for entry in entries()]


def named_or_all(paths):
    """The notebooks named, or all of the course. FileNotFoundError where one is not there."""
    return [Path(path).resolve(strict=True) for path in paths] or notebooks()


def entries_in(paths):
    """What course.toml says of the notebooks that are in files or folders; without any, of all.

    A path may end with the name of a cell, as pytest writes it: `02_name.ipynb::Cell 3`.
    """
    paths = [ROOT / str(path).partition("::")[0] for path in paths]
    paths = [path.resolve() for path in paths if os.path.exists(path)]

    def is_in(path):
        return not paths or any(one in (path, *path.parents) for one in paths)

    return [entry for entry, path in zip(entries(), notebooks(), strict=True) if is_in(path)]


def needed(kind, of=None):
    """What notebooks need, as course.toml names it: all of them, or those of the entries.

    `kind` is "commands", "packages", "frameworks", "compared_with" or "colab".
    """
    needs = course()["needs"]
    names = [name for entry in (entries() if of is None else of) for name in entry["needs"]]
    return list(dict.fromkeys(one for name in names for one in needs[name].get(kind, [])))


def to_install(of):
    """The frameworks without which notebooks do not run, or would not be compared."""
    return list(dict.fromkeys([*needed("frameworks", of), *needed("compared_with", of)]))


def repository():
    """The OWNER/NAME that pyproject.toml names."""
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    return re.search(r'Repository = "https://github\.com/(.+)"', project).group(1)


def pages_address():
    """Where GitHub shows the pages of the course's repository."""
    owner, name = repository().split("/")
    return f"https://{owner}.github.io/{name}/"


@functools.cache
def release():
    """The version of the course and its date, from CITATION.cff."""
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    return dict(re.findall(r"(?m)^(?:date-)?(version|released): (.+)$", text))
