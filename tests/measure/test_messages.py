"""Values that travel between two processes: they arrive as they were, and never as code."""

import json
import math
from collections import OrderedDict, namedtuple

import numpy
import pytest
import torch

from d2lhybrid import difference
from d2lhybrid.measure.messages import decode, encode

Pair = namedtuple("Pair", "a b")


def sent(value, **options):
    return decode(json.loads(json.dumps(encode(value, **options))))


@pytest.mark.parametrize(
    "value",
    [None, True, 3, 10**30, 0.1, -math.inf, 2 - 1j, "ä\n\ud800", [], [1, [2.5]], (), (1, (2,))]
    + [{}, {"a": (1, [2]), 3: {"array": "x"}, (4, 5): None}, {"tuple": [1]}],
)
def test_what_json_has_and_more_arrives_as_it_was(value):
    arrived = sent(value)
    assert repr(arrived) == repr(value)  # types of the parts included


def test_kinds_of_tuples_and_dicts_arrive_as_plain_ones():
    assert type(sent(Pair(1, 2))) is tuple
    assert type(sent(OrderedDict(a=1))) is dict
    assert math.isnan(sent(math.nan))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "bool", "complex64"])
def test_arrays_and_tensors_arrive_as_numpys(dtype):
    array = numpy.arange(6).reshape(2, 3).T.astype(dtype)
    for value in (array, torch.from_numpy(array.copy())):
        arrived = sent(value, widening=False)
        assert type(arrived) is numpy.ndarray
        assert arrived.dtype == array.dtype
        assert numpy.array_equal(arrived, array)


def test_odd_arrays():
    for array in (numpy.zeros((0, 3)), numpy.array(5), numpy.array(["a", "bc"])):
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


@pytest.mark.parametrize("value", [object(), {1}, b"a", len, [{"a": object()}], Exception()])
def test_what_cannot_be_sent(value):
    with pytest.raises(TypeError, match="cannot be sent to another process: arrays, tensors"):
        encode(value)


def test_an_array_of_objects_is_not_pickled():
    with pytest.raises(TypeError, match="an array of object cannot be sent"):
        encode(numpy.array([object()]))
