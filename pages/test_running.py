"""The pages that run their code. `python3 course.py site --check` runs this.

Without a browser each cell is compared with what is stored; in one, a page is used as a reader
would use it.
"""

import re
import subprocess

import pytest
from playwright.sync_api import expect
from reader import NOTEBOOKS, language_of, missing, page as stored

from tools import site, site_run
from tools.site import HTML, ROOT

RUNNING = [name for name in NOTEBOOKS if site_run.runs(language_of(name)[1].removesuffix(".html"))]
STATES = "[...document.querySelectorAll('[data-state]')].map(one => one.dataset.state)"
KEPT = "JSON.parse(localStorage['d2lhybrid-run/notebooks/01_imperative_programs'])"
PATIENCE = 120_000  # milliseconds, on a busy machine
FIRST = "notebooks/01_imperative_programs.html"
LAST = "notebooks/04_programs_as_graphs.html"


@pytest.fixture(scope="module", autouse=True)
def packed():
    if not (HTML / "run").is_dir():
        missing("needs npm")


def test_each_cell_puts_out_what_is_stored():
    tests = ROOT / "pages" / "run" / "cells.test.mjs"
    done = subprocess.run(["node", "--test", tests], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_what_is_loaded_is_whole_and_light():
    files = [path for path in (HTML / "run").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 16_000_000
    licences = (HTML / "run" / "LICENSES.txt").read_text("utf-8")
    for name in ("Mozilla Public", "Python Software Foundation", "NetworkX", "@codemirror/view"):
        assert name in licences
    with_bar = [name for name in NOTEBOOKS if 'class="run-start"' in stored(name).source]
    assert with_bar == RUNNING
    assert len(RUNNING) == 5 * len(site.words())


def test_page_that_cannot_run_says_what_it_lacks_and_where_it_runs():
    for name in {*NOTEBOOKS} - {*RUNNING}:
        page, bar = stored(name), stored(name).source.partition('class="run-bar"')[2][:1500]
        assert "PyTorch" in bar, name
        assert re.search(r'href="https://colab.research.google.com/.*/notebooks/\w+.ipynb"', bar)
        saved = re.search(r'href="([^"]*)" download', bar)[1]
        assert page.target(saved)[0].is_file()
    assert "JAX" in stored("zh/notebooks/14_jax.html").source.partition('class="run-bar"')[2][:400]


class Reader:
    """Somebody who uses a page that runs."""

    def __init__(self, page):
        self.page, self.live = page, page.locator(".run-live")
        self.bar = page.locator(".run-bar")
        self.all, self.stop, self.over = self.bar.locator(".run-tools button").all()

    def begin(self):
        self.bar.locator(".run-start").click()
        self.page.wait_for_selector("[data-state=done]", timeout=PATIENCE)

    def wait(self):
        self.page.wait_for_function(
            f"{STATES}.every(one => /done|failed/.test(one))", timeout=PATIENCE
        )

    def cell(self, code):
        """The first cell with some code, which may then change; from its place."""
        return self.live.nth([code in text for text in self.live.all_text_contents()].index(True))

    def write(self, cell, text):
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)

    def see(self, cell, text):
        cell.locator(".run-out", has_text=text).wait_for(timeout=PATIENCE)


@pytest.fixture
def open_page(visit, base):
    """A function that opens a page for a reader; the page must not fail, nor ask another server."""
    opened = []

    def open_page(name, *look):
        opened.append(visit(base["server"] + name, *look))
        opened[-1].set_default_timeout(PATIENCE)
        return Reader(opened[-1])

    yield open_page
    ours = base["server"], "data:", "blob:"
    for page in opened:
        assert [one for one in page.asked if not one.startswith(ours)] == []
        assert page.faults == []


@pytest.mark.parametrize("name", [LAST, "zh/" + FIRST])
def test_all_cells_run_without_another_server(open_page, shut_out, name):
    dark = language_of(name)[0] != "en"
    reader = open_page(name, *((390, "dark") if dark else (1300, "light")))
    cells = reader.page.locator("div.cell:has(> .cell_input)").count()
    reader.begin()
    reader.all.click()
    reader.wait()
    assert any(one.endswith(".wasm") for one in reader.page.asked)
    assert reader.page.evaluate(STATES) == ["done"] * cells
    assert reader.page.evaluate("document.querySelector('.run-load progress').value") == 1
    assert reader.bar.bounding_box()["height"] < (60 if dark else 90)  # two lines on a phone
    for text in ("running", "error", "stopped"):
        said = site.words()[language_of(name)[0]]["run"][text].replace("{}", "20")
        reader.bar.locator("output").evaluate("(one, said) => (one.textContent = said)", said)
        assert reader.bar.bounding_box()["height"] < (60 if dark else 90), text
    tagged = reader.page.locator("[class*=tag_needs-]")
    assert reader.live.count() == cells - tagged.count()
    notes = tagged.locator(".run-note").all_text_contents()
    assert len(notes) == tagged.count()
    assert all(re.search("PyTorch|NumPy", note) for note in notes)
    fold = reader.page.locator(".tag_result:has(.run-out)").first  # what has just run is shown
    expect(fold.locator(".run-out")).to_be_visible()
    assert reader.page.locator(".result[hidden]").count() > 3  # and what is stored still waits
    width = reader.page.viewport_size["width"]
    assert reader.page.evaluate("document.documentElement.scrollWidth") == width
    reader.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert shut_out(reader.page) == []


def test_exercise_error_endless_loop_and_reset(open_page):
    reader, said = open_page(FIRST), site.words()["en"]["run"]
    reader.begin()
    fold, hide = reader.page.locator(".tag_result").first, site.words()["en"]["guess"]["hide"]
    fold.locator(".run-cell").click()  # who has seen the result is not asked to guess it
    expect(reader.page.locator(".guess button").first).to_have_text(hide, timeout=PATIENCE)
    expect(reader.page.locator(".guess button", has_text=hide)).to_have_count(1)
    exercise, checked = reader.cell("times_add_is_called = ..."), reader.cell("check(times_add")
    checked.locator(".run-cell").click()
    reader.see(checked, "not yet")
    counts = reader.page.locator("h2 .run-count, .page-toc .run-count")
    nested = "def nested():\n    return fancy_func(fancy_func(1, 2, 3, 4), 2, 3, 4)\n\n"
    for answer, verdict in {"5": "not right: your answer gives 5", "6": "right"}.items():
        reader.write(exercise, f"{nested}times_add_is_called = {answer}")
        reader.page.keyboard.press("Control+Enter")  # with the answer its check runs
        reader.see(checked, re.compile(rf"^{verdict}\s"))
        assert counts.all_text_contents() == 2 * [f" {int(verdict == 'right')} of 3"]
        hints = {"5": ["Which calls does Python make?"], "6": []}[answer]
        assert checked.locator(".run-note a").all_text_contents() == hints
    tick = reader.page.locator("h3 .run-tick", has_text="right")
    expect(tick).to_have_count(1)
    reader.write(checked, "check(0, 0)")
    assert checked.get_by_text(said["stale"]).is_visible()
    reader.write(exercise, "times_add_is_called = undefined")
    checked.locator(".run-cell").click()
    reader.see(exercise, "NameError")
    assert checked.locator(".run-out").text_content() == ""  # no result is that of other code

    reader.write(exercise, "def f():\n    return 1 / 0\n\nf()")
    reader.page.keyboard.press("Control+Enter")
    expect(exercise.locator(".run-error")).to_contain_text("ZeroDivisionError", timeout=PATIENCE)
    number = exercise.locator(".run-cell").get_attribute("aria-label").removeprefix("Run cell ")
    reader.see(exercise, f'"<cell {number}>", line 2, in f')
    reader.see(exercise, "return 1 / 0")
    assert exercise.locator(".run-error").text_content().count("File") == 2
    expect(exercise).to_have_attribute("data-state", "failed")
    expect(reader.bar.locator("output")).to_have_text(said["error"].format(number))

    reader.page.context.set_offline(True)  # what a new worker needs is there
    reader.write(exercise, "while True:\n    print('again')")
    reader.page.keyboard.press("Control+Enter")
    reader.see(exercise, "again")
    reader.stop.click()
    expect(reader.bar.locator("output")).to_have_text(said["stopped"])
    reader.write(exercise, "add(20, 22)")  # which a cell above defines: that runs anew
    reader.page.keyboard.press("Control+Enter")
    reader.see(exercise, re.compile(r"^42\s*$"))

    output = reader.page.locator(".cell_output").first
    assert not output.is_visible()
    assert reader.page.evaluate(KEPT)["01-37"]["text"] == "add(20, 22)"
    reader.page.on("dialog", lambda dialog: dialog.accept())
    reader.over.click()
    assert output.is_visible()
    assert (tick.count(), reader.page.evaluate(KEPT)) == (0, {})
    assert exercise.locator(".run-out").text_content() == ""
    assert "times_add_is_called = ..." in exercise.locator(".cm-content").text_content()


def test_changes_and_ticks_come_back(open_page):
    """Those of a cell that is a new one are shown once, and go."""
    reader = open_page(FIRST)
    text = "times_add_is_called = 6  # mine"
    check = reader.page.locator(".tag_id-01-38 pre").first.text_content().rstrip()
    base = reader.page.locator(".tag_id-01-37 pre").first.text_content().rstrip()
    kept = {"01-37": {"base": base, "text": text}, "01-38": {"base": check, "right": True}}
    kept |= {"01-40a": {"base": "another", "text": "seconds = 'lost'"}}
    key = f"d2lhybrid-run/{FIRST.removesuffix('.html')}"
    put = "([key, kept]) => localStorage.setItem(key, JSON.stringify(kept))"
    reader.page.evaluate(put, [key, kept])
    reader.page.reload()
    assert "1 of 3" in reader.page.locator("h2 .run-count").text_content()
    expect(reader.bar.locator("output")).to_have_text(site.words()["en"]["run"]["mine"])
    reader.page.locator(".tag_id-01-05 .run-cell").click()  # which starts Python, too
    reader.page.wait_for_selector(".tag_id-01-05[data-state=done]")
    assert reader.page.locator(".tag_id-01-37 .cm-content").text_content() == text
    assert "seconds = [" in reader.page.locator(".tag_id-01-40a .cm-content").text_content()
    assert reader.page.get_by_text("seconds = 'lost'").is_visible()
    kept.pop("01-40a")
    assert reader.page.evaluate(KEPT) == kept


def test_runner_can_be_used_by_keyboard(open_page):
    reader = open_page("zh/" + FIRST)
    page, words = reader.page, site.words()["zh"]["run"]
    keys = page.keyboard
    focused = "document.activeElement"
    while page.evaluate(f"{focused}.className") != "run-start":
        keys.press("Tab")
    keys.press("Enter")
    page.wait_for_selector("[data-state=done]", timeout=PATIENCE)
    name = f"{focused}.getAttribute('aria-label') ?? {focused}.textContent"
    first, second = (words["code"].format(i) for i in (1, 2))
    while page.evaluate(name) != first:
        keys.press("Tab")
        place = f"{focused}.closest('.cm-editor, button, input, a')"
        # An editor notices a moment later that it has the focus.
        page.wait_for_function(f"getComputedStyle({place}).outlineStyle != 'none'", timeout=5000)
    keys.press("Control+a")
    keys.type("print(84 // 2)")  # a slash, too
    keys.press("Shift+Enter")
    reader.see(reader.live.first, "42")
    assert page.evaluate(name) == second
    text = f"{focused}.textContent.length"
    before = page.evaluate(text)
    keys.press("Control+End")
    keys.press("Tab")  # who writes is indenting
    assert (page.evaluate(name), page.evaluate(text)) == (second, before + 4)
    keys.press("Escape")
    cells = [words["cell"].format(i) for i in range(3, 9)]
    found = []
    while len(found) < 2:  # who passes through is not; guesses and buttons stand between
        for _ in range(20):
            keys.press("Tab")
            if (here := page.evaluate(name)) in cells:
                break
        found.append(here)
    assert found == [one for one in cells if one in found]


def test_page_opened_as_a_file_says_how_to_serve_it(visit, base):
    page = visit(base["file"] + FIRST)
    page.click(".run-start")
    assert "python3 -m http.server" in page.locator(".run-bar output").text_content()
