"""Read what a class has handed in: whose it is, which notebook, and which cells are answers.

What students hand in is a stranger's file: its name, its place and each of its bytes may be
anything. Whose it is, its name or its folder says; which notebook it is, its headings and the ids
of its cells.
"""

import ast
import contextlib
import functools
import io
import json
import re
import zipfile
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile

from tools import manifest
from tools.notebook import source
from tools.translate import in_language, languages

from .judge import names_of

# A student's name and number, in the names that Moodle and Canvas make.
MOODLE = re.compile(r"(.+?)_(\d+)_assignsubmission_")
CANVAS = re.compile(r"([^_]+?)(?:_LATE)?_(\d+)_\d+_")
LARGEST = 2**26  # bytes of a file in a zip


# The course's side ----------------------------------------------------------------------------


@dataclass
class Exercise:
    """An exercise as the course has it: what is run around an answer, and what is shown of it."""

    before: list  # (text, label) of all code cells above it
    titles: dict = field(default_factory=dict)  # by language
    own: list = field(default_factory=list)  # its cells; the last of them is the check
    solution: list = field(default_factory=list)

    def for_judging(self):
        """What `judge` has to know of it."""
        *own, check = self.own
        return {"before": self.before, "own": own, "check": check, "answers": self.answers}

    @property
    def answers(self):
        """The names that a check judges: those of its first argument that the cells assign."""
        *own, check = self.own
        made = {name for text in own for name in names_of(text, "<>")[0]}
        calls = [one for one in ast.walk(ast.parse(check)) if isinstance(one, ast.Call)]
        judged = [one.args[0] for one in calls if getattr(one.func, "id", "") == "check"]
        used = {getattr(node, "id", "") for one in judged for node in ast.walk(one)}
        return sorted(made & used)


class Lesson:
    """A notebook of the course, as marking needs it."""

    def __init__(self, path):
        self.name, self.number = path.stem, path.stem.partition("_")[0]
        self.exercises, self.ids, self.headings = {}, {}, {}  # the last two lead to an exercise
        self.titles, self.texts, before = {}, set(), []
        kind = number = None
        for cell in in_language(path, "en")["cells"]:
            text = source(cell)
            if line := heading(cell["cell_type"], text):
                found = re.match(r"### (Exercise|Solution) (\d+)", line)
                kind, number = (found[1], int(found[2])) if found else (None, None)
                if kind == "Exercise":
                    self.exercises[number] = Exercise([*before])
            elif cell["cell_type"] == "code":
                self.texts.add(text.strip())
                before.append((text, f"<cell {cell['id']}>"))
                if kind == "Exercise":
                    self.exercises[number].own.append(text)
                elif kind and "check(" in text:
                    self.exercises[number].solution.append(text)
            self.ids[cell["id"]] = number if kind == "Exercise" else None
        for language in ("en", *languages()):
            for cell in in_language(path, language)["cells"]:
                if line := heading(cell["cell_type"], source(cell)):
                    self.headings[line] = language, self.ids[cell["id"]]
                    titles = self.exercises.get(self.ids[cell["id"]], self).titles
                    titles.setdefault(language, line.lstrip("# "))


def heading(kind, text):
    """The first line of a cell, if it is a heading; else an empty string."""
    return text.partition("\n")[0].strip() if kind == "markdown" and text.startswith("#") else ""


@functools.cache
def lessons():
    """The notebooks of the course that have exercises, by name."""
    found = {path.stem: Lesson(path) for path in manifest.notebooks()}
    lines = [line for lesson in found.values() for line in lesson.headings]
    for lesson in found.values():  # what other notebooks have, too, tells nothing
        lesson.telling = {line for line in lesson.headings if lines.count(line) == 1}
    return found


# What was handed in ---------------------------------------------------------------------------


@dataclass
class Work:
    """A notebook that a student handed in."""

    file: str
    when: float
    student: tuple  # name, and number or ""
    lesson: Lesson = None
    language: str = "en"
    cells: dict = field(default_factory=dict)  # number of the exercise -> texts of its code cells
    others: list = field(default_factory=list)  # the student's other code cells
    damage: str = ""


def files_in(folder):
    """Each file in a folder, and in its zips: (parts of its path, time, bytes or what is wrong).

    `folder` may also be a zip, or its bytes.
    """
    if isinstance(folder, bytes):
        yield from unpacked(("stdin.zip",), 0, folder)
        return
    for path in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
        parts = path.relative_to(folder).parts or (path.name,)
        if path.is_file() and not path.is_symlink():
            yield from unpacked(parts, path.stat().st_mtime, path.read_bytes())


