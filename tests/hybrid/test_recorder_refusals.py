"""Recordings: what is refused, and that the error says which line asked for it."""

import re
from collections import namedtuple

import numpy as np
import pytest
import torch
from hybrid_helpers import computing, operations, program, write
from torch import nn

from d2lhybrid import trace
from d2lhybrid.hybrid.operations import OPERATIONS, UnsupportedOperation
from d2lhybrid.hybrid.recorder import RecordingError

X, Y = torch.tensor([[0.5, -1.0, 2.0, 3.0]] * 3), torch.full((3, 4), 0.25)


QUESTIONS = [  # statement, how the error names the question
    ("if x: pass", "whether it is true"),
    ("x and y", "whether it is true"),
    ("x == 1", "for a comparison"),
    ("x != 1", "for a comparison"),
    ("x < 1", "for a comparison"),
    ("x <= 1", "for a comparison"),
    ("x > 1", "for a comparison"),
    ("x >= 1", "for a comparison"),
    ("x.eq(1)", "eq"),
    ("x in (y,)", "for a comparison"),
    ("1 in x", "what it contains"),
    ("len(x)", "for its length or its items"),
    ("for row in x: pass", "for its length or its items"),
    ("int(x)", "for its number"),
    ("float(x)", "for its number"),
    ("complex(x)", "for its number"),
    ("range(x)", "for its number"),
    ("x.item()", "for its number"),
    ("x.tolist()", "for its number"),
    ("x.numpy()", "to become a NumPy array"),
    ("np.asarray(x)", "to become a NumPy array"),
    ("np.tanh(x)", "to become a NumPy array"),
    ("copy.copy(x)", "for a copy"),
    ("copy.deepcopy([x])", "for a copy"),
    ("pickle.dumps(x)", "for a copy"),
    ("isinstance(x, torch.Tensor)", "of what type it is"),
    ("torch.is_tensor(x)", "of what type it is"),
    ("range(x.shape[0])", "for its number"),
    ("x.shape[0] in {1, 2}", "whether a set or a dict holds it"),
    ("isinstance(x.shape[0], int)", "of what type it is"),
]
CHANGES = [
    "x += 1",
    "x //= 2",
    "x @= w",
    "x[0] = 1",
    "del x[0]",
    "x.add_(1)",
    "x.requires_grad_()",
    "torch.relu_(x)",
    "F.relu_(x)",
    "F.relu(x, inplace=True)",
    "F.relu(x, True)",
    "F.dropout(x, 0.5, False, True)",
    "nn.Sequential(nn.ReLU(inplace=True))(x)",
    "x.data = y",
    "global w; w += 1",
    "global w; w += x",
    "global w; w[0] = 1",
    "w.add_(x)",
    "nn.init.zeros_(w)",
    "w.data = w + 1",
    "torch.add(w, 1, out=w)",
    "torch.exp(g, out=w[0])",
    "global flag; flag |= True",
]
COMPUTED = [  # from tensors alone: it would be kept as it is now
    "F.linear(x, w * g)",
    "F.linear(x, (w * g).detach())",
    "x * w[0]",
    "x * -g",
    "x * g.clone()",
    "x * g.data",
    "x * torch.stack([g, g])[0]",
    "x * torch.sort(g)[0]",
    "x * w.unbind()[0]",
    "x * [*w][0]",
    "x * torch.rand(4)",
    "x * torch.tensor(2.0)",
]
UNSUPPORTED = [  # expression, how the error names the operation
    ("x ** 2", "pow"),
    ("2 ** x", "r?pow"),
    ("x @ w", "matmul"),
    ("x // 2", "floordiv"),
    ("x % 2", "mod"),
    ("abs(x)", "abs"),
    ("+x", "pos"),
    ("~x", "invert"),
    ("round(x, 2)", "round"),
    ("divmod(x, y)", "divmod"),
    ("x & y", "and"),
    ("True | x", "r?or"),
    ("x ^ x", "xor"),
    ("x << 1", "lshift"),
    ("1 >> x", "r?rshift"),
    ("x.add()", r"add with 1 argument\(s\)"),
    ("x.exp(3)", r"exp with 2 argument\(s\)"),
    ("x.sub(1, 2)", r"sub with 3 argument\(s\)"),
    ("x[0]", "getitem"),
    ("x.T", "T"),
    ("x.mean()", "mean"),
    ("x.float()", "float"),
    ("torch.gt(x, 0)", "gt"),
    ("torch.cos(x)", "cos"),
    ("torch.equal(x, y)", "equal"),
    ("torch.cat([x, y])", "cat"),
    ("torch.where(w > 0, x, y)", "where"),
    ("torch.add(x, y, alpha=2)", "add with alpha"),
    ("torch.sub(x, y, alpha=0)", "sub with alpha"),
    ("torch.div(x, y, rounding_mode='floor')", "div with rounding_mode"),
    ("torch.add(x, y, out=w)", "add with out"),
    ("F.elu(x)", "elu"),
    ("F.softmax(x, dim=0)", "softmax over dim=0"),
    ("x.softmax(-1, dtype=torch.float64)", "softmax with a dtype"),
    ("F.gelu(x, approximate='no')", "gelu with approximate='no'"),
    ("F.layer_norm(x, [2, 4])", "layer_norm over several axes"),
    ("F.batch_norm(x.relu(), w, w, training=True)", "batch_norm in training"),
    ("F.dropout(x)", "dropout in training"),
    ("F.dropout(x, 0.1, True)", "dropout in training"),
    ("nn.Flatten()(x)", "flatten"),
    ("x * x.shape[0]", "the batch size as a number"),
    ("x.size()[0] + 1", "the batch size as a number"),
    ("torch.relu(x.shape[0])", "the batch size as a number"),
    ("x + g.double()", "computed from other tensors"),
    ("x + wide", "add of torch.float32 and torch.float64"),
    ("F.linear(x, wide)", "linear of torch.float32 and torch.float64"),
]
OTHER_KINDS = ["x + [1]", "x * 1j", "x * None", "x - np.ones(4)", "np.ones(4) * x"]
OTHER_KINDS += ["()", "[]", "{'a': x}", "None", "[(x, y), x]", "pair(x, y)", "'text'"]
WRONG_SHAPES = [
    ("x + torch.nn.Parameter(three)", "a size of 3 does not go with 4"),
    ("x + fixed", "a size of 3 does not go with n"),
    ("x + deep", "a size of 5 does not go with n"),
    ("x * column", "the batch must be the first size"),
    ("F.linear(x, three)", "a weight is a matrix"),
    ("F.linear(x, narrow)", "the weight takes 3 features"),
    ("F.linear(x, w, three)", "the bias needs 4 numbers"),
    ("F.linear(x, y)", "a weight is a matrix of a fixed size"),
]


