"""The course in other languages: what is built, and which slips of a translation are found."""

import json

import pytest

from tools import manifest, notebook, translate

NAMES = [entry["name"] for entry in manifest.entries()]
ENGLISH = """\
## Two *graphs*

A **guard** asks `x` twice, 3 times, or $n^2$ times; see [another](02_symbolic_programs.ipynb#Step).

- One
- Two

| a | b |
| --- | --- |"""
CHINESE = """\
## 两张*图*

**守卫**（guard）会把`x`问两次、3次或$n^2$次；见[下一篇](02_symbolic_programs.ipynb#步骤)。

- 一
- 二

| 甲 | 乙 |
| --- | --- |"""
SLIPS = [
    ("## ", "### ", "headings"),
    ("- 二", "### 二\n\n- 二", "headings"),
    ("- 二", "二", "structure"),
    ("| --- | --- |", "", "structure"),
    ("**守卫**", "守卫", "structure"),
    ("`x`", "`y`", "inline code"),
    ("$n^2$", "$n^3$", "formulas"),
    ("02_symbolic", "03_symbolic", "links"),
    ("3次", "4次", "numbers"),
]


def test_true_translation_has_no_faults():
    assert list(translate.differences(ENGLISH, CHINESE, "zh")) == []


@pytest.mark.parametrize(("right", "slip", "fault"), SLIPS)
def test_slip_is_found(right, slip, fault):
    assert right in CHINESE
    found = list(translate.differences(ENGLISH, CHINESE.replace(right, slip, 1), "zh"))
    assert any(fault in one for one in found), found


def test_a_translation_may_say_more_in_other_paragraphs():
    more = CHINESE.replace(
        "；见", "。\n\n这句话只有中文版才有，`y`也是，见[3](https://zh.d2l.ai/)。见"
    )
    assert list(translate.differences(ENGLISH, more, "zh")) == []


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("67 M and 6,700", "6700万和6700"),
        ("7B or 405 billion", "70亿或4050亿"),
        ("2.13.0", "2.13.0"),
    ],
)
def test_numbers_are_compared_by_value(there, here):
    assert translate.values(there) == translate.values(here)
    assert translate.values(there) != translate.values(here.replace("0", "8"))


def test_a_link_may_lead_to_the_same_page_in_the_language():
    there = "[the book](https://d2l.ai/chapter_x/index.html)"
    here = "[这本书](https://zh.d2l.ai/chapter_x/index.html)"
    assert list(translate.differences(there, here, "zh")) == []
    assert list(translate.differences(there, here.replace("_x", "_y"), "zh")) != []


def test_a_month_is_a_number_and_a_command_may_name_the_language():
    english = "Seen on December 7, 2021, by `course.py read`; it may run."
    chinese = "2021年12月7日用`course.py read --language zh`看到；它能运行。"
    assert list(translate.differences(english, chinese, "zh")) == []
    assert list(translate.differences(english, chinese.replace("12", "11"), "zh")) != []


def test_fixed_line_is_that_of_course_toml():
    assert list(translate.differences("## Summary", "## 小结", "zh")) == []
    (fault,) = translate.differences("## Summary", "## 总结", "zh")
    assert fault == "the line '## Summary' is '## 小结'"


def test_course_toml_speaks_every_language():
    lines = manifest.course()["lines"]
    for language in translate.languages():
        assert lines["en"].keys() <= lines[language].keys()
        for part in manifest.course()["parts"]:
            entries = part["notebooks"]
            texts = [part["title"], *(e[kind] for e in entries for kind in ("title", "about"))]
            assert all(text.get(language) for text in texts)
        assert all(need["name"].get(language) for need in manifest.course()["needs"].values())


@pytest.mark.parametrize("language", translate.languages())
def test_the_stored_translations_have_no_faults(language):
    for name in [*NAMES, *translate.DOCUMENTS]:
        assert list(translate.faults(name, language)) == [], name


