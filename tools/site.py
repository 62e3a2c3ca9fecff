"""`course.py site`: the course as web pages, in build/site/html/.

This puts the sources of each language together, and runs Sphinx on them with pages/conf.py. A
language has pages if pages/words.toml has its words; its texts are those of tools/translate.py. A
notebook's page is made of the very file, which is also what a reader downloads; what only a file
needs, conf.py leaves out of the page.
"""

import functools
import json
import posixpath
import re
import shutil
import tomllib
import webbrowser

from . import authoring, environment, glossary, manifest, notebook, site_pages, site_run, translate
from .files import ROOT

PAGES = ROOT / "pages"
BUILD = ROOT / "build" / "site"
HTML = BUILD / "html"
LINK = re.compile(r"\[([^][]*)\]\((?!#|\w+:)([^)\s#]+)(#[^)\s]*)?\)")


def site(show=False, check=False):
    """Make the course's web pages, in build/site/html/."""
    python = environment.for_pages()
    shutil.rmtree(BUILD, ignore_errors=True)
    site_run.make(HTML / "run", python)
    for language in words():
        stage(language)
    for language in words():  # the English pages come first, and the others into a folder there
        options = ["-W", "--keep-going", "-q", "-c", PAGES, "-t", language]
        options += ["-d", BUILD / "doctrees" / language]
        out = HTML / home(language)
        if environment.run([python, "-m", "sphinx", *options, sources(language), out], cwd=ROOT):
            return 1
    finish()
    address = (HTML / "index.html").as_uri()
    print("The pages begin at", address)
    if show:
        webbrowser.open(address)
    if check:
        return environment.run([python, "-m", "pytest", "-c", PAGES / "pytest.ini", PAGES])


@functools.cache
def words():
    """language -> what its pages say besides the course's own texts; English comes first."""
    return tomllib.loads((PAGES / "words.toml").read_text("utf-8"))


def home(language):
    """The folder of a language's pages below that of the English ones."""
    return "" if language == "en" else f"{language}/"


def sources(language):
    """The folder from which Sphinx makes a language's pages."""
    return BUILD / "sources" / language


def stage(language):
    """Put together the sources of a language's pages."""
    folder, said = sources(language), words()[language]
    (folder / "notebooks").mkdir(parents=True)
    shutil.copytree(ROOT / "img", folder / "img")
    for path in manifest.notebooks():
        if language == "en":
            shutil.copy(path, folder / "notebooks")
        elif translate.translated(path.stem, language):
            there = translate.in_language(path, language)
            notebook.save(there, folder / "notebooks" / path.name)
    for name in {**said["before"], **said["after"]}:
        if make := site_pages.MADE.get(name):
            text = make(folder, said)
        elif name == "GLOSSARY" and language != "en":
            text = glossary.page(glossary.titles(language), language, said["glossary"])
        else:
            text = translate.document(name, language)
        (folder / f"{name}.md").write_text(text, "utf-8")
    readme = authoring.with_contents(translate.document("README", language), language)
    index = opening(readme, said)
    parts = [(said["first"], toc_rows(said["before"]))]
    for part in manifest.course()["parts"]:
        titles = {
            f"notebooks/{one['name']}": [f"{one['name'][:2]} {said_in(language, one['title'])}"]
            for one in part["notebooks"]
            if (folder / "notebooks" / f"{one['name']}.ipynb").is_file()
        }
        parts.append((said_in(language, part["title"]), toc_rows(titles)))
    parts.append((said["last"], toc_rows(said["after"])))
    toc = "```{{toctree}}\n:hidden:\n:caption: {}\n\n{}\n```"
    tocs = [toc.format(title, rows) for title, rows in parts if rows]
    (folder / "index.md").write_text("\n\n".join([index, *tocs, ""]), "utf-8")


def said_in(language, texts):
    """What course.toml says in a language, or else in English."""
    return texts.get(language, texts["en"])


def toc_rows(titles):
    return "\n".join(f"{title[0]} <{name}>" for name, title in titles.items())


def opening(readme, said):
    """The first page: README, with a link in place of the badge, and links from its routes."""
    badge = r"\[!\[[^]]*\]\([^)]*\)\]"  # a picture from another address
    readme = re.sub(badge, lambda _: f"[{said['colab']}]", readme)
    readme = readme.replace(f"({manifest.pages_address()})", "(index.md)")
    files = {path.name[:2]: f"notebooks/{path.name}" for path in manifest.notebooks()}

    def lead(row):  # from the second column of a row of three
        number = rf"(?<![\d.])({'|'.join(files)})(?!\d|\.\d|[^(]*\))"
        return row[1] + re.sub(number, lambda n: f"[{n[1]}]({files[n[1]]})", row[2]) + row[3]

    return re.sub(r"(?m)^(\| [^|]+ \|)([^|]+)(\|[^|]+\|)$", lead, readme)


def about(page, language):
    """A sentence on what is on a page, for search engines and previews."""
    said = words()[language]
    told = {name: texts[1] for name, texts in {**said["before"], **said["after"]}.items()}
    for one in manifest.entries():
        told[f"notebooks/{one['name']}"] = said_in(language, one["about"])
    return told.get(page, said["about"]).replace("`", "")


def source_of(page, language):
    """The file of a page's source, if the language has that page; else None."""
    files = [sources(language) / f"{page}{kind}" for kind in (".md", ".ipynb")]
    return next((path for path in files if path.is_file()), None)