def assert_quotes(error, statement, line=2):
    assert f"line {line} of program, `{statement}`" in str(error.value)


def test_asking_a_tensor():
    for statement, question in QUESTIONS:
        kind = UnsupportedOperation if question == "eq" else RecordingError
        with pytest.raises(kind, match=question) as error:
            trace(program(statement), X, Y)
        assert_quotes(error, statement)


def test_asking_a_number():
    for statement, question in [
        ("if x: pass", "whether it is true"),
        ("x < 1", "for a comparison"),
        ("{1: 2}.get(x)", "whether a set or a dict holds it"),
        ("int(x)", "for its number"),
        ("isinstance(x, float)", "of what type it is"),
    ]:
        with pytest.raises(RecordingError, match=question) as error:
            trace(program(statement), 1.0, 2)
        assert_quotes(error, statement)


def test_changing_a_tensor_in_place():
    for statement in CHANGES:
        outside = {"w": torch.ones(4, 4), "g": torch.ones(4), "flag": torch.tensor([True, False])}
        before = {name: tensor.clone() for name, tensor in outside.items()}
        with pytest.raises(RecordingError, match="changes a tensor in place") as error:
            trace(program(statement, **outside), X, Y)
        assert_quotes(error, statement)
        assert all(torch.equal(outside[name], before[name]) for name in before)


def test_tensors_computed_during_the_recording():
    for expression in COMPUTED:
        for requires_grad in (False, True):
            names = {"w": torch.eye(4), "g": torch.tensor([3.0, 1.0, 4.0, 1.5])}
            names = {name: tensor.requires_grad_(requires_grad) for name, tensor in names.items()}
            for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
                with mode(), pytest.raises(RecordingError, match="computed from other") as error:
                    trace(computing(expression, **names), X, Y)
                assert_quotes(error, f"return {expression}")


def test_unsupported_operations():
    for expression, name in UNSUPPORTED:
        kind = RecordingError if name.startswith("computed") else UnsupportedOperation
        wide = torch.ones(4, 4, dtype=torch.float64)
        with pytest.raises(kind, match=name) as error:
            trace(computing(expression, wide=wide), X, Y)
        assert_quotes(error, f"return {expression}")
        if kind is UnsupportedOperation:
            assert isinstance(error.value, NotImplementedError)
            assert re.match(name, str(error.value))
            assert str(error.value).endswith(f"supported are {', '.join(OPERATIONS)}")


