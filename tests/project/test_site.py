"""The sources of the course's pages, before Sphinx reads them."""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import networkx
import pytest
from checkout import load_course
from notebook_rules import ROOT

from tools import api, manifest, results, site, site_pages, site_run, translate


def forget():
    for function in (site.headings, site.headings_of, site.anchors):
        function.cache_clear()


@pytest.fixture(scope="module")
def staged(tmp_path_factory):
    """The folder of the English sources, which all tests here read; the Chinese are beside it."""
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(site, "BUILD", tmp_path_factory.mktemp("site"))
    forget()
    for language in site.words():
        site.stage(language)
    yield site.sources("en")
    monkeypatch.undo()
    forget()


def text_of(staged, page):
    return (staged / f"{page}.md").read_text("utf-8")


def test_the_sidebar_leads_to_every_page_in_the_order_of_the_course(staged):
    index = text_of(staged, "index")
    names = [f"notebooks/{entry['name']}" for entry in manifest.entries()]
    said = site.words()["en"]
    pages = [*said["before"], *names, *said["after"]]
    places = [index.index(f" <{page}>\n") for page in pages]
    assert places == sorted(places)
    assert all(site.source_of(page, "en") for page in ["index", *pages])
    for path in manifest.notebooks():  # what a reader downloads is the very file
        assert (staged / "notebooks" / path.name).read_bytes() == path.read_bytes()


def test_the_first_page_is_readme_with_links_from_its_routes_and_no_badge(staged):
    index, readme = text_of(staged, "index"), (ROOT / "README.md").read_text("utf-8")
    assert "colab-badge" in readme
    assert "colab-badge" not in index
    assert "[Open notebook 01 in Colab](https://colab.research.google.com/github/" in index
    assert "| an evening | [01](notebooks/01_imperative_programs.ipynb); [02](notebooks/" in index
    figures = re.findall(r"(?m)^\| .+\d to [\d.]+ \|$", readme)
    assert len(figures) == 5
    assert [line for line in figures if line not in index] == []  # 12.9 is no notebook


SECTIONS = [  # page, text, what becomes of it
    ("index", "[a](COMPARE.md)", "[a](COMPARE.md)"),
    ("index", "[a](README.md#try-it-now)", "[a](index.md#try-it-now)"),
    ("index", "[a](results/some.json)", "[a](results.md)"),
    ("index", "![a](img/rewriting.png)", "![a](img/rewriting.png)"),
    ("index", "[a](LICENSE)", "[a](https://github.com/{repository}/blob/main/LICENSE)"),
    ("index", "[a](https://a.org/b.md)", "[a](https://a.org/b.md)"),
    ("index", "[a](no_such_file.md)", "[a](no_such_file.md)"),  # for Sphinx to report
    ("notebooks/05_torchscript", "[a](06_a_b.ipynb#b)", "[a](06_a_b.ipynb#b)"),
    (
        "notebooks/05_torchscript",
        "[a](06_measuring_honestly.ipynb#b)",
        "[a](../notebooks/06_measuring_honestly.ipynb#b)",
    ),
    ("notebooks/05_torchscript", "[a](../GLOSSARY.md)", "[a](../GLOSSARY.md)"),
    ("index", "*How sure?*", "[*How sure?*](<notebooks/06_measuring_honestly.ipynb#How-sure?>)"),
    ("notebooks/06_measuring_honestly", "*How sure?*", "[*How sure?*](<#How-sure?>)"),
    ("index", "*Does it help?*", "*Does it help?*"),  # several have it
    (
        "index",
        "12, *Does it help?*",
        "12, [*Does it help?*](<notebooks/12_write_your_own_hybridizer.ipynb#Does-it-help?>)",
    ),
    (
        "index",
        "02, *Step 4*",
        "02, [*Step 4*](<notebooks/02_symbolic_programs.ipynb#Step-4:-drop-what-is-not-used>)",
    ),
    ("index", "**How sure?** and *nothing*", "**How sure?** and *nothing*"),
]


@pytest.mark.parametrize(("page", "text", "wanted"), SECTIONS)
def test_links_lead_to_pages_sections_or_the_repository(staged, page, text, wanted):
    wanted = wanted.format(repository=manifest.repository())
    assert site.with_links(text, page, "en") == wanted