def with_links(text, page, language):
    """A page's Markdown, with links to pages, to the repository, and to the sections it names."""
    folder = posixpath.dirname(page)
    root = "../" * page.count("/")

    def lead(link):
        title, path, anchor = link.groups("")
        path = posixpath.normpath(posixpath.join(folder, path))
        path = re.sub(rf"\.{language}\.md$", ".md", path)  # each language's pages have these names
        stem = {"README.md": "index"}.get(path, path.rpartition(".")[0])
        stem = "results" if path.startswith("results/") else stem
        if there := source_of(stem, language):
            if anchor and language != "en":
                anchor = anchors(stem, language).get(anchor[1:], "")
                anchor = f"#{anchor}" if anchor else ""
            return f"[{title}]({root}{there.relative_to(sources(language)).as_posix()}{anchor})"
        if (sources(language) / path).is_file():  # a picture
            return link[0]
        if source_of(stem, "en"):  # only the English pages have it
            address = f"{root}../{stem}.html{anchor}"
            return f'<a href="{address}" hreflang="en">{title}</a>'
        if (ROOT / path).exists():
            return f"[{title}](https://github.com/{manifest.repository()}/blob/main/{path}{anchor})"
        return link[0]  # Sphinx will report it

    return "\n".join(
        with_sections(LINK.sub(lead, line), page, root, language) for line in text.split("\n")
    )


def with_sections(line, page, root, language):
    """A line in which *The name of a section* of a notebook has become a link to it.

    In Chinese it may stand in quotation marks.

    Of several with that name it is this page's, or that of the notebook named last before it.
    """

    def lead(name):
        places = headings(language).get(name[1] or name[2], {})
        named = re.findall(r"(?:\b|/)(\d\d)(?:\b|_)", line[: name.start()], re.ASCII)
        likely = [one for one in places if one == page or (named and f"/{named[-1]}_" in one)]
        if not likely and len(places) != 1:
            return name[0]
        place = (likely or [*places])[0]
        file = "" if place == page else f"{root}{place}.ipynb"
        return f"[{name[0]}](<{file}#{glossary.anchor(places[place])}>)"

    name = r"(?<![*\w[])\*([^*\s][^*]*)\*(?![*\w\]])|(?<!\[)“([^“”]+)”"
    return re.sub(name, lead, line, flags=re.ASCII)


@functools.cache
def headings(language):
    """From what a section is called to the page of each notebook that has it, and its heading.

    A section such as *Step 4: drop what is not used* is called *Step 4*, too.
    """
    found = {}
    for path in sorted(sources(language).glob("notebooks/*.ipynb")):
        page = f"notebooks/{path.stem}"
        for heading in headings_of(page, language)[1:]:
            for name in (heading, re.split("[:：]", heading)[0]):
                found.setdefault(name, {}).setdefault(page, heading)
    return found


@functools.cache
def headings_of(page, language):
    """The headings of a page, in their order."""
    text = source_of(page, language).read_text("utf-8")
    if (sources(language) / f"{page}.ipynb").is_file():
        cells = json.loads(text)["cells"]
        texts = [notebook.source(one) for one in cells if one["cell_type"] == "markdown"]
        text = "\n\n".join(texts)
    return re.findall(r"(?m)^#+ (.+)$", re.sub(r"(?ms)^```.*?^```", "", text))


@functools.cache
def anchors(page, language):
    """From each anchor of a page, and of the English one where they correspond, to the page's."""
    here = [glossary.anchor(heading) for heading in headings_of(page, language)]
    there = [glossary.anchor(heading) for heading in headings_of(page, "en")]
    corresponding = zip(there, here, strict=True) if len(there) == len(here) else ()
    return {**dict(corresponding), **dict(zip(here, here, strict=True))}


def finish():
    """Add what search engines and GitHub look for, and take away what only debugging needs."""
    address, code = manifest.pages_address(), {key: said["code"] for key, said in words().items()}
    places, lost = [], []
    for language in words():
        for path in sorted(sources(language).rglob("*")):
            page = path.relative_to(sources(language)).with_suffix("").as_posix()
            if path.suffix in (".md", ".ipynb"):
                twins = "".join(
                    f'<xhtml:link rel="alternate" hreflang="{code[one]}" '
                    f'href="{address}{home(one)}{page}.html"/>'
                    for one in words()
                    if len(words()) > 1 and source_of(page, one)
                )
                places.append(f"<url><loc>{address}{home(language)}{page}.html</loc>{twins}</url>")
        link = f'<a href="{address}{home(language)}index.html">{words()[language]["lost"]}</a>'
        lost.append(f'<p lang="{code[language]}">{link}</p>')
    head = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
        'xmlns:xhtml="http://www.w3.org/1999/xhtml">'
    )
    (HTML / "sitemap.xml").write_text("\n".join([head, *places, "</urlset>\n"]), "utf-8")
    (HTML / "robots.txt").write_text(f"User-agent: *\nAllow: /\nSitemap: {address}sitemap.xml\n")
    (HTML / ".nojekyll").write_text("")  # or GitHub would leave out folders such as _static
    page = (PAGES / "404.html").read_text("utf-8")  # shown at any depth: so its links are whole
    (HTML / "404.html").write_text(page.replace("LINKS", "\n".join(lost)), "utf-8")
    for path in [*HTML.rglob("*.map"), *HTML.rglob(".buildinfo"), *HTML.rglob("*macros.html")]:
        path.unlink()
