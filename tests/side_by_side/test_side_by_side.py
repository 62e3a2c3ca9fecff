"""The same network in every framework: the same results and losses, on one core.

And what is said of frameworks without loading any. Each framework runs in a process of its own.
"""

import ast
import os
import re
import shutil
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest
from process_helpers import noted_starts

from d2lhybrid import CandidateError, compare, own_process, side_by_side
from d2lhybrid.side_by_side import (
    HERE,
    PROGRAMS_OF,
    Programs,
    ask_frameworks,
    framework_steps,
    framework_ways,
    functions_in,
    missing_frameworks,
    network_input,
    network_target,
    network_weights,
)

CASES = import_module("d2lhybrid.side_by_side.behaviour").CASES
FILES = list(dict.fromkeys(framework.name for framework in PROGRAMS_OF.values()))
COMMANDS = {"torch": "g++", "our_compiler": "cc"}  # of their compilers
WEIGHTS, RATE = network_weights(), 0.01


def names(file):
    """The names that are defined at the top level of a file, which is not run."""
    body = ast.parse((HERE / f"in_{file}.py").read_text(encoding="utf-8")).body
    assigned = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    assigned = {node.id for one in assigned for node in ast.walk(one) if isinstance(node, ast.Name)}
    return assigned | {node.name for node in body if isinstance(node, ast.FunctionDef)}


def skip_without(file):
    """Skip what needs a framework or a compiler that is missing, unless none may be missing."""
    if os.environ.get("D2LHYBRID_NO_SKIPS"):
        return
    is_there = next(one.is_there for one in PROGRAMS_OF.values() if one.name == file)
    command = COMMANDS.get(file)
    if not is_there or (command and not shutil.which(command)):
        pytest.skip(f"{file} or its compiler is not installed")


# Plainly, as it stands in a textbook: what all must come out at.


def forward(weights, x):
    """What each layer returns, the input first."""
    values = [x]
    for number, (matrix, bias) in enumerate(weights, 1):
        value = values[-1] @ matrix + bias
        values.append(value if number == len(weights) else np.maximum(value, 0))
    return values


def descent(weights, x, target, rate, steps):
    """The losses of steps of gradient descent, with numbers of twice the length."""
    weights = [(np.float64(matrix), np.float64(bias)) for matrix, bias in weights]
    losses = []
    for _ in range(steps):
        *values, result = forward(weights, x)
        losses.append(((result - target) ** 2).mean())
        gradient = 2 * (result - target) / result.size
        for n in reversed(range(len(weights))):
            matrix, bias = weights[n]
            weights[n] = matrix - rate * values[n].T @ gradient, bias - rate * gradient.sum(0)
            gradient = gradient @ matrix.T * (values[n] > 0)
    return losses


CORES = """
import time
from d2lhybrid import synchronize
from d2lhybrid.side_by_side import questions

python_calls, cores = questions.python_calls, []


def counted(call):
    count = python_calls(call)  # now everything is compiled
    start, worked = time.perf_counter(), time.process_time()
    while time.perf_counter() < start + 0.05:
        call()
    synchronize()
    cores.append((time.process_time() - worked) / (time.perf_counter() - start))
    return count


def answers(module, ways, *args):
    questions.python_calls = counted
    found = questions.answers(module, ways, *args)()
    return lambda: found | {"cores": dict(zip(ways, cores))}
"""


@pytest.fixture(scope="module")
def asked():
    """What all frameworks answer, asked once, and also how many cores are at work during calls."""
    for file in COMMANDS:
        skip_without(file)
    with pytest.MonkeyPatch.context() as patch:
        program = own_process(CORES, "answers", threads=1)
        patch.setattr(side_by_side, "own_process", lambda *args, **options: program)
        return ask_frameworks(WEIGHTS, network_input(64), network_target(64), RATE)


def test_every_way_and_step_gets_its_answers(asked):
    assert {*asked} == {"python_calls", "cores", "losses", "outcomes", "failures"}
    for question, programs in (
        ("python_calls", framework_ways()),
        ("cores", framework_ways()),
        ("losses", framework_steps()),
    ):
        assert sorted(asked[question]) == sorted(programs)
    tried = [label for name in COMPILERS if find_spec(name) for label in COMPILERS[name]]
    assert sorted(asked["outcomes"]) == sorted(tried)
    assert asked["failures"] == {}


# What becomes of Python in a function that is compiled.

