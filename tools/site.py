"""`course.py site`: the course as web pages, in build/site/html/.

This puts the sources of each language together, and runs Sphinx on them with pages/conf.py. A
language has pages if pages/words.toml has its words; its texts are those of tools/translate.py. A
notebook's page is made of the very file, which is also what a reader downloads; what only a file
needs, pages/course_pages.py leaves out of the page.
"""

import filecmp
import functools
import re
import shutil
import tomllib

from . import (
    authoring,
    environment,
    manifest,
    notebook,
    site_pages,
    site_routes,
    site_run,
    site_take,
    translate,
)
from .files import ROOT
from .site_landing import with_first_screen

PAGES = ROOT / "pages"
BUILD = ROOT / "build" / "site"
HTML = BUILD / "html"


def site(check=False):
    """Build the course's web pages in build/site/html/."""
    python = environment.for_pages()
    shutil.rmtree(BUILD, ignore_errors=True)
    site_run.make(HTML / "run", python)
    for language in words():  # the English pages come first, and the others into a folder there
        stage(language)
        options = ["-W", "--keep-going", "-q", "-c", PAGES, "-t", language]
        options += ["-d", BUILD / "doctrees" / language]
        out = HTML / home(language)
        if environment.run([python, "-m", "sphinx", *options, sources(language), out], cwd=ROOT):
            return 1
        if language != "en":
            share(out)
    shutil.rmtree(HTML / "jupyter_execute", ignore_errors=True)  # MyST-NB's, for reading
    (HTML / ".nojekyll").write_text("")  # or GitHub would leave out folders such as _static
    shutil.copy(PAGES / "404.html", HTML)  # which GitHub shows where there is no page
    if site_take.BOOK.is_dir():
        shutil.copytree(site_take.BOOK, HTML / site_take.BOOK.name)
    print("The first page is", (HTML / "index.html").as_uri())
    if check:
        return environment.run([python, "-m", "pytest", "-c", PAGES / "pytest.ini", PAGES])


def share(folder):
    """Let a language's pages load from the English ones' _static what is the same there."""
    own, there = folder / "_static", HTML / "_static"
    names = [path.relative_to(own).as_posix() for path in own.rglob("*") if path.is_file()]
    same = set(filecmp.cmpfiles(own, there, names, shallow=False)[0])
    for page in folder.rglob("*.html"):
        parts = re.split(r'(?<==")((?:\.\./)*)_static/([^"?]+)', page.read_text("utf-8"))
        for at in range(1, len(parts), 3):
            parts[at] += "../_static/" if parts[at + 1] in same else "_static/"
        page.write_text("".join(parts), "utf-8")
    for name in same:
        (own / name).unlink()


@functools.cache
def words():
    """Language -> what its pages say besides the course's own texts; English comes first."""
    return tomllib.loads((PAGES / "words.toml").read_text("utf-8"))


def home(language):
    """The folder of a language's pages below that of the English ones."""
    return "" if language == "en" else f"{language}/"


def sources(language):
    """The folder from which Sphinx makes a language's pages."""
    return BUILD / "sources" / language


def gather(folder, language, notebooks, names):
    """Put the pictures, the notebooks and the pages with the names into a folder.

    Returns README, with its table of notebooks, and a link in place of the badge.
    """
    said = words()[language]
    shutil.copytree(ROOT / "img", folder / "img")
    for path in notebooks:
        read = with_comments(translate.in_language(path, language), language)
        notebook.save(read, folder / "notebooks" / path.name)
    for name in names:
        make = site_pages.MADE.get(name)
        text = make(folder, language, said) if make else translate.document(name, language)
        text = with_numbers(text) if name == "TEACHING" else text
        (folder / f"{name}.md").write_text(text, "utf-8")
    readme = authoring.with_contents(translate.document("README", language), language)
    return re.sub(r"\[!\[[^]]*\]\([^)]*\)\]", lambda _: f"[{said['colab']}]", readme)


def stage(language):
    """Put together the sources of a language's pages."""
    folder, said = sources(language), words()[language]
    readme = gather(folder, language, manifest.notebooks(), [*said["before"], *said["after"]])
    parts = {said["first"]: said["before"]}
    for part in manifest.course()["parts"]:
        parts[part["title"][language]] = {
            f"notebooks/{one['name']}": [f"{one['name'][:2]} {one['title'][language]}"]
            for one in part["notebooks"]
        }
    parts[said["last"]] = said["after"]
    index = [with_first_screen(opening(readme, said), said)]
    for caption, pages in parts.items():
        rows = "\n".join(f"{texts[0]} <{name}>" for name, texts in pages.items())
        index.append(f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{rows}\n```")
    (folder / "index.md").write_text("\n\n".join([*index, ""]), "utf-8")


def with_comments(read, language):
    """A notebook whose comments have beside them what translations/LANGUAGE/comments.csv says."""
    said = {english: own for own, english in translate.pairs("comments", language)}

    def beside(found):
        return f"{found[0]}（{said[found[1]]}）" if found[1] in said else found[0]

    def own(cell):
        text = re.sub("(?m)# (.+)$", beside, there := notebook.source(cell))
        return {**cell, "source": text} if text != there else cell

    cells = [own(one) if one["cell_type"] == "code" else one for one in read["cells"]]
    return {**read, "cells": cells} if said else read


def with_numbers(text):
    """TEACHING with links where a row, an item or a path names a notebook, or a section of it."""
    names, number = site_routes.numbered()
    title, paths, *rest = text.split("\n## ")

    def lead(found):
        before, one, said, heading = found.groups()
        anchor = f"#{notebook.anchor(heading)}" if heading else ""
        return f"{before}[{one}](notebooks/{names[one]}.ipynb{anchor}){said or ''}"

    paths = re.sub(f"(){number.pattern}()()", lead, paths)
    row = re.compile(rf"(?m)(^- |\| )({'|'.join(names)})(?= \||:|：|,|，)((?:, \*|，“)(.+?)[*”])?")
    return "\n## ".join([title, paths, *(row.sub(lead, part) for part in rest)])


def opening(readme, said):
    """The first page: README, with links from its routes."""
    readme = readme.replace(f"({manifest.pages_address()})", "(index.md)")
    names, number = site_routes.numbered()
    starts = iter(site_routes.starts(said))

    def lead(row):  # from the second column of a row of three, and from the last of a route's
        read = number.sub(lambda n: f"[{n[1]}](notebooks/{names[n[1]]}.ipynb)", row[2])
        last = f"{row[3][:-1]}{next(starts)} |" if site_routes.row_of(row[0]) else row[3]
        return row[1] + read + last

    return site_routes.ROW.sub(lead, readme)
