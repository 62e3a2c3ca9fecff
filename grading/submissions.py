"""Read what a class has handed in: whose it is, which notebook, and which cells are answers.

What students hand in is a stranger's file: its name, its place and each of its bytes may be
anything. Whose it is, its name or its folder says; which notebook it is, and which exercise a cell
answers, the headings of the exercises.
"""

import ast
import contextlib
import functools
import io
import json
import re
import zipfile
from dataclasses import dataclass, field
from itertools import takewhile
from time import mktime

from tools import manifest
from tools.notebook import source
from tools.translate import in_language, languages

# A student's name and number, in the names that Moodle and Canvas make.
MOODLE = re.compile(r"(.+?)_(\d+)_assignsubmission_")
CANVAS = re.compile(r"([^_]+?)(?:_LATE)?_(\d+)_\d+_")
LARGEST = 2**26  # bytes of a student's file, with all that is packed in it


# The course's side ----------------------------------------------------------------------------


@dataclass
class Exercise:
    """An exercise as the course has it: texts of code cells."""

    before: list  # all above it
    own: list  # the last of them is the check
    solution: list = field(default_factory=list)

    def to_solve(self):
        """What `judge` has to know of it. `answers` are names, in the check's first argument."""
        *own, check = self.own
        calls = [one for one in ast.walk(ast.parse(check)) if isinstance(one, ast.Call)]
        judged = [one.args[0] for one in calls if getattr(one.func, "id", "") == "check"]
        names = {node.id for one in judged for node in ast.walk(one) if isinstance(node, ast.Name)}
        return {"before": self.before, "own": own, "check": check, "answers": sorted(names)}

    def solved(self):
        """The same for the course's solution, which has names and a check of its own."""
        check = "\n".join(self.solution)
        return {"before": self.before, "own": self.own, "check": check, "answers": []}


class Lesson:
    """A notebook of the course, as marking needs it."""

    def __init__(self, path):
        self.name, self.exercises, before = path.stem, {}, []
        english = sections(in_language(path, "en"))
        for line, texts in english:
            if number := numbered("Exercise", line):
                self.exercises[number] = Exercise([*before], texts)
            elif number := numbered("Solution", line):
                self.exercises[number].solution = [text for text in texts if "check(" in text]
            before += texts
        self.texts = {text.strip() for text in before}
        self.headings = {}  # language -> heading -> number of the exercise, or None
        for language in ("en", *languages()):
            both = zip(english, sections(in_language(path, language)), strict=True)
            lines = {line: numbered("Exercise", there) for (there, _), (line, _) in both}
            self.headings[language] = lines

    def title(self, language, number=None):
        """The title of an exercise, or of the notebook."""
        lines = self.headings[language].items()
        return next(line for line, one in lines if line and one == number).lstrip("# ")


def sections(notebook):
    """The parts of a notebook that begin with a heading: pairs of its line and of code cells.

    What stands above the first heading belongs to "".
    """
    found = [("", [])]
    for cell in notebook["cells"]:
        text = source(cell)
        if cell["cell_type"] == "markdown" and text.startswith("#"):
            found.append((text.partition("\n")[0].strip(), []))
        elif cell["cell_type"] == "code":
            found[-1][1].append(text)
    return found


def numbered(kind, line):
    """The number in a heading such as `### Exercise 2: a loop`; of another heading None."""
    found = re.match(rf"### {kind} (\d+)", line)
    return int(found[1]) if found else None


@functools.cache
def lessons():
    """The notebooks of the course, by name."""
    return {path.stem: Lesson(path) for path in manifest.notebooks()}


# What was handed in ---------------------------------------------------------------------------


@dataclass
class Work:
    """A notebook that a student handed in, or another file."""

    file: str
    when: float
    student: tuple  # name, and number or ""
    lesson: Lesson = None
    language: str = "en"
    cells: dict = field(default_factory=dict)  # number of the exercise -> texts of its code cells
    others: list = field(default_factory=list)  # the student's other code cells
    damage: str = ""


def files_in(folder):
    """Each file in a folder, or a file itself: the parts of its path, its time, its bytes."""
    for path in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
        if path.is_file() and not path.is_symlink():
            parts = path.relative_to(folder).parts or (path.name,)
            yield parts, path.stat().st_mtime, path.read_bytes()


