"""The book: an EPUB and a PDF of two notebooks, in each language."""

import posixpath
import re
import shutil
import subprocess
import zipfile
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from printing import CHROMIUM
from reader import missing

from tools import book, manifest, site, translate
from tools.notebook import source

LANGUAGES = [*site.words()]
XHTML, OPF = "{http://www.w3.org/1999/xhtml}", "{http://www.idpf.org/2007/opf}"
CHOSEN = manifest.notebooks()[1:3]  # both have drawings and solutions


@pytest.fixture(scope="module", params=LANGUAGES)
def made(request, tmp_path_factory):
    """The path of a book, without its suffix, and its language."""
    if not CHROMIUM:
        missing("needs Chromium")
    folder, language = tmp_path_factory.mktemp("book"), request.param
    assert not book.make(folder, language, CHOSEN)
    return folder / f"d2lhybrid-{language}", language


@pytest.fixture(scope="module")
def files(made):
    """Name -> what the EPUB holds there: the root of an element, or bytes."""
    with zipfile.ZipFile(made[0].with_suffix(".epub")) as found:
        assert found.infolist()[0].filename == "mimetype"
        held = {name: found.read(name) for name in found.namelist()}
    trees = re.compile(r"\.(xhtml|opf|svg)$")
    return {n: ElementTree.fromstring(b) if trees.search(n) else b for n, b in held.items()}


def test_epub_passes_epubcheck(made):
    if checker := shutil.which("epubcheck"):  # a .jar; what follows needs only Python
        command = ["java", "-jar", checker, made[0].with_suffix(".epub")]
        done = subprocess.run(command, capture_output=True, text=True)
        assert "No errors or warnings detected." in done.stdout, done.stderr


def test_epub_says_what_it_is(made, files):
    words = site.words()[made[1]]
    text = {one.tag.rpartition("}")[2]: one.text for one in files["content.opf"].iter()}
    assert text["title"] == words["frame"]["title"]
    assert text["language"] == words["code"]
    assert text["creator"] == words["book"]["author"]
    assert "CC BY 4.0" in text["rights"]
    assert text["date"].startswith(manifest.release()["released"])
    assert files["_static/cover.png"][:4] == b"\x89PNG"


def test_cover_has_the_colors_of_the_pages(visit, base):
    cover = (site.PAGES / "cover.css").read_text("utf-8")
    page = visit(base["file"] + "index.html")
    look = "name => getComputedStyle(document.documentElement).getPropertyValue(name)"
    colors = re.findall(r"(--pst-[\w-]+): (#\w+);", cover)
    assert colors == [(name, page.evaluate(look, name)) for name, _ in colors]
    assert len(colors) > 5


def test_epub_holds_all_that_it_names(files):
    kept = {one.get("href") for one in files["content.opf"].iter(f"{OPF}item")}
    ids = {
        name: {one.get("id") for one in root.iter()}
        for name, root in files.items()
        if name.endswith(".xhtml")
    }
    inner = 0
    for name in ids:
        for one in files[name].iter():
            link = one.get("src", one.get("href", ":"))
            if ":" not in link:
                path, _, anchor = link.partition("#")
                path = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
                path = path if link[0] != "#" else name
                assert path in kept | {"nav.xhtml"}, link
                assert not anchor or unquote(anchor) in ids[path], link
                inner += "notebooks/" in path and path != name
        assert not {"script", "button", "form", "details"} & {
            one.tag.removeprefix(XHTML) for one in files[name].iter()
        }
    assert inner > 10


def test_epub_has_parts_and_all_cells_with_pictures_and_solutions(made, files):
    nav = files["nav.xhtml"].find(f".//{XHTML}nav")
    names = [f"notebooks/{path.stem}.xhtml" for path in CHOSEN]
    path = "/".join(f"{XHTML}{tag}" for tag in ("ol", "li", "ol", "li", "a"))
    links = [one.get("href") for one in nav.findall(path)]
    assert [link for link in links if link.startswith("notebooks/") and "#" not in link] == names
    for path, name in zip(CHOSEN, names, strict=True):
        cells = translate.in_language(path, made[1])["cells"]
        drawn = sum("image/png" in o.get("data", {}) for c in cells for o in c.get("outputs", ()))
        shown = [one for one in files[name].iter(f"{XHTML}img") if one.get("alt")]
        assert len(shown) == drawn > 0
        text = "".join("".join(files[name].itertext()).split())
        headings = [re.match("### .*", source(c)) for c in cells if c["cell_type"] == "markdown"]
        headings = [one[0].strip("# ").replace("`", "") for one in headings if one]
        assert len(headings) > 5
        for heading in headings:
            assert "".join(heading.split()) in text


def test_pdf_has_pages_links_and_an_outline(made):
    content = made[0].with_suffix(".pdf").read_bytes()
    assert len(re.findall(rb"/Type /Page\b", content)) > 30
    assert len(re.findall(rb"/Subtype /Link", content)) > 100
    assert b"/Outlines" in content
    for path in CHOSEN:
        title = translate.in_language(path, made[1])["metadata"]["title"]
        encoded = f"{path.stem[:2]} {title}".encode("utf-16-be").hex().upper().encode()
        assert encoded in content or f"({path.stem[:2]} {title})".encode() in content
