"""`course.py marks`: every fault of a class costs one cell, and nothing of it stays."""

import ast
import csv
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import made_class
import pytest
from notebook_rules import ROOT
from process_helpers import soon, started_with_ctrl_c

from tools import environment, manifest, marks
from tools.marks import hand_ins

pytestmark = pytest.mark.skipif(os.name == "nt", reason="answers are judged on Linux or macOS")
NUMBERS = ("19", "22")  # the answers of these take the least time


def mark(patch, folder, to, **limits):
    """What the command does, in this environment."""
    patch.setattr(environment, "set_up", lambda: None)
    patch.setattr(environment, "VENV_PYTHON", sys.executable)
    return marks.marks(folder, to, feedback=True, **limits)


@pytest.fixture(scope="module")
def marked(tmp_path_factory):
    """A class, its marks, what was printed, and what there was in the temporary folder."""
    place = tmp_path_factory.mktemp("marked")
    folder, temporary = place / "class", place / "tmp"
    folder.mkdir()
    temporary.mkdir()
    wanted = made_class.make(folder, 10, NUMBERS)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(temporary))
        patch.setenv("SECRET", "of the instructor")
        status = mark(patch, folder, place / "out", limit=6)
    after = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert status == 0
    assert before == after
    assert list(temporary.iterdir()) == []
    assert {path.name for path in place.iterdir()} == {"class", "tmp", "out"}
    return wanted, place / "out"


def test_each_cell_of_the_table_is_what_it_must_be(marked):
    wanted, out = marked
    assert {*made_class.VERDICTS} <= {*wanted.values()}
    wrong = made_class.differences(wanted, made_class.table_in(out))
    assert not wrong, wrong


def test_nothing_that_an_answer_started_is_left(marked):
    assert soon(lambda: not running("4321"))


def running(word):
    """The processes with a word on their command line."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError):  # it has ended
            words = Path(f"/proc/{name}/cmdline").read_text(errors="replace").split("\0")
            found += [name] if word in words else []
    return found


def test_a_table_holds_no_formula_and_a_page_no_tag_of_a_student(marked):
    _, out = marked
    with open(out / "marks.csv", encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    assert {row[0] for row in rows} >= {"'=cmd", "'@SUM(1)", "'-Ann", "李雷"}
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@"))]
    pages = [out / "marks.html", *(out / "feedback").iterdir()]
    assert len(pages) == len(rows)  # one for each student, and that of all
    for page in pages:
        text = page.read_text("utf-8")
        assert "<b>Bo" not in text
        tags = {*re.findall(r"<(\w+)", re.sub(r"(?s)<pre>.*?</pre>", "", text))}
        tags -= {"html", "head", "body", "meta", "title", "style", "table", "tr", "th", "td", "a"}
        assert tags <= {"h1", "h2", "h3", "p", "pre", "strong", "details", "summary"}
        assert "prefers-color-scheme: dark" in text
        assert len(text) < 2**18  # what is printed is cut


def test_feedback_is_in_the_language_of_the_notebook(marked):
    _, out = marked
    texts = [page.read_text("utf-8") for page in (out / "feedback").iterdir()]
    assert {re.search('lang="(..)"', text)[1] for text in texts} == {"en", "zh"}
    for text in texts:
        assert ("练习" in text) == ('lang="zh"' in text)
    solution = hand_ins.lessons()["19_automatic_parallelism"].exercises[1].solution[0]
    assert sum(solution.splitlines()[0] in text for text in texts) >= 4


@pytest.mark.parametrize(
    ("path", "student"),
    [
        ("Ann Lee_12_assignsubmission_file_/05_torchscript.ipynb", ("Ann Lee", "12")),
        ("hw/Ann Lee_12_assignsubmission_file_05_torchscript.ipynb", ("Ann Lee", "12")),
        ("leeann_123_456_05_torchscript-1.ipynb", ("leeann", "123")),
        ("leeann_LATE_123_456_x.ipynb", ("leeann", "123")),
        ("leeann_123_456_hw/05_torchscript.ipynb", ("leeann", "123")),
        ("Ann/hw/05_torchscript.ipynb", ("Ann", "")),
        ("ann_05_torchscript.ipynb", ("ann", "")),
        ("05_torchscript-ann (1).ipynb", ("ann", "")),
        ("05_torchscript.ipynb", ("05_torchscript.ipynb", "")),
        ("a\nb\udcff/05_torchscript.ipynb", ("a?b?", "")),
    ],
)
def test_whose_a_file_is(path, student):
    assert hand_ins.student_of(tuple(path.split("/")), 0) == student


def test_folders_that_all_share_are_nobodys(tmp_path):
    for name in ("Ann", "Bo"):
        made_class.put_file(tmp_path / "week" / name / "05_torchscript.ipynb", b"", 2020)
    assert [work.student[0] for work in hand_ins.works_in(tmp_path)[0]] == ["Ann", "Bo"]
    assert [work.student[0] for work in hand_ins.works_in(tmp_path / "week" / "Bo")[0]] == [
        "05_torchscript.ipynb"
    ]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("path", manifest.notebooks(), ids=lambda path: path.name[:2])
def test_a_handout_is_known_with_ids_and_without(path, language):
    new = made_class.handed_out(path, language)
    for kept in (True, False):
        if not kept:
            for cell in new["cells"]:
                del cell["id"]
        work = hand_ins.read(
            hand_ins.Work("file", 0, ("A", "")), "hw.ipynb", json.dumps(new).encode()
        )
        assert (work.lesson.name, work.language, work.others) == (path.stem, language, [])
        for number, one in work.lesson.exercises.items():
            assert one.answers
            assert one.solution
            assert work.cells.get(number, []) == one.own[:-1]


BEHIND = """
import os, sys
from tools.marks import processes
if sys.argv[1] == "no namespaces":
    processes.ALONE = -1  # no kernel knows these
