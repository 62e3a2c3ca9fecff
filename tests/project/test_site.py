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
from tools import (
    manifest,
    notebook,
    site,
    site_guesses,
    site_pages,
    site_results,
    site_routes,
    site_run,
    translate,
)

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
        assert json.loads(there) == site.with_comments(translate.in_language(path, "zh"), "zh")


def test_first_page_is_readme_with_links_from_its_routes_and_no_badge(staged):
    index, readme = text_of(staged, "index"), (ROOT / "README.md").read_text("utf-8")
    assert "colab-badge" not in index
    assert "[Open notebook 00 in Colab](https://colab.research.google.com/github/" in index
    assert "| an evening | [01](notebooks/01_imperative_programs.ipynb); [02](notebooks/" in index
    figures = re.findall(r"(?m)^\| .+\d to [\d.]+\) \|$", readme)
    assert len(figures) == sum(line in index for line in figures) == 7  # 12.9 is no notebook
    assert "](README" not in index  # the pages have a switch between languages


def test_routes_are_those_of_readme_in_every_language():
    english, chinese = (site_routes.routes(one, words) for one, words in site.words().items())
    assert [route["name"] for route in english] == [
        "An evening",
        "A model and an hour",
        "A weekend, to write a compiler",
    ]
    legs = [(leg["page"][10:12], leg["from"], leg["to"]) for leg in english[0]["legs"]]
    assert legs == [
        ("01", "", ""),
        ("02", "", "Step-4:-drop-unused-code"),
        ("05", "", ""),
        ("06", "", "When-does-it-pay-off?-The-break-even-point"),
        ("11", "", "The-cost,-and-the-cache"),
        ("11", "Summary", "Summary"),
    ]
    assert english[1]["legs"][0]["page"] == "COMPARE"
    for ours, theirs in zip(english, chinese, strict=True):
        pages = [[leg["page"] for leg in route["legs"]] for route in (ours, theirs)]
        assert pages[0] == pages[1]
    assert chinese[0]["legs"][-1]["to"] == "小结"


def test_first_screen_has_readmes_figures_the_map_and_three_doors(staged):
    index, readme = text_of(staged, "index"), (ROOT / "README.md").read_text("utf-8")
    chart = index[index.index("<tbody>") : index.index("</tbody>")]
    shown = [times for line in chart.splitlines() if (times := re.findall(r"[\d.]+(?= µs)", line))]
    table = [line for line in readme.splitlines() if line.startswith("|") and " µs" in line]
    table = [re.findall(r"[\d.]+(?= µs)", line.replace("**6.8 µs", "6.83 µs")) for line in table]
    assert sorted(shown) == sorted(table)
    assert [float(one[-1]) for one in shown] == sorted(float(one[-1]) for one in shown)
    doors = "notebooks/00_start_here.ipynb", "COMPARE.md", "TEACHING.md"
    places = [index.index(f"**]({door})") for door in doors]
    assert places == sorted(places)
    assert "AMD EPYC (AVX-512), 4 cores, November 23, 2026" in index[: places[0]]
    assert places[2] < index.index("course_map") < index.index("You call `net(x)`")
    assert "pages](index.md)" not in index  # a link to itself


def test_first_pages_say_what_is_known_of_a_gpu(staged):
    gpu = json.loads((RESULTS / "gpu" / "h100_first.json").read_text("utf-8"))["results"]
    ways = gpu["the course's network, float32, size 1"]["compared"]
    times = [f"{ways[way]['median'] * 1e6:.3g} µs" for way in ("torch.compile", "eager")]
    for page in ("index", "answer", "results"):
        text = text_of(staged, page)
        assert "NVIDIA H100" in text
        assert "](#results-gpu)" in text
        assert all(time in text for time in times)
        assert "results-gpu" in text_of(staged.parent / "zh", page)
    rows = re.findall(r'<tr data-machine="NVIDIA H100.*</tr>', text)
    assert len(rows) == len(gpu) * 2
    row = next(row for row in rows if ">torch.compile, float32, 1 " in row)
    for figure in (*times, f"<td>{ways['torch.compile']['speedup']:.2f} "):
        assert figure in row


def test_answer_has_its_figures_from_results_and_leads_to_no_place_above(staged):
    answer = text_of(staged, "answer")
    lines = (RESULTS / site_results.LIMITS).read_text("utf-8").splitlines()
    for name in site.words()["en"]["answer"]["programs"]:
        (line,) = [line for line in lines if line.startswith(f"{name}  ")]
        time, unit = re.findall(r"([\d.]+) ([µm]s)", line)[1]
        speed, low, high = re.findall(r"([\d.]+) \(([\d.]+) to ([\d.]+)\)", line)[0]
        assert f"{time} {unit}</td>" in answer
        assert re.search(rf"<td>{speed} . <small>{low} to {high}</small>", answer)
    cpu = answer[: answer.index("**On a GPU,**")]
    figures = re.findall(r"([\d.]+) ([µm]s) instead of ([\d.]+) ([µm]s)", cpu)
    scale = {"µs": 1, "ms": 1000}
    ratios = [float(a) * scale[x] / float(b) / scale[y] for a, x, b, y in figures]
    assert [ratio < 0.9 for ratio in ratios] == [True, False, True, False]
    assert not re.search(r"\b(above|below)\b|is there[;.]", answer)
    assert "答案" in text_of(staged.parent / "zh", "answer")


