"""JAX: its arrays as NumPy's, what is said of its machine, and the course's network in it."""

import sys

import numpy
import pytest
import torch

from d2lhybrid import difference, frameworks
from d2lhybrid.frameworks import jax as knowledge

jax = pytest.importorskip("jax")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int32", "bool"])
def test_an_array_of_any_type_becomes_numpys(dtype):
    array = frameworks.to_numpy(jax.numpy.array([0, 1], dtype))
    assert isinstance(array, numpy.ndarray)
    assert array.tolist() == [0, 1]
    assert array.dtype == ("float32" if "float" in dtype else dtype)


def test_a_random_key_can_be_compared():
    one, again, other = (jax.random.key(seed) for seed in (1, 1, 2))
    assert difference(one, again) == ""
    assert difference(one, other) != ""


def test_what_is_not_jaxs_is_left_to_others():
    assert knowledge.to_numpy(numpy.ones(2)) is None
    assert knowledge.to_numpy(torch.ones(2)) is None


@pytest.mark.parametrize(
    ("variable", "state"), [("3", {"threads": 3}), ("", {}), ("many", {}), (None, {})]
)
def test_its_threads_are_those_of_the_variable(monkeypatch, variable, state):
    monkeypatch.delenv("NPROC", raising=False)
    if variable is not None:
        monkeypatch.setenv("NPROC", variable)
    assert knowledge.state() == state


def test_a_processor_is_called_cpu():
    assert knowledge.name_of(str(jax.devices("cpu")[0])) == "cpu"
    assert knowledge.name_of("cuda:0") is None


# What notebook 13 tells about JAX, with the version that is installed.


def test_a_recording_has_no_functions_and_the_compiled_program_no_additions():
    def ten():
        return add(add(jax.numpy.int32(1), jax.numpy.int32(2)), jax.numpy.int32(7))

    def add(a, b):
        return a + b

    names = [equation.primitive.name for equation in jax.make_jaxpr(ten)().eqns]
    lowered = jax.jit(ten).lower()
    compiled = lowered.compile().as_text()
    assert names == ["add", "add"]
    assert lowered.as_text().count("stablehlo.add") == 2
    assert "constant(10)" in compiled
    assert " add(" not in compiled


def test_a_compiled_function_makes_no_python_calls():
    compiled, x = jax.jit(lambda x: x * 2), jax.numpy.ones(2)
    compiled(x)
    calls = []
    sys.setprofile(lambda frame, event, _: calls.append(event == "call"))
    try:
        compiled(x)
    finally:
        sys.setprofile(None)
    assert sum(calls) == 0
