"""Do two results agree? Cases of all kinds, and of the number formats' rounding."""

import re
from collections import namedtuple
from dataclasses import dataclass
from math import inf, nan
from time import perf_counter
from types import MappingProxyType

import numpy
import pytest
import torch

from d2lhybrid import CandidateError, compare, isolated, mismatch
from d2lhybrid.benchmark import agreement
from d2lhybrid.benchmark.agreement import ResultsDiffer, check_results, has_values, shifted
from d2lhybrid.benchmark.timing import Runner

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
    (1.0, 1.0 + 1e-9, "a difference of 1e-09"),
    (1, 2, "1 against 2"),
    (inf, -inf, "difference of inf"),
    (inf, 1.0, "difference of inf"),
    (torch.tensor([nan]), torch.tensor([1.0]), "difference of nan"),
    ([1, 2], [1], "2 values against 1"),
    ((torch.ones(2),), torch.ones(2), "tuple against Tensor; return an array from both"),
    (torch.tensor(1.0), 1 + 1j, "difference of 1,"),
    ({"x": 1.0, "y": 2.0}, {"p": 1.0, "q": 2.0}, "keys ['x', 'y'] against ['p', 'q']"),
    ({1: 1.0}, {"1": 1.0}, "keys [1] against ['1']"),
    ({"x": 1.0, "y": 2.0}, {"x": 2.0, "y": 1.0}, "difference of 1,"),
    ({}, [], "dict against list"),
    (Output(1.0, 2.0), Output(1.0, 3.0), "difference of 1,"),
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
    assert "difference of" in said
    assert mismatch(one + much, one, tolerance=1.0) == ""
    assert "nan" in mismatch(torch_tensor([1.0, 0.0, 0.0, inf], name), one)


def test_arrays_of_several_frameworks():
    x = torch.ones(3, 2, requires_grad=True)
    assert mismatch(x, x.detach().numpy()) == ""
    assert mismatch(x.detach().double().numpy() + 1e-6, x) == ""  # the coarser format counts
    assert mismatch(torch.tensor(2.0), 2.0) == ""
    assert mismatch(numpy.arange(3), torch.arange(3)) == ""
    assert "shape (3, 2) against (2, 3)" in mismatch(x, x.T)
    said = "2 of 3 numbers differ, first at [1]: 1 against 0"
    assert mismatch(numpy.arange(3), numpy.zeros(3, int)) == said


def test_masked_arrays_agree_in_mask_and_in_what_is_not_masked():
    masked = numpy.ma.masked_array
    one = masked([1.0, 2.0, 3.0], [0, 1, 0])
    assert mismatch(one, masked([1.0, nan, 3.0], [0, 1, 0])) == ""
    assert "1 of 3 numbers differ, first at [1]" in mismatch(one, masked([1.0, 2.0, 3.0], False))
    assert "difference of 1," in mismatch(one, masked([1.0, 2.0, 4.0], [0, 1, 0]))
    assert "MaskedArray against ndarray" in mismatch(one, one.data)
    assert mismatch(masked([1, 2], False), masked([1, 2], [0, 0])) == ""


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_whole_numbers_agree_only_with_the_same_numbers(name):
    whole = numpy.arange(60000, 61000)
    assert mismatch(whole.astype(name), whole) == ""
    assert "1000 of 1000" in mismatch(whole.astype(name) + 1, whole)


@pytest.mark.parametrize("result", ["text", 3, True, object, [None, 1.0], {"x": torch.ones(2)}])
def test_values_are_all_but_none_and_nan(result):
    assert has_values(result)
    assert not has_values([None, nan, torch.full((2,), nan), ()])


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
    assert "difference of" in mismatch(form, -plain)


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


def compared(a, b, *args, **options):
    return compare({"a": a, "b": b}, *args, time_limit=0.03, **options)


def test_programs_with_state_are_compared_at_the_same_call():
    slow = "import time; time.sleep(0.06)"  # so it makes three first calls, and the other twenty
    compared(counting(), counting(change=slow))
    for call in (2, 3):
        wrong = counting(f"state[0] + 0.5 * (state[0] == {call})")
        with pytest.raises(ResultsDiffer, match=f"in call {call}: "):
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


@pytest.mark.parametrize("apart", [4e-3, 1e-3, 6e-5])
def test_tolerance_that_the_message_names_lets_it_pass(apart):
    one, other = torch.tensor([1.0, -2.0]), torch.tensor([1.0, -2.0 - apart])
    named = float(re.search(r"tolerance=(\S+) would let it pass", mismatch(one, other))[1])
    assert mismatch(one, other, named) == ""
    assert mismatch(one, other, 0.9 * named)
    assert "would let it pass" not in mismatch(one, other * 1.01)


def test_program_that_returns_bfloat16_is_judged_as_such():
    """NumPy, in which results are sent, has no such numbers."""
    text = "import torch\ndef one(): return lambda: torch.ones(3, dtype=torch.{}) * {}"
    right = isolated(text.format("float32", 1))
    compared(right, isolated(text.format("bfloat16", 1.01)))
    compared(right, isolated(text.format("float16", 1.002)))
    with pytest.raises(ResultsDiffer, match="is allowed for bfloat16"):
        compared(right, isolated(text.format("bfloat16", 1.1)))


