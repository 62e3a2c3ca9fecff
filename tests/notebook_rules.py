"""The rules that every notebook of the course keeps. Each rule yields the faults that it finds.

A rule gets a notebook, as the plain dict that its JSON holds, and the name of its file. nbval
runs the cells and compares outputs; the rules find what nbval lets pass, and what a reader would
trip over.
"""

import ast
import base64
import dis
import inspect
import json
import re
import struct
import tomllib
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from statistics import median

from d2lhybrid.exercises import check
from tools import manifest
from tools.colab import first_cell
from tools.notebook import agreed_metadata, fingerprint, minutes

ROOT = Path(__file__).resolve().parents[1]
COLAB = "https://colab.research.google.com"
NOTEBOOKS = manifest.notebooks()
ENTRIES = {f"{entry['name']}.ipynb": entry for entry in manifest.entries()}
MANIFEST = manifest.course()
LANGUAGE = "en"
LINES = MANIFEST["lines"][LANGUAGE]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ADDRESS = PROJECT["project"]["urls"]["Repository"]

PAGES = {  # no test opens them: add a page here after you have seen it in a browser
    "https://colab.research.google.com/assets/colab-badge.svg",
    "https://d2l.ai/chapter_computational-performance/async-computation.html",
    "https://d2l.ai/chapter_computational-performance/auto-parallelism.html",
    "https://d2l.ai/chapter_computational-performance/hardware.html",
    "https://d2l.ai/chapter_computational-performance/hybridize.html",
    "https://d2l.ai/chapter_computational-performance/multiple-gpus.html",
    "https://d2l.ai/chapter_computational-performance/parameterserver.html",
    "https://nanobench.ankerl.com/tutorial.html",  # as its README links it
    f"{manifest.pages_address()}speak.html",  # pages/test_speaking.py opens it
}
PRIVATE = re.compile(  # what belongs to one machine: folders, users, hosts, environments
    r"/(?:tmp|root|home|Users|work|content|usr|opt|var)/|[A-Z]:\\|site-packages|\.venv|\w@\w|localhost"
)


def badge(file_name):
    """The link, as an image, at the head of a notebook: it opens the notebook on Colab."""
    address = f"{COLAB}/github/{manifest.repository()}/blob/main/notebooks/{file_name}"
    return f"[![Open in Colab]({COLAB}/assets/colab-badge.svg)]({address})"


def said_by_check(answer):
    """What `check` prints about an answer to a question whose answer is 1."""
    with redirect_stdout(StringIO()) as printed:
        check(answer, 1)
    return printed.getvalue().rstrip()


NOT_YET, RIGHT, WRONG = said_by_check(...), said_by_check(1), said_by_check(2).partition(":")[0]


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def text_of(cell):
    return "".join(cell["source"])


