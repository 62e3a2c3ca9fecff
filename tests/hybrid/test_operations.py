"""The operations: shapes, templates, and a new operation as one entry."""

import operator

import pytest
import torch
from torch import nn

from d2lhybrid import trace
from d2lhybrid.hybrid.codegen import python_function
from d2lhybrid.hybrid.compiler import CompiledGraph
from d2lhybrid.hybrid.operations import OPERATIONS, Operation, UnsupportedOperation, fill
from d2lhybrid.hybrid.passes import fuse

X = torch.linspace(-2, 2, 12).view(3, 4)

BROADCASTS = [  # shapes of two tensors, of which a batch comes first in the inputs
    ([(3, 4), (3, 1)], ("n", 4)),
    ([(3, 4), (4,)], ("n", 4)),
    ([(3, 4), ()], ("n", 4)),
    ([(3, 1, 4), (3, 5, 1)], ("n", 5, 4)),
    ([(1,), (7,)], (7,)),
    ([(), ()], ()),
]


def test_broadcasting():
    for shapes, expected in BROADCASTS:
        one, two = (torch.ones(shape) for shape in shapes)
        for function in (operator.add, torch.mul, torch.sub, operator.truediv):
            assert trace(function, one, two).outputs[0].shape == expected
            assert trace(function, two, one).outputs[0].shape == expected


FILLED = [  # template, values, the text
    ("{} + {}", ["a", "b"], "a + b"),
    ("{} + {}", ["a"], "a"),
    ("-{}", ["a"], "-a"),
    ("linear({}, {}, {})", ["x", "w", "b"], "linear(x, w, b)"),
    ("linear({}, {}, {})", ["x", "w"], "linear(x, w)"),
    ("f({})", ["{}"], "f({})"),
]


def test_filling_a_template():
    for template, values, text in FILLED:
        assert fill(template, values) == text


def test_an_entry_is_complete():
    """Python takes each operand; C takes each, unless the statement for a row has read it."""
    for operation in OPERATIONS.values():
        places = [operation.python.count("{}"), operation.c.count("{}") + operation.read_by_rows]
        assert places == [len(operation.operands), len(operation.operands) + bool(operation.rows)]
    signs = {name: operation.sign for name, operation in OPERATIONS.items() if operation.sign}
    assert signs == {"add": "+", "sub": "-", "mul": "*", "div": "/", "neg": "-"}


def test_an_elementwise_operation_is_one_entry(monkeypatch):
    with pytest.raises(UnsupportedOperation, match="floor"):
        trace(lambda x: x.floor(), X)
    floor = Operation(torch.floor, "floor({})", "floorf({})")
    monkeypatch.setitem(OPERATIONS, "floor", floor)
    graph = fuse(trace(lambda floorf: torch.tanh(floorf.floor()) + floorf, X))
    assert [node.fused for node in graph.nodes] == [True, True, False]
    assert str(graph.outputs[0].type) == "float32[n, 4]"
    expected = torch.tanh(X.floor()) + X
    assert torch.equal(python_function(graph)(X), expected)
    torch.testing.assert_close(CompiledGraph(graph)(X), expected)


def test_two_operations_on_rows_are_never_fused():
    graph = trace(lambda x: torch.softmax(x, -1) + torch.softmax(torch.relu(x), -1), X)
    expected = torch.softmax(X, -1) + torch.softmax(torch.relu(X), -1)
    torch.testing.assert_close(CompiledGraph(graph)(X), expected)
    assert len(fuse(graph).kernels) == 3


@pytest.mark.parametrize("affine", [False, True])
def test_batch_norm_uses_the_statistics_that_were_kept(affine):
    norm, x = nn.BatchNorm1d(5, affine=affine), torch.randn(3, 5)
    norm.running_mean.normal_()
    norm.running_var.uniform_(0.5, 2)
    if affine:
        norm.weight.data.normal_()
        norm.bias.data.normal_()
    graph = trace(norm.eval(), x)
    with torch.no_grad():
        for compiled in (python_function(graph), CompiledGraph(graph)):
            torch.testing.assert_close(compiled(x), norm(x))


def test_batch_norm_of_other_than_rows_is_unsupported():
    with pytest.raises(UnsupportedOperation):
        trace(nn.BatchNorm1d(4).eval(), torch.ones(2, 4, 5))
