"""JAX: its arrays as NumPy's, and its devices. See `test_import_framework` for the rest."""

import numpy
import pytest
import torch

from d2lhybrid import frameworks, mismatch
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
    assert mismatch(one, again) == ""
    assert mismatch(one, other) != ""


def test_what_is_not_jaxs_is_left_to_others():
    assert knowledge.to_numpy(numpy.ones(2)) is None
    assert knowledge.to_numpy(torch.ones(2)) is None


def test_a_processor_is_called_cpu():
    assert knowledge.name_of(str(jax.devices("cpu")[0])) == "cpu"
    assert knowledge.name_of("cuda:0") is None
