"""The course's commands. They need nothing but Python: the rest is installed into .venv, or into
the folder that the environment variable D2LHYBRID_VENV names.

python3 course.py read                  open JupyterLab at the first notebook, on copies in work/
python3 course.py check [ARGUMENTS]     run every test and every notebook cell (pytest);
                                        --part 2 runs the notebooks of one part
python3 course.py frameworks [NAMES]    install the frameworks of some notebooks, or those named
python3 course.py slides [NOTEBOOKS]    make a deck of slides of each notebook, in slides/
python3 course.py handout [NOTEBOOKS]   copy notebooks without solutions and outputs to handout/;
                                        --solutions keeps the solutions, --html makes web pages
python3 course.py refresh [NOTEBOOKS]   run notebooks afresh and store their outputs, unless the
                                        machine was too busy; --busy stores them all the same
python3 course.py contents              write README's table of notebooks from course.toml
python3 course.py glossary              write GLOSSARY.md from the notebooks' terms in bold
python3 course.py address OWNER/NAME    for a fork: change the GitHub address everywhere
"""

import base64
import functools
import hashlib
import itertools
import json
import os
import posixpath
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

PYTHONS = ((3, 11), (3, 12), (3, 13), (3, 14), (3, 15))
ROOT = Path(__file__).resolve().parent
# A relative path counts from the folder in which the command was typed.
VENV = Path(os.path.realpath(os.environ.get("D2LHYBRID_VENV") or ROOT / ".venv"))
VENV_PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
NOTEBOOKS = ROOT / "notebooks"
# What the commands make, and git ignores.
WORK, HANDOUT, SLIDES = (ROOT / name for name in ("work", "handout", "slides"))
REVEAL = "reveal.js@4.3.1"
QUIET = 5  # per cent: a machine whose noise floor is larger should not make the stored outputs


def main(command="", *arguments):
    if command in ("", "-h", "--help"):
        return print(__doc__)
    if sys.version_info[:2] < PYTHONS[0]:
        sys.exit(
            "The course needs Python 3.11 or later, and this is {}.{}. Install one of 3.11 to "
            "3.15, and start this command with it.".format(*sys.version_info)
        )
    if sys.version_info[:2] > PYTHONS[-1]:
        print(
            "The course was made for Python 3.11 to 3.15, and this is {}.{}. If something does "
            "not install or run, take one of them.".format(*sys.version_info),
            flush=True,
        )
    commands = (read, check, frameworks, slides, handout, refresh, contents, glossary, address)
    for function in (*commands, run_notebooks):
        if function.__name__ == command:
            return function(*arguments)
    sys.exit(f"There is no command {command!r}.\n\n{__doc__}")


