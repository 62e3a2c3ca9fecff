"""The pages as a visitor sees them. `python3 course.py site --check` runs this.

It needs a Chromium, such as Debian's. With D2LHYBRID_ALL_PAGES=1 it looks at every page for what
keeps people out, which takes minutes, and not only at some.
"""

import gzip
import os
import re
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from reader import PAGES, language_of, missing

from tools import site
from tools.site import ROOT

SOME = [
    "index.html",
    "results.html",
    "404.html",
    "API.html",
    "notebooks/06_measuring_honestly.html",
]
SOME += ["zh/index.html", "zh/GLOSSARY.html", "zh/notebooks/13_write_your_own_hybridizer.html"]
SOME += ["guesses.html"]
HEAVY = ["API.html", "notebooks/18_side_by_side.html", "zh/notebooks/01_imperative_programs.html"]
FINDING = ["search.html?q=fusion", "zh/search.html?q=融合"]
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


SEARCHES = {  # what somebody types, and where the answer is
    "constant folding": "GLOSSARY.html#constant-folding",
    "AMD EPYC": "results.html#",
    "plot_roofline": "API.html#d2lhybrid.plot_roofline",
    "all-reduce": "GLOSSARY.html#all-reduce",
    "fusion": "notebooks/11_when_torch_compile_pays.html#where-fusing-pays",
    "recompile": "GLOSSARY.html#recompilation",
    "why is torch.compile slower": "notebooks/11_when_torch_compile_pays.html#",
    "quantization": "notebooks/13_write_your_own_hybridizer.html#",
    "license": "index.html#origin-licenses-and-citing",
    "常量折叠": "zh/GLOSSARY.html#constant-folding",
    "守卫": "zh/notebooks/10_torch_compile.html#",
    "环": "zh/notebooks/26_rings.html",
    "守卫的失败": "zh/notebooks/",
}


@pytest.mark.parametrize("words", SEARCHES)
def test_search_finds_the_section(visit, base, words):
    home = site.home(language_of(SEARCHES[words])[0])
    page = visit(f"{base['file']}{home}search.html?q={quote(words)}")
    links = page.eval_on_selector_all("#search-results li a", "all => all.map(one => one.href)")
    assert any(link.startswith(base["file"] + SEARCHES[words]) for link in links[:6]), links[:6]
    assert page.locator("#search-results li").first.locator(".highlighted").count()
    page.locator("#search-results li a").first.click()
    page.wait_for_url(lambda address: "search.html" not in address)
    if hash := page.evaluate("decodeURIComponent(location.hash.slice(1))"):
        page.wait_for_selector(f"[id='{hash}']", state="attached")
    assert page.faults == []


def test_search_says_what_it_did_not_find(visit, base):
    page = visit(base["file"] + "search.html?q=zebra+guard")
    words = site.words()["en"]["search"]
    assert page.locator("#search-results [role=status]").text_content().startswith(words["some"])
    page.goto(base["file"] + "search.html?q=zebra")
    assert page.locator("#search-results").text_content() == words["none"]


def test_hits_of_a_search_can_be_read_in_the_dark(visit, base, shut_out):
    page = visit(base["file"] + "search.html?q=guard", colors="dark")
    page.wait_for_selector("a .highlighted")
    assert shut_out(page) == []


def test_sidebar_field_searches(visit, base):
    page = visit(base["server"] + "index.html")
    page.click(".search-button-field")
    page.keyboard.type("guard")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=guard*")


DRAWN = """(word, style) => {
    const canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
    [canvas.width, canvas.height, pen.textBaseline] = [40, 40, "top"];
    pen.font = `${style.fontWeight} 32px ${style.fontFamily}`;
    pen.fillText(word, 0, 0);
    return canvas.toDataURL();
}"""


def test_chinese_is_drawn(visit, base):
    page = visit(base["file"] + "zh/index.html")
    body = "getComputedStyle(document.body)"
    one, other, gap = (page.evaluate(f"({DRAWN})('{word}', {body})") for word in "编译 ")
    if one == other:  # the box that stands for what a font lacks
        missing("needs a Chinese font")
    assert one != gap


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


# How many icons a page can show, and those that the fonts lack: they look like one that none has.
ICONS = f"""async () => {{
    const drawn = {DRAWN}, icons = new Map(), lacking = [];
    for (const one of document.querySelectorAll("*")) for (const part of ["::before", "::after"]) {{
        const style = getComputedStyle(one, part), icon = /^"([^"])"/.exec(style.content)?.[1];
        if (icon && style.fontFamily.includes("Font Awesome 7")) icons.set(icon, style);
    }}
    for (const [icon, style] of icons) {{
        await document.fonts.load(`${{style.fontWeight}} 1em ${{style.fontFamily}}`, icon);
        if (drawn(icon, style) === drawn("\uefff", style)) lacking.push(icon);
    }}
    return [icons.size, lacking];
}}"""


@pytest.mark.parametrize("name", ["index.html", "results.html", *HEAVY, *FINDING])
def test_page_is_light_and_draws_its_icons(visit, base, name):
    page = visit(base["file"] + name, width=390)
    page.wait_for_load_state("networkidle")
    files = {unquote(one.partition("?")[0].removeprefix("file://")) for one in page.asked}
    packed = [gzip.compress(Path(one).read_bytes()) for one in files if not one.startswith("data:")]
    assert 100_000 < sum(map(len, packed)) < 400_000
    assert page.said == []
    assert not [one for one in files if re.search("fontawesome.js|fa-brands", one)]
    assert any("searchindex" in one for one in files) == (name in FINDING)
    icon = "getComputedStyle(one, '::before').content !== 'none' && one.offsetWidth > 9"
    shown = f"all => all.filter(one => one.checkVisibility()).map(one => {icon})"
    icons = page.eval_on_selector_all("i[class*='fa-']", shown)
    assert len(icons) >= 4
    assert all(icons)
    size, lacking = page.evaluate(ICONS)
    assert size >= 6
    assert lacking == []


