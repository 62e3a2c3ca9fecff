"""The pages are whole, and agree with the notebooks. `python3 course.py site --check` runs this."""

import json
import re
from html import unescape

import pytest
from reader import LISTED, NOTEBOOKS, PAGES, language_of, page

from tools import glossary, manifest, notebook, site, site_pages, translate
from tools.colab import FIRST_CELL

ADDRESS = f"https://github.com/{manifest.repository()}/blob/main/"


def stored(name):
    """The notebook of a page, as the repository has it, in the page's language."""
    language, name = language_of(name)
    read = translate.in_language((site.ROOT / name).with_suffix(".ipynb"), language)
    return site.with_comments(read, language)


def outputs(name):
    return [output for cell in stored(name)["cells"] for output in cell.get("outputs", [])]


def squeezed(text):
    return "".join(text.split())


def test_every_source_has_its_page():
    assert len(NOTEBOOKS) == 2 * 28
    others = ["index", "answer", "INSTALL", "COMPARE", "GLOSSARY", "results", "API"]
    others += ["TEACHING", "speak", "guesses", "take"]
    others = {f"{home}{name}.html" for name in [*others, "search"] for home in ("", "zh/")}
    assert {*PAGES} == {*NOTEBOOKS, *others, "404.html"}


@pytest.mark.parametrize("name", LISTED)
def test_page_leads_to_the_same_page_in_the_other_language(name):
    language, rest = language_of(name)
    other = {"en": "zh", "zh": "en"}[language]
    code, tags = site.words()[other]["code"], page(name).tags
    assert tags[0][1]["lang"] == site.words()[language]["code"]
    (switch,) = [one for tag, one in tags if tag == "a" and "language" in one.get("class", "")]
    twin = f"{site.home(other)}{rest}"
    assert page(name).target(switch["href"])[0] == site.HTML / twin
    assert switch["lang"] == switch["hreflang"] == code
    heads = [one["href"] for tag, one in tags if tag == "link" and one.get("hreflang") == code]
    assert heads == [f"{manifest.pages_address()}{twin}"]


@pytest.mark.parametrize("name", [name for name in NOTEBOOKS if language_of(name)[0] == "zh"])
def test_english_on_a_chinese_page_is_marked(name):
    han, marked = re.compile(r"[\u3400-\u9fff]"), 0
    for tag, found in page(name).tags:
        if tag == "img" and "_images" in found["src"]:
            assert found.get("lang") == ("en" if not han.search(found["alt"]) else None)
        if tag == "div" and "notranslate" in (found.get("class") or ""):  # code and its output
            marked += found.get("lang") == "en"
    assert marked > 5
    assert han.search(page(name).text)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_page_shows_each_stored_output(name):
    wanted = []
    for output in outputs(name):
        data = output.get("data", {})
        if marked := data.get("image/svg+xml", data.get("text/html")):
            wanted.append(unescape(re.sub("<[^>]*>", "", "".join(marked))))
        elif "image/png" not in data:
            wanted.append("".join(output.get("text", data.get("text/plain", []))))
    assert squeezed("".join(page(name).outputs)) == squeezed("".join(wanted))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_each_picture_has_its_alternative_text(name):
    wanted = [
        output["metadata"]["image/png"]["alt"]
        for output in outputs(name)
        if "image/png" in output.get("data", {}) and "image/svg+xml" not in output["data"]
    ]
    pictures = [found for tag, found in page(name).tags if tag == "img"]
    shown = [found["alt"] for found in pictures if "_images" in found["src"]]
    assert shown == wanted
    drawings = ["image/svg+xml" in output.get("data", {}) for output in outputs(name)]
    roles = page(name).all("svg", "role")
    assert roles.count("img") + roles.count("group") == sum(drawings)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_page_leaves_out_what_only_the_file_needs(name):
    first = FIRST_CELL.splitlines()[-1]
    assert first not in page(name).text
    assert "colab-badge" not in page(name).source
    language, rest = language_of(name)
    download = f"{site.home(language)}_sources/{rest.removesuffix('.html')}.ipynb"
    assert json.loads((site.HTML / download).read_text("utf-8")) == stored(name)
    links = page(name).all("a", "href")
    assert any(page(name).target(link)[0] == site.HTML / download for link in links)
    colab = f"https://colab.research.google.com/github/{manifest.repository()}/blob/"
    there = f"main/{rest.removesuffix('.html')}.ipynb" if language == "en" else None
    assert f"{colab}{there or f'gh-pages/{download}'}" in links


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_each_solution_is_folded(name):
    texts = "\n".join(map(notebook.source, stored(name)["cells"]))
    solutions = len(re.findall(r"(?m)^### (?:Solution |解答)\d", texts))
    folded = [found for tag, found in page(name).tags if tag == "details"]
    folded = [found for found in folded if found.get("class") == "solution"]
    assert len(folded) == solutions >= 2
    assert not any("open" in found for found in folded)


