"""`course.py marks`: judge what a class has handed in, and write a table and pages of it.

`tools.marks_read` finds out what was handed in, `tools.marks_run` runs it, and
`tools.marks_answer` judges it.
"""

import argparse
import contextlib
import csv
import html
import io
import os
import re
import string
import sys
import tempfile
from pathlib import Path

from . import environment
from .files import MARKS, ROOT, write
from .marks_read import lessons, newest, works_in

PASSED_ON = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR")
WORDS = {
    "en": {
        "marks": "Marks",
        "answer": "What you handed in",
        "unchanged": "The cells are as the course has them, or were deleted.",
        "printed": "What it printed",
        "solution": "A solution",
    },
    "zh": {
        "marks": "成绩",
        "answer": "你提交的答案",
        "unchanged": "这些单元格没有改动，或者已被删除。",
        "printed": "输出",
        "solution": "一种解答",
    },
}


def marks(folder, to=None, feedback=False, limit=20, memory=2048):
    """Judge the exercises in notebooks that students handed in: a table in marks/.

    This runs strangers' code. Each answer has a process, a home and limits of its own, and where
    the system allows it no network; that contains mishaps, not malice. So run it in a container or
    on a machine that holds nothing of yours.

    FOLDER, or a zip, holds what a learning platform gives you: notebooks in folders or zips, with
    a student's name before theirs. Nothing is written there. marks.csv and marks.html say for
    each student and exercise: right, not right, not yet, error, or time; nothing stands where
    nothing was handed in, and "not judged" where the course's own solution does not pass here.
    """
    if os.name != "posix":
        sys.exit("Answers are judged on Linux or macOS. On Windows use WSL, or a container.")
    folder, to = Path(folder).resolve(), Path(to or MARKS).resolve()
    if not folder.exists():
        sys.exit(f"There is no folder {folder}.")
    if folder in (to, *to.parents):
        sys.exit(f"{to} is in the folder of what was handed in. Choose another with --to.")
    environment.set_up()
    clean = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    clean["PYTHONIOENCODING"] = "utf-8:replace"
    command = [environment.VENV_PYTHON, "-m", "tools.marks", folder, to, str(limit), str(memory)]
    return environment.run([*command, *["--feedback"] * feedback], cwd=ROOT, env=clean)


# Marking --------------------------------------------------------------------------------------


def mark(folder, to, limit, memory, feedback):
    """Read, judge, and write the table and the pages."""
    print("This runs strangers' code. Do so in a container, or where nothing of yours can be read.")
    works, left_out = works_in(folder)
    students, notes = newest(works)
    wanted = [
        one for one in lessons().values() if any(one.name in its for its in students.values())
    ]
    columns = [(one, number) for one in wanted for number in one.exercises]
    print(f"{len(students)} students, {len(wanted)} notebooks", flush=True)
    with tempfile.TemporaryDirectory(prefix="marks-", ignore_cleanup_errors=True) as place:
        results = judge_all(students, columns, place, limit, memory) if columns else {}
    rows = [["student", "right", *(f"{one.number}.{n}" for one, n in columns), "notes"]]
    for name in students:
        found = [results.get((name, one.name, n), {}).get("verdict", "") for one, n in columns]
        rows.append([name, str(found.count("right")), *found, "; ".join(notes[name])])
    to.mkdir(parents=True, exist_ok=True)
    save(to / "marks.html", table_page(rows, students, columns, results, left_out))
    pages = set()
    for name, its in students.items() if feedback else ():
        (to / "feedback").mkdir(exist_ok=True)
        file = re.sub(r"[^\w.-]+", "_", name)[:80].strip("._-") or "student"
        while file.casefold() in pages:
            file += "_"
        pages.add(file.casefold())
        save(to / "feedback" / f"{file}.html", page_for(name, its, columns, results))
    with io.StringIO(newline="") as text:
        csv.writer(text).writerows([[not_a_formula(one) for one in row] for row in rows])
        write(to / "marks.csv", text.getvalue().encode("utf-8-sig", "replace"))
    for line in left_out + [line for said in notes.values() for line in said]:
        print(line)
    print(f"marks.csv and marks.html{' and feedback/' * bool(pages)} are in {to}")


def judge_all(students, columns, place, limit, memory):
    """(student, notebook, exercise) -> what came of it."""
    from . import marks_answer, marks_run  # the environment's Python has what it needs

    marks_run.preload(place)
    alone, stranger = marks_run.cut_off()
    print("Answers have", "no network" if alone else "THE NETWORK, which this system leaves them")
    if os.geteuid() == 0 and not stranger:
        print("You are root, and ANSWERS ARE, TOO. Let somebody else start this.")
    cores, results, jobs = sys.modules["d2lhybrid"].available_cores(), {}, []
    for lesson, number in columns:
        one = lesson.exercises[number]
        marks_answer.needed_of(one.before, ())  # what it finds out is remembered for all answers
        common = {"before": one.before, "own": one.own[:-1], "check": one.own[-1], "others": []}
        jobs.append({**common, "answers": one.answers, "cells": one.solution, "solution": True})
        jobs[-1] |= {"key": ("", lesson.name, number), "limit": marks_run.LONG}
    own = {}
    progress = progress_of("solution", len(jobs))
    with contextlib.closing(marks_run.judged(jobs, place, cores, limit, memory)) as ready:
        for job, result in ready:
            own[job["key"]] = job, result
            progress()
    jobs = []
    for name, its in students.items():
        for lesson, number in columns:
            if not (work := its.get(lesson.name)):
                continue
            job, result = own["", lesson.name, number]
            key = name, lesson.name, number
            if work.damage:
                results[key] = {"verdict": "error", "said": work.damage}
            elif result["verdict"] != "right":
                said = f"the course's own solution does not pass here: {result['said']}"
                results[key] = {"verdict": "not judged", "said": said}
            else:
                cells = work.cells.get(number, [])
                others = [(text, f"<other {i}>") for i, text in enumerate(work.others)]
                others = [one for one in others if one[0] not in cells]
                jobs.append({**job, "key": key, "cells": cells, "others": others})
                jobs[-1] |= {"solution": False, "limit": limit + 4 * result["seconds"]}
    progress = progress_of("answer", len(jobs))
    with contextlib.closing(marks_run.judged(jobs, place, cores, limit, memory)) as ready:
        for job, result in ready:
            results[job["key"]] = result
            progress()
    return results


