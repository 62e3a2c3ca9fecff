"""The routes through the course of README's table *What to read*, which its pages then follow."""

import re

from . import manifest, notebook, translate
from .files import NOTEBOOKS

ROW = re.compile(r"(?m)^(\| [^|]+ \|)([^|]+)(\|[^|]+\|)$")  # of a table of three columns


def numbered():
    """Number of a notebook -> its name, and the pattern of such a number where README names one."""
    names = {path.stem[:2]: path.stem for path in manifest.notebooks()}
    return names, re.compile(rf"(?<![\d.])({'|'.join(names)})(?!\d|\.\d|[^(]*\))")


def routes(language, said):
    """The routes, in README's order, each with its name and its legs.

    A leg has a page, its title, and the anchors of the headings of its first and its last section,
    which are empty where it begins with the page or ends with it. They are read from the English
    README; an unknown heading is a ValueError.
    """
    names, number = numbered()
    found = []
    own_rows = [row for row in map(row_of, lines(language)) if row]
    for (_, read), (name, _) in zip(filter(None, map(row_of, lines("en"))), own_rows, strict=True):
        legs = []
        for part in read.split(";"):
            sections = re.findall(r"(to the end of )?\*([^*]+)\*", part) or [("", "")]
            for page in re.findall(r"\((\w+)\.md\)", part):
                legs.append({"page": page, "title": said["before"][page][0], "from": "", "to": ""})
            for one in number.findall(part):
                for until, begins in sections:
                    to = heading(names[one], begins, language) if begins else ""
                    legs.append({"page": f"notebooks/{names[one]}", "title": titles(language)[one]})
                    legs[-1] |= {"from": "" if until else to, "to": to}
        found.append({"name": name[0].upper() + name[1:], "legs": legs})
    return found


def starts(said):
    """For each route, a link that begins it. Its address says which: routes.js remembers that."""
    for i, route in enumerate(routes("en", said), 1):
        address = f"{route['legs'][0]['page']}.html?route={i}"
        yield f'<a class="route-start" href="{address}">{said["route"]["start"]}</a>'


def lines(language):
    return translate.document("README", language).splitlines()


def row_of(line):
    """The name and the stations of a route, from a row that ends with its minutes."""
    row = ROW.match(line)
    return (row[1].strip("| "), row[2]) if row and row[3].strip("| ").isdigit() else None


def titles(language):
    """Number of a notebook -> its number and title."""
    return {e["name"][:2]: f"{e['name'][:2]} {e['title'][language]}" for e in manifest.entries()}


def heading(name, begins, language):
    """The anchor of the heading that in English begins so, in a language's notebook."""
    path = NOTEBOOKS / f"{name}.ipynb"
    both = (translate.in_language(path, one)["cells"] for one in ("en", language))
    for pair in zip(*both, strict=True):
        for english, own in zip(*map(headings, pair), strict=True):
            if english.startswith(begins):
                return notebook.anchor(own)
    raise ValueError(f"README sends readers to a section that {name} has not: {begins}")


def headings(cell):
    if cell["cell_type"] != "markdown":
        return []
    return re.findall(r"(?m)^#+ (.*)$", notebook.source(cell))
