"""The pages of the site that are made: the answer, the results, and the package's names.

Each function is given the folder of a language's sources, and that language's words.
"""

import base64
import json
import re
import runpy
import textwrap

from . import api, glossary, manifest, notebook
from .files import ROOT

# By its path, because the package itself needs what is installed with it.
seconds = runpy.run_path(str(ROOT / "d2lhybrid/tables.py"))["seconds"]


def answer(folder, said):
    """The section with which the main path ends, in its own words."""
    name = "17_side_by_side"
    cells = json.loads((folder / f"notebooks/{name}.ipynb").read_text("utf-8"))["cells"]
    texts = [notebook.source(cell) for cell in cells]
    first = next(at for at, cell in enumerate(cells) if cell["id"] == "answer-01")
    last = next(at for at in range(first + 1, len(texts)) if texts[at].startswith("## "))
    text = "\n\n".join(
        text
        for cell, text in zip(cells[first:last], texts[first:last], strict=True)
        if cell["cell_type"] == "markdown"
    )
    heading = text.partition("\n")[0].removeprefix("## ")
    title = texts[0].partition("\n")[0].removeprefix("# ")
    link = f"[{title}](notebooks/{name}.ipynb#{glossary.anchor(heading)})"
    text = re.sub(r"\]\((\w+\.ipynb)", r"](notebooks/\1", text)
    return f"{text[1:]}\n\n{said['ends'].format(link=link)}\n"


def results(folder, said):
    """What results/ holds, the newest run first."""
    parts = [f"# {said['after']['results'][0]}", said["results"].strip()]
    stored = {path: json.loads(path.read_text("utf-8")) for path in ROOT.glob("results/*.json")}
    for path in sorted(stored, key=lambda path: stored[path]["machine"]["date"], reverse=True):
        machine, sizes = stored[path]["machine"], stored[path]["sizes"]
        parts.append(
            f"## {machine['processor']}, {machine['date'][:10]} ({path.stem.replace('_', ' ')})"
        )
        versions = ", ".join(f"{name} {one}" for name, one in machine["versions"].items())
        address = f"https://github.com/{manifest.repository()}/blob/main/results/{path.name}"
        about = said["machine"].format(**{**machine, "versions": versions})
        parts.append(f"{about} [{path.name}]({address})")
        for size in [size for size in sizes if size in ("1", "64")]:
            parts.append(f"### {said['rows'].format(size)}")
            rows = [said["columns"], *(row(said, *one) for one in sizes[size].items())]
            if len({one["over"] for one in sizes[size].values()}) == 1:  # it need not be named
                rows = [cells[:-1] for cells in rows]
            parts.append(table(*rows))
        if len(sizes) > 1:
            ways = {way: None for one in sizes.values() for way in one}
            rows = [[way, *(figure(sizes[size].get(way)) for size in sizes)] for way in ways]
            parts += [f"### {said['every']}", table([said["columns"][0], *sizes], *rows)]
    return "\n\n".join([*parts, ""])


def row(said, way, one):
    """A row of a table of results: a way to run the network, and how it did."""
    if one["over"] == way:
        return [way, seconds(one["median"]), "", "", said["baseline"], "", "", ""]
    interval = said["interval"].format(digits(one["low"]), digits(one["high"]))
    pays = said["calls"].format(round(one["break_even"])) if one["break_even"] else ""
    price = seconds(one["price"], 3) if one["price"] is not None else ""
    verdict = said.get("verdicts", {}).get(one["verdict"], one["verdict"])
    measured = [seconds(one["median"]), figure(one), interval, verdict]
    return [way, *measured, price, pays, one["over"]]


def figure(one):
    return digits(one["speedup"]) if one else ""


def digits(number):
    """A ratio as README writes it: 12.9, 3.84 or 0.60."""
    return f"{number:.{2 if number < 10 else 1}f}"


def table(columns, *rows):
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f":::{{container}} figures\n{text}\n:::"


def names(folder, said):
    """Every public name: how it is written, its documentation, the notebooks that use it."""
    used = {path.name: api.imported(path) for path in manifest.notebooks()}
    drawn = pictures(folder)
    parts = [f"# {said['after']['API'][0]}", said["api"]]
    for place, pairs in api.by_folder().items():
        parts += [f"## {place or api.PACKAGE.name}", api.about(place)]
        if place == "plot":
            shown = [f"[![{name}]({file})](#{name})" for name, (file, _) in drawn.items()]
            parts += [said["pictures"], "\n\n".join(["::::{container} gallery", *shown, "::::"])]
        for module, name in pairs:
            file, node, text = api.statement(module, name)
            parts += [f"### `{name}`", code(api.signature(node)), text or ""]
            parts += ["![{1}]({0})".format(*drawn[name])] if name in drawn else []
            for how, what in api.members(node):
                parts.append(
                    f"`{how}`\n" + textwrap.indent(what or "", "    ").replace(" ", ":", 1)
                )
            links = [f"[{one[:2]}](notebooks/{one})" for one in used if name in used[one]]
            where = f"{said['used']} {', '.join(links)}." if links else ""
            parts.append(f"{where} [{said['source']}]({file.relative_to(ROOT).as_posix()})")
    return "\n\n".join([*parts, ""])


def code(line):
    """A line of code as a block; a long one is broken after a comma."""
    glued = line.replace(" ", "\xa0").replace(",\xa0", ", ")
    lines = textwrap.wrap(glued, 76, subsequent_indent="    ", break_on_hyphens=False)
    return "\n".join(["```python", *lines, "```"]).replace("\xa0", " ")


def pictures(folder):
    """For each function that draws, what the first notebook with its picture has stored.

    From the function's name to the picture's file and its alternative text.
    """
    (folder / "pictures").mkdir()
    cells = [
        (notebook.source(cell), output)
        for path in manifest.notebooks()
        for cell in json.loads(path.read_text("utf-8"))["cells"]
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    found = {}
    public = [name for names in api.public_names().values() for name in names]
    for name in [name for name in public if name.startswith("plot_")]:
        for output in [output for text, output in cells if f"{name}(" in text][:1]:
            file, picture = f"pictures/{name}.png", "".join(output["data"]["image/png"])
            (folder / file).write_bytes(base64.b64decode(picture))
            found[name] = file, output["metadata"]["image/png"]["alt"]
    return found


# The pages that are no file of the repository, by their names.
MADE = {"answer": answer, "results": results, "API": names}
