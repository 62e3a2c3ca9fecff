"""Graphs: values set for good, and facts about a graph."""

import pytest
import torch
from hybrid_helpers import fancy_func

from d2lhybrid import trace
from d2lhybrid.hybrid.passes import (
    drop_unused,
    fold_constants,
    optimise,
)


def test_binding_numbers():
    graph = trace(fancy_func, 1, 2, 3, 4)
    half = graph.bind(b=2, d=4.5)
    assert str(half) == (
        "fancy_func(a, c):\n"
        "    v1 = add(a, 2)\n"
        "    v2 = add(c, 4.5)\n"
        "    v3 = add(v1, v2)\n"
        "    return v3"
    )
    assert half(1, 3) == graph(1, 2, 3, 4.5) == 10.5
    assert half.bind(a=1, c=3)() == 10.5
    assert graph(1, 2, 3, 4) == 10, "the graph itself is as it was"
    assert str(graph.bind()) == str(graph)


def test_binding_everything_leaves_one_number():
    graph = optimise(trace(fancy_func, 1, 2, 3, 4).bind(a=1, b=2, c=3, d=4))
    assert str(graph) == "fancy_func():\n    return 10"
    assert graph() == 10


def test_binding_tensors():
    weight, x = torch.arange(4.0), torch.ones(3, 4)
    graph = trace(lambda x, weight: x * (weight + 1), x, weight).bind(weight=weight)
    assert torch.equal(graph(x), x * (weight + 1))
    folded = drop_unused(fold_constants(graph))
    assert [node.op for node in folded.nodes] == ["constant", "mul"]
    assert torch.equal(folded(x), x * (weight + 1))


def test_a_bound_result():
    assert trace(lambda a, b: (a, b), 1, 2).bind(a=5)(6) == (5, 6)


@pytest.mark.parametrize("names", [["x"], ["a", "x"], ["x", "y"], ["v1"]])
def test_binding_what_is_no_input(names):
    unknown = ", ".join(name for name in names if name != "a")
    with pytest.raises(TypeError, match=f"fancy_func has no input {unknown}"):
        trace(fancy_func, 1, 2, 3, 4).bind(**dict.fromkeys(names, 1))


@pytest.mark.parametrize(
    "value",
    [2, torch.ones(3), torch.ones(1, 4), torch.ones(4).double(), torch.ones(()), [1.0] * 4, None],
)
def test_binding_a_tensor_to_what_does_not_fit(value):
    graph = trace(lambda x, weight: x * weight, torch.ones(3, 4), torch.ones(4))
    with pytest.raises(TypeError, match=r"weight is a float32\[4\], and cannot be bound to "):
        graph.bind(weight=value)


@pytest.mark.parametrize("value", [torch.ones(4), torch.tensor(2.0), "2", None])
def test_binding_a_number_to_what_is_none(value):
    with pytest.raises(TypeError, match="a is a number, and cannot be bound to "):
        trace(fancy_func, 1, 2, 3, 4).bind(a=value)


def test_a_batch_cannot_be_bound():
    x = torch.ones(3, 4)
    with pytest.raises(TypeError, match=r"x is a float32\[n, 4\], and cannot be bound"):
        trace(lambda x, y: x * y, x, x).bind(x=x)
