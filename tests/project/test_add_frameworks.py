"""The frameworks of notebooks: which are needed, and how course.py installs what is missing."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import load_course
from notebook_rules import ENTRIES, ROOT
from packaging.requirements import Requirement

import course
from d2lhybrid import frameworks
from tools import environment, manifest
from tools.colab import first_cell

NAMES = ["tensorflow", "paddle", "jax", "mxnet"]
SYSTEMS = {
    "Linux x86_64": "linux",
    "Linux aarch64": "linux",
    "Darwin x86_64": "darwin",
    "Darwin arm64": "darwin",
    "Windows AMD64": "win32",
}
LAST = {"tensorflow": 13, "paddle": 13, "jax": 14, "mxnet": 15}  # the last Python with a wheel, 3.n


def requirements(name):
    return [*map(Requirement, environment.framework_requirements()[name][1])]


def test_each_framework_is_pinned_in_a_block_of_its_own():
    assert [*environment.framework_requirements()] == NAMES
    for name in NAMES:
        assert requirements(name)
        assert all(str(one.specifier).startswith("==") for one in requirements(name)), name
        assert frameworks.FRAMEWORKS[name] == name
    without = {n for n, (options, _) in environment.framework_requirements().items() if options}
    assert without == {"mxnet"}
    text = (ROOT / "requirements-frameworks.txt").read_text(encoding="utf-8")
    assert "mxnet" not in re.sub(r"#.*", "", text)  # what `pip install -r` sees
    pins = [f"{one.name}{one.specifier}" for name in NAMES for one in requirements(name)]
    assert re.findall(r"[\w-]+==[\w.]+", text) == pins


@pytest.mark.parametrize("minor", [version[1] for version in course.PYTHONS])
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("name", NAMES)
def test_it_is_asked_for_where_there_are_wheels(name, system, minor):
    where = {"sys_platform": SYSTEMS[system], "platform_machine": system.split()[1]}
    where["python_version"] = f"3.{minor}"
    asked = [one.name for one in requirements(name) if not one.marker or one.marker.evaluate(where)]
    asked = [one for one in asked if one.startswith(name)]
    on_system = system in frameworks.FRAMEWORKS[name].SYSTEMS
    assert len(asked) == (on_system and minor <= LAST[name])


def test_course_toml_names_frameworks_and_what_colab_lacks():
    needs = [what for what in manifest.course()["needs"].values() if "frameworks" in what]
    assert sorted(what["frameworks"] for what in needs) == sorted([name] for name in NAMES)
    for what in needs:
        pins = {f"{one.name}{one.specifier}" for one in requirements(*what["frameworks"])}
        assert set(what.get("colab", [])) <= pins


def test_what_compares_all_frameworks_needs_what_their_notebooks_need():
    needs = manifest.course()["needs"]
    alone = [what for what in needs.values() if "frameworks" in what]
    together = [what for what in needs.values() if "compared_with" in what]
    assert together == [needs["others"]]
    for kind, where in (("frameworks", "compared_with"), ("colab", "colab")):
        one_by_one = [name for what in alone for name in what.get(kind, [])]
        assert needs["others"][where] == one_by_one


def test_the_first_cell_installs_on_colab_what_is_missing_there(monkeypatch):
    entry, *_ = ENTRIES.values()
    assert first_cell(entry).endswith("d2lhybrid")
    monkeypatch.setitem(entry, "needs", ["c", "mxnet"])
    pins = ["mxnet==1.9.1", "paddlepaddle==3.3.1"]
    mxnet, paddle = (f"    !pip install --quiet --no-deps {pin}" for pin in pins)
    assert first_cell(entry).endswith(f"d2lhybrid\n{mxnet}")
    monkeypatch.setitem(entry, "needs", ["others", "c"])
    assert first_cell(entry).endswith(f"d2lhybrid\n{mxnet}\n{paddle}")


@pytest.fixture
def with_a_framework(copy):
    """A copy with two parts more: a notebook that compares all, and one with MXNet and JAX."""
    parts = ""
    for name, needs in (("98_all", '["others"]'), ("99_last", '["mxnet", "jax"]')):
        parts += f"""
            [[parts]]
            title.en = "Last"
            [[parts.notebooks]]
            name = "{name}"
            title.en = "Last"
            about.en = "nothing"
            minutes = 5
            needs = {needs}
        """
        (copy / "notebooks" / f"{name}.ipynb").write_text('{"cells": []}')
    manifest = (copy / "course.toml").read_text(encoding="utf-8")
    before, mark, after = manifest.partition("# What a notebook may need")
    (copy / "course.toml").write_text(f"{before}{parts}\n{mark}{after}", encoding="utf-8")
    (copy / "tests").mkdir()
    return copy


TWO, ALL = ["mxnet", "jax"], ["mxnet", "tensorflow", "paddle", "jax"]
IN_ORDER = ["jax", "tensorflow", "mxnet", "paddle"]  # of the notebooks


@pytest.mark.parametrize(
    ("arguments", "needed", "run"),
    [
        ([], IN_ORDER, []),
        (["-x"], IN_ORDER, ["-x"]),
        (["notebooks"], IN_ORDER, ["notebooks"]),
        (["--part", "{last}", "-x"], TWO, ["notebooks/99_last.ipynb", "-x"]),
        (["--part={last}"], TWO, ["notebooks/99_last.ipynb"]),
        (["notebooks/99_last.ipynb::Cell 3"], TWO, ["notebooks/99_last.ipynb::Cell 3"]),
        (["notebooks/98_all.ipynb"], ALL, ["notebooks/98_all.ipynb"]),
        (["--part", "0"], [], ["notebooks/00_start_here.ipynb"]),
        (["notebooks/05_torchscript.ipynb"], [], ["notebooks/05_torchscript.ipynb"]),
        (["tests"], [], ["tests"]),
    ],
)
def test_a_check_installs_what_its_notebooks_need(
    with_a_framework, monkeypatch, arguments, needed, run
):
    course, asked, commands = load_course(with_a_framework), [], []
    last = len(course.manifest.course()["parts"]) - 1
    monkeypatch.setattr(course.environment, "set_up", lambda: None)
    monkeypatch.setattr(course.environment, "add_frameworks", asked.extend)
    monkeypatch.setattr(
        course.environment, "run", lambda command, **options: commands.append(command)
    )
    course.main("check", *(word.format(last=last) for word in arguments))
    assert asked == needed
    assert commands[0][3:] == run


@pytest.mark.parametrize(
    ("name", "needed"), [("99_last", TWO), ("98_all", ALL), ("05_torchscript", [])]
)
def test_so_does_a_refresh(with_a_framework, monkeypatch, name, needed):
    course, asked = load_course(with_a_framework), []
    monkeypatch.setattr(course.environment, "set_up", lambda: None)
    monkeypatch.setattr(course.environment, "add_frameworks", asked.extend)
    monkeypatch.setattr(course.environment, "run", lambda command, **options: 0)
    course.main("refresh", str(with_a_framework / "notebooks" / f"{name}.ipynb"))
    assert asked == needed


@pytest.mark.parametrize("number", ["", "-1", "x", "99"])
def test_a_part_that_is_none(copy, number):
    with pytest.raises(SystemExit, match=r"number of a part, not '.*'.* 1 The idea,"):
        load_course(copy).main("check", f"--part={number}")


def test_readers_are_told_how_to_get_the_frameworks(with_a_framework, monkeypatch, capsys):
    course = load_course(with_a_framework)
    monkeypatch.setattr(course.environment, "set_up", lambda: None)
    monkeypatch.setattr(course.reading, "kernel_metadata", dict)
    monkeypatch.setattr(course.manifest, "notebooks", lambda: [*ROOT.glob("notebooks/00_*.ipynb")])
    monkeypatch.setattr(course.environment, "run", lambda *a, **k: 0)
    monkeypatch.setattr(course.environment, "is_installed", lambda name: name != "mxnet")
    course.environment.VENV.mkdir()
    course.main("read")
    assert re.search(r"need mxnet\..*\n    py.* course\.py frameworks\n", capsys.readouterr().out)
    course.environment.mark("mxnet").write_text("")  # there is none for this system
    course.main("read")
    assert capsys.readouterr().out == ""


@pytest.fixture
def adding(copy, monkeypatch):
    """The course in a copy with an environment, and the list of what it tells pip from now on."""
    course, commands = load_course(copy), []
    course.environment.VENV.mkdir()

    def run(command, cwd):
        commands.append([str(part) for part in command[5:]])
        return 0

    monkeypatch.setattr(course.environment, "set_up", lambda: None)
    monkeypatch.setattr(course.environment, "run", run)
    monkeypatch.setattr(course.environment, "version_inside", lambda: b"3 11")
    monkeypatch.setattr(course.environment, "is_installed", lambda name: True)
    return course, commands


def test_each_is_installed_by_itself_and_once(adding, capsys):
    course, commands = adding
    assert course.main("frameworks", "mxnet") == 0
    (command,) = commands
    assert command[:3] == ["--no-deps", "-c", "requirements.txt"]
    assert [one.partition("==")[0] for one in command[3:]] == ["mxnet"]
    assert course.main("frameworks") == 0
    assert [c[2].partition("==")[0] for c in commands[1:]] == [
        "tensorflow-cpu",
        "paddlepaddle",
        "jax",
    ]
    assert all(command[:2] == ["-c", "requirements.txt"] for command in commands[1:])
    assert len(re.findall("^Adding ", capsys.readouterr().out, re.MULTILINE)) == 4
    assert course.main("frameworks") == course.main("frameworks", "jax") == 0
    assert len(commands) == 4
    assert capsys.readouterr().out == ""


def test_a_new_pin_is_installed(adding):
    course, commands = adding
    course.main("frameworks")
    file = course.files.ROOT / "requirements-frameworks.txt"
    file.write_text(file.read_text(encoding="utf-8").replace("jax==0.10.2", "jax==0.11"))
    course = load_course(course.files.ROOT)
    commands.clear()
    course.environment.run = lambda command, cwd: commands.append(command) or 0
    course.environment.version_inside = lambda: b"3 11"
    course.environment.is_installed = lambda name: True
    course.environment.add_frameworks(NAMES)
    assert [command[-2].partition(";")[0] for command in commands] == ["jax==0.11"]


def test_one_that_fails_does_not_keep_the_others_away(adding, monkeypatch, capsys):
    course, commands = adding
    works = course.environment.run

    def one_fails(command, cwd):
        return 1 if "paddle" in command[-1] else works(command, cwd)

    monkeypatch.setattr(course.environment, "run", one_fails)
    assert course.main("frameworks") == 1
    assert len(commands) == 3
    assert "paddle was not installed" in capsys.readouterr().out
    monkeypatch.setattr(course.environment, "run", works)
    assert course.main("frameworks") == 0
    assert [command[2][:6] for command in commands[3:]] == ["paddle"]


def test_one_without_a_wheel_is_named(adding, monkeypatch, capsys):
    course, _ = adding
    monkeypatch.setattr(course.environment, "is_installed", lambda name: name != "mxnet")
    assert course.main("frameworks", "jax", "mxnet") == 0
    said = capsys.readouterr().out
    assert "There is no mxnet for this system." in said
    assert "no jax" not in said


def test_a_framework_that_is_not_in_the_file(adding):
    course, commands = adding
    with pytest.raises(SystemExit, match=r"no framework 'torch'.*tensorflow, paddle, jax, mxnet"):
        course.main("frameworks", "jax", "torch")
    assert commands == []


def test_what_is_installed_is_asked_of_the_environment(copy, monkeypatch):
    course = load_course(copy)
    course.environment.VENV.mkdir()
    assert not course.environment.is_installed("sys")
    monkeypatch.setattr(course.environment, "VENV_PYTHON", Path(sys.executable))
    assert course.environment.is_installed("pytest")
    assert not course.environment.is_installed("no_such_package")


def test_pip_passes_over_what_another_system_needs(tmp_path):
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-index", "--quiet"]
    done = subprocess.run([*command, 'nothing==1; sys_platform == "plan9"'], cwd=tmp_path)
    assert done.returncode == 0
