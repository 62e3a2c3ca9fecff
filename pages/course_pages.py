"""A Sphinx extension: what the pages of the course show differently from the files behind them."""

import functools
import json
import posixpath
import re
import sys
from pathlib import Path
from typing import Union

import frame
from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx import addnodes
from sphinx.ext.autodoc.mock import _MockObject

from tools import manifest, notebook, site, site_routes, site_run
from tools.colab import FIRST_CELL

REPOSITORY = f"https://github.com/{manifest.repository()}/blob/main/"
# Sphinx puts these in place of what a signature names of torch, which is not installed here.
_MockObject.__or__ = lambda self, other: Union[self, other]  # noqa: UP007
LINK = re.compile(r"\]\((?!#|\w+:)([^)\s#]+)(#[^)\s]*)?\)")


# Before a page is read ----------------------------------------------------------------------


def prepare(app, page, content):
    """What only a file needs is left out of its page; the file to download stays as it is."""
    if not page.startswith("notebooks/"):
        content[0] = with_links(content[0], page, app)
        if not app.tags.has("book"):
            content[0] = re.sub(r"!\[[^]]*\]\(/(img/course_map[^)]*)\)", drawn_map, content[0])
        return
    read = notebook.without_badge(json.loads(content[0]))
    cells = [one for one in read["cells"] if not notebook.source(one).startswith(FIRST_CELL)]
    import_sys(cells)
    for cell in cells:
        if cell["cell_type"] == "markdown":
            cell["source"] = with_links(notebook.source(cell), page, app)
        elif site_run.runs(page):  # MyST-NB makes a class of a tag, and leaves out the id
            tags = cell["metadata"].get("tags", [])
            cell["metadata"]["tags"] = [*tags, f"id-{cell['id']}"]
        for output in cell.get("outputs", []):
            show(output, cell, app)
    content[0] = json.dumps({**read, "cells": cells})


def import_sys(cells):
    """Import `sys` where it is first used, if only the cell that is left out imports it."""
    code = [one for one in cells if one["cell_type"] == "code"]
    using = [one for one in code if re.search(r"\bsys\.", notebook.source(one))]
    if using and not any(re.search(r"(?m)^import sys\b", notebook.source(one)) for one in code):
        text = notebook.source(using[0])
        gap = "\n" if text.startswith(("import ", "from ")) else "\n\n\n"
        using[0]["source"] = f"import sys{gap}{text}"


def with_links(text, page, app):
    """A page's Markdown with links that lead to other pages, or else to the repository."""
    has_results = (Path(app.srcdir) / "results.md").is_file()  # not in the book

    def lead(link):
        path, anchor = link.groups("")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        path = path.replace(f".{app.config.course_language}.md", ".md")
        path = "index.md" if path == "README.md" else path
        if has_results and re.fullmatch(r"results/\w+\.json", path):
            return f"](#{Path(path).stem})"  # its own heading on the page of all results
        if (Path(app.srcdir) / path).is_file():
            return f"](/{path}{anchor})"
        if (site.ROOT / path).exists():
            return f"]({REPOSITORY}{path}{anchor})"
        return link[0]  # Sphinx will report it

    def own(link):  # a text names what only the pages have by its whole address
        return f"](/{link[1]}.md)" if (Path(app.srcdir) / f"{link[1]}.md").is_file() else link[0]

    address, home = manifest.pages_address(), site.home(app.config.course_language)
    text = re.sub(rf"\]\({re.escape(address)}(?:{home})?(\w+)\.html\)", own, text)
    if not has_results:
        text = text.replace("](#results-gpu)", f"]({address}{home}results.html#results-gpu)")
    return LINK.sub(lead, text)


