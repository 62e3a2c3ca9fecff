"""A Sphinx extension: figures with steps, at their places in the notebooks' pages.

pages/figures.py says what each one shows. All steps are on the page, and the last one is shown;
pages/static/steps.js lets a reader go through them, so a page without scripts, and paper, have the
last one. The notebooks' files stay as they are.
"""

import json
from html import escape

import figures
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.ext.autodoc.mock import mock

from tools import notebook, site

PLACES = {  # the cell, a text, that a figure follows
    "01-17e": figures.interpreter,
    "02-41b": figures.rewriting,
    "04c10018": figures.passes,
    "06-coins-said": figures.intervals,
    "05-48": figures.break_even,
    "16-77": figures.schedule,
}
MADE = {make.__name__: make for make in PLACES.values()}


def place(app, page, content):
    """Put the figures into a notebook. What stands in a result then waits with it for a guess."""
    if page.startswith("notebooks/"):
        read = json.loads(content[0])
        for cell in read["cells"]:
            if make := PLACES.get(cell.get("id")):
                cell["source"] = f"{notebook.source(cell)}\n\n```{{steps}} {make.__name__}\n```"
        content[0] = json.dumps(read)


class Steps(Directive):
    """The figure of a name, in the words of the page's language."""

    required_arguments = 1

    def run(self):
        config, (name,) = self.state.document.settings.env.config, self.arguments
        said = site.words()[config.course_language]["figures"]
        words = said[name]
        with mock(config.autodoc_mock_imports):  # as autodoc imports the package
            groups = MADE[name](words)
        return [nodes.raw("", html(name, said | words, groups), format="html")]


def html(name, words, groups):
    """A figure. `groups` maps names to lists of steps, each an HTML text and what it shows."""
    frames = [(at, *step) for at, steps in enumerate(groups.values()) for step in steps]
    parts = [f'<figure class="steps" id="steps-{name.replace("_", "-")}">']
    parts.append(f"<figcaption><strong>{words['title']}</strong>{words['about']}</figcaption>")
    parts.append('<form class="pst-js-only" autocomplete="off">')
    if len(groups) > 1:
        options = "".join(f'<option value="{i}">{one}</option>' for i, one in enumerate(groups))
        parts.append(f'<label>{words["group"]} <select name="group">{options}</select></label>')
    for sign, button in ("◀", "back"), ("▶", "next"):
        parts.append(f'<button type="button" aria-label="{words[button]}">{sign}</button>')
    parts.insert(-1, f'<label>{words["slider"]} <input type="range" name="at" min="0"></label>')
    parts.append('<output class="visually-hidden" aria-live="polite"></output></form>')
    parts.append('<div class="frames">')
    for number, (group, drawn, said) in enumerate(frames, 1):
        shown = f'class="frame{" now last" * (number == len(frames))}"'
        parts.append(f'<div {shown} data-group="{group}"><p>{escape(said)}</p>{drawn}</div>')
    return "\n".join([*parts, "</div></figure>"])


def on_page(app, page, template, context, doctree):
    if '<figure class="steps"' in context.get("body", ""):
        app.add_js_file("steps.js")
        app.add_css_file("steps.css")


def setup(app):
    app.add_directive("steps", Steps)
    app.connect("source-read", place, priority=300)  # before reveal.py marks the results
    app.connect("html-page-context", on_page)
