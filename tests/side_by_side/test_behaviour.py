"""What becomes of Python in each framework's compiler; and that the trial notices what it should.

Each framework runs in a process of its own, as in notebook 17.
"""

from importlib import import_module

import numpy
import pytest

behaviour = import_module("d2lhybrid.side_by_side.behaviour")

# The trial itself, with NumPy as the framework, and compilers that are easily foretold.

TOOLS = behaviour.Tools(
    array=numpy.array,
    numpy=numpy.asarray,
    sum=numpy.sum,
    dice=lambda x: numpy.random.rand(1),
)


@pytest.fixture(autouse=True)
def numpys_tools(monkeypatch):
    monkeypatch.setitem(behaviour.TOOLS, "numpy", lambda module: TOOLS)


def outcomes(compiler):
    """What a compiler makes of each case."""
    table = behaviour.try_cases("numpy", behaviour.CASES, {"it": compiler})
    return {case: row["it"] for case, row in table.items()}


def unchanged(function):
    return function


def constant(function):
    return lambda x: numpy.zeros(3)


def refuses(function):
    raise NotImplementedError


def refuses_when_called(function):
    return refuses


@pytest.mark.parametrize(
    ("compiler", "outcome"),
    [
        (unchanged, "right"),
        (constant, "silently wrong"),
        (refuses, "error"),
        (refuses_when_called, "error"),
    ],
)
def test_a_compiler_that_treats_all_alike_gets_one_outcome(compiler, outcome):
    assert outcomes(compiler) == dict.fromkeys(behaviour.CASES, outcome)


def hides_the_argument(function):
    return lambda x: function(x.copy())


def keeps_a_symbol(function):
    def compiled(x):
        result = function(x)
        if function is behaviour.keeps:
            behaviour.kept[-1] = object()
        return result

    return compiled


def says_more(function):
    def compiled(x):
        if function is behaviour.prints:
            print("and here")
        return function(x)

    return compiled


def throws_dice_once(function):
    if function is not behaviour.throws_its_dice:
        return function
    thrown = function(numpy.zeros(3))
    return lambda x: x + thrown


@pytest.mark.parametrize(
    ("compiler", "case"),
    [
        (hides_the_argument, "x += 1"),
        (keeps_a_symbol, "keeps its argument"),
        (says_more, "a print"),
        (throws_dice_once, "the framework's random number"),
    ],
)
def test_one_fault_is_found_where_it_matters_and_nowhere_else(compiler, case):
    wanted = dict.fromkeys(behaviour.CASES, "right") | {case: "silently wrong"}
    assert outcomes(compiler) == wanted


def for_three_numbers(function, otherwise):
    return lambda x: function(x) if len(x) == 3 else otherwise(x)


@pytest.mark.parametrize(("otherwise", "outcome"), [(refuses, "error"), (abs, "silently wrong")])
def test_one_wrong_call_is_enough(otherwise, outcome):
    found = outcomes(lambda function: for_three_numbers(function, otherwise))
    # Dice are thrown for three numbers only.
    wanted = dict.fromkeys(behaviour.CASES, outcome) | {"the framework's random number": "right"}
    assert found == wanted


def test_an_error_does_not_excuse_what_went_wrong_before_it():
    def compiled(function):
        return lambda x: refuses(x) if len(x) > 3 else numpy.zeros(3)

    assert outcomes(compiled)["an if on the data"] == "silently wrong"


def test_cases_of_ones_own_with_another_plain_call_and_seeds():
    cases = {
        "with a guest": lambda guest, x: guest(x) * 2,
        "random": lambda guest, x: x + numpy.random.rand(),
    }
    compilers = {
        "same": lambda case: lambda x: case(numpy.array, x),
        "other": lambda case: lambda x: case(numpy.array, x) + 1,
        "none": refuses,
    }
    table = behaviour.try_cases(
        "numpy", cases, compilers, plain=compilers["same"], before=numpy.random.seed
    )
    row = {"same": "right", "other": "silently wrong", "none": "error"}
    assert table == dict.fromkeys(cases, row)
