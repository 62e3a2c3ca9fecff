"""The same network in every framework: the same results and losses.

And what is said of frameworks without loading any. Each framework runs in a process of its own.
"""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from process_helpers import noted_starts

from d2lhybrid import (
    CandidateError,
    ask_frameworks,
    cross_framework,
    framework_variants,
    isolated,
    missing_frameworks,
    network_data,
)
from d2lhybrid.cross_framework import VARIANTS, is_installed, network_weights, probes

HERE = Path(cross_framework.__file__).parent
FILES = list(dict.fromkeys(file for file, *_ in VARIANTS.values()))
COMMANDS = {"torch": "g++", "our_compiler": "cc"}  # of their compilers
WEIGHTS, X, Y = network_data(rows=64)
RATE = 0.01


def skip_without(file):
    """Skip what needs a framework or a compiler that is missing, unless none may be missing."""
    command = COMMANDS.get(file)
    if not os.environ.get("D2LHYBRID_NO_SKIPS") and not (
        is_installed(file) and (not command or shutil.which(command))
    ):
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
from d2lhybrid.cross_framework import probes

python_calls, cores = probes.python_calls, []


def counted(call):
    count = python_calls(call)  # now everything is compiled
    start, worked = time.perf_counter(), time.process_time()
    while time.perf_counter() < start + 0.05:
        call()
    synchronize()
    cores.append((time.process_time() - worked) / (time.perf_counter() - start))
    return count


def answers(*args):
    probes.python_calls = counted
    found = probes.answers(*args)()
    return lambda: found | {"cores": dict(zip(found["python_calls"], cores))}
