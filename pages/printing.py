"""Print with Chromium: `printing.py FROM TO`, from a page to a picture, or from an EPUB to a PDF.

A PDF has the chapters of its EPUB on A4, with their names on top and page numbers below, links
between them, and an outline.
"""

import posixpath
import re
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

from playwright.sync_api import sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
# Chromium can't write the number of a page into a link to it (target-counter, in CSS).
NUMBERED = """numbers => {
    for (const link of document.querySelectorAll("nav a"))
        link.dataset.page = numbers[link.hash.slice(1)];
}"""
STYLE = Path(__file__).with_name("print.css")


def main(source, target):
    if not CHROMIUM:
        sys.exit("The book needs Chromium, which prints it.")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        size = {"width": 827, "height": 1170}  # the shape of A4
        page = browser.new_page(viewport=size, device_scale_factor=2)
        if source.suffix == ".html":
            page.goto(source.as_uri())
            page.screenshot(path=target)
        else:
            zipfile.ZipFile(source).extractall(folder)
            whole = Path(folder, "whole.html")
            whole.write_text(joined(Path(folder)), "utf-8")
            page.goto(whole.as_uri())
            printed = page.pdf(prefer_css_page_size=True)
            page.evaluate(NUMBERED, numbers(printed))
            page.pdf(path=target, prefer_css_page_size=True, outline=True, tagged=True)
        browser.close()


def numbers(printed):
    """Name of a place that links lead to -> the number of its page in a PDF of Chromium's."""
    pages = re.findall(rb"\n(\d+) 0 obj\n<</Type /Page\n", printed)
    places = re.findall(rb"/(\S+) \[(\d+) 0 R /XYZ", printed)
    return {name.decode(): pages.index(page) + 1 for name, page in places}


def joined(folder):
    """The chapters of an unpacked EPUB as one page, in the order of its contents, which come first.

    The headings of a part's chapters are one level below its own.
    """
    root = parsed(folder / "nav.xhtml")
    styles, chapters = [STYLE.read_text("utf-8")], []
    nav = root.find(".//nav")
    for one in nav.findall("ol/li"):
        for below, link in enumerate([one.find("a"), *one.findall("ol/li/a")]):
            href = link.get("href")
            if "#" not in href:
                title = link.text.replace('"', r"\"")
                styles.append(f'@page {key(href)} {{ @top-center {{ content: "{title}" }} }}')
                chapters.append(chapter(folder, href, min(below, 1)))
    for rows in nav.iter("ol"):  # without the sections, which the outline has
        for row in rows.findall("li"):
            link = row.find("a")
            if "#" in link.get("href"):
                rows.remove(row)
            link.set("href", f"#{key(link.get('href'))}")
    body = "".join(ElementTree.tostring(one, "unicode", "html") for one in [nav, *chapters])
    links = "".join(f'<link rel="stylesheet" href="_static/{n}.css">' for n in ("pygments", "book"))
    return f"""<!DOCTYPE html>
<html lang="{root.get("lang")}"><meta charset="utf-8">{links}<style>{"".join(styles)}</style>
<title>{parsed(folder / "content.opf").find(".//title").text}</title>
<img class="cover" src="_static/cover.png" alt="">{body}</html>"""


def chapter(folder, href, below):
    """The body of a chapter, with links and ids that hold in the whole book."""
    here = posixpath.dirname(href)
    body = parsed(folder / href).find(".//div[@class='body']")
    for one in body.iter():
        if one.tag in ("h1", "h2", "h3", "h4", "h5"):
            one.tag = f"h{int(one.tag[1]) + below}"
        if "id" in one.attrib:
            one.set("id", f"{key(href)}--{one.get('id')}")
        if "src" in one.attrib:
            one.set("src", posixpath.normpath(posixpath.join(here, one.get("src"))))
        link = one.get("href", ":")
        if ":" not in link:
            path, _, anchor = link.partition("#")
            path = posixpath.normpath(posixpath.join(here, path)) if path else href
            one.set("href", f"#{key(path)}{anchor and '--' + unquote(anchor)}")
    body.attrib |= {"id": key(href), "style": f"page: {key(href)}"}
    return body


def key(href):
    return href.removesuffix(".xhtml").replace("/", "-")


def parsed(path):
    """The root of an XML file, whose names are without their namespaces."""
    root = ElementTree.parse(path).getroot()
    for one in root.iter():
        one.tag = one.tag.rpartition("}")[2]
        for name in [name for name in one.attrib if "}" in name]:
            del one.attrib[name]
    return root


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
