"""The recorder: what it records, under which names, and what it refuses, naming the user's line."""

import copy
import linecache
import math
import operator
import pickle
import re
import threading
from collections import namedtuple

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from random_programs import random_program
from torch import nn

from d2lhybrid import get_net, trace
from d2lhybrid.hybrid.graph import OPERATIONS, UnsupportedOperation
from d2lhybrid.hybrid.recorder import RecordingError

X, Y = torch.tensor([[0.5, -1.0, 2.0, 3.0]] * 3), torch.full((3, 4), 0.25)


def write(text, **names):
    """The function whose text this is; tracebacks and messages can quote its lines."""
    filename = f"<{text}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    space = {"torch": torch, "nn": nn, "F": F, "np": np, "math": math, "copy": copy}
    space["pickle"] = pickle
    space |= {"w": torch.ones(4, 4), "b": torch.ones(4), "g": torch.tensor([3.0, 1.0, 4.0, 1.5])}
    space |= names
    exec(compile(text, filename, "exec"), space)
    return space["program"]


def program(statement, **names):
    return write(f"def program(x, y):\n    {statement}\n    return x\n", **names)


def computing(expression, **names):
    return write(f"def program(x, y):\n    return {expression}\n", **names)


def operations(graph):
    return [node.op for node in graph.nodes if node.is_operation]


# What is refused ----------------------------------------------------------------------------

