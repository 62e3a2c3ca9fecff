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
import time
import zipfile
import zlib
from dataclasses import dataclass, field
from itertools import takewhile

from .. import manifest
from ..notebook import source
from ..translate import in_language, languages

# A student's name and number, in the names that Moodle and Canvas make.
MOODLE = re.compile(r"(.+?)_(\d+)_assignsubmission_")
CANVAS = re.compile(r"([^_]+?)(?:_LATE)?_(\d+)_\d+_")
LARGEST, DEEPEST = 2**26, 4  # bytes of a file; zips in zips
BAD_ZIP = (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError, ValueError)
# The course's side ----------------------------------------------------------------------------


@dataclass
class Exercise:
    """An exercise as the course has it: what is run around an answer, and what is shown of it."""

    before: list  # (text, label) of all code cells above it
    titles: dict = field(default_factory=dict)  # by language
    own: list = field(default_factory=list)  # its cells; the last of them is the check
    solution: list = field(default_factory=list)

    @property
    def answers(self):
        """The names that a check judges: those of its first argument that the cells assign."""
        made = {
            getattr(node, "id", getattr(node, "name", ""))
            for node in ast.walk(ast.parse("\n".join(self.own[:-1])))
            if isinstance(getattr(node, "ctx", ast.Store()), ast.Store)
        }
        return sorted(
            made.intersection(
                one.id
                for call in ast.walk(ast.parse(self.own[-1]))
                if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "check"
                for one in ast.walk(call.args[0])
                if isinstance(one, ast.Name)
            )
        )


class Lesson:
    """A notebook of the course, as marking needs it."""

    def __init__(self, path):
        self.name, self.number = path.stem, path.stem.partition("_")[0]
        self.exercises, self.ids, self.headings = {}, {}, {}  # the last two lead to an exercise
        self.titles, self.texts, before = {}, set(), []
        for language in ("en", *languages()):
            inside = shown = None
            for cell in in_language(path, language)["cells"]:
                text = source(cell)
                line = text.partition("\n")[0].strip()
                if cell["cell_type"] == "markdown" and line.startswith("#"):
                    self.titles.setdefault(language, line.lstrip("# "))
                    if language == "en":
                        kind = re.match(r"### (Exercise|Solution) (\d+)", line)
                        inside = shown = None
                        if kind and kind[1] == "Exercise":
                            inside = int(kind[2])
                            self.exercises[inside] = Exercise(list(before))
                        elif kind:
                            shown = int(kind[2])
                        self.ids[cell["id"]] = inside
                    elif inside := self.ids[cell["id"]]:
                        pass
                    self.headings[line] = language, self.ids[cell["id"]]
                    if inside:
                        self.exercises[inside].titles[language] = line.lstrip("# ")
                elif cell["cell_type"] == "code" and language == "en":
                    self.ids[cell["id"]] = inside
                    self.texts.add(text.strip())
                    if inside:
                        self.exercises[inside].own.append(text)
                    if shown and "check(" in text:
                        self.exercises[shown].solution.append(text)
                    before.append((text, f"<cell {cell['id']}>"))


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


def files_in(path, parts=()):
    """Each file in a folder, and in its zips: (parts of its path, time, bytes or what is wrong)."""
    if parts and is_litter(path.name):
        return
    if path.is_symlink() or not (path.is_dir() or path.is_file()):
        yield parts or (path.name,), 0, "it is a link, or no file, and was left out"
    elif path.is_dir():
        for one in sorted(path.iterdir()):
            yield from files_in(one, (*parts, one.name))
    else:
        parts = parts or (path.name,)
        try:
            if path.suffix.lower() == ".zip":
                yield from files_in_zip(path, parts)
            else:
                large = path.stat().st_size > LARGEST
                content = f"it is larger than {LARGEST} bytes" if large else path.read_bytes()
                yield parts, path.stat().st_mtime, content
        except OSError as error:
            yield parts, 0, f"it can't be read: {error}"


def files_in_zip(file, parts, depth=1):
    """The same for a zip: a path, or a file that is open."""
    try:
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                name = info.filename
                if not info.flag_bits & 0x800:  # not marked as UTF-8, and often UTF-8 all the same
                    with contextlib.suppress(ValueError):
                        name = name.encode("cp437").decode()
                inner = [one for one in name.replace("\\", "/").split("/") if one]
                if info.is_dir() or not inner or any(map(is_litter, inner)):
                    continue
                place = (*parts[:-1], parts[-1][:-4], *inner)
                with archive.open(info) as member:
                    content = member.read(LARGEST + 1)
                if len(content) > LARGEST or depth > DEEPEST:
                    content = "it is too large, or in too many zips"
                if inner[-1].lower().endswith(".zip") and isinstance(content, bytes):
                    yield from files_in_zip(io.BytesIO(content), place, depth + 1)
                else:
                    try:
                        when = time.mktime((*info.date_time, 0, 0, -1))
                    except (ValueError, OverflowError):
                        when = 0
                    yield place, when, content
    except BAD_ZIP as error:
        yield parts, 0, f"the zip is damaged: {error}"


def is_litter(name):
    return name.startswith(".") or name == "__MACOSX"


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
        if parts[-1].lower().endswith(".ipynb"):
            works.append(read(Work(file, when, student_of(parts, common)), parts[-1], content))
        elif isinstance(content, str):
            notes.append(f"{file}: {content}")
        else:
            notes.append(f"{file} is no notebook, and was left out")
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


def read(work, name, content):
    """Find out which notebook a work is, and what answers it has."""
    try:
        if isinstance(content, str):
            raise ValueError(content)
        found = json.loads(content)
        cells = [(id_of(one), one["cell_type"], source(one)) for one in found["cells"]]
        if not all(isinstance(text, str) for cell in cells for text in cell):
            raise ValueError("its cells hold no text")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        why = content if isinstance(content, str) else type(error).__name__
        work.damage = f"the file cannot be read as a notebook ({printable(why)[:200]})"
        work.lesson = next((one for title, one in lessons().items() if title in name), None)
        return work
    lines = {text.partition("\n")[0].strip() for _, kind, text in cells if kind == "markdown"}
    ids = {i for i, _, _ in cells}
    score = {
        one: len(one.telling & lines) + len(one.ids.keys() & ids) for one in lessons().values()
    }
    known = [one for one in score if one.telling & lines]
    if not known:
        work.damage = "it is no notebook of this course"
        return work
    work.lesson = lesson = max(known, key=score.get)
    seen = [lesson.headings[line][0] for line in lesson.telling & lines]
    work.language = max(set(seen), key=seen.count)
    inside = None
    for i, kind, text in cells:
        line = text.partition("\n")[0].strip()
        if kind == "markdown" and line.startswith("#"):  # the student's own do not end an exercise
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
