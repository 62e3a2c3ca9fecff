"""What authors call: stored outputs, README's table, the address of a fork."""

import json
import re
import sys

from . import environment, manifest, notebook
from .files import NOTEBOOKS, ROOT, write


def refresh(notebooks=(), busy=False):
    """Run notebooks afresh and store their outputs, unless the machine was too busy."""
    paths = manifest.named_or_all(notebooks)
    environment.set_up()
    environment.add_frameworks(manifest.to_install(manifest.entries_in(paths)))
    # The rest happens inside the environment, where nbclient is.
    program = [environment.VENV_PYTHON, "-m", "tools.run_notebooks", *["--busy"] * busy]
    return environment.run([*program, *paths], cwd=ROOT)


def address(new):
    """Change the course's address on GitHub everywhere, for a fork."""
    if not re.fullmatch(r"[A-Za-z0-9][\w-]{,38}/(?!\.\.?$)[\w.-]{1,100}(?<!\.git)", new, re.ASCII):
        sys.exit(f"The address is the OWNER/NAME of a GitHub repository, not {new!r}.")
    paths = files_with_address()
    old, old_pages = manifest.repository(), manifest.pages_address()
    changes = {}
    for path in paths:
        try:
            text = path.read_bytes().decode()  # bytes: line ends stay as they are
            changed = re.sub(rf"(github(?:\.com)?)/{re.escape(old)}(?![\w-])", rf"\1/{new}", text)
            changed = changed.replace(old_pages, manifest.pages_address(new))
            if path.suffix == ".ipynb":  # its first cell has changed, so its fingerprint does
                mark, new_mark = (notebook.fingerprint(json.loads(t)) for t in (text, changed))
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
    return [*documents, *manifest.notebooks(), ROOT / "pyproject.toml"]


def contents():
    """Write README's table of notebooks, between two marks, from course.toml."""
    readme = (ROOT / "README.md").read_text("utf-8")
    write(ROOT / "README.md", with_contents(readme).encode())


def with_contents(readme):
    """The text of a README with its table of notebooks as course.toml has it."""
    rows = ["", "| no. | notebook | path | minutes |", "| --- | --- | --- | --- |"]
    together = {"core": 0, "further": 0}
    for number, part in enumerate(manifest.course()["parts"]):
        rows.append(f"| | **Part {number}: {part['title']['en']}** | | |")
        for entry in part["notebooks"]:
            name, title, about = entry["name"], entry["title"]["en"], entry["about"]["en"]
            path = NOTEBOOKS / f"{name}.ipynb"
            minutes = notebook.minutes(json.loads(path.read_text("utf-8")))
            kind = "further" if entry.get("further") else "core"
            together[kind] += minutes
            link = f"[{title}](notebooks/{name}.ipynb)"
            rows.append(f"| {name[:2]} | {link}: {about} | {kind} | {minutes} |")
    hours = {kind: f"{minutes // 60}:{minutes % 60:02} h" for kind, minutes in together.items()}
    rows += [f"| | Together, with exercises | core | {hours['core']} |"]
    rows += [f"| | | further | {hours['further']} |", ""]
    begin, end = "<!-- python3 course.py contents -->", "<!-- end of contents -->"
    if begin not in readme or end not in readme:
        sys.exit(f"README.md needs the lines {begin!r} and {end!r} around its table of notebooks.")
    return "\n".join([readme.partition(begin)[0] + begin, *rows, end + readme.partition(end)[2]])
