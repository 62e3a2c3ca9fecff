"""A Sphinx extension: the settings of the EPUB."""

from sphinx.builders.epub3 import Epub3Builder

from tools import manifest, site

STYLES = ("_static/pygments.css", "_static/book.css")  # those of pages would need their pictures
UNUSED = ["basic.css", "epub.css", "file.png", "minus.png", "plus.png"]


def settings(language):
    """What conf.py says of the book in a language."""
    words, version = site.words()[language], manifest.release()["version"]
    name = f"d2lhybrid-{version}-{language}"
    return {
        "version": version,
        "epub_title": words["frame"]["title"],
        "epub_author": words["book"]["author"],
        "epub_publisher": words["book"]["author"],
        "epub_contributor": words["book"]["author"],
        "epub_description": words["about"],
        "epub_copyright": words["book"]["rights"],
        "epub_language": words["code"],
        "epub_identifier": name,
        "epub_uid": name,
        "epub_basename": "book",
        "epub_cover": ("_static/cover.png", "epub-cover.html"),
        "epub_css_files": ["book.css"],
        "epub_exclude_files": [f"_static/{name}" for name in UNUSED],
        "epub_show_urls": "no",
        "epub_use_index": False,
        "epub_tocdup": False,
        "epub_tocscope": "includehidden",
        "pygments_style": "a11y-high-contrast-light",
    }


def with_own_styles(app, page, template, context, doctree):
    kept = [one for one in context["css_files"] if str(one.filename).endswith(STYLES)]
    context["css_files"] = kept


def setup(app):
    language = next(one for one in site.words() if app.tags.has(one))
    words = site.words()[language]
    said, code = words["book"], words["code"]
    Epub3Builder.guide_titles = {"toc": said["contents"], "cover": said["cover"]}
    tag = Epub3Builder.html_tag.removesuffix(">")
    Epub3Builder.html_tag = f'{tag} lang="{code}" xml:lang="{code}">'
    app.connect("html-page-context", with_own_styles)
