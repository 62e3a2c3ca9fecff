"""`course.py slides` and `handout`: what a class sees, and what it is given."""

import tempfile
from pathlib import Path

from . import environment, manifest, notebook
from .files import HANDOUT, ROOT, SLIDES, folder_of
from .translate import in_language

REVEAL = "reveal.js@4.3.1"


def slides(notebooks=(), language="en", folder=None, address=None):
    """Make a slide deck of each notebook, in slides/ (or slides/zh/, and so on)."""
    folder = folder or folder_of(SLIDES, language)
    address = address or f"https://unpkg.com/{REVEAL}"  # what shows a deck, on the web or here
    if (ROOT / "node_modules/reveal.js").exists() and folder.is_relative_to(SLIDES):
        address = f"{'../' * len(folder.relative_to(ROOT).parts)}node_modules/reveal.js"
    settings = [f"--SlidesExporter.reveal_url_prefix={address}"]
    settings += ["--SlidesExporter.reveal_theme=white"]
    with tempfile.TemporaryDirectory() as built:
        copies = []
        for path in manifest.named_or_all(notebooks):
            copies.append(Path(built) / path.name)
            notebook.save(in_language(path, language), copies[-1])
        return convert("deck", "slides", copies, folder, language, *settings)


def handout(notebooks=(), solutions=False, html=False, language="en", target=None):
    """Copy notebooks without solutions and outputs to handout/ (or handout/zh/, and so on)."""
    paths = manifest.named_or_all(notebooks)
    mark = "-solutions" if solutions else ""
    kind = ".html" if html else ".ipynb"
    names = {path.name: f"{path.stem}{mark}{kind}" for path in paths}
    target = target or folder_of(HANDOUT, language)
    with tempfile.TemporaryDirectory() as folder:
        copies = Path(folder) if html else target
        for path in paths:
            new = notebook.without_badge(in_language(path, language))
            new = notebook.with_links(new, names)
            if not solutions:
                new = notebook.without_solutions(new)
            if not html:
                new = notebook.without_outputs(new)
            new["metadata"] = notebook.agreed_metadata(new)
            notebook.save(new, copies / f"{path.stem}{mark}.ipynb")
        if html:
            return convert("page", "html", sorted(copies.glob("*.ipynb")), target, language)
    print(f"{len(paths)} notebooks are in {target.relative_to(ROOT).as_posix()}/")


def convert(template, kind, paths, folder, language, *options):
    """Let nbconvert make pages or decks in a folder, with a template of the course."""
    python = environment.for_pages()
    command = [python, "-m", "nbconvert", f"--to={kind}", f"--template={template}"]
    command.append(f"--TemplateExporter.extra_template_basedirs={ROOT / 'templates'}")
    command += [f"--HTMLExporter.language_code={language}", f"--output-dir={folder}"]
    return environment.run([*command, *options, *paths])
