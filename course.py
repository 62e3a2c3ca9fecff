"""The course's commands. Python alone runs this file; it sets up all the rest in .venv, or in the
folder that the environment variable D2LHYBRID_VENV names.

python3 course.py read                  open JupyterLab at the first notebook
python3 course.py check [ARGUMENTS]     run every test and every notebook cell (pytest)
python3 course.py slides [NOTEBOOKS]    make a deck of slides of each notebook
python3 course.py refresh [NOTEBOOKS]   run notebooks afresh and store their outputs
python3 course.py address OWNER/NAME    for a fork: change the GitHub address everywhere
"""

import base64
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

PYTHONS = ((3, 11), (3, 12), (3, 13))
ROOT = Path(__file__).resolve().parent
# A relative path counts from where the command was typed, as everywhere in a terminal.
VENV = Path(os.path.realpath(os.environ.get("D2LHYBRID_VENV") or ROOT / ".venv"))
VENV_PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
NOTEBOOKS = ROOT / "notebooks"


def main(command="", *arguments):
    for function in (read, check, slides, refresh, address, run_notebooks):
        if function.__name__ == command:
            return function(*arguments)
    if command in ("", "-h", "--help"):
        return print(__doc__)
    sys.exit(f"There is no command {command!r}.\n\n{__doc__}")


def read():
    set_up()
    command = [VENV_PYTHON, "-m", "jupyterlab", course_notebooks()[0]]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # in a container there may be no other user
    return run(command, cwd=ROOT)


def check(*arguments):
    set_up()
    return run([VENV_PYTHON, "-m", "pytest", *arguments], cwd=ROOT)


def slides(*paths):
    set_up()
    options = {"reveal_width": 1280, "reveal_height": 960, "reveal_number": "c"}
    if (ROOT / "node_modules").exists():  # what shows the deck is here: no network is needed
        options["reveal_url_prefix"] = "../node_modules/reveal.js"
        options["require_js_url"] = "../node_modules/requirejs/require.js"
        options["jquery_url"] = "../node_modules/jquery/dist/jquery.min.js"
    settings = [f"--SlidesExporter.{name}={value}" for name, value in options.items()]
    command = [VENV_PYTHON, "-m", "nbconvert", "--to", "slides", *settings]
    return run([*command, *notebooks(paths)])


def refresh(*paths):
    set_up()
    # The rest happens inside the environment, where nbclient is.
    return run([VENV_PYTHON, __file__, "run_notebooks", *notebooks(paths)])


def address(new=""):
    if not re.fullmatch(r"[A-Za-z0-9][\w-]{,38}/(?!\.\.?$)[\w.-]{1,100}(?<!\.git)", new, re.ASCII):
        sys.exit(f"The address is the OWNER/NAME of a GitHub repository, not {new!r}.")
    project = ROOT / "pyproject.toml"
    old = re.search(r'Repository = "https://github\.com/(.+)"', project.read_text("utf-8")).group(1)
    changes = {}
    # pyproject.toml comes last: if this is stopped before, the same command finishes the work.
    for path in [*ROOT.glob("*.md"), *course_notebooks(), project]:
        try:
            text = path.read_bytes().decode()  # bytes: line ends stay as they are
            changed = re.sub(rf"(github(?:\.com)?)/{re.escape(old)}(?![\w-])", rf"\1/{new}", text)
            if path.suffix == ".ipynb":  # its first cell is another now
                mark, new_mark = (fingerprint(json.loads(t)) for t in (text, changed))
                changed = changed.replace(mark, new_mark)
        except (ValueError, LookupError, TypeError) as error:  # no UTF-8, no JSON, no notebook
            sys.exit(f"{path} can't be read: {error}. Mend it first; nothing was changed.")
        if changed != text:
            changes[path] = changed
    for path, text in changes.items():
        write(path, text.encode())
        print("changed", path.relative_to(ROOT))


def course_notebooks():
    """The course's own notebooks, in order, without copies and new ones that JupyterLab made."""
    paths = NOTEBOOKS.glob("*.ipynb")
    return sorted(path for path in paths if re.fullmatch(r"\d\d_\w+", path.stem))


def notebooks(paths):
    """The notebooks named, or all of the course."""
    for path in map(Path, paths):
        if not path.is_file():
            sys.exit(f"There is no notebook {path}.")
    return [Path(path).resolve() for path in paths] or course_notebooks()


