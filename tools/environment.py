"""The environment in which the course runs: .venv, or the folder that D2LHYBRID_VENV names."""

import functools
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from .files import ROOT

# A relative path counts from the folder in which the command was typed.
VENV = Path(os.path.realpath(os.environ.get("D2LHYBRID_VENV") or ROOT / ".venv"))
VENV_PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
WHEELS = ROOT / "wheels"  # where a bundle has all that is installed
PATIENCE = 120  # seconds until a Python that was asked something is taken for broken


def set_up():
    """Make the environment, unless it is there and made from these very requirements."""
    done = VENV / "made-from"
    if done.is_file() and done.read_bytes() == made_from():
        return
    ours = VENV == ROOT / ".venv" or done.exists() or not VENV.is_dir() or not any(VENV.iterdir())
    if not ours and not ((VENV / "pyvenv.cfg").exists() and version_inside()):
        sys.exit(
            f"{VENV} is not empty, and it is not an environment that works. Let D2LHYBRID_VENV "
            "name a new folder; nothing was changed."
        )
    print("Setting up", VENV, "- once; torch is large, so it may take some minutes.", flush=True)
    VENV.mkdir(parents=True, exist_ok=True)
    done.write_bytes(b"")  # marks the folder as the course's, and as not done
    make = [sys.executable, "-m", "venv", VENV]
    if os.path.lexists(VENV_PYTHON) and not version_inside():
        make.append("--clear")  # venv does not replace a Python that is there but no longer runs
    carry_out(make, [*pip_install(), "-r", "requirements.txt", "-e", "."])
    done.write_bytes(made_from())


def for_pages():
    """The Python of the environment that makes the pages, beside the course's; it is made first."""
    folder = VENV.with_name(f"{VENV.name}-site")
    python, done = folder / VENV_PYTHON.relative_to(VENV), folder / "made-from"
    requirements = (ROOT / "requirements-site.txt").read_bytes()
    if not (done.is_file() and done.read_bytes() == requirements and python.exists()):
        if folder.exists() and not done.exists():
            sys.exit(f"{folder} is not the course's. Move it away, since it would be replaced.")
        print("Setting up", folder, "- once; it takes about a minute.", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        done.write_bytes(b"")  # marks the folder as the course's, and as not done
        install = [python, *pip_install()[1:], "-r", "requirements-site.txt"]
        carry_out([sys.executable, "-m", "venv", folder], install)
        done.write_bytes(requirements)
    return python


def carry_out(*steps):
    """Run one command after the other. SystemExit where one fails."""
    for step in steps:
        if run(step, cwd=ROOT):
            sys.exit("That did not work; see above. Start this command again when it is mended.")


def pip(verb):
    return [VENV_PYTHON, "-m", "pip", verb, "--disable-pip-version-check"]


def pip_install():
    only = ["--no-index", f"--find-links={WHEELS}"] if WHEELS.is_dir() else []
    return [*pip("install"), *only]


def made_from(more=""):
    """A digest of the requirements, of this folder and of the environment's Python version.

    The folder counts because a copied or moved environment imports the package from the old
    folder; the version, because an upgrade of the system may change the environment's Python.
    CITATION.cff counts because it names the package's version, which pip stores.
    """
    names = ("requirements.txt", "pyproject.toml", "CITATION.cff")
    files = [(ROOT / name).read_bytes() for name in names]
    content = b"\n".join([*files, os.fsencode(ROOT), version_inside(), more.encode()])
    return hashlib.sha256(content).hexdigest().encode()


def version_inside():
    """The environment's Python version, such as b"3 11"; empty if there is none that runs."""
    return answer_of("import sys; print(*sys.version_info[:2])") or b""


def answer_of(program, *arguments):
    """What the environment's Python prints for a program, in bytes; None where it fails."""
    command = [VENV_PYTHON, "-c", program, *arguments]
    try:
        return subprocess.check_output(
            command, cwd=VENV, stderr=subprocess.DEVNULL, timeout=PATIENCE
        )
    except (OSError, subprocess.SubprocessError):
        return None


def is_installed(name):
    """Whether the environment has a package, by the name under which it is imported."""
    find = "import sys, importlib.util; sys.exit(not importlib.util.find_spec(sys.argv[1]))"
    return answer_of(find, name) is not None


def frameworks(names=()):
    """Install the frameworks of some notebooks, or those named."""
    known = framework_requirements()
    for name in names:
        if name not in known:
            sys.exit(f"There is no framework {name!r} here. There are: {', '.join(known)}.")
    set_up()
    return add_frameworks(names or known)


def add_frameworks(names):
    """Install those of the frameworks that are missing, each by itself. Returns an exit status.

    Where one can't be installed, the others are, and the check leaves out its notebook.
    """
    status = 0
    for name in names:
        options, requirements = framework_requirements()[name]
        done, made = mark(name), made_from("\n".join(requirements))
        if done.is_file() and done.read_bytes() == made:
            continue
        print("Adding", name, "- once; it is large, so it may take some minutes.", flush=True)
        if run([*pip_install(), *options, "-c", "requirements.txt", *requirements], cwd=ROOT):
            print(f"{name} was not installed; see above. All else works without it.", flush=True)
            status = 1
            continue
        if not is_installed(name):
            print(f"There is no {name} for this system. All else works without it.", flush=True)
        done.write_bytes(made)
    return status


def mark(name):
    """The file that says that a framework has been asked for; there may be no wheel of it."""
    return VENV / f"made-from-{name}"


@functools.cache
def framework_requirements():
    """name -> options and requirements for pip, of each block of requirements-frameworks.txt."""
    found = {}
    text = (ROOT / "requirements-frameworks.txt").read_text("utf-8")
    for block in text.split("\n\n")[1:]:
        name = re.match(r"# (\w+)", block)[1]
        alone = re.findall(r"^#--no-deps (.+)", block, re.MULTILINE)
        usual = re.findall(r"^[^#\n].*", block, re.MULTILINE)
        found[name] = (["--no-deps"], alone) if alone else ([], usual)
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
