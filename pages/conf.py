"""How Sphinx makes the pages of one language; `python3 course.py site` stages them and runs it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import course_pages

from tools import manifest, site

course_language = next(one for one in site.words() if tags.has(one))  # noqa: F821, of sphinx -t

project = author = "d2lhybrid"
html_title = site.words()[course_language]["question"]
language = site.words()[course_language]["sphinx"]
html_baseurl = manifest.pages_address() + site.home(course_language)
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.linkcode"]
extensions += ["sphinx_copybutton", "course_pages", "reveal", "steps", "terms", "sections", "icons"]
html_search_language = "en"
copybutton_selector = ".highlight:not(.cell_output *) pre"
templates_path, html_static_path = ["templates"], ["static"]
html_css_files, html_js_files, html_favicon = ["pages.css"], ["pages.js"], "static/mark.svg"
html_css_files += ["chart.css"]
html_show_copyright = html_show_sphinx = False
html_use_index = html_domain_indices = False

nb_execution_mode = "off"
nb_merge_streams = True
nb_ipywidgets_js = {}  # otherwise three scripts from two other addresses
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_heading_slug_func = "tools.notebook.anchor"  # JupyterLab's, so that all links hold there, too
myst_update_mathjax = False
html_math_renderer = "mathml"  # made here: MathJax would come from another address

# The reference: the package is imported, and what it needs is not installed here.
autodoc_mock_imports = ["torch", "numpy", "matplotlib", "PIL", "cloudpickle", "threadpoolctl"]
linkcode_resolve = course_pages.source_address
autodoc_preserve_defaults = True  # or a default such as `print` would not be Python
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "sphinx_book_theme"
html_theme_options = {
    "repository_url": f"https://github.com/{manifest.repository()}",
    # Colab opens the notebook that the page shows; only the English one is in the branch main.
    "repository_branch": "main" if course_language == "en" else "gh-pages",
    "path_to_docs": "" if course_language == "en" else f"{course_language}/_sources",
    "use_repository_button": True,
    "use_fullscreen_button": False,
    "launch_buttons": {"colab_url": "https://colab.research.google.com"},
    "article_header_start": ["toggle-primary-sidebar.html", "languages.html"],
    "navbar_persistent": [],
    "logo": {"text": "d2lhybrid"},
    "show_toc_level": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "footer_content_items": ["footer-line.html"],
}

if tags.has("book"):  # noqa: F821, the EPUB; tools/book.py says what is in it
    import book

    extensions = ["myst_nb", "course_pages", "book"]
    templates_path, html_css_files, html_js_files = [], [], []
    html_static_path, html_favicon = ["book.css"], None
    globals().update(book.settings(course_language))
