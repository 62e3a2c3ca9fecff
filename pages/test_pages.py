"""The pages are whole, and agree with the notebooks. `python3 course.py site --check` runs this."""

import json
import re
import xml.etree.ElementTree as ET
from html import unescape

import pytest
from reader import LISTED, NOTEBOOKS, PAGES, language_of, page

from tools import manifest, notebook, site, translate
from tools.colab import FIRST_CELL


def stored(name):
    """The notebook of a page, as the repository has it, in the page's language."""
    language, name = language_of(name)
    return translate.in_language((site.ROOT / name).with_suffix(".ipynb"), language)


def outputs(name):
    return [output for cell in stored(name)["cells"] for output in cell.get("outputs", [])]


def squeezed(text):
    return "".join(text.split())


def test_every_source_has_its_page():
    assert len(NOTEBOOKS) == 2 * 27
    others = ["index", "answer", "INSTALL", "COMPARE", "GLOSSARY", "results", "API", "TEACHING"]
    others = {f"{home}{name}.html" for name in [*others, "search"] for home in ("", "zh/")}
    assert {*PAGES} == {*NOTEBOOKS, *others, "404.html"}


@pytest.mark.parametrize("name", LISTED)
def test_a_page_leads_to_the_same_page_in_the_other_language(name):
    language, rest = language_of(name)
    other = {"en": "zh", "zh": "en"}[language]
    code = {one: said["code"] for one, said in site.words().items()}
    tags, twin = page(name).tags, f"{site.home(other)}{rest}"
    assert tags[0] == ("html", tags[0][1])
    assert tags[0][1]["lang"] == code[language]
    (switch,) = [one for tag, one in tags if tag == "a" and "language" in one.get("class", "")]
    assert page(name).target(switch["href"])[0] == site.HTML / twin
    assert switch["lang"] == switch["hreflang"] == code[other]
    links = {found["hreflang"]: found["href"] for tag, found in tags if found.get("hreflang")}
    address = manifest.pages_address()
    assert links[code[language]] == f"{address}{name}"
    heads = [one for tag, one in tags if tag == "link" and one.get("hreflang") == code[other]]
    assert [one["href"] for one in heads] == [f"{address}{twin}"]


@pytest.mark.parametrize("name", [name for name in NOTEBOOKS if language_of(name)[0] == "zh"])
def test_what_is_english_on_a_chinese_page_says_so(name):
    han, marked = re.compile(r"[\u3400-\u9fff]"), 0
    for tag, found in page(name).tags:
        if tag == "img" and "_images" in found["src"]:
            assert found.get("lang") == ("en" if not han.search(found["alt"]) else None)
        if tag == "div" and "notranslate" in (found.get("class") or ""):  # code and its output
            marked += found.get("lang") == "en"
    assert marked > 5
    assert han.search(page(name).text)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_each_output_stands_on_the_page_as_it_is_stored(name):
    wanted = []
    for output in outputs(name):
        data = output.get("data", {})
        if marked := data.get("image/svg+xml", data.get("text/html")):
            wanted.append(unescape(re.sub("<[^>]*>", "", "".join(marked))))
        elif "image/png" not in data:
            wanted.append("".join(output.get("text", data.get("text/plain", []))))
    assert squeezed("".join(page(name).outputs)) == squeezed("".join(wanted))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_each_picture_says_what_it_shows(name):
    wanted = [
        output["metadata"]["image/png"]["alt"]
        for output in outputs(name)
        if "image/png" in output.get("data", {}) and "image/svg+xml" not in output["data"]
    ]
    pictures = [found for tag, found in page(name).tags if tag == "img"]
    shown = [found["alt"] for found in pictures if "_images" in found["src"]]
    assert shown == wanted
    drawings = ["image/svg+xml" in output.get("data", {}) for output in outputs(name)]
    assert page(name).all("svg", "role").count("img") == sum(drawings)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_page_leaves_out_what_only_the_file_needs_and_the_download_does_not(name):
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
def test_a_page_loads_nothing_from_elsewhere(name):
    loaded = [one for tag in ("img", "script", "iframe") for one in page(name).all(tag, "src")]
    links = [found for tag, found in page(name).tags if tag == "link"]
    loaded += [one["href"] for one in links if one["rel"] not in ("canonical", "alternate")]
    assert loaded or name == "404.html"
    assert [one for one in loaded if re.match(r"(\w+:)?//", one)] == []
    for path in site.HTML.rglob("*.css"):
        found = re.findall(
            r"""(?:@import\s+|url\()['"]?((?:https?:)?//\S+)""", path.read_text("utf-8")
        )
        assert found == []


@pytest.mark.parametrize("name", PAGES)
def test_what_a_page_links_to_is_there(name):
    checked = 0
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


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_light_enough(name):
    pictures = {page(name).target(link)[0] for link in page(name).all("img", "src")}
    files = [site.HTML / name, *pictures]
    assert sum(file.stat().st_size for file in files) < 1_500_000


@pytest.mark.parametrize("name", LISTED)
def test_a_page_tells_search_engines_and_previews_what_it_is(name):
    tags = page(name).tags
    metas = {m.get("name") or m.get("property"): m.get("content") for t, m in tags if t == "meta"}
    assert len(metas["description"]) > 10
    assert metas["og:description"] == metas["description"]
    assert metas["og:title"]
    assert metas["og:url"] == f"{manifest.pages_address()}{name}"
    image = metas["og:image"].removeprefix(manifest.pages_address())
    assert (site.HTML / image).is_file()
    links = {found["rel"]: found["href"] for tag, found in tags if tag == "link"}
    assert links["canonical"] == metas["og:url"]
    assert page(name).target(links["icon"])[0].is_file()


def test_no_two_notebooks_are_described_alike():
    descriptions = [
        found["content"]
        for name in NOTEBOOKS
        for tag, found in page(name).tags
        if tag == "meta" and found.get("name") == "description"
    ]
    assert len({*descriptions}) == len(descriptions) == len(NOTEBOOKS)


def test_the_sitemap_and_what_github_and_search_engines_look_for():
    places = [one.text for one in ET.parse(site.HTML / "sitemap.xml").iter() if "loc" in one.tag]
    names = [place.removeprefix(manifest.pages_address()) for place in places]
    assert sorted(names) == LISTED
    robots = (site.HTML / "robots.txt").read_text("utf-8")
    assert f"Sitemap: {manifest.pages_address()}sitemap.xml" in robots
    assert (site.HTML / ".nojekyll").exists()
    first = manifest.pages_address()
    assert page("404.html").all("a", "href") == [f"{first}index.html", f"{first}zh/index.html"]


def test_the_answer_is_that_of_the_last_notebook_of_the_main_path():
    text = notebook.source(
        next(c for c in stored(NOTEBOOKS[17])["cells"] if c["id"] == "answer-01")
    )
    text = re.sub(r"\]\([^)]*\)", "", re.sub(r"(?m)^(##|-) ", "", text))
    for paragraph in text.split("\n"):
        words = squeezed(re.sub(r"[*`[]", "", paragraph))
        assert words in squeezed(page("answer.html").text)
