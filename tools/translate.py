"""`course.py translate`: the course in another language, bound to the English text.

translations/zh/NAME.md holds the text of each Markdown cell of notebooks/NAME.ipynb. Before each
stands a mark with the cell's id and the first 12 digits of the SHA-256 of the English text from
which it was made:

    <!-- 02-17 9c1e55d07ab4 -->

A notebook in another language is built and never edited: its code and its outputs are those of the
English one. The documents in the root, such as README.zh.md, hold their own marks, one for each
section.
"""

import csv
import functools
import hashlib
import json
import re
from calendar import month_name
from collections import Counter

from . import manifest
from .files import NOTEBOOKS, ROOT, TRANSLATIONS, write
from .notebook import agreed_metadata, source, without_badge

DOCUMENTS = ("README", "INSTALL", "COMPARE", "TEACHING")
MARK = re.compile(r"^<!-- (\S+) ([0-9a-f]{12}) -->\n", re.MULTILINE)
GENERATED = re.compile(r"(?s)(<!-- python3 course\.py contents -->).*(<!-- end of contents -->)")
UNITS = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
UNITS |= {"M": 1e6, "B": 1e9, "万亿": 1e12, "亿": 1e8, "万": 1e4}
NUMBER = re.compile(r"(\d[\d,.]*)(?<![,.])(?: ?([a-z]+llion|thousand|[MB]\b|万亿|亿|万))?")
# README's links to the same in other languages.
SWITCH = re.compile(r"(?m)^(?:\[[^]\n]+\]\(README(?:\.\w+)?\.md\)[ ·]*)+\n\n")


def translate(language, names=(), fill=False, accept=()):
    """Print what is missing and what is wrong in a translation. Returns 1 if anything is.

    `--fill` prints what is not yet translated, with its marks. `--accept ID` says that the
    translations with these ids have been read again and still hold, although the English texts have
    changed.
    """
    status = 0
    for name in names or all_names():
        known, now = translated(name, language), pieces(name)
        missing, stale = lacking(name, language)
        if accept:
            renew(name, language, [i for i in accept if i in now])
        elif fill:
            print(*(f"{mark(i, now[i])}\n{now[i].strip()}\n\n" for i in missing), sep="", end="")
        else:
            wrong = list(faults(name, language))
            print(f"{name}: {len(missing)} missing, {len(stale)} stale, {len(wrong)} wrong")
            for i in stale:
                print(f"  {i} is stale. The English text is now:\n{now[i]}\n  The translation is:")
                print(known[i][1])
            print(*(f"  {fault}\n" for fault in wrong), sep="", end="")
            status |= bool(missing or stale or wrong)
    return status


def languages():
    """The languages into which the course is translated, such as "zh"."""
    return sorted(path.parent.name for path in TRANSLATIONS.glob("*/glossary.csv"))


def all_names():
    """The names of all that is translated: notebooks in reading order, then documents."""
    return [*(entry["name"] for entry in manifest.entries()), *DOCUMENTS]


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def mark(i, text):
    return f"<!-- {i} {digest(text)} -->"


# The English text and the other one ---------------------------------------------------------


def pieces(name):
    """The English texts of a notebook or a document: id -> Markdown. A badge has none."""
    if name not in DOCUMENTS:
        return texts_of(json.loads((NOTEBOOKS / f"{name}.ipynb").read_bytes()))
    top, *sections = re.split(r"(?m)^(?=## )", written(ROOT / f"{name}.md"))
    ids = [re.sub(r"\W+", "-", one.split("\n")[0][3:]).strip("-") for one in sections]
    return {"top": top, **dict(zip(ids, sections, strict=True))}


def texts_of(notebook):
    cells = without_badge(notebook)["cells"]
    return {cell["id"]: source(cell) for cell in cells if cell["cell_type"] == "markdown"}


def written(path):
    """What people wrote of a document: not its table of notebooks, nor its link to the others."""
    return SWITCH.sub("", GENERATED.sub(r"\1\n\n\2", path.read_text("utf-8")))


def file_of(name, language):
    if name in DOCUMENTS:
        return ROOT / f"{name}.{language}.md"
    return TRANSLATIONS / language / f"{name}.md"


def translated(name, language):
    """id -> (digest of the English text it was made from, translation); {} without a file.

    ValueError where text stands before the first mark, or an id stands twice.
    """
    path = file_of(name, language)
    if not path.exists():
        return {}
    before, *parts = MARK.split(written(path))
    ids, digests, texts = parts[::3], parts[1::3], parts[2::3]
    if before.strip() or len({*ids}) < len(ids):
        raise ValueError(f"{path.name}: text before the first mark, or an id that occurs twice")
    return dict(zip(ids, zip(digests, map(str.strip, texts), strict=True), strict=True))


def lacking(name, language):
    """The ids of what is not translated, and of what was made from another English text."""
    now, known = pieces(name), translated(name, language)
    missing = [i for i in now if i not in known]
    return missing, [i for i in now if i in known and known[i][0] != digest(now[i])]


def renew(name, language, ids):
    """Let marks say that translations hold for the English text as it is now."""
    now, path = pieces(name), file_of(name, language)
    text = path.read_text("utf-8")
    for i in ids:
        text = re.sub(rf"(?m)^<!-- {re.escape(i)} [0-9a-f]{{12}} -->", mark(i, now[i]), text)
    write(path, text.encode())


# The notebook in another language -----------------------------------------------------------


