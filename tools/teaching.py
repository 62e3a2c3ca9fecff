"""`course.py slides` and `handout`: what a class sees, and what it is given."""

import json
import tempfile
import urllib.request
from pathlib import Path

from . import environment, manifest, notebook
from .files import HANDOUT, ROOT, SLIDES

REVEAL = "reveal.js@4.3.1"


def slides(notebooks=()):
    """Make a deck of slides of each notebook, in slides/."""
    environment.set_up()
    address = f"https://unpkg.com/{REVEAL}"
    if (ROOT / "node_modules" / "reveal.js").exists():  # what shows a deck is here
        address = "../node_modules/reveal.js"
    elif not answers(address):
        print("There is no network now, and decks need one. TEACHING.md says how to do without.")
    options = {"reveal_url_prefix": address, "reveal_theme": "white"}
    settings = [f"--SlidesExporter.{name}={value}" for name, value in options.items()]
    return convert("deck", "slides", manifest.named_or_all(notebooks), SLIDES, *settings)


def handout(notebooks=(), solutions=False, html=False):
    """Copy notebooks without solutions and outputs to handout/."""
    paths = manifest.named_or_all(notebooks)
    mark = "-solutions" if solutions else ""
    kind = ".html" if html else ".ipynb"
    names = {path.name: f"{path.stem}{mark}{kind}" for path in paths}
    with tempfile.TemporaryDirectory() as folder:
        copies = Path(folder) if html else HANDOUT
        for path in paths:
            new = notebook.without_badge(json.loads(path.read_bytes()))
            new = notebook.with_links(new, names)
            if not solutions:
                new = notebook.without_solutions(new)
            if not html:
                new = notebook.without_outputs(new)
            new["metadata"] = notebook.agreed_metadata(new)
            notebook.save(new, copies / f"{path.stem}{mark}.ipynb")
        if html:
            environment.set_up()
            return convert("page", "html", sorted(copies.glob("*.ipynb")), HANDOUT)
    print(f"{len(paths)} notebooks are in {HANDOUT.relative_to(ROOT)}/")


def convert(template, kind, paths, folder, *options):
    """Let nbconvert make pages or decks in a folder, with a template of the course."""
    return environment.run(
        [
            *(environment.VENV_PYTHON, "-m", "nbconvert", f"--to={kind}", f"--template={template}"),
            f"--TemplateExporter.extra_template_basedirs={ROOT / 'templates'}",
            *(f"--output-dir={folder}", *options, *paths),
        ]
    )


def answers(url):
    """Whether a page on the web can be reached."""
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False
