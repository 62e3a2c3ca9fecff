"""The figures with steps. `python3 course.py site --check` runs this."""

import json
import random
import re
from html import unescape

import pytest
from playwright.sync_api import expect
from reader import page

from tools import manifest, site, site_results

FIGURES = {  # name -> the number of its notebook, and of the last step at first
    "interpreter": ("01", 35),
    "rewriting": ("02", 13),
    "passes": ("04", 5),
    "intervals": ("06", 12),
    "break-even": ("06", 12),
    "schedule": ("20", 5),
}
LOOKS = {  # number of a notebook -> language, width, colors, whether a guess comes first
    "01": ("zh/", 1300, "light", True),
    "02": ("", 390, "light", False),
    "04": ("", 390, "dark", False),
    "06": ("zh/", 1300, "dark", False),
    "20": ("zh/", 390, "dark", True),
}
PATHS = {entry["name"][:2]: f"notebooks/{entry['name']}" for entry in manifest.entries()}
TRACK = r"left:([\d.]+)%;width:([\d.]+)%"


def stored(number, cell):
    """What a cell of a notebook has put out, as text; of a drawing its SVG."""
    cells = json.loads((site.ROOT / f"{PATHS[number]}.ipynb").read_text("utf-8"))["cells"]
    (outputs,) = [one["outputs"] for one in cells if one["id"] == cell]
    texts = [one.get("text") or one["data"]["image/svg+xml"] for one in outputs]
    return "".join("".join(text) for text in texts)


def steps(name):
    """The steps of a figure: of each its group, what it says, and its HTML."""
    source = page(f"{PATHS[FIGURES[name][0]]}.html").source
    figure = re.search(f'(?s)id="steps-{name}".*?</figure>', source)[0]
    one = r'"frame[^"]*" data-group="(\d)"><p>(.*?)</p>(.*?)(?=<div class="frame|</figure>)'
    found = re.findall(f"(?s){one}", figure)
    return [(group, unescape(said), html) for group, said, html in found]


@pytest.mark.parametrize("number", LOOKS)
def test_figure_is_played_with_by_keyboard(visit, base, shut_out, number):
    home, width, colors, waits = LOOKS[number]
    shown = visit(f"{base['file']}{home}{PATHS[number]}.html", width, colors)
    figures = [name for name, (where, _) in FIGURES.items() if where == number]
    inner = "one => one.checkVisibility() && one.closest('.result')?.hidden !== 'until-found'"
    assert shown.locator(f"#steps-{figures[0]}").evaluate(inner) == (not waits)
    shown.locator("[name=results][value=all]").press("Space")
    for name in figures:
        figure, last = shown.locator(f"#steps-{name}"), FIGURES[name][1]
        slider, told = figure.locator("[name=at]"), figure.locator("output[aria-live]")
        now, tall = figure.locator(".now"), figure.bounding_box()["height"]
        first = now.locator("> p").text_content()
        slider.press("ArrowRight")
        expect(now.locator("> p")).not_to_have_text(first)
        expect(told).to_have_text(now.locator("> p").text_content())
        expect(now.locator("> p")).to_be_visible()
        slider.press("End")
        back, on = figure.locator("button").all()
        assert (slider.input_value(), on.is_disabled()) == (str(last), True)
        back.press("Enter")
        assert slider.input_value() == str(last - 1)
        expect(told).to_have_text(now.locator("> p").text_content())
        for choice in figure.locator("select").all():
            choice.press("ArrowDown")
            assert now.get_attribute("data-group") == "1"
        assert (now.count(), figure.bounding_box()["height"]) == (1, tall)  # nothing moves
    assert shown.evaluate("document.documentElement.scrollWidth") == width
    assert shut_out(shown, "'figure.steps'") == []
    shown.emulate_media(media="print")
    for name in figures:
        frame = shown.locator(f"#steps-{name} .frame:visible")
        assert frame.get_attribute("class").split()[-1] == "last"
    assert [one for one in shown.asked if not one.startswith((base["file"], "data:"))] == []
    assert shown.faults == []