def show(output, cell, app):
    """An output as its page shows it: a drawing follows the theme, a picture says what it shows."""
    data, language = output.get("data", {}), app.config.course_language
    if "image/svg+xml" in data and app.tags.has("book"):  # where it is a file
        del data["image/png"]
    elif "image/svg+xml" in data:  # as part of the page, which can then set its colors
        data["text/html"] = with_stations("".join(data.pop("image/svg+xml")), "")
    elif "text/html" in data:  # a table's first heading may be empty
        data["text/html"] = re.sub(r"<th[^>]*></th>", "<td></td>", "".join(data["text/html"]))
    if "text/html" in data:
        if language != "en":
            data["text/html"] = f'<div lang="en">{data["text/html"]}</div>'
    elif told := output.get("metadata", {}).get("image/png"):
        # MyST-NB looks for the alternative text in the cell's metadata.
        cell["metadata"]["mystnb"] = {"image": {"alt": told["alt"]}}


def drawn_map(picture):
    """The map of the course as a part of the page, and in its colors."""
    svg = re.sub("<style>.*?</style>", "", (site.ROOT / picture[1]).read_text("utf-8"))
    return f"<div>{with_stations(svg, 'notebooks/')}</div>"


def with_stations(svg, folder):
    """A drawing in which, if it is the map, each station is a link: no picture, but a group."""
    if "<title>Map of the course<" not in svg:
        return svg
    names, _ = site_routes.numbered()
    station = rf"<rect [^>]*></rect>\n<text [^>]*>({'|'.join(names)}) .*</text>"
    svg = svg.replace('role="img"', 'role="group"', 1)
    return re.sub(station, lambda m: f'<a href="{folder}{names[m[1]]}.html">{m[0]}</a>', svg)


# The reference ------------------------------------------------------------------------------


def document(app, kind, name, thing, options, lines):
    """Turn a docstring into reStructuredText, and add the notebooks that use a public name."""
    lines[:] = as_rst("\n".join(lines)).split("\n")
    if kind in ("attribute", "data", "property"):
        lines.insert(0, "")  # or napoleon would take what stands before a colon for a type
    public = name.rpartition(".")[2]
    used = [path.stem for path in manifest.notebooks() if public in imported(path)]
    if used and kind != "method":
        where = ", ".join(f":doc:`{stem[:2]} </notebooks/{stem}>`" for stem in used)
        lines += ["", f"{site.words()[app.config.course_language]['used']} {where}", ""]


def as_rst(text):
    """A docstring as reStructuredText: code stands in single backticks, or indented."""
    blocks = text.split("\n\n")
    for at, block in enumerate(blocks):
        if not block.startswith("    "):
            parts = re.split(r"(`[^`\n]+`)", block)
            parts[::2] = [re.sub(r"([*|\\]|_\b)", r"\\\1", part) for part in parts[::2]]
            parts[1::2] = [rf"`{part}`\ " for part in parts[1::2]]
            blocks[at] = "".join(parts)
        elif at and not blocks[at - 1].startswith("    "):
            blocks[at] = f"::\n\n{block}"
    return "\n\n".join(blocks)


def source_address(domain, info):
    """The address of the file that defines a name of the reference."""
    thing = getattr(sys.modules[info["module"]], info["fullname"].partition(".")[0])
    module = getattr(thing, "__module__", info["module"])
    file = Path(sys.modules[module].__file__)
    return REPOSITORY + file.relative_to(site.ROOT).as_posix()


