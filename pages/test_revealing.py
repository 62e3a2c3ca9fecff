"""Results that wait for a guess, and the routes. `python3 course.py site --check` runs this."""

from playwright.sync_api import expect

from tools import manifest, site, site_routes

WORDS = site.words()["en"]
NAMES = {entry["name"][:2]: entry["name"] for entry in manifest.entries()}
FIRST, BRANCHES = f"notebooks/{NAMES['01']}.html", f"notebooks/{NAMES['05']}.html"
RESULTS = ":is(.result, .tag_result .cell_output):not(.result *)"
SHOWN = "all => all.filter(one => one.firstElementChild.checkVisibility()).length"

GUESS = """all => {
    for (const one of all) (one.value = "guess"), one.form.requestSubmit();
    return all.length;
}"""


def shown(page):
    return page.eval_on_selector_all(RESULTS, SHOWN)


def test_result_waits_for_a_guess_which_stays_beside_it(visit, base):
    page = visit(base["server"] + FIRST)
    field, button = (page.locator(f".guess {one}").nth(1) for one in ("[maxlength]", "button"))
    output, answer = page.get_by_text("'fancy_func', 'add', 'add'"), page.get_by_text("made four")
    assert shown(page) == 0
    assert not page.get_by_text("no guess yet").first.is_visible()
    field.fill("3")
    field.press("Enter")
    expect(output).to_be_visible()
    expect(answer).to_be_visible()
    expect(button).to_have_text(WORDS["guess"]["hide"])
    assert shown(page) == 2  # nothing else
    page.reload()
    expect(field).to_have_value("3")
    expect(answer).to_be_visible()
    button.click()
    expect(answer).not_to_be_visible()
    # Find-in-page sees what is folded only if it is laid out, and then tells the fold.
    folded = page.locator(".result", has=answer)
    expect(folded).to_have_attribute("hidden", "until-found")
    expect(folded).to_have_css("display", "block")
    expect(folded).to_have_css("content-visibility", "hidden")
    folded.dispatch_event("beforematch")
    expect(output).to_be_visible()
    assert page.locator(".tag_guess").first.is_hidden()
    assert page.faults == []


def test_everything_is_shown_by_the_switch_on_paper_and_without_javascript(visit, base, browser):
    page = visit(base["file"] + BRANCHES, 390)
    every = page.locator(RESULTS).count()
    assert (shown(page), every > 10) == (0, True)
    page.emulate_media(media="print")
    assert shown(page) == every
    page.emulate_media(media="screen")
    while page.evaluate("document.activeElement.name") != "results":
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert shown(page) == every
    page.reload()
    assert shown(page) == every
    assert not page.locator(".guess").first.is_visible()
    context = browser.new_context(java_script_enabled=False)
    bare = context.new_page()
    bare.goto(base["file"] + BRANCHES)
    for one in bare.locator(".result, .tag_result .cell_output, .tag_guess").all():
        assert one.is_visible()
    assert not bare.locator(".guess-switch").is_visible()
    context.close()


def test_page_that_can_run_prints_its_results(visit, base):
    page = visit(base["server"] + f"notebooks/{NAMES['02']}.html")
    every = page.locator(RESULTS).count()
    assert (shown(page), every > 10) == (0, True)
    page.emulate_media(media="print")
    assert shown(page) == every


def test_link_to_a_question_or_into_its_result_opens_it(visit, base):
    page = visit(f"{base['file']}{FIRST}#predict-01-10")
    opened = page.get_by_role("button", name=WORDS["guess"]["hide"])
    expect(page.get_by_text("made four")).to_be_visible()
    expect(opened).to_have_count(1)
    page.evaluate("document.querySelector('.result[hidden]').firstElementChild.id = 'here'")
    page.evaluate("location.hash = 'here'")
    expect(page.locator("#here")).to_be_visible()
    expect(opened).to_have_count(2)


def test_evening_is_read_with_a_guess_before_each_result(visit, base, shut_out):
    said = WORDS["route"]
    evening = site_routes.routes("en", WORDS)[0]
    pages = list(dict.fromkeys(leg["page"] for leg in evening["legs"]))
    assert [page[10:12] for page in pages] == ["01", "02", "05", "06", "11"]
    page, guesses = visit(base["server"] + "index.html", 390), 0
    page.locator(".route-start").first.click()
    for at, name in enumerate(pages, 1):
        page.wait_for_url(f"**/{name}.html*")
        route = page.locator(".route")
        expect(route).to_contain_text(said["at"].format(evening["name"], at, len(pages)))
        stops = [leg["to"] for leg in evening["legs"] if leg["page"] == name and leg["to"]]
        assert page.locator(".route-stop").count() == len(stops)
        for stop in stops:
            section = page.locator("section", has=page.locator(f"[id='{stop}']")).last
            expect(section.locator("> *").last).to_have_class("route-stop")
        assert shown(page) == 0
        guesses += page.locator(".guess [maxlength]").evaluate_all(GUESS)
        expect(page.locator(RESULTS).first).to_be_visible()
        page.locator(".guess").first.get_by_label(WORDS["guess"]["right"]).check()
        last = page.locator(".route-stop a, .route a").last
        if at == 2:
            page.goto(base["server"] + f"notebooks/{NAMES['03']}.html")  # not on the route
            page.locator(".route a").click()
        if at < len(pages):
            page.locator(".right-next").click()
        else:
            assert shut_out(page) == []
            last.click()
    page.wait_for_url("**/guesses.html")
    assert page.locator("mark").count() == guesses > 30
    assert page.locator("mark", has_text="✓").count() == len(pages)
    expect(page.locator(".guessed:visible p").first).to_contain_text("Right: 1 of your 5 guesses")
    expect(page.locator(".route")).to_contain_text(said["last"].split("{}")[1])
    expect(page.locator(".guessed:visible h2").nth(1)).to_contain_text("02 Symbolic programs")
    page.locator(".guessed:visible a").first.click()
    expect(page.locator(".result").first).to_be_visible()
    page.locator(".route button").click()
    expect(page.locator(".route")).to_be_hidden()
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto(base["server"] + "guesses.html")
    page.locator(".guess-over button").click()
    expect(page.locator(".guess-over")).to_contain_text(WORDS["guess"]["none"])
    assert page.faults == []


def test_routes_have_their_stop_marks_on_the_chinese_pages(visit, base):
    for i, route in enumerate(site_routes.routes("zh", site.words()["zh"])[:2], 1):
        page = visit(f"{base['file']}zh/{route['legs'][-1]['page']}.html?route={i}")
        assert page.locator(".route-stop").count() == 2
        expect(page.locator(".route")).to_contain_text(route["name"])
        assert page.faults == []
