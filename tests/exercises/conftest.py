"""Right and wrong answers to the exercises of a notebook, each judged as a reader's would be.

A file NN_name.toml holds the answers to the exercises of the notebook of that name: code that is
run after the exercise's own cells, and before the cell with its check. `right` answers must be
called right, `wrong` ones not right; neither may raise an error or hang.
"""

import ast
import symtable
import tomllib
from contextlib import suppress
from importlib.util import find_spec

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from notebook_rules import ROOT, assigned, section, text_of, tree_of

SECONDS = 300  # the most that a cell may take, on a busy machine, too


def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".toml":
        return Answers.from_parent(parent, path=file_path)


class Answers(pytest.File):
    """All answers to the exercises of a notebook. One kernel judges them."""

    def collect(self):
        content = tomllib.loads(self.path.read_text(encoding="utf-8"))
        self.cases = []
        missing = [name for name in content.get("needs", []) if not find_spec(name)]
        for exercise in content["exercise"]:
            for verdict in ("right", "wrong"):
                for number, answer in enumerate(exercise[verdict], 1):
                    name = f"Exercise {exercise['number']}, {verdict} {number}"
                    item = Case.from_parent(self, name=name)
                    item.answer, item.exercise, item.verdict = answer, exercise["number"], verdict
                    if missing:
                        item.add_marker(pytest.mark.skip(reason=f"{missing[0]} is not installed"))
                    self.cases.append(item)
        yield from self.cases

    def setup(self):
        notebook = nbformat.read(ROOT / "notebooks" / f"{self.path.stem}.ipynb", as_version=4)
        self.printed = judge(notebook, self.cases)


class Case(pytest.Item):
    """One answer, and how it must be judged."""

    def runtest(self):
        lines = self.parent.printed[self].splitlines()
        verdicts = {line.partition(":")[0] for line in lines} & {"right", "not right", "not yet"}
        # An exercise may have several checks: a right answer passes all, a wrong one fails in one.
        wrong = "not right" in verdicts and "not yet" not in verdicts
        if not (verdicts == {"right"} if self.verdict == "right" else wrong):
            pytest.fail("\n".join([self.answer, "", "was judged:", *lines]), pytrace=False)

    def reportinfo(self):
        return self.path, 0, self.name


def judge(notebook, cases):
    """case -> what its check printed. All run on one kernel, each after its exercise's cells."""
    exercises = [cell for cell in section(notebook, "exercises") if cell["cell_type"] == "code"]
    names = set().union(*map(names_in, [*map(text_of, exercises), *(c.answer for c in cases)]))
    before = notebook["cells"][: notebook["cells"].index(exercises[0])]
    texts = [*needed_for(names, before), *map(text_of, exercises)]
    checks = {}
    for case in cases:
        *asked, check = cells_of(case.exercise, notebook)
        texts += [*map(text_of, asked), case.answer, text_of(check)]
        checks[case] = len(texts) - 1
    run = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in texts])
    folder = {"metadata": {"path": str(ROOT / "notebooks")}}
    client = NotebookClient(
        run, timeout=SECONDS, kernel_name="python3", allow_errors=True, resources=folder
    )
    with suppress(CellTimeoutError, DeadKernelError):  # what was not judged has printed nothing
        client.execute()
    return {case: printed(run.cells[number]) for case, number in checks.items()}


def cells_of(number, notebook):
    """The code cells of an exercise. The last one is its check."""
    inside, found = False, []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown" and text_of(cell).startswith("#"):
            inside = text_of(cell).startswith(f"### Exercise {number}:")
        elif inside and cell["cell_type"] == "code":
            found.append(cell)
    return found


def needed_for(names, cells):
    """The code of the cells that give names their meaning, also by way of each other, in order.

    Of a cell that only imports what is asked for, that is its imports.
    """
    found = []
    for cell in reversed(cells):
        if cell["cell_type"] != "code" or not assigned(tree_of(cell)) & names:
            continue
        text, tree = text_of(cell), tree_of(cell)
        imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        rest = ast.Module([node for node in tree.body if node not in imports], [])
        if not assigned(rest) & names:
            text = "\n".join(map(ast.unparse, imports))
        names = names | names_in(text)
        found.insert(0, text)
    return found


def names_in(code):
    """The names that code takes from other cells; a wrong answer may be no code at all."""
    with suppress(SyntaxError):
        tree = tree_of({"source": code})
        table = symtable.symtable(ast.unparse(tree), "<cell>", "exec")
        changed = {ast.unparse(n.target) for n in ast.walk(tree) if isinstance(n, ast.AugAssign)}
        return global_names(table) - (assigned(tree) - changed)
    return set()


def global_names(table):
    """The names that a block of code, or a function in it, looks up among the globals."""
    symbols = [one for one in table.get_symbols() if one.is_referenced()]
    found = {one.get_name() for one in symbols if one.is_global() or table.get_type() == "module"}
    return found.union(*map(global_names, table.get_children()))


def printed(cell):
    """What a cell printed, and the error that ended it."""
    texts = [output.get("text", "") for output in cell["outputs"]]
    errors = [one for one in cell["outputs"] if one["output_type"] == "error"]
    return "".join([*texts, *(f"{one['ename']}: {one['evalue']}" for one in errors)])
