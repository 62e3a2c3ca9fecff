"""Do two results agree? Cases of all kinds, and of the number formats' rounding."""

import tracemalloc
from collections import namedtuple
from dataclasses import dataclass
from math import inf, nan
from types import MappingProxyType

import numpy
import pytest
import torch

from d2lhybrid import difference

Pair = namedtuple("Pair", "x y")


@dataclass
class Output:
    x: object
    y: object


@dataclass
class OtherOutput(Output):
    pass


def torch_tensor(values, name):
    return torch.tensor(values, dtype=getattr(torch, name))


AGREEING = [
    (1, 1),
    (1.0, 1.0 + 1e-12),
    (nan, float("nan")),
    (inf, inf),
    ("text", "text"),
    (None, None),
    ([1, (2.0, {"x": 3})], [1, (2.0, {"x": 3})]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    (1 + 2j, 1 + 2j),
    ([1.0, (2.0,)], (1.0, [2.0])),  # where torch returns a tuple, others return a list
    (Pair(1.0, 2.0), (1.0, 2.0)),
    ({"x": 1.0}, MappingProxyType({"x": 1.0})),
    (Output(torch.ones(2), [1]), Output(torch.ones(2), (1,))),
    (Output, Output),
    ([], ()),
]
DIFFERING = [
    (1.0, 1.0 + 1e-9, "largest difference is 1e-09"),
    (1, 2, "1 against 2"),
    (nan, 1.0, "difference is nan"),
    (inf, -inf, "difference is inf"),
    (1.0, "text", "float against str"),
    ([1, 2], [1], "2 values against 1"),
    (None, 1.0, "NoneType against float"),
    (None, torch.tensor(nan), "NoneType against Tensor"),
    ((torch.ones(2),), torch.ones(2), "tuple against Tensor"),
    ([1.0, 2.0], torch.tensor([1.0, 2.0]), "list against Tensor"),
    ({"x": 1.0, "y": 2.0}, {"p": 1.0, "q": 2.0}, "keys ['x', 'y'] against ['p', 'q']"),
    ({"x": 1.0}, {}, "keys ['x'] against []"),
    ({1: 1.0}, {"1": 1.0}, "keys [1] against ['1']"),
    ({"x": 1.0, "y": 2.0}, {"x": 2.0, "y": 1.0}, "largest difference is 1,"),
    ({0: 1.0}, [1.0], "dict against list"),
    ({}, [], "dict against list"),
    ([[1, 2], [3]], [1, [2, 3]], "list against int"),
    ([[1], []], [[], [1]], "1 values against 0"),
    (Output(1.0, 2.0), Output(1.0, 3.0), "largest difference is 1,"),
    (Output(1.0, 2.0), OtherOutput(1.0, 2.0), "Output against OtherOutput"),
    (Output(1.0, 2.0), (1.0, 2.0), "Output against tuple"),
]


@pytest.mark.parametrize(("a", "b"), AGREEING)
def test_results_that_agree(a, b):
    assert difference(a, b) == ""


@pytest.mark.parametrize(("a", "b", "text"), DIFFERING)
def test_results_that_differ(a, b, text):
    assert text in difference(a, b)


# the values, the format, how far off agrees, how far off differs
TOLERANCES = [
    ("float64", 1e-11, 1e-9),
    ("float32", 1e-5, 1e-4),
    ("float16", 5e-3, 5e-2),
    ("bfloat16", 2e-2, 2e-1),
    ("complex64", 1e-5, 1e-4),
    ("complex128", 1e-11, 1e-9),
]


@pytest.mark.parametrize(("name", "little", "much"), TOLERANCES)
def test_the_tolerance_is_the_formats(name, little, much):
    one = torch_tensor([1.0, 0.0, nan, inf], name)
    assert difference(one + little * torch_tensor([0, 1, 0, 0], name), one) == ""
    said = difference(one + much * torch_tensor([0, 1, 0, 0], name), one)
    assert name in said
    assert "largest difference" in said
    assert difference(one + much, one, tolerance=1.0) == ""
    assert "nan" in difference(torch_tensor([1.0, 0.0, 0.0, inf], name), one)


def test_arrays_of_several_frameworks():
    x = torch.randn(3, 2, requires_grad=True)
    assert difference(x, x.detach().numpy()) == ""
    assert difference(x.detach().double().numpy() + 1e-6, x) == ""  # the coarser format counts
    assert difference(torch.tensor(2.0), 2.0) == ""
    assert difference(numpy.arange(3), torch.arange(3)) == ""
    assert "shape (3, 2) against (2, 3)" in difference(x, x.T)
    assert difference(numpy.arange(3), numpy.zeros(3, int)) == "the values differ"


# as torch keeps it, the same values plainly
FORMS = [
    (torch.tensor([1 + 2j]).conj(), numpy.array([1 - 2j])),
    (torch.tensor([1 + 2j]).conj().imag, torch.tensor([-2.0])),  # negated when it is read
    (torch.tensor(1.1).to(torch.float8_e5m2), torch.tensor(1.1)),
    (torch.tensor(1.1).to(torch.float8_e4m3fn), torch.tensor(1.1)),
]


@pytest.mark.parametrize(("form", "plain"), FORMS)
def test_tensors_that_numpy_does_not_know(form, plain):
    assert difference(form, plain) == ""
    assert "largest difference" in difference(form, -plain)


def test_large_results_are_compared_piece_by_piece():
    ours = numpy.ones((1000, 2000), "float32")
    theirs = torch.ones(2000, 1000).T  # in another order in memory
    tracemalloc.start()
    assert difference(ours, theirs) == ""
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < ours.nbytes
    theirs[-1, -1] = nan
    assert "difference is nan" in difference(ours, theirs)
    ours[0, 0] = 5.0
    theirs[-1, -1] = 3.0
    assert "difference is 4, and 0.00012 is allowed" in difference(ours, theirs)