@pytest.mark.parametrize("draw", ["numpy.random.rand()", "float(torch.rand(()))"])
def test_random_numbers_are_named_as_the_reason(draw):
    drawn = isolated(f"import numpy, torch\ndef one(): return lambda: {draw}")
    with pytest.raises(ResultsDiffer, match="'a' draws random numbers: turn that off") as caught:
        compared(drawn, drawn)
    assert "tolerance=" not in str(caught.value)
    with pytest.raises(ResultsDiffer) as caught:  # with a state, calls differ for another reason
        compared(counting(), counting("2 * state[0]"))
    assert "random" not in str(caught.value)


def test_candidates_that_agree_against_the_baseline_are_named():
    errors = []
    candidates = {"odd": lambda: 2.0, "b": lambda: 1.0, "c": lambda: 1.0, "d": lambda: 2.0}
    compare(candidates, time_limit=0, on_error=errors.append)
    assert ["'b', 'c' return the same" in str(error) for error in errors] == [True, True]
    errors.clear()
    compare(candidates | {"c": lambda: 3.0}, time_limit=0, on_error=errors.append)
    assert ["return the same" in str(error) for error in errors] == [False, False]


def test_result_that_cannot_be_sent_needs_no_check():
    program = isolated("class Cache: ...\ndef one():\n    return Cache")
    assert compared(program, program, check=False)
    with pytest.raises(CandidateError, match="returned something that cannot be checked"):
        compared(program, program)


# The size against which a difference is judged --------------------------------------------------


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_large_constants_hide_no_difference(share):
    chance = numpy.random.default_rng(1)
    scores = chance.normal(size=(8, 64)).astype("float32")
    mask = chance.random(scores.shape) < share
    right, wrong = (numpy.where(mask, -1e9, s).astype("float32") for s in (scores, scores * 1.001))
    assert mismatch(right, right.copy()) == ""
    assert mismatch(right * numpy.float32(1 + 2**-22), right) == ""
    assert "numbers differ" in mismatch(wrong, right)


def test_one_large_number_hides_no_difference():
    assert mismatch([numpy.array([1.5, 37269600.0])], [numpy.array([1.0, 37269600.0])])
    assert "1 of 2 numbers differ, most of all at [0]: 1.5 against 1" in mismatch(
        numpy.array([1.5, 37269600.0]), numpy.array([1.0, 37269600.0])
    )


def test_difference_is_judged_by_the_usual_size_of_an_array():
    expected = torch.arange(-50, 51) / 50  # 0 among them
    assert mismatch(expected + 1e-6, expected) == ""
    said = mismatch(expected + 1e-4 * (expected == 0), expected)
    assert said.startswith("1 of 101 numbers differ")
    normal = numpy.random.default_rng(0).normal(size=4096)
    coarse = torch.tensor(normal).bfloat16().double().numpy()  # which has most numbers repeatedly
    assert agreement.usual_size(coarse) == pytest.approx(agreement.usual_size(normal), rel=0.02)


def perceptron(weights, x, step=1):
    """A network with one hidden layer; its sums are added up from one end, or from the other.

    One by one, because a library would add up in another order on another processor.
    """
    for matrix, bias in weights:
        terms = (x.T * matrix)[::step]
        x = numpy.maximum(numpy.cumsum(terms, axis=0)[-1:] + bias, -bias.max() - 9)
    return x


def random_network(chance, outputs):
    shapes = [(64, 128), (128, outputs)]
    matrices = [(chance.normal(size=s) / s[0] ** 0.5).astype("float32") for s in shapes]
    weights = [(m, 0.1 * chance.normal(size=m.shape[1]).astype("float32")) for m in matrices]
    return weights, chance.normal(size=(1, 64)).astype("float32")


def test_sums_near_zero_agree_where_large_numbers_were_added_up():
    """The arguments are moved to find out, so few random networks are refused, and no wrong one."""
    chance, seemed_wrong = numpy.random.default_rng(3), 0
    for _ in range(600):
        args = random_network(chance, outputs=1)
        base = Runner("base", perceptron, args, perf_counter)
        base.results, found = [perceptron(*args)], perceptron(*args, step=-1)
        other = Runner("other", None, (), None)
        other.results = [found]
        seemed_wrong += bool(mismatch(found, base.results[0]))
        runners = {"base": base, "other": other}
        check_results(runners, "base", None, pytest.fail)
        other.results = [found + 1e-3]
        wrong = []
        check_results(runners, "base", None, wrong.append)
        assert len(wrong) == 1
    assert seemed_wrong > 0


ZERO = """
import numpy
def one(x):
    return lambda: numpy.float32({start}) + x.sum() - x[::-1].sum()
"""


def test_program_is_built_with_moved_arguments_only_where_results_seem_to_differ():
    x = numpy.ones(10, "float32") * 1e4
    sums = [isolated(ZERO.format(start=start)) for start in ("0.0", "1e-4", "30")]
    compared(sums[0], sums[1], x)
    with pytest.raises(ResultsDiffer, match="difference of 30"):
        compared(sums[0], sums[2], x)


def test_shifted_numbers_are_larger_or_smaller_by_the_same_share():
    x, chance = torch.ones(50, requires_grad=True), numpy.random.default_rng(0)
    new, number, names = shifted((x, 3, {"a": [x.detach().numpy()]}), chance)
    assert {*new.tolist()} == {1 - 2**-10, 1 + 2**-10}
    assert not new.requires_grad
    assert (number, list(names)) == (3, ["a"])
    assert abs(names["a"][0] - 1).max() == pytest.approx(2**-10)
    args = (torch.arange(3), "text", [])
    assert shifted(args, chance) is args
