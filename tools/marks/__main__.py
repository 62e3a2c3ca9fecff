"""Judge the answers of a class, in the course's environment: read, run, write."""

import argparse
import contextlib
import csv
import io
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from ..files import write
from . import answers, processes
from .hand_ins import lessons, newest, works_in
from .pages import not_a_formula, page_for, save, table_page


def mark(folder, to, limit, memory, feedback):
    """Read, judge, and write the table and the pages."""
    print("This runs strangers' code. Do so in a container, or where nothing of yours can be read.")
    works, left_out = works_in(folder)
    students, notes = newest(works)
    wanted = [
        one for one in lessons().values() if any(one.name in its for its in students.values())
    ]
    columns = [(one, number) for one in wanted for number in one.exercises]
    if not columns:
        sys.exit("\n".join([*left_out, f"There is no notebook of the course in {folder}."]))
    print(f"students: {len(students)}, notebooks: {len(wanted)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="marks-", ignore_cleanup_errors=True) as place:
        results = judge_all(students, columns, place, limit, memory)
    rows = [["student", "right", *(f"{one.number}.{n}" for one, n in columns), "notes"]]
    for name in students:
        found = [results.get((name, one.name, n), {}).get("verdict", "") for one, n in columns]
        rows.append([name, str(found.count("right")), *found, "; ".join(notes[name])])
    to.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(to / "feedback", ignore_errors=True)  # of an earlier run, perhaps other students
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
    processes.preload(place)
    alone, stranger = processes.cut_off()
    print("Answers have", "no network" if alone else "THE NETWORK, which this system leaves them")
    if os.geteuid() == 0 and not stranger:
        print("You are root, and ANSWERS ARE, TOO. Let somebody else start this.")
    cores = sys.modules["d2lhybrid"].available_cores()

    def done(what, jobs):
        """The key of each job -> the job, and its result."""
        progress, found = progress_of(what, len(jobs)), {}
        with contextlib.closing(processes.judged(jobs, place, cores, limit, memory)) as ready:
            for job, result in ready:
                found[job["key"]] = job, result
                progress()
        return found

    results, jobs = {}, []
    for lesson, number in columns:
        one = lesson.exercises[number]
        answers.needed_of(one.before, ())  # what it finds out is remembered for all answers
        common = {"before": one.before, "own": one.own[:-1], "check": one.own[-1], "others": []}
        jobs.append({**common, "answers": one.answers, "cells": one.solution, "solution": True})
        jobs[-1] |= {"key": ("", lesson.name, number), "limit": processes.LONG}
    own, jobs = done("solution", jobs), []
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
    return results | {key: result for key, (_, result) in done("answer", jobs).items()}


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


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name, kind in {"folder": Path, "to": Path, "limit": float, "memory": int}.items():
        parser.add_argument(name, type=kind)
    parser.add_argument("--feedback", action="store_true")
    words = vars(parser.parse_args())
    try:
        sys.exit(mark(**words | {"memory": words["memory"] * 2**20}))
    except OSError as error:  # such as a full disk
        sys.exit(f"That did not work: {error}.")
    except KeyboardInterrupt:
        sys.exit("Stopped; nothing was written.")