COMPILERS = {
    "mxnet": ["MXNet"],
    "tensorflow": ["tf.function"],
    "paddle": ["Paddle, bytecode", "Paddle, source"],
    "jax": ["jax.jit"],
    "torch": ["torch.compile"],
}
# One column for each compiler, in this order. r: right, s: silently wrong, e: error.
TABLE = """
                                mx  tf  byte src  jit  tc
a print                         s   s   r    s    s    r
a counter                       s   s   r    s    s    r
an if on the data               e   r   r    r    e    r
an if on a shape                e   r   r    r    r    r
a number from outside           s   s   r    s    s    r
Python's random number          s   s   r    s    s    r
the framework's random number   r   r   r    r    s    r
x += 1                          e   r   r    r    r    r
a number taken out              e   e   r    e    e    r
a while on the data             e   r   r    r    e    r
a for over the data             e   r   r    r    r    r
a variable of one branch        e   e   s    s    e    r
keeps its argument              s   s   r    s    s    r
"""
WORDS = {"r": "right", "s": "silently wrong", "e": "error"}


def expected(framework):
    """A framework's columns of the table: compiler -> case -> outcome."""
    columns = [label for labels in COMPILERS.values() for label in labels]
    table = {label: {} for label in COMPILERS[framework]}
    for row in TABLE.strip().splitlines()[1:]:
        case, *letters = re.split(r"\s{2,}", row)
        for label, letter in zip(columns, letters, strict=True):
            if label in table:
                table[label][case] = WORDS[letter]
    return table


@pytest.mark.parametrize("framework", COMPILERS)
def test_each_compiler_does_to_each_case_what_the_notebook_says(asked, framework):
    skip_without(framework)
    wanted = expected(framework)
    found = {label: asked["outcomes"][label] for label in wanted}
    order = [(label, case) for label, row in found.items() for case in row]
    assert found == wanted
    assert order == [(label, case) for label in COMPILERS[framework] for case in CASES]


@pytest.mark.parametrize("file", FILES)
def test_all_learn_alike_and_keep_to_one_core(asked, file):
    skip_without(file)
    wanted = descent(WEIGHTS, network_input(64), network_target(64), RATE, 4)
    for label in functions_in(file, "steps"):
        assert asked["losses"][label] == pytest.approx(wanted, rel=1e-6), label
    for label in functions_in(file, "ways"):
        assert 0 < asked["cores"][label] < 1.6, label


@pytest.mark.parametrize(
    ("file", "label", "number"),
    [
        ("jax", "JAX, jit", 1),
        ("jax", "JAX with nn.relu, jit", 1),
        ("numpy", "NumPy, three products", 1),
        ("our_compiler", "our compiler, hybridize", 1),
        ("our_compiler", "our compiler, in a C loop", 4),
    ],
)
def test_what_one_call_calls_in_python(asked, file, label, number):
    skip_without(file)
    assert asked["python_calls"][label] == number
    assert all(calls > 0 for calls in asked["python_calls"].values())


def test_eager_relu_of_jax_costs_python_that_compiling_takes_away(asked):
    skip_without("jax")
    calls = asked["python_calls"]
    assert calls["JAX with nn.relu, eager"] > 2 * calls["JAX, eager"]


# Without any framework


@pytest.fixture
def lacking(monkeypatch):
    """A function after which it seems that some modules are not installed, and all others are."""

    def lacking(*names):
        monkeypatch.setattr(side_by_side, "find_spec", lambda name: name not in names)

    return lacking


@pytest.mark.parametrize(
    ("modules", "missing"),
    [
        ([], []),
        (["mxnet"], ["MXNet"]),
        (["tensorflow"], ["Keras on TensorFlow", "TensorFlow"]),
        (["onnx"], ["ONNX Runtime"]),
        (["onnxruntime", "jax"], ["JAX", "JAX with nn.relu", "ONNX Runtime"]),
        (["torch", "paddle"], ["PyTorch", "Paddle", "our compiler"]),
    ],
)
def test_what_is_not_installed_is_named_and_gives_no_programs(lacking, modules, missing):
    lacking(*modules)
    assert missing_frameworks() == missing
    there = {name: one for name, one in PROGRAMS_OF.items() if name not in missing}
    for programs, kind in ((framework_ways(), "ways"), (framework_steps(), "steps")):
        of = {f"{name}, {way}": name for name in there for way in getattr(there[name], kind)}
        assert list(programs) == list(of)
        for label, program in programs.items():
            framework = there[of[label]]
            assert program.path == str(HERE / "way.py")
            function = getattr(framework, kind)[label.partition(", ")[2]]
            assert program.argv == (framework.name, function)
            assert program.threads == 1


