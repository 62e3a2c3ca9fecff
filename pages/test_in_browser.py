"""The pages as a visitor sees them. `python3 course.py site --check` runs this.

It needs a Chromium, such as Debian's. With D2LHYBRID_ALL_PAGES=1 it looks at every page for what
keeps people out, which takes minutes, and not only at some.
"""

import os
import re
from urllib.parse import quote

import pytest
from reader import PAGES, language_of

from tools import site
from tools.site import ROOT

SOME = ["index.html", "404.html", "API.html", "notebooks/06_measuring_honestly.html"]
SOME += ["zh/index.html", "zh/GLOSSARY.html", "zh/notebooks/13_write_your_own_hybridizer.html"]
SOME += ["guesses.html"]
LOOKS = [(1300, "light"), (390, "dark"), (1300, "dark"), (390, "light")]
ALL = os.environ.get("D2LHYBRID_ALL_PAGES")


@pytest.mark.parametrize("name", PAGES)
def test_page_asks_no_other_address_and_fits_a_phone(visit, base, name):
    page = visit(base["file"] + name, width=390)
    assert len(page.asked) > 3 or name == "404.html"
    assert [one for one in page.asked if not one.startswith((base["file"], "data:"))] == []
    assert page.faults == []
    assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.parametrize(("width", "colors"), LOOKS if ALL else LOOKS[:2])
@pytest.mark.parametrize("name", PAGES if ALL else SOME)
def test_page_is_accessible(visit, base, shut_out, name, width, colors):
    assert shut_out(visit(base["file"] + name, width, colors)) == []


SEARCHES = {
    "constant folding": "GLOSSARY.html",
    "AMD EPYC": "results.html",
    "plot_roofline": "API.html",
    "all-reduce": "notebooks/26_rings.html",
    "常量折叠": "zh/notebooks/02_symbolic_programs.html",
    "守卫": "zh/notebooks/10_torch_compile.html",
    "环": "zh/notebooks/26_rings.html",
}


@pytest.mark.parametrize("words", SEARCHES)
def test_search_finds_the_page(visit, base, words):
    home = site.home(language_of(SEARCHES[words])[0])
    page = visit(f"{base['file']}{home}search.html?q={quote(words)}")
    page.wait_for_selector("#search-results ul.search li a")
    page.wait_for_function(
        "!/Searching|正在搜索/.test(document.querySelector('#search-results h2').textContent)"
    )
    links = page.eval_on_selector_all("#search-results li a", "all => all.map(one => one.href)")
    pages = [re.sub("[#?].*", "", link).removeprefix(base["file"]) for link in links]
    assert SEARCHES[words] in pages[:8]


def test_sidebar_field_searches(visit, base):
    page = visit(base["server"] + "index.html")
    page.click(".search-button-field")
    page.keyboard.type("guard")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=guard*")


def test_solution_opens_by_keyboard(visit, base):
    page = visit(base["file"] + "notebooks/01_imperative_programs.html")
    solution = page.locator("details.solution").first
    assert not solution.locator("pre").first.is_visible()
    solution.locator("summary").press("Enter")
    assert solution.locator("pre").first.is_visible()


def test_colors_follow_the_system_and_the_button(visit, base):
    page = visit(base["file"] + "index.html", colors="dark")
    shade = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(shade)
    page.click(".theme-switch-button")
    page.click(".theme-change-button[data-mode=light]")
    assert (dark, page.evaluate(shade)) == ("rgb(18, 18, 18)", "rgb(255, 255, 255)")


def test_download_button_saves_the_notebook(visit, base):
    page = visit(base["server"] + "notebooks/01_imperative_programs.html")
    page.click(".dropdown-download-buttons button")
    with page.expect_download(timeout=10_000) as saved:
        page.click(".btn-download-source-button")
    notebook = ROOT / "notebooks" / "01_imperative_programs.ipynb"
    assert saved.value.suggested_filename == notebook.name
    assert saved.value.path().read_bytes() == notebook.read_bytes()
