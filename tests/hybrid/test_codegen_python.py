"""Source text in Python: it computes what the graph does."""

import ast
import random

import pytest
import torch
import torch.nn.functional as F
from hybrid_helpers import bits, fancy_func
from random_programs import as_list, number_function, tensor_program
from torch import nn

from d2lhybrid import run_program, trace
from d2lhybrid.hybrid.codegen import python_function, python_source
from d2lhybrid.hybrid.passes import fuse, optimize
from d2lhybrid.text.program import straight_line

NAN, INF = float("nan"), float("inf")
X, Y = torch.tensor([[0.5, -1.0, 2.0, 3.0]] * 3), torch.full((3, 4), 0.25)


def test_generated_python_of_fancy_func_is_exact_and_runs():
    graph = trace(fancy_func, 1, 2, 3, 4)
    text = python_source(graph)
    assert text == (
        "def fancy_func(a, b, c, d):\n"
        "    v1 = a + b\n"
        "    v2 = c + d\n"
        "    v3 = v1 + v2\n"
        "    return v3"
    )
    assert len(straight_line(text)) == 1
    assert run_program(f"{text}\nprint(fancy_func(1, 2, 3, 4))") == "10\n"
    assert python_function(graph)(1, 2, 3, 4) == 10


def result_or_error(function, values):
    try:
        return repr(function(*values))
    except ZeroDivisionError as error:
        return error.args


def test_python_computes_what_a_graph_of_numbers_does():
    for seed in range(12):
        rng = random.Random(seed)
        bound = rng.choice([1, -0.0, INF, NAN, True])
        graph = trace(number_function(seed), 1, 2, 3, 4).bind(a=bound)
        for one in (graph, fuse(graph), optimize(graph)):
            values = rng.choices([1, 2.5, -3, -0.0, True, INF, NAN], k=3)
            ours, expected = (result_or_error(f, values) for f in (python_function(one), one))
            assert ours == expected, python_source(one)


def test_python_computes_what_a_graph_of_tensors_does():
    for seed in range(8):
        rng, program = random.Random(seed), tensor_program(seed)
        graph = trace(program.net, *program.inputs(rng, 2), 1.5)
        values = [*program.inputs(rng, 3), -0.75]
        with torch.no_grad():
            for one in (graph, fuse(graph), optimize(graph)):
                ours, expected = python_function(one)(*values), one(*values)
                assert type(ours) is type(expected), python_source(one)
                assert bits(as_list(ours)) == bits(as_list(expected)), python_source(one)


ALONE = [  # function of x and y, what is stored last
    (lambda x, y: (torch.exp(x) + 1) * 2, "(exp(x) + 1) * 2"),
    (lambda x, y: (F.relu(x) - y) / x, "(relu(x) - y) / x"),
    (lambda x, y: x - (y - x), "x - (y - x)"),
    (lambda x, y: x / (y / x), "x / (y / x)"),
    (lambda x, y: -(-x * y), "-(-x * y)"),
    (lambda x, y: x - -y, "x - -y"),
    (lambda x, y: x * -2, "x * -2"),
    (lambda x, y: 2 - torch.sigmoid(-x), "2 - sigmoid(-x)"),
]


def test_generated_python_has_only_the_parentheses_it_needs():
    for function, text in ALONE:
        graph = fuse(trace(function, X, Y))
        line = ast.parse(python_source(graph)).body[0].body[0]
        assert ast.unparse(line.value) == text
        assert torch.equal(python_function(graph)(X, Y), function(X, Y))


def relu(x, linear):
    return torch.relu(x) + F.linear(linear, W, None)


def exp(exp):
    return torch.exp(exp) * INF - NAN


W = torch.eye(4)
NAMED = [
    (lambda x: x + 1, [2]),
    (lambda inf, nan: inf * INF + nan, [2.0, 1]),
    (lambda x: x * NAN, [X]),
    (lambda x: x * -INF, [X]),
    (relu, [X, Y]),
    (exp, [X]),
    (nn.Sequential(nn.Linear(4, 4)), [X]),
    (torch.tanh, [X]),
]


@pytest.mark.parametrize(("function", "values"), NAMED)
@pytest.mark.parametrize("change", [lambda graph: graph, optimize])
def test_generated_python_survives_names_like_inf_exp_and_relu(function, values, change):
    graph = change(trace(function, *values))
    with torch.no_grad():
        assert bits([python_function(graph)(*values)]) == bits([function(*values)])
