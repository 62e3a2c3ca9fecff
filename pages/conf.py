"""How Sphinx makes the pages of one language; `python3 course.py site` stages them and runs it."""

import json
import re
import sys
from pathlib import Path

from docutils import nodes
from docutils.utils.math import latex2mathml

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from pairs import Pairs

from tools import colab, manifest, notebook, site, site_run

here = next(one for one in site.words() if tags.has(one))  # noqa: F821, of sphinx-build -t
said = site.words()[here]

project = author = html_title = "d2lhybrid"
language = said["sphinx"]
html_baseurl = manifest.pages_address() + site.home(here)
extensions = ["myst_nb"]
templates_path, html_static_path = ["templates"], ["static"]
html_css_files, html_js_files, html_favicon = ["pages.css"], ["pages.js"], "static/mark.svg"
html_show_copyright = html_show_sphinx = False
html_use_index = html_domain_indices = False

nb_execution_mode = "off"
nb_merge_streams = True
nb_ipywidgets_js = {}  # otherwise three scripts from two other addresses
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_heading_slug_func = "tools.glossary.anchor"  # JupyterLab's, so that all links hold there, too
myst_update_mathjax = False
html_math_renderer = "mathml"  # made here: MathJax would come from another address

html_theme = "sphinx_book_theme"
html_theme_options = {
    "repository_url": f"https://github.com/{manifest.repository()}",
    # Colab opens the notebook that the page shows; only the English one is in the branch main.
    "repository_branch": "main" if here == "en" else "gh-pages",
    "path_to_docs": "" if here == "en" else f"{here}/_sources",
    "use_repository_button": True,
    "use_fullscreen_button": False,
    "launch_buttons": {"colab_url": "https://colab.research.google.com"},
    "article_header_start": ["toggle-primary-sidebar.html", "languages.html"],
    "navbar_persistent": [],
    "logo": {"text": "d2lhybrid"},
    "show_toc_level": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "footer_content_items": [],
}


def on_page(app, page, template, context, doctree):
    """What the templates need to know of a page."""
    others = [one for one in site.words() if one != here and site.source_of(page, one)]
    context["about"] = site.about(page, here)
    context["first_address"], context["code"] = manifest.pages_address(), said["code"]
    context["others"] = {
        one: {
            **site.words()[one],
            "link": f"{'../' * (page.count('/') + bool(site.home(here)))}"
            f"{site.home(one)}{page}.html",
            "address": f"{manifest.pages_address()}{site.home(one)}{page}.html",
        }
        for one in others
    }
    if not page.startswith("notebooks/"):
        context["theme_launch_buttons"] = {}
    if site_run.runs(page) and (site.HTML / "run").is_dir():
        folder = "../" * (page.count("/") + bool(site.home(here)))
        context["run"] = {"folder": f"{folder}run/", "words": said["run"]}


def prepare(app, page, content):
    """What only a file needs is left out of its page; the file to download stays as it is."""
    if not page.startswith("notebooks/"):
        content[0] = site.with_links(content[0], page, here)
        return
    read = notebook.without_badge(json.loads(content[0]))
    cells = [one for one in read["cells"] if not notebook.source(one).startswith(colab.FIRST_CELL)]
    for cell in cells:
        if cell["cell_type"] == "markdown":
            cell["source"] = site.with_links(notebook.source(cell), page, here)
        for output in cell.get("outputs", []):
            show(output, cell)
    content[0] = json.dumps({**read, "cells": cells})


def show(output, cell):
    """An output as its page shows it: a drawing follows the theme, a picture says what it shows."""
    data = output.get("data", {})
    if "image/svg+xml" in data:  # as part of the page, which can then set its colours
        data["text/html"] = "".join(data.pop("image/svg+xml"))
    elif "text/html" in data:  # a table's first heading may be empty
        data["text/html"] = re.sub(r"<th[^>]*></th>", "<td></td>", "".join(data["text/html"]))
    if "text/html" in data:
        if here != "en":
            data["text/html"] = f'<div lang="en">{data["text/html"]}</div>'
    elif "image/png" in data:  # MyST-NB looks for the alternative text in the cell's metadata
        alt = output["metadata"]["image/png"]["alt"]
        cell["metadata"]["mystnb"] = {"image": {"alt": alt}}


def fold(app, doctree):
    """Each solution is folded below its heading."""
    headings = [lines["solutions"].lstrip("# ") for lines in manifest.course()["lines"].values()]
    for section in doctree.findall(nodes.section):
        if section[0].astext() in headings:
            for part in section.findall(nodes.section):
                if part is not section:
                    begin = f"<details class='solution'><summary>{said['solution']}</summary>"
                    part.insert(1, nodes.raw("", begin, format="html"))
                    part.append(nodes.raw("", "</details>", format="html"))


def mark_english(app, doctree):
    """What has none of a language's own letters is English, and says so: docutils makes it `lang`.

    A long text in italics is no word with emphasis, and looks like its neighbours.
    """
    kinds = (nodes.title, nodes.paragraph, nodes.literal_block, nodes.image, nodes.emphasis)
    for node in doctree.findall(lambda node: "script" in said and isinstance(node, kinds)):
        text = node.get("alt", "") or node.astext()
        if re.search("[A-Za-z]", text) and not re.search(said["script"], text):
            node["classes"].append("language-en")
    for node in doctree.findall(nodes.emphasis):
        if len(node.astext()) > 30:
            node["classes"].append("long")


def mathml(translator, node):
    block = node.tagname == "math_block"
    translator.body.append(latex2mathml.tex2mathml(node.astext(), as_block=block))
    raise nodes.SkipNode


def setup(app):
    app.connect("source-read", prepare)
    app.connect("doctree-read", fold)
    app.connect("doctree-read", mark_english)
    app.add_search_language(Pairs)
    app.connect("html-page-context", on_page)
    app.add_html_math_renderer("mathml", (mathml, None), (mathml, None))
