"""GLOSSARY.md: the terms that the notebooks print in bold, each with a definition, by hand.

A section for each term: the definition in English, with the notebook, and below it in Chinese.

    ## bytecode

    The simple instructions into which ... . [01](notebooks/01_imperative_programs.ipynb)

    **字节码**（bytecode）：……。
"""

import re

from . import manifest
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
    """The glossary in one language, a section for each term, in the language's order."""
    found = entries(language)
    titles = {one["name"][:2]: one["title"][language] for one in manifest.entries()}
    for term, text in found.items():
        found[term] = re.sub(r"\[(\d\d)\]", lambda n: f"[{n[1]} {titles[n[1]]}]", text)
    # In this encoding, common Chinese characters are in the order of their sounds.
    terms = sorted(found, key=lambda term: term.lower().encode("gb18030"))
    title, about = said["after"]["GLOSSARY"]
    sections = [f"## {term}\n\n{found[term]}" for term in terms]
    return "\n\n".join([f"# {title}", about, *sections, ""])
