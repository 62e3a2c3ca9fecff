"""The table, the page that a student gets back, and that of predictions: page.html, filled in."""

import csv
import re
import shutil
import sys
from pathlib import Path

from jinja2 import Environment, FileSystemLoader

from d2lhybrid import Predictions

FOLDER = FileSystemLoader(Path(__file__).parent)
PAGE = Environment(loader=FOLDER, autoescape=True).get_template("page.html")


def write_pages(to, feedback, students, notes, results):
    """Write marks.csv and marks.html to a folder, and with `feedback` a page for each student.

    `students` and `notes` are those of `submissions.newest`; `results` has what came of
    (student, notebook, exercise).
    """
    rows = {n: {"name": n, "right": 0, "answers": {}, "notes": notes[n]} for n in students}
    for (name, lesson, number), result in sorted(results.items()):
        shown = about(students[name][lesson], number)
        rows[name]["answers"][f"{lesson[:2]}.{number}"] = result | shown
        rows[name]["right"] += result["verdict"] == "right"
    rows = [*rows.values()]
    columns = sorted({column for row in rows for column in row["answers"]})
    to.mkdir(parents=True, exist_ok=True)
    # Without UTF-8's mark, Excel takes a file for Latin-1.
    with open(to / "marks.csv", "w", encoding="utf-8-sig", newline="") as file:
        table = csv.DictWriter(file, ["student", "right", *columns, "notes"], restval="")
        table.writeheader()
        for row in rows:
            line = {column: one["verdict"] for column, one in row["answers"].items()}
            line |= {"student": not_a_formula(row["name"]), "right": row["right"]}
            table.writerow(line | {"notes": not_a_formula("; ".join(row["notes"]))})
    save(to / "marks.html", PAGE.render(language="en", rows=rows, columns=columns))
    shutil.rmtree(to / "feedback", ignore_errors=True)  # of an earlier run, perhaps other students
    for place, row in enumerate(rows if feedback else (), 1):
        file = re.sub(r"[^\w.-]+", "_", row["name"])[:80]  # and a number, so that no two are equal
        works = students[row["name"]].values()
        language = next((work.language for work in works if not work.damage), "en")
        save(to / "feedback" / f"{file}_{place}.html", PAGE.render(language=language, **row))


def about(work, number):
    """What a page shows of an answer beside what came of it."""
    cells = [one.strip() for one in work.cells.get(number, ())]
    return {
        "notebook": work.lesson.title(work.language),
        "title": work.lesson.title(work.language, number),
        "answer": "\n\n\n".join(one for one in cells if one not in work.lesson.texts),
        "solution": "\n\n\n".join(work.lesson.exercises[number].solution),
    }


def not_a_formula(text):
    """A text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def save(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8", "replace")  # a notebook may hold half a character


if __name__ == "__main__":  # `course.py predictions` names the folders of those that are kept
    for folder in map(Path, sys.argv[1:]):
        page = Predictions(folder)
        save(folder / "predictions.html", PAGE.render(language=page.language, predictions=page))
        print(page.words["title"], folder / "predictions.html")