def test_labels_are_a_framework_and_a_way(lacking):
    lacking()
    for label in [*framework_ways(), *framework_steps()]:
        assert label.count(", ") == 1
    assert next(iter(framework_ways())) == "PyTorch, eager"  # the bench's baseline
    for name, framework in PROGRAMS_OF.items():
        for ways in (framework.ways, framework.steps):
            if len(ways) > 1 and name != "our compiler":
                assert next(iter(ways)) == "eager", name


def test_a_framework_has_every_function_that_is_named():
    for name, framework in PROGRAMS_OF.items():
        there = names(framework.name)
        assert {*framework.ways.values(), *framework.steps.values()} <= there, name


def test_a_way_is_started_by_a_program_of_its_own():
    numpys, ours = "NumPy, three products", "PyTorch, eager"
    candidates = {label: framework_ways()[label] for label in (numpys, ours)}
    found = compare(candidates, WEIGHTS, network_input(2), time_limit=0.01)
    assert list(found) == [numpys, ours]  # and both have returned the same


def test_every_file_of_programs_belongs_to_a_framework():
    assert sorted(path.name for path in HERE.glob("in_*.py")) == sorted(
        f"in_{name}.py" for name in FILES
    )


@pytest.mark.parametrize(
    ("make", "shapes"),
    [
        (network_weights, [(512, 256), (256,), (256, 128), (128,), (128, 2), (2,)]),
        (lambda: network_weights((3, 4, 1)), [(3, 4), (4,), (4, 1), (1,)]),
        (network_input, [(1, 512)]),
        (lambda: network_input(5), [(5, 512)]),
        (network_target, [(1, 2)]),
        (lambda: network_target(rows=7), [(7, 2)]),
    ],
)
def test_weights_and_inputs_are_the_same_each_time(make, shapes):
    one, other = (flat(make()) for _ in range(2))
    assert [array.shape for array in one] == shapes
    for array, again in zip(one, other, strict=True):
        assert array.dtype == np.float32
        assert np.array_equal(array, again)
        assert array.size < 3 or len(np.unique(array)) > 2
        assert np.abs(array).max() < 6


def flat(made):
    return [array for pair in made for array in pair] if isinstance(made, list) else [made]


def test_weights_input_and_target_are_not_the_same_numbers():
    weights = network_weights((4, 4))[0][0] * 2  # without the scaling
    first = [array.ravel()[:16] for array in (weights, network_input(), network_target(8))]
    assert len(np.unique(first)) == 3 * 16


@pytest.fixture
def processes(monkeypatch):
    """The processes that a test starts."""
    return noted_starts(monkeypatch)


NUMPY = PROGRAMS_OF["NumPy"]


def test_no_process_is_left_when_a_framework_fails(monkeypatch, processes):
    broken = Programs("none", {"way": "eager"}, needs=("numpy",))
    monkeypatch.setattr(side_by_side, "PROGRAMS_OF", {"NumPy": NUMPY, "none": broken})
    message = "'none' raised ModuleNotFoundError: No module named .*in_none'"
    with pytest.raises(CandidateError, match=message):
        ask_frameworks(WEIGHTS, network_input(2), network_target(2), RATE)
    assert len(processes) == 2
    assert all(process.poll() is not None for process in processes)


def test_a_way_that_fails_is_left_out_and_says_why(monkeypatch):
    broken = Programs("numpy", {"first": "no_such", "second": "products"})
    monkeypatch.setattr(side_by_side, "PROGRAMS_OF", {"NumPy": broken})
    found = ask_frameworks(WEIGHTS, network_input(2), network_target(2), RATE)
    assert list(found["python_calls"]) == ["NumPy, second"]
    assert list(found["failures"]) == ["NumPy, first"]
    assert "AttributeError" in found["failures"]["NumPy, first"]


def test_one_that_is_not_installed_is_not_asked(monkeypatch, processes):
    missing = Programs("no_such_module", {"way": "eager"})
    monkeypatch.setattr(side_by_side, "PROGRAMS_OF", {"none": missing, "NumPy": NUMPY})
    found = ask_frameworks(WEIGHTS, network_input(2), network_target(2), RATE)
    assert [*found["python_calls"]] == ["NumPy, three products"]
    assert len(processes) == 1
    assert processes[0].poll() is not None