def unpacked(parts, when, content, left=None):
    """A file; of a zip, the files in it. What cannot be unpacked has no bytes.

    `left`, a list, has the bytes that may still be unpacked; without it this is the zip of a class,
    in which each file may have `LARGEST`.
    """
    if any(one.startswith((".", "__MACOSX")) for one in parts):
        return
    if not parts[-1].lower().endswith(".zip"):
        yield parts, when, content
        return
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for info in archive.infolist():
                names = filter(None, re.split(r"[/\\]", name_of(info)))
                inner = (*parts[:-1], parts[-1][:-4], *names)
                date = mktime((*info.date_time, 0, 0, -1))  # puts up with a month 0
                if not info.is_dir():
                    ours = left or [LARGEST]
                    ours[0] -= info.file_size
                    data = archive.read(info) if ours[0] >= 0 else b""
                    yield from unpacked(inner, date, data, ours)
    except Exception:  # each method of compression has errors of its own
        yield parts, when, b""


def name_of(info):
    """The name of a file in a zip. Its encoding is known only where it is marked as UTF-8.

    Else it is often UTF-8, too, or GBK, from a Chinese Windows, which is seen by what is no letter
    in cp437; "Müller" is letters.
    """
    name = info.filename
    if not info.flag_bits & 0x800:
        is_cp437 = all(one.isascii() or one.isalpha() for one in name)
        for encoding in ["utf-8"] if is_cp437 else ["utf-8", "gbk"]:
            with contextlib.suppress(ValueError):
                return name.encode("cp437").decode(encoding)
    return name


def printable(text):
    return "".join(one if one.isprintable() else "?" for one in text).strip()


def works_in(files):
    """The works that were handed in, from the parts of a path, the time and the bytes of each."""
    files = [*files]
    found = [one for file in files for one in unpacked(*file, [LARGEST] * (len(files) > 1))]
    levels = zip(*(parts[:-1] for parts, _, _ in found), strict=False)  # to the least deep
    common = len([*takewhile(lambda names: len({*names}) == 1, levels)])
    return [
        read(Work(printable("/".join(parts)), when, student_of(parts, common)), content)
        for parts, when, content in found
    ]


def student_of(parts, common):
    """The (name, number) of the student whose file this is; the number may be "".

    Moodle and Canvas write both. Elsewhere it is the first folder below the `common` ones, or
    what a file's name has beside the notebook's.
    """
    for pattern in (MOODLE, CANVAS):
        for part in parts:
            if found := pattern.match(part):
                return printable(found[1]), found[2]
    not_the_name = "|".join([*lessons(), r"(\(\d+\)|-\d+)?\.\w+$"])
    own = parts[common:-1] or [re.sub(not_the_name, " ", parts[-1]).strip("-_ ")]
    return printable(own[0] or parts[common - 1]) or "?", ""


def read(work, content):
    """Find out which notebook a work is, and what answers it has."""
    try:
        found = sections(json.loads(content))
    except (ValueError, LookupError, TypeError, RecursionError):
        work.damage = "it is not a notebook, or it is damaged"
        named = [one for one in lessons() if re.search(rf"{one}[^/]*\.ipynb$", work.file)]
        work.lesson = lessons()[named[0]] if named else None
        return work

    def exercises(one):
        return sum(bool(one[0].headings[one[1]].get(line)) for line, _ in found)

    known = [(lesson, language) for lesson in lessons().values() for language in lesson.headings]
    if not exercises(best := max(known, key=exercises)):
        work.damage = "it contains no exercise of this course"
        return work
    work.lesson, work.language = lesson, language = best
    checks = {one.own[-1].strip() for one in lesson.exercises.values()}
    number = None
    for line, texts in found:
        number = lesson.headings[language].get(line, number)  # the student's own end no exercise
        work.cells.setdefault(number, []).extend(t for t in texts if t.strip() not in checks)
        work.others += [text for text in texts if text.strip() not in lesson.texts]
    return work


def newest(works):
    """name of a student -> (name of a notebook -> the newest work), and lines on all others.

    Two numbers with the same name are two students if both hand in the same notebook.
    """
    notes, chosen = {}, {}
    handed_in = {(work.student, work.lesson.name) for work in works if work.lesson}
    names = [(name, lesson) for (name, _), lesson in handed_in]
    namesakes = {name for name, lesson in names if names.count((name, lesson)) > 1}
    for work in sorted(works, key=lambda work: (work.when, work.file[:-6])):
        name, number = work.student
        name = f"{name} ({number})" if name in namesakes else name
        mine, said = chosen.setdefault(name, {}), notes.setdefault(name, [])
        if not work.lesson:
            said.append(f"{work.file}: {work.damage}")
            continue
        if older := mine.get(work.lesson.name):
            said.append(f"{work.file} counts; {older.file} does not")
        mine[work.lesson.name] = work
    return dict(sorted(chosen.items())), notes
