"""What there is to take away: the sources of a book, and the page that leads to the files."""

from tools import book, manifest, site, site_take


def test_a_part_of_a_book_has_the_chosen_notebooks(tmp_path):
    first, second, _, _, fifth, sixth = manifest.notebooks()[:6]
    book.stage(tmp_path, "zh", [second, sixth])
    index = (tmp_path / "index.md").read_text("utf-8")
    assert "part-1>" in index
    assert "part-2>" in index
    assert "part-0>" not in index
    part = (tmp_path / "part-1.md").read_text("utf-8")
    assert f"01 命令式程序 <notebooks/{second.stem}>" in part
    assert fifth.stem not in part
    stems = [path.stem for path in sorted((tmp_path / "notebooks").iterdir())]
    assert stems == [second.stem, sixth.stem]
    assert first.stem not in stems


def test_page_lists_every_file_and_leads_to_those_that_are_there(tmp_path, monkeypatch):
    monkeypatch.setattr(site_take, "BOOK", tmp_path / "book")
    said = site.words()["en"]
    text = site_take.page(None, "en", said)
    assert ("<a " in text, text.count("not built here")) == (False, 5)
    name = manifest.notebooks()[1].stem
    names = ["d2lhybrid-en.pdf", "d2lhybrid-zh.epub"]
    names += [f"slides/en/{name}.slides.html", f"handout/en/{name}.html"]
    for one in names:
        path = tmp_path / "book" / one
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(2_340_000))
    text = site_take.page(None, "en", said)
    assert '<a href="book/d2lhybrid-en.pdf">' in text
    assert "| 2.3\u00a0MB |" in text
    assert "epub" not in text
    assert text.count("<a ") == text.count("not built here") == 3
    text = site_take.page(None, "zh", site.words()["zh"])
    assert '<a href="../book/d2lhybrid-zh.epub">' in text  # from zh/
