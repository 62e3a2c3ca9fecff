"""What each command of course.py starts, and how it ends."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest
from nbconvert.exporters import SlidesExporter
from notebook_rules import ROOT
from process_helpers import started_with_ctrl_c


def test_help_names_each_command_and_each_explains_itself(course, capsys):
    with pytest.raises(SystemExit, match="0"):
        course.main()
    commands = re.findall(r"^    (\w+) .*", capsys.readouterr().out, re.MULTILINE)
    assert {"read", "check", "handout"} <= set(commands)
    for command in commands:
        with pytest.raises(SystemExit, match="0"):
            course.main(command, "--help")
        assert f"course.py {command}" in capsys.readouterr().out


def test_check_is_pytest_with_its_arguments(course, capsys):
    course.status = 3
    assert course.main("check", "-k", "name") == 3
    assert capsys.readouterr().out == ""
    assert course.main("check") == 3
    assert re.search(r"\d+ to \d+ minutes", capsys.readouterr().out)
    assert [command[1:] for command in course.commands] == [
        ["-m", "pytest", "-k", "name"],
        ["-m", "pytest"],
    ]


def test_what_is_printed_is_utf_8_whatever_the_system_would_write_to_a_file(copy):
    (copy / "README.md").write_text("# One\n\nTwo.", "utf-8")
    (copy / "README.zh.md").write_text("<!-- top 000000000000 -->\n一\n", "utf-8")
    command = [sys.executable, "course.py", "translate", "zh", "README"]
    env = os.environ | {"PYTHONIOENCODING": "cp1252"}
    done = subprocess.run(command, cwd=copy, env=env, capture_output=True)
    assert "一" in done.stdout.decode()
    assert done.stderr == b""


@pytest.mark.parametrize("words", ["reed", "handout --pdf"])
def test_unknown_words_are_refused(course, words):
    with pytest.raises(SystemExit, match="2"):
        course.main(*words.split())


def test_check_says_where_a_notebook_has_to_be(course, tmp_path_factory):
    own = tmp_path_factory.mktemp("other") / "x.ipynb"
    with pytest.raises(SystemExit, match=r"copy .*x.ipynb to work/"):
        course.main("check", str(own))
    course.main("check", "work/x.ipynb")
    assert course.commands[0][-1] == "work/x.ipynb"


def test_a_home_that_cannot_be_written_to_is_replaced(course, monkeypatch):
    for name, replaced in ((str(course.files.ROOT), False), ("/dev/null/home", True)):
        monkeypatch.setenv("HOME", name)
        course.main("read")
        assert (os.environ["HOME"] != name) == replaced
        assert os.access(os.environ["HOME"], os.W_OK)


def test_slides_are_made_of_the_notebooks_named_or_of_all(course):
    path = course.files.NOTEBOOKS / "05_torchscript.ipynb"
    assert course.main("slides", "--language", "zh", str(path)) == 0
    course.main("slides")
    one, all_of_them = course.commands
    assert one[:4] == [sys.executable, "-m", "nbconvert", "--to=slides"]  # that of the pages
    assert "--HTMLExporter.language_code=zh" in one
    assert f"--output-dir={course.files.SLIDES / 'zh'}" in one
    assert one[-1].endswith(path.name)
    assert len([part for part in all_of_them if part.endswith(".ipynb")]) == 28
    options = re.findall(r"--SlidesExporter\.(\w+)=", " ".join(one))
    assert {*options} <= {*SlidesExporter.class_trait_names()}  # others are ignored
    with pytest.raises(FileNotFoundError, match=r"one\.ipynb"):
        course.main("slides", "one.ipynb")


def test_predictions_are_looked_for_where_readers_work(course):
    work = course.files.WORK
    course.main("predictions")
    (work / "zh").mkdir(parents=True)
    (work / "zh" / "predictions.json").touch()
    course.main("predictions")
    assert [one[1:3] for one in course.commands] == [["-m", "grading.pages"]] * 2
    assert [one[3:] for one in course.commands] == [[str(work)], [str(work / "zh")]]


def test_page_of_predictions(tmp_path):
    one = {"guess": "</div>", "truth": [1, 2], "hit": False, "interval": False, "notebook": "05"}
    for language, title in (("en", "How well do you know"), ("zh", "你有多了解")):
        folder = tmp_path / language
        folder.mkdir()
        (folder / "predictions.json").write_text(json.dumps({"05: <b>": one}))
        command = [sys.executable, "-m", "grading.pages", folder]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        assert str(folder / "predictions.html") in done.stdout
        page = (folder / "predictions.html").read_text("utf-8")
        assert f'<html lang="{language}">' in page
        assert page.count(title) == 2  # in its head, too
        assert "05: &lt;b&gt;" in page
        assert page.count("</div>") == page.count("<div") == 2


def test_older_python_is_refused_at_once(course, monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 10, 13))
    monkeypatch.setitem(sys.modules, "tools", None)  # Python 3.10 and earlier can't import it
    with pytest.raises(SystemExit, match=r"3\.11 or later, and this is 3\.10\."):
        course.main("read")


@pytest.mark.parametrize(("version", "warned"), [((3, 15, 2), 0), ((3, 16, 0), 1)])
def test_newer_python_is_warned_of_and_goes_on(course, monkeypatch, capsys, version, warned):
    monkeypatch.setattr(sys, "version_info", version)
    course.main("contents")
    said = capsys.readouterr().out
    assert said.count(f"this is {version[0]}.{version[1]}.") == said.count("\n") == warned


SLOW = """
import sys, time
try:
    print("ready", flush=True)
    for _ in range(600):  # one long sleep would miss, from Python 3.14 on, a signal just before it
        time.sleep(0.1)
except KeyboardInterrupt:
    time.sleep(0.5)
    print("summary")
    sys.exit(3)
"""


@pytest.mark.skipif(os.name == "nt", reason="sends a signal to a group of processes")
def test_after_ctrl_c_a_command_ends_in_its_own_time(copy):
    (copy / "pytest.py").write_text(SLOW)
    start = (
        "import course, sys; from tools import environment; "
        "environment.set_up = lambda: None; environment.VENV_PYTHON = sys.executable; "
        "sys.exit(course.main('check', 'tests'))"
    )
    (copy / "tests").mkdir()
    command = [sys.executable, "-c", start]
    with started_with_ctrl_c(command, cwd=copy, start_new_session=True) as process:
        assert "ready\n" in process.stdout
        os.killpg(process.pid, signal.SIGINT)
        said, errors = process.communicate(timeout=60)
    assert (said, errors, process.returncode) == ("summary\n", "", 3)
