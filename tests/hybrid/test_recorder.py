"""Recordings: what is in the graph, and that it computes what the function does."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hybrid_helpers import computing, fancy_func, operations, write
from torch import nn

from d2lhybrid import trace

X, Y = torch.tensor([[0.5, -1.0, 2.0, 3.0]] * 3), torch.full((3, 4), 0.25)


AGREE = ["x", "x + y * 2 - 1", "1 - x", "g + x * g", "-x", "True * x", "x * np.float32(0.5)"]
AGREE += ["x * np.float64(0.1)", "np.float64(3) / x - np.float64(1)", "x * nn.Parameter(g)"]
AGREE += ["x * g.contiguous() + g.float()", "torch.add(x, y)", "torch.add(input=x, other=y)"]
AGREE += ["torch.add(x, y, alpha=1)", "torch.rsub(x, other=1)"]
AGREE += ["torch.div(x, y, rounding_mode=None)", "torch.divide(x, y)", "torch.negative(x)"]
AGREE += ["torch.exp(input=x)", "x.true_divide(y)", "x.tanh().sigmoid().relu()", "g.sub(other=x)"]
AGREE += ["F.relu(x, inplace=False)", "F.dropout(x, training=False)"]
AGREE += ["F.dropout(input=x, p=0.3, training=False)", "nn.Dropout().eval()(x)"]
AGREE += ["F.linear(x, w, bias=None)", "F.linear(x, w, b)", "F.linear(bias=b, weight=w, input=x)"]
AGREE += ["x * x.shape[1] + x.shape[-1]"]
AGREE += ["x if x.dim() == 2 and len(x.shape) == 2 else y", "x if x.dtype == torch.float32 else y"]
AGREE += ["x if x is not None and x is not y else y", "{x: y}[x]", "x if x in [x] else y"]


@pytest.mark.parametrize("expression", AGREE)
@torch.no_grad()
def test_the_graph_computes_what_the_function_does(expression):
    function = computing(expression)
    graph = trace(function, X, Y)
    for inputs in ((X, Y), (X[:1] + 1, Y[:1])):
        assert torch.equal(graph(*inputs), function(*inputs))


def test_fancy_func_in_full():
    graph = trace(fancy_func, 1, 2, 3, 4)
    assert str(graph) == (
        "fancy_func(a, b, c, d):\n"
        "    v1 = add(a, b)\n"
        "    v2 = add(c, d)\n"
        "    v3 = add(v1, v2)\n"
        "    return v3"
    )
    assert repr(graph) == str(graph)
    assert graph(1, 2, 3, 4) == 10
    with pytest.raises(TypeError, match="fancy_func takes 4 values, not 3"):
        graph(1, 2, 3)


def test_augmented_assignment_of_numbers_is_recorded():
    function = write(
        "def program(a, b):\n    a += b\n    a *= a\n    a -= 1\n    a /= 4\n    return a\n"
    )
    graph = trace(function, 1, 2)
    assert operations(graph) == ["add", "mul", "sub", "div"]
    assert graph(1, 2) == function(1, 2) == 2.0


CONTAINERS = [
    ("x + 1", None),
    ("(x, y)", tuple),
    ("x, x, x + 1", tuple),
    ("[x + y, x]", list),
    ("(x,)", tuple),
    ("[x]", list),
]


@pytest.mark.parametrize(("expression", "container"), CONTAINERS)
@pytest.mark.parametrize(("x", "y"), [(2, 3.5), (X, Y)])
def test_results_in_tuples_and_lists(expression, container, x, y):
    function = computing(expression)
    graph = trace(function, x, y)
    result, expected = graph(x, y), function(x, y)
    assert graph.container is container
    assert type(result) is type(expected)
    if container:
        assert len(result) == len(expected)
        assert all(np.array_equal(*pair) for pair in zip(result, expected, strict=True))


def test_a_result_that_does_not_depend_on_the_inputs():
    assert trace(computing("3"), 1, 2)(1, 2) == 3
    weight = torch.ones(2)
    assert trace(computing("weight", weight=weight), X, Y)(X, Y) is weight


class Residual(nn.Module):
    """Calls a layer twice, keeps a tensor that is no parameter, and is called with a keyword."""

    def __init__(self):
        super().__init__()
        self.layer, self.scale = nn.Linear(4, 4), torch.full((4,), 2.0)

    def forward(self, x, *, times=2):
        for _ in range(times):
            x = x + self.scale * F.relu(input=self.layer(x))
        return x


def test_a_module_with_a_layer_used_twice():
    net = Residual()
    graph = trace(net, X)
    assert operations(graph) == ["linear", "relu", "mul", "add"] * 2
    parameters = [node.value for node in graph.nodes if node.op == "parameter"]
    assert len(parameters) == 3
    assert all(
        one is two
        for one, two in zip(parameters, [net.layer.weight, net.layer.bias, net.scale], strict=True)
    )
    assert torch.equal(graph(X), net(X))


SHAPES = [((), ()), ((4,), (4,)), ((3, 4), ("n", 4)), ((2, 3, 4), ("n", 3, 4)), ((0, 4), ("n", 4))]


def test_the_first_size_of_several_is_the_batch():
    for given, recorded in SHAPES:
        graph = trace(torch.tanh, torch.ones(given))
        assert graph.inputs[0].shape == graph.outputs[0].shape == recorded
