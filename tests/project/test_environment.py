"""The environment that course.py makes, and when it makes it again."""

import re
import shutil
import subprocess
import sys
import venv

import pytest
from checkout import load_course


@pytest.fixture
def installed(copy, monkeypatch):
    """The course in a copy with an environment, and the list of what it calls from now on."""
    course, commands = load_course(copy), []

    def call(command, cwd):
        commands.append([str(part) for part in command])
        if "--clear" in command:
            shutil.rmtree(course.environment.VENV)
        if "venv" in command and not course.environment.VENV_PYTHON.exists():
            course.environment.VENV_PYTHON.parent.mkdir(parents=True, exist_ok=True)
            course.environment.VENV_PYTHON.symlink_to(sys.executable)
        return 0

    monkeypatch.setattr(subprocess, "call", call)
    course.environment.set_up()
    assert [command[1:3] for command in commands] == [["-m", "venv"], ["-m", "pip"]]
    assert commands[0][3:] == [str(course.environment.VENV)]
    assert commands[1][-4:] == ["-r", "requirements.txt", "-e", "."]
    commands.clear()
    return course, commands


def new_requirement(course):
    with (course.files.ROOT / "requirements.txt").open("a") as file:
        file.write("# another\n")


def new_version(course):
    path = course.files.ROOT / "CITATION.cff"
    path.write_text(path.read_text().replace("version: 1", "version: 2"))


def upgrade_that_removed_python(course):
    course.environment.VENV_PYTHON.unlink()
    course.environment.VENV_PYTHON.symlink_to("gone")


def upgrade_to_another_python(course):
    course.environment.VENV_PYTHON.unlink()
    course.environment.VENV_PYTHON.write_text("#!/bin/sh\necho 3 99\n")
    course.environment.VENV_PYTHON.chmod(0o755)


def python_lost(course):
    course.environment.VENV_PYTHON.unlink()


def record_damaged(course):
    (course.environment.VENV / "made-from").write_bytes(b"\xff")


@pytest.mark.parametrize(
    ("change", "cleared"),
    [
        (new_requirement, False),
        (new_version, False),
        (upgrade_that_removed_python, True),
        (upgrade_to_another_python, False),
        (python_lost, False),
        (record_damaged, False),
    ],
)
def test_the_environment_is_made_once_and_again_when_it_no_longer_fits(installed, change, cleared):
    course, commands = installed
    course.environment.set_up()
    assert commands == []
    change(course)
    course.environment.set_up()
    assert [command[1:3] for command in commands] == [["-m", "venv"], ["-m", "pip"]]
    assert ("--clear" in commands[0]) == cleared
    course.environment.set_up()
    assert len(commands) == 2


def test_a_bundle_is_installed_from_its_wheels_alone(installed):
    course, commands = installed
    wheels = course.files.ROOT / "wheels"
    offline = {"--no-index", f"--find-links={wheels}"}
    assert not offline & {*map(str, course.environment.pip_install())}
    wheels.mkdir()
    new_requirement(course)
    course.environment.set_up()
    course.environment.add_frameworks(["jax"])
    assert [offline <= {*command} for command in commands] == [False, True, True]


@pytest.mark.parametrize("move", [shutil.copytree, shutil.move])
def test_a_copied_or_moved_checkout_gets_its_own_package(installed, tmp_path, move):
    here, commands = installed
    there = tmp_path.parent / f"{tmp_path.name}-elsewhere"
    move(here.files.ROOT, there)
    load_course(there).environment.set_up()
    assert [command[0] for command in commands] == [
        sys.executable,
        str(there / here.environment.VENV_PYTHON.relative_to(here.files.ROOT)),
    ]


def test_an_installation_that_failed_half_way_is_not_taken_for_done(installed, monkeypatch):
    course, commands = installed
    before = (course.files.ROOT / "requirements.txt").read_bytes()
    new_requirement(course)
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "call", lambda *a, **k: 1)
        with pytest.raises(SystemExit, match="did not work"):
            course.environment.set_up()
    (course.files.ROOT / "requirements.txt").write_bytes(before)
    course.environment.set_up()
    assert len(commands) == 2


def test_an_environment_that_is_not_the_courses_is_used_as_it_is(copy, tmp_path, monkeypatch):
    folder = tmp_path / "theirs"
    monkeypatch.setenv("D2LHYBRID_VENV", str(folder))
    venv.create(folder, with_pip=False)
    course, commands = load_course(copy), []
    monkeypatch.setattr(subprocess, "call", lambda c, **k: commands.append([*map(str, c)]))
    course.environment.set_up()
    assert [command[1:3] for command in commands] == [["-m", "venv"], ["-m", "pip"]]
    assert "--clear" not in commands[0]


@pytest.mark.parametrize("file", ["work.txt", "pyvenv.cfg"])
def test_a_folder_with_other_files_is_left_alone(copy, tmp_path, monkeypatch, file):
    folder = tmp_path / "mine"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to("gone")
    (folder / file).write_text("mine")
    monkeypatch.setenv("D2LHYBRID_VENV", str(folder))
    monkeypatch.setattr(subprocess, "call", lambda *a, **k: pytest.fail("nothing may be called"))
    with pytest.raises(SystemExit, match=r"not empty.*D2LHYBRID_VENV"):
        load_course(copy).environment.set_up()
    assert {path.name for path in folder.rglob("*")} == {"bin", "python", file}


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("vv", "notebooks/vv"),
        ("../vv", "vv"),
        ("../link/../vv", "real/vv"),
        ("../link", "real/deep"),
        ("/nowhere/vv", "/nowhere/vv"),
        ("", ".venv"),
    ],
)
def test_the_environment_may_be_named_as_in_any_command(copy, monkeypatch, name, folder):
    (copy / "real" / "deep").mkdir(parents=True)
    (copy / "link").symlink_to(copy / "real" / "deep")
    monkeypatch.setenv("D2LHYBRID_VENV", name)
    monkeypatch.chdir(copy / "notebooks")
    assert copy / folder == load_course(copy).environment.VENV


@pytest.mark.parametrize("obstacle", [".venv", ".venv/made-from/folder/file"])
def test_an_obstacle_is_named_without_a_traceback(copy, obstacle):
    (copy / obstacle).parent.mkdir(parents=True, exist_ok=True)
    (copy / obstacle).write_text("mine")
    command = [sys.executable, "course.py", "check"]
    said = subprocess.run(command, cwd=copy, capture_output=True, text=True).stderr
    assert re.match(r"That did not work: .*\.venv", said), said
    assert (copy / obstacle).read_text() == "mine"


def test_an_installation_that_failed_is_tried_again(copy, monkeypatch):
    course, commands = load_course(copy), []
    monkeypatch.setattr(subprocess, "call", lambda *a, **k: commands.append(a) or 1)
    for _ in range(2):
        with pytest.raises(SystemExit, match="did not work"):
            course.environment.set_up()
    assert len(commands) == 2
