"""The environments that course.py makes, when it makes them again, and what it installs."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import load_course
from notebook_rules import ENTRIES, ROOT
from packaging.requirements import Requirement

from d2lhybrid import frameworks
from tools import environment, manifest

NAMES = ["tensorflow", "paddle", "jax", "mxnet"]
FIRST = [f"notebooks/{name}" for name in ENTRIES if name.startswith(("01", "02", "03", "04"))]


@pytest.fixture
def bare(copy, monkeypatch):
    """The course without an environment. `commands` lists what it starts, `fails` what fails."""
    course = load_course(copy)
    course.commands, course.fails = [], lambda command: False

    def call(command, **options):
        command = [*map(str, command)]
        if command[1] == "-c":  # whether it works: "broken" stands in one that does not
            return Path(command[0]).read_text() == "broken"
        course.commands.append(command[1:])
        if course.fails(command):
            return 1
        if "venv" in command:
            folder = Path(command[-1])
            if "--clear" in command:
                shutil.rmtree(folder)
            python = folder / course.environment.VENV_PYTHON.relative_to(course.environment.VENV)
            python.parent.mkdir(parents=True, exist_ok=True)
            python.touch()
            (folder / "pyvenv.cfg").touch()
        return 0

    monkeypatch.setattr(subprocess, "call", call)
    return course


@pytest.fixture
def installed(bare):
    """The same with an environment."""
    bare.environment.set_up()
    bare.commands.clear()
    return bare


def test_environment_is_made_once_from_the_requirements(bare):
    bare.environment.set_up()
    venv, pip = bare.commands
    assert venv == ["-m", "venv", str(bare.environment.VENV)]
    assert pip[:3] == ["-m", "pip", "install"]
    assert pip[-4:] == ["-r", "requirements.txt", "-e", str(bare.files.ROOT)]
    bare.environment.set_up()
    assert len(bare.commands) == 2


def append(path, text):
    path.write_text(path.read_text() + text)


@pytest.mark.parametrize(
    ("change", "cleared"),
    [
        (lambda course: append(course.files.ROOT / "requirements.txt", "# another\n"), False),
        (lambda course: append(course.files.ROOT / "CITATION.cff", "# another\n"), False),
        (lambda course: course.environment.VENV_PYTHON.unlink(), True),
        (lambda course: course.environment.VENV_PYTHON.write_text("broken"), True),
    ],
)
def test_environment_is_made_again_when_it_no_longer_fits(installed, change, cleared):
    change(installed)
    installed.environment.set_up()
    assert [command[1] for command in installed.commands] == ["venv", "pip"]
    assert ("--clear" in installed.commands[0]) == cleared
    installed.environment.set_up()
    assert len(installed.commands) == 2


def test_failed_installation_is_tried_again(installed):
    requirements = installed.files.ROOT / "requirements.txt"
    before = requirements.read_text()
    append(requirements, "# another\n")
    installed.fails = lambda command: "pip" in command
    with pytest.raises(SystemExit, match="did not work"):
        installed.environment.set_up()
    requirements.write_text(before)  # it may be half of the new one, so it isn't the old one
    installed.fails = lambda command: False
    installed.environment.set_up()
    assert len(installed.commands) == 4


def test_wheels_folder_is_the_only_source(installed):
    wheels = installed.files.ROOT / "wheels"
    wheels.mkdir()
    append(installed.files.ROOT / "requirements.txt", "# another\n")
    installed.environment.set_up()
    installed.environment.add_frameworks(["jax"])
    offline = {"--no-index", f"--find-links={wheels}"}
    assert [offline <= {*command} for command in installed.commands] == [False, True, True]


def test_pages_have_an_environment_beside_the_course(bare):
    python = bare.environment.for_pages()
    assert bare.files.ROOT / ".venv-site" in python.parents
    assert bare.commands[1][-2:] == ["-r", "requirements-site.txt"]
    bare.environment.for_pages()
    assert len(bare.commands) == 2


def test_folder_with_other_files_is_refused(bare):
    bare.environment.VENV.mkdir()
    (bare.environment.VENV / "work.txt").touch()
    with pytest.raises(SystemExit, match="not empty"):
        bare.environment.set_up()
    assert bare.commands == []


def test_environment_of_another_clone_is_left_to_it(bare, tmp_path_factory):
    """But not where it was copied with the clone."""
    environment, away = bare.environment, tmp_path_factory.mktemp("away")
    for folder in (bare.environment.VENV, away):
        folder.mkdir(exist_ok=True)
        (folder / "made-from").write_text(f"digest\n{ROOT}")
    environment.set_up()
    assert len(bare.commands) == 2
    with pytest.raises(SystemExit, match=f"{away} belongs to {ROOT}"):
        environment.make(away, [], "-e", bare.files.ROOT)
    assert len(bare.commands) == 2


def test_environment_of_somebody_else_is_never_cleared(bare):
    bare.environment.VENV_PYTHON.parent.mkdir(parents=True)
    bare.environment.VENV_PYTHON.write_text("broken")
    (bare.environment.VENV / "pyvenv.cfg").touch()
    bare.environment.set_up()
    assert "--clear" not in bare.commands[0]


@pytest.mark.parametrize(
    ("name", "folder"),
    [("vv", "notebooks/vv"), ("../vv", "vv"), ("/no/vv", "/no/vv"), ("", ".venv")],
)
def test_variable_names_the_environment(copy, monkeypatch, name, folder):
    monkeypatch.setenv("D2LHYBRID_VENV", name)
    monkeypatch.chdir(copy / "notebooks")
    assert copy / folder == load_course(copy).environment.VENV


def test_python_works_if_it_finds_its_packages(tmp_path):
    assert environment.works(Path(sys.executable))
    assert not environment.works(tmp_path / "python")
    (tmp_path / "python").symlink_to("/bin/false")
    assert not environment.works(tmp_path / "python")


# Frameworks


def test_each_framework_is_pinned_in_a_block_of_its_own():
    found = environment.framework_requirements()
    assert [*found] == NAMES
    for name, (*options, last) in found.items():
        assert ("--no-deps" in options) == (name == "mxnet")
        for one in [*options[name == "mxnet" :], last]:
            assert str(Requirement(one).specifier).startswith("==")
        assert frameworks.FRAMEWORKS[name].__name__.endswith(f".{name}")
    text = (ROOT / "requirements-frameworks.txt").read_text(encoding="utf-8")
    assert "mxnet" not in re.sub(r"#.*", "", text)  # what `pip install -r` sees


def test_course_toml_names_the_frameworks_and_what_colab_lacks():
    needs = manifest.course()["needs"]
    alone = [what for what in needs.values() if "frameworks" in what]
    assert sorted(name for what in alone for name in what["frameworks"]) == sorted(NAMES)
    for what in alone:
        pins = environment.framework_requirements()[what["frameworks"][0]]
        assert {*what.get("colab", [])} <= {one.partition(";")[0] for one in pins}
    for kind, where in (("frameworks", "compared_with"), ("colab", "colab")):
        assert needs["others"][where] == [name for what in alone for name in what.get(kind, [])]


@pytest.mark.parametrize(
    ("arguments", "needed", "run"),
    [
        ("check -x", ["jax", "tensorflow", "mxnet", "paddle"], ["-x"]),
        ("check notebooks/14_jax.ipynb", ["jax"], ["notebooks/14_jax.ipynb"]),
        ("check notebooks/18_side_by_side.ipynb", ["mxnet", *NAMES[:3]], []),
        ("check tests", [], ["tests"]),
        ("refresh --busy notebooks/18_side_by_side.ipynb", ["mxnet", *NAMES[:3]], ["--busy"]),
    ],
)
def test_check_and_refresh_install_what_their_notebooks_need(course, arguments, needed, run):
    (course.files.ROOT / "tests").mkdir()
    assert course.main(*arguments.split()) == 0
    assert course.asked == needed
    assert course.commands[0][3 : 3 + len(run)] == run


def test_frameworks_are_installed_one_by_one_and_once(installed, capsys):
    assert installed.main("frameworks", "mxnet") == installed.main("frameworks") == 0
    found = [re.split("[-=]", command[-1])[0] for command in installed.commands]
    assert found == ["mxnet", "tensorflow", "paddlepaddle", "flatbuffers"]
    append(installed.files.ROOT / "requirements.txt", "# another\n")
    installed.main("frameworks", "jax")  # it goes with what is beside it
    assert len(installed.commands) == 4 + 3


def test_failed_framework_does_not_stop_the_others(installed, capsys):
    installed.fails = lambda command: "paddle" in command[-1]
    assert installed.main("frameworks") == 1
    assert len(installed.commands) == 4
    assert "paddle was not installed" in capsys.readouterr().out
    installed.fails = lambda command: False
    assert installed.main("frameworks") == 0
    assert len(installed.commands) == 5


def test_readers_are_told_how_to_get_the_frameworks(installed, capsys):
    installed.main("read")
    assert re.search(r"need jax, .*\n    py.* course\.py frameworks\n", capsys.readouterr().out)
    for name in NAMES:
        installed.environment.record(name).touch()  # asked for; there may be none for this system
    installed.main("read")
    assert capsys.readouterr().out == ""
