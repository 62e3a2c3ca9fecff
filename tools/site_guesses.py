"""Predict, then reveal: the questions of the notebooks, and what the pages fold away behind them.

A question is a paragraph that begins as course.toml says under `predict`; its result is what the
next code cells put out, and the text that follows. Here they are marked, and
pages/static/reveal.js folds them: where no script runs, all is shown.
"""

import json
import re

from . import manifest, notebook

BEGIN = "|".join(map(re.escape, manifest.course()["predict"].values()))
QUESTION = re.compile(f"(?m)^(?:{BEGIN}) ?(.+)$")
RESULT = "::::::{container} result\n%s\n::::::"
PREDICTS = re.compile(r"\bpredict\(|\bguess\.was\(")


def marked(cells):
    """The cells of a notebook with marks at each question, and around each result.

    A question is open until a text tells its result: the one after some output, or one that follows
    at once in a step of its own, since a question and its answer never come in one step of a
    presentation. If that text asks the next question, its first paragraph tells. A heading ends
    what is open. Where a cell scores the guess, all before it belongs to the result.
    """
    found, state = [], ""
    for number, cell in enumerate(cells):
        text, cell = notebook.source(cell), {**cell}
        if cell["cell_type"] == "markdown":
            question = QUESTION.search(text)
            told = text[: question.start()].strip() if question else text
            step = cell["metadata"].get("slideshow", {}).get("slide_type", "-")
            at_once = state == "asked" and step != "-"
            if told.startswith("#"):
                state = ""
            elif state and told and (question or at_once or state == "shown"):
                result, gap, rest = told.partition("\n\n") if question else (told, "", "")
                told = f"{RESULT % result}{gap}{rest}"
                state = "shown" if is_scored(cells[number + 1 :]) else ""
            if question:
                mark = f'<div class="ask" id="predict-{cell["id"]}"></div>'
                told, state = f"{told}\n\n{mark}\n\n{text[question.start() :]}", "asked"
            if state and "`predict`" in text:  # how it is done in a notebook
                told = told and f"::::::{{container}} how-to-guess\n{told}\n::::::"
            cell["source"] = told
        elif PREDICTS.search(text):
            cell = tagged(cell, "guess")
        elif state:
            state = "shown" if cell["outputs"] or state == "shown" else "tried"
            cell = tagged(cell, "result")
        found.append(cell)
    return found


def is_scored(cells):
    """Whether a guess is scored before the next question or heading, after at most one text."""
    texts = 0
    for cell in cells:
        text = notebook.source(cell)
        if "guess.was(" in text:
            return True
        if cell["cell_type"] == "markdown":
            texts += 1
            if texts > 1 or text.startswith("#") or QUESTION.search(text):
                return False
    return False


def tagged(cell, tag):
    """A cell with one more tag, which is a class on its page."""
    tags = [*cell["metadata"].get("tags", []), tag]
    return {**cell, "metadata": {**cell["metadata"], "tags": tags}}


def page(folder, language, said):
    """All questions, by notebook; a reader's own guesses are put beside them in the browser."""
    words = said["guess"]
    parts = [f"# {said['before']['guesses'][0]}", words["record"]]
    told = " ".join(f'data-{one}="{words[one]}"' for one in ("none", "count", "sure"))
    over = f'<button type="button" hidden {told}>{words["over"]}</button>'
    parts.append(f'<p class="guess-over">{over}</p>')
    for entry in manifest.entries():
        name, title = entry["name"], entry["title"][language]
        cells = json.loads((folder / f"notebooks/{name}.ipynb").read_text("utf-8"))["cells"]
        lines = [f"```{{rubric}} {name[:2]} {title}\n:heading-level: 2\n```\n"]
        for cell in cells:
            question = QUESTION.search(notebook.source(cell))
            if question and cell["cell_type"] == "markdown":
                text = re.sub(r"\]\((\w+\.ipynb)", r"](notebooks/\1", question[1])
                at = f'href="notebooks/{name}.html#predict-{cell["id"]}"'
                lines.append(f'- {text} <a class="to-result" {at}>{words["show"]}</a>')
        parts.append("\n".join(["::::::{container} guessed", *lines, "::::::"]))
    return "\n\n".join([*parts, ""])