@pytest.mark.parametrize("name", PAGES)
def test_links_of_a_page_lead_somewhere(name):
    checked = 0
    published = rf"{re.escape(manifest.pages_address())}[\w/]+\.html"  # by a text, not by its page
    there = [link for link in page(name).all("a", "href") if re.match(published, link)]
    assert not there or name == "404.html"  # which may stand at any address
    links = [("a", "href"), ("link", "href"), ("img", "src"), ("script", "src")]
    for link in [link for one in links for link in page(name).all(*one)]:
        if re.match(r"\w+:", link) or link == "#":
            continue
        file, anchor = page(name).target(link)
        assert file.is_file(), link
        if anchor and file.suffix == ".html":
            assert anchor in page(file.relative_to(site.HTML).as_posix()).ids, link
        checked += 1
    assert checked or name == "404.html"


@pytest.mark.parametrize("name", LISTED)
def test_page_describes_itself_to_search_engines(name):
    metas = {m.get("name") or m.get("property"): m for t, m in page(name).tags if t == "meta"}
    assert len(metas["description"]["content"]) > 10
    assert metas["og:url"]["content"] == f"{manifest.pages_address()}{name}"


@pytest.mark.parametrize("name", LISTED)
def test_page_says_what_it_is_and_where_to_report_a_fault(name):
    language, rest = language_of(name)
    found, links = page(name), page(name).all("a", "href")
    title = re.search("<title>(.*)</title>", found.source)[1]
    number = re.match(r"notebooks/(\d\d)", rest)
    assert title.startswith(number[1] if number else "")
    assert site.words()[language]["question"] in title
    assert found.source.count('name="viewport"') == 1
    version = re.search("(?m)^version: (.*)$", (site.ROOT / "CITATION.cff").read_text("utf-8"))[1]
    assert f"d2lhybrid {version}, 20" in found.text
    assert f"{ADDRESS[:-10]}issues/new?template=text.yml&place={name}" in links
    (edit,) = [link for link in links if "/edit/main/" in link]
    assert (site.ROOT / edit.partition("/edit/main/")[2]).is_file()


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_terms_of_a_notebook_lead_to_the_glossary(name):
    language, rest = language_of(name)
    notebook = f"({rest.removesuffix('.html')}.ipynb)"
    entries = glossary.entries(language).items()
    own = {glossary.address(term) for term, text in entries if notebook in text}
    sections = re.split("<h2[ >]", page(name).source)[1:]
    term = r'<a class="term reference external" href="\.\./GLOSSARY\.html(#[^"]+)">(<strong>)?'
    found = [re.findall(term, section) for section in sections]
    assert {place for part in found for place, bold in part if bold} >= own
    for part in found:
        assert len({place for place, _ in part}) == len(part)  # once
    assert sum(map(len, found)) == page(name).source.count('class="term ')


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_page_says_where_here_is(name):
    note = site.words()[language_of(name)[0]]["guess"]["measured"]
    measured = "(measured here)" in "".join(page(name).outputs)
    assert (f">{note}</p>" in page(name).source) == measured


