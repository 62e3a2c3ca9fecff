"""GLOSSARY.md: the terms that the notebooks print in bold, each with a definition, by hand.

A section for each term: the definition in English, with the notebook, and below it in Chinese.

    ## bytecode

    The simple instructions into which ... . [01](notebooks/01_imperative_programs.ipynb)

    **字节码**（bytecode）：……。
"""

import bisect
import functools
import re
import string
from urllib.parse import quote

from . import manifest, notebook
from .files import ROOT
from .translate import languages


def entries(language="en"):
    """The terms of the glossary in a language: heading -> its definition with a link.

    What is not translated stands in English.
    """
    found = {}
    for section in (ROOT / "GLOSSARY.md").read_text("utf-8").split("\n## ")[1:]:
        term, english, *others = section.strip().split("\n\n")
        here = dict(zip(languages(), others, strict=False)).get(language)
        if here:
            bold, aside, definition = re.fullmatch(r"\*\*(.+?)\*\*(（.+?）)?：(.+)", here).groups()
            found[bold + (aside or "")] = definition + english[english.rindex("[") :]
        else:
            found[term] = english
    return found


def page(folder, language, said):
    """The glossary in one language: a line of letters, and a section for each term, in its order.

    A letter leads to its first term; one that has none is no link.
    """
    found, first = entries(language), {}
    titles = {one["name"][:2]: one["title"][language] for one in manifest.entries()}
    for term, text in found.items():
        found[term] = re.sub(r"\[(\d\d)\]", lambda n: f"[{n[1]} {titles[n[1]]}]", text)
    terms = sorted(found, key=place)
    for term in terms:
        first.setdefault(place(term)[0], address(term))
    letters = " ".join(
        f'<a href="{first[one]}">{one}</a>' if one in first else f"<span>{one}</span>"
        for one in ["0-9", *string.ascii_uppercase]
    )
    title, about = said["after"]["GLOSSARY"]
    sections = [f"## {term}\n\n{found[term]}" for term in terms]
    return "\n\n".join([f"# {title}", about, f'<p class="letters">{letters}</p>', *sections, ""])


def address(term):
    """Where a link on the glossary's page leads to a term."""
    return f"#{quote(notebook.anchor(term))}"


def place(term):
    """What a term is sorted by: its letter, or that of its Pinyin, and Latin letters come first."""
    code = term.translate(SOUNDS).lower().encode("gb18030")
    letter = PINYIN[bisect.bisect(BEGINS, code[:2]) - 1] if code[0] > 127 else chr(code[0]).upper()
    return letter if letter.isalpha() else "0-9", code


# In this encoding common Chinese characters are in the order of their sounds: where each letter
# begins. Of a character with two sounds it knows one, so another character stands for it here.
PINYIN = "ABCDEFGHJKLMNOPQRSTWXYZ"
BEGINS = "啊芭擦搭蛾发噶哈击喀垃妈拿哦啪期然撒塌挖昔压匝"
BEGINS = [one.encode("gb18030") for one in BEGINS]
SOUNDS = str.maketrans({"重": "虫", "\u03b1": "a"})


# Where a notebook uses a term, its page links it, but none of those that everybody knows, or uses
# in another sense as well, such as "set". Some terms are used in other words than their own.
QUIET = """
    array associative block bound broadcast bucket cold compiler constant equivalent event future
    graph hit interpreter job key lane line mean miss node outcome page panel parallel parameter
    pass peak process pull pure push race ready round set slot star static steps stream symbol
    symbolic tree warm ways
"""
WORDS = {
    "en": {
        "95% confidence interval": "95% confidence interval|confidence interval|95% CI",
        "common subexpression elimination": "common subexpression elimination|CSE",
        "element by element": "element by element|elementwise",
        "fused": "fused|fuse|fuses|fusing|fusion",
        "fused multiply-add": "fused multiply-add|FMA",
        "global interpreter lock": "global interpreter lock|GIL",
        "inlining": "inlining|inline|inlined|inlines",
        "line": "cache line",
        "multilayer perceptron": "multilayer perceptron|MLP",
        "recompilation": "recompilation|recompile|recompiled|recompiles",
        "unrolled": "unrolled|unroll|unrolls|unrolling",
        "vectorization": "vectorization|vectorize|vectorized|vectorizes",
    },
    "zh": {
        "95% confidence interval": "95%置信区间|置信区间",
        "line": "缓存行",
        "recording": "",  # "to record", too, and so with the next
        "unrolled": "",
    },
}


@functools.cache
def uses(language):
    """The words with which texts use terms -> where the term is, and a pattern of all of them.

    It finds the longest first, and English ones as whole words, with plurals and capitals.
    """
    found = {}
    for english, term in zip(entries(), entries(language), strict=True):
        own = "" if english in QUIET.split() else bold(term)
        for word in filter(None, WORDS.get(language, {}).get(english, own).split("|")):
            found[word] = address(term)
            if word.isascii():
                found |= dict.fromkeys((f"{word}s", f"{word}es"), found[word])
    found |= {word[0].upper() + word[1:]: place for word, place in found.items()}
    longest = sorted(found, key=len, reverse=True)
    whole = [rf"(?<![\w-]){re.escape(word)}(?![\w-])" for word in longest if word.isascii()]
    others = [re.escape(word) for word in longest if not word.isascii()]
    return found, re.compile("|".join(others + whole), re.ASCII)


def mentions(text, language):
    """Each use of a term in a text: where it begins and ends, and where the term is."""
    found, pattern = uses(language)
    for use in pattern.finditer(text.replace("\u2019", "'")):  # Sphinx turns one into the other
        yield *use.span(), found[use[0]]


@functools.cache
def definitions(language):
    """What a notebook prints in bold to define a term -> where the term is."""
    return {alike(bold(term)): address(term) for term in entries(language)}


def alike(term):
    """A term without what depends on its place in a sentence."""
    return re.sub(r"(?<=ch)es$|s$", "", term.lower().replace("\u2019", "'"))


def bold(term):
    """A term as the notebooks print it: in the glossary's headings the English one follows."""
    return term.partition("（")[0]
