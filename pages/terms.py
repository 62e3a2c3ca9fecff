"""A Sphinx extension: on a notebook's page, terms lead to their definitions in the glossary.

A term is linked where it stands in bold, and where a section first uses it, but not in code,
headings or links. pages/static/terms.js shows the definition there.
"""

from docutils import nodes

from tools import glossary


def link(app, doctree):
    """Link the terms of a notebook's sections; what comes before them is about the notebook."""
    language = app.config.course_language
    if not app.env.docname.startswith("notebooks/"):
        return
    for section in [*doctree[0].children]:
        if not isinstance(section, nodes.section):
            continue
        seen = set()
        for strong in [*section.findall(nodes.strong)]:
            place = glossary.definitions(language).get(glossary.alike(strong.astext()))
            if place and place not in seen:
                seen.add(place)
                strong.replace_self(to(place, strong.deepcopy()))
        for text in [*section.findall(nodes.Text)]:
            around = text.parent
            while isinstance(around, nodes.emphasis):
                around = around.parent
            if isinstance(around, nodes.paragraph):
                text.parent.replace(text, [*linked(text.astext(), language, seen)])


def linked(text, language, seen):
    """A text as nodes: a term that is not in `seen` is a link, and then is there."""
    end = 0
    for start, stop, place in glossary.mentions(text, language):
        if place not in seen:
            seen.add(place)
            yield nodes.Text(text[end:start])
            yield to(place, nodes.Text(text[start:stop]))
            end = stop
    yield nodes.Text(text[end:])


def to(place, node):
    """A node that leads to a term; the glossary is one folder above the notebooks."""
    return nodes.reference("", "", node, refuri=f"../GLOSSARY.html{place}", classes=["term"])


def setup(app):
    app.connect("doctree-read", link)
    app.add_js_file("terms.js")
