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
from .submissions import newest, works_in


def marks(folder, to=None, feedback=False, limit=20, memory=2048, trust=False):
    """Judge the exercises in notebooks that students handed in: a table in marks/.

    This runs strangers' code, in a sandbox: bubblewrap, or the container in which this is started.
    There an answer finds no network and no other answer, and has limits of time and memory. Without
    a sandbox this runs only with --trust.

    FOLDER, or a zip, holds what a learning platform gives you: notebooks in folders or zips, with
    a student's name before theirs. Nothing is written there. marks.csv and marks.html say for
    each student and exercise: right, not right, not yet, error, or time; nothing stands where
    nothing was handed in, and "not judged" where the course's own solution does not pass here.
    """
    if os.name != "posix":
        sys.exit("Answers are judged on Linux or macOS. On Windows use WSL, or a container.")
    environment.set_up()
    if Path(sys.prefix) != environment.VENV:  # what pages are made of is there
        return environment.run([environment.VENV_PYTHON, *sys.argv])
    to, source = Path(to or MARKS).resolve(), Path(folder).resolve()
    command = find_sandbox(trust)
    if folder == "-":  # a zip, of which a container has no file
        source = sys.stdin.buffer.read()
    elif not (command or trust):
        sys.exit("In a container an answer could read that folder. Give a zip on stdin, as -.")
    elif source in (to, *to.parents):
        sys.exit(f"{to} is in the folder of what was handed in. Choose another with --to.")
    try:
        mark(source, to, feedback, limit, memory * 2**20, command)
    except KeyboardInterrupt:
        sys.exit("Stopped; nothing was written.")


def mark(source, to, feedback, limit, memory, command):
    """Read, judge, and write the table and the pages."""
    from .pages import write_pages

    works, left_out = works_in(source)
    students, notes = newest(works)
    lessons = {work.lesson.name: work.lesson for work in works if work.lesson}
    if not lessons:
        sys.exit("\n".join([*left_out, "There is no notebook of the course there."]))
    print(f"students: {len(students)}, notebooks: {len(lessons)}", flush=True)

    def judged(lesson):
        works = [(name, its[lesson.name]) for name, its in students.items() if lesson.name in its]
        found = dict(judge_all(Judge(command, lesson, memory), lesson, works, limit))
        print(f"{lesson.name}: {len(found)} answers", flush=True)
        return found

    results = {}
    with ThreadPool(os.cpu_count()) as pool:
        for found in pool.imap_unordered(judged, lessons.values()):
            results |= found
    write_pages(to, feedback, students, notes, left_out, results)
    for line in left_out + [line for said in notes.values() for line in said]:
        print(line)
    print(f"marks.csv and marks.html{' and feedback/' * feedback} are in {to}")
