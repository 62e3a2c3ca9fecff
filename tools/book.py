"""`course.py book`: the course to take away, in build/book/, from which the pages take it.

The sources of a book are those of the pages, by part. Sphinx makes an EPUB of them, with the
settings of pages/book.py, and pages/printing.py prints that EPUB to PDF.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path

from . import environment, handouts, manifest, site, site_landing, site_results, site_take
from .files import ROOT

BEFORE, AFTER = ["answer", "INSTALL", "COMPARE"], ["GLOSSARY", "TEACHING"]
DOTS = re.compile(r'<td class="dots.*?</td>')  # drawn with the colors of the pages


def book(notebooks=()):
    """Make an EPUB and a PDF of the course, or of the notebooks named, in build/book/.

    Of the whole course, also decks and handouts for the pages, and a zip of the last commit. This
    needs Chromium, npm and git, and for Chinese a font such as Noto CJK.
    """
    folder = site_take.BOOK
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for language in site.words():
        if make(folder, language, manifest.named_or_all(notebooks)):
            return 1
    if not notebooks:
        archive = ["git", "archive", "HEAD", "--prefix=d2lhybrid/"]
        subprocess.run([*archive, f"--output={folder / 'd2lhybrid.zip'}"], cwd=ROOT, check=True)
        if for_class(folder):
            return 1
    print("The book is in", folder.relative_to(ROOT).as_posix())


def make(folder, language, notebooks):
    """Write d2lhybrid-LANGUAGE.epub and .pdf into a folder. Returns an exit status."""
    python, name = environment.for_pages(), f"d2lhybrid-{language}"
    pages = site.PAGES
    with tempfile.TemporaryDirectory() as scratch:
        sources, out = Path(scratch, "sources"), Path(scratch, "out")
        stage(sources, language, notebooks)
        printing = [python, pages / "printing.py"]
        static = [sources / "cover.html", sources / "cover.png"]
        if environment.run([*printing, *static]):
            return 1
        options = ["-b", "epub", "-W", "--keep-going", "-q", "-c", pages, "-t", language]
        options += ["-d", Path(scratch, "doctrees")]
        options += ["-t", "book", "-D", f"html_static_path={static[1]},{pages / 'book.css'}"]
        date = {"SOURCE_DATE_EPOCH": str(int(released().timestamp()))}
        command = [python, "-m", "sphinx", *options, sources, out]
        if environment.run(command, cwd=ROOT, env=os.environ | date):
            return 1
        shutil.copy(out / "book.epub", folder / f"{name}.epub")
        return environment.run([*printing, folder / f"{name}.epub", folder / f"{name}.pdf"])


def stage(folder, language, notebooks):
    """Put together the sources of a book: README, and each part with its notebooks."""
    said, told = site.words()[language], manifest.course()["contents"][language]
    readme = site.gather(folder, language, notebooks, [*BEFORE, *AFTER])
    answer = folder / "answer.md"
    answer.write_text(DOTS.sub("", answer.read_text("utf-8")), "utf-8")
    names = {path.stem for path in notebooks}
    chapters = [(said["before"][name][0], name) for name in BEFORE]
    for number, part in enumerate(manifest.course()["parts"]):
        title = told["part"].format(number=number, title=part["title"][language])
        rows, about = [], []
        for one in part["notebooks"]:
            if one["name"] in names:
                name = f"{one['name'][:2]} {one['title'][language]}"
                rows.append((name, f"notebooks/{one['name']}"))
                link = "[{}]({}.ipynb)".format(*rows[-1])
                about.append(f"- {link}{told['colon']}{one['about'][language]}")
        if rows:
            text = "\n".join([f"# {title}", "", *about, "", contents(rows)])
            (folder / f"part-{number}.md").write_text(text, "utf-8")
            chapters.append((title, f"part-{number}"))
    chapters += [(said["after"][name][0], name) for name in AFTER]
    readme = site_landing.with_names(readme, said)
    (folder / "index.md").write_text(f"{readme}\n\n{contents(chapters)}", "utf-8")
    (folder / "cover.html").write_text(cover(language, said), "utf-8")


def released():
    return datetime.fromisoformat(f"{manifest.release()['released']}T00:00:00+00:00")


def contents(rows):
    lines = "\n".join(f"{title} <{name}>" for title, name in rows)
    return f"```{{toctree}}\n:hidden:\n\n{lines}\n```\n"


def cover(language, said):
    """The cover as a page: the question, the chart of the first screen, and what this is."""
    styles = [(site.PAGES / file).read_text("utf-8") for file in ("static/chart.css", "cover.css")]
    found = site_results.stored()[site_landing.CHART]
    on = site_results.on(found, site_landing.CHART, said)
    date = site_results.day(released(), said)
    words, version = said["book"], manifest.release()["version"]
    return f"""<!DOCTYPE html>
<html lang="{said["code"]}"><meta charset="utf-8"><style>{"".join(styles)}</style>
<title>{said["question"]}</title>
<h1>{said["question"]}</h1>
<p>{said["landing"]["sentence"]}</p>
{site_landing.times(found, said)}
<p><small>{words["measured"].format(on=on)}</small></p>
<footer><b>d2lhybrid {version}</b><br>{date}<br>{words["rights"]}</footer>
</html>"""


def for_class(folder):
    """Write decks, handouts and what shows the decks into a folder. Returns an exit status."""
    npm, modules = shutil.which("npm"), ROOT / "node_modules" / "reveal.js"
    if not modules.exists() and (
        not npm or environment.run([npm, "install", "--no-save", handouts.REVEAL], cwd=ROOT)
    ):
        print("The decks need reveal.js, which npm installs.")
        return 1
    for part in ("dist", "plugin/notes"):
        shutil.copytree(modules / part, folder / "reveal.js" / part)
    shutil.copy(modules / "LICENSE", folder / "reveal.js")
    for language in site.words():
        decks, pages = folder / "slides" / language, folder / "handout" / language
        if handouts.slides(language=language, folder=decks, address="../../reveal.js"):
            return 1
        if handouts.handout(html=True, language=language, target=pages):
            return 1
    packed = ["-m", "zipfile", "-c", "d2lhybrid-slides.zip", "slides/", "reveal.js/"]
    return environment.run([sys.executable, *packed], cwd=folder)
