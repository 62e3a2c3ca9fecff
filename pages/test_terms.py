"""Terms and their definitions, in a browser. `python3 course.py site --check` runs this."""

from playwright.sync_api import expect

NAME = "notebooks/10_torch_compile.html"
SHOWN = "#term:popover-open"
HEAD = """() => {
    const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    return place.closest("section").querySelector("h2").getBoundingClientRect().top;
}"""


def described(page, term):
    """The text of what describes a term."""
    return page.locator(f"#{term.get_attribute('aria-describedby')}").text_content()


def test_hover_and_focus_show_a_definition_and_escape_closes_it(visit, base, shut_out):
    page = visit(base["server"] + NAME)
    term = page.locator("a.term:visible", has_text="guard").first
    term.hover()
    expect(page.locator(SHOWN)).to_contain_text("A check, before each call")
    assert described(page, term).strip().endswith("or the original runs.")
    page.locator(SHOWN).hover()  # it stays under the pointer
    page.wait_for_timeout(400)
    expect(page.locator(SHOWN)).to_be_visible()
    assert shut_out(page) == []
    page.keyboard.press("Escape")
    expect(page.locator("#term")).to_be_hidden()
    assert term.get_attribute("aria-describedby") is None
    page.mouse.move(5, 5)
    page.locator("a.term:visible").first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    expect(page.locator(SHOWN)).to_be_visible()
    page.locator("a.term:visible").first.press("Enter")
    page.wait_for_url("**/GLOSSARY.html#*")
    assert page.faults == []


def test_first_tap_shows_and_second_follows(browser, base):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.goto(f"{base['server']}zh/{NAME}")
    term = page.locator("a.term:visible").last
    term.tap()
    expect(page.locator(SHOWN)).to_be_visible()
    box = page.locator(SHOWN).bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    page.locator(".bd-article h1").tap()
    expect(page.locator("#term")).to_be_hidden()
    term.tap()
    term.tap()
    page.wait_for_url("**/zh/GLOSSARY.html#*")
    context.close()


def test_without_javascript_a_term_is_a_link(browser, base):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(base["file"] + NAME)
    page.locator("a.term:visible").first.click()
    page.wait_for_url("**/GLOSSARY.html#*")
    context.close()


def test_letters_stay_in_sight(visit, base):
    for home, letter in (("", "W"), ("zh/", "W")):
        page = visit(f"{base['file']}{home}GLOSSARY.html", 390)
        page.emulate_media(reduced_motion="reduce")  # or it still scrolls
        page.click(f"p.letters a:text-is('{letter}')")
        bar = page.locator("p.letters").bounding_box()
        head = page.evaluate(HEAD)
        assert bar["y"] >= 0
        assert bar["y"] + bar["height"] <= head < 400
