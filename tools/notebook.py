"""A notebook as its file holds it: a dict of cells and metadata. Nothing here runs one."""

import base64
import hashlib
import json
import posixpath
import re

from .files import write
from .manifest import course, repository


def source(cell):
    return "".join(cell["source"])


def without_outputs(notebook):
    """A notebook as it was before anything ran."""
    cells = [
        {**cell, "outputs": [], "execution_count": None} if cell["cell_type"] == "code" else cell
        for cell in notebook["cells"]
    ]
    return {**notebook, "cells": cells}


def without_badge(notebook):
    """A notebook without the link that opens it on Colab, with outputs and solutions."""
    cells = notebook["cells"]
    return {**notebook, "cells": [c for c in cells if "![Open in Colab]" not in source(c)]}


def without_solutions(notebook):
    """A notebook without the section of its solutions."""
    cells, inside = [], False
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown" and source(cell).startswith("## "):
            inside = is_solutions(cell)
        if not inside:
            cells.append(cell)
    return {**notebook, "cells": cells}


def is_solutions(cell):
    """Whether a cell is the heading of a notebook's solutions."""
    headings = [lines["solutions"] for lines in course()["lines"].values()]
    return cell["cell_type"] == "markdown" and source(cell).strip() in headings


def with_links(notebook, names):
    """A notebook that leads to those in `names` under their new names, to all else on the web."""

    def lead(match):
        path, anchor = re.fullmatch("([^#]*)(#.*)?", match[1]).groups("")
        if path in names:
            return f"]({names[path]}{anchor})"
        path = posixpath.normpath(posixpath.join("notebooks", path))
        return f"](https://github.com/{repository()}/blob/main/{path}{anchor})"

    cells = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            text = re.sub(r"\]\((?!#|https?:)([^)\s]+)\)", lead, source(cell))
            cell = {**cell, "source": text}
        cells.append(cell)
    return {**notebook, "cells": cells}


def agreed_metadata(notebook):
    """What a notebook's metadata say, besides the fingerprint of its outputs.

    Only what is the same on every machine: no version of the Python that happened to run it.
    The title is that of a page made from it. Colab folds the sections that stand in the last line.
    """
    titles = [re.match("# (.+)", source(cell)) for cell in notebook["cells"][:1]]
    solutions = [cell["id"] for cell in notebook["cells"] if is_solutions(cell)]
    return {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        **({"title": titles[0][1]} if any(titles) else {}),
        **({"colab": {"collapsed_sections": solutions}} if solutions else {}),
    }


def fingerprint(notebook):
    """Eight digits that change with a notebook's code or stored outputs, and eight with any cell.

    nbval compares neither PNGs nor measured figures. The first eight digits show that such
    an output is still what the code has put out; the others, that prose, tags and slides are
    still what their author stored.
    """

    def joined(part):  # a file may hold a text as one string or as a list of lines
        if isinstance(part, dict):
            return {key: joined(value) for key, value in part.items()}
        if isinstance(part, list):
            lines = all(isinstance(value, str) for value in part)
            return "".join(part) if lines else [joined(value) for value in part]
        return part

    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    run = [[cell["source"], cell["outputs"]] for cell in code]
    texts = [json.dumps(joined(part), sort_keys=True) for part in (run, notebook["cells"])]
    return "-".join(hashlib.sha256(text.encode()).hexdigest()[:8] for text in texts)


def minutes(notebook):
    """How many minutes a notebook takes, in steps of five.

    A minute for 180 words or 12 lines of code, and four for an exercise with its solution. Code
    that slides skip need not be read: it imports, or looks at the machine.
    """
    words = lines = exercises = 0
    for cell in without_solutions(notebook)["cells"]:
        text = source(cell)
        if cell["cell_type"] == "code":
            if cell["metadata"].get("slideshow", {}).get("slide_type") == "skip":
                continue
            lines += sum(bool(line.strip()) for line in text.splitlines())
        else:
            text = re.sub(r"(?s)```.*?```|\]\([^)]*\)", "", text)  # no listings, no addresses
            words += len(re.findall(r"[^\W\d_][\w'\u2019-]*|\d[\d.,]*", text))
            exercises += text.startswith("### Exercise ")
    return max(5, 5 * round((words / 180 + lines / 12 + 4 * exercises) / 5))


def pictures(notebook):
    """The pictures for the README: a cell tagged img:NAME makes img/NAME.png."""
    return {
        tag[4:]: base64.b64decode("".join(output["data"]["image/png"]))
        for cell in notebook["cells"]
        for tag in cell["metadata"].get("tags", [])
        if tag.startswith("img:")
        for output in cell["outputs"]
        if "image/png" in output["data"]
    }


def save(notebook, path):
    """Write a notebook as JupyterLab does, unless the file holds it already."""
    text = json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    if not path.is_file() or path.read_bytes() != text.encode():
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, text.encode())


def anchor(heading):
    """What follows # in a link to a heading of a notebook, in JupyterLab and in HTML."""
    return heading.replace("`", "").replace(" ", "-")
