"""GLOSSARY.md: the terms that the notebooks print in bold, with the sentences that explain them.

`python3 course.py glossary` writes it. The pages have one of each language.
"""

import re

from . import manifest, translate
from .files import NOTEBOOKS, ROOT, write

INTRODUCTION = """\
# Glossary

The terms of the course, in the words of the notebooks that explain them. Each link names the \
notebook and the section; where a link opens only the notebook, look for that heading in it.

This page is made by `python3 course.py glossary` from what the notebooks print in bold.
"""
BOLD = re.compile(r"\*\*(.+?)\*\*")
PARAGRAPHS = re.compile(r"\n\n(?:- )?|\n- ")  # each point of a list is one, too
# In Chinese the English term follows in brackets, or else no colon, and no stop unless it is Latin.
TERM = re.compile(r"\*\*(.+?)\*\*(?:(（[A-Za-z][^）]*）)|(?![。：])|(?<=[a-z]\*\*)(?!：))")
ASIDE = re.compile(r"\((?:[^()]|\([^()]*\))*[.!?]\)\s*|（[^（）]*[。！？]）")  # whole sentences
SENTENCE = re.compile(
    r"(?:(?<=[.!?])(?<!（[A-Z]\.)|(?<=[.!?]\)))(?=\s+[A-Z`*(])|(?<=[。！？])(?![）”])|(?<=[。！？][）”])"
)
# A sentence that begins like this needs the one before it.
POINTS_BACK = re.compile(
    r"\s*(?:(?:And |So )?(?:that|such|it|compilers call this)\b|[而所以]*[这那它])", re.IGNORECASE
)
# After a short sentence, one that begins like this says what the term is.
GOES_ON = re.compile(r"\s*(?:(?:It|That) |它)")


def write_page():
    """Write GLOSSARY.md: the terms that the notebooks print in bold."""
    write(ROOT / "GLOSSARY.md", page(titles()).encode())


def titles(language="en"):
    """From the path of each notebook to its title."""
    entries = manifest.entries()
    return {NOTEBOOKS / f"{one['name']}.ipynb": one["title"][language] for one in entries}


def page(titles, language="en", introduction=INTRODUCTION):
    """The text of GLOSSARY.md, or of the same page in another language.

    `titles` maps the path of each notebook to its title.
    """
    found, colon = {}, manifest.course()["contents"][language]["colon"]
    for path, title in titles.items():
        for section, term, sentence in definitions(translate.in_language(path, language)):
            link = f"[{title}{colon}{section}](notebooks/{path.name}#{anchor(section)})"
            space = "" if sentence[-1] in "。！？" else " "
            found[term] = f"## {term}\n\n{sentence}{space}{link}\n"
    # In this encoding, common Chinese characters are in the order of their sounds.
    terms = sorted(found, key=lambda term: term.lower().encode("gb18030"))
    return "\n".join([introduction, *(found[term] for term in terms)])


def definitions(notebook):
    """For each term in a notebook's sections: its section, the term, and what explains it."""
    section, ends = "", {lines["summary"] for lines in manifest.course()["lines"].values()}
    for cell in notebook["cells"]:
        if cell["cell_type"] != "markdown":
            continue
        for paragraph in PARAGRAPHS.split("".join(cell["source"])):
            heading = re.fullmatch(r"(#+) (.+)", paragraph)
            if heading:
                section = heading.group(2) if len(heading.group(1)) > 1 else ""
            if paragraph in ends:  # from here on, terms are known, or a solution explains them
                return
            if section:
                for term, sentence in terms(paragraph):
                    yield section, term, sentence


def terms(paragraph):
    """Pairs of a term in bold and the sentence that explains it, with neighbours that it needs."""
    text = ASIDE.sub(lambda aside: aside.group() if "**" in aside.group() else "", paragraph)
    sentences = SENTENCE.split(text)
    for number, sentence in enumerate(sentences):
        first, last = number, number + 1
        if POINTS_BACK.match(sentence) and number > 0:
            first -= 1
        if last < len(sentences) and GOES_ON.match(sentences[last]):
            last += 1
        for term, aside in TERM.findall(sentence):
            if is_term(term):
                text = BOLD.sub(r"*\1*", "".join(sentences[first:last])).strip()
                yield term + aside, text.strip("()")


def is_term(bold):
    """Whether words in bold are a term: four words at most, and not a whole sentence."""
    return len(bold.split()) <= 4 and bold[-1] not in ".:!?" and not set("，；") & set(bold)


def anchor(heading):
    """What follows # in a link to a heading of a notebook, in JupyterLab and in HTML."""
    return heading.replace("`", "").replace(" ", "-")
