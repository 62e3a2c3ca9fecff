"""Recordings: what is refused, and that the error says which line asked for it."""

import numpy as np
import pytest
import torch
from hybrid_helpers import computing, operations, program, write
from torch import nn

from d2lhybrid import trace
from d2lhybrid.hybrid.operations import UnsupportedOperation
from d2lhybrid.hybrid.recorder import RecordingError

X, Y = torch.tensor([[0.5, -1.0, 2.0, 3.0]] * 3), torch.full((3, 4), 0.25)

QUESTIONS = ["if x: pass", "x and y", "x == 1", "x < 1", "x >= 1", "x in (y,)", "1 in x", "len(x)"]
QUESTIONS += ["for row in x: pass", "int(x)", "float(x)", "complex(x)", "range(x)", "x.item()"]
QUESTIONS += ["x.tolist()", "x.numpy()", "np.asarray(x)", "isinstance(x, torch.Tensor)"]
QUESTIONS += ["range(x.shape[0])", "x.shape[0] in {1, 2}", "isinstance(x.shape[0], int)"]
CHANGES = ["x += 1", "x @= w", "x[0] = 1", "del x[0]", "x.add_(1)", "torch.relu_(x)"]
CHANGES += ["x.data = y", "global w; w += 1", "global w; w[0] = 1", "w.add_(x)"]
CHANGES += ["nn.init.zeros_(w)", "w.data = w + 1", "torch.add(w, 1, out=w)"]
CHANGES += ["torch.exp(g, out=w[0])"]
# from tensors alone: it would be kept as it is now
COMPUTED = ["F.linear(x, w * g)", "F.linear(x, (w * g).detach())", "x * w[0]", "x * g.clone()"]
COMPUTED += ["x * g.data", "x * torch.sort(g)[0]", "x * [*w][0]", "x * torch.rand(4)"]
COMPUTED += ["x + g.double()", "(x, g + 1)"]
NO_RESULTS = ["()", "[]", "{'a': x}", "None", "[(x, y), x]", "'text'", "3"]
UNSUPPORTED = ["x + [1]", "x * 1j", "x * None", "x - np.ones(4)"]
UNSUPPORTED += ["F.relu(x, inplace=True)", "F.relu(x, True)", "nn.ReLU(inplace=True)(x)"]
UNSUPPORTED += ["x ** 2", "2 ** x", "x @ w", "x // 2", "abs(x)", "~x", "divmod(x, y)", "x & y"]
UNSUPPORTED += ["x.add()", "x.exp(3)", "x.sub(1, 2)", "x[0]", "x.T", "x.mean()", "torch.cos(x)"]
UNSUPPORTED += ["x.eq(1)", "torch.equal(x, y)", "torch.cat([x, y])", "F.elu(x)", "nn.Flatten()(x)"]
UNSUPPORTED += ["torch.add(x, y, alpha=2)", "torch.div(x, y, rounding_mode='floor')"]
UNSUPPORTED += ["torch.add(x, y, alpha=0)", "torch.add(x, y, alpha=False)"]
UNSUPPORTED += ["torch.add(x, y, out=w)", "x * x.shape[0]", "x.shape[0]"]
UNSUPPORTED += ["F.softmax(x, dim=0)", "torch.softmax(x, -1, torch.float64)", "F.softmax(x)"]
UNSUPPORTED += ["x.softmax(-1, dtype=torch.float64)", "F.gelu(x, approximate='no')"]
UNSUPPORTED += ["F.layer_norm(x, [2, 4])", "F.batch_norm(x.relu(), w, w, training=True)"]
UNSUPPORTED += ["F.dropout(x)", "F.dropout(x, 0.1, True)", "torch.dropout(x, 0.5, True)"]
UNSUPPORTED += ["x + wide", "F.linear(x, wide)"]
WRONG_SHAPES = ["x + torch.nn.Parameter(three)", "x + fixed", "x + deep", "x * column"]
WRONG_SHAPES += ["F.linear(x, three)", "F.linear(x, narrow)", "F.linear(x, w, three)"]
WRONG_SHAPES += ["F.linear(x, y)"]
STATEMENTS = [  # each, and the error's type
    *[(one, RecordingError) for one in [*QUESTIONS, *CHANGES]],
    *[(f"return {one}", RecordingError) for one in [*COMPUTED, *NO_RESULTS]],
    *[(f"return {one}", UnsupportedOperation) for one in UNSUPPORTED],
    *[(f"return {one}", ValueError) for one in WRONG_SHAPES],
]


@pytest.mark.parametrize(("statement", "kind"), STATEMENTS)
def test_refused_and_nothing_changed(statement, kind):
    tensors = {"w": torch.ones(4, 4), "g": torch.tensor([3.0, 1.0, 4.0, 1.5])}
    tensors |= {"wide": torch.ones(4, 4, dtype=torch.float64), "three": torch.ones(3)}
    tensors |= {"fixed": torch.ones(3, 4), "column": torch.ones(2, 1, 1)}
    tensors |= {"deep": torch.ones(2, 5, 4), "narrow": torch.ones(4, 3)}
    before = {name: tensor.clone() for name, tensor in tensors.items()}
    with torch.no_grad(), pytest.raises(kind) as error:
        trace(program(statement, **tensors), X, Y)
    assert f"line 2 of program, `{statement}`" in str(error.value)
    assert all(torch.equal(tensors[name], before[name]) for name in before)


def test_testing_or_converting_a_number_symbol_raises():
    for statement in ("if x: pass", "x < 1", "{1: 2}.get(x)", "int(x)", "isinstance(x, float)"):
        with pytest.raises(RecordingError):
            trace(program(statement), 1.0, 2)


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_tensors_computed_during_the_recording(mode, requires_grad):
    w = torch.eye(4).requires_grad_(requires_grad)
    for expression in ("F.linear(x, w * 2)", "x * w.detach()[0]", "x * torch.stack([w])[0, 0]"):
        with mode(), pytest.raises(RecordingError):
            trace(computing(expression, w=w), X, Y)


def test_a_tensor_computed_beforehand_from_a_parameter():
    weight = nn.Parameter(torch.ones(4, 4))
    stale = weight * 2
    with pytest.raises(RecordingError):
        trace(computing("F.linear(x, stale)", stale=stale), X, Y)
    leaf = stale.detach()
    assert operations(trace(computing("F.linear(x, leaf)", leaf=leaf), X, Y)) == ["linear"]


def test_symbols_of_another_recording():
    kept = []
    graph = trace(lambda x: kept.append(x) or x * 2, X)
    before = str(graph)
    for expression in ["leak + x", "x * leak", "torch.relu(leak)", "-leak", "leak"]:
        with pytest.raises(RecordingError, match="symbol of another recording"):
            trace(computing(expression, leak=kept[0]), X, Y)
        assert str(graph) == before


def test_examples_are_numbers_or_tensors_of_floats():
    for example in ("text", [1.0], np.ones(3), torch.ones(3).long(), torch.ones(3).cfloat()):
        with pytest.raises(TypeError):
            trace(computing("x"), example, example)
    for examples in ([X], [X, Y, Y]):
        with pytest.raises(TypeError):
            trace(computing("x"), *examples)


def test_the_line_within_a_program_of_several():
    text = "def program(x, y):\n    z = x + y\n    if z:\n        z = -z\n    return z\n"
    with pytest.raises(RecordingError, match="line 3 of program, `if z:`"):
        trace(write(text), X, Y)
