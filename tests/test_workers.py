"""Arrays that travel between two processes: they arrive as NumPy's, and never as code."""

import numpy
import pytest
import torch

from d2lhybrid import difference
from d2lhybrid.children.arrays import decode, encode


def sent(value, **options):
    return decode(encode(value, **options))


def test_arrays_and_tensors_arrive_as_numpys():
    for dtype in ("float16", "float32", "float64", "int8", "bool", "complex64"):
        array = numpy.arange(6).reshape(2, 3).T.astype(dtype)
        for value in (array, torch.from_numpy(array.copy())):
            (arrived,) = sent((value,), widening=False)
            assert type(arrived) is numpy.ndarray
            assert arrived.dtype == array.dtype
            assert numpy.array_equal(arrived, array)


def test_odd_arrays():
    pairs = numpy.array([(1, 2.0)], dtype=[("a", "int8"), ("b", "float32")])
    for array in (numpy.zeros((0, 3)), numpy.array(5), numpy.array(["a", "bc"]), pairs):
        assert sent(array).dtype == array.dtype
        assert numpy.array_equal(sent(array), array)
    assert sent(numpy.float32(2.5)).shape == ()
    assert sent(torch.ones(2, requires_grad=True) * 2).tolist() == [2, 2]


def test_a_format_that_numpy_lacks_keeps_its_name_for_its_tolerance():
    exact = numpy.array([1.0, 2.0, 3.0], dtype="float32")
    arrived = sent(torch.tensor([1.0, 2.0, 3.01], dtype=torch.bfloat16))
    assert arrived.shape == (3,)
    assert difference(arrived, exact) == ""
    assert difference(sent(torch.tensor([1.0, 2.0, 3.01])), exact)
    assert "for bfloat16" in difference(arrived, exact + 1)
    assert "bfloat16" in repr(arrived)
    assert numpy.asarray(arrived, dtype="float64").dtype == "float64"
    with pytest.raises(TypeError, match=r"torch\.bfloat16 cannot be sent .* NumPy lacks it"):
        sent([torch.ones(2, dtype=torch.bfloat16)], widening=False)


def test_what_cannot_be_sent():
    with pytest.raises(
        TypeError, match="object cannot be sent to another process: arrays, tensors, numbers"
    ):
        encode([object()])
    with pytest.raises(TypeError, match="an array of object cannot be sent"):
        encode(numpy.array([object()]))
