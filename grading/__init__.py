"""`course.py marks`: judge what a class has handed in.

`submissions` finds out what was handed in, `sandbox` starts `judge` where strangers' code can do
little harm, and `pages` writes what came of it.
"""

import os
import sys
from multiprocessing.pool import ThreadPool
from pathlib import Path

from tools import environment
from tools.files import MARKS

from .sandbox import Judge, find_sandbox, judge_all
from .submissions import files_in, newest, works_in


def marks(folder, to=None, feedback=False, limit=20, memory=2048, trust=False):
    """Grade the exercises in notebooks that students have handed in: a table in marks/.

    This runs strangers' code in a sandbox: bubblewrap, or the container in which this is started.
    In it, an answer has no network, sees no other answer, and has limited time and memory. Without
    a sandbox, this runs only with --trust.

    FOLDER, or a zip, is what the learning platform gave you: notebooks in folders or zips, with the
    student's name before theirs. Nothing is written there. marks.csv and marks.html say for each
    student and exercise: right, not right, not yet, error, or time. A cell is empty if nothing was
    handed in, and "not judged" if the course's own solution does not pass on this machine.
    """
    environment.set_up()
    if Path(sys.prefix) != environment.VENV:  # what pages are made of is there
        return environment.run([environment.VENV_PYTHON, *sys.argv])
    from .pages import write_pages

    command = find_sandbox(trust)
    if folder == "-":  # a zip, of which a container has no file
        files = [(("stdin.zip",), 0, sys.stdin.buffer.read())]
    elif command or trust:
        files = files_in(Path(folder))
    else:
        sys.exit("In a container an answer could read that folder. Give a zip on stdin, as -.")
    students, notes = newest(works_in(files))
    lessons = {name: work.lesson for works in students.values() for name, work in works.items()}
    lines = [line for said in notes.values() for line in said]
    if not lessons:
        sys.exit("\n".join([*lines, "There is no notebook of the course in it."]))
    print(f"students: {len(students)}, notebooks: {len(lessons)}", flush=True)

    def judged(lesson):
        works = [(name, its[lesson.name]) for name, its in students.items() if lesson.name in its]
        found = dict(judge_all(Judge(command, memory * 2**20), lesson, works, limit))
        print(f"{lesson.name}: {len(found)} answers", flush=True)
        return found

    results = {}
    with ThreadPool(os.cpu_count()) as pool:
        for found in pool.imap_unordered(judged, lessons.values()):
            results |= found
    write_pages(Path(to or MARKS), feedback, students, notes, results)
    print(*lines, f"marks.csv and marks.html are in {to or MARKS}", sep="\n")