def in_language(path, language):
    """A notebook as its file holds it, in a language. What is not translated stays English.

    What is stale stands in English, too, below a line that says so.
    """
    notebook = json.loads(path.read_bytes())
    if language == "en":
        return notebook
    known, now = translated(path.stem, language), texts_of(notebook)
    for cell in notebook["cells"]:
        text = source(cell)
        if cell["id"] in now:
            text = shown_for(text, known.get(cell["id"]), language)
        elif cell["cell_type"] == "markdown":  # the badge
            text = on_colab(text, language)
        cell["source"] = text
    notebook["metadata"] = {**agreed_metadata(notebook), "lang": language}
    return notebook


def document(name, language):
    """README or another document in a language, without marks and without what is generated."""
    if language == "en":
        return written(ROOT / f"{name}.md")
    now, known = pieces(name), translated(name, language)
    texts = [shown_for(text, known.get(i), language).strip() for i, text in now.items()]
    return on_colab("\n\n".join([*texts, ""]), language)


def shown_for(english, known, language):
    """The translation if it is current, the English text if there is none, and that under a notice
    if the translation is stale.
    """
    made_from, other = known or ("", "")
    if made_from == digest(english):
        return other
    if not made_from:
        return english
    heading, _, rest = english.partition("\n") if english.startswith("#") else ("", "", english)
    notice = manifest.course()["lines"][language]["stale"]
    return f"{heading}\n\n> **{notice}**\n\n{rest.strip()}".strip()


def on_colab(text, language):
    """A text whose links lead Colab to the notebooks that the pages carry."""
    there = f"/blob/gh-pages/{language}/_sources/notebooks/"
    return text.replace("/blob/main/notebooks/", there)


# What is wrong in a translation -------------------------------------------------------------


def faults(name, language):
    """What is wrong in a translation, one line each. What is missing or stale is not."""
    now, known = pieces(name), translated(name, language)
    yield from (f"{i}: there is no such text" for i in known if i not in now)
    if [i for i in now if i in known] != [i for i in known if i in now]:
        yield "the texts are not in the order of the English"
    for i, (made_from, text) in known.items():
        if i in now and made_from == digest(now[i]):
            yield from (f"{i}: {fault}" for fault in differences(now[i], text, language))


def differences(there, here, language):
    """What a text has and its translation lacks, or the other way around where that is a slip.

    A translation may have other paragraphs, more sentences, and links of its language in place of
    the English ones, by translations/LANGUAGE/links.csv.
    """
    here = here.replace(f" --language {language}", "")
    for own, english in pairs("links", language):
        here = here.replace(own, english)
    wanted, found = shape(there), shape(here)
    for kind in wanted:
        lost, added = wanted[kind] - found[kind], found[kind] - wanted[kind]
        if lost or (added and kind == "headings"):
            yield f"{kind}: lost {dict(lost)}, added {dict(added)}"
    lines = manifest.course()["lines"]
    for kind in ("summary", "exercises", "solutions", "next"):
        if (lines["en"][kind] in there.split("\n")) != (lines[language][kind] in here.split("\n")):
            yield f"the line {lines['en'][kind]!r} is {lines[language][kind]!r}"


@functools.cache
def pairs(name, language):
    """What a language and English have for each other, from translations/LANGUAGE/NAME.csv."""
    path = TRANSLATIONS / language / f"{name}.csv"
    rows = csv.DictReader(path.read_text("utf-8").splitlines()) if path.exists() else []
    return [(row[language], row["en"]) for row in rows]


def shape(text):
    """What a translation takes over from its source: kind -> Counter.

    Of code, formulas, links and numbers it counts each once, since a sentence more or less may name
    it again.
    """
    fences = re.findall(r"(?ms)^```.*?^```", text)
    text = re.sub(r"(?ms)^```.*?^```", "", text)
    code = re.findall(r"`[^`\n]+`", text)
    text = re.sub(r"`[^`\n]+`", "`", text)
    formulas = re.findall(r"\$[^$\n]+\$", text)
    text = re.sub(r"\$[^$\n]+\$", "", text)
    targets = re.findall(r"\]\(([^)\s#]*)[^)\s]*\)", text)  # an anchor is translated, and
    targets = [re.sub(r"\.\w\w(?=\.(md|svg)$)", "", one) for one in targets]  # a file has its own
    text = re.sub(r"\]\([^)\s]+\)", "]", text)
    items = r"(?m)^ *(?:[-*]|\d+\.)(?= )|^\||!\[|\*\*"
    return {
        "headings": Counter(re.findall(r"(?m)^#+(?= )", text)),
        # An ordered list may be numbered in any way.
        "structure": Counter(re.sub(r"\d+", "1", one) for one in re.findall(items, text)),
        "code blocks": Counter(fences),
        "inline code": Counter({*code}),
        "formulas": Counter({*formulas}),
        "links": Counter({*targets}),
        "numbers": Counter(values(text)),
    }


def values(text):
    """The values of the numbers in a text: of 67 M, 67 million, 6700万 and 67,000,000 the same."""
    text = re.sub(r"(?m)^ *\d+\.", "", text)
    for number, name in enumerate(month_name[1:], 1):  # December 7 is 12月7日
        text = re.sub(rf"{name}(?= \d)|(?<=\d ){name}", str(number), text)
    found = set()
    for number, unit in NUMBER.findall(text):
        try:
            found.add(round(float(number.replace(",", "")) * UNITS.get(unit, 1), 9))
        except ValueError:  # 2.13.0 is a version
            found.add(number)
    return found