def progress_of(what, total):
    """A function that shows one more thing done: on a terminal each time, else in a few lines."""
    done = 0

    def step():
        nonlocal done
        done += 1
        if sys.stdout.isatty() or done == total or done % max(1, total // 5) == 0:
            end = "\r" if sys.stdout.isatty() and done < total else "\n"
            print(f"{what} {done} of {total}", end=end, flush=True)

    return step


# Pages ----------------------------------------------------------------------------------------

PAGE = string.Template("""<!DOCTYPE html>
<html lang="$language"><head><meta charset="utf-8"><title>$title</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<style>
:root { color-scheme: light dark; --good: #0b6e2d; --bad: #a12020; --soft: #eee; }
@media (prefers-color-scheme: dark) { :root { --good: #7ddf9b; --bad: #ff9d94; --soft: #2a2a2a; } }
body { font: 1rem/1.5 sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
pre { background: var(--soft); padding: .5rem; overflow-x: auto; white-space: pre-wrap; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
td, th { border: 1px solid; padding: .1rem .4rem; text-align: left; white-space: nowrap; }
.right { color: var(--good); } .not-right, .error, .time { color: var(--bad); }
</style></head><body><h1>$title</h1>
$body
</body></html>
""")


def save(path, page):
    write(path, page.encode("utf-8", "replace"))  # a notebook may hold half a character


def escaped(text):
    return html.escape(str(text))


def not_a_formula(text):
    """A text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def folded(title, text):
    return (
        f"<details><summary>{title}</summary><pre>{escaped(text)}</pre></details>" if text else ""
    )


def verdict_of(result):
    """A verdict, and what the check said beside it."""
    verdict, said = result["verdict"], result["said"]
    line = f'<p><strong class="{verdict.replace(" ", "-")}">{verdict}</strong></p>'
    return line if said == verdict else f"{line}<pre>{escaped(said)}</pre>"


def answer_of(work, number):
    """The student's cells of an exercise that are not as the course has them."""
    cells = [one.strip() for one in work.cells.get(number, ())]
    return "\n\n\n".join(one for one in cells if one not in work.lesson.texts)


def table_page(rows, students, columns, results, left_out):
    """The table, and below it what was handed in, and what each answer printed."""
    head = "".join(f"<th>{escaped(one)}</th>" for one in rows[0][:-1])
    body, below = [f"<table><tr>{head}</tr>"], [f"<p>{escaped(line)}</p>" for line in left_out]
    for place, (name, right, *verdicts, notes) in enumerate(rows[1:]):
        body.append(f'<tr><td><a href="#s{place}">{escaped(name)}</a></td><td>{right}</td>')
        body += [f'<td class="{one.replace(" ", "-")}">{one}</td>' for one in verdicts]
        below.append(f'<h2 id="s{place}">{escaped(name)}</h2><p>{escaped(notes)}</p>')
        for lesson, number in columns:
            if result := results.get((name, lesson.name, number)):
                below.append(f"<h3>{lesson.number}.{number}</h3>{verdict_of(result)}")
                below.append(folded("answer", answer_of(students[name][lesson.name], number)))
                below.append(folded("printed", result.get("printed", "").strip()))
    body = "\n".join([*body, "</table>", *below])
    return PAGE.substitute(language="en", title="Marks", body=body)


def page_for(name, its, columns, results):
    """What one student gets back."""
    language = next((work.language for work in its.values() if not work.damage), "en")
    words = WORDS.get(language, WORDS["en"])
    body, title = [], f"{words['marks']}: {name}"
    for lesson, number in columns:
        if not (result := results.get((name, lesson.name, number))):
            continue
        work, exercise = its[lesson.name], lesson.exercises[number]
        if number == min(lesson.exercises):
            body.append(
                f"<h2>{escaped(lesson.titles.get(work.language, lesson.titles['en']))}</h2>"
            )
        body.append(f"<h3>{escaped(exercise.titles[work.language])}</h3>{verdict_of(result)}")
        answer = answer_of(work, number)
        body.append(f"<p>{words['answer']}</p><pre>{escaped(answer)}</pre>" if answer else "")
        body.append("" if answer else f"<p>{words['unchanged']}</p>")
        body.append(folded(words["printed"], result.get("printed", "").strip()))
        body.append(folded(words["solution"], "\n\n\n".join(exercise.solution)))
    return PAGE.substitute(language=language, title=escaped(title), body="\n".join(body))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name, kind in {"folder": Path, "to": Path, "limit": float, "memory": int}.items():
        parser.add_argument(name, type=kind)
    parser.add_argument("--feedback", action="store_true")
    words = vars(parser.parse_args())
    try:
        sys.exit(mark(**words | {"memory": words["memory"] * 2**20}))
    except KeyboardInterrupt:
        sys.exit("Stopped; nothing was written.")
