"""What needs only Python, networkx and lazy_loader, in a process in which nothing else is found.

In a browser, Python's own library and these two are all. There `pages/run/cells.test.mjs` runs the
cells of the notebooks; here are the limits of what runs them, which no notebook reaches.
"""

import json
import subprocess
import sys

from notebook_rules import ROOT

RUN = """
import importlib.util, json, sys

sys.path[:0] = sys.argv[2:]
ours = {"networkx", "lazy_loader", "d2lhybrid", "executor"} | sys.stdlib_module_names

class Nothing:  # asked before all others, it says of all else that there is none
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in ours:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name: find_spec(name) if name.partition(".")[0] in ours else None
sys.meta_path.insert(0, Nothing())
from executor import Shell
outputs = []
shell = Shell(outputs.append)
found = []
for number, text in enumerate(json.loads(sys.argv[1]), 1):
    outputs.clear()
    shell.run(text, number)
    found.append([*outputs])
json.dump(found, sys.__stdout__)
"""


def run_cells(*texts):
    """For each cell what it put out, as text."""
    command = [sys.executable, "-c", RUN, json.dumps(texts), ROOT, ROOT / "pages" / "run"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return ["".join(map(text_of, outputs)) for outputs in json.loads(done.stdout)]


def text_of(output):
    if output["output_type"] == "error":
        return "\n".join(output["traceback"])
    return output.get("text") or output["data"]["text/plain"]


def test_numbers_are_traced_and_what_needs_torch_names_it():
    program = """
from d2lhybrid import OPERATIONS, optimize, python_function, trace
graph = optimize(trace(lambda x: x * (2 + 1) + 1, 3))
print(graph(5), python_function(graph)(5))"""
    needs_torch = ["OPERATIONS['relu'].function(3)", "from d2lhybrid import hybridize"]
    text, relu, hybridize = run_cells(program, *needs_torch)
    assert text == "16 16\n"
    assert relu.startswith("This needs torch, which is not installed.\n")
    assert hybridize.endswith("ModuleNotFoundError: No module named 'torch'")


def test_traceback_has_the_lines_of_the_cells_and_no_others():
    texts = ["def f(x):\n    return 1 / x", "f(0)", "1 +", "import json\njson.loads('[')"]
    _, called, wrong, inside = run_cells(*texts)
    assert [line for line in called.splitlines() if line.strip(" ~^")][1:] == [
        *('  File "<cell 2>", line 1, in <module>', "    f(0)"),
        *('  File "<cell 1>", line 2, in f', "    return 1 / x"),
        "ZeroDivisionError: division by zero",
    ]
    assert wrong.startswith('  File "<cell 3>", line 1\n    1 +\n')
    assert '"<cell 4>", line 2' in inside.splitlines()[1]


def test_long_outputs_are_cut():
    many = "for i in range(9000):\n    print('a')\n    print('b', file=sys.stderr)\n    display(i)"
    long = "'x' * 1_000_000"
    displayed, *others = run_cells(many, f"print({long})", long, f"raise ValueError({long})")
    assert displayed.startswith("a\nb\n0a\nb\n1")
    assert displayed.count("b") < 1000
    assert all(text.endswith("...") for text in (displayed, *others))
    assert max(map(len, others)) < 110_000


def test_value_of_a_cell_is_shown_once():
    tree = "from d2lhybrid import plot_tree\nplot_tree('1 + 2')"
    _, value, drawn = run_cells("raise SystemExit", "print(1)\n2", tree)
    assert value == "1\n2"
    assert drawn.count("Syntax tree") == 1