def test_last_step_is_shown_without_javascript(browser, base):
    context = browser.new_context(java_script_enabled=False)
    bare = context.new_page()
    for name, (number, _) in FIGURES.items():
        bare.goto(f"{base['file']}{PATHS[number]}.html")
        figure = bare.locator(f"#steps-{name}")
        expect(figure.locator(".frame:visible > p")).to_have_text(steps(name)[-1][1])
        expect(figure.locator("form")).to_be_hidden()
    context.close()


def test_interpreter_ends_as_in_the_notebook():
    result, additions, count = re.findall(r"\d+", stored("01", "01-17d"))
    found = steps("interpreter")
    assert len(found) == int(count)
    assert re.findall(r"\d+", found[-1][1])[:3] == [count, count, additions]
    assert re.findall("<b>(.*?)</b>", found[-1][2]) == [result]


def test_rewriting_goes_through_the_stages_of_the_notebook():
    found = []
    for _, _, html in steps("rewriting"):
        text = re.search("(?s)<pre[^>]*>(.*?)</pre>", html)[1]
        found.append(re.sub("<del>.*?</del>\n?|<[^>]*>", "", text).strip())
    cells = "02-30a", "02-33a", "02-37a", "02-40a"
    stages = [stored("02", cell).partition("after:\n")[2].strip() for cell in cells]
    assert [text for text in found if text in stages] == [*stages, stages[-1]]
    assert found[-1] == stages[-1] == "print(10)"


def test_passes_make_the_graphs_and_the_memory_of_the_notebook():
    found = steps("passes")
    sizes = re.findall(r"\d+ bytes", stored("04", "03-92a"))
    for size, (_, said, _) in zip(sizes, (found[-6], found[-2], found[-1]), strict=True):
        assert size in said
    slots = dict(re.findall(r"(v\d) in (slot \d)", stored("04", "04c10016")))
    rows = re.findall(r"<span>(slot \d)</span><div>(.*?)</div>", found[-1][2])
    assert {value: slot for slot, row in rows for value in re.findall(r"v\d", row)} == slots
    shown = {"bound": ("03-65", 0), "folded": ("03-65", 1), "dropped": ("03-68a", 3)}
    for title, (cell, at) in (shown | {"shared": ("03-72a", 8)}).items():
        flow = re.search(r'aria-label="Data flow: (.*?)"', found[at][2])[1]
        assert f"{title}: {flow}" in stored("04", cell)


def test_intervals_are_those_of_the_notebook():
    found = steps("intervals")
    low, high = re.findall(r"\d+", stored("06", "05-31").splitlines()[0])[2:]
    assert re.findall(r"\d+", found[-1][1])[:3] == ["300", low, high]
    draw = random.Random(3)
    twenty = sorted(draw.lognormvariate(0.1, 0.05) for _ in range(20))
    (drawn,) = [html for _, said, html in found if said.startswith("20 ")]
    left, wide = map(float, re.search(TRACK, drawn).groups())
    ends = [0.97 + 0.28 * place / 100 for place in (left, left + wide)]
    assert ends == pytest.approx([twenty[5], twenty[-6]], abs=1e-4)
    for _, said, html in found:
        missed = int(re.search(r"Misses: (\d+)", said)[1])
        assert missed == html.count('class="miss') == html.count("✗") <= 3


def test_compiled_network_breaks_even_where_the_results_say():
    ways = site_results.stored()["epyc_avx512_4_cores_frameworks"]["sizes"]["1"]
    order = ["PyTorch, TorchScript", "our compiler, hybridize", "PyTorch, torch.compile"]
    for _, said, html in steps("break-even"):
        calls = int(re.match(r"[\d,]+", said)[0].replace(",", ""))
        eager, *rows = re.findall(r"<div>(.*?)</div>", html)
        line = float(re.search(r'line" style="left:([\d.]+)', eager)[1])
        for way, row in zip(order, rows, strict=True):
            left, wide = map(float, re.findall(TRACK, row)[-1])
            pays = ways[way]["break_even"]
            assert (left + wide < line) == (pays is not None and calls > pays), (calls, way)


def test_schedule_takes_as_long_as_in_the_notebook():
    lengths = re.findall(r": (\d+)", stored("20", "16-76").splitlines()[0])
    ends = {group: said for group, said, _ in steps("schedule")}  # the last of each
    assert [re.search(r"\d+", said)[0] for said in ends.values()] == lengths