def test_the_answer_is_the_notebooks_own(staged):
    cells = json.loads((ROOT / "notebooks/17_side_by_side.ipynb").read_text("utf-8"))["cells"]
    words = next("".join(cell["source"]) for cell in cells if cell["id"] == "answer-01")
    answer = text_of(staged, "answer")
    assert answer.startswith("# The answer\n")
    assert words.replace("](", "](notebooks/")[1:] in answer
    assert "[Side by side](notebooks/17_side_by_side.ipynb#The-answer)" in answer


def test_the_results_are_all_there_the_newest_first(staged):
    page = text_of(staged, "results")
    files = sorted(results.RESULTS.glob("*.json"))
    stored = [json.loads(path.read_text("utf-8")) for path in files]
    heads = [line for line in page.splitlines() if line.startswith("## ")]
    dates = sorted((one["machine"]["date"][:10] for one in stored), reverse=True)
    assert [next(d for d in dates if d in head) for head in heads] == dates
    for path, one in zip(files, stored, strict=True):
        assert f"/blob/main/results/{path.name})" in page
        for way in one["sizes"]["1"]:
            assert f"| {way} | " in page
    jax = json.loads((results.RESULTS / "epyc_avx512_4_cores_frameworks.json").read_text("utf-8"))
    jax = jax["sizes"]["1"]["JAX, jit"]
    row = site_pages.row(site.words()["en"], "JAX, jit", jax)
    assert row[2:5] == ["12.9", "12.2 to 13.8", "faster"]  # as README has them
    assert f"| {' | '.join(row)} |" in page


def test_the_package_s_page_has_every_name_with_its_documentation_and_pictures(staged):
    page = text_of(staged, "API")
    names = [name for names in api.public_names().values() for name in names]
    assert [line[5:-1] for line in page.splitlines() if line.startswith("### `")] == [
        name for pairs in api.by_folder().values() for _, name in pairs
    ]
    for name in [name for name in names if name.startswith("plot_")]:
        assert f"[![{name}](pictures/{name}.png)](#{name})" in page
        assert (staged / f"pictures/{name}.png").read_bytes().startswith(b"\x89PNG")
    assert "`to_dict() -> dict[str, Any]`\n:   All that was measured" in page
    assert "\ncompare(candidates: dict[str,\n" in page
    assert "Notebooks: [12](notebooks/12_write_your_own_hybridizer.ipynb)" in page


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ("def f(a: int, *b) -> str: ...", "f(a: int, *b) -> str"),
        ("class C:\n x: int = 3", "C(x: int = 3)"),
        ("class C:\n def __init__(self, a): ...", "C(a)"),
        ("class C(ValueError): ...", "C"),
        ("A = 3", "A"),
    ],
)
def test_a_name_is_written_as_it_is_used(source, written):
    assert api.signature(api.ast.parse(source).body[0]) == written


def test_another_language_is_a_matter_of_data(staged, monkeypatch):
    words = {"en": site.words()["en"], "xx": {**site.words()["en"], "name": "X", "after": {}}}
    words["xx"] |= {"before": {"COMPARE": ["Mine", "About mine."]}, "first": "Start"}
    monkeypatch.setattr(site, "words", lambda: words)
    name = "01_imperative_programs"
    texts = {name: {"01-00": ("", "")}, "README": {}, "COMPARE": {}}  # begun, all of it missing
    monkeypatch.setattr(translate, "translated", lambda name, language: texts.get(name, {}))
    monkeypatch.setitem(manifest.course()["contents"], "xx", manifest.course()["contents"]["en"])
    for part in manifest.course()["parts"]:
        for text in [part, *part["notebooks"]]:
            for kind in {"title", "about"} & text.keys():
                monkeypatch.setitem(text[kind], "xx", text[kind]["en"])
    site.stage("xx")
    index = (site.sources("xx") / "index.md").read_text("utf-8")
    assert index.startswith("# d2lhybrid\n")
    assert ":caption: Start\n\nMine <COMPARE>\n" in index
    assert f"<notebooks/{name}>" in index
    assert "<notebooks/02_symbolic_programs>" not in index
    page = f"notebooks/{name}"
    assert site.with_links("[a](../COMPARE.md)", page, "xx") == "[a](../COMPARE.md)"
    english = '<a href="../../GLOSSARY.html#b" hreflang="en">a</a>'
    assert site.with_links("[a](../GLOSSARY.md#b)", page, "xx") == english
    assert site.about("COMPARE", "xx") == "About mine."