processes.PRELOADED = "d2lhybrid"
processes.preload(sys.argv[2])
job = {"before": [], "own": ["x = ..."], "answers": ["x"], "others": [], "solution": False}
job |= {"check": "check(x, 1)"}
answers = sys.argv[3:]
jobs = [job | {"cells": [text], "number": i} for i, text in enumerate(answers)]
found = processes.judged(jobs, sys.argv[2], 2, 4, 2**31)
found = sorted((one["number"], result["verdict"]) for one, result in found)
print([verdict for _, verdict in found])
"""
LEFT = f"/var/tmp/left by {os.getpid()}"
HARMLESS = [
    "x = 1\nimport subprocess\n" + "subprocess.Popen(['sleep', '4322'], start_new_session=True)\n",
    "import os\nwhile True: os.fork()",
    "import os\nif os.fork() == 0: x = 2\nelse: x = 1",
    "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(99)\nx = 1",
    "x = open('big', 'wb').write(bytes(2**27)) // 2**27",
    "import os\nx = 'SECRET' in os.environ or os.path.exists('here')\nopen('here', 'w')\nx = 1 + x",
    "import os\nos.closerange(0, 99)\nx = 1",
    "%time x = 1",
    f"open({LEFT!r}, 'w')\nx = 1",
]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems take less away")
@pytest.mark.parametrize("how", ["namespaces", "no namespaces"])
def test_an_answer_harms_nobody_else_where_there_are_no_namespaces_too(how, tmp_path):
    command = [sys.executable, "-c", BEHIND, how, tmp_path, *HARMLESS]
    environ = {"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, env=environ
    )
    assert done.stderr == ""
    found = ast.literal_eval(done.stdout)
    assert found.pop(1) in ("error", "time")  # forks until it may not, or until time is up
    assert found == ["right", "right", "right", "error", "right", "error", "right", "right"]
    left = {path.name for path in tmp_path.iterdir()}
    assert not [name for name in left if not name.startswith("fontlist")]  # matplotlib's
    assert soon(lambda: not running("4322"))
    if os.geteuid() == 0:  # else answers are no strangers
        assert not Path(LEFT).exists()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_everything(how, tmp_path):
    path = made_class.NOTEBOOKS_BY_NUMBER["22"]
    loop = "import subprocess\nsubprocess.run(['sleep', '4323'])"
    for student in "abc":
        new = made_class.handed_out(path, "en")
        index = [cell["id"] for cell in new["cells"]].index(made_class.sections(path)[1][-1])
        cell = {"cell_type": "code", "source": loop, "id": "x", "metadata": {}, "outputs": []}
        new["cells"].insert(index, cell)
        made_class.put_file(tmp_path / "in" / student / path.name, json.dumps(new).encode(), 2020)
    command = [sys.executable, "-m", "tools.marks", tmp_path / "in", tmp_path / "out", "99", "2048"]
    (tmp_path / "tmp").mkdir()
    environ = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    with started_with_ctrl_c(command, cwd=ROOT, env=environ, start_new_session=True) as process:
        assert soon(lambda: running("4323"), seconds=60)
        os.killpg(process.pid, how) if how == signal.SIGINT else process.terminate()
        _, errors = process.communicate(timeout=20)
    assert process.returncode
    assert "Traceback" not in errors
    assert soon(lambda: not running("4323"))
    assert list((tmp_path / "tmp").iterdir()) == []
    assert not (tmp_path / "out").exists()


def test_marks_writes_nothing_among_what_was_handed_in(tmp_path):
    with pytest.raises(SystemExit, match="with --to"):
        marks.marks(tmp_path, tmp_path / "marks")
    with pytest.raises(SystemExit, match="no folder"):
        marks.marks(tmp_path / "nothing")


def test_pages_are_of_this_run_and_each_file_that_does_not_count_is_named(tmp_path, monkeypatch):
    path = made_class.NOTEBOOKS_BY_NUMBER["22"]
    new = json.dumps(made_class.handed_out(path, "zh")).encode()
    for name in ("a.ipynb", "b.ipynb"):
        made_class.put_file(tmp_path / "in" / "Student 10" / name, new, 2020)
    made_class.put_file(tmp_path / "in" / "Student 9" / f"{path.name}", b"{", 2020)
    (tmp_path / "in" / "Student 9" / "link.ipynb").symlink_to(tmp_path)
    (tmp_path / "out" / "feedback").mkdir(parents=True)
    (tmp_path / "out" / "feedback" / "Somebody.html").touch()
    assert mark(monkeypatch, tmp_path / "in", tmp_path / "out") == 0
    with open(tmp_path / "out" / "marks.csv", encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["student"] for row in rows] == ["Student 9", "Student 10"]
    assert [row["22.1"] for row in rows] == ["error", "not yet"]
    assert rows[1]["notes"] == "Student 10/b.ipynb counts, and Student 10/a.ipynb does not"
    pages = {page.name: page.read_text("utf-8") for page in (tmp_path / "out/feedback").iterdir()}
    assert [*sorted(pages)] == ["Student_10.html", "Student_9.html"]
    assert "not yet（还没有作答）" in pages["Student_10.html"]
    assert "the file cannot be read as a notebook (JSONDecodeError)" in pages["Student_9.html"]
    text = (tmp_path / "out" / "marks.html").read_text("utf-8")
    assert "Student 9/link.ipynb" in text


def test_a_folder_without_a_notebook_is_refused(tmp_path):
    (tmp_path / "essay.txt").write_text("x")
    command = [sys.executable, "-m", "tools.marks", tmp_path, tmp_path / "out", "9", "2048"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert "essay.txt is no notebook" in done.stderr
    assert "no notebook of the course" in done.stderr
    with pytest.raises(SystemExit, match="above 0"):
        marks.marks(tmp_path, limit=-3)
