"""The project as files: one address, one set of versions, commands that are as the README says."""

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import venv

import nbformat
import pytest
from nbconvert.exporters import SlidesExporter
from notebook_rules import (
    ADDRESS,
    PROJECT,
    ROOT,
    code_cells,
    course,
    load,
    was_refreshed_after_the_last_change,
)

README = (ROOT / "README.md").read_text(encoding="utf-8")
PINS = dict(re.findall(r"^([\w-]+)==(\S+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE))


def load_course(folder):
    spec = importlib.util.spec_from_file_location("course_under_test", folder / "course.py")
    course = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(course)
    return course


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """The files of the project that name its address, in a folder of their own."""
    monkeypatch.delenv("D2LHYBRID_VENV", raising=False)
    (tmp_path / "notebooks").mkdir()
    files = ["course.py", "pyproject.toml", "README.md", "CONTRIBUTING.md", "requirements.txt"]
    files += [f"notebooks/{path.name}" for path in course.course_notebooks()]
    for file in files:
        (tmp_path / file).write_bytes((ROOT / file).read_bytes())
    return tmp_path


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_ruff_finds_nothing():
    for command in (["check", "--no-cache"], ["format", "--check", "--no-cache"]):
        run = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "."], cwd=ROOT, capture_output=True, text=True
        )
        assert run.returncode == 0, run.stdout


def test_every_address_is_the_projects():
    project = ADDRESS.removeprefix("https://github.com/")
    assert re.fullmatch(r"[\w.-]+/[\w.-]+", project)
    for path in [*ROOT.glob("*.md"), *course.course_notebooks(), ROOT / "pyproject.toml"]:
        text = path.read_text(encoding="utf-8")
        found = re.findall(r"(?:github\.com|/github)/([\w.-]+/[\w.-]*\w)", text)
        assert {one.removesuffix(".git") for one in found} <= {project}, path.name
        if path.suffix == ".ipynb":
            assert len(found) == 2, f"{path.name}: the badge's address and the first cell's"


def test_one_command_changes_the_address_everywhere(copy, capsys):
    old = ADDRESS.removeprefix("https://github.com/")
    load_course(copy).address("ada/my-course.2")
    said = capsys.readouterr().out
    for path in copy.rglob("*.*"):
        text = path.read_text(encoding="utf-8")
        assert f"/{old}" not in text or path.name == "course.py", path.name
        assert ("/ada/my-course.2" in text) == (f"changed {path.relative_to(copy)}\n" in said)
    assert said.count("changed") == 2 + len(list(copy.glob("notebooks/*")))
    assert '"https://github.com/ada/my-course.2"' in (copy / "pyproject.toml").read_text()
    load_course(copy).address(old)
    for path in copy.rglob("*.*"):
        assert path.read_bytes() == (ROOT / path.relative_to(copy)).read_bytes()


NO_ADDRESS = ["", "ada", "https://github.com/ada/course", "a/b/c", "a b/c", "ada/", "ada/cöurse"]
NO_ADDRESS += ["../..", "./.", "ada/..", "ada/.", "-ada/b", ".ada/b", "ada/b.git", 40 * "a" + "/b"]


@pytest.mark.parametrize("wrong", NO_ADDRESS)
def test_what_is_no_address_is_refused(copy, wrong):
    with pytest.raises(SystemExit, match=f"OWNER/NAME.*not {re.escape(repr(wrong))}"):
        load_course(copy).address(wrong)


@pytest.mark.parametrize("damage", [b"<<<<<<< HEAD\n", "Größe".encode("latin-1"), b"[]"])
def test_a_notebook_that_cannot_be_read_stops_a_change_of_address_before_it_begins(copy, damage):
    notebook = copy / "notebooks" / "04_torchscript.ipynb"
    good = notebook.read_bytes()
    notebook.write_bytes(damage)
    before = contents(copy)
    with pytest.raises(SystemExit, match=r"04_torch.* can't be read.*nothing was changed"):
        load_course(copy).address("ada/course")
    assert contents(copy) == before
    notebook.write_bytes(good)
    load_course(copy).address("ada/course")
    old = ADDRESS.removeprefix("https://github.com").encode()
    assert [path.name for path, text in contents(copy).items() if old in text] == []


