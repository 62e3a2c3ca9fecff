"""`course.py bundle`: the course in one folder, for a room without a network."""

import platform
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from . import environment, site, teaching, translate
from .files import ROOT, SLIDES

START = """\
# The course, without a network

Copy this folder to your disk, and open a terminal in the copy:

    python3 course.py read

On Windows, `py course.py read`. What is installed comes from `wheels/`; nothing is downloaded.
That takes a Python and a system of this list:

"""


def bundle(folder="bundle", frameworks=False):
    """Put all that a room without a network needs into a folder, for a USB stick.

    It fits the Python and the system that made it. Made again with another Python, or on another
    system, the same folder fits these, too.
    """
    folder = Path(folder).resolve()
    environment.set_up()
    copy_course(folder)
    environment.carry_out(*downloads(folder / environment.WHEELS.name, frameworks))
    copy_decks(folder)
    if site.HTML.is_dir():
        shutil.copytree(site.HTML, folder / site.HTML.relative_to(ROOT), dirs_exist_ok=True)
    else:
        print("Pages are left out: `course.py site` has not made them.")
    start, here = folder / "START.md", f"- Python {version()}, {system()}\n"
    said = start.read_text("utf-8") if start.exists() else START
    start.write_text(said if here in said else said + here, "utf-8")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{folder} holds {size / 1e9:.1f} GB, and START.md there says what to do.")


def version():
    return "{}.{}".format(*sys.version_info)


def system():
    return f"{platform.system()} {platform.machine()}"


def copy_course(folder):
    """Copy the files that git knows, as they are now; what else lies here may be private."""
    try:
        said = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, encoding="utf-8")
    except (OSError, subprocess.CalledProcessError):
        said = ""
    names = [name for name in said.split("\0") if (ROOT / name).is_file()]
    if "course.py" not in names:
        sys.exit("A bundle is made from a clone: git has to say which files are the course's.")
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)


def downloads(folder, frameworks):
    """The commands that download the wheels of all that `environment` installs."""
    pip = [*environment.pip("download"), "--only-binary=:all:", f"--dest={folder}"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    builder = [*project["build-system"]["requires"], "editables"]  # for `pip install -e .`
    yield [*pip, "-r", "requirements.txt", *builder]
    if frameworks:
        for options, requirements in environment.framework_requirements().values():
            yield [*pip, *options, "-c", "requirements.txt", *requirements]


def copy_decks(folder):
    """Make decks, and copy them with what shows them, if that is here."""
    shows = ROOT / "node_modules" / "reveal.js"
    if not shows.is_dir():
        print(f"Decks are left out: they need `npm install --no-save {teaching.REVEAL}` first.")
        return
    for language in ["en", *translate.languages()]:
        teaching.slides(language=language)
    for path in (SLIDES, shows):
        shutil.copytree(path, folder / path.relative_to(ROOT), dirs_exist_ok=True)