ZH_LINKS = [  # page, text, what becomes of it on a Chinese page
    ("index", "[a](COMPARE.zh.md)", "[a](COMPARE.md)"),
    (
        "index",
        "06的“有多大把握？”和“一个词”",
        "06的[“有多大把握？”](<notebooks/06_measuring_honestly.ipynb#有多大把握？>)和“一个词”",
    ),
    ("notebooks/06_measuring_honestly", "见*有多大把握？*", "见[*有多大把握？*](<#有多大把握？>)"),
    (
        "notebooks/05_torchscript",  # an English anchor leads to the same section in Chinese
        "[a](06_measuring_honestly.ipynb#How-sure?)",
        "[a](../notebooks/06_measuring_honestly.ipynb#有多大把握？)",
    ),
    (
        "notebooks/05_torchscript",
        "[a](06_measuring_honestly.ipynb#有多大把握？)",
        "[a](../notebooks/06_measuring_honestly.ipynb#有多大把握？)",
    ),
    (
        "notebooks/05_torchscript",  # and an unknown one to the page
        "[a](06_measuring_honestly.ipynb#no)",
        "[a](../notebooks/06_measuring_honestly.ipynb)",
    ),
]


@pytest.mark.parametrize(("page", "text", "wanted"), ZH_LINKS)
def test_links_of_a_chinese_page_lead_to_chinese_sections(staged, page, text, wanted):
    assert site.with_links(text, page, "zh") == wanted


def test_the_chinese_pages_are_made_of_the_translations(staged):
    assert staged.is_dir()
    folder = site.sources("zh")
    index = (folder / "index.md").read_text("utf-8")
    assert "| 01 | [命令式程序](notebooks/01_imperative_programs.ipynb)：" in index
    for text in (index, text_of(staged, "index")):
        assert "](README" not in text  # the pages have a switch
    assert "<!-- top" not in index
    for path in manifest.notebooks():
        there = translate.in_language(path, "zh")
        assert json.loads((folder / "notebooks" / path.name).read_text("utf-8")) == there
    results = (folder / "results.md").read_text("utf-8")
    assert "| 更快 |" in results
    assert "| faster |" not in results
    answer = (folder / "answer.md").read_text("utf-8")
    assert answer.startswith("# 答案\n")
    assert "[并排比较](notebooks/17_side_by_side.ipynb#答案)" in answer


def test_a_chinese_page_shows_what_is_stale_with_a_notice(staged, monkeypatch):
    known = translate.translated

    def changed(name, language):
        texts = known(name, language)
        i = {"COMPARE": "In-a-notebook", "02_symbolic_programs": "02-17"}.get(name)
        return {**texts, i: ("000000000000", texts[i][1])} if i else texts

    monkeypatch.setattr(translate, "translated", changed)
    monkeypatch.setattr(site, "BUILD", staged.parent / "stale")
    site.stage("zh")
    notice = f"> **{manifest.course()['lines']['zh']['stale']}**"
    compare = (site.sources("zh") / "COMPARE.md").read_text("utf-8")
    assert f"## In a notebook\n\n{notice}\n\nWhere the model is at hand" in compare
    cells = (site.sources("zh") / "notebooks/02_symbolic_programs.ipynb").read_text("utf-8")
    ids = [cell["id"] for cell in json.loads(cells)["cells"] if notice in cell["source"]]
    assert ids == ["02-17"]


def test_staging_needs_nothing_but_python(tmp_path):
    code = (
        "from pathlib import Path; from tools import site; "
        f"site.BUILD = Path({str(tmp_path)!r}); site.stage('en')"
    )
    subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, check=True)
    assert (tmp_path / "sources/en/index.md").is_file()