def unpacked(parts, when, content):
    """A file; of a zip, the files in it."""
    if any(one.startswith(".") or one == "__MACOSX" for one in parts):
        return
    if not parts[-1].lower().endswith(".zip"):
        yield parts, when, content
        return
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for info in archive.infolist():
                name = info.filename
                if not info.flag_bits & 0x800:  # not marked as UTF-8, and often UTF-8 all the same
                    with contextlib.suppress(ValueError):
                        name = name.encode("cp437").decode()
                inner = (*parts[:-1], parts[-1][:-4], *filter(None, re.split(r"[/\\]", name)))
                date = datetime(*info.date_time).timestamp()
                if info.file_size > LARGEST:
                    yield inner, date, "it is too large"
                elif not info.is_dir():
                    yield from unpacked(inner, date, archive.read(info))
    except Exception as error:  # each method of compression has errors of its own
        yield parts, 0, f"the zip is damaged: {error}"


def printable(text):
    return "".join(one if one.isprintable() else "?" for one in text).strip()


def works_in(folder):
    """What was handed in: works, and lines on files that are none."""
    files = list(files_in(folder))
    levels = zip(*(parts[:-1] for parts, _, _ in files), strict=False)  # to the least deep
    common = len([*takewhile(lambda names: len({*names}) == 1, levels)])
    works, notes = [], []
    for parts, when, content in files:
        file = printable("/".join(parts))
        if isinstance(content, str) or not parts[-1].lower().endswith(".ipynb"):
            why = content if isinstance(content, str) else "it is no notebook, and was left out"
            notes.append(f"{file}: {why}")
        else:
            works.append(read(Work(file, when, student_of(parts, common)), content))
    return works, notes


def student_of(parts, common):
    """The (name, number) of the student whose file this is; the number may be "".

    Moodle and Canvas write both. Elsewhere it is the first folder below those that all share, or
    what a file's name has beside the notebook's.
    """
    for pattern in (MOODLE, CANVAS):
        for part in parts:
            if found := pattern.match(part):
                return printable(found[1]), found[2]
    stem = parts[-1][: -len(".ipynb")]
    for name in lessons():
        stem = stem.replace(name, " ")
    stem = re.sub(r"[-_ ]*(\(\d+\)|-\d+)$", "", stem)
    own = parts[common:-1] or [stem.strip("-_ ")]
    name = own[0] or (parts[common - 1] if common else parts[-1])
    return printable(name) or "?", ""


def read(work, content):
    """Find out which notebook a work is, and what answers it has."""
    try:
        found = json.loads(content)
        cells = [(id_of(one), one["cell_type"], source(one)) for one in found["cells"]]
        if not all(isinstance(text, str) for cell in cells for text in cell):
            raise ValueError("its cells hold no text")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        work.damage = f"the file cannot be read as a notebook ({type(error).__name__})"
        named = [one for title, one in lessons().items() if title in work.file.rpartition("/")[2]]
        work.lesson = named[0] if named else None
        return work
    lines = {heading(kind, text) for _, kind, text in cells}
    lesson = max(lessons().values(), key=lambda one: len(one.telling & lines))
    seen = [lesson.headings[line][0] for line in lesson.telling & lines]
    if not seen:
        work.damage = "it is no notebook of this course"
        return work
    work.lesson, work.language, inside = lesson, max(seen, key=seen.count), None
    for i, kind, text in cells:
        if line := heading(kind, text):  # the student's own do not end an exercise
            inside = lesson.ids.get(i, lesson.headings.get(line, (0, inside))[1])
        elif kind == "code":
            number = lesson.ids.get(i, inside)
            if number and text.strip() != lesson.exercises[number].own[-1].strip():
                work.cells.setdefault(number, []).append(text)
            if text.strip() not in lesson.texts:
                work.others.append(text)
    return work


def id_of(cell):
    """The id of a cell. Colab keeps it among the metadata."""
    return cell.get("id") or cell.get("metadata", {}).get("id") or ""


def newest(works):
    """name of a student -> (name of a notebook -> the newest work), and lines on all others.

    Two numbers with the same name are two students if both hand in the same notebook.
    """
    notes, chosen, numbers = {}, {}, {}
    for work in works:
        if work.lesson:
            numbers.setdefault((work.student[0], work.lesson.name), set()).add(work.student[1])
    namesakes = {name for (name, _), found in numbers.items() if len(found) > 1}
    for work in sorted(works, key=lambda work: (work.when, natural(work.file[:-6]))):
        name, number = work.student
        name = f"{name} ({number})" if name in namesakes else name
        mine, said = chosen.setdefault(name, {}), notes.setdefault(name, [])
        if not work.lesson:
            said.append(f"{work.file}: {work.damage}")
            continue
        if older := mine.get(work.lesson.name):
            said.append(f"{work.file} counts, and {older.file} does not")
        mine[work.lesson.name] = work
    return dict(sorted(chosen.items(), key=lambda one: natural(one[0]))), notes


def natural(text):
    """A key by which x-1 comes after x, and x-10 after x-9."""
    return [int(one) if one.isdecimal() else one for one in re.split(r"(\d+)", text)]
