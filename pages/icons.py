"""A Sphinx extension: the site has those of the theme's icons that its pages show.

Font Awesome has two thousand: its font weighs more than all else that a page loads.
"""

import re
from pathlib import Path

from fontTools.subset import Options, Subsetter, load_font, save_font

STYLE, FONTS = "styles/pydata-sphinx-theme.css", "vendor/fontawesome/webfonts/*.woff2"
RULE = re.compile(r'(?:\.fa-[\w-]+,?)+\{--fa:"[^"]+"\}')  # an icon, by its names
ESCAPE = re.compile(r"\\([\da-f]{2,5}) ?|\\")
# An icon's character, or one that the theme's own rules show.
SHOWN = re.compile(r'--fa:"(.)"|([\ue000-\uf8ff])')


def leave_out_unused(app, exception):
    """Make the style sheet and the fonts anew, from the theme's: a page may have come or gone."""
    if exception or app.builder.name != "html":
        return
    static = Path(app.outdir, "_static")
    for path in [*static.glob("scripts/fontawesome.*"), *static.glob(FONTS)]:
        path.unlink()  # no page loads the script, which names all icons
    running = Path(__file__).parent.glob("run/*.js")  # the pages of all languages load the same
    files = [*Path(app.outdir).rglob("*.html"), *static.rglob("*.js"), *running]
    named = {name for path in files for name in re.findall(r"\bfa-[\w-]+", read(path))}
    used = re.compile(rf"\.({'|'.join(sorted(named))})[,{{]")
    themes = [Path(one, "static") for one in app.builder.theme.get_theme_dirs()]
    theme = next(one for one in themes if (one / STYLE).exists())
    style = RULE.sub(lambda rule: rule[0] if used.search(rule[0]) else "", read(theme / STYLE))
    (static / STYLE).write_text(style, "utf-8")
    styles = ESCAPE.sub(
        lambda code: chr(int(code[1], 16)) if code[1] else "",
        "".join(map(read, static.rglob("*.css"))),
    )
    shown = "".join(icon + other for icon, other in SHOWN.findall(styles))
    for path in theme.glob(FONTS):
        if "brands" not in path.name:  # pages.css draws the only one
            options = Options(flavor="woff2")
            font, subsetter = load_font(path, options), Subsetter(options)
            subsetter.populate(text=shown)
            subsetter.subset(font)
            save_font(font, static / path.relative_to(theme), options)


def read(path):
    return path.read_text("utf-8")


def setup(app):
    app.connect("build-finished", leave_out_unused)
