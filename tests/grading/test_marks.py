"""`course.py marks`: every fault of a class costs one cell, and nothing of it stays."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import made_class
import pytest
from notebook_rules import ROOT
from process_helpers import soon, started_with_ctrl_c

import grading
from grading import sandbox, submissions
from tools import environment, manifest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="answers are judged on Linux or macOS")
NUMBERS = ("20", "23")  # the answers of these take the least time


def bubblewrap():
    """The command of the sandbox; where there is none, the test is skipped."""
    with suppress(SystemExit):
        if command := sandbox.find_sandbox(trust=False):
            return command
    assert "D2LHYBRID_NO_SKIPS" not in os.environ
    pytest.skip("bubblewrap does not work here")


@pytest.fixture(params=["in a sandbox", "trusted"])
def command(request):
    return bubblewrap() if request.param == "in a sandbox" else []


def mark(folder, to=None, **options):
    """What the command does, in this environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(environment, "set_up", lambda: None)
        patch.setattr(environment, "VENV", Path(sys.prefix))
        return grading.marks(folder, to, **options)


def running(word):
    """The processes with a word on their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended
            found += [path] if word in path.read_text(errors="replace").split("\0") else []
    return found


# A made class ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def marked(tmp_path_factory):
    """The verdicts that a class must get, and the folder of those that it got."""
    bubblewrap()
    place = tmp_path_factory.mktemp("marked")
    folder, out = place / "class", place / "out"
    folder.mkdir()
    (out / "feedback").mkdir(parents=True)
    (out / "feedback" / "Somebody.html").touch()  # of an earlier run
    wanted = made_class.make(folder, 10, NUMBERS)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert mark(folder, out, feedback=True, limit=6) is None
    assert before == {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    return wanted, out


def test_made_class_gets_the_expected_verdicts(marked):
    wanted, out = marked
    assert {*made_class.VERDICTS} <= {*wanted.values()}
    assert made_class.differences(wanted, made_class.table_in(out)) == []
    assert not running("4321")  # the daemon


def test_pages_are_escaped_and_in_the_language_of_the_notebook(marked):
    _, out = marked
    with open(out / "marks.csv", encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    assert {row[0] for row in rows} >= {"'=cmd", "'@SUM(1)", "'-Ann", "李雷"}
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@"))]
    assert "20_automatic_parallelism.ipynb does not" in rows[1][-1]
    pages = [out / "marks.html", *(out / "feedback").iterdir()]
    assert len(pages) == len(rows)  # one for each student, and that of all
    for page in pages:
        text = page.read_text("utf-8")
        tags = {*re.findall(r"<(\w+)", re.sub(r"(?s)<pre>.*?</pre>", "", text))}
        tags -= {"html", "head", "body", "meta", "title", "style", "table", "tr", "th", "td", "a"}
        assert tags <= {"h1", "h2", "h3", "p", "pre", "strong", "details", "summary"}
        assert len(text) < 2**18  # what is printed is cut
        if page.parent.name == "feedback":  # in the language of the notebook
            assert ("练习" in text) == ('lang="zh"' in text)
    assert {re.search('lang="(..)"', page.read_text("utf-8"))[1] for page in pages} == {"en", "zh"}


# Submissions ----------------------------------------------------------------------------------


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
def test_student_is_read_from_the_path(path, student):
    assert submissions.student_of(tuple(path.split("/")), 0) == student


def test_folders_that_all_share_name_nobody(tmp_path):
    for name in ("Ann", "Bo"):
        made_class.put(tmp_path, "", f"week/{name}/05_torchscript.ipynb", b"", 2020)
    for folder, names in {".": ["Ann", "Bo"], "week/Bo": ["05_torchscript.ipynb"]}.items():
        works = submissions.works_in(submissions.files_in(tmp_path / folder))
        assert [work.student[0] for work in works] == names


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("path", manifest.notebooks(), ids=lambda path: path.name[:2])
def test_handout_is_recognized(path, language):
    new = json.dumps(made_class.handed_out(path, language)).encode()
    work = submissions.read(submissions.Work("hw", 0, ("A", "")), new)
    assert (work.lesson.name, work.language, work.others) == (path.stem, language, [])
    for number, one in work.lesson.exercises.items():
        assert one.to_solve()["answers"]
        assert one.solution
        assert work.cells.get(number, []) == one.own[:-1]


# One answer -----------------------------------------------------------------------------------


def judged(command, before, *answers):
    """The results of answers to an exercise in which x must be 1."""
    before = ["from d2lhybrid import check", *before]
    exercise = submissions.Exercise(before, ["x = ...", "check(x, 1)"], ["x = 1\ncheck(x, 1)"])
    lesson = SimpleNamespace(name="lesson", exercises={1: exercise})
    works = [
        (i, SimpleNamespace(damage="", cells={1: [text]}, others=[text]))
        for i, text in enumerate(answers)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sandbox, "PRELOADED", "d2lhybrid")  # quickly
        judge = sandbox.Judge(command, 2**31)
    return [result for _, result in sandbox.judge_all(judge, lesson, works, limit=4)]


HARMLESS = {
    "import os\nwhile True: os.fork()": "error",
    "import os\nif os.fork() == 0: x = 2\nelse: x = 1": "right",
    "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(9)\nx = 1": "right",
    "x = open('big', 'wb').write(bytes(2**27)) // 2**27": "error",
    "import os\nx = 'SECRET' in os.environ or os.path.exists('here')\nopen('here', 'w')\nx += 1": (
        "right"
    ),
    "import os\nx = len(os.listdir())": "not right",  # what the answer before wrote is gone
    "import os\nos.closerange(0, 99)\nx = 1": "error",
    "%time x = 1": "right",
    "course.append(1)\nx = len(course)": "right",
    "course.append(1)\nx = course.count(1)": "right",  # not what the answer before did to it
}


def test_answer_harms_nobody_else(command, monkeypatch, tmp_path):
    monkeypatch.setenv("SECRET", "of the instructor")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = ["course = []"]
    bomb, *results = judged(command, before, *HARMLESS)
    assert bomb["verdict"] in ("error", "time")  # many processes, or a machine that is busy
    assert [one["verdict"] for one in results] == [*HARMLESS.values()][1:]
    assert list(tmp_path.iterdir()) == []


def test_threads_of_others_are_not_those_of_an_answer():
    others = "import os, threading, time\nif os.fork() == 0:\n    os.setsid()\n"
    others += "    for _ in range(200): threading.Thread(target=time.sleep, args=[1]).start()\n"
    (result,) = judged([], [], f"{others}time.sleep(1)\nx = 1")
    assert result["verdict"] == "right"


def test_answer_in_a_sandbox_reads_no_other_and_leaves_nothing(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("of another student")
    answers = [
        f"open({str(secret)!r}).read()\nx = 1",
        f"import os\nx = 1 + os.path.exists({str(ROOT / 'TEACHING.md')!r})",
        "open('/tmp/left', 'w').close()\nx = 1",
        "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nx = 1",
        "x = 1\nimport subprocess\nsubprocess.Popen(['sleep', '4322'], start_new_session=True)",
    ]
    results = judged(bubblewrap(), [], *answers)
    assert [one["verdict"] for one in results] == ["error", "right", "right", "right", "right"]
    assert not running("4322")
    assert not Path("/tmp/left").exists()


LIMIT = """import ctypes
file_size, process = 1, 1
limit = (ctypes.c_ulong * 2)(0, 0)
assert ctypes.CDLL(None).prlimit(process, file_size, limit, None) == 0
x = 1"""
LATER = {
    # The judge's files are those with which it is asked, and with which it answers.
    "import os\nos.readlink('/proc/1/fd/0')\nx = 1": "error",
    "open('/proc/1/mem', 'rb')\nx = 1": "error",
    "open('/dev/shm/left', 'w').close()\nx = 1": "right",
    "import os\nx = 1 + os.path.exists('/dev/shm/left')": "right",
    "open('/tmp/left', 'w').close()\nx = 1": "right",
    "import os\nx = 1 + os.path.exists('/tmp/left')": "right",
    LIMIT: "right",
    "import os, signal\nos.kill(1, signal.SIGALRM)\nx = 1": "error",
    f"x = 1  # {'long ' * 10**6}": "right",
    "import threading, time\nfrom threading import Thread\nthreading.stack_size(2**15)\n"
    "for i in range(2000):\n"
    "    Thread(target=time.sleep, args=[9], daemon=True).start()\nx = 1": "error",
    "x = 1": "right",
}


def test_answer_in_a_sandbox_changes_nothing_for_later_ones():
    results = judged(bubblewrap(), [], *LATER)
    assert [one["verdict"] for one in results] == [*LATER.values()]
    assert all("PermissionError" in one["said"] for one in results[:2])


def test_zip_that_unpacks_to_too_much_costs_its_student_alone():
    def packed(files):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        return file.getvalue()

    inner = packed(dict.fromkeys("abc", bytes(submissions.LARGEST // 2)))
    files = packed({"Ann.zip": packed({"1.zip": inner, "2.zip": inner}), "Bo/x": b"1"})
    found = {
        "/".join(parts): len(data) for parts, _, data in submissions.unpacked(("z.zip",), 0, files)
    }
    assert found.pop("z/Bo/x") == 1
    assert [size for size in found.values() if size] == [submissions.LARGEST // 2]


LEFT = [
    "import threading\nevent = threading.Event()\nthreading.Thread(target=event.wait).start()",
    "import subprocess\nprocess = subprocess.Popen(['sleep', '9'])",
    "open('mine', 'w').write('1')",
    "raise ValueError",
]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the course's cells never run once")
@pytest.mark.parametrize("left", LEFT)
def test_cells_that_a_fork_cannot_copy_run_in_each_fork(left):
    """What the answer needs of them does: here, what makes `course`, but not what is left."""
    before = ["course = [1]", left, "course.append(2)"]
    results = judged([], before, "x = course.pop() - course.pop()", "x = len(course)")
    assert [one["verdict"] for one in results] == ["right", "not right"]


def test_nobody_is_judged_where_the_solution_fails():
    (result,) = judged([], ["x = 1", "x = absent"], "x = 1")
    assert result["verdict"] == "not judged"
    assert "absent" in result["said"]


# The command ----------------------------------------------------------------------------------

COMMAND = """
import runpy, sys
from pathlib import Path
from tools import environment
environment.set_up, environment.VENV = lambda: None, Path(sys.prefix)
sys.argv[1:1] = ["marks", "--limit", "99", "--to"]
runpy.run_path("course.py", run_name="__main__")
"""


@pytest.mark.parametrize("trust", [False, True])
def test_killed_command_leaves_no_files(trust, tmp_path):
    trust or bubblewrap()
    command = (
        "from grading.sandbox import *\njudge = Judge(find_sandbox({}), 2**31)\njudge.start()\n"
    )
    command = command.format(trust) + "print(judge.process.pid, flush=True)\ninput()"
    here = {"cwd": ROOT, "env": os.environ | {"TMPDIR": str(tmp_path)}, "text": True}
    pipes = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", command], **here, **pipes) as process:
        pid = process.stdout.readline().strip()
        assert len([*tmp_path.iterdir()]) == trust
        process.kill()
    assert soon(lambda: not Path("/proc", pid).exists(), seconds=60)
    assert soon(lambda: not [*tmp_path.iterdir()], seconds=60)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_command_leaves_no_process_and_no_table(how, tmp_path):
    bubblewrap()
    path = made_class.NOTEBOOKS_BY_NUMBER["23"]
    new = made_class.handed_out(path, "en")
    index = [cell["id"] for cell in new["cells"]].index(made_class.sections(path)[1][-1])
    seconds = f"{10**6 + os.getpid()}"  # which no other test run sleeps
    loop = made_class.code_cell(f"import subprocess\nsubprocess.run(['sleep', '{seconds}'])")
    new["cells"].insert(index, loop)
    for student in "ab":
        made_class.put(tmp_path, "", f"in/{student}/{path.name}", json.dumps(new).encode(), 2020)
    command = [sys.executable, "-c", COMMAND, tmp_path / "out", tmp_path / "in"]
    with started_with_ctrl_c(command, cwd=ROOT, start_new_session=True) as process:
        assert soon(lambda: running(seconds), seconds=200)
        os.killpg(process.pid, how) if how == signal.SIGINT else process.terminate()
        _, errors = process.communicate(timeout=20)
    assert process.returncode
    assert "Traceback" not in errors
    assert soon(lambda: not running(seconds))
    assert not (tmp_path / "out").exists()


def test_no_table_where_no_notebook_was_handed_in(tmp_path):
    (tmp_path / "essay.txt").write_text("x")
    with pytest.raises(SystemExit, match="is no notebook"):
        mark(tmp_path, trust=True)
    assert [path.name for path in tmp_path.iterdir()] == ["essay.txt"]


def test_without_a_sandbox_it_runs_only_if_trusted(tmp_path, monkeypatch):
    """In a container, where there is no other, it takes the class from standard input."""
    monkeypatch.setattr(sandbox.shutil, "which", lambda name: None)
    monkeypatch.setattr(sandbox.os.path, "exists", lambda path: False)
    monkeypatch.delenv("container", raising=False)
    with pytest.raises(SystemExit, match="--trust"):
        sandbox.find_sandbox(trust=False)
    assert sandbox.find_sandbox(trust=True) == []
    monkeypatch.setenv("container", "podman")
    assert sandbox.find_sandbox(trust=False) == []
    with pytest.raises(SystemExit, match="on stdin"):
        mark(tmp_path, tmp_path.parent / "marks")
    empty = io.BytesIO()
    with zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("essay.txt", "x")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(empty.getvalue())))
    with pytest.raises(SystemExit, match="is no notebook"):
        mark("-", tmp_path)


@pytest.mark.parametrize(
    ("name", "encoding"),
    [("Ann", "ascii"), ("张三", "utf-8"), ("张三", "gbk"), ("王喆", "gbk"), ("Müller", "cp437")],
)
def test_zip_whose_files_have_no_date_and_no_encoding_is_read(name, encoding):
    file, raw = io.BytesIO(), f"{name}_hw.ipynb".encode(encoding)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo("x" * len(raw)), "{}")
    made = file.getvalue().replace(b"\0\0\x21\0", b"\0\0\0\0").replace(b"x" * len(raw), raw)
    (work,) = submissions.works_in([(("class.zip",), 0, made)])
    assert work.file == f"class/{name}_hw.ipynb"