def set_up():
    """Make the environment, unless it is there and made from these very requirements."""
    if sys.version_info[:2] not in PYTHONS:
        sys.exit(
            "The course runs on Python 3.11, 3.12 or 3.13, and this is {}.{}. Install one of "
            "them, and start this command with it.".format(*sys.version_info)
        )
    done = VENV / "made-from"
    if done.is_file() and done.read_bytes() == made_from():
        return
    ours = VENV == ROOT / ".venv" or done.exists() or not VENV.is_dir() or not any(VENV.iterdir())
    if not ours and not ((VENV / "pyvenv.cfg").exists() and version_inside()):
        sys.exit(
            f"{VENV} is not empty, and no environment that works. Let D2LHYBRID_VENV name a new "
            "folder; nothing was changed."
        )
    print("Setting up", VENV, "- once; torch is large, so it may take some minutes.", flush=True)
    VENV.mkdir(parents=True, exist_ok=True)
    done.write_bytes(b"")  # marks the folder as the course's, and as not done
    make = [sys.executable, "-m", "venv", VENV]
    if os.path.lexists(VENV_PYTHON) and not version_inside():
        make.append("--clear")  # venv does not replace a Python that is there but no longer runs
    install = [VENV_PYTHON, "-m", "pip", "install", "--disable-pip-version-check"]
    for step in (make, [*install, "-r", "requirements.txt", "-e", "."]):
        if run(step, cwd=ROOT):
            sys.exit("That did not work; see above. Mend it and start this command again.")
    done.write_bytes(made_from())


def made_from():
    """A digest of the requirements, of this folder and of the environment's Python version.

    A copied or moved environment imports the package from the old folder, and an upgrade of the
    system may change the Python that the environment refers to.
    """
    files = [(ROOT / name).read_bytes() for name in ("requirements.txt", "pyproject.toml")]
    content = b"\n".join([*files, os.fsencode(ROOT), version_inside()])
    return hashlib.sha256(content).hexdigest().encode()


def version_inside():
    """The environment's Python version, such as b"3 11"; empty if there is none that runs."""
    command = [VENV_PYTHON, "-c", "import sys; print(*sys.version_info[:2])"]
    try:
        return subprocess.run(command, capture_output=True).stdout
    except OSError:
        return b""


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


def write(path, content):
    """Replace what a file holds: all of it, or nothing if the disk is full or this is killed."""
    path = Path(os.path.realpath(path))
    beside = path.with_name(f"{path.name}.new")
    try:
        beside.write_bytes(content)
        if path.exists():
            shutil.copymode(path, beside)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def run_notebooks(*paths):
    """Run notebooks, given by their full paths, with the Python that runs this file."""
    import nbformat

    for path in map(Path, paths):
        notebook = nbformat.read(path, as_version=4)
        stored, now = notebook.metadata.get("outputs_of", ""), fingerprint(notebook)
        if stored != now and stored[:8] == now[:8]:
            print(f"{path.name}: only text, tags or slides were changed. Its outputs are kept;")
            print("to run it all the same, refresh it once more")
        else:
            print("running", path.name, flush=True)
            run_notebook(notebook)
        store(notebook, path)


def run_notebook(notebook):
    """Run a notebook from top to bottom on a fresh kernel."""
    from nbclient import NotebookClient

    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    os.environ.pop("MPLBACKEND", None)  # the kernel's own backend, as for a reader
    NotebookClient(
        notebook,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(NOTEBOOKS)}},
    ).execute()


def store(notebook, path):
    """Write a notebook, with its fingerprint, and its pictures for the README."""
    import nbformat

    # Only what is the same on every machine: no version of the Python that happened to run it.
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    notebook.metadata["outputs_of"] = fingerprint(notebook)
    write(path, f"{nbformat.writes(notebook)}\n".encode())
    for name, png in pictures(notebook).items():
        write(ROOT / "img" / f"{name}.png", png)


def fingerprint(notebook):
    """Eight digits that change with a notebook's code or stored outputs, and eight with any cell.

    nbval compares neither pictures nor figures that were measured. The first eight digits show
    when such an output is no longer the one that the code has put out; the others, when prose, a
    tag or a slide is no longer what its author stored.
    """

    def joined(part):  # a file may hold a text as one string or as a list of lines
        if isinstance(part, dict):
            return {key: joined(value) for key, value in part.items()}
        if isinstance(part, list):
            lines = all(isinstance(value, str) for value in part)
            return "".join(part) if lines else [joined(value) for value in part]
        return part

    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    run = [[cell["source"], cell["outputs"]] for cell in code]
    texts = [json.dumps(joined(part), sort_keys=True) for part in (run, notebook["cells"])]
    return "-".join(hashlib.sha256(text.encode()).hexdigest()[:8] for text in texts)


def pictures(notebook):
    """The pictures for the README: a cell tagged img:NAME makes img/NAME.png."""
    return {
        tag[4:]: base64.b64decode("".join(output["data"]["image/png"]))
        for cell in notebook["cells"]
        for tag in cell["metadata"].get("tags", [])
        if tag.startswith("img:")
        for output in cell["outputs"]
        if "image/png" in output["data"]
    }


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except OSError as error:  # a full disk, or a folder that can't be written to
        sys.exit(f"That did not work: {error}.")
