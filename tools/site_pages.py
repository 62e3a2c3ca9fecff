"""The pages of the site that are made, those of tools/site_results.py and the glossary included.

Each function is given the folder of a language's sources, the language, and its words.
"""

import ast
import base64
import json
import re

from . import glossary, manifest, notebook, site_guesses, site_results, site_take
from .files import ROOT

PACKAGE = ROOT / "d2lhybrid"


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
MADE = {"answer": site_results.answer, "results": site_results.results}
MADE |= {"GLOSSARY": glossary.page, "API": reference, "speak": speak}
MADE |= {"guesses": site_guesses.page, "take": site_take.page}