QUESTIONS = [  # statement, how the error names the question
    ("if x: pass", "whether it is true"),
    ("while x: pass", "whether it is true"),
    ("assert x", "whether it is true"),
    ("not x", "whether it is true"),
    ("x and y", "whether it is true"),
    ("bool(x)", "whether it is true"),
    ("1 if x else 2", "whether it is true"),
    ("x == 1", "for a comparison"),
    ("x == y", "for a comparison"),
    ("x == None", "for a comparison"),
    ("1 == x", "for a comparison"),
    ("x != 1", "for a comparison"),
    ("x < 1", "for a comparison"),
    ("x <= 1", "for a comparison"),
    ("x > 1", "for a comparison"),
    ("x >= 1", "for a comparison"),
    ("0 < x", "for a comparison"),
    ("0 < x < 1", "for a comparison"),
    ("x.eq(1)", "eq"),
    ("max(x, y)", "for a comparison"),
    ("sorted([x, y])", "for a comparison"),
    ("x in [1, 2]", "for a comparison"),
    ("x in (y,)", "for a comparison"),
    ("1 in x", "what it contains"),
    ("x not in [y]", "for a comparison"),
    ("len(x)", "for its length or its items"),
    ("list(x)", "for its length or its items"),
    ("for row in x: pass", "for its length or its items"),
    ("first, second = x", "for its length or its items"),
    ("print(*x)", "for its length or its items"),
    ("int(x)", "for its number"),
    ("float(x)", "for its number"),
    ("complex(x)", "for its number"),
    ("math.sqrt(x)", "for its number"),
    ("[1, 2][x]", "for its number"),
    ("range(x)", "for its number"),
    ("x.item()", "for its number"),
    ("x.tolist()", "for its number"),
    ("x.numpy()", "to become a NumPy array"),
    ("np.asarray(x)", "to become a NumPy array"),
    ("np.array(x)", "to become a NumPy array"),
    ("np.tanh(x)", "to become a NumPy array"),
    ("copy.copy(x)", "for a copy"),
    ("copy.deepcopy([x])", "for a copy"),
    ("pickle.dumps(x)", "for a copy"),
    ("isinstance(x, torch.Tensor)", "of what type it is"),
    ("torch.is_tensor(x)", "of what type it is"),
    ("x.shape[0] == 3", "for a comparison"),
    ("range(x.shape[0])", "for its number"),
    ("x.shape[0] in {1, 2}", "whether a set or a dict holds it"),
    ("{1: 2}.get(x.shape[0])", "whether a set or a dict holds it"),
    ("isinstance(x.shape[0], int)", "of what type it is"),
    ("math.floor(x.size(0))", "for its number"),
]
CHANGES = [
    "x += 1",
    "x -= y",
    "x *= 2",
    "x /= 2",
    "x //= 2",
    "x %= 2",
    "x **= 2",
    "x @= w",
    "x[0] = 1",
    "x[:, 0] = y",
    "del x[0]",
    "x.add_(1)",
    "x.relu_()",
    "x.zero_()",
    "x.copy_(y)",
    "x.requires_grad_()",
    "torch.relu_(x)",
    "torch.tanh_(x)",
    "F.relu_(x)",
    "F.relu(x, inplace=True)",
    "F.relu(x, True)",
    "F.dropout(x, 0.5, False, True)",
    "nn.ReLU(inplace=True)(x)",
    "nn.Sequential(nn.ReLU(inplace=True))(x)",
    "nn.Dropout(0.5, inplace=True).eval()(x)",
    "x.data = y",
    "global w; w += 1",
    "global w; w += x",
    "global w; w[0] = 1",
    "w.add_(x)",
    "w.mul_(2)",
    "nn.init.zeros_(w)",
    "w.data = w + 1",
    "torch.add(w, 1, out=w)",
    "torch.exp(g, out=w[0])",
    "global flag; flag |= True",
    "global flag; flag &= False",
    "global flag; flag ^= True",
]
COMPUTED = [  # from tensors alone: it would be kept as it is now
    "F.linear(x, w * g)",
    "F.linear(x, w.t())",
    "F.linear(x, w.T)",
    "F.linear(x, (w * g).detach())",
    "x * w[0]",
    "x * (g + 1)",
    "x * -g",
    "x * g.exp()",
    "x * g.clone()",
    "x * g.data",
    "x * torch.stack([g, g])[0]",
    "x * torch.sort(g)[0]",
    "x * torch.sort(g).values",
    "x * w.max(0)[0]",
    "x * torch.cat(g.split(2))",
    "x * w.unbind()[0]",
    "x * [*w][0]",
    "x * torch.rand(4)",
    "x * torch.ones(4)",
    "x * torch.tensor(2.0)",
    "x * torch.zeros_like(g)",
]
UNSUPPORTED = [  # expression, how the error names the operation
    ("x ** 2", "pow"),
    ("2 ** x", "r?pow"),
    ("x @ w", "matmul"),
    ("w @ x", "matmul"),
    ("x // 2", "floordiv"),
    ("x % 2", "mod"),
    ("abs(x)", "abs"),
    ("+x", "pos"),
    ("~x", "invert"),
    ("round(x)", "round"),
    ("round(x, 2)", "round"),
    ("divmod(x, y)", "divmod"),
    ("divmod(2, x)", "r?divmod"),
    ("x & y", "and"),
    ("True | x", "r?or"),
    ("x ^ x", "xor"),
    ("x << 1", "lshift"),
    ("1 >> x", "r?rshift"),
    ("x.add()", r"add with 1 argument\(s\)"),
    ("x.exp(3)", r"exp with 2 argument\(s\)"),
    ("x.sub(1, 2)", r"sub with 3 argument\(s\)"),
    ("x[0]", "getitem"),
    ("x[:, 1]", "getitem"),
    ("x.T", "T"),
    ("x.mean()", "mean"),
    ("x.sum(1)", "sum"),
    ("x.view(-1)", "view"),
    ("x.reshape(-1)", "reshape"),
    ("x.float()", "float"),
    ("x.to('meta')", "to"),
    ("x.detach()", "detach"),
    ("x.clone()", "clone"),
    ("x.numel()", "numel"),
    ("x.gt(0)", "gt"),
    ("torch.gt(x, 0)", "gt"),
    ("torch.cos(x)", "cos"),
    ("torch.equal(x, y)", "equal"),
    ("torch.cat([x, y])", "cat"),
    ("torch.stack((x, y))", "stack"),
    ("torch.where(w > 0, x, y)", "where"),
    ("torch.matmul(x, w)", "matmul"),
    ("torch.add(x, y, alpha=2)", "add with alpha"),
    ("torch.sub(x, y, alpha=0)", "sub with alpha"),
    ("torch.div(x, y, rounding_mode='floor')", "div with rounding_mode"),
    ("torch.add(x, y, out=w)", "add with out"),
    ("F.gelu(x)", "gelu"),
    ("F.softmax(x, dim=1)", "softmax"),
    ("F.layer_norm(x, (4,))", "layer_norm"),
    ("F.dropout(x)", "dropout in training"),
    ("F.dropout(x, 0.1, True)", "dropout in training"),
    ("nn.Dropout()(x)", "dropout in training"),
    ("nn.GELU()(x)", "gelu"),
    ("nn.Flatten()(x)", "flatten"),
    ("x.shape[0] * 2", "the batch size as a number"),
    ("x * x.shape[0]", "the batch size as a number"),
    ("x / x.size(0)", "the batch size as a number"),
    ("x.size()[0] + 1", "the batch size as a number"),
    ("1 - x.shape[0]", "the batch size as a number"),
    ("torch.relu(x.shape[0])", "the batch size as a number"),
    ("x + g.double()", "computed from other tensors"),
    ("x + wide", "add of torch.float32 and torch.float64"),
    ("F.linear(x, wide)", "linear of torch.float32 and torch.float64"),
]
OTHER_KINDS = [
    "x + [1]",
    "x + 'a'",
    "x * 1j",
    "x * None",
    "x - np.ones(4)",
    "np.ones(4) * x",
    "{'a': x}",
    "None",
]
OTHER_KINDS += ["[(x, y), x]", "pair(x, y)", "'text'"]
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


