"""What each command of course.py starts, and how it ends."""

import os
import re
import signal
import sys

import pytest
from checkout import load_course
from nbconvert.exporters import SlidesExporter
from process_helpers import started_with_ctrl_c


@pytest.mark.parametrize("words", [[], ["--help"]])
def test_help_names_each_command_and_each_explains_itself(copy, capsys, words):
    course = load_course(copy)
    with pytest.raises(SystemExit, match="0"):
        course.main(*words)
    said = capsys.readouterr().out
    commands = re.findall(r"^    (\w+) .*", said, re.MULTILINE)
    assert {"read", "check", "handout"} <= set(commands)
    for command in commands:
        with pytest.raises(SystemExit, match="0"):
            course.main(command, "--help")
        assert f"course.py {command}" in capsys.readouterr().out


def test_check_is_pytest_and_read_is_jupyterlab(copy, monkeypatch, capsys):
    course, commands = load_course(copy), []
    monkeypatch.setattr(course.environment, "set_up", lambda: commands.append("set up"))
    monkeypatch.setattr(course.environment, "add_frameworks", lambda names: None)
    monkeypatch.setattr(course.environment, "is_installed", lambda name: True)
    monkeypatch.setattr(course.reading, "kernel_metadata", dict)
    monkeypatch.setattr(
        course.environment.subprocess, "call", lambda command, cwd: commands.append(command) or 3
    )
    assert course.main("check", "-k", "name") == 3
    assert capsys.readouterr().out == ""
    assert course.main("check") == 3
    assert re.search(r"\d+ to \d+ minutes", capsys.readouterr().out)
    assert course.main("read") == 3
    assert commands[::2] == ["set up"] * 3
    assert commands[1][1:] == ["-m", "pytest", "-k", "name"]
    assert commands[3][1:] == ["-m", "pytest"]
    assert commands[5][1:3] == ["-m", "jupyterlab"]
    with pytest.raises(SystemExit, match="2"):
        course.main("reed")
    assert "invalid choice: 'reed'" in capsys.readouterr().err


def test_slides_are_made_of_the_notebooks_named_or_of_all(copy, monkeypatch):
    course, commands = load_course(copy), []
    monkeypatch.setattr(course.environment, "set_up", lambda: None)
    monkeypatch.setattr(course.teaching, "answers", lambda url: True)
    monkeypatch.setattr(
        course.environment.subprocess, "call", lambda command: commands.append([*map(str, command)])
    )
    course.main("slides", str(copy / "notebooks" / "05_torchscript.ipynb"))
    assert commands[0][1:4] == ["-m", "nbconvert", "--to=slides"]
    assert "--HTMLExporter.language_code=en" in commands[0]
    assert commands[0][-1] == str(copy / "notebooks" / "05_torchscript.ipynb")
    with pytest.raises(SystemExit, match=r"no notebook one\.ipynb"):
        course.main("slides", "one.ipynb")
    course.main("slides")
    options = re.findall(r"--SlidesExporter\.(\w+)=", " ".join(commands[1]))
    assert options
    assert {*options} <= {*SlidesExporter.class_trait_names()}  # others are ignored
    assert len([part for part in commands[1] if part.endswith(".ipynb")]) >= 3
    course.main("slides", "--language", "zh", str(copy / "notebooks" / "05_torchscript.ipynb"))
    assert "--HTMLExporter.language_code=zh" in commands[2]
    assert f"--output-dir={copy / 'slides' / 'zh'}" in commands[2]


def test_a_page_on_the_web_that_cannot_be_reached_does_not_answer(copy):
    answers = load_course(copy).teaching.answers
    assert not answers("http://localhost:9/")
    assert answers((copy / "README.md").as_uri())


@pytest.mark.parametrize("version", [(3, 8, 1), (3, 10, 13)])
def test_an_older_python_is_refused_at_once(copy, monkeypatch, version):
    course = load_course(copy)
    monkeypatch.setattr(sys, "version_info", version)
    monkeypatch.setitem(sys.modules, "tools", None)  # Python 3.10 and earlier can't import it
    for command in ("read", "check", "contents", "address"):
        with pytest.raises(SystemExit, match=rf"3\.11 or later, and this is 3\.{version[1]}\."):
            course.main(command)
    assert not course.environment.VENV.exists()


@pytest.mark.parametrize(
    ("version", "warned"), [((3, 11, 0), 0), ((3, 15, 2), 0), ((3, 16, 0), 1), ((4, 0, 0), 1)]
)
def test_a_newer_python_is_warned_of_and_goes_on(copy, monkeypatch, capsys, version, warned):
    course = load_course(copy)
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
@pytest.mark.parametrize(
    ("command", "module"),
    [
        ("read", "jupyterlab"),
        ("check", "pytest"),
        ("slides", "nbconvert"),
        ("refresh", "nbformat"),
    ],
)
def test_after_ctrl_c_a_command_ends_in_its_own_time(copy, command, module):
    (copy / f"{module}.py").write_text(SLOW)
    start = (
        "import builtins, course, sys; from tools import environment, reading, teaching; "
        "environment.set_up = lambda: None; environment.VENV_PYTHON = sys.executable; "
        "environment.add_frameworks = lambda names: None; "
        "environment.is_installed = lambda name: True; reading.kernel_metadata = dict; "
        "teaching.answers = bool; builtins.print = lambda *a, **k: 0; "
        f"sys.exit(course.main({command!r}))"
    )
    command = [sys.executable, "-c", start]
    with started_with_ctrl_c(command, cwd=copy, start_new_session=True) as process:
        assert "ready\n" in process.stdout
        os.killpg(process.pid, signal.SIGINT)
        said, errors = process.communicate(timeout=20)
    assert (said, errors, process.returncode) == ("summary\n", "", 3)
