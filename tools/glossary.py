"""GLOSSARY.md: the terms that the notebooks print in bold, with the sentences that explain them.

`python3 course.py glossary` writes it.
"""

import json
import re

from . import manifest
from .files import NOTEBOOKS, ROOT, write

INTRODUCTION = """\
# Glossary

The terms of the course, in the words of the notebooks that explain them. Each link names the \
notebook and the section; where a link opens only the notebook, look for that heading in it.

This page is made by `python3 course.py glossary` from what the notebooks print in bold.
"""
BOLD = re.compile(r"\*\*(.+?)\*\*")
PARAGRAPHS = re.compile(r"\n\n(?:- )?|\n- ")  # each point of a list is one, too
ASIDE = re.compile(r"\((?:[^()]|\([^()]*\))*[.!?]\)\s*")  # a sentence or two in brackets
# A sentence that begins like this needs the one before it.
POINTS_BACK = re.compile(r"(?:And |So )?(?:that|such|it|compilers call this)\b", re.IGNORECASE)
# After a short sentence, one that begins like this says what the term is.
GOES_ON = re.compile(r"(?:It|That) ")


def write_page():
    """Write GLOSSARY.md: the terms that the notebooks print in bold."""
    write(ROOT / "GLOSSARY.md", page(titles()).encode())


def titles():
    """From the path of each notebook to its title."""
    return {NOTEBOOKS / f"{one['name']}.ipynb": one["title"]["en"] for one in manifest.entries()}


def page(titles):
    """The text of GLOSSARY.md. `titles` maps the path of each notebook to its title."""
    found = {}
    for path, title in titles.items():
        for section, term, sentence in definitions(json.loads(path.read_text("utf-8"))):
            link = f"[{title}: {section}](notebooks/{path.name}#{anchor(section)})"
            found[term] = f"## {term}\n\n{sentence} {link}\n"
    entries = [found[term] for term in sorted(found, key=str.lower)]
    return "\n".join([INTRODUCTION, *entries])


def definitions(notebook):
    """For each term in a notebook's sections: its section, the term, and what explains it."""
    section = ""
    for cell in notebook["cells"]:
        if cell["cell_type"] != "markdown":
            continue
        for paragraph in PARAGRAPHS.split("".join(cell["source"])):
            heading = re.fullmatch(r"(#+) (.+)", paragraph)
            if heading:
                section = heading.group(2) if len(heading.group(1)) > 1 else ""
            if section == "Summary":  # from here on, terms are known, or a solution explains them
                return
            if section:
                for term, sentence in terms(paragraph):
                    yield section, term, sentence


def terms(paragraph):
    """Pairs of a term in bold and the sentence that explains it, with neighbours that it needs."""
    text = ASIDE.sub(lambda aside: aside.group() if "**" in aside.group() else "", paragraph)
    sentences = re.split(r"(?:(?<=[.!?])|(?<=[.!?]\)))\s+(?=[A-Z`*(])", text)
    for number, sentence in enumerate(sentences):
        first, last = number, number + 1
        if POINTS_BACK.match(sentence) and number > 0:
            first -= 1
        if last < len(sentences) and GOES_ON.match(sentences[last]):
            last += 1
        for term in BOLD.findall(sentence):
            if is_term(term):
                yield term, BOLD.sub(r"*\1*", " ".join(sentences[first:last])).strip("()")


def is_term(bold):
    """Whether words in bold are a term: four words at most, and not a whole sentence."""
    return len(bold.split()) <= 4 and bold[-1] not in ".:!?"


def anchor(heading):
    """What follows # in a link to a heading of a notebook, in JupyterLab and in HTML."""
    return heading.replace("`", "").replace(" ", "-")
