"""The course's commands. They need nothing but Python: the rest is installed into .venv, or into
the folder that the environment variable D2LHYBRID_VENV names.

python3 course.py read                  open JupyterLab at the first notebook
python3 course.py check [ARGUMENTS]     run every test and every notebook cell (pytest)
python3 course.py slides [NOTEBOOKS]    make a deck of slides of each notebook
python3 course.py refresh [NOTEBOOKS]   run notebooks afresh and store their outputs
python3 course.py contents              write README's table of notebooks from course.toml
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
# A relative path counts from the folder in which the command was typed.
VENV = Path(os.path.realpath(os.environ.get("D2LHYBRID_VENV") or ROOT / ".venv"))
VENV_PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
NOTEBOOKS = ROOT / "notebooks"


def main(command="", *arguments):
    if command in ("", "-h", "--help"):
        return print(__doc__)
    if sys.version_info[:2] not in PYTHONS:
        sys.exit(
            "The course runs on Python 3.11, 3.12 or 3.13, and this is {}.{}. Install one of "
            "them, and start this command with it.".format(*sys.version_info)
        )
    for function in (read, check, slides, refresh, contents, address, run_notebooks):
        if function.__name__ == command:
            return function(*arguments)
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
    *_, project = paths = files_with_address()
    old = re.search(r'Repository = "https://github\.com/(.+)"', project.read_text("utf-8")).group(1)
    changes = {}
    for path in paths:
        try:
            text = path.read_bytes().decode()  # bytes: line ends stay as they are
            changed = re.sub(rf"(github(?:\.com)?)/{re.escape(old)}(?![\w-])", rf"\1/{new}", text)
            if path.suffix == ".ipynb":  # its first cell has changed, so its fingerprint does
                mark, new_mark = (fingerprint(json.loads(t)) for t in (text, changed))
                changed = changed.replace(mark, new_mark)
        except (ValueError, LookupError, TypeError) as error:  # no UTF-8, no JSON, no notebook
            sys.exit(f"{path} can't be read: {error}. Mend it first; nothing was changed.")
        if changed != text:
            changes[path] = changed
    for path, text in changes.items():
        write(path, text.encode())
        print("changed", path.relative_to(ROOT))


def files_with_address():
    """The files that may name the address of the repository.

    pyproject.toml comes last: `address` reads the old address there, so that a change which was
    stopped is finished by the same command.
    """
    documents = [*ROOT.glob("*.md"), *ROOT.glob("*.cff")]
    return [*documents, *course_notebooks(), ROOT / "pyproject.toml"]


def contents():
    """Write README's table of notebooks, which stands between two marks."""
    readme = (ROOT / "README.md").read_text("utf-8")
    write(ROOT / "README.md", with_contents(readme).encode())


def with_contents(readme, language="en"):
    """The text of a README with its table of notebooks as course.toml has it."""
    rows = ["", "| | | minutes |", "| --- | --- | --- |"]
    for part in manifest()["parts"]:
        rows.append(f"| | **{part['title'][language]}** | |")
        for entry in part["notebooks"]:
            name, title, about = entry["name"], entry["title"][language], entry["about"][language]
            link = f"[{title}](notebooks/{name}.ipynb)"
            rows.append(f"| {name[:2]} | {link}: {about} | {entry['minutes']} |")
    rows.append("")
    begin, end = "<!-- python3 course.py contents -->", "<!-- end of contents -->"
    if begin not in readme or end not in readme:
        sys.exit(f"README.md needs the lines {begin!r} and {end!r} around its table of notebooks.")
    return "\n".join([readme.partition(begin)[0] + begin, *rows, end + readme.partition(end)[2]])


def manifest():
    """The course as course.toml describes it: parts, notebooks, and what they need."""
    import tomllib  # only Python 3.11 and later have it; main() says so on others

    return tomllib.loads((ROOT / "course.toml").read_text("utf-8"))


def course_entries():
    """What course.toml says of each notebook, in reading order."""
    return [entry for part in manifest()["parts"] for entry in part["notebooks"]]


def course_notebooks():
    """The paths of the course's own notebooks, in reading order."""
    return [NOTEBOOKS / f"{entry['name']}.ipynb" for entry in course_entries()]


def needed(kind):
    """The "commands" or the "packages" that some notebook needs, as course.toml names them."""
    needs = manifest()["needs"]
    names = [name for entry in course_entries() for name in entry["needs"]]
    return list(dict.fromkeys(one for name in names for one in needs[name].get(kind, [])))


def notebooks(paths):
    """The notebooks named, or all of the course."""
    for path in map(Path, paths):
        if not path.is_file():
            sys.exit(f"There is no notebook {path}.")
    return [Path(path).resolve() for path in paths] or course_notebooks()


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
    install = [VENV_PYTHON, "-m", "pip", "install", "--disable-pip-version-check"]
    for step in (make, [*install, "-r", "requirements.txt", "-e", "."]):
        if run(step, cwd=ROOT):
            sys.exit("That did not work; see above. Start this command again when it is mended.")
    done.write_bytes(made_from())


def made_from():
    """A digest of the requirements, of this folder and of the environment's Python version.

    The folder counts because a copied or moved environment imports the package from the old
    folder; the version, because an upgrade of the system may change the environment's Python.
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

    nbval compares neither pictures nor measured figures. The first eight digits show that such
    an output is still what the code has put out; the others, that prose, tags and slides are
    still what their author stored.
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
