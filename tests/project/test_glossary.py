"""GLOSSARY.md has each term that the notebooks print in bold, and no other."""

import re
from urllib.parse import unquote

import pytest
from notebook_rules import NOTEBOOKS, ROOT, text_of

from tools import glossary, manifest, translate


def bold_terms(path, language="en"):
    """The terms in bold in a notebook's sections, up to its summary, from where all are known."""
    cells = translate.in_language(path, language)["cells"]
    text = "\n\n".join(text_of(cell) for cell in cells if cell["cell_type"] == "markdown")
    text = text.partition(f"\n{manifest.course()['lines'][language]['summary']}\n")[0]
    text = re.sub(r"(?ms)^```.*?^```", "", text.partition("\n## ")[2])
    found = re.findall(r"\*\*([^*\n]+)\*\*", text)
    return [t for t in found if len(t.split()) <= 4 and not re.search(r"[.:!?：，；]$|，", t)]


alike = glossary.alike
TERMS = {alike(term): text for term, text in glossary.entries().items()}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_glossary_defines_the_bold_terms_of_a_notebook(path):
    link = f"]({path.relative_to(ROOT).as_posix()})"
    assert sorted(map(alike, bold_terms(path))) == sorted(t for t in TERMS if link in TERMS[t])


@pytest.mark.parametrize("language", translate.languages())
def test_translated_terms_are_those_of_the_translated_notebooks(language):
    bold = {path.name: bold_terms(path, language) for path in NOTEBOOKS}
    entries = glossary.entries(language)
    assert len(entries) == len(TERMS)
    for term, text in entries.items():
        name = re.search(r"\(notebooks/(.+)\)$", text)[1]
        assert term.partition("（")[0] in bold[name], term


def test_each_definition_stands_by_itself():
    for term, text in glossary.entries().items():
        assert len(text) > 40, term
        assert not re.match(r"(And|But|So|That|This|It|They)\b", text), term


def test_page_of_a_language_is_in_its_order():
    said = {"after": {"GLOSSARY": ["词汇表", "课程的术语。"]}}
    page = glossary.page(None, "zh", said)
    assert page.startswith("# 词汇表\n\n课程的术语。\n\n<p")
    terms = re.findall("(?m)^## (.+)$", page)
    assert (
        terms.index("编译器（compiler）")
        < terms.index("计算图（graph）")
        < terms.index("字节码（bytecode）")
    )


def test_letters_lead_to_their_first_terms():
    page = glossary.page(None, "en", {"after": {"GLOSSARY": ["Glossary", ""]}})
    heads = re.findall("(?m)^## (.+)$", page)
    row = re.search('<p class="letters">(.+)</p>', page)[1]
    assert re.findall("<span>(.)</span>", row) == ["Q", "Y"]
    letters = dict(re.findall('<a href="#([^"]+)">(.+?)</a>', row))
    assert [*letters.values()] == ["0-9", *"ABCDEFGHIJKLMNOPRSTUVWXZ"]
    for address, letter in letters.items():
        term = unquote(address).replace("-", " ")
        at = [head.replace("-", " ") for head in heads].index(term)
        assert letter == "0-9" or term[0].upper() == letter
        assert at == 0 or heads[at - 1][0].upper() < term[0].upper()


def test_chinese_terms_are_found_by_pinyin():
    terms = ["0/1特化", "\u03b1模型", "TorchScript", "同步", "重新编译", "作业"]
    assert [glossary.place(term)[0] for term in terms] == ["0-9", "A", "T", "T", "C", "Z"]


MENTIONS = {
    "Guards check, and a guard's kernels are fused": "Guards guard kernels fused",
    "The set of steps is ready: safeguard, all-reduce-like": "",
    "Little\u2019s law": "Little\u2019s_law",
    "fused multiply-adds, not a fusion of cache lines": "fused_multiply-adds fusion cache_lines",
    "用守卫检查缓存行；缓存里有Dynamo的图": "守卫 缓存行 缓存 Dynamo",
}


@pytest.mark.parametrize("text", MENTIONS)
def test_terms_are_found_in_a_text(text):
    language = "zh" if "守卫" in text else "en"
    found = [text[start:stop] for start, stop, _ in glossary.mentions(text, language)]
    assert found == [word.replace("_", " ") for word in MENTIONS[text].split()]


def test_terms_with_words_of_their_own_are_terms():
    named = {*glossary.QUIET.split()}.union(*glossary.WORDS.values())
    assert named <= {*glossary.entries()}


def test_term_without_a_translation_stands_in_english(monkeypatch, tmp_path):
    (tmp_path / "GLOSSARY.md").write_text(
        "# G\n\n## a\n\nOne. [01](b)\n\n## c\n\nTwo. [02](d)\n\n**丙**：二。\n"
    )
    monkeypatch.setattr(glossary, "ROOT", tmp_path)
    assert glossary.entries("zh") == {"a": "One. [01](b)", "丙": "二。[02](d)"}
