"""What authors call: stored outputs, README's table, the address of a fork."""

import json
import re
import sys

from . import environment, manifest, notebook, translate
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
    names = translate.all_names()
    texts = [(name, language) for language in translate.languages() for name in names]
    stale = [translate.lacking(*one)[1] for one in texts]
    for path, text in changes.items():
        write(path, text.encode())
        print("changed", path.relative_to(ROOT))
    for one, before in zip(texts, stale, strict=True):  # an address needs no new translation
        translate.renew(*one, [i for i in translate.lacking(*one)[1] if i not in before])


def files_with_address():
    """The files that may name the address of the repository.

    pyproject.toml comes last: `address` reads the old address there, so that a change which was
    stopped is finished by the same command.
    """
    documents = [*ROOT.glob("*.md"), *ROOT.glob("*.cff")]
    return [*documents, *manifest.notebooks(), ROOT / "pyproject.toml"]


def contents():
    """Write README's table of notebooks from course.toml, in each language that has a README."""
    for language in ["en", *translate.languages()]:
        path = ROOT / "README.md" if language == "en" else translate.file_of("README", language)
        if path.exists():
            write(path, with_contents(path.read_text("utf-8"), language).encode())


def with_contents(readme, language="en"):
    """The text of a README with its table of notebooks as course.toml has it."""
    said = manifest.course()["contents"][language]
    rows = ["", f"| {' | '.join(said['columns'])} |", "| --- | --- | --- | --- |"]
    together = {"core": 0, "further": 0}
    for number, part in enumerate(manifest.course()["parts"]):
        heading = said["part"].format(number=number, title=part["title"][language])
        rows.append(f"| | **{heading}** | | |")
        for entry in part["notebooks"]:
            name, title, about = entry["name"], entry["title"][language], entry["about"][language]
            path = NOTEBOOKS / f"{name}.ipynb"
            minutes = notebook.minutes(json.loads(path.read_text("utf-8")))
            kind = "further" if entry.get("further") else "core"
            together[kind] += minutes
            link = f"[{title}](notebooks/{name}.ipynb)"
            rows.append(f"| {name[:2]} | {link}{said['colon']}{about} | {said[kind]} | {minutes} |")
    for title, (kind, minutes) in zip((said["together"], ""), together.items(), strict=True):
        hours = said["hours"].format(minutes // 60, minutes % 60)
        rows.append(f"| | {title + ' ' if title else ''}| {said[kind]} | {hours} |")
    rows.append("")
    begin, end = "<!-- python3 course.py contents -->", "<!-- end of contents -->"
    if begin not in readme or end not in readme:
        sys.exit(f"README needs the lines {begin!r} and {end!r} around its table of notebooks.")
    return "\n".join([readme.partition(begin)[0] + begin, *rows, end + readme.partition(end)[2]])
