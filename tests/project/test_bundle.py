"""What `course.py bundle` copies, and what it downloads."""

import shutil
import subprocess
import sys

import pytest
from checkout import load_course


@pytest.fixture
def made(copy, tmp_path_factory, monkeypatch):
    """The course in a clone, the folder of its bundle, and the list of what was called."""
    if not shutil.which("git"):
        pytest.skip("a bundle is made from a clone")
    subprocess.run(["git", "init", "--quiet"], cwd=copy, check=True)
    subprocess.run(["git", "add", "--all"], cwd=copy, check=True)
    course, commands = load_course(copy), []
    monkeypatch.setattr(course.environment, "set_up", lambda: None)
    monkeypatch.setattr(
        course.environment, "carry_out", lambda *c: commands.extend([[*map(str, one)] for one in c])
    )
    return course, tmp_path_factory.mktemp("stick") / "course", commands


def names_in(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_bundle_has_the_files_that_git_knows_as_they_are_now_and_no_others(copy, made):
    course, folder, _ = made
    known = names_in(copy) - {name for name in names_in(copy) if name.startswith(".git/")}
    (copy / "grades.csv").write_text("Ada,1")
    (copy / "README.md").write_text("changed")
    (copy / "GLOSSARY.md").unlink()
    course.main("bundle", str(folder))
    assert names_in(folder) == known - {"GLOSSARY.md"} | {"START.md"}
    assert (folder / "README.md").read_text() == "changed"


def test_a_bundle_says_which_pythons_it_fits(made, monkeypatch):
    course, folder, _ = made
    for versions in [(3, 11, 7), (3, 12, 1), (3, 11, 9)]:
        monkeypatch.setattr(sys, "version_info", versions)
        course.main("bundle", str(folder))
    lines = (folder / "START.md").read_text("utf-8").splitlines()
    assert [line.split(",")[0] for line in lines[-2:]] == ["- Python 3.11", "- Python 3.12"]
    assert [line for line in lines if line.startswith("- ")] == lines[-2:]
    assert "    python3 course.py read" in lines


def test_a_bundle_downloads_all_that_is_installed(made):
    course, folder, commands = made
    course.main("bundle", str(folder))
    (one,) = commands
    assert one[1:4] == ["-m", "pip", "download"]
    assert {"--only-binary=:all:", f"--dest={folder / 'wheels'}"} <= {*one}
    assert one[-4:] == ["-r", "requirements.txt", "hatchling", "editables"]
    commands.clear()
    course.main("bundle", str(folder), "--frameworks")
    blocks = course.environment.framework_requirements().values()
    assert len(commands) == 1 + len(blocks) == 5
    for command, (options, requirements) in zip(commands[1:], blocks, strict=True):
        assert {*options, *requirements} <= {*command}


def test_decks_come_with_what_shows_them(copy, made, monkeypatch, capsys):
    course, folder, _ = made
    course.main("bundle", str(folder))
    assert "Decks are left out: they need `npm install" in capsys.readouterr().out
    shows = "node_modules/reveal.js/dist/reveal.js"
    (copy / shows).parent.mkdir(parents=True)
    (copy / shows).write_text("")

    def slides(language):
        """Make decks."""
        path = course.files.folder_of(course.files.SLIDES, language) / "01.slides.html"
        path.parent.mkdir(parents=True)
        path.write_text("")

    monkeypatch.setattr(course.teaching, "slides", slides)
    course.main("bundle", str(folder))
    assert {shows, "slides/01.slides.html", "slides/zh/01.slides.html"} <= names_in(folder)
    assert "Decks" not in capsys.readouterr().out


def test_pages_come_if_they_have_been_made(copy, made, capsys):
    course, folder, _ = made
    course.main("bundle", str(folder))
    assert "Pages are left out" in capsys.readouterr().out
    (copy / "build/site/html").mkdir(parents=True)
    (copy / "build/site/html/index.html").write_text("")
    course.main("bundle", str(folder))
    assert "build/site/html/index.html" in names_in(folder)
    assert "Pages" not in capsys.readouterr().out


def test_without_git_there_is_no_bundle(copy, made):
    course, folder, commands = made
    shutil.rmtree(copy / ".git")
    with pytest.raises(SystemExit, match="made from a clone"):
        course.main("bundle", str(folder))
    assert commands == []
    assert not folder.exists()
