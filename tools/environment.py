"""The environment in which the course runs: .venv, or the folder that D2LHYBRID_VENV names."""

import functools
import hashlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from .files import ROOT

# A relative path counts from the folder in which the command was typed.
VENV = Path(os.path.realpath(os.environ.get("D2LHYBRID_VENV") or ROOT / ".venv"))
VENV_PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
WHEELS = ROOT / "wheels"  # for a room without a network: pip takes all from there


def set_up():
    """Make the environment, unless it is there and made from these very requirements."""
    # CITATION.cff names the package's version, which pip stores. The package is installed from
    # ROOT by its whole path, so that a copied or moved checkout gets an environment of its own.
    made_from = ("requirements.txt", "pyproject.toml", "CITATION.cff")
    make(VENV, made_from, "-r", "requirements.txt", "-e", ROOT)


def for_pages():
    """Make the environment that builds the pages, beside the course's. Returns its Python."""
    folder = VENV.with_name(f"{VENV.name}-site")
    return make(folder, ["requirements-site.txt"], "-r", "requirements-site.txt")


def make(folder, files, *requirements):
    """Make a virtual environment, once, and again when one of the files changes.

    Returns its Python. SystemExit where the folder holds anything else, or where a step fails.
    """
    python = folder / VENV_PYTHON.relative_to(VENV)
    done = folder / "made-from"
    clone = f"\n{requirements[-1]}"  # where the package is installed from
    made_from = digest(requirements, *((ROOT / file).read_bytes() for file in files)) + clone
    if is_done(done, made_from) and works(python):
        return python
    other = done.read_text().partition("\n")[2] if done.exists() else ""
    if ROOT not in (Path(other or ROOT), *folder.parents) and Path(other, "tools").exists():
        sys.exit(f"{folder} belongs to {other}. Set D2LHYBRID_VENV to a new folder.")
    ours = done.exists() or not (folder.exists() and any(folder.iterdir()))
    if not ours and not (folder / "pyvenv.cfg").exists():
        sys.exit(f"{folder} is not empty, nor an environment. Set D2LHYBRID_VENV to a new folder.")
    print("Setting up", folder, "(only once; large packages may take a few minutes)", flush=True)
    # venv does not mend an environment that an upgrade of the system has broken.
    clear = ["--clear"] if done.exists() and not works(python) else []
    folder.mkdir(parents=True, exist_ok=True)
    done.write_text(clone)  # the folder is the course's, and not done
    venv = [sys.executable, "-m", "venv", *clear, folder]
    for step in (venv, [*pip_install(python), *requirements]):
        if run(step, cwd=ROOT):
            sys.exit("That did not work; see above. Fix that, and start this command again.")
    done.write_text(made_from)
    return python


def digest(*parts):
    """A text that changes with any of the parts."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def is_done(record, made_from):
    """Whether the file `record` holds exactly the digest `made_from`."""
    return record.is_file() and record.read_bytes() == made_from.encode()


def works(python):
    """Whether a Python runs and finds what is installed beside it."""
    command = [python, "-c", "import pip"]
    return python.exists() and not subprocess.call(command, stderr=subprocess.DEVNULL)


def pip_install(python=VENV_PYTHON):
    """The command that installs what follows it, from WHEELS alone where that folder is."""
    only = ["--no-index", f"--find-links={WHEELS}"] if WHEELS.is_dir() else []
    return [python, "-m", "pip", "install", "--disable-pip-version-check", *only]


def frameworks(names=()):
    """Install the named frameworks, or all that the notebooks use."""
    known = framework_requirements()
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"There is no framework {unknown[0]!r} here. Available: {', '.join(known)}.")
    set_up()
    return add_frameworks(names or known)


def add_frameworks(names):
    """Install those of the frameworks that are missing, each by itself. Returns an exit status.

    Where one can't be installed, the others are, and the check leaves out its notebook. One that
    has no wheel for this system is passed over, as pip says.
    """
    status = 0
    for name in names:
        requirements = framework_requirements()[name]
        made_from = digest((VENV / "made-from").read_text(), requirements)
        if is_done(record(name), made_from):
            continue
        print("Adding", name, "(only once; it is large and may take a few minutes)", flush=True)
        if run([*pip_install(), "-c", "requirements.txt", *requirements], cwd=ROOT):
            print(f"{name} was not installed; see above. The rest works without it.", flush=True)
            status = 1
        else:
            record(name).write_text(made_from)
    return status


def record(name):
    """The file that says that a framework has been asked for; there may be no wheel of it."""
    return VENV / f"made-from-{name}"


@functools.cache
def framework_requirements():
    """Name -> what pip is to install, from the blocks of requirements-frameworks.txt."""
    text = (ROOT / "requirements-frameworks.txt").read_text("utf-8")
    found = {}
    for block in text.split("\n\n")[1:]:
        lines = re.findall(r"^(?:#(--no-deps) )?([^#\n].*)", block, re.MULTILINE)
        found[re.match(r"# (\w+)", block)[1]] = [one for line in lines for one in line if one]
    return found


def run(command, **options):
    """Run a command to its end, and return its exit status.

    Ctrl+C reaches the command, too, which may ask a question or sum up. So this process waits.
    """
    # A handler that does nothing, not SIG_IGN: that would be passed on to the command.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.call(command, **options)
    finally:
        signal.signal(signal.SIGINT, before)