@pytest.mark.parametrize("language", translate.languages())
def test_built_notebook_is_the_english_one_but_for_its_text(language):
    for path in manifest.notebooks():
        if not translate.translated(path.stem, language):
            continue
        there, here = json.loads(path.read_bytes()), translate.in_language(path, language)
        assert notebook.fingerprint(here)[:8] == notebook.fingerprint(there)[:8]
        for one, other in zip(there["cells"], here["cells"], strict=True):
            assert {**one, "source": 0} == {**other, "source": 0}
        title = next(e["title"] for e in manifest.entries() if e["name"] == path.stem)
        assert notebook.source(here["cells"][0]).startswith(f"# {title[language]}\n")


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A notebook of two texts, and a place for its translation."""
    texts = {
        "a": "# One\n\nIt *runs*.",
        "b": "[![Open in Colab](x)](y/blob/main/notebooks/z)",
        "c": "End.",
    }
    cells = [
        {"id": i, "cell_type": "markdown", "metadata": {}, "source": t} for i, t in texts.items()
    ]
    (tmp_path / "00_one.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}}))
    monkeypatch.setattr(translate, "NOTEBOOKS", tmp_path)
    monkeypatch.setattr(translate, "file_of", lambda name, language: tmp_path / f"{name}.md")
    return tmp_path


def built(course):
    cells = translate.in_language(course / "00_one.ipynb", "zh")["cells"]
    return {cell["id"]: cell["source"] for cell in cells}


def test_what_is_not_translated_stays_english_and_the_badge_leads_to_the_other_notebook(course):
    assert translate.pieces("00_one") == {"a": "# One\n\nIt *runs*.", "c": "End."}
    (course / "00_one.md").write_text(f"{translate.mark('c', 'End.')}\n完。\n", "utf-8")
    assert translate.lacking("00_one", "zh") == (["a"], [])
    texts = built(course)
    assert texts["a"] == "# One\n\nIt *runs*."
    assert texts["c"] == "完。"
    assert "(y/blob/gh-pages/zh/_sources/notebooks/z)" in texts["b"]


def test_what_is_stale_stands_in_english_until_it_is_accepted(course, capsys):
    (course / "00_one.md").write_text("<!-- a 000000000000 -->\n# 一\n\n它能*运行*。\n", "utf-8")
    notice = manifest.course()["lines"]["zh"]["stale"]
    assert built(course)["a"] == f"# One\n\n> **{notice}**\n\nIt *runs*."
    assert translate.translate("zh", ["00_one"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("00_one: 1 missing, 1 stale, 0 wrong\n")
    assert "It *runs*." in said
    assert "它能*运行*。" in said
    translate.translate("zh", ["00_one"], accept=["a"])
    assert built(course)["a"] == "# 一\n\n它能*运行*。"


def test_what_is_to_be_filled_in_is_printed_with_its_marks(course, capsys):
    translate.translate("zh", ["00_one"], fill=True)
    (course / "00_one.md").write_text(capsys.readouterr().out, "utf-8")
    assert translate.lacking("00_one", "zh") == ([], [])


@pytest.mark.parametrize(
    "text",
    [
        "x\n<!-- a 000000000000 -->\nx\n",
        "<!-- a 000000000000 -->\nx\n<!-- a 000000000000 -->\nx\n",
    ],
)
def test_broken_file_is_refused(course, text):
    (course / "00_one.md").write_text(text, "utf-8")
    with pytest.raises(ValueError, match=r"00_one\.md"):
        translate.translated("00_one", "zh")


def test_texts_without_a_cell_or_out_of_order_are_faults(course):
    marks = [
        f"{translate.mark('c', 'End.')}\n完。",
        f"<!-- a {translate.digest(translate.pieces('00_one')['a'])} -->\n# 一\n\n它能*运行*。",
    ]
    (course / "00_one.md").write_text("\n\n".join(marks), "utf-8")
    assert len(list(translate.faults("00_one", "zh"))) == 1
    (course / "00_one.md").write_text("<!-- d 000000000000 -->\n完。\n", "utf-8")
    assert len(list(translate.faults("00_one", "zh"))) == 1
