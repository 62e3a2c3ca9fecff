"""A class that is made up: notebooks that students could hand in, with every fault we know.

    .venv/bin/python tests/made_class.py 30 10 19 20 21 22 23

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

# What is done to the cells of one exercise: name -> code, or None, and its verdict.
FAULTS = {
    name: (fault.get("code"), fault["verdict"])
    for name, fault in tomllib.loads((ROOT / "tests/made_class.toml").read_text("utf-8")).items()
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
LAYOUTS = ["{name}_{number}_assignsubmission_file_/", "submissions.zip!{name}_{number}_77_"]
LAYOUTS += ["{name}/hw/", "{name}.zip!hw/"]
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


def answered(path, language, choices, rng, words):
    """A notebook with answers, and their verdicts.

    `choices` has for numbers of exercises the name of a fault, "right", "wrong" or "unchanged";
    `words` what FAULTS need to know beside the answers.
    """
    new, known, wanted = handed_out(path, language), answers_to(path), {}
    for number, ids in sections(path).items():
        choice = choices.get(number, "unchanged")
        verdict = {"wrong": "not right", "unchanged": "not yet"}.get(choice, choice)
        text, wanted[number] = FAULTS.get(choice, (f"{{{choice}}}", verdict))
        if choice == "unchanged":
            continue
        if choice == "deleted":
            new["cells"] = [one for one in new["cells"] if one["id"] not in ids]
            continue
        at = [one["id"] for one in new["cells"]].index(ids[-1])
        names = re.search(r"check\(\[?([\w, ]+)", notebook.source(new["cells"][at]))[1]
        names = re.match(r"\w+(, \w+)*", names)[0]
        words = words | {
            kind: dedent(rng.choice(known[number][kind])) for kind in ("right", "wrong")
        }
        words["name"] = names.partition(",")[0]
        words["renamed"] = re.sub(rf"\b{words['name']}\b", "other_name", words["right"])
        if choice == "renamed":  # the line with the dots was changed, too
            dots = new["cells"][at - 1]
            dots["source"] = notebook.source(dots).replace(f"{words['name']} = ", "other_name = ")
        text = re.sub(r"{(\w+)}", lambda match, words=words: words[match[1]], text)
        if choice == "helper elsewhere":  # the answer is above, and here only its name
            new["cells"].insert(at, code_cell(f"{names} = the_answer"))
            new["cells"].insert(3, code_cell(f"{text}\nthe_answer = {names}"))
        else:
            new["cells"].insert(at, code_cell(text))
    return new, wanted


def code_cell(text):
    cell = {"cell_type": "code", "id": f"{hash(text)}", "metadata": {}, "outputs": []}
    return cell | {"execution_count": 1, "source": text.splitlines(keepends=True)}


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
    words = {"port": str(port), "folder": str(folder)}
    for i in range(students):
        name, language = NAMES[i] if i < len(NAMES) else f"Student {i}", ("en", "zh")[i % 3 == 2]
        is_double = NAMES.count(name) > 1
        shown = f"{name} ({1000 + i})" if is_double else name
        for path in paths:
            if i % 10 == 9 and path == paths[0]:
                wanted |= {(shown, f"{path.name[:2]}.{n}"): "" for n in sections(path)}
                continue  # not handed in
            kinds = ["right", "right", "right", "wrong", "unchanged"]
            choices = {n: fault_of.get((i, path, n), rng.choice(kinds)) for n in sections(path)}
            new, verdicts = answered(path, language, choices, rng, words)
            change, verdict = DAMAGES.get(damage_of.get((i, path)), (str.encode, None))
            for n, one in verdicts.items():
                wanted[shown, f"{path.name[:2]}.{n}"] = one if verdict is None else verdict
            style = rng.choice(["ids", "ids", "no ids", "colab"])
            for cell in new["cells"] if style != "ids" else ():
                cell["metadata"] = {**cell["metadata"], "id": cell.pop("id")}
                cell["metadata"] = cell["metadata"] if style == "colab" else {}
            note = {"cell_type": "markdown", "metadata": {}, "source": "# my notes \ud800"}
            new["cells"][1:1] = [note] if style == "ids" else []  # half a character
            content = change(json.dumps(new, ensure_ascii=style == "ids"))
            older = json.dumps(handed_out(path, language)).encode()
            older = older if verdict is None else content
            for file, data, year in [
                (path.name, older, 2020),
                (f"{path.stem}-1.ipynb", content, 2021),
            ]:
                # Only the first two tell students of the same name apart.
                layout = LAYOUTS[i % (2 if is_double else 4)]
                archive, _, inner = layout.format(name=name, number=1000 + i).rpartition("!")
                put(folder, archive, f"{inner}{file}", data, year)
    return wanted


def put(folder, archive, name, data, year):
    """Write a file of a year to a folder, or to a zip in it."""
    if archive:
        with zipfile.ZipFile(folder / archive, "a") as file:
            file.writestr(zipfile.ZipInfo(name, (year, 5, 1, 12, 0, 0)), data)
        return
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
    when = time.mktime((year, 5, 1, 12, 0, 0, 0, 0, -1))
    os.utime(folder / name, (when, when))


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
    return [
        (place, wanted.get(place, "(no cell)"), found.get(place, "(no cell)"))
        for place in sorted({*wanted, *found})
        if wanted.get(place) != found.get(place)
    ]


def main(students, *numbers):
    with tempfile.TemporaryDirectory() as place, socket.create_server(("127.0.0.1", 0)) as server:
        folder, to = Path(place, "class"), Path(place, "marks")
        folder.mkdir()
        wanted = make(folder, int(students), numbers, port=server.getsockname()[1])
        started = time.monotonic()
        command = [sys.executable, "course.py", "marks", folder, "--to", to, "--feedback"]
        status = subprocess.run(command, cwd=ROOT).returncode
        print(f"status {status}, {time.monotonic() - started:.0f} s, load {os.getloadavg()}")
        wrong = differences(wanted, table_in(to))
        print(f"{len(wanted)} cells, {len(wrong)} not as they must be", *wrong, sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
