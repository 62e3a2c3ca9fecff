"""Do two results agree? Cases of all kinds, and of the number formats' rounding."""

import re
from collections import namedtuple
from dataclasses import dataclass
from math import inf, nan
from types import MappingProxyType

import numpy
import pytest
import torch

from d2lhybrid import CandidateError, compare, isolated, mismatch
from d2lhybrid.benchmark.agreement import ResultsDiffer

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
    (None, None),
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
    (inf, -inf, "difference is inf"),
    (inf, 1.0, "difference is inf"),
    (torch.tensor([nan]), torch.tensor([1.0]), "difference is nan"),
    ([1, 2], [1], "2 values against 1"),
    ((torch.ones(2),), torch.ones(2), "tuple against Tensor"),
    (torch.tensor(1.0), 1 + 1j, "largest difference is 1,"),
    ({"x": 1.0, "y": 2.0}, {"p": 1.0, "q": 2.0}, "keys ['x', 'y'] against ['p', 'q']"),
    ({1: 1.0}, {"1": 1.0}, "keys [1] against ['1']"),
    ({"x": 1.0, "y": 2.0}, {"x": 2.0, "y": 1.0}, "largest difference is 1,"),
    ({}, [], "dict against list"),
    (Output(1.0, 2.0), Output(1.0, 3.0), "largest difference is 1,"),
    (Output(1.0, 2.0), OtherOutput(1.0, 2.0), "Output against OtherOutput"),
    (Output(1.0, 2.0), (1.0, 2.0), "Output against tuple"),
]


@pytest.mark.parametrize(("a", "b"), AGREEING)
def test_results_agree(a, b):
    assert mismatch(a, b) == ""


@pytest.mark.parametrize(("a", "b", "text"), DIFFERING)
def test_results_differ(a, b, text):
    assert text in mismatch(a, b)


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
def test_tolerance_is_that_of_the_format(name, little, much):
    one = torch_tensor([1.0, 0.0, nan, inf], name)
    assert mismatch(one + little * torch_tensor([0, 1, 0, 0], name), one) == ""
    said = mismatch(one + much * torch_tensor([0, 1, 0, 0], name), one)
    assert name in said
    assert "largest difference" in said
    assert mismatch(one + much, one, tolerance=1.0) == ""
    assert "nan" in mismatch(torch_tensor([1.0, 0.0, 0.0, inf], name), one)


def test_arrays_of_several_frameworks():
    x = torch.randn(3, 2, requires_grad=True)
    assert mismatch(x, x.detach().numpy()) == ""
    assert mismatch(x.detach().double().numpy() + 1e-6, x) == ""  # the coarser format counts
    assert mismatch(torch.tensor(2.0), 2.0) == ""
    assert mismatch(numpy.arange(3), torch.arange(3)) == ""
    assert "shape (3, 2) against (2, 3)" in mismatch(x, x.T)
    assert mismatch(numpy.arange(3), numpy.zeros(3, int)) == "the values differ"


# as torch keeps it, the same values plainly
FORMS = [
    (torch.tensor([1 + 2j]).conj(), numpy.array([1 - 2j])),
    (torch.tensor([1 + 2j]).conj().imag, torch.tensor([-2.0])),  # negated when it is read
    (torch.tensor(1.1).to(torch.float8_e5m2), torch.tensor(1.1)),
    (torch.tensor(1.1).to(torch.float8_e4m3fn), torch.tensor(1.1)),
]


@pytest.mark.parametrize(("form", "plain"), FORMS)
def test_tensors_in_forms_that_numpy_lacks(form, plain):
    assert mismatch(form, plain) == ""
    assert "largest difference" in mismatch(form, -plain)


# The check of `compare` -----------------------------------------------------------------------

COUNTS = """
def one():
    state = [0.0]
    def call():
        state[0] += 1
        {change}
        return {result}
    return call
"""


def counting(result="state[0]", change="pass"):
    return isolated(COUNTS.format(result=result, change=change))


def compared(a, b, **options):
    return compare({"a": a, "b": b}, time_limit=0.03, **options)


def test_programs_with_state_are_compared_at_the_same_call():
    slow = "import time; time.sleep(0.06)"  # so it makes three first calls, and the other twenty
    compared(counting(), counting(change=slow))
    wrong = counting(change="state[0] += 0.5 * (state[0] == 2)")
    with pytest.raises(ResultsDiffer, match="in the third call: "):
        compared(counting(), wrong)


def test_results_are_kept_before_a_later_call_changes_them():
    in_place = counting("array", "array = state[0] * numpy.ones(3)").source
    source = "import numpy\nbuffer = numpy.zeros(3)\n" + in_place.replace(
        "return array", "buffer[:] = array; return buffer"
    )
    compared(isolated(source), counting("numpy.full(3, state[0])", "import numpy"))


def test_tolerance_follows_from_the_dtypes_of_the_results():
    x = torch.rand(100)
    coarse = {"a": lambda: x, "b": lambda: x.bfloat16()}
    compare(coarse, time_limit=0)
    with pytest.raises(ResultsDiffer, match="is allowed for float32"):
        compare({"a": lambda: x, "b": lambda: x.bfloat16().float()}, time_limit=0)


@pytest.mark.parametrize("apart", [0.5, 0.0999, 1e-3, 6e-5])
def test_tolerance_that_the_message_names_lets_it_pass(apart):
    one, other = torch.tensor([1.0, -2.0]), torch.tensor([1.0, -2.0 - apart])
    named = float(re.search(r"tolerance=(\S+) would let it pass", mismatch(one, other))[1])
    assert mismatch(one, other, named) == ""
    assert mismatch(one, other, 0.9 * named)


def test_result_that_cannot_be_sent_needs_no_check():
    program = isolated("class Cache: ...\ndef one():\n    return Cache")
    assert compared(program, program, check=False)
    with pytest.raises(CandidateError, match="returned what cannot be checked"):
        compared(program, program)
