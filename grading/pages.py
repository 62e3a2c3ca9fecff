"""The table, and the page that a student gets back: page.html, filled in."""

import csv
import io
import re
import shutil
from pathlib import Path

from jinja2 import Environment, FileSystemLoader

from tools.files import write

LONGEST = 20_000  # characters of an answer that are shown


def write_pages(to, feedback, students, notes, left_out, results):
    """Write marks.csv and marks.html to a folder, and with `feedback` a page for each student.

    `students` and `notes` are those of `submissions.newest`; `results` has what came of
    (student, notebook, exercise), and is completed by what a page shows beside it.
    """
    columns = sorted({(lesson, number) for _, lesson, number in results})
    for (name, lesson, number), result in results.items():
        result |= about(students[name][lesson], number)
    rows = []
    for name in students:
        answers = [results.get((name, *column)) for column in columns]
        right = sum(one["verdict"] == "right" for one in answers if one)
        rows.append({"name": name, "right": right, "answers": answers})
        rows[-1]["notes"] = "; ".join(notes[name])
    names = [f"{lesson.partition('_')[0]}.{number}" for lesson, number in columns]
    lines = [["student", "right", *names, "notes"]]
    for row in rows:
        verdicts = [one["verdict"] if one else "" for one in row["answers"]]
        lines.append([row["name"], str(row["right"]), *verdicts, row["notes"]])
    with io.StringIO(newline="") as text:
        csv.writer(text).writerows([[not_a_formula(one) for one in line] for line in lines])
        save(to / "marks.csv", f"\ufeff{text.getvalue()}")  # else Excel takes it for Latin-1
    page = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, finalize=printable
    ).get_template("page.html")
    save(to / "marks.html", page.render(language="en", rows=rows, columns=names, left_out=left_out))
    shutil.rmtree(to / "feedback", ignore_errors=True)  # of an earlier run, perhaps other students
    for row in rows if feedback else ():
        file = re.sub(r"[^\w.-]+", "_", row["name"])[:80].strip("._-") or "student"
        while (to / "feedback" / f"{file}.html").exists():
            file += "_"
        works = students[row["name"]].values()
        language = next((work.language for work in works if not work.damage), "en")
        row["answers"] = [one for one in row["answers"] if one]
        save(to / "feedback" / f"{file}.html", page.render(language=language, **row))


def about(work, number):
    """What a page shows of an answer beside what came of it."""
    exercise, titles = work.lesson.exercises[number], work.lesson.titles
    cells = [one.strip() for one in work.cells.get(number, ())]
    answer = "\n\n\n".join(one for one in cells if one not in work.lesson.texts)
    return {
        "column": f"{work.lesson.number}.{number}",
        "notebook": titles.get(work.language, titles["en"]),
        "title": exercise.titles[work.language],
        "answer": answer if len(answer) <= LONGEST else f"{answer[:LONGEST]}\n[...]",
        "solution": "\n\n\n".join(exercise.solution),
    }


def printable(value):
    """What a page shows of a text from anywhere."""
    if type(value) is not str:  # such as what is marked as HTML
        return value
    return "".join(one if one.isprintable() or one in "\n\t" else "\ufffd" for one in value)


def not_a_formula(text):
    """A text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def save(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, text.encode("utf-8", "replace"))  # a notebook may hold half a character