def code_cells(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def prose(notebook):
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    return "\n\n".join(map(text_of, cells))


def outputs(notebook):
    """Pairs of a code cell's number and one of its outputs."""
    for number, cell in enumerate(code_cells(notebook), 1):
        for output in cell["outputs"]:
            yield number, output


def section(notebook, part):
    """The cells from one of the fixed headings of a notebook to the next of its level."""
    inside = False
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown" and text_of(cell).startswith("## "):
            inside = text_of(cell).splitlines()[0] == LINES[part]
        if inside:
            yield cell


def tree_of(cell):
    """A code cell as its syntax tree, without what only IPython understands."""
    return ast.parse(re.sub(r"(?m)^( *)(?:[%!].*|.*\?)$", r"\1pass", text_of(cell)))


def code_in(notebook, part):
    """The syntax trees of the code cells of a section."""
    return [tree_of(cell) for cell in section(notebook, part) if cell["cell_type"] == "code"]


def checks_in(notebook, part):
    """The calls of `check` in a section."""
    nodes = [node for tree in code_in(notebook, part) for node in ast.walk(tree)]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return [call for call in calls if ast.unparse(call.func) == "check"]


def assigned(tree):
    """The names that a cell gives a meaning: assigned, defined or imported in it."""
    steps = dis.get_instructions(compile(tree, "cell", "exec"))
    return {step.argval for step in steps if step.opname == "STORE_NAME"}


def left_open(tree):
    """The names that a cell gives a meaning in a statement that holds `...`."""
    open_ones = [one for one in tree.body if any(map(is_ellipsis, ast.walk(one)))]
    return assigned(ast.Module(open_ones, []))


def is_ellipsis(node):
    return isinstance(node, ast.Constant) and node.value is ...


def bullets(cell):
    return [line[2:] for line in text_of(cell).splitlines() if line.startswith("- ")]


def printed(notebook):
    return "".join("".join(output.get("text", "")) for _, output in outputs(notebook))


def runs_once_from_top_to_bottom(notebook, name):
    counts = [cell["execution_count"] for cell in code_cells(notebook)]
    if counts != list(range(1, len(counts) + 1)):
        yield f"cells were run in the order {counts}"


def ends_without_errors_and_warnings(notebook, name):
    for number, output in outputs(notebook):
        if output.get("name") == "stderr" or output["output_type"] == "error":
            yield f"cell {number} put out an error or a warning"


def tells_nothing_about_the_machine(notebook, name):
    for number, output in outputs(notebook):
        data = {k: v for k, v in output.get("data", {}).items() if not k.startswith("image/")}
        found = PRIVATE.search(json.dumps([output.get("text", ""), data], ensure_ascii=False))
        if found:
            yield f"cell {number} shows {found.group()!r}"


def output_is_compared(notebook, name):
    cells = code_cells(notebook)
    ignored = []
    for number, cell in enumerate(cells, 1):
        tags = set(cell["metadata"].get("tags", []))
        if tags & {"nbval-skip", "raises-exception", "nbval-raises-exception"}:
            yield f"cell {number} is not checked: {sorted(tags)}"
        if re.search(r"#\s*(NBVAL|PYTEST_VALIDATE)_", text_of(cell)):
            yield f"cell {number} has a marker for nbval in its code; tags keep the code clean"
        if "nbval-ignore-output" in tags:
            ignored.append(cell)
            kinds = [set(output.get("data", ())) for output in cell["outputs"]]
            if kinds != [{"image/png", "text/plain"}]:
                yield f"cell {number} is ignored, and its output is not just one picture"
    if len(ignored) * 10 > len(cells):
        yield f"{len(ignored)} of {len(cells)} code cells are ignored; one in ten at most"


def is_small(notebook, name):
    size = len(json.dumps(notebook))
    if size > 1_000_000:
        yield f"{size} bytes; a million at most"
    lines = [len([x for x in text_of(c).splitlines() if x.strip()]) for c in code_cells(notebook)]
    if median(lines) > 6 or max(lines) > 24:
        yield f"its code cells have up to {max(lines)} lines, the median is {median(lines)}"


def was_refreshed_after_the_last_change(notebook, name):
    stored, now = notebook["metadata"].get("outputs_of", ""), fingerprint(notebook)
    if stored != now:
        what = "its text, a tag or a slide" if stored[:8] == now[:8] else "its code or an output"
        yield f"{what} was changed after `python3 course.py refresh`; run that again"


def has_the_agreed_metadata(notebook, name):
    metadata = {key: value for key, value in notebook["metadata"].items() if key != "outputs_of"}
    if metadata != agreed_metadata(notebook):
        yield f"metadata {metadata}; `python3 course.py refresh` writes the right ones"


def opens_as_agreed(notebook, name):
    wanted = first_cell(ENTRIES[name])
    if text_of(code_cells(notebook)[0]) != wanted:
        yield f"the first code cell is not the course's, which is:\n{wanted}"
    if badge(name) not in prose(notebook):
        yield "no Colab badge, or another address than pyproject.toml's"


def begins_with_its_framework(notebook, name):
    """Without it, *Run All* ends here. And what is imported earlier would set the threads."""
    nodes = [node for cell in code_cells(notebook) for node in ast.walk(tree_of(cell))]
    calls = [n for n in nodes if isinstance(n, ast.Call) and n.args]
    asked = {c.args[0].value for c in calls if ast.unparse(c.func) == "import_framework"}
    needed = manifest.needed("frameworks", [ENTRIES[name]])
    if asked != set(needed):
        yield f"it imports the frameworks {sorted(asked)}, and course.toml says {needed}"
    for framework in needed:
        begin = text_of(code_cells(notebook)[1]) + "\n"
        call = rf'\w+ = import_framework\("{framework}", threads=1\)\n'
        if not re.match(r"from d2lhybrid import import_framework\n+" + call, begin):
            yield f'the second code cell must begin with import_framework("{framework}", threads=1)'


def has_all_its_parts(notebook, name):
    entry = ENTRIES[name]
    parts = [f"# {entry['title'][LANGUAGE]}"]
    parts += [line.format(minutes=minutes(notebook)) for line in LINES.values()]
    text = f"\n{prose(notebook)}\n"
    # A heading is a whole line; a bold phrase may stand within one.
    places = [text.find(f"\n{part}\n" if part.startswith("#") else part) for part in parts]
    for part, place in zip(parts, places, strict=True):
        if place < 0:
            yield f"{part!r} is missing; course.toml asks for it"
    if len(re.findall(r"^# ", text, re.MULTILINE)) > 1:
        yield "a section has a heading of the title's level"
    found = [place for place in places if place >= 0]
    if found != sorted(found) or places[0] > 0:
        yield "its parts stand in another order"


def takes_an_hour_at_most(notebook, name):
    if (takes := minutes(notebook)) > 60:
        yield f"it takes {takes} minutes, by the words, lines and exercises in it"


def says_what_it_needs(notebook, name):
    line = next((x for x in prose(notebook).splitlines() if LINES["needs"] in x), "")
    for need, what in MANIFEST["needs"].items():
        phrase = what["name"][LANGUAGE]
        if (phrase in line) != (need in ENTRIES[name]["needs"]):
            yield f"its line of needs and course.toml disagree about {phrase}"


def says_in_a_list_what_it_is_about(notebook, name):
    goals = [cell for cell in notebook["cells"] if text_of(cell).startswith(LINES["goals"])]
    for part, cells in (("goals", goals), ("summary", section(notebook, "summary"))):
        points = [point for cell in cells for point in bullets(cell)]
        if not 3 <= len(points) <= 5 or not all(point.endswith(".") for point in points):
            yield f"{LINES[part]} is to be a list of three to five sentences"


def exercises_are_open_and_solved(notebook, name):
    words = printed(notebook).splitlines()
    exercises, solutions = words.count(NOT_YET), words.count(RIGHT)
    if exercises < 3 or exercises != solutions:
        yield f"{exercises} exercises, {solutions} right solutions"
    if any(word.startswith(WRONG) for word in words):
        yield "a solution is not right"
    for cell in notebook["cells"]:
        folded = cell["metadata"].get("jp-MarkdownHeadingCollapsed", False)
        if (text_of(cell) == LINES["solutions"]) != folded:
            yield "the solutions are to be folded, and nothing else"


def exercises_have_headings(notebook, name):
    def headings(part):
        found = [text_of(cell).splitlines()[0] for cell in section(notebook, part)]
        return [line for line in found if line.startswith("### ")]

    exercises = headings("exercises")
    for number, heading in enumerate(exercises, 1):
        if not re.fullmatch(rf"### Exercise {number}: \S.*", heading):
            yield f"{heading!r} is to be '### Exercise {number}: short name'"
    if not exercises or len(exercises) > len(checks_in(notebook, "exercises")):
        yield f"{len(exercises)} exercises have a heading"
    if headings("solutions") != [f"### Solution {n + 1}" for n in range(len(exercises))]:
        yield f"the solutions have the headings {headings('solutions')}"
    for number in re.findall(r"\b[Ee]xercise ([A-Z0-9]\w*)", prose(notebook)):
        if number not in map(str, range(1, len(exercises) + 1)):
            yield f"exercise {number} is named, and there is none"


def an_exercise_asks_for_code(notebook, name):
    nodes = [node for tree in code_in(notebook, "solutions") for node in tree.body]
    if not any(isinstance(node, (ast.FunctionDef, ast.ClassDef)) for node in nodes):
        yield "no solution defines a function or a class"


def exercises_stay_open_after_run_all(notebook, name):
    asked = set().union(*map(assigned, code_in(notebook, "exercises")))
    solved = set().union(*map(assigned, code_in(notebook, "solutions")))
    for both in sorted(asked & solved):
        yield f"a solution assigns {both}, as an exercise does; call it {both}_solution"


def exercises_show_what_is_to_be_replaced(notebook, name):
    to_replace = set().union(*map(left_open, code_in(notebook, "exercises")))
    for call in checks_in(notebook, "exercises"):
        names = {node.id for node in ast.walk(call.args[0]) if isinstance(node, ast.Name)}
        if any(map(is_ellipsis, ast.walk(call))) or not names & to_replace:
            yield f"no `...` is assigned to what {ast.unparse(call)} checks"


def solutions_pass_the_check_of_their_exercise(notebook, name):
    def truths(part):
        for call in checks_in(notebook, part):
            call.args[0] = ast.Name("answer")
            yield ast.unparse(call)

    for exercise, solution in zip_longest(truths("exercises"), truths("solutions")):
        if exercise != solution:
            yield f"an exercise has {exercise}, its solution {solution}"


def lines_fit_on_page_and_slide(notebook, name):
    for number, cell in enumerate(code_cells(notebook), 1):
        code = text_of(cell).splitlines() if number > 1 else []  # the first is the same everywhere
        text = "".join("".join(output.get("text", "")) for output in cell["outputs"]).splitlines()
        for kind, lines, most in (("code", code, 79), ("printed text", text, 88)):
            longest = max(map(len, lines), default=0)
            if longest > most:
                yield f"cell {number}: a line of {kind} has {longest} characters; {most} at most"


def links_lead_where_they_say(notebook, name):
    for text, target in re.findall(r"\[([^]]*)\]\(([^)]*)\)", prose(notebook)):
        title = ENTRIES[target]["title"][LANGUAGE] if target in ENTRIES else None
        if target not in PAGES and title != text:
            yield f"[{text}]({target}) leads to no notebook of this title and no page in PAGES"


def measured_times_are_above_zero(notebook, name):
    for line in printed(notebook).splitlines():
        if re.search(r": 0(\.0+)? (s|ms|µs|ns) \(measured here\)$", line):
            yield f"{line!r} says nothing; is its unit the right one?"


def pictures_can_be_read_aloud(notebook, name):
    if re.search(r"!\[\s*\]", prose(notebook)) or "<img" in prose(notebook):
        yield "a picture without alternative text"
    seen = set()
    for number, output in outputs(notebook):
        if "image/png" not in output.get("data", {}):
            continue
        alt = output["metadata"].get("image/png", {}).get("alt", "")
        if len(alt) < 40:
            yield f"cell {number}: the picture's alternative text is {alt!r}"
        elif alt in seen:
            yield f"cell {number}: an earlier picture has the same alternative text"
        elif alt != "".join(output["data"].get("text/plain", "")):
            yield f"cell {number}: the picture as text is not its alternative text"
        seen.add(alt)


def pictures_are_sharp_and_whole(notebook, name):
    for number, output in outputs(notebook):
        if "image/png" not in output.get("data", {}):
            continue
        png = base64.b64decode("".join(output["data"]["image/png"]))
        pixels = struct.unpack(">II", png[16:24])
        shown = output["metadata"].get("image/png", {})
        size = [shown.get("width", 0), shown.get("height", 0)]
        if any(abs(2 * side - n) > 2 for side, n in zip(size, pixels, strict=True)):
            yield f"cell {number}: {pixels} pixels shown as {size}; twice the density is agreed"
        if "image/svg+xml" in output["data"]:  # it is as large as what is drawn
            continue
        figure = shown.get("figure", [0, 0])
        margin = 16  # what the layout adds in total
        drawn = [2 * side + margin for side in figure]
        if any(abs(side - n) > 2 for side, n in zip(drawn, pixels, strict=True)):
            yield f"cell {number}: {pixels} pixels, the figure is {figure}: something sticks out"


def has_slides(notebook, name):
    kinds = [cell["metadata"].get("slideshow", {}).get("slide_type") for cell in notebook["cells"]]
    if None in kinds:
        yield f"cell {kinds.index(None)} says nothing about slides"
    if kinds.count("slide") < 5:
        yield "fewer than five slides"
    above, texts = "", [text_of(cell) for cell in notebook["cells"]]
    for number, (kind, text) in enumerate(zip(kinds, texts, strict=True), 1):
        if kind == "slide" and not text.startswith("#"):
            yield f"cell {number}: a section of the slides begins without a heading"
        if kind != "subslide" and text.startswith(LINES["goals"]):
            yield f"cell {number}: the title is to have a slide of its own"
        if kind != "-" and above.startswith(LINES["exercises"]):
            yield f"cell {number}: the first exercise is to stand below its section's heading"
        above = text


# What the reader's own compiler has in another form than the package, which refuses more.
READERS_OWN = {"Symbol", "record", "refuse"}


def saved_code_is_the_packages(notebook, name):
    for number, cell in enumerate(code_cells(notebook), 1):
        lines = text_of(cell).splitlines()
        marked = {i + 2 for i, line in enumerate(lines) if line.replace(" ", "") == "#@save"}
        if not marked:
            continue
        saved = [code for line, code in definitions(text_of(cell)) if line in marked]
        if len(saved) != len(marked):
            yield f"cell {number}: @save stands in front of no definition"
        for code in saved:
            defined = name_of(code)
            if not defined:
                yield f"cell {number}: {code.splitlines()[0]} gets no name"
                continue
            theirs = package_code().get(defined, {code})
            if code not in theirs and defined not in READERS_OWN:
                yield f"cell {number}: {code.splitlines()[0]} differs from the package's"


def name_of(code):
    """What a statement defines or assigns, or ''."""
    found = re.search(r"(?m)^(?:def |class |(?=[\w.]+ = ))([\w.]+)", code)
    return found[1] if found else ""


def definitions(source):
    """Pairs of first line number and code of each statement.

    Without comments, docstrings and annotations: the package has more of them.
    """
    for statement in ast.parse(source).body:
        for node in ast.walk(statement):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node):
                node.body = node.body[1:]
            if isinstance(node, ast.FunctionDef):
                node.returns = None
            elif isinstance(node, ast.arg):
                node.annotation = None
        yield statement.lineno, ast.unparse(statement)


@cache
def package_code():
    """Name -> all that the package defines under it."""
    found = {}
    for path in (ROOT / "d2lhybrid").rglob("*.py"):
        for _, code in definitions(path.read_text(encoding="utf-8")):
            found.setdefault(name_of(code), set()).add(code)
    return found


RULES = [
    function
    for function in list(globals().values())
    if inspect.isfunction(function)
    and [*inspect.signature(function).parameters] == ["notebook", "name"]
]