@pytest.mark.parametrize(("statement", "question"), QUESTIONS)
def test_asking_a_tensor(statement, question):
    kind = UnsupportedOperation if question == "eq" else RecordingError
    with pytest.raises(kind, match=question) as error:
        trace(program(statement), X, Y)
    assert_quotes(error, statement)


@pytest.mark.parametrize(
    ("statement", "question"),
    [case for case in QUESTIONS if "x." not in case[0] and "np.ones" not in case[0]],
)
def test_asking_a_number(statement, question):
    with pytest.raises(RecordingError, match=question) as error:
        trace(program(statement), 1.0, 2)
    assert_quotes(error, statement)


@pytest.mark.parametrize("statement", CHANGES)
def test_changing_a_tensor_in_place(statement):
    outside = {"w": torch.ones(4, 4), "g": torch.ones(4), "flag": torch.tensor([True, False])}
    before = {name: tensor.clone() for name, tensor in outside.items()}
    with pytest.raises(RecordingError, match="changes a tensor in place") as error:
        trace(program(statement, **outside), X, Y)
    assert_quotes(error, statement)
    assert all(torch.equal(outside[name], before[name]) for name in before)


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("expression", COMPUTED)
def test_tensors_computed_during_the_recording(expression, requires_grad):
    names = {name: torch.eye(4).requires_grad_(requires_grad) for name in "w"}
    names["g"] = torch.tensor([3.0, 1.0, 4.0, 1.5]).requires_grad_(requires_grad)
    for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
        with mode(), pytest.raises(RecordingError, match="computed from other tensors") as error:
            trace(computing(expression, **names), X, Y)
        assert_quotes(error, f"return {expression}")


@pytest.mark.parametrize(("expression", "name"), UNSUPPORTED)
def test_unsupported_operations(expression, name):
    kind = RecordingError if name.startswith("computed") else UnsupportedOperation
    wide = torch.ones(4, 4, dtype=torch.float64)
    with pytest.raises(kind, match=name) as error:
        trace(computing(expression, wide=wide), X, Y)
    assert_quotes(error, f"return {expression}")
    if kind is UnsupportedOperation:
        assert isinstance(error.value, NotImplementedError)
        assert re.match(name, str(error.value))
        assert str(error.value).endswith(f"supported are {', '.join(OPERATIONS)}")


@pytest.mark.parametrize("expression", OTHER_KINDS)
def test_what_is_neither_number_nor_tensor(expression):
    pair = namedtuple("pair", "one two")
    with pytest.raises(RecordingError, match="use "):
        trace(computing(expression, pair=pair), X, Y)


@pytest.mark.parametrize(("expression", "reason"), WRONG_SHAPES)
def test_shapes_that_do_not_fit(expression, reason):
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


@pytest.mark.parametrize("expression", ["g * 2", "(x, g + 1)", "[w.t()]"])
def test_results_computed_from_tensors_alone(expression):
    with pytest.raises(RecordingError, match="computed from other tensors"):
        trace(computing(expression), X, Y)


def test_a_batch_size_as_a_result():
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


LEAKS = [
    "leak + x",
    "x + leak",
    "x * leak",
    "torch.relu(leak)",
    "leak.relu()",
    "-leak",
    "leak",
    "1 - leak",
]


@pytest.mark.parametrize("expression", LEAKS)
def test_symbols_of_another_recording(expression):
    kept = []
    graph = trace(lambda x: kept.append(x) or x * 2, X)
    before = str(graph)
    with pytest.raises(RecordingError, match="symbol of another recording"):
        trace(computing(expression, leak=kept[0]), X, Y)
    assert str(graph) == before