def test_a_change_of_address_keeps_the_ends_of_lines(copy):
    for path, text in contents(copy).items():
        path.write_bytes(text.replace(b"\n", b"\r\n"))
    lines = {path: text.count(b"\r\n") for path, text in contents(copy).items()}
    load_course(copy).address("ada/course")
    assert b"github.com/ada/course" in (copy / "README.md").read_bytes()
    for path, text in contents(copy).items():
        assert text.count(b"\n") == text.count(b"\r\n") == lines[path], path.name


@pytest.mark.parametrize("version", [(3, 8, 1), (3, 10, 13), (3, 14, 0), (4, 0, 0)])
def test_another_python_is_told_at_once(copy, monkeypatch, version):
    course = load_course(copy)
    monkeypatch.setattr(course.sys, "version_info", version)
    with pytest.raises(SystemExit, match=rf"this is {version[0]}\.{version[1]}\."):
        course.set_up()
    assert not course.VENV.exists()


def test_the_pythons_are_the_same_everywhere():
    versions = [".".join(map(str, version)) for version in load_course(ROOT).PYTHONS]
    assert PROJECT["project"]["requires-python"] == f">={versions[0]}"
    workflow = (ROOT / ".github/workflows/check.yml").read_text(encoding="utf-8")
    assert re.findall(r'"(3\.\d+)"', workflow) == versions
    assert "Python 3.11, 3.12 or 3.13" in README


@pytest.fixture
def installed(copy, monkeypatch):
    """The course in a copy with an environment, and the list of what it calls from now on."""
    course, commands = load_course(copy), []

    def call(command, cwd):
        commands.append([str(part) for part in command])
        if "--clear" in command:
            shutil.rmtree(course.VENV)
        if "venv" in command and not course.VENV_PYTHON.exists():
            course.VENV_PYTHON.parent.mkdir(parents=True, exist_ok=True)
            course.VENV_PYTHON.symlink_to(sys.executable)
        return 0

    monkeypatch.setattr(subprocess, "call", call)
    course.set_up()
    assert [command[1:3] for command in commands] == [["-m", "venv"], ["-m", "pip"]]
    assert commands[0][3:] == [str(course.VENV)]
    assert commands[1][-4:] == ["-r", "requirements.txt", "-e", "."]
    commands.clear()
    return course, commands


def new_requirement(course):
    with (course.ROOT / "requirements.txt").open("a") as file:
        file.write("# another\n")


def upgrade_that_removed_python(course):
    course.VENV_PYTHON.unlink()
    course.VENV_PYTHON.symlink_to("gone")


def upgrade_to_another_python(course):
    course.VENV_PYTHON.unlink()
    course.VENV_PYTHON.write_text("#!/bin/sh\necho 3 99\n")
    course.VENV_PYTHON.chmod(0o755)


def python_lost(course):
    course.VENV_PYTHON.unlink()


def record_damaged(course):
    (course.VENV / "made-from").write_bytes(b"\xff")


@pytest.mark.parametrize(
    ("change", "cleared"),
    [
        (new_requirement, False),
        (upgrade_that_removed_python, True),
        (upgrade_to_another_python, False),
        (python_lost, False),
        (record_damaged, False),
    ],
)
def test_the_environment_is_made_once_and_again_when_it_no_longer_fits(installed, change, cleared):
    course, commands = installed
    course.set_up()
    assert commands == []
    change(course)
    course.set_up()
    assert [command[1:3] for command in commands] == [["-m", "venv"], ["-m", "pip"]]
    assert ("--clear" in commands[0]) == cleared
    course.set_up()
    assert len(commands) == 2


@pytest.mark.parametrize("move", [shutil.copytree, shutil.move])
def test_a_copied_or_moved_checkout_gets_its_own_package(installed, tmp_path, move):
    here, commands = installed
    there = tmp_path.parent / f"{tmp_path.name}-elsewhere"
    move(here.ROOT, there)
    load_course(there).set_up()
    assert [command[0] for command in commands] == [
        sys.executable,
        str(there / here.VENV_PYTHON.relative_to(here.ROOT)),
    ]


def test_a_change_of_requirements_that_failed_half_way_is_not_taken_for_done(
    installed, monkeypatch
):
    course, commands = installed
    before = (course.ROOT / "requirements.txt").read_bytes()
    new_requirement(course)
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "call", lambda *a, **k: 1)
        with pytest.raises(SystemExit, match="did not work"):
            course.set_up()
    (course.ROOT / "requirements.txt").write_bytes(before)
    course.set_up()
    assert len(commands) == 2


