"""What every page says around its text: what it is, of which version, and where to report a fault.

pages/course_pages.py connects these functions with Sphinx.
"""

from pathlib import Path

from docutils import nodes

from tools import manifest, site, translate

REPOSITORY = f"https://github.com/{manifest.repository()}"


def frame(page, language):
    """What the footer of a page says, and where its links lead."""
    words, main = site.words()[language], f"{REPOSITORY}/blob/main/"
    place = f"{site.home(language)}{page}.html"
    return {
        "words": words["frame"],
        "question": words["question"],
        "licenses": {f"{main}{file}": name for file, name in words["frame"]["licenses"].items()},
        # The form, with the page in its field `place`.
        "report": f"{REPOSITORY}/issues/new?template=text.yml&place={place}",
        "edit": f"{REPOSITORY}/edit/main/{source(page, language)}",
        **manifest.release(),
    }


def source(page, language):
    """The file of the repository that a page is made of, relative to the root."""
    page = "README" if page == "index" else page
    found = [translate.file_of(Path(page).name, language)] if language != "en" else []
    found += [site.ROOT / f"{page}.ipynb", site.ROOT / f"{page}.md"]
    found += [site.ROOT / "tools" / "site_pages.py"]  # what is no file of its own is made there
    return next(one for one in found if one.is_file()).relative_to(site.ROOT).as_posix()


def number(app, doctree):
    """A notebook's title begins with its number, by which the texts call it.

    This runs before Sphinx collects the titles; the section has its anchor already.
    """
    page = app.env.docname
    if page.startswith("notebooks/"):
        title = next(doctree.findall(nodes.title))
        title.insert(0, nodes.Text(f"{Path(page).name[:2]} "))