def test_terms_are_linked_in_texts_only():
    source = page("notebooks/11_when_torch_compile_pays.html").source
    assert source.count('class="term ') > 20
    assert not re.search(
        r'<(h\d|a|code|pre)\b[^>]*>(?:(?!</\1>).)*<a class="term ', source, re.DOTALL
    )


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_page_imports_what_its_code_uses(name):
    code = "".join(
        re.findall('(?s)<div class="cell_input docutils container">(.*?)</pre>', page(name).source)
    )
    code = unescape(re.sub("<[^>]*>", "", code))
    assert len(code) > 500
    assert ("sys." in code) == bool(re.search(r"(?m)^import sys$", code))


def test_numbers_of_notebooks_are_links_where_a_course_is_taught():
    for name in ("TEACHING.html", "zh/TEACHING.html"):
        links = [link.partition("#")[0] for link in page(name).all("a", "href")]
        for path in manifest.notebooks():
            assert links.count(f"notebooks/{path.stem}.html") >= 3, path  # one in the sidebar
        assert "notebooks/06_measuring_honestly.html#compare" in page(name).all("a", "href")


@pytest.mark.parametrize("name", ["index.html", "notebooks/00_start_here.html"])
def test_stations_of_the_map_are_links(name):
    for home in ("", "zh/"):
        source = page(f"{home}{name}").source
        svg = re.search('(?s)<svg[^>]* role="group".*?</svg>', source)[0]
        folder = "notebooks/" if name == "index.html" else ""
        link = rf'<a href="{folder}(\d\d)_\w+\.html"><rect [^>]*></rect>\s*<text [^>]*>(\d\d) '
        found = re.findall(link, svg)
        assert len(found) == len(re.findall(r">\d\d [^<]*</text>", svg)) == 14
        assert all(page == shown for page, shown in found)
        assert "<style" not in svg  # which would be one for all drawings of the page


def test_notebooks_are_named_with_their_numbers_where_a_reader_looks_for_them():
    there = page("notebooks/01_imperative_programs.html").text
    assert there.count("02 Symbolic programs") == 2  # in the sidebar, and after Next
    index = (site.HTML / "searchindex.js").read_text("utf-8")
    assert '"02 Symbolic programs"' in index


def test_search_finds_texts_without_their_tags_and_buttons():
    for language, said in site.words().items():
        index = (site.HTML / site.home(language) / "searchindex.js").read_text("utf-8")
        assert "</a>" not in index
        assert said["solution"] not in index


def test_what_no_page_needs_is_not_published():
    assert not (site.HTML / "jupyter_execute").exists()
    own = [path.name for path in (site.HTML / "zh" / "_static").rglob("*") if path.is_file()]
    assert sorted(own) == ["documentation_options.js", "translations.js"]
    fonts = [path.name for path in (site.HTML / "_static").rglob("fa-*")]
    assert sorted(fonts) == ["fa-regular-400.woff2", "fa-solid-900.woff2"]
    assert not [*site.HTML.rglob("fontawesome.js*")]
    card = (site.HTML / "_static" / "card.png").read_bytes()
    assert (card[16:24].hex(), card[:4]) == ("000004b000000276", b"\x89PNG")  # 1200 by 630


def test_unknown_address_leads_to_the_first_pages():
    first = manifest.pages_address()
    assert page("404.html").all("a", "href") == [f"{first}index.html", f"{first}zh/index.html"]
    assert (site.HTML / ".nojekyll").exists()


def test_reference_has_every_public_name_and_the_notebooks_that_use_it():
    names = {name for pairs in site_pages.public_names().values() for _, name in pairs}
    for reference in (page("API.html"), page("zh/API.html")):
        ids = {one.rpartition(".")[2] for one in reference.ids if one.startswith("d2lhybrid.")}
        assert names - {name for name in names if name.startswith("_")} <= ids
    text, links = page("API.html").text, page("API.html").all("a", "href")
    assert "Notebooks: 12" in text
    assert any(link.startswith(f"{ADDRESS}d2lhybrid/") for link in links)
    assert "#d2lhybrid.compare" in links
