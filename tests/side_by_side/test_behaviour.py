"""What becomes of Python in each framework's compiler; and that the trial notices what it should.

Each framework runs in a process of its own, as in notebook 14.
"""

import os
import re
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy
import pytest

import course
from d2lhybrid import own_process
from d2lhybrid.measure.processes import ProgramRunner

behaviour = import_module("d2lhybrid.side_by_side.behaviour")

COMPILERS = {
    "mxnet": ["MXNet"],
    "tensorflow": ["tf.function", "XLA"],
    "paddle": ["Paddle, bytecode", "Paddle, source"],
    "jax": ["jax.jit"],
    "torch": ["torch.compile", "fullgraph=True"],
}
# One column for each compiler, in this order. r: right, s: silently wrong, e: error.
TABLE = """
                                mx  tf xla  byte src  jit  tc full
a print                         s   s  s    r    s    s    r  e
a counter                       s   s  s    r    s    s    r  r
an if on the data               e   r  r    r    r    e    r  e
an if on a shape                e   r  r    r    r    r    r  r
a number from outside           s   s  s    r    s    s    r  r
Python's random number          s   s  s    r    s    s    r  r
the framework's random number   r   r  r    r    r    s    r  r
x += 1                          e   r  r    r    r    r    r  r
a number taken out              e   e  e    r    e    e    r  r
a while on the data             e   r  r    r    r    e    r  e
a for over the data             e   r  r    r    r    r    r  r
a variable of one branch        e   e  e    s    s    e    r  e
keeps its argument              s   s  s    r    s    s    r  r
"""
WORDS = {"r": "right", "s": "silently wrong", "e": "error"}


def expected(framework):
    """A framework's columns of the table: compiler -> case -> outcome."""
    columns = [label for labels in COMPILERS.values() for label in labels]
    table = {label: {} for label in COMPILERS[framework]}
    for row in TABLE.strip().splitlines()[1:]:
        case, *letters = re.split(r"\s{2,}", row)
        for label, letter in zip(columns, letters, strict=True):
            if label in table:
                table[label][case] = WORDS[letter]
    if framework == "torch":
        import torch

        version = tuple(map(int, torch.__version__.split(".")[:2]))
        if version < (2, 10):  # a number taken out was captured only on request
            table["fullgraph=True"]["a number taken out"] = "error"
    return table


@pytest.mark.parametrize("framework", COMPILERS)
def test_each_compiler_does_to_each_case_what_the_notebook_says(framework):
    must = os.environ.get("D2LHYBRID_COMPLETE") and framework in course.needed("frameworks")
    if not find_spec(framework) and not must:
        pytest.skip(f"{framework} is not installed")
    program = own_process(Path(behaviour.__file__), "behaviour", threads=1)
    runner = ProgramRunner(framework, program, (framework,))
    try:
        runner.load()
        runner.warm_up()
        found = runner.result
    finally:
        runner.close()
    assert found == expected(framework)
    order = [(label, case) for label, row in found.items() for case in row]
    assert order == [(label, case) for label in COMPILERS[framework] for case in behaviour.CASES]
    assert runner._words.text().strip() == ""  # it is silent


# The trial itself, with NumPy as the framework, and compilers that are easily foretold.

TOOLS = behaviour.Tools(
    array=numpy.array,
    numpy=numpy.asarray,
    sum=numpy.sum,
    dice=lambda x: numpy.random.rand(1),
    compilers={},
)


def outcomes(compiler):
    """What a compiler makes of each case."""
    return behaviour.outcomes(replace(TOOLS, compilers={"it": compiler}))["it"]


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
