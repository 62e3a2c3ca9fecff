"""What needs only Python, networkx and lazy_loader, in a process in which nothing else is found.

The pages of these notebooks run in a browser, where Python's own library and these two are all.
tools/site_run.py packs what runs there; here the same executor runs it natively.
"""

import json
import subprocess
import sys

import pytest
from notebook_rules import ROOT, load
from sanitizer import sanitize

RUN = """
import importlib.util, json, sys

sys.path[:0] = sys.argv[2:]

def is_there(name):
    ours = {"networkx", "lazy_loader", "d2lhybrid", "executor"}
    return name.partition(".")[0] in sys.stdlib_module_names | ours

class Nothing:  # asked before all others, it says of all else that there is none
    def find_spec(self, name, path=None, target=None):
        if not is_there(name):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: find_spec(name, *more) if is_there(name) else None
sys.meta_path.insert(0, Nothing())
from executor import Shell
outputs = []
shell = Shell(outputs.append)
found = []
for number, text in enumerate(json.loads(sys.argv[1]), 1):
    outputs.clear()
    found.append([shell.run(text, number), *outputs])
json.dump(found, sys.__stdout__)
"""


def run_cells(*texts):
    """For each cell whether it ended well, and what it put out, as text."""
    command = [sys.executable, "-c", RUN, json.dumps(texts), ROOT, ROOT / "pages" / "run"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [(ok, "".join(map(text_of, outputs))) for ok, *outputs in json.loads(done.stdout)]


def text_of(output):
    if output["output_type"] == "error":
        return "\n".join(output["traceback"])
    return "".join(output.get("text") or [*output["data"]["text/plain"], "\n"])


@pytest.mark.parametrize("name", ["01_imperative_programs", "02_symbolic_programs"])
def test_the_first_notebooks_need_neither_torch_nor_matplotlib(name):
    cells = load(ROOT / "notebooks" / f"{name}.ipynb")["cells"]
    cells = [cell for cell in cells if cell["cell_type"] == "code"][1:]  # the first is for Colab
    found = run_cells(*("".join(cell["source"]) for cell in cells))
    assert len(found) > 20
    for cell, (ok, text) in zip(cells, found, strict=True):
        stored = "".join(map(text_of, cell["outputs"]))
        assert (ok, sanitize(text)) == (True, sanitize(stored)), cell["id"]


def test_programs_of_numbers_are_recorded_and_what_needs_torch_names_it():
    program = """
from d2lhybrid import OPERATIONS, optimise, python_function, trace
graph = optimise(trace(lambda x: x * (2 + 1) + 1, 3))
print(graph(5), python_function(graph)(5))"""
    (ran, text), (relu, said), (compiler, missing) = run_cells(
        program, "OPERATIONS['relu'].function(3)", "from d2lhybrid import hybridize"
    )
    assert (ran, text) == (True, "16 16\n")
    assert not relu
    assert said.startswith("This needs torch, which is not installed.\n")
    assert not compiler
    assert missing.endswith("ModuleNotFoundError: No module named 'torch'")


def test_an_error_shows_the_lines_of_the_cells_and_no_others():
    texts = ["def f(x):\n    return 1 / x", "f(0)", "1 +", "import json\njson.loads('[')"]
    _, called, wrong, inside = run_cells(*texts)
    assert [ok for ok, _ in (called, wrong, inside)] == [False] * 3
    assert [line for line in called[1].splitlines() if line.strip(" ~^")][1:] == [
        *('  File "<cell 2>", line 1, in <module>', "    f(0)"),
        *('  File "<cell 1>", line 2, in f', "    return 1 / x"),
        "ZeroDivisionError: division by zero",
    ]
    assert wrong[1].startswith('  File "<cell 3>", line 1\n    1 +\n')
    assert '"<cell 4>", line 2' in inside[1].splitlines()[1]


def test_what_a_cell_shows_it_shows_once_and_not_without_end():
    loop = "for i in range(100_000):\n    print(i)"
    tree = "from d2lhybrid import plot_tree\nplot_tree('1 + 2')"
    found = run_cells(tree, "print(1)\n2", "None", loop, "print('after')", "raise SystemExit")
    (ok, drawn), *others, (ended, _) = found
    assert ok
    assert drawn.count("Syntax tree") == 1
    assert [text for _, text in others[:2]] == ["1\n2\n", ""]
    assert len(others[2][1]) < 110_000
    assert others[2][1].endswith("\n...")
    assert others[3][1] == "after\n"
    assert not ended


def test_no_cell_fills_the_page_nor_fails_without_a_message():
    outputs = """
for i in range(9000):
    print('a')
    print('b', file=sys.stderr)
    display(i)"""
    word = """
class Silent(Exception):
    def __str__(self):
        raise ValueError
raise Silent"""
    many, value, message, silent, asked = run_cells(
        outputs, "'x' * 1_000_000", "raise ValueError('x' * 1_000_000)", word, "input('who?')"
    )
    assert many[1].startswith("a\nb\n0\na\nb\n1\n")
    assert many[1].endswith("...")
    assert many[1].count("b") < 1000
    for _, text in (value, message):
        assert len(text) < 110_000
        assert text.rstrip().endswith("...")
    assert silent[1].endswith("Silent: <exception str() failed>")
    assert "nobody can be asked" in asked[1]
