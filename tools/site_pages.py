"""The pages of the site that are made: the answer, the results, the glossary, the reference.

Each function is given the folder of a language's sources, the language, and its words.
"""

import ast
import base64
import json
import re
import runpy

from . import glossary, manifest, notebook, site_guesses
from .files import ROOT

PACKAGE = ROOT / "d2lhybrid"


def answer(folder, language, said):
    """The section with which the main path ends, in its own words."""
    name = "18_side_by_side"
    cells = json.loads((folder / f"notebooks/{name}.ipynb").read_text("utf-8"))["cells"]
    texts = {one["id"]: notebook.source(one) for one in cells if one["cell_type"] == "markdown"}
    whole = "\n\n".join(texts.values())
    title = whole.partition("\n")[0].removeprefix("# ")
    text = whole[whole.index(texts["answer-01"]) :].partition("\n\n## ")[0]
    heading = notebook.anchor(text.partition("\n")[0].removeprefix("## "))
    text = re.sub(r"\]\((\w+\.ipynb)", r"](notebooks/\1", text)
    link = f"[{title}](notebooks/{name}.ipynb#{heading})"
    return f"{text[1:]}\n\n{said['ends'].format(link=link)}\n"


def results(folder, language, said):
    """What results/ holds, the newest run first."""
    parts = [f"# {said['after']['results'][0]}", said["results"].strip()]
    stored = {path: json.loads(path.read_text("utf-8")) for path in ROOT.glob("results/*.json")}
    for path in sorted(stored, key=lambda path: stored[path]["machine"]["date"], reverse=True):
        machine, sizes = stored[path]["machine"], stored[path]["sizes"]
        name = path.stem.replace("_", " ")
        parts.append(f"## {machine['processor']}, {machine['date'][:10]} ({name})")
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
            ways = dict.fromkeys(way for one in sizes.values() for way in one)
            rows = [[way, *(figure(sizes[size].get(way)) for size in sizes)] for way in ways]
            parts += [f"### {said['every']}", table([said["columns"][0], *sizes], *rows)]
    return "\n\n".join([*parts, ""])


def row(said, way, one):
    """A row of a table of results: a way to run the network, and how it did."""
    if one["over"] == way:
        return [way, seconds(one["median"]), "", "", said["baseline"], "", "", ""]
    interval = said["interval"].format(digits(one["low"]), digits(one["high"]))
    pays = said["calls"].format(round(one["break_even"])) if one["break_even"] else ""
    cost = seconds(one["build_cost"], 3) if one["build_cost"] is not None else ""
    verdict = said.get("verdicts", {}).get(one["verdict"], one["verdict"])
    measured = [seconds(one["median"]), figure(one), interval, verdict]
    return [way, *measured, cost, pays, one["over"]]


def seconds(*arguments):
    """A time as the package writes it."""
    # By its path, because the package itself needs what is installed with it.
    return runpy.run_path(str(PACKAGE / "tables.py"))["seconds"](*arguments)


def figure(one):
    return digits(one["speedup"]) if one else ""


def digits(number):
    """A ratio as README writes it: 12.9, 3.84 or 0.60."""
    return f"{number:.{2 if number < 10 else 1}f}"


def table(columns, *rows):
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f":::{{container}} figures\n{text}\n:::"


def speak(folder, language, said):
    """The page on which the network speaks: a form, its scripts, and the program that runs."""
    words, scripts = said["speak"], ROOT / "pages" / "static" / "speak"
    weights = (scripts / "weights.js").read_text("utf-8")
    made = json.loads(weights.partition(" = ")[2].strip().removesuffix(";"))["made"]
    form = f"""\
<form class="speak" data-rate="{words["rate"]}" data-language="{language}">
<label>{words["begin"]}<input type="text" name="begin" value="the statement is" lang="en"></label>
<label><span>{words["temperature"]} <output name="chosen">0.6</output></span>
<input type="range" name="temperature" min="0.2" max="1.5" step="0.1" value="0.6"></label>
<button>{words["start"]}</button>
<output name="text" class="notranslate" lang="en" aria-label="{words["text"]}"></output>
<output name="rate"></output>
</form>"""
    names = ("weights", "network", "speak")
    form += "".join(f'\n<script src="_static/speak/{name}.js"></script>' for name in names)
    runs = words["runs"].strip().format(size=len(weights) // 1024, made=made)
    fold = f"<details class='solution'><summary>{words['source']}</summary>"
    code = f"```js\n{(scripts / 'network.js').read_text('utf-8')}```"
    title, about = said["before"]["speak"][0], words["about"].strip()
    parts = [f"# {title}", about, form, f"## {words['heading']}", runs, fold, code, "</details>"]
    return "\n\n".join([*parts, ""])


def reference(folder, language, said):
    """Every public name, as Sphinx reads it from the package, with the pictures of those that draw.

    The notebooks that use a name are added by pages/course_pages.py.
    """
    drawn = pictures(folder)
    parts = [f"# {said['after']['API'][0]}", said["api"]]
    for place, names in public_names().items():
        parts.append(f"## {place or PACKAGE.name}")
        if shown := [f"[![{n}]({drawn[n]})](#d2lhybrid.{n})" for _, n in names if n in drawn]:
            parts += [said["pictures"], "\n\n".join(["::::{container} gallery", *shown, "::::"])]
        lines = [f".. automodule:: d2lhybrid{place and '.'}{place}", "   :no-index:", ""]
        for module, name in names:
            if name.isupper():  # a text below a constant, in its own module, says what it is
                lines += [f".. autodata:: d2lhybrid.{module}.{name}", "   :no-value:", ""]
            else:
                kind = "autoclass" if name[0].isupper() else "autofunction"
                lines += [f".. {kind}:: d2lhybrid.{name}", "   :members:" * name[0].isupper(), ""]
        parts.append("\n".join(["```{eval-rst}", *lines, "```"]))
    return "\n\n".join([*parts, ""])


def public_names():
    """Folder -> pairs of a module and a public name that it has, from the package's list."""
    found = {}
    for node in ast.parse((PACKAGE / "__init__.pyi").read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            head = node.module.partition(".")[0]
            names = found.setdefault(head if (PACKAGE / head).is_dir() else "", [])
            names += [(node.module, alias.name) for alias in node.names]
    return found


def pictures(folder):
    """Each public function that draws -> the file of the first picture that a notebook stores."""
    (folder / "pictures").mkdir()
    found = {}
    for path in manifest.notebooks():
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            shown = [output.get("data", {}) for output in cell.get("outputs", [])]
            pngs = ["".join(data["image/png"]) for data in shown if "image/png" in data]
            for name in re.findall(r"\b(plot_\w+)\(", notebook.source(cell)) if pngs else ():
                if name not in found:
                    found[name] = f"pictures/{name}.png"
                    (folder / found[name]).write_bytes(base64.b64decode(pngs[0]))
    return found


# The pages that are no file of the repository, or are chosen from one, by their names.
MADE = {"answer": answer, "results": results, "GLOSSARY": glossary.page, "API": reference}
MADE |= {"speak": speak, "guesses": site_guesses.page}
