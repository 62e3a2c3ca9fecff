"""Judge one answer: what is run of a notebook, and how the course's check gets at the answer.

`answer` is called in a process that is forked for it; see `processes`. A notebook also
measures, draws and compiles. Most of that no answer needs, and it takes minutes; so `needed_of`
chooses statements: those that make or change the names that the answer and its check use.
"""

import ast
import builtins
import contextlib
import functools
import importlib.util
import io
import linecache
import re
import symtable
import sys
import textwrap
import traceback
import types
from pathlib import Path


def answer(job):
    """Run what was handed in for an exercise, and judge it: {"verdict": ..., "said": ...}.

    First come those of the course's own statements above the exercise that the answer and the
    check need, and the exercise's own cells as the course has them. Then the student's cells. What
    these have changed of what the check needs is put back; only the names that the check judges
    are the student's. The check is the course's, in a copy of d2lhybrid.exercises that nobody sees.
    """
    said, lesson, package = [], lesson_of_our_own(), sys.modules["d2lhybrid"]
    lesson.print = said.append
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    space = main.__dict__
    space["display"] = print
    cells, own, names = job["cells"], job["own"], set(job["answers"])
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            needed = None if job.get("whole") else names_in([*cells, *own, job["check"]])
            for statement, label in needed_of(job["before"], needed):
                run(statement, label, space)
            for number, text in enumerate(own):
                run_cell(text, f"<exercise {number}>", space)
    except BaseException:
        return {"verdict": "not judged", "said": f"the course's own cells failed:\n{last_call()}"}
    kept, errors = dict(space), []
    if not job["solution"]:
        for name in names:
            space.pop(name, None)
        elsewhere = needed_of(job["others"], names_in(cells) - kept.keys(), only_names)
        for run_one, *what in [(run, *one) for one in elsewhere] + [
            (run_cell, text, f"<answer {number}>") for number, text in enumerate(cells)
        ]:
            try:
                run_one(*what, space)
            except BaseException:
                errors.append(last_call())
        print(*errors, sep="\n", end="", flush=True)
    if lost := sorted(names - space.keys()):
        if errors or not set(cells) <= set(own):
            return {"verdict": "error", "said": errors[0] if errors else f"there is no {lost[0]}"}
        return {"verdict": "not yet", "said": "the answer's cell is not in the notebook"}
    for name in needed_names([*job["before"], *((text, "<>") for text in own)], job["check"]):
        if name in kept and name not in names:
            space[name] = kept[name]
        elif name in vars(builtins):
            space.pop(name, None)
    sys.modules["d2lhybrid"] = package
    package.check = space["check"] = lesson.check
    try:
        run_cell(job["check"], "<check>", space)
        if job["solution"]:
            said.clear()
            for text in cells:
                run_cell(text, "<solution>", space)
    except BaseException:
        return {"verdict": "error", "said": last_call()}
    finally:
        with contextlib.suppress(Exception):  # a student may have closed it
            sys.stdout.flush()
    return verdict_of(said, errors)


def verdict_of(said, errors):
    """What the lines of an exercise's checks say together."""
    for verdict in ("not yet", "not right", "right"):
        lines = [line for line in said if line.partition(":")[0] == verdict]
        if lines and verdict == "not yet" and errors:
            return {"verdict": "error", "said": errors[0]}
        if lines:
            return {"verdict": verdict, "said": lines[0]}
    return {"verdict": "not judged", "said": "this machine lacks what the check needs"}


