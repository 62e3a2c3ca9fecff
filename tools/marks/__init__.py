"""`course.py marks`: judge what a class has handed in.

`hand_ins` finds out what was handed in, `processes` runs it where it can do little harm, `answers`
judges it, `pages` writes what came of it, and `python -m tools.marks` does all that.
"""

import os
import sys
from pathlib import Path

from .. import environment
from ..files import MARKS, ROOT

PASSED_ON = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR")


def marks(folder, to=None, feedback=False, limit=20, memory=2048):
    """Judge the exercises in notebooks that students handed in: a table in marks/.

    This runs strangers' code. Each answer has a process, a home and limits of its own, and where
    the system allows it no network; that contains mishaps, not malice. So run it in a container or
    on a machine that holds nothing of yours.

    FOLDER, or a zip, holds what a learning platform gives you: notebooks in folders or zips, with
    a student's name before theirs. Nothing is written there. marks.csv and marks.html say for
    each student and exercise: right, not right, not yet, error, or time; nothing stands where
    nothing was handed in, and "not judged" where the course's own solution does not pass here.
    """
    if os.name != "posix":
        sys.exit("Answers are judged on Linux or macOS. On Windows use WSL, or a container.")
    if limit <= 0 or memory <= 0:
        sys.exit("--limit and --memory must be above 0.")
    folder, to = Path(folder).resolve(), Path(to or MARKS).resolve()
    if not folder.exists():
        sys.exit(f"There is no folder {folder}.")
    if folder in (to, *to.parents):
        sys.exit(f"{to} is in the folder of what was handed in. Choose another with --to.")
    environment.set_up()
    clean = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    clean["PYTHONIOENCODING"] = "utf-8:replace"
    command = [environment.VENV_PYTHON, "-m", "tools.marks", folder, to, str(limit), str(memory)]
    return environment.run([*command, *["--feedback"] * feedback], cwd=ROOT, env=clean)