def test_an_environment_that_somebody_else_made_is_used_as_it_is(copy, tmp_path, monkeypatch):
    folder = tmp_path / "theirs"
    monkeypatch.setenv("D2LHYBRID_VENV", str(folder))
    venv.create(folder, with_pip=False)
    course, commands = load_course(copy), []
    monkeypatch.setattr(course, "run", lambda command, **k: commands.append([*map(str, command)]))
    course.set_up()
    assert [command[1:3] for command in commands] == [["-m", "venv"], ["-m", "pip"]]
    assert "--clear" not in commands[0]


@pytest.mark.parametrize("file", ["work.txt", "pyvenv.cfg"])
def test_a_folder_that_somebody_else_uses_is_left_alone(copy, tmp_path, monkeypatch, file):
    folder = tmp_path / "mine"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to("gone")
    (folder / file).write_text("mine")
    monkeypatch.setenv("D2LHYBRID_VENV", str(folder))
    monkeypatch.setattr(subprocess, "call", lambda *a, **k: pytest.fail("nothing may be called"))
    with pytest.raises(SystemExit, match=r"not empty.*D2LHYBRID_VENV"):
        load_course(copy).set_up()
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
    assert copy / folder == load_course(copy).VENV


def test_refresh_starts_one_process_and_that_one_no_other(copy, monkeypatch):
    monkeypatch.setenv("D2LHYBRID_VENV", "notebooks/../vv")
    monkeypatch.chdir(copy)
    course, commands, done = load_course(copy), [], []
    monkeypatch.setattr(course, "set_up", lambda: None)
    monkeypatch.setattr(course, "run_notebook", lambda notebook: done.append(len(notebook.cells)))
    monkeypatch.setattr(subprocess, "call", lambda c, **k: commands.append([*map(str, c)]))
    monkeypatch.setattr(sys, "prefix", str(copy / "vv"))
    course.main("refresh", "notebooks/04_torchscript.ipynb")
    assert len(commands) == 1
    monkeypatch.chdir(copy / "notebooks")
    course.main(*commands[0][2:])
    assert len(commands) == 1
    assert done == [len(load(copy / "notebooks" / "04_torchscript.ipynb")["cells"])]


@pytest.mark.parametrize("obstacle", [".venv", ".venv/made-from/folder/file"])
def test_what_stands_in_the_way_is_named_without_a_traceback(copy, obstacle):
    (copy / obstacle).parent.mkdir(parents=True, exist_ok=True)
    (copy / obstacle).write_text("mine")
    command = [sys.executable, "course.py", "check"]
    said = subprocess.run(command, cwd=copy, capture_output=True, text=True).stderr
    assert re.match(r"That did not work: .*\.venv", said), said
    assert (copy / obstacle).read_text() == "mine"


def test_a_setting_up_that_failed_is_tried_again(copy, monkeypatch):
    course, commands = load_course(copy), []
    monkeypatch.setattr(subprocess, "call", lambda *a, **k: commands.append(a) or 1)
    for _ in range(2):
        with pytest.raises(SystemExit, match="did not work"):
            course.set_up()
    assert len(commands) == 2


