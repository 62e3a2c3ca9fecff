"""A class that is made up: notebooks that students could hand in, with every fault we know.

    .venv/bin/python tests/made_class.py 30 10 18 19 20 21 22

makes 30 students, who hand in these notebooks in both languages, runs `course.py marks` on them,
and compares each cell of the table with what must stand there. It takes some minutes. The tests
of `marks` make a smaller class.
"""

import csv
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from tools import manifest, notebook  # noqa: E402
from tools.translate import in_language  # noqa: E402

# What is done to the cells of one exercise, and the verdict that it must get; None is the
# verdict of the answer itself. `{right}`, `{wrong}` and `{name}` are answers and the name judged.
FAULTS = {
    "endless loop": ("while True: pass", "time"),
    "sleeps": ("import time\ntime.sleep(10**6)", "time"),
    "sys.exit": ("import sys\nsys.exit(0)\n{right}", "error"),
    "os._exit": ("import os\nos._exit(0)", "error"),
    "2 GB list": ("{name} = [0] * 2**28", "error"),
    "fork bomb": ("import os\nwhile True: os.fork()", "error"),
    "kills its parent": ("import os\nos.kill(os.getppid(), 9)\nos._exit(1)", "error"),
    "asks": ("{name} = input()", "error"),
    "network": (
        "import socket\nsocket.create_connection(('127.0.0.1', {port}), timeout=1)",
        "error",
    ),
    "syntax": ("{name} = = 1", "error"),
    "renamed": ("{renamed}", "error"),
    "deleted": (None, "not yet"),
    "only prints": ("{wrong}\nprint('right')", "not right"),
    "own check": ("{wrong}\ndef check(*a, **k): print('right')\ncheck(1, 1)", "not right"),
    "edits lesson": (
        "{wrong}\nimport d2lhybrid.exercises\nd2lhybrid.exercises.same = lambda *a: True",
        "not right",
    ),
    "edits package": (
        "{wrong}\nimport d2lhybrid\nd2lhybrid.check = lambda *a, **k: print('right')",
        "not right",
    ),
    "equals everything": (
        "{wrong}\nclass Yes:\n    def __eq__(self, other): return True\n"
        "    def __call__(self, *a): return Yes()\n{name} = Yes()",
        "not right",
    ),
    "prints much": ("{right}\nprint('x' * 10**6)", "right"),
    "magic": ("%matplotlib inline\n!pip list\n{right}", "right"),
    "daemon": (
        "{right}\nimport subprocess\nsubprocess.Popen(['sleep', '4321'], start_new_session=True)",
        "right",
    ),
    "helper elsewhere": ("{right}", "right"),
    "writes": ("open('mine.txt', 'w').write('x')\n{right}", "right"),
    "later cell fails": ("{right}\nno_such_name", "right"),
}
# What is done to a whole file; the verdict is for each of its exercises, "" for nothing.
DAMAGES = {
    "truncated": (lambda text: text[: len(text) // 2].encode(), "error"),
    "empty": (lambda text: b"", "error"),
    "a list": (lambda text: b"[1, 2]", "error"),
    "latin-1": (lambda text: text.replace("#", "é", 1).encode("latin-1", "replace"), "error"),
    "utf-16": (lambda text: text.encode("utf-16"), None),
    "another course": (
        lambda text: json.dumps(
            {"cells": [{"cell_type": "markdown", "source": "# x", "id": "04-01"}], "metadata": {}}
        ).encode(),
        "",
    ),
}
VERDICTS = ("right", "not right", "not yet", "error", "time", "")
NOTEBOOKS_BY_NUMBER = {path.name[:2]: path for path in manifest.notebooks()}
NAMES = ["=cmd", "@SUM(1)", "-Ann", "<b>Bo", "李雷", "Zoë", "Jo O'Hara", "Anna Li", "Anna Li"]


def answers_to(path):
    """number of the exercise -> {"right": [...], "wrong": [...]}, from the tests."""
    text = (ROOT / "tests" / "exercises" / f"{path.stem}.toml").read_text("utf-8")
    return {one["number"]: one for one in tomllib.loads(text)["exercise"]}


def handed_out(path, language):
    """What `course.py handout` makes of a notebook."""
    new = notebook.without_badge(in_language(path, language))
    new = notebook.without_outputs(notebook.without_solutions(new))
    new["metadata"] = notebook.agreed_metadata(new)
    return new


def sections(path):
    """number -> ids of the exercise's code cells in the course; the last is the check."""
    inside, found = None, {}
    for cell in json.loads(path.read_bytes())["cells"]:
        text = notebook.source(cell)
        if cell["cell_type"] == "markdown" and text.startswith("#"):
            kind = re.match(r"### Exercise (\d+)", text)
            inside = int(kind[1]) if kind else None
        elif cell["cell_type"] == "code" and inside:
            found.setdefault(inside, []).append(cell["id"])
    return found


def answered(path, language, choices, rng, port=0):
    """A notebook with answers: number of the exercise -> (name of a fault or "right"/"wrong")."""
    new, known = handed_out(path, language), answers_to(path)
    wanted = {}
    for number, ids in sections(path).items():
        choice = choices.get(number, "unchanged")
        words = {kind: dedent(rng.choice(known[number][kind])) for kind in ("right", "wrong")}
        check = next(notebook.source(one) for one in new["cells"] if one["id"] == ids[-1])
        names = re.search(r"check\((?:\[([\w, ]+)\]|(\w+))", check)
        words["names"] = names[1] or names[2]
        words["name"] = words["names"].partition(",")[0]
        words["renamed"] = re.sub(rf"\b{words['name']}\b", "other_name", words["right"])
        text, wanted[number] = FAULTS.get(choice, (f"{{{choice}}}", choice))
        if choice in ("wrong", "unchanged"):
            wanted[number] = {"wrong": "not right", "unchanged": "not yet"}[choice]
        if choice == "unchanged":
            continue
        at = [one["id"] for one in new["cells"]].index(ids[-1])
        if text is None:
            new["cells"] = [one for one in new["cells"] if one["id"] not in ids]
            continue
        words["port"] = str(port)
        parts = re.split(f"{{({'|'.join(words)})}}", text)
        text = "".join(words[one] if i % 2 else one for i, one in enumerate(parts))
        cell = {"cell_type": "code", "id": f"{rng.random()}"[2:10], "metadata": {}, "outputs": []}
        cell |= {"execution_count": 1, "source": text.splitlines(keepends=True)}
        if choice == "renamed":  # the line with the dots was changed, too
            for one in new["cells"]:
                if one["id"] in ids[:-1]:
                    one["source"] = re.sub(
                        rf"(?m)^{words['name']} = ", "other_name = ", notebook.source(one)
                    )
        new["cells"].insert(at, cell)
        if choice == "helper elsewhere":  # the answer is above, and here only its name
            new["cells"].insert(3, {**cell, "id": "above"})
            answer = f"the_answer = {words['names']}"
            new["cells"][3]["source"] = f"{words['right']}\n{answer}"
            cell["source"] = f"{words['names']} = the_answer"
    return new, wanted


def make(folder, students, numbers, seed=1, port=0):
    """Write a class to a folder. Returns {(student, "NN.exercise"): verdict}."""
    rng, wanted = random.Random(seed), {}
    paths = [NOTEBOOKS_BY_NUMBER[number] for number in numbers]
    # Every fifth student makes no mistakes of these kinds; each kind is made at least once.
    files = [(i, path) for i in range(students) if i % 5 != 4 for path in paths]
    rng.shuffle(files)
    damage_of = dict(zip(files, DAMAGES, strict=False))
    places = [(*file, number) for file in files[len(DAMAGES) :] for number in sections(file[1])]
    rng.shuffle(places)
    assert len(places) >= len(FAULTS), "the class is too small for all faults"
    fault_of = dict(zip(places, FAULTS, strict=False))
    loose = zipfile.ZipFile(folder / "submissions.zip", "w")
    for i in range(students):
        name = NAMES[i] if i < len(NAMES) else f"Student {i}"
        shown, number = name, 1000 + i
        if name == "Anna Li":
            shown = f"{name} ({number})"
        layout = ("moodle", "canvas", "folder", "zip")[i % 4]
        if name == "Anna Li":
            layout = ("moodle", "canvas")[i % 2]
        language = ("en", "zh")[i % 3 == 2]
        for path in paths:
            fate = rng.random()
            choices = {
                exercise: rng.choice(["right", "right", "right", "wrong", "unchanged"])
                for exercise in sections(path)
            }
            for exercise in choices:
                choices[exercise] = fault_of.get((i, path, exercise), choices[exercise])
            new, verdicts = answered(path, language, choices, rng, port)
            style = rng.choice(["ids", "ids", "no ids", "colab"])
            for cell in new["cells"]:
                if style == "colab":
                    cell["metadata"] = {**cell["metadata"], "id": cell.pop("id")}
                elif style == "no ids":
                    del cell["id"]
            if fate > 0.9:
                new["cells"][1:1] = [
                    {"cell_type": "markdown", "metadata": {}, "source": "# my notes \ud800"}
                ]
            text = json.dumps(new)  # escapes what is not ASCII, as some platforms do
            content, verdict = text.encode(), None
            if damage := damage_of.get((i, path)):
                change, verdict = DAMAGES[damage]
                content = change(text if fate > 0.9 else json.dumps(new, ensure_ascii=False))
            elif i % 10 == 9 and path == paths[0]:
                verdict, content = "", None  # not handed in
            for exercise, one in verdicts.items():
                wanted[shown, f"{path.name[:2]}.{exercise}"] = one if verdict is None else verdict
            if content is None:
                continue
            files = {path.name: (content, 2021)}
            if fate < 0.2 and layout != "zip":
                old = json.dumps(handed_out(path, language)).encode()
                files = {path.name: (old, 2020), f"{path.stem}-1.ipynb": (content, 2021)}
            for file, (data, year) in files.items():
                if layout == "moodle":
                    put_file(folder / f"{name}_{number}_assignsubmission_file_" / file, data, year)
                elif layout == "canvas":
                    put_zip(loose, f"{name}_{number}_77_{file}", data, year)
                elif layout == "folder":
                    put_file(folder / name / "hw" / file, data, year)
                else:
                    with zipfile.ZipFile(folder / f"{name}.zip", "a") as archive:
                        put_zip(archive, f"hw/{file}", data, year)
    loose.close()
    return wanted


def put_file(path, data, year):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    when = time.mktime((year, 5, 1, 12, 0, 0, 0, 0, -1))
    os.utime(path, (when, when))


def put_zip(archive, name, data, year):
    archive.writestr(zipfile.ZipInfo(name, (year, 5, 1, 12, 0, 0)), data)


def table_in(folder):
    """{(student, column): cell} of marks.csv."""
    with open(folder / "marks.csv", encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        (row["student"].removeprefix("'"), column): cell
        for row in rows
        for column, cell in row.items()
        if column not in ("student", "right", "notes")
    }


def differences(wanted, found):
    """Where a table is not what it must be: (place, wanted, found)."""
    places = sorted({*wanted, *found})
    return [
        (place, wanted.get(place, "(no cell)"), found.get(place, "(no cell)"))
        for place in places
        if wanted.get(place) != found.get(place)
    ]


def main(students, *numbers):
    import resource  # Windows has none

    with tempfile.TemporaryDirectory() as place, socket.create_server(("127.0.0.1", 0)) as server:
        folder, to = Path(place, "class"), Path(place, "marks")
        folder.mkdir()
        wanted = make(folder, int(students), numbers, port=server.getsockname()[1])
        before = processes(), files_in("/tmp"), files_in(ROOT)
        started = time.monotonic()
        command = [sys.executable, "course.py", "marks", folder, "--to", to, "--feedback"]
        status = subprocess.run(command, cwd=ROOT).returncode
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = used.ru_utime + used.ru_stime
        print(f"status {status}, {time.monotonic() - started:.0f} s, of the cores {cpu:.0f} s")
        print(f"load {os.getloadavg()}")
        server.setblocking(False)
        try:
            server.accept()
            print("SOMEBODY HAS REACHED THE NETWORK")
        except BlockingIOError:
            print("nobody has reached the network")
        wrong = differences(wanted, table_in(to))
        print(f"{len(wanted)} cells, {len(wrong)} not as they must be")
        print(*wrong, sep="\n")
        after = processes(), files_in("/tmp"), files_in(ROOT)
        names = "processes", "files in /tmp", "files in the course"
        for name, one, other in zip(names, before, after, strict=True):
            print(f"{name}: {len(one)} before, {len(other)} after; new: {sorted(other - one)[:9]}")
        count = {verdict: list(wanted.values()).count(verdict) for verdict in wanted.values()}
        print(count)


def processes():
    return {path.name for path in Path("/proc").glob("[0-9]*")}


def files_in(folder):
    skipped = {".venv", ".git", "__pycache__", "class", "marks", "bash_jobs.0"}
    found = set()
    for where, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if one not in skipped]
        found |= {os.path.join(where, one) for one in files}
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