EXAMPLES = [  # an example that is none, the error
    ("text", "x is str"),
    (None, "x is NoneType"),
    ([1.0], "x is list"),
    (np.ones(3), "x is ndarray"),
    (1j, "x is complex"),
    (torch.ones(3, dtype=torch.int64), "x is torch.int64"),
    (torch.ones(3, dtype=torch.bool), "x is torch.bool"),
    (torch.ones(3, dtype=torch.complex64), "x is torch.complex64"),
]


@pytest.mark.parametrize(("example", "reason"), EXAMPLES)
def test_examples_are_numbers_or_tensors_of_floats(example, reason):
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
        for statement in ("x += 1", "if x: pass", "F.gelu(x)"):
            with pytest.raises((RecordingError, UnsupportedOperation)):
                trace(program(statement), X, Y)
        assert not torch.is_grad_enabled()
    assert torch.ones(2).add_(1).tolist() == [2, 2]


# What is recorded ---------------------------------------------------------------------------

AGREE = [
    "x",
    "x + y * 2 - 1",
    "1 - x",
    "2 / x",
    "x - 1",
    "x / 2",
    "x - g",
    "g - x",
    "g / x",
    "x / g",
    "g + x * g",
    "-x",
    "True * x",
    "x * np.float32(0.5)",
    "x * np.float64(0.1)",
    "np.float32(0.5) * x",
    "np.float64(3) / x - np.float64(1)",
    "x * nn.Parameter(g)",
    "x * g.contiguous() + g.float()",  # each returns its operand
    "torch.add(x, y)",
    "torch.add(input=x, other=y)",
    "torch.add(x, y, alpha=1)",
    "torch.add(2, x)",
    "torch.sub(x, y)",
    "torch.sub(other=x, input=y)",
    "torch.sub(y, other=x)",
    "torch.subtract(x, y)",
    "torch.rsub(x, 1)",
    "torch.rsub(x, other=1)",
    "torch.rsub(input=x, other=y)",
    "torch.mul(x, 3)",
    "torch.multiply(x, y)",
    "torch.div(x, y)",
    "torch.div(x, y, rounding_mode=None)",
    "torch.divide(x, y)",
    "torch.true_divide(x, y)",
    "torch.neg(x)",
    "torch.negative(x)",
    "torch.exp(x)",
    "torch.exp(input=x)",
    "torch.tanh(x)",
    "torch.sigmoid(x)",
    "torch.relu(x)",
    "x.add(y)",
    "x.add(other=y)",
    "x.sub(y)",
    "x.sub(1)",
    "x.mul(y)",
    "x.div(y)",
    "x.true_divide(y)",
    "x.neg()",
    "x.exp()",
    "x.tanh().sigmoid().relu()",
    "g.add(x)",
    "g.sub(other=x)",
    "g.div(x)",
    "F.relu(x)",
    "F.relu(x, False)",
    "F.relu(x, inplace=False)",
    "F.tanh(x)",
    "F.sigmoid(x)",
    "F.dropout(x, training=False)",
    "F.dropout(x, 0.5, False)",
    "F.dropout(x, 0.0)",
    "F.dropout(input=x, p=0.3, training=False)",
    "nn.Dropout().eval()(x)",
    "nn.Identity()(x)",
    "F.linear(x, w)",
    "F.linear(x, w, None)",
    "F.linear(x, w, bias=None)",
    "F.linear(x, w, b)",
    "F.linear(bias=b, weight=w, input=x)",
    "F.linear(y, weight=w, bias=b)",
    "x * x.shape[1]",
    "x * x.size(1) + x.size()[-1]",
    "x if x.dim() == 2 and len(x.shape) == 2 else y",
    "x if x.dtype == torch.float32 else y",
    "x if x is not None and x is not y else y",
    "{x: y}[x]",
    "x if x in [x] else y",
]


@pytest.mark.parametrize("expression", AGREE)
def test_the_graph_computes_what_the_function_does(expression):
    function = computing(expression)
    with torch.no_grad():
        graph = trace(function, X, Y)
        assert torch.equal(graph(X, Y), function(X, Y))
        assert torch.equal(graph(X[:1] + 1, Y[:1]), function(X[:1] + 1, Y[:1]))


def fancy_func(a, b, c, d):
    e = a + b
    f = c + d
    g = e + f
    return g


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


