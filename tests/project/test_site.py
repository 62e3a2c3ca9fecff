"""The sources of the course's pages, before Sphinx reads them; pages/ has tests of the pages."""

import json
import re
import runpy
import subprocess
import sys
import zipfile
from pathlib import Path

import networkx
import pytest
import torch
from checkout import load_course
from notebook_rules import ROOT

from d2lhybrid import get_net
from tools import manifest, site, site_pages, site_run, translate

RESULTS = ROOT / "results"


@pytest.fixture(scope="module")
def staged(tmp_path_factory):
    """The folder of the English sources, which all tests here read; the Chinese are beside it.

    They are made with nothing but Python.
    """
    build = tmp_path_factory.mktemp("site")
    code = f"import pathlib; from tools import site; site.BUILD = pathlib.Path({str(build)!r})\n"
    code += "for language in site.words(): site.stage(language)"
    subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, check=True)
    return build / "sources" / "en"


def text_of(staged, page):
    return (staged / f"{page}.md").read_text("utf-8")


def test_sidebar_leads_to_every_page_in_the_order_of_the_course(staged):
    for language in site.words():
        index, said = text_of(staged.parent / language, "index"), site.words()[language]
        names = [f"notebooks/{entry['name']}" for entry in manifest.entries()]
        pages = [*said["before"], *names, *said["after"]]
        places = [index.index(f" <{page}>\n") for page in pages]
        assert places == sorted(places)


def test_notebooks_are_those_that_a_reader_downloads(staged):
    for path in manifest.notebooks():
        assert (staged / "notebooks" / path.name).read_bytes() == path.read_bytes()
        there = (staged.parent / "zh" / "notebooks" / path.name).read_text("utf-8")
        assert json.loads(there) == translate.in_language(path, "zh")


def test_first_page_is_readme_with_links_from_its_routes_and_no_badge(staged):
    index, readme = text_of(staged, "index"), (ROOT / "README.md").read_text("utf-8")
    assert "colab-badge" not in index
    assert "[Open notebook 01 in Colab](https://colab.research.google.com/github/" in index
    assert "| an evening | [01](notebooks/01_imperative_programs.ipynb); [02](notebooks/" in index
    figures = re.findall(r"(?m)^\| .+\d to [\d.]+\) \|$", readme)
    assert len(figures) == sum(line in index for line in figures) == 7  # 12.9 is no notebook
    assert "](README" not in index  # the pages have a switch between languages


def test_answer_is_the_notebooks_own(staged):
    cells = json.loads((ROOT / "notebooks/18_side_by_side.ipynb").read_text("utf-8"))["cells"]
    words = next("".join(cell["source"]) for cell in cells if cell["id"] == "answer-01")
    answer = text_of(staged, "answer")
    assert words.replace("](", "](notebooks/")[1:] in answer
    assert "[Side by side](notebooks/18_side_by_side.ipynb#The-answer)" in answer
    assert "(notebooks/18_side_by_side.ipynb#答案)" in text_of(staged.parent / "zh", "answer")


def test_results_are_all_there_the_newest_first(staged):
    page = text_of(staged, "results")
    stored = {path.name: json.loads(path.read_text("utf-8")) for path in RESULTS.glob("*.json")}
    heads = re.findall("(?m)^## .*$", page)
    dates = sorted((one["machine"]["date"][:10] for one in stored.values()), reverse=True)
    assert all(date in head for date, head in zip(dates, heads, strict=True))
    for name, one in stored.items():
        assert f"/blob/main/results/{name})" in page
        assert all(f"| {variant} | " in page for variant in one["sizes"]["1"])
    assert re.search(r"\| JAX, jit \|.*\| 12.9 \| 12.2 to 13.8 \| faster \|", page)  # as in README
    assert "| 更快 |" in text_of(staged.parent / "zh", "results")


def test_reference_lists_every_public_name_with_pictures_of_those_that_draw(staged):
    page = text_of(staged, "API")
    for name in [name for pairs in site_pages.public_names().values() for _, name in pairs]:
        assert re.search(rf"(?m)^\.\. auto\w+:: d2lhybrid\.([\w.]+\.)?{name}$", page), name
        if name.startswith("plot_"):
            assert f"[![{name}](pictures/{name}.png)](#d2lhybrid.{name})" in page
            assert (staged / f"pictures/{name}.png").read_bytes().startswith(b"\x89PNG")


def test_command_builds_each_language_and_says_where_the_first_page_is(copy, monkeypatch, capsys):
    for name in ("pages", "img", "results", "d2lhybrid"):
        (copy / name).symlink_to(ROOT / name)
    course, commands = load_course(copy), []
    monkeypatch.setattr(course.environment, "for_pages", lambda: "python")
    monkeypatch.setattr(course.site.site_run.shutil, "which", lambda command: None)

    def build(command, cwd):
        commands.append([*map(str, command)])
        command[-1].mkdir(parents=True)
        return 0

    monkeypatch.setattr(course.environment, "run", build)
    course.main("site")
    html = copy / "build" / "site" / "html"
    assert all(command[:4] == ["python", "-m", "sphinx", "-W"] for command in commands)
    assert [command[-1] for command in commands] == [str(html), str(html / "zh")]
    said = capsys.readouterr().out
    assert said.endswith(f"The pages begin at {(html / 'index.html').as_uri()}\n")
    assert "that needs npm" in said  # and there is no html/run/
    assert {path.name for path in html.iterdir()} == {".nojekyll", "404.html", "zh"}
    monkeypatch.setattr(course.environment, "run", lambda command, cwd: 2)
    assert course.main("site") == 1


def test_pages_run_the_package_and_its_libraries_without_their_tests(tmp_path):
    site_run.pack(tmp_path / "packages.zip", Path(networkx.__file__).parents[1])
    names = zipfile.ZipFile(tmp_path / "packages.zip").namelist()
    assert {"executor.py", "d2lhybrid/__init__.pyi", "networkx/__init__.py"} <= {*names}
    assert "lazy_loader/__init__.py" in names
    assert not [name for name in names if "/tests/" in name or name.endswith(".pyc")]
    assert names == sorted(names)


def test_tags_of_cells_that_a_browser_cannot_run_have_names_that_a_page_can_say():
    pages = [f"notebooks/{path.stem}" for path in manifest.notebooks()]
    assert [page[10:12] for page in pages if site_run.runs(page)] == ["00", "01", "02", "03", "04"]
    for path in manifest.notebooks():
        cells = json.loads(path.read_text("utf-8"))["cells"]
        tags = {tag for cell in cells for tag in cell["metadata"].get("tags", [])}
        needs = {tag.removeprefix("needs-") for tag in tags if tag.startswith("needs-")}
        assert all(needs <= said["run"]["needs"].keys() for said in site.words().values())
        assert not needs or site_run.runs(f"notebooks/{path.stem}")


@pytest.mark.parametrize("name", site_run.LIBRARIES)
def test_pin_of_a_library_is_the_same_everywhere(name):
    pins = [(ROOT / name).read_text() for name in ("requirements.txt", "requirements-site.txt")]
    assert len({re.search(rf"(?m)^{name}==\S+", text)[0] for text in pins}) == 1


def test_what_the_network_speaks_with_is_what_the_compiler_writes():
    net = get_net()
    net[4] = torch.nn.Linear(128, 32)
    source = runpy.run_path(str(ROOT / "pages" / "javascript.py"))["javascript_source"](net)
    stored = (ROOT / "pages" / "static" / "speak" / "network.js").read_text("utf-8")
    assert source == stored, "run pages/javascript.py"