def read():
    set_up()
    # Those without a wheel for this system have been asked for once, and are not missed again.
    wanted = [name for name in needed("frameworks") if not (VENV / f"made-from-{name}").exists()]
    if missing := [name for name in wanted if not is_installed(name)]:
        print(f"Some notebooks need {', '.join(missing)}. To install that, up to 700 MB more:")
        python = "py" if os.name == "nt" else "python3"
        print(f"    {python} course.py frameworks")
        print("You can do so now, in another window.", flush=True)
    kernel = kernel_metadata()
    for path in course_notebooks():
        copy_to_work(path, kernel)
    # JupyterLab's questions about news and updates are answered here; everything else is as ever.
    settings = WORK / ".jupyterlab"
    settings.mkdir(parents=True, exist_ok=True)
    silence = {"fetchNews": "false", "checkForUpdates": False}
    silence = {"@jupyterlab/apputils-extension:notification": silence}
    (settings / "overrides.json").write_text(json.dumps(silence))
    command = [
        *(VENV_PYTHON, "-m", "jupyterlab"),
        f"--ServerApp.root_dir={ROOT}",
        f"--LabApp.default_url=/lab/tree/work/{course_notebooks()[0].name}",
        f"--LabApp.app_settings_dir={settings}",
        f"--LabApp.workspaces_dir={settings / 'workspaces'}",  # no tabs of another folder
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # in a container there may be no other user
    return run(command, cwd=ROOT)


def copy_to_work(path, kernel):
    """Copy a notebook without its outputs to work/, unless a reader has changed the copy there.

    The copy's metadata say what was handed out. When the course's notebook has changed since, a
    copy that a reader has changed stays, and the new one stands beside it under another name.
    """
    notebook = without_outputs(without_badge(json.loads(path.read_bytes())))
    now = fingerprint(notebook)
    notebook["metadata"] = {**agreed_metadata(notebook), **kernel, "handed_out": now}
    for number in itertools.count(1):
        copy = WORK / (path.name if number == 1 else f"{path.stem}-{number}.ipynb")
        try:
            there = json.loads(copy.read_bytes())
            handed_out, as_it_is = there["metadata"].get("handed_out"), fingerprint(there)
        except FileNotFoundError:
            handed_out = as_it_is = None
        except (ValueError, LookupError, TypeError, AttributeError):  # a reader's, and damaged
            handed_out, as_it_is = None, "damaged"
        if handed_out == as_it_is:  # nothing of a reader's is in it
            save(notebook, copy)
            break
        if handed_out == now:
            break
    if number > 1:
        print(f"{path.stem} has changed in the course since you changed your copy.")
        print(f"Your copy is as you left it; the new one is work/{copy.name}", flush=True)


def kernel_metadata():
    """What JupyterLab writes into a notebook on opening it, if it is not there already."""
    command = """if 1:
        import json
        from ipykernel.ipkernel import IPythonKernel
        from jupyter_client.kernelspec import get_kernel_spec
        spec = get_kernel_spec("python3")
        spec = {"display_name": spec.display_name, "language": spec.language, "name": "python3"}
        print(json.dumps({"kernelspec": spec, "language_info": IPythonKernel.language_info}))"""
    return json.loads(subprocess.check_output([VENV_PYTHON, "-c", command]))


def check(*arguments):
    arguments = [*with_parts(arguments)]
    set_up()
    add_frameworks(to_install(asked_for(arguments)))
    if not arguments:
        print(
            "This runs every test and every cell of every notebook. It takes 10 to 20 minutes on\n"
            "two cores, less on more. The last line says whether the course is ready.",
            flush=True,
        )
    return run([VENV_PYTHON, "-m", "pytest", *arguments], cwd=ROOT)


def with_parts(arguments):
    """The arguments of a check, with the notebooks of a part in place of its number."""
    parts = manifest()["parts"]
    words = iter(arguments)
    for word in words:
        option, _, number = word.partition("=")
        if option != "--part":
            yield word
            continue
        number = number or next(words, "")
        if number not in map(str, range(len(parts))):
            names = ", ".join(f"{i} {part['title']['en']}" for i, part in enumerate(parts))
            sys.exit(f"--part needs the number of a part, not {number!r}. The parts: {names}.")
        for entry in parts[int(number)]["notebooks"]:
            yield f"notebooks/{entry['name']}.ipynb"


def asked_for(arguments):
    """What course.toml says of the notebooks that a check runs: those named, or else all."""
    paths = [ROOT / word.partition("::")[0] for word in arguments]
    paths = [path.resolve() for path in paths if os.path.exists(path)]
    entries = zip(course_entries(), course_notebooks(), strict=True)
    return [
        entry
        for entry, notebook in entries
        if not paths or any(path in (notebook, *notebook.parents) for path in paths)
    ]


def frameworks(*names):
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
        done, made = VENV / f"made-from-{name}", made_from("\n".join(requirements))
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


def is_installed(name):
    """Whether the environment has a package, by the name under which it is imported."""
    find = "import sys, importlib.util; sys.exit(not importlib.util.find_spec(sys.argv[1]))"
    try:
        return subprocess.run([VENV_PYTHON, "-c", find, name], cwd=VENV).returncode == 0
    except OSError:
        return False


def slides(*paths):
    set_up()
    address = f"https://unpkg.com/{REVEAL}"
    if (ROOT / "node_modules" / "reveal.js").exists():  # what shows a deck is here
        address = "../node_modules/reveal.js"
    elif not answers(address):
        print("There is no network now, and these decks need one. README says how to do without.")
    options = {"reveal_url_prefix": address, "reveal_theme": "white"}
    settings = [f"--SlidesExporter.{name}={value}" for name, value in options.items()]
    return convert("deck", "slides", notebooks(paths), SLIDES, *settings)


def handout(*arguments):
    options = {argument for argument in arguments if argument.startswith("-")}
    if not options <= {"--solutions", "--html"}:
        sys.exit(f"handout knows --solutions and --html, not {' '.join(sorted(options))}.")
    paths = notebooks([argument for argument in arguments if argument not in options])
    mark = "-solutions" if "--solutions" in options else ""
    kind = ".html" if "--html" in options else ".ipynb"
    names = {path.name: f"{path.stem}{mark}{kind}" for path in paths}
    with tempfile.TemporaryDirectory() as folder:
        copies = Path(folder) if kind == ".html" else HANDOUT
        for path in paths:
            notebook = with_links(without_badge(json.loads(path.read_bytes())), names)
            if not mark:
                notebook = without_solutions(notebook)
            if kind == ".ipynb":
                notebook = without_outputs(notebook)
            notebook["metadata"] = agreed_metadata(notebook)
            save(notebook, copies / f"{path.stem}{mark}.ipynb")
        if kind == ".html":
            set_up()
            return convert("page", "html", sorted(copies.glob("*.ipynb")), HANDOUT)
    print(f"{len(paths)} notebooks are in {HANDOUT.relative_to(ROOT)}/")


def convert(template, kind, paths, folder, *options):
    """Let nbconvert make pages or decks in a folder, with a template of the course."""
    return run(
        [
            *(VENV_PYTHON, "-m", "nbconvert", f"--to={kind}", f"--template={template}"),
            f"--TemplateExporter.extra_template_basedirs={ROOT / 'templates'}",
            *(f"--output-dir={folder}", *options, *paths),
        ]
    )


def answers(url):
    """Whether a page on the web can be reached."""
    try:
        return bool(urllib.request.urlopen(url, timeout=5))
    except OSError:
        return False


def refresh(*arguments):
    options = [argument for argument in arguments if argument == "--busy"]
    paths = notebooks([argument for argument in arguments if argument not in options])
    set_up()
    add_frameworks(to_install(asked_for(map(str, paths))))
    # The rest happens inside the environment, where nbclient is.
    return run([VENV_PYTHON, __file__, "run_notebooks", *options, *paths])


def address(new=""):
    if not re.fullmatch(r"[A-Za-z0-9][\w-]{,38}/(?!\.\.?$)[\w.-]{1,100}(?<!\.git)", new, re.ASCII):
        sys.exit(f"The address is the OWNER/NAME of a GitHub repository, not {new!r}.")
    paths = files_with_address()
    old = repository()
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


def repository():
    """The OWNER/NAME that pyproject.toml names."""
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    return re.search(r'Repository = "https://github\.com/(.+)"', project).group(1)


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


def glossary():
    """Write GLOSSARY.md: the terms that the notebooks print in bold."""
    from glossary import page

    titles = {NOTEBOOKS / f"{one['name']}.ipynb": one["title"]["en"] for one in course_entries()}
    write(ROOT / "GLOSSARY.md", page(titles).encode())


def with_contents(readme, language="en"):
    """The text of a README with its table of notebooks as course.toml has it."""
    rows = ["", "| | | minutes |", "| --- | --- | --- |"]
    for number, part in enumerate(manifest()["parts"]):
        rows.append(f"| | **Part {number}: {part['title'][language]}** | |")
        for entry in part["notebooks"]:
            name, title, about = entry["name"], entry["title"][language], entry["about"][language]
            link = f"[{title}](notebooks/{name}.ipynb)"
            rows.append(f"| {name[:2]} | {link}: {about} | {entry['minutes']} |")
    hours, minutes = divmod(sum(entry["minutes"] for entry in course_entries()), 60)
    rows += [f"| | Together, with exercises: {hours} hours {minutes} minutes | |", ""]
    begin, end = "<!-- python3 course.py contents -->", "<!-- end of contents -->"
    if begin not in readme or end not in readme:
        sys.exit(f"README.md needs the lines {begin!r} and {end!r} around its table of notebooks.")
    return "\n".join([readme.partition(begin)[0] + begin, *rows, end + readme.partition(end)[2]])


@functools.cache
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


def needed(kind, entries=None):
    """What notebooks need, as course.toml names it: all of them, or those of the entries.

    `kind` is "commands", "packages", "frameworks", "compared_with" or "colab".
    """
    needs = manifest()["needs"]
    entries = course_entries() if entries is None else entries
    names = [name for entry in entries for name in entry["needs"]]
    return list(dict.fromkeys(one for name in names for one in needs[name].get(kind, [])))


def to_install(entries):
    """The frameworks without which notebooks do not run, or would not be compared."""
    both = [*needed("frameworks", entries), *needed("compared_with", entries)]
    return list(dict.fromkeys(both))


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
    for step in (make, [*pip_install(), "-r", "requirements.txt", "-e", "."]):
        if run(step, cwd=ROOT):
            sys.exit("That did not work; see above. Start this command again when it is mended.")
    done.write_bytes(made_from())


def pip_install():
    return [VENV_PYTHON, "-m", "pip", "install", "--disable-pip-version-check"]


def made_from(more=""):
    """A digest of the requirements, of this folder and of the environment's Python version.

    The folder counts because a copied or moved environment imports the package from the old
    folder; the version, because an upgrade of the system may change the environment's Python.
    """
    files = [(ROOT / name).read_bytes() for name in ("requirements.txt", "pyproject.toml")]
    content = b"\n".join([*files, os.fsencode(ROOT), version_inside(), more.encode()])
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


def without_outputs(notebook):
    """A notebook as it was before anything ran."""
    cells = [
        {**cell, "outputs": [], "execution_count": None} if cell["cell_type"] == "code" else cell
        for cell in notebook["cells"]
    ]
    return {**notebook, "cells": cells}


def without_badge(notebook):
    """A notebook without the link that opens it on Colab, with outputs and solutions."""
    cells = notebook["cells"]
    return {**notebook, "cells": [c for c in cells if "![Open in Colab]" not in source(c)]}


def without_solutions(notebook):
    """A notebook without the section of its solutions."""
    cells, inside = [], False
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown" and source(cell).startswith("## "):
            inside = is_solutions(cell)
        if not inside:
            cells.append(cell)
    return {**notebook, "cells": cells}


def with_links(notebook, names):
    """A notebook that leads to those in `names` under their new names, to all else on the web."""

    def lead(match):
        path, anchor = re.fullmatch("([^#]*)(#.*)?", match[1]).groups("")
        if path in names:
            return f"]({names[path]}{anchor})"
        path = posixpath.normpath(posixpath.join("notebooks", path))
        return f"](https://github.com/{repository()}/blob/main/{path}{anchor})"

    cells = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            text = re.sub(r"\]\((?!#|https?:)([^)\s]+)\)", lead, source(cell))
            cell = {**cell, "source": text}
        cells.append(cell)
    return {**notebook, "cells": cells}


def source(cell):
    return "".join(cell["source"])


def is_solutions(cell):
    """Whether a cell is the heading of a notebook's solutions."""
    headings = [lines["solutions"] for lines in manifest()["lines"].values()]
    return cell["cell_type"] == "markdown" and source(cell).strip() in headings


def save(notebook, path):
    """Write a notebook as JupyterLab does, unless the file holds it already."""
    text = json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    if not path.is_file() or path.read_bytes() != text.encode():
        path.parent.mkdir(exist_ok=True)
        write(path, text.encode())


def run_notebooks(*arguments):
    """Run notebooks, given by their full paths, with the Python that runs this file.

    Returns 1 if a machine that was too busy has kept one of them from being stored; with --busy,
    it is stored.
    """
    import nbformat

    status = 0
    for path in map(Path, (argument for argument in arguments if argument != "--busy")):
        notebook = nbformat.read(path, as_version=4)
        stored, now = notebook.metadata.get("outputs_of", ""), fingerprint(notebook)
        agreed = {**agreed_metadata(notebook), "outputs_of": now}
        if notebook.metadata != agreed and stored[:8] == now[:8]:
            print(f"{path.name}: only text, tags or slides were changed. Its outputs are kept;")
            print("to run it all the same, refresh it once more")
        else:
            print("running", path.name, flush=True)
            run_notebook(notebook)
            noise = noise_floor(notebook)
            if noise > QUIET and "--busy" not in arguments:
                print(f"not stored: its largest noise floor is {noise:.1f} %, so this machine was")
                print("busy, and readers would see these figures. Refresh it when it is quiet, or")
                print("with --busy")
                status = 1
                continue
        store(notebook, path)
    return status


def run_notebook(notebook):
    """Run a notebook from top to bottom on a fresh kernel."""
    from nbclient import NotebookClient

    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    for name in ("MPLBACKEND", "JPY_SESSION_NAME"):  # the kernel's own backend, and no JupyterLab
        os.environ.pop(name, None)
    NotebookClient(
        notebook,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(NOTEBOOKS)}},
    ).execute()


