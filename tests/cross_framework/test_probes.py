"""What becomes of Python in a function that is compiled: the trial notices what it should.

With NumPy as the framework, and compilers that are easily foretold. Notebooks 14 to 18 show what
the frameworks' own compilers do.
"""

import numpy
import pytest

from d2lhybrid.cross_framework import probes


@pytest.fixture(autouse=True)
def adapter(monkeypatch):
    adapter = probes.Adapter(
        numpy.array, lambda x: numpy.random.rand(1), sum=numpy.sum, numpy=numpy.asarray
    )
    monkeypatch.setitem(probes.ADAPTERS, "numpy", lambda module: adapter)


# What a case does plainly: the result of call n, with the argument x.
RESULTS = {
    "a print": lambda n, x: x * 2,
    "a counter": lambda n, x: x * 2,
    "an if on the data": lambda n, x: x * 2 if x.sum() > 0 else -x,
    "an if on a shape": lambda n, x: x * 2 if len(x) == 4 else -x,
    "a global": lambda n, x: x * 10 * n,
    "x += 1": lambda n, x: (x + 1) * 2,
    "a value read out": lambda n, x: x * x.sum(),
    "a while on the data": lambda n, x: x + [40, 30, 40, 30][n - 1],
    "a for over the data": lambda n, x: (x**2).sum(),
    "a name bound in one branch": lambda n, x: None if n == 3 else x * 2,
    "a leaked argument": lambda n, x: x * 2,
}


@pytest.mark.parametrize("case", probes.CASES)
def test_case_does_what_its_label_says(case):
    probes.try_cases("numpy", {}, {})  # sets the adapter
    calls = probes.observe_calls(probes.CASES[case])
    for n, (call, values) in enumerate(zip(calls, probes.INPUTS, strict=True), 1):
        x = numpy.array(values)
        if case in RESULTS:
            assert numpy.array_equal(call["result"], RESULTS[case](n, x)), n
        else:
            assert x[0] < call["result"][0] < x[0] + 1  # a random number was added
        raises = case == "a name bound in one branch" and n == 3
        assert call["raised"] == ("UnboundLocalError" if raises else "")
        assert call["printed"] == ("here\n" if case == "a print" else "")
        assert call["counted"] == (case == "a counter")
        assert len(call["kept"]) == (case == "a leaked argument")
        assert numpy.array_equal(call["argument"], x + (case == "x += 1"))


def outcomes(compiler):
    """What a compiler makes of each case."""
    table = probes.try_cases("numpy", probes.CASES, {"it": compiler})
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
def test_compiler_that_treats_all_cases_alike(compiler, outcome):
    assert outcomes(compiler) == dict.fromkeys(probes.CASES, outcome)


def hides_the_argument(function):
    return lambda x: function(x.copy())


def keeps_a_symbol(function):
    def compiled(x):
        result = function(x)
        if function is probes.leaks_argument:
            probes.kept[-1] = object()
        return result

    return compiled


def says_more(function):
    def compiled(x):
        if function is probes.prints:
            print("and here")
        return function(x)

    return compiled


def draws_once(function):
    if function is not probes.uses_rng:
        return function
    drawn = function(numpy.zeros(3))
    return lambda x: x + drawn


@pytest.mark.parametrize(
    ("compiler", "case"),
    [
        (hides_the_argument, "x += 1"),
        (keeps_a_symbol, "a leaked argument"),
        (says_more, "a print"),
        (draws_once, "the framework's random number"),
    ],
)
def test_one_fault_changes_the_outcome_of_one_case(compiler, case):
    wanted = dict.fromkeys(probes.CASES, "right") | {case: "silently wrong"}
    assert outcomes(compiler) == wanted


def for_three_numbers(function, otherwise):
    return lambda x: function(x) if len(x) == 3 else otherwise(x)


@pytest.mark.parametrize(("otherwise", "outcome"), [(refuses, "error"), (abs, "silently wrong")])
def test_one_wrong_call_changes_the_outcome(otherwise, outcome):
    found = outcomes(lambda function: for_three_numbers(function, otherwise))
    # Random numbers are drawn for three numbers only.
    wanted = dict.fromkeys(probes.CASES, outcome) | {"the framework's random number": "right"}
    assert found == wanted


def test_wrong_result_and_later_error_are_silently_wrong():
    def compiled(function):
        return lambda x: refuses(x) if len(x) > 3 else numpy.zeros(3)

    assert outcomes(compiled)["an if on the data"] == "silently wrong"


def test_own_cases_with_plain_and_before():
    cases = {
        "with a guest": lambda guest, x: guest(x) * 2,
        "random": lambda guest, x: x + numpy.random.rand(),
    }
    compilers = {
        "same": lambda case: lambda x: case(numpy.array, x),
        "other": lambda case: lambda x: case(numpy.array, x) + 1,
        "none": refuses,
    }
    table = probes.try_cases(
        "numpy", cases, compilers, plain=compilers["same"], before=numpy.random.seed
    )
    row = {"same": "right", "other": "silently wrong", "none": "error"}
    assert table == dict.fromkeys(cases, row)
