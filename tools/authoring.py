"""What authors call: stored outputs, and README's table of notebooks."""

import json

from . import environment, manifest, notebook, translate
from .files import NOTEBOOKS, ROOT, write


def refresh(notebooks=(), busy=False):
    """Run notebooks again and store their outputs, unless the machine was too busy."""
    paths = manifest.named_or_all(notebooks)
    environment.set_up()
    environment.add_frameworks(manifest.to_install(manifest.entries_in(paths)))
    # The rest happens inside the environment, where nbclient is.
    program = [environment.VENV_PYTHON, "-m", "tools.run_notebooks", *["--busy"] * busy]
    return environment.run([*program, *paths], cwd=ROOT)


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
    together = {"core": 0, "optional": 0}
    for number, part in enumerate(manifest.course()["parts"]):
        heading = said["part"].format(number=number, title=part["title"][language])
        rows.append(f"| | **{heading}** | | |")
        for entry in part["notebooks"]:
            name, title, about = entry["name"], entry["title"][language], entry["about"][language]
            path = NOTEBOOKS / f"{name}.ipynb"
            minutes = notebook.minutes(json.loads(path.read_text("utf-8")))
            kind = "optional" if entry.get("optional") else "core"
            together[kind] += minutes
            link = f"[{title}](notebooks/{name}.ipynb)"
            rows.append(f"| {name[:2]} | {link}{said['colon']}{about} | {said[kind]} | {minutes} |")
    for title, (kind, minutes) in zip((said["together"], ""), together.items(), strict=True):
        hours = said["hours"].format(minutes // 60, minutes % 60)
        rows.append(f"| | {title + ' ' if title else ''}| {said[kind]} | {hours} |")
    rows.append("")
    return translate.GENERATED.sub(lambda m: "\n".join([m[1], *rows, m[2]]), readme)
