"""Graphs: values set for good, facts about a graph, and its data flow."""

import pytest
import torch
import torch.nn.functional as F
from hybrid_helpers import Keeping, fancy_func
from torch import nn

from d2lhybrid import trace
from d2lhybrid.hybrid.passes import optimize, plan_memory

# Values set for good ------------------------------------------------------------------------


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


def test_a_bound_result():
    assert trace(lambda a, b: (a, b), 1, 2).bind(a=5)(6) == (5, 6)


def test_only_numbers_can_be_bound_and_by_their_name():
    for names in (["x"], ["a", "x"], ["x", "y"], ["v1"]):
        unknown = ", ".join(name for name in names if name != "a")
        with pytest.raises(TypeError, match=f"fancy_func has no number {unknown}"):
            trace(fancy_func, 1, 2, 3, 4).bind(**dict.fromkeys(names, 1))
    with pytest.raises(TypeError, match="has no number x, y"):
        trace(lambda x, y: x * y, torch.ones(3, 4), torch.ones(4)).bind(x=1, y=2)


# Facts --------------------------------------------------------------------------------------


def several(x, W, SCALE):
    hidden = torch.relu(F.linear(x, W))
    result = hidden * SCALE
    return result, x, result, hidden, SCALE


def test_a_graph_lists_its_parameters_and_results():
    net = Keeping(several, W=torch.eye(4), SCALE=torch.full((4,), 2.0))
    graph = trace(net, torch.ones(2, 4))
    assert [graph.names[node] for node in graph.parameters] == ["W", "the_SCALE"]
    assert [graph.names[node] for node in graph.results] == ["v3", "x1", "v2", "the_SCALE"]
    copies = {graph.names[node]: name for node, name in graph.copies.items()}
    assert copies == {"x1": "x1_copy", "the_SCALE": "the_SCALE_copy"}


def test_a_copy_has_a_name_of_its_own():
    def function(x, x_copy):
        return x, x_copy, x * 2

    graph = trace(function, torch.ones(4), torch.ones(4))
    assert list(graph.names.values()) == ["x", "x_copy", "v1"]
    assert list(graph.copies.values()) == ["x_copy_2", "x_copy_copy"]


def test_each_stored_tensor_has_a_slot_of_its_own_until_memory_is_planned():
    x, y = torch.ones(2, 4), torch.ones(4)
    graph = trace(lambda x, y: torch.exp(torch.tanh(x) + y * 2) - 1, x, y)
    assert [graph.names[node] for node in graph.slots] == ["v1", "v2", "v3", "v4"]
    assert list(graph.slot_sizes.values()) == [(4, 0), (0, 4), (4, 0), (4, 0)]
    planned = plan_memory(graph)
    assert list(planned.slots.values()) == [0, 1, 2, 1]
    assert planned.slot_sizes == {0: (4, 0), 1: (4, 4), 2: (4, 0)}
    assert trace(lambda a: a * 2 + 1, 1).slots == {}, "a number is not stored"


# The data flow ------------------------------------------------------------------------------


def drawn(flow):
    """What can be seen of a flow: for each node its kind, label and name, and what it reads."""
    return [
        (data["kind"], data["label"], data["name"], [*flow.predecessors(node)])
        for node, data in flow.nodes(data=True)
    ]


def test_the_flow_of_numbers():
    graph = trace(lambda a, b: -(a + 2.5) * b, 1, 2)
    assert drawn(graph.flow()) == [
        ("input", "a", "", []),
        ("input", "b", "", []),
        ("input", "2.5", "", []),
        ("operation", "+", "v1", [0, 2]),
        ("operation", "-", "v2", [3]),
        ("operation", "*", "v3", [4, 1]),
    ]


def test_the_flow_without_parameters_and_with_what_is_fused_in_one_box():
    net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    graph = optimize(trace(net, torch.ones(1, 4)))
    assert drawn(graph.flow()) == [
        ("input", "input", "", []),
        ("operation", "linear, relu", "v2", [0]),
        ("operation", "linear", "v3", [1]),
    ]