def test_the_environment_of_the_pages_is_made_once_and_anew_for_new_requirements(copy, monkeypatch):
    (copy / "requirements-site.txt").write_text("sphinx\n")
    course, commands = load_course(copy), []

    def call(command, cwd):
        commands.append([*map(str, command[1:])])
        if "venv" in command:
            python = command[-1] / course.environment.VENV_PYTHON.relative_to(
                course.environment.VENV
            )
            python.parent.mkdir(parents=True)
            python.write_text("")
        return 0

    monkeypatch.setattr(course.environment.subprocess, "call", call)
    python = course.environment.for_pages()
    folder = copy / ".venv-site"
    assert folder in python.parents
    assert [command[1] for command in commands] == ["venv", "pip"]
    assert commands[1][-2:] == ["-r", "requirements-site.txt"]
    course.environment.for_pages()
    assert len(commands) == 2
    (copy / "requirements-site.txt").write_text("sphinx==9\n")
    course.environment.for_pages()
    assert len(commands) == 4
    (folder / "made-from").unlink()
    with pytest.raises(SystemExit, match=r"\.venv-site is not the course's"):
        course.environment.for_pages()
    assert folder.exists()


def test_the_command_stages_builds_and_shows(copy, monkeypatch, capsys):
    for name in ("pages", "img", "results"):
        (copy / name).symlink_to(ROOT / name)
    (copy / "d2lhybrid").symlink_to(ROOT / "d2lhybrid")
    course, commands, shown = load_course(copy), [], []
    monkeypatch.setattr(course.environment, "for_pages", lambda: "python")

    def build(command, cwd):
        commands.append([*map(str, command)])
        command[-1].mkdir(parents=True)
        (command[-1] / "a.css.map").write_text("")
        return 0

    monkeypatch.setattr(course.environment, "run", build)
    monkeypatch.setattr(course.site.site_run.shutil, "which", lambda command: None)
    monkeypatch.setattr(course.site.site_run, "MODULES", copy / "node_modules")
    monkeypatch.setattr(course.site.webbrowser, "open", shown.append)
    course.main("site", "--open")
    html = copy / "build" / "site" / "html"
    for command, language, place in zip(commands, ("en", "zh"), (html, html / "zh"), strict=True):
        assert command[:4] == ["python", "-m", "sphinx", "-W"]
        assert command[-2:] == [str(copy / f"build/site/sources/{language}"), str(place)]
    assert shown == [(html / "index.html").as_uri()]
    said = capsys.readouterr().out
    assert shown[0] in said
    assert "The pages cannot run their code: that needs npm" in said  # and there is no html/run/
    assert {path.name for path in html.iterdir()} == {
        *("sitemap.xml", "robots.txt", ".nojekyll", "404.html", "zh"),
    }
    monkeypatch.setattr(course.environment, "run", lambda command, cwd: 2)
    assert course.main("site") == 1
    assert len(shown) == 1


def test_what_pages_run_is_the_package_and_its_libraries_without_their_tests(tmp_path):
    site_run.pack(tmp_path / "packages.zip", Path(networkx.__file__).parents[1])
    names = zipfile.ZipFile(tmp_path / "packages.zip").namelist()
    assert {"executor.py", "d2lhybrid/hybrid/prelude.c", "networkx/__init__.py"} <= {*names}
    assert "lazy_loader/__init__.py" in names
    assert not [name for name in names if "/tests/" in name or name.endswith(".pyc")]
    first = (tmp_path / "packages.zip").read_bytes()
    site_run.pack(tmp_path / "packages.zip", Path(networkx.__file__).parents[1])
    assert (tmp_path / "packages.zip").read_bytes() == first


def test_what_runs_in_a_browser_is_said_once():
    pages = [f"notebooks/{path.stem}" for path in manifest.notebooks()]
    assert [page[10:12] for page in pages if site_run.runs(page)] == ["01", "02", "03", "04"]
    assert not site_run.runs("index")
    for path in manifest.notebooks():  # each tag has a name that a page can say
        cells = json.loads(path.read_text("utf-8"))["cells"]
        tags = {tag for cell in cells for tag in cell["metadata"].get("tags", [])}
        needs = {tag.removeprefix("needs-") for tag in tags if tag.startswith("needs-")}
        assert all(needs <= said["run"]["needs"].keys() for said in site.words().values())
        assert not needs or site_run.runs(f"notebooks/{path.stem}")


@pytest.mark.parametrize("name", site_run.LIBRARIES)
def test_the_pin_of_a_library_is_the_same_everywhere(name):
    pins = [(ROOT / name).read_text() for name in ("requirements.txt", "requirements-site.txt")]
    assert len({re.search(rf"(?m)^{name}==\S+", text)[0] for text in pins}) == 1