def test_results_are_all_there_the_newest_machine_first(staged):
    page = text_of(staged, "results")
    stored = {path.stem: json.loads(path.read_text("utf-8")) for path in RESULTS.glob("*.json")}
    heads = re.findall("(?m)^## (.*)$", page)
    assert heads == [
        "Intel Xeon (AMX), 2 cores, November 25, 2026",
        "AMD EPYC (AVX2), 2 cores, November 24, 2026",
        "AMD EPYC (AVX-512), 4 cores, November 23, 2026",
        "NVIDIA H100, November 28, 2026",
    ]
    for name in stored:
        assert f"/blob/main/results/{name}.json)" in page
        assert f"\n({name})=\n### " in page  # where README's links lead
    cpus = page[: page.index("(results-gpu)=")]
    assert cpus.count("<tr data-") == sum(
        len(ways) for one in stored.values() for ways in one["sizes"].values()
    )
    jax = page[page.index("(epyc_avx512_4_cores_frameworks)=") :]
    jax = next(line for line in jax.splitlines() if "JAX, jit" in line)  # as in README
    for figure in ("25.6 µs", "323 µs: JAX, eager", "<td>12.9 ", "12.2 to 13.8, faster"):
        assert figure in jax
    assert "更快" in text_of(staged.parent / "zh", "results")


def test_limit_is_no_program_and_a_program_is_built_once(staged):
    for language, built, pays in (("en", "already built", "≈"), ("zh", "已构建", "约")):
        rows = re.findall("<tr data-.*", text_of(staged.parent / language, "results"))
        limits = [row for row in rows if "limit: " in row]
        assert len(limits) == 12
        assert all('class="dots limit"' in row and "cy" in row for row in limits)
        assert not any(re.search(f"faster|更快|{pays}|●", row) for row in limits)
        once = [row for row in rows if built in row]
        assert not any('data-rows="1"' in row or pays in row for row in once)
        last = [re.search("<th.*?>(.*?) <", row)[1] for row in once if 'data-rows="1024"' in row]
        names = ["hybridize", "the same C, in a C loop", "torch.compile"]
        assert sorted(last) == [*names, "torch.compile, tuned"]
        assert not any(">0.00 " in row for row in rows)


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
    assert said.endswith(f"The first page is {(html / 'index.html').as_uri()}\n")
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


def cell(text, step="fragment", outputs=None):
    kind = "markdown" if outputs is None else "code"
    more = {} if outputs is None else {"outputs": outputs}
    metadata = {"slideshow": {"slide_type": step}}
    return {"id": text, "cell_type": kind, "source": text, "metadata": metadata, **more}


ASK, TELL = cell("**Predict.** 1?"), cell("It is 1.")
TRY, OUT = cell("a", "-", []), cell("b", "-", [{}])
FOLDS = {
    "output, and the text below": ([ASK, TRY, OUT, TELL, OUT], " rrR "),
    "text that follows at once": ([ASK, TELL, OUT], " R "),
    "text in the step of the question belongs to it": ([ASK, cell("Two?", "-"), OUT, TELL], "  rR"),
    "text before any output belongs to the question": ([ASK, TRY, TELL, OUT, TELL], " r rR"),
    "a heading ends it": ([ASK, OUT, cell("## Next"), TELL], " r  "),
    "guesses in code give way to the field": (
        [ASK, cell("guess = predict(...)", "skip", [{}]), OUT, cell("guess.was(1)", "skip", [])],
        " grg",
    ),
    "and so does a text that tells how to use them": (
        [ASK, cell("Use `predict`.", "-"), cell("predict(...)", "skip", [{}]), OUT],
        " Hgr",
    ),
    "what comes before a guess is scored belongs to the result": (
        [ASK, OUT, TELL, OUT, cell("guess.was(1)", "skip", [])],
        " rRrg",
    ),
    "unless two texts stand between": (
        [ASK, OUT, TELL, OUT, TELL, TELL, cell("guess.was(1)", "skip", [])],
        " rR   g",
    ),
}


@pytest.mark.parametrize("case", FOLDS)
def test_result_of_a_question(case):
    cells, wanted = FOLDS[case]
    found = site_guesses.marked(cells)
    signs = {"result": "r", "guess": "g"}
    tags = ["".join(signs[one] for one in cell["metadata"].get("tags", [])) for cell in found]
    marks = {"{container} result": "R", "{container} how-to-guess": "H"}
    texts = ["".join(marks[one] for one in marks if one in cell["source"]) for cell in found]
    assert "".join(tag + text or " " for tag, text in zip(tags, texts, strict=True)) == wanted


def test_first_paragraph_answers_where_a_text_asks_the_next_question():
    _, _, both = site_guesses.marked([ASK, OUT, cell("One.\n\nNow two.\n\n**Predict.** 2?")])
    answer, mark = site_guesses.RESULT % "One.", '<div class="ask" id="predict-'
    assert both["source"].startswith(f"{answer}\n\nNow two.\n\n{mark}")


def test_comments_that_carry_an_argument_are_chinese_too():
    said, found = {there: here for here, there in translate.pairs("comments", "zh")}, set()
    for name in ("04", "06", "12", "18", "26"):
        (path,) = ROOT.glob(f"notebooks/{name}_*.ipynb")
        here = site.with_comments(translate.in_language(path, "zh"), "zh")["cells"]
        for one, own in zip(json.loads(path.read_bytes())["cells"], here, strict=True):
            comments = re.findall(r"(?m)(?:^|  )# (.+)$", notebook.source(one))
            for comment in comments if one["cell_type"] == "code" else ():
                if comment not in ("@save", "fmt: skip"):
                    found.add(comment)
                    assert f"# {comment}（{said[comment]}）" in own["source"]
    assert found == {*said}