@functools.cache
def imported(path):
    """The names that a notebook's code imports from the package."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    code = "\n".join(notebook.source(one) for one in cells if one["cell_type"] == "code")
    lists = re.findall(r"from d2lhybrid import (\([^)]*\)|.*)", code)
    return set(re.findall(r"\w+", " ".join(lists)))


# When a page has been read ------------------------------------------------------------------


def fold(app, doctree):
    """Each solution is folded below its heading."""
    said = site.words()[app.config.course_language]["solution"]
    headings = [lines["solutions"].lstrip("# ") for lines in manifest.course()["lines"].values()]
    for section in doctree.findall(nodes.section):
        if section[0].astext() in headings:
            for part in section.findall(nodes.section):
                if part is not section:
                    begin = f"<details class='solution'><summary>{said}</summary>"
                    part.insert(1, nodes.raw("", begin, format="html"))
                    part.append(nodes.raw("", "</details>", format="html"))


def mark_english(app, doctree):
    """What has none of a language's own letters is English, and says so: docutils makes it `lang`.

    A long text in italics is no word with emphasis, and looks like its neighbors.
    """
    script = site.words()[app.config.course_language].get("script")
    kinds = (nodes.title, nodes.paragraph, nodes.literal_block, nodes.image, nodes.emphasis)
    for node in doctree.findall(lambda node: script and isinstance(node, (*kinds, addnodes.desc))):
        text = node.get("alt", "") or node.astext()
        if re.search("[A-Za-z]", text) and not re.search(script, text):
            node["classes"].append("language-en")
    for node in doctree.findall(nodes.emphasis):
        if len(node.astext()) > 30:
            node["classes"].append("long")


def unquote(app, doctree):
    """Sphinx writes an id as it is, and a quotation mark of a heading would end it."""
    for section in doctree.findall(nodes.section):
        section["ids"] = [one for one in section["ids"] if '"' not in one]


# When a page is written ---------------------------------------------------------------------


def on_page(app, page, template, context, doctree):
    """What the templates need to know of a page."""
    here = app.config.course_language
    said, first = site.words()[here], manifest.pages_address()
    top = "../" * (page.count("/") + bool(site.home(here)))  # to the first English page
    context["about"] = about(page, here)
    context["first_address"], context["code"] = first, said["code"]
    context["others"] = {
        one: {**words, "link": f"{top}{site.home(one)}{page}.html"}
        | {"address": f"{first}{site.home(one)}{page}.html"}
        for one, words in site.words().items()
        if one != here
    }
    if not page.startswith("notebooks/"):
        context["theme_launch_buttons"] = {}
    context["frame"] = frame.frame(page, here)
    if doctree:  # pictures load when they come into view, and one of two viewports goes
        context["body"] = context["body"].replace("<img ", '<img loading="lazy" ')
        context["metatags"] = re.sub(r'<meta name="viewport"[^>]*>', "", context["metatags"])
    if page.startswith("notebooks/"):
        context["run"] = running(page, app, {"folder": f"{top}run/", "words": said["run"]})


def about(page, language):
    """A sentence on what is on a page, for search engines and previews."""
    said = site.words()[language]
    told = {name: texts[1] for name, texts in {**said["before"], **said["after"]}.items()}
    told |= {f"notebooks/{one['name']}": one["about"][language] for one in manifest.entries()}
    text = told.get(page, said["about"]).replace("`", "")
    return text[0].upper() + text[1:]


def running(page, app, found):
    """What the bar of a notebook's page needs besides `found`; nothing where npm is missing."""
    here, theme = app.config.course_language, app.config.html_theme_options
    branch, docs = theme["repository_branch"], theme["path_to_docs"]
    place = posixpath.join(manifest.repository(), "blob", branch, docs, f"{page}.ipynb")
    found |= {"page": page, "colab": f"https://colab.research.google.com/github/{place}"}
    if site_run.runs(page):
        folder = site.HTML / "run"
        return folder.is_dir() and found | {"bytes": site_run.size(folder)}
    entry = next(one for one in manifest.entries() if page == f"notebooks/{one['name']}")
    needs = [manifest.course()["needs"][one]["name"][here] for one in entry["needs"]]
    said = found["words"]
    return found | {"lacking": said["comma"].join([said["torch"], *needs])}


def mathml(translator, node):
    block = node.tagname == "math_block"
    translator.body.append(latex2mathml.tex2mathml(node.astext(), as_block=block))
    raise nodes.SkipNode


def setup(app):
    app.add_config_value("course_language", "en", "env")
    app.connect("source-read", prepare)
    app.connect("doctree-read", frame.number, priority=400)  # before Sphinx collects titles
    app.add_html_math_renderer("mathml", (mathml, None), (mathml, None))
    if not app.tags.has("book"):
        app.connect("autodoc-process-docstring", document, priority=400)  # before napoleon
        app.connect("doctree-read", fold)
        app.connect("html-page-context", on_page)
    app.connect("doctree-read", mark_english)
    app.connect("doctree-read", unquote)
