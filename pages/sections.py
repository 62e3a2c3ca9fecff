"""A Sphinx extension: the search finds sections, and says what stands there.

Sphinx's own index has pages. This one has the text of every section, and of every name in the
reference; pages/static/search.js, in place of Sphinx's searchtools.js, finds words in it, with
Sphinx's stemmer. It knows English stems, and takes each Chinese character for a word.
"""

import functools
import html
import json
import keyword
import re

from docutils import nodes
from sphinx import addnodes
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.search import IndexBuilder

from tools import site


class Pages(StandaloneHTMLBuilder):
    """Sphinx's builder of HTML, with that index."""

    def prepare_writing(self, docnames):
        super().prepare_writing(docnames)
        self.indexer = Sections(self.env, "en", {}, "")
        language = self.config.course_language
        self.indexer.words = site.words()[language]["search"]
        self.indexer.is_translation = language != "en"


class Sections(IndexBuilder):
    """An index of sections: page, anchor, title, text, and the names that only the code has."""

    def __init__(self, *args):
        super().__init__(*args)
        self.titles, self.sections = {}, []
        self.stem = functools.cache(lambda word: self.lang.stem(word.lower()))

    def feed(self, docname, filename, title, doctree):
        if docname == "guesses":  # its questions are those of the notebooks
            return
        self.titles[docname] = title
        for part in doctree.findall(lambda node: isinstance(node, PARTS)):
            head, prose, code = part[0], [], []
            anchor = "" if part.parent is doctree else (part["ids"] or head["ids"])[0]
            collect(part[1:], prose, code)
            if docname == "API" and self.is_translation:  # its text is English
                prose = prose[:1]
            name, text = head.get("fullname") or head.astext(), " ".join(prose)
            names = " ".join(self.names("\n".join(code), text))
            self.sections.append([docname, anchor, name, text, names])

    def names(self, code, text):
        """The names in code that a search would not find in the section's text, each once."""
        names, said = dict.fromkeys(re.findall(r"[^\W\d][\w.]+\w", code)), self.stemmed(text)
        for name in sorted(names, key=len, reverse=True):  # torch.compile has torch, too
            words = self.stemmed(name)
            if words in said or name in keyword.kwlist or name in self.lang.stopwords:
                del names[name]
            said += words
        return names

    def stemmed(self, text):
        """The words that search.js compares."""
        return f" {' '.join(map(self.stem, WORD.findall(text)))} "

    def dump(self, stream, format):
        columns = list(zip(*self.sections, strict=True))  # gzip packs them better than rows
        found = {"words": self.words, "titles": self.titles, "columns": columns}
        text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
        stream.write(f"Search.setIndex({text})")


PARTS = (nodes.section, addnodes.desc)
HAN = "\u3400-\u9fff"
WORD = re.compile(rf"[{HAN}]|[^\W_{HAN}]+")
NO_TEXT = re.compile("<summary>.*?</summary>|<[^>]*>")  # tags, and "Show the solution"


def collect(children, prose, code):
    """Add the texts of a section's own nodes: what is read, and code with its output."""
    for node in children:
        if isinstance(node, nodes.raw):
            code.append(html.unescape(NO_TEXT.sub(" ", node.astext())))
        elif isinstance(node, nodes.literal_block):
            code.append(node.astext())
        elif isinstance(node, nodes.TextElement):
            parts = (one for one in node.children if not isinstance(one, nodes.raw))  # no tags
            prose.append("".join(one.astext() for one in parts))
        elif not isinstance(node, (*PARTS, nodes.comment, addnodes.toctree)):
            collect(node.children, prose, code)


def setup(app):
    app.add_builder(Pages, override=True)