def test_on_a_phone_a_place_in_contents_is_seen(visit, base):
    page = visit(base["file"] + "notebooks/02_symbolic_programs.html", width=390)
    page.click(".secondary-toggle")
    page.click("dialog[open] a[href='#summary']")
    assert page.locator("dialog[open]").count() == 0
    assert page.evaluate("document.activeElement.closest('dialog')") is None
    code = page.locator(".cell_input pre").first
    assert 12 <= float(code.evaluate("one => getComputedStyle(one).fontSize")[:-2]) <= 13


def test_contents_mark_the_section_that_is_read(visit, base):
    page = visit(base["file"] + "notebooks/05_torchscript.html")
    page.emulate_media(reduced_motion="reduce")
    heads = page.locator(".page-toc .toc-h2 > a").evaluate_all("all => all.map(one => one.hash)")
    top = "document.querySelector('{}').getBoundingClientRect().top"
    pairs = [*pairwise(heads[:9])]
    for head, after in [*pairs, *reversed(pairs)]:
        page.evaluate(f"scrollBy(0, {top.format(after)} - 400)")  # down, and up again
        page.wait_for_timeout(250)
        assert page.locator(".page-toc a[aria-current]").get_attribute("href") == head


def test_code_is_copied_and_wraps_on_paper(visit, base):
    page = visit(base["server"] + "notebooks/06_measuring_honestly.html")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    cell = page.locator(".cell_input").first
    cell.hover()
    cell.locator("button.copybtn").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.strip() == cell.locator("pre").inner_text().strip()
    assert page.locator(".cell_output button.copybtn").count() == 0
    page.emulate_media(media="print")
    assert page.evaluate(
        "[...document.querySelectorAll('pre')].every(one => one.scrollWidth <= one.clientWidth)"
    )


def test_download_button_saves_the_notebook(visit, base):
    page = visit(base["server"] + "notebooks/01_imperative_programs.html")
    page.click(".dropdown-download-buttons button")
    with page.expect_download(timeout=10_000) as saved:
        page.click(".btn-download-source-button")
    notebook = ROOT / "notebooks" / "01_imperative_programs.ipynb"
    assert saved.value.suggested_filename == notebook.name
    assert saved.value.path().read_bytes() == notebook.read_bytes()


def test_first_screen_asks_shows_and_runs(visit, base):
    for width, height in ((390, 844), (1300, 900)):
        page = visit(base["file"] + "index.html", width)
        page.set_viewport_size({"width": width, "height": height})
        for part in (".bd-article h1", "a.start", "table.chart tbody tr:nth-child(5)"):
            box = page.locator(part).bounding_box()
            assert box["y"] + box["height"] < height, part
    page.click("a.start")
    page.wait_for_selector("text=http.server")  # what running says on a page that is a file


def test_results_can_be_chosen_and_are_not_cut_off(visit, base):
    page = visit(base["file"] + "index.html")
    page.click("a[href$='#intel-amx-2-cores-frameworks']")
    page.wait_for_url("**/results.html#intel-amx-2-cores-frameworks")
    cut = "[...document.querySelectorAll('table')].filter(one => one.offsetWidth > 710).length"
    assert page.evaluate(cut) == 0
    rows = page.locator("table.chart tbody tr:visible")
    everything = rows.count()
    page.select_option("[name=rows]", "1024")
    page.select_option("[name=framework]", "JAX")
    assert rows.all_text_contents() == [text for text in rows.all_text_contents() if "JAX" in text]
    assert (everything > 150, rows.count()) == (True, 1)
    assert page.locator("h2:visible").all_text_contents()[0].startswith("AMD EPYC (AVX-512)")
    page.reload()  # the address keeps what was chosen
    assert (rows.count(), page.locator("[name=framework]").input_value()) == (1, "JAX")
    assert page.url.endswith("results.html?rows=1024&framework=JAX#intel-amx-2-cores-frameworks")
    page.select_option("[name=framework]", "MXNet")
    told = page.locator("form.filters output").text_content()
    assert (rows.count(), told) == (0, site.words()["en"]["results"]["none"])
    page.select_option("[name=rows]", "")
    page.select_option("[name=framework]", "")
    assert rows.count() == everything
    page.goto(base["file"] + "results.html?rows=7")
    assert rows.count() == everything


def test_hidden_sidebar_stays_hidden(visit, base):
    page = visit(base["server"] + "notebooks/05_torchscript.html")
    sidebar, toggle = page.locator("#pst-primary-sidebar"), page.locator(".primary-toggle")
    for hidden in (True, False):
        toggle.click()
        page.locator(".right-next").click()
        page.wait_for_load_state()
        assert sidebar.is_visible() != hidden


def test_tables_of_results_are_not_cut_off(visit, base):
    page = visit(base["file"] + "notebooks/06_measuring_honestly.html")
    page.check("[name=results][value=all]")
    tables = page.locator(".cell_output .output:has(table)")
    room = tables.evaluate_all("all => all.map(one => one.clientWidth - one.scrollWidth)")
    assert room == [0] * len(room)
    assert len(room) > 2