def test_what_is_neither_number_nor_tensor():
    for expression in OTHER_KINDS:
        pair = namedtuple("pair", "one two")
        with pytest.raises(RecordingError, match="use "):
            trace(computing(expression, pair=pair), X, Y)


def test_shapes_that_do_not_fit():
    for expression, reason in WRONG_SHAPES:
        names = {"three": torch.ones(3), "fixed": torch.ones(3, 4), "column": torch.ones(2, 1, 1)}
        names |= {"deep": torch.ones(2, 5, 4), "narrow": torch.ones(4, 3)}
        with pytest.raises(ValueError, match=reason) as error:
            trace(computing(expression, **names), X, Y)
        assert_quotes(error, f"return {expression}")


def test_a_tensor_computed_beforehand_from_a_parameter():
    weight = nn.Parameter(torch.ones(4, 4))
    stale = weight * 2
    with pytest.raises(RecordingError, match="hold it in a parameter") as error:
        trace(computing("F.linear(x, stale)", stale=stale), X, Y)
    assert_quotes(error, "return F.linear(x, stale)")
    with torch.no_grad():
        leaf = weight * 2
    assert operations(trace(computing("F.linear(x, leaf)", leaf=leaf), X, Y)) == ["linear"]


def test_a_result_that_is_none():
    with pytest.raises(RecordingError, match="computed from other tensors"):
        trace(computing("(x, g + 1)"), X, Y)
    with pytest.raises(UnsupportedOperation, match="the batch size as a number"):
        trace(computing("x.shape[0]"), X, Y)


def test_a_weight_that_a_layer_computes():
    net = torch.nn.utils.parametrizations.weight_norm(nn.Linear(4, 2))
    with pytest.raises(RecordingError, match="computed from other tensors"):
        trace(net, X)


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(()))

    def forward(self, x):
        self.n += 1
        return x + self.n


def test_a_buffer_that_counts_is_refused_and_stays_as_it_was():
    net = Counting()
    with pytest.raises(RecordingError, match="changes a tensor in place") as error:
        trace(net, X)
    assert "of forward, `self.n += 1`" in str(error.value)
    assert net.n == 0
    net(X)
    assert net.n == 1


def test_symbols_of_another_recording():
    kept = []
    graph = trace(lambda x: kept.append(x) or x * 2, X)
    before = str(graph)
    for expression in ["leak + x", "x * leak", "torch.relu(leak)", "-leak", "leak"]:
        with pytest.raises(RecordingError, match="symbol of another recording"):
            trace(computing(expression, leak=kept[0]), X, Y)
        assert str(graph) == before


EXAMPLES = [  # an example that is none, the error
    ("text", "x is str"),
    ([1.0], "x is list"),
    (np.ones(3), "x is ndarray"),
    (torch.ones(3, dtype=torch.int64), "x is torch.int64"),
    (torch.ones(3, dtype=torch.complex64), "x is torch.complex64"),
]


def test_examples_are_numbers_or_tensors_of_floats():
    for example, reason in EXAMPLES:
        with pytest.raises(TypeError, match=reason):
            trace(computing("x"), example, example)


def test_too_few_and_too_many_examples():
    with pytest.raises(TypeError, match="y"):
        trace(computing("x"), X)
    with pytest.raises(TypeError, match="3 were given"):
        trace(computing("x"), X, Y, Y)


def test_an_error_names_the_layer_and_the_users_line():
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True))
    with pytest.raises(RecordingError) as error:
        trace(net, X)
    assert "ReLU(inplace=True), called in line" in str(error.value)
    assert "`trace(net, X)`" in str(error.value)


def test_the_line_within_a_program_of_several():
    text = "def program(x, y):\n    z = x + y\n    if z:\n        z = -z\n    return z\n"
    with pytest.raises(RecordingError) as error:
        trace(write(text), X, Y)
    assert_quotes(error, "if z:", line=3)


def test_nodes_remember_the_users_line():
    graph = trace(computing("torch.relu(x + 1)"), X, Y)
    lines = {node.where for node in graph.nodes if node.is_operation}
    assert lines == {"line 2 of program, `return torch.relu(x + 1)`"}


def test_after_an_error_all_is_as_before():
    with torch.no_grad():
        for statement in ("x += 1", "if x: pass", "F.elu(x)"):
            with pytest.raises((RecordingError, UnsupportedOperation)):
                trace(program(statement), X, Y)
        assert not torch.is_grad_enabled()
    assert torch.ones(2).add_(1).tolist() == [2, 2]
