"""A browser, a server of the site, and what finds faults, for the tests of the pages."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import sync_playwright
from printing import CHROMIUM
from reader import missing

from tools.site import HTML
from tools.site_run import MODULES

# Without these Chromium asks Google's servers at each start.
QUIET = ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
QUIET += ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]


@pytest.fixture(scope="session")
def browser():
    if not CHROMIUM:
        missing("needs Chromium")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield found
        found.close()


@pytest.fixture
def visit(browser):
    """A function that opens a page of given width and colors."""
    contexts = []

    def heard(message):
        if message.type == "error":
            message.page.said.append(message.text)

    def visit(address, width=1300, colors="light"):
        size = {"width": width, "height": 900}
        contexts.append(browser.new_context(viewport=size, color_scheme=colors))
        page = contexts[-1].new_page()
        page.asked, page.faults, page.said = [], [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("console", heard)
        page.on("pageerror", lambda error: page.faults.append(error))
        page.goto(address)
        return page

    yield visit
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def base():
    """From "file" or "server" to the address of the site there."""

    class Silent(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=HTML)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {
            "file": HTML.as_uri() + "/",
            "server": f"http://127.0.0.1:{server.server_port}/",
        }
        server.shutdown()


@pytest.fixture(scope="session")
def axe():
    """The text of axe-core, which finds what keeps people out."""
    path = MODULES / "axe-core" / "axe.min.js"
    if not path.exists():
        missing("needs npm")
    return path.read_text("utf-8")


@pytest.fixture
def shut_out(axe):
    """A function that says what on a page, or in a part of it, keeps people out: rule and place."""

    def shut_out(page, part="document"):
        page.evaluate(axe)
        # A color that is still changing, from light to dark, is none that anybody reads.
        page.evaluate("Promise.all(document.getAnimations().map(one => one.finished))")
        found = page.evaluate(f"axe.run({part}, {{resultTypes: ['violations']}})")
        assert len(found["passes"]) > 5
        return [(one["id"], node["html"]) for one in found["violations"] for node in one["nodes"]]

    return shut_out
