"""A page of the site as the tests read it."""

import functools
import os
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag

import pytest

from tools import manifest, site

PAGES = sorted(path.relative_to(site.HTML).as_posix() for path in site.HTML.rglob("*.html"))
PAGES = [name for name in PAGES if "_static/" not in name]  # there the theme has parts of pages
PAGES = [name for name in PAGES if not name.startswith("book/")]  # which course.py book made
LISTED = [name for name in PAGES if not name.endswith(("404.html", "search.html"))]
NOTEBOOKS = [
    f"{site.home(language)}notebooks/{path.stem}.html"
    for language in site.words()
    for path in manifest.notebooks()
]


def missing(what):
    """Skip a test, but not where nothing may be missing."""
    (pytest.fail if os.environ.get("D2LHYBRID_NO_SKIPS") else pytest.skip)(what)


def language_of(name):
    """The language of a page, and its name without the folder of that language."""
    first, _, rest = name.partition("/")
    return (first, rest) if first in site.words() else ("en", name)


class Page(HTMLParser):
    """A page's text, that of its outputs, its tags (pairs of a name and attributes), its ids."""

    def __init__(self, name):
        super().__init__()
        self.name, self.tags, self.texts, self.outputs = name, [], [], []
        self.divs = []  # those around the place that is read: whether each is an output
        self.source = (site.HTML / name).read_text("utf-8")
        self.feed(self.source)
        self.text = "".join(self.texts)
        self.ids = {value for _, found in self.tags if (value := found.get("id"))}

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "div":
            self.divs.append("cell_output" in (dict(attrs).get("class") or "").split())

    def handle_endtag(self, tag):
        if tag == "div":
            self.divs.pop()

    def handle_data(self, data):
        self.texts.append(data)
        if any(self.divs):
            self.outputs.append(data)

    def all(self, tag, attribute):
        return [found[attribute] for name, found in self.tags if name == tag and attribute in found]

    def target(self, link):
        """The file that a link of the page leads to, and what it names there."""
        path, anchor = urldefrag(link)
        path = path.partition("?")[0]
        path = (site.HTML / self.name).parent / unquote(path) if path else site.HTML / self.name
        return path.resolve(), unquote(anchor)


page = functools.cache(Page)
