"""One spelling, and the field's words: what a rule can keep of them."""

import json
import re

import pytest
from notebook_rules import NOTEBOOKS, ROOT, prose

DOCUMENTS = [path for path in ROOT.glob("*.md") if not path.stem.endswith(".zh")]
CODE = re.compile(r"```.*?```|`[^`]*`|\]\([^)]*\)|https?:\S+", re.DOTALL)
VERBS = (
    "recogn optim normal quant synchron organ special vector minim maxim summar initial serial "
    "parallel general emphas random memor real util visual hybrid factor token amort custom local"
)
FAULTS = {  # the words of TERMS that are no longer said, with what is said in their place
    "American spelling": rf"\b(?:{'|'.join(VERBS.split())})is(?:e[drs]?|ers|ing|ations?)\b"
    r"|\b\w*(?:colour|behaviour|neighbour|favour)\w*|\b(?:centred?|analys(?:ed?|es|ing)|grey)\b",
    "5%": r"\d %",
    "May 5, 2026": r"\b\d{1,2} (?:[JFMASOND][a-z]{2,8}) \d{4}\b",
    "Exercise 3": r"\bexercises? \d",
    "equivalent": "as good as equal",
    "inconclusive": "no clear difference",
    "time per call": r"\b(?:[mµn]s|times?) a call\b",
    "95% confidence interval": r"\b95 ?% interval",
    "spread": r"(?<!-)\bscatters?\b(?! plot)",
    "execute, run": r"\bcarr(?:y|ies|ied|ying) (?:(?:it|them|this|that) )?out\b",
    "string": r"\brows? of letters",
    "integer": r"\bwhole numbers?\b",
    "floating-point number": "numbers with fractions",
    "dtype": r"\bnumber types?\b",
    "thread": r"\blines? of work\b",
    "randomize": r"\bby lot\b",
    "most expensive, cheapest": r"\b(?:the )dear(?:er|est)\b",
    "the machine that produced these outputs": "machine of this page|stored page",
    "at most": r"\bat the most\b",
}
STAY = {  # the plain word, once, before the term
    ("execute, run", "01_imperative_programs.ipynb"): 1,
}


def words(path):
    text = path.read_text(encoding="utf-8")
    return CODE.sub("", prose(json.loads(text)) if path.suffix == ".ipynb" else text)


@pytest.mark.parametrize("path", [*NOTEBOOKS, *DOCUMENTS], ids=lambda path: path.stem)
def test_words_are_the_fields_and_american(path):
    text = words(path)
    for better, fault in FAULTS.items():
        found = re.findall(fault, text)
        assert len(found) <= STAY.get((better, path.name), 0), f"{found}: {better}"


@pytest.mark.parametrize(
    "text",
    ["it optimises", "two neighbours", "5 % of it", "5 May 2026", "exercise 2", "3 µs a call"],
)
def test_each_fault_is_found(text):
    assert sum(bool(re.search(fault, text)) for fault in FAULTS.values()) == 1