def lesson_of_our_own():
    """The module d2lhybrid.exercises once more, so that no answer can change what `check` does."""
    file = Path(sys.modules["d2lhybrid"].__file__).with_name("exercises.py")
    spec = importlib.util.spec_from_file_location("lesson", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    same = module.same
    # An object of an answer's own class could say that it equals everything.
    module.same = lambda value, truth: type(value).__module__ != "__main__" and same(value, truth)
    return module


def last_call():
    """The error that is being handled, in the lines that a student would look for."""
    kind, error, calls = sys.exc_info()
    while calls and not calls.tb_frame.f_code.co_filename.startswith("<"):
        calls = calls.tb_next
    return "".join(traceback.format_exception(kind, error, calls, limit=-4))


def run_cell(text, label, space):
    for statement in ast.parse(noted(text, label)).body:
        run(statement, label, space)


def run(statement, label, space):
    exec(compile(ast.Module([statement], []), label, "exec"), space)


def noted(text, label):
    """A cell as Python, noted so that its functions' source and its errors' lines are found.

    What only a notebook knows is mended: lines such as %timeit, and a cell that is indented.
    """
    try:
        ast.parse(text)
    except SyntaxError:
        text = re.sub(r"(?m)^(\s*)%time (?=\s*\S)", r"\1", textwrap.dedent(text))
        text = re.sub(r"(?m)^(\s*)(?:[%!].*|.*\?)$", r"\1pass", text)
    linecache.cache[label] = len(text), None, text.splitlines(keepends=True), label
    return text


# Which statements are needed ------------------------------------------------------------------


def needed_of(cells, names, fits=bool):
    """The statements of (text, label) that make or change these names, or what those need.

    All statements, if names is None.
    """
    found = [(one, label) for text, label in cells for one in statements(text, label) if fits(one)]
    if names is None:
        return found
    facts = [facts_of(one) for one, _ in found]
    by_calls, siblings, assigned = {}, {}, set()
    for one in facts:
        by_calls |= one.changed_by_calls
        assigned |= one.assigned
        for name, package in one.imports.items():
            siblings.setdefault(package, set()).add(name)
    for package in [*siblings]:
        siblings |= dict.fromkeys(siblings[package], siblings[package])
    makes = []
    for one in facts:
        more = [by_calls.get(name, set()) - siblings.keys() for name in one.calls]
        more.append({one.called} & assigned)  # net(x) may change net
        more.append(siblings.get(one.told, ()))  # npx.set_np() changes what mxnet.np does
        makes.append(one.makes.union(*more))
    names, chosen = set(names), set()
    while more := {i for i in range(len(found)) if i not in chosen and makes[i] & names}:
        chosen |= more
        names |= set().union(*(facts[i].needs for i in more))
    return [found[i] for i in sorted(chosen)]


def needed_names(cells, check):
    """The names that a check needs, and those that it needs for these."""
    names = names_in([check])
    return names.union(*(facts_of(one).needs for one, _ in needed_of(cells, names)))


def statements(text, label="<>"):
    """The statements of a cell; none where it is not Python."""
    try:
        return parsed(noted(text, label))
    except (SyntaxError, ValueError):
        return []


@functools.cache
def parsed(text):
    return ast.parse(text).body


def only_names(statement):
    """Whether a statement of a student's other cells only gives names to things."""
    return isinstance(
        statement, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign)
    )


def names_in(texts):
    """The names that cells take from outside."""
    return set().union(*(facts_of(one).needs for text in texts for one in statements(text)))


class Facts:
    """What a statement makes or changes, needs and calls, and what calls of it would change."""

    def __init__(self, statement):
        self.makes, self.needs, self.calls, self.assigned = set(), set(), set(), set()
        self.changed_by_calls, self.imports = {}, {}
        self.called = self.told = ""  # x of x() and x.f(), and of x.f() alone
        try:
            table = symtable.symtable(ast.unparse(statement), "<>", "exec")
        except SyntaxError:  # such as a `return` in a student's cell
            return
        for one in table.get_symbols():
            self.makes |= {one.get_name()} if one.is_assigned() or one.is_imported() else set()
            self.needs |= {one.get_name()} if one.is_referenced() else set()
        here, inside, tables = set(self.needs), set(), table.get_children()
        while tables:
            inner = tables.pop()
            inside |= {one.get_name() for one in inner.get_symbols() if one.is_global()}
            tables += inner.get_children()
        self.needs |= inside
        changed = changed_in(statement)
        self.makes |= changed & here
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            self.changed_by_calls[statement.name] = changed & inside
        else:
            calls = [one.func for one in ast.walk(statement) if isinstance(one, ast.Call)]
            self.calls = {one.id for one in calls if isinstance(one, ast.Name)}
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            for one in statement.names:
                package = (getattr(statement, "module", None) or one.name).partition(".")[0]
                self.imports[(one.asname or one.name).partition(".")[0]] = package
        elif isinstance(statement, ast.Assign):
            self.assigned = self.makes
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            self.called = root_of(statement.value)
            self.told = self.called if isinstance(statement.value.func, ast.Attribute) else ""


facts_of = functools.cache(Facts)


def changed_in(statement):
    """The names of what is changed by lines such as x.a = 1, x[0] = 1 and x.append(1)."""
    found = set()
    for node in ast.walk(statement):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
            found.add(root_of(node))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            found.add(root_of(node.value) if isinstance(node.value.func, ast.Attribute) else "")
        elif isinstance(node, ast.Global):
            found |= {*node.names}
    return found


def root_of(node):
    """The name with which x.a[0].f() begins; "" if it begins otherwise."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
