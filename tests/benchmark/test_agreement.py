"""Do two results agree? Cases of all kinds, and of the number formats' rounding."""

from collections import namedtuple
from contextlib import nullcontext
from dataclasses import dataclass
from math import inf, nan
from types import MappingProxyType

import numpy
import pytest
import torch

from d2lhybrid import CandidateError, compare, difference, own_process
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
    return own_process(COUNTS.format(result=result, change=change))


def compared(a, b, **options):
    return compare({"a": a, "b": b}, time_limit=0.03, **options)


def test_programs_with_state_are_compared_at_the_same_call():
    slow = "import time; time.sleep(0.06)"  # so it makes three first calls, and the other twenty
    assert compared(counting(), counting(change=slow)).machine["notes"] == []
    wrong = counting(change="state[0] += 0.5 * (state[0] == 2)")
    with pytest.raises(ResultsDiffer, match="in the first call, and not in the third: ") as caught:
        compared(counting(), wrong)
    assert "what their calls change is not the same" in str(caught.value)


def test_what_a_later_call_changes_in_place_is_kept():
    in_place = counting("array", "array = state[0] * numpy.ones(3)").source
    source = "import numpy\nbuffer = numpy.zeros(3)\n" + in_place.replace(
        "return array", "buffer[:] = array; return buffer"
    )
    compared(own_process(source), counting("numpy.full(3, state[0])", "import numpy"))


@pytest.mark.parametrize(
    ("found", "expected", "said"),
    [
        ("3.0001", "3.0", "tolerance=3.4e-05 would let it pass"),
        ("[3.0, 1.1]", "[3.0, 1.0]", "tolerance=0.091 would let it pass"),
        ("[3.0, 1.2]", "[3.0, 1.0]", "check=False"),
        ("3.0", "'three'", "check=False"),
        ("[1.0]", "[1.0, 2.0]", "check=False"),
    ],
)
def test_the_least_tolerance_that_would_pass(found, expected, said):
    with pytest.raises(ResultsDiffer) as caught:
        compared(counting(expected), counting(found))
    text = str(caught.value)
    assert said in text
    assert text.count("tolerance=") == (said != "check=False")
    if said != "check=False":
        compared(
            counting(expected), counting(found), tolerance=float(said.split()[0].split("=")[1])
        )


def test_dataclasses_are_sent_and_what_cannot_be_sent_is_named():
    source = """
from dataclasses import dataclass

class Cache: ...

@dataclass
class Output:
    logits: float
    cache: object

def one():
    return lambda: Output({}, [Cache()])
"""
    program = own_process(source.format(1.0))
    for other, said in ((1.0, ""), (2.0, "the largest difference is 1")):
        with pytest.raises(ResultsDiffer, match=said) if said else nullcontext():
            result = compared(program, own_process(source.format(other)))
            notes = [f"of what {label} returns, this was not compared: Cache" for label in "ab"]
            assert result.machine["notes"] == notes
    with pytest.raises(CandidateError, match="returned what cannot be checked: object cannot be"):
        compared(counting("[object()]"), counting("[object()]"))


UNSENDABLE = """
import enum

class Key(enum.Enum):
    A = 1

class Cache: ...
class Other: ...

def one():
    return lambda: {}
"""


def test_without_a_check_any_result_will_do():
    program = own_process(UNSENDABLE.format("{Key.A: 1.0}"))
    assert compared(program, program, check=False)
    with pytest.raises(CandidateError, match=r"returned what cannot be checked: .*; check=False"):
        compared(program, program)


@pytest.mark.parametrize("other", ["None", "Other()"])
def test_both_leave_out_the_same(other):
    ours, theirs = (own_process(UNSENDABLE.format(f"(1.0, {it})")) for it in ("Cache()", other))
    with pytest.raises(ResultsDiffer):
        compared(ours, theirs)
