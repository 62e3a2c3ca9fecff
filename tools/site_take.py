"""The page of what there is to take away: the files that `course.py book` makes."""

from . import manifest
from .files import ROOT

BOOK = ROOT / "build" / "book"
FILES = ["d2lhybrid-{}.epub", "d2lhybrid-{}.pdf", "d2lhybrid.zip", "d2lhybrid-slides.zip"]


def page(folder, language, said):
    """The files of a language, with their sizes, or that they are not built here."""
    words, rows = said["take"], []
    missing = f"{words['missing']} | "

    def link(name, text):  # from the folder of the language's pages
        return f'<a href="{"../" * (language != "en")}{BOOK.name}/{name}">{text}</a>'

    for name, what in zip(FILES, words["files"], strict=True):
        name = name.format(language)
        built = (BOOK / name).is_file()
        there = f"{link(name, name)} | {size(name)}" if built else missing
        rows.append(f"| {what} | {there} |")
    parts = [f"# {said['after']['take'][0]}", words["about"].strip()]
    files, rows = rows, []
    for entry in manifest.entries():
        title = f"{entry['name'][:2]} {entry['title'][language]}"
        deck = f"slides/{language}/{entry['name']}.slides.html"
        handout = f"handout/{language}/{entry['name']}.html"
        if (BOOK / deck).is_file() and (BOOK / handout).is_file():
            cells = [f"[{title}](notebooks/{entry['name']}.ipynb)"]
            cells += [link(deck, words["slides"]), size(deck)]
            cells += [link(handout, words["handout"]), size(handout)]
            rows.append(f"| {' | '.join(cells)} |")
    files += [] if rows else [f"| {words['heading']} | {missing} |"]
    parts.append("\n".join([table(words["columns"]), *files]))
    if rows:
        parts += [f"## {words['heading']}", words["class"].strip()]
        parts.append("\n".join([table(words["heads"]), *rows]))
    return "\n\n".join([*parts, ""])


def table(heads):
    return f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}"


def size(name):
    return f"{(BOOK / name).stat().st_size / 1e6:.1f}\u00a0MB"