SLOW = """
import sys, time
try:
    print("ready", flush=True)
    time.sleep(60)
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
        "import course, sys; course.set_up = lambda: None; course.VENV_PYTHON = sys.executable; "
        f"sys.exit(course.main({command!r}))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", start],
        cwd=copy,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert "ready\n" in process.stdout
        os.killpg(process.pid, signal.SIGINT)
        said, errors = process.communicate(timeout=20)
    assert (said, errors, process.returncode) == ("summary\n", "", 3)


def put_out(self):
    """What a run of the notebook `small` would put out."""
    for number, cell in enumerate(code_cells(self.nb), 1):
        cell.execution_count = number
        cell.outputs = [nbformat.v4.new_output("stream", text="one\ntwo\n")]


@pytest.fixture
def small(copy, monkeypatch):
    """A notebook of a thousand lines and a few cells; it needs no kernel to be run."""
    monkeypatch.setattr("nbclient.NotebookClient.execute", put_out)
    path = copy / "notebooks" / "10_small.ipynb"
    cells = [nbformat.v4.new_code_cell("for word in words:\n    print(word)", id="a")]
    cells.append(nbformat.v4.new_markdown_cell("A line.\n" * 1000, id="b"))
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def test_refresh_stores_outputs_and_their_fingerprint(copy, small):
    small.chmod(0o640)
    load_course(copy).run_notebooks(small)
    notebook = json.loads(small.read_bytes())
    assert code_cells(notebook)[0]["outputs"][0]["text"] == ["one\n", "two\n"]
    assert list(was_refreshed_after_the_last_change(notebook, small.name)) == []
    assert small.stat().st_mode & 0o777 == 0o640
    assert small.read_bytes().endswith(b"}\n")


@pytest.mark.parametrize(
    ("change", "runs"),
    [
        (lambda cells: cells[1].update(source="Another sentence."), 0),
        (lambda cells: cells[0].update(source="print('three')"), 1),
        (lambda cells: cells[0]["outputs"][0].update(text="three"), 1),
        (lambda cells: None, 1),
    ],
)
def test_refresh_runs_a_notebook_unless_only_its_text_was_changed(
    copy, small, change, runs, capsys
):
    course = load_course(copy)
    course.run_notebooks(small)
    notebook = json.loads(small.read_bytes())
    change(notebook["cells"])
    small.write_text(json.dumps(notebook))
    capsys.readouterr()
    course.run_notebooks(small)
    assert capsys.readouterr().out.count("running") == runs
    assert list(was_refreshed_after_the_last_change(json.loads(small.read_bytes()), "")) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda course: course.run_notebooks(course.NOTEBOOKS / "10_small.ipynb"),
        lambda course: course.address("ada/course"),
    ],
    ids=["refresh", "address"],
)
def test_a_full_disk_leaves_every_file_as_it_was(copy, small, change):
    resource = pytest.importorskip("resource")
    before, limits = contents(copy), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))  # no file may grow beyond it
    try:
        with pytest.raises(OSError, match="too large"):
            change(load_course(copy))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert contents(copy) == before


def test_slides_need_the_web_only_where_nothing_is_installed(copy, monkeypatch):
    course, commands = load_course(copy), []
    monkeypatch.setattr(course, "set_up", lambda: None)
    monkeypatch.setattr(
        course.subprocess, "call", lambda command: commands.append([*map(str, command)])
    )
    course.main("slides", str(copy / "notebooks" / "04_torchscript.ipynb"))
    assert commands[0][1:5] == ["-m", "nbconvert", "--to", "slides"]
    assert commands[0][-1] == str(copy / "notebooks" / "04_torchscript.ipynb")
    with pytest.raises(SystemExit, match=r"no notebook one\.ipynb"):
        course.main("slides", "one.ipynb")
    assert not any("node_modules" in part for part in commands[0])
    (copy / "node_modules").mkdir()
    course.main("slides")
    options = re.findall(r"--SlidesExporter\.(\w+)=", " ".join(commands[1]))
    assert {*options} <= {*SlidesExporter.class_trait_names()}  # others are ignored
    assert sum("node_modules" in part for part in commands[1]) == 3
    assert len([part for part in commands[1] if part.endswith(".ipynb")]) >= 3


def test_check_is_pytest_and_read_is_jupyterlab(copy, monkeypatch):
    course, commands = load_course(copy), []
    monkeypatch.setattr(course, "set_up", lambda: commands.append("set up"))
    monkeypatch.setattr(
        course.subprocess, "call", lambda command, cwd: commands.append(command) or 3
    )
    assert course.main("check", "-k", "name") == 3
    assert course.main("read") == 3
    assert commands[0] == commands[2] == "set up"
    assert commands[1][1:] == ["-m", "pytest", "-k", "name"]
    assert commands[3][1:3] == ["-m", "jupyterlab"]
    assert commands[3][3].name == "01_imperative_programs.ipynb"
    with pytest.raises(SystemExit, match="no command 'reed'"):
        course.main("reed")


@pytest.fixture
def crowded(copy):
    """A copy whose notebooks stand among others that JupyterLab made."""
    for name in ("01_imperative_programs-Copy1", "Untitled", "01_imperative_programs-checkpoint"):
        shutil.copy(copy / "notebooks" / "04_torchscript.ipynb", copy / f"notebooks/{name}.ipynb")
    return copy


OWN = sorted(path.name for path in course.course_notebooks())


def test_notebooks_that_jupyterlab_makes_are_no_part_of_the_course(crowded, monkeypatch, capsys):
    course, commands = load_course(crowded), []
    monkeypatch.setattr(course, "set_up", lambda: None)
    monkeypatch.setattr(subprocess, "call", lambda c, **k: commands.append([*map(str, c)]))
    for command in ("read", "slides", "refresh"):
        course.main(command)
    found = [[os.path.basename(word) for word in c if word.endswith(".ipynb")] for c in commands]
    assert found == [["01_imperative_programs.ipynb"], OWN, OWN]
    course.address("ada/course")
    assert sorted(re.findall(r"notebooks.(.+)", capsys.readouterr().out)) == OWN


@pytest.mark.parametrize(
    ("named", "run"), [("notebooks", OWN), ("notebooks/Untitled.ipynb", ["Untitled.ipynb"])]
)
def test_pytest_runs_the_courses_notebooks_or_those_named(crowded, named, run):
    shutil.copy(ROOT / "conftest.py", crowded)
    (crowded / "temporary").mkdir()
    collected = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", named],
        cwd=crowded,
        env={**os.environ, "TMPDIR": str(crowded / "temporary")},
        capture_output=True,
        text=True,
    ).stdout
    assert sorted(set(re.findall(r"^notebooks/(.*)::", collected, re.MULTILINE))) == run
    assert list((crowded / "temporary").iterdir()) == []


def test_help(copy, capsys):
    load_course(copy).main()
    assert "python3 course.py read" in capsys.readouterr().out


def test_pinned_versions_satisfy_the_packages_ranges():
    def numbers(version):
        return [int(part) for part in version.split(".")]

    extras = PROJECT["project"]["optional-dependencies"].values()
    for requirement in sum(extras, PROJECT["project"]["dependencies"]):
        name, least = requirement.split(">=")
        assert numbers(PINS[name]) >= numbers(least)
    colab = {"torch": "2.11.0", "matplotlib": "3.10.0"}
    for requirement in PROJECT["project"]["dependencies"]:
        name, least = requirement.split(">=")
        assert numbers(colab.get(name, PINS[name])) >= numbers(least)


def test_pre_commit_uses_the_same_ruff():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert set(re.findall(r"ruff==([\d.]+)", hooks)) == {PINS["ruff"]}


def test_readme_links_lead_somewhere():
    for name in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        targets = re.findall(r"\]\(([^)\s]+)\)", text)
        assert targets
        for target in targets:
            assert target.startswith("https://") or (ROOT / target).exists(), f"{name}: {target}"
    for path in course.course_notebooks():
        assert f"](notebooks/{path.name})" in README


def test_readme_gives_the_two_commands():
    for command in ("read", "check"):
        assert re.search(rf"^python3 course\.py {command}$", README, re.MULTILINE)
        assert re.search(rf"^py course\.py {command}$", README, re.MULTILINE)


def test_readme_picture_is_the_notebooks_own():
    pictures = {}
    for path in course.course_notebooks():
        pictures.update(course.pictures(json.loads(path.read_bytes())))
    files = {path.stem: path.read_bytes() for path in (ROOT / "img").glob("*.png")}
    assert files
    assert files == pictures
    for name in files:
        assert f"](img/{name}.png)" in README


def test_a_cell_is_reported_by_its_number_in_jupyterlab_and_with_both_outputs(copy):
    for file in ("conftest.py", "tests/sanitize.cfg"):
        (copy / file).parent.mkdir(exist_ok=True)
        (copy / file).write_bytes((ROOT / file).read_bytes())
    path = copy / "notebooks" / "01_imperative_programs.ipynb"
    text = path.read_text(encoding="utf-8")
    assert text.count('"24\\n"') == 1
    path.write_text(text.replace('"24\\n"', '"25\\n"'), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "--color=no", path]
    report = subprocess.run(command, cwd=copy, capture_output=True, text=True).stdout
    outputs = {c["execution_count"]: c["outputs"] for c in code_cells(json.loads(text))}
    number = next(n for n, found in outputs.items() if found and found[0].get("text") == ["24\n"])
    assert f"\nFAILED notebooks/01_imperative_programs.ipynb::Cell {number} - " in report
    assert f"Cell {number}: Cell outputs differ" in report
    assert "The page says (stdout):\n    25\n" in report
    assert "This machine says (stdout):\n    24\n" in report
    assert " 1 failed" in report