def test_the_courses_network_in_full():
    assert str(trace(get_net(), torch.ones(1, 512))) == (
        "Sequential(input: float32[n, 512]):\n"
        "    weight_0: float32[256, 512] = parameter\n"
        "    bias_0: float32[256] = parameter\n"
        "    v1: float32[n, 256] = linear(input, weight_0, bias_0)\n"
        "    v2: float32[n, 256] = relu(v1)\n"
        "    weight_2: float32[128, 256] = parameter\n"
        "    bias_2: float32[128] = parameter\n"
        "    v3: float32[n, 128] = linear(v2, weight_2, bias_2)\n"
        "    v4: float32[n, 128] = relu(v3)\n"
        "    weight_4: float32[2, 128] = parameter\n"
        "    bias_4: float32[2] = parameter\n"
        "    v5: float32[n, 2] = linear(v4, weight_4, bias_4)\n"
        "    return v5"
    )


def with_everything(x, s):
    return (x * 2 - s) / (1 + torch.exp(-x)), s + s


def test_numbers_and_tensors_together_in_full():
    assert str(trace(with_everything, torch.ones(4, dtype=torch.float64), 1)) == (
        "with_everything(x: float64[4], s):\n"
        "    v1: float64[4] = mul(x, 2)\n"
        "    v2: float64[4] = sub(v1, s)\n"
        "    v3: float64[4] = neg(x)\n"
        "    v4: float64[4] = exp(v3)\n"
        "    v5: float64[4] = add(1, v4)\n"
        "    v6: float64[4] = div(v2, v5)\n"
        "    v7 = add(s, s)\n"
        "    return v6, v7"
    )


def test_numbers_may_be_changed_by_their_name():
    function = write(
        "def program(a, b):\n    a += b\n    a *= a\n    a -= 1\n    a /= 4\n    return a\n"
    )
    graph = trace(function, 1, 2)
    assert operations(graph) == ["add", "mul", "sub", "div"]
    assert graph(1, 2) == function(1, 2) == 2.0


def test_what_python_decides_stays_decided():
    double = True

    def function(x):
        for _ in range(2):
            x = x + x if double else x - 1
        return x

    graph = trace(function, 1)
    double = False
    assert (graph(1), function(1)) == (4, -1)


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
        assert all(np.array_equal(*pair) for pair in zip(result, expected))


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
        one is two for one, two in zip(parameters, [net.layer.weight, net.layer.bias, net.scale])
    )
    assert torch.equal(graph(X), net(X))


def test_a_bound_method_a_builtin_and_an_object():
    net = nn.Linear(4, 2)
    assert torch.equal(trace(net.forward, X)(X), net(X))
    assert torch.equal(trace(torch.tanh, X)(X), torch.tanh(X))
    assert trace(operator.add, 1, 2)(3, 4) == 7


SHAPES = [((), ()), ((4,), (4,)), ((3, 4), ("n", 4)), ((2, 3, 4), ("n", 3, 4)), ((0, 4), ("n", 4))]


@pytest.mark.parametrize(("given", "recorded"), SHAPES)
def test_the_first_size_of_several_is_the_batch(given, recorded):
    graph = trace(torch.tanh, torch.ones(given))
    assert graph.inputs[0].shape == graph.outputs[0].shape == recorded


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_types(dtype):
    graph = trace(nn.Linear(4, 2, dtype=dtype), torch.ones(3, 4, dtype=dtype))
    assert graph.outputs[0].dtype == dtype
    assert graph.outputs[0].type == f"{str(dtype).removeprefix('torch.')}[n, 2]"


BROADCASTS = [  # shapes of two tensors, of which a batch comes first in the inputs
    ([(3, 4), (3, 1)], ("n", 4)),
    ([(3, 4), (4,)], ("n", 4)),
    ([(3, 1), (4,)], ("n", 4)),
    ([(3, 4), ()], ("n", 4)),
    ([(3, 1, 4), (3, 5, 1)], ("n", 5, 4)),
    ([(1,), (7,)], (7,)),
    ([(), ()], ()),
]


@pytest.mark.parametrize(("shapes", "expected"), BROADCASTS)
def test_broadcasting(shapes, expected):
    one, two = (torch.ones(shape) for shape in shapes)
    for function in (operator.add, torch.mul, torch.sub, operator.truediv):
        assert trace(function, one, two).outputs[0].shape == expected
        assert trace(function, two, one).outputs[0].shape == expected