def noise_floor(notebook):
    """The largest noise floor, in per cent, in the outputs of a notebook; 0 without any."""
    texts = json.dumps([cell["outputs"] for cell in notebook["cells"] if "outputs" in cell])
    return max(map(float, re.findall(r"noise floor (inf|[\d.]+)%", texts)), default=0)


def store(notebook, path):
    """Write a notebook, with its fingerprint, and its pictures for the README."""
    import nbformat

    notebook.metadata = {**agreed_metadata(notebook), "outputs_of": fingerprint(notebook)}
    write(path, f"{nbformat.writes(notebook)}\n".encode())
    for name, png in pictures(notebook).items():
        write(ROOT / "img" / f"{name}.png", png)


def agreed_metadata(notebook):
    """What a notebook's metadata say, besides the fingerprint of its outputs.

    Only what is the same on every machine: no version of the Python that happened to run it.
    The title is that of a page made from it. Colab folds the sections that stand in the last line.
    """
    titles = [re.match("# (.+)", source(cell)) for cell in notebook["cells"][:1]]
    solutions = [cell["id"] for cell in notebook["cells"] if is_solutions(cell)]
    return {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        **({"title": titles[0][1]} if any(titles) else {}),
        **({"colab": {"collapsed_sections": solutions}} if solutions else {}),
    }


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