"""


@pytest.fixture(scope="module")
def asked():
    """What all frameworks answer, asked once, and also how many cores are at work during calls."""
    for file in COMMANDS:
        skip_without(file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probes, "ANSWERS", isolated(CORES, "answers", threads=1))
        return ask_frameworks(WEIGHTS, X, Y, RATE)


def test_every_installed_variant_and_step_is_asked(asked):
    assert {*asked} == {"python_calls", "cores", "losses", "outcomes", "failures"}
    assert sorted(asked["python_calls"]) == sorted(asked["cores"]) == sorted(framework_variants())
    assert sorted(asked["losses"]) == sorted(framework_variants(training=True))
    assert asked["failures"] == {}
    for outcomes in asked["outcomes"].values():  # 14 to 18 show which
        assert list(outcomes) == list(probes.CASES)


@pytest.mark.parametrize("file", FILES)
def test_losses_are_those_of_gradient_descent_on_one_core(asked, file):
    skip_without(file)
    wanted = descent(WEIGHTS, X, Y, RATE, 4)
    for label in [label for label, (of, *_) in VARIANTS.items() if of == file]:
        assert asked["losses"].get(label, wanted) == pytest.approx(wanted, rel=1e-6), label
        assert 0 < asked["cores"].get(label, 1) < 1.6, label


def test_python_calls_are_those_that_compiling_leaves(asked):
    calls = asked["python_calls"]
    for label in ("JAX, jit", "JAX with nn.relu, jit", "NumPy, three products"):
        assert calls.get(label, 1) == 1
    assert calls["our compiler, hybridize"] == 1 < calls["our compiler, in a C loop"] < 5
    skip_without("jax")
    assert calls["JAX with nn.relu, eager"] > 2 * calls["JAX, eager"] > 2


# Without any framework


@pytest.mark.parametrize(
    ("modules", "missing"),
    [
        ([], []),
        (["tensorflow"], ["Keras on TensorFlow", "TensorFlow"]),
        (["onnx"], ["ONNX Runtime"]),
        (["onnxruntime", "jax"], ["JAX", "JAX with nn.relu", "ONNX Runtime"]),
        (["torch", "paddle"], ["PyTorch", "Paddle", "our compiler"]),
    ],
)
def test_missing_frameworks_are_named_and_have_no_programs(monkeypatch, modules, missing):
    monkeypatch.setattr(cross_framework, "find_spec", lambda name: name not in modules)
    assert missing_frameworks() == missing
    there = {k: row for k, row in VARIANTS.items() if k.split(", ")[0] not in missing}
    for programs, column in ((framework_variants(), 1), (framework_variants(training=True), 2)):
        assert list(programs) == [label for label, row in there.items() if row[column]]
        for label, program in programs.items():
            assert f"in_{there[label][0]} import {there[label][column]}\n" in program.source
            assert program.threads == 1


def test_eager_is_the_first_variant_of_each_framework():
    first = dict(label.split(", ") for label in reversed(VARIANTS))
    others = {name for name, variant in first.items() if variant != "eager"}
    assert others == {"NumPy", "ONNX Runtime", "our compiler"}
    assert next(iter(VARIANTS)) == "PyTorch, eager"  # the baseline of `bench --frameworks`


def test_every_file_is_in_the_table():
    assert {path.name for path in HERE.glob("in_*.py")} == {f"in_{file}.py" for file in FILES}


@pytest.mark.parametrize(
    ("make", "shapes"),
    [
        (network_weights, [(512, 256), (256,), (256, 128), (128,), (128, 2), (2,)]),
        (lambda: network_weights((3, 4, 1)), [(3, 4), (4,), (4, 1), (1,)]),
        (lambda: [network_data(rows=5)[1:]], [(5, 512), (5, 2)]),
    ],
)
def test_weights_and_inputs_are_random_and_the_same_each_time(make, shapes):
    one, other = ([array for pair in make() for array in pair] for _ in range(2))
    assert [array.shape for array in one] == shapes
    for array, again in zip(one, other, strict=True):
        assert array.dtype == np.float32
        assert np.array_equal(array, again)
        assert array.size < 3 or len(np.unique(array)) > 2
        assert np.abs(array).max() < 6


def test_weights_input_and_target_are_not_the_same_numbers():
    weights = network_weights((4, 4))[0][0] * 2  # without the scaling
    first = [array.ravel()[:16] for array in (weights, *network_data(rows=8)[1:])]
    assert len(np.unique(first)) == 3 * 16


# What fails


@pytest.fixture
def processes(monkeypatch):
    """The processes that a test starts."""
    return noted_starts(monkeypatch)


def ask(monkeypatch, **variants):
    """Ask frameworks of these variants; the files `other` and `third` are missing."""
    variants = {name.replace("_", ", "): row for name, row in variants.items()}
    monkeypatch.setattr(cross_framework, "VARIANTS", variants)
    monkeypatch.setattr(cross_framework, "IMPORTS", {"other": [], "third": []})
    return ask_frameworks(WEIGHTS, X[:2], Y[:2], RATE)


NUMPY = "numpy", "products", None


def test_processes_end_if_a_framework_fails_as_a_whole(monkeypatch, processes):
    with pytest.raises(CandidateError, match="'other' raised ModuleNotFoundError"):
        ask(monkeypatch, NumPy_products=NUMPY, other_eager=("other", "eager", None))
    assert len(processes) == 2
    assert all(process.poll() is not None for process in processes)


def test_a_variant_that_fails_is_left_out_and_says_why(monkeypatch):
    found = ask(monkeypatch, NumPy_first=("numpy", "no_such", None), NumPy_second=NUMPY)
    assert list(found["python_calls"]) == ["NumPy, second"]
    assert list(found["failures"]) == ["NumPy, first"]
    assert "AttributeError" in found["failures"]["NumPy, first"]


def test_what_is_not_installed_is_not_asked(monkeypatch, processes):
    found = ask(monkeypatch, none_eager=("no_such_module", "eager", None), NumPy_products=NUMPY)
    assert list(found["python_calls"]) == ["NumPy, products"]
    assert len(processes) == 1
    assert processes[0].poll() is not None