def test_recording_in_several_threads_at_once():
    graphs = [None] * 4
    barrier = threading.Barrier(len(graphs))

    def work(i):
        def function(x):
            for _ in range(50):
                barrier.wait(10)
                x = torch.relu(x + i)
            return x

        graphs[i] = trace(function, X)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(graphs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, graph in enumerate(graphs):
        assert operations(graph) == ["add", "relu"] * 50
        assert {node.value for node in graph.nodes if node.op == "constant"} == {i}


# Names --------------------------------------------------------------------------------------


def names_of(graph):
    return list(graph.names.values())


ARGUMENTS = [  # what the user calls an argument, and what it is called in the text
    ("x", "x"),
    ("double", "double_2"),
    ("n", "n_2"),
    ("memory", "memory_2"),
    ("linear", "linear_2"),
    ("relu", "relu_2"),
    ("v1", "v1"),
    ("_", "_"),
    ("größe", "gr__e"),
]


@pytest.mark.parametrize(("argument", "name"), ARGUMENTS)
def test_names_of_arguments(argument, name):
    function = write(f"def program({argument}):\n    return {argument} + 1\n")
    first, second = names_of(trace(function, 1))
    assert first == name
    assert second == ("v1_2" if argument == "v1" else "v1")


def test_names_of_arguments_that_look_alike_differ():
    names = names_of(trace(write("def program(ä, ö, __):\n    return ä + ö\n"), 1, 2, 3))
    assert names == ["_", "__2", "__", "v1"]


class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.a_b = nn.Linear(4, 4, bias=False), nn.ParameterList([torch.ones(4)])
        self.b = nn.ParameterDict({"1": torch.ones(4), "a-b": torch.ones(4), "a b": torch.ones(4)})
        for name in ("n", "lambda", "weight_a", "int", "x"):
            self.register_parameter(name, nn.Parameter(torch.ones(4)))
        self.plain = torch.ones(4)

    def forward(self, x):
        x = self.a(x)
        for parameter in (*self.parameters(), self.plain):
            if parameter.dim() == 1:
                x = x * parameter
        return x


def test_names_of_parameters_are_words_and_differ():
    names = names_of(trace(Odd(), X))
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() and name.isascii() for name in names)
    assert {"x", "x_2", "n_2", "lambda_2", "int_2", "weight_a", "weight_a_2"} <= set(names)


def test_names_of_closed_over_and_global_tensors():
    scale = torch.ones(4)

    def function(x):
        return x * scale + X[0].shape[0]

    assert names_of(trace(function, X)) == ["x", "scale", "v1", "v2"]
    assert names_of(trace(computing("F.linear(x, w, b)"), X, Y)) == ["x", "y", "w", "b", "v1"]


def test_arguments_without_a_name_are_numbered():
    def function(x, *others):
        return x + sum(others)

    assert names_of(trace(function, 1, 2, 3))[:3] == ["x", "x2", "x3"]


# Against torch.fx ---------------------------------------------------------------------------

LAYERS = {nn.Linear: "linear", nn.ReLU: "relu", nn.Tanh: "tanh", nn.Sigmoid: "sigmoid"}
WITHOUT_OPERATION = (nn.Dropout, nn.Identity)
NAMES = {"truediv": "div", "multiply": "mul"}


def operations_by_fx(graph_module):
    """The operations that torch.fx finds, under our names."""
    found = []
    for node in graph_module.graph.nodes:
        if node.op == "call_module":
            layer = graph_module.get_submodule(node.target)
            if not isinstance(layer, WITHOUT_OPERATION):
                found.append(LAYERS[type(layer)])
        elif node.op in ("call_function", "call_method"):
            name = getattr(node.target, "__name__", node.target)
            found.append(NAMES.get(name, name))
    return found


@pytest.mark.parametrize("seed", range(60))
def test_the_operations_are_those_that_fx_finds(seed):
    program = random_program(seed)
    examples = [torch.ones([2 if s == "n" else s for s in shape]) for shape in program.shapes]
    graph = trace(program.net, *examples)
    graph_module = torch.fx.symbolic_trace(program.net)
    assert operations(graph) == operations_by_fx(graph_module), program.text
    with torch.no_grad():
        ours, theirs = graph(*examples), graph_module(*examples)
    pairs = zip(ours, theirs, strict=True) if graph.container else [(ours, theirs)]
    for one, other in pairs:
        torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)
