"""Values and functions as bytes and back: what arrives is equal, and what stays is refused."""

import linecache
import math
import sys
import traceback
import xml.etree.ElementTree
from collections import OrderedDict, namedtuple
from math import sqrt

import numpy
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from torch import nn, tensor, zeros as nothing

from d2lhybrid import get_net
from d2lhybrid.world.serialization import (
    content_bytes,
    dump_function,
    dumps,
    load_function,
    loads,
)

__name__ = "__main__"  # what follows travels as the functions of a notebook do

pytestmark = pytest.mark.filterwarnings("error:The given buffer is not writable")
Point = namedtuple("Point", "x y")


def same(one, other):
    """Whether two tensors have the same type, shape and bits."""
    bits = [tensor.contiguous().reshape(-1).view(torch.uint8).tolist() for tensor in (one, other)]
    return (one.dtype, one.shape, bits[0]) == (other.dtype, other.shape, bits[1])


# Values ---------------------------------------------------------------------------------------

TYPES = ["float64", "float32", "float16", "bfloat16", "complex64", "float8_e4m3fn", "uint8"]


@pytest.mark.parametrize("name", [*TYPES, "int16", "int64", "bool"])
def test_tensor_of_any_type_arrives_bit_by_bit(name):
    for shape in [(), (0,), (5,), (2, 0, 3), (2, 3, 4)]:
        dtype = getattr(torch, name)
        count = torch.Size(shape).numel()
        content = torch.arange(16 * count, dtype=torch.int32).to(torch.uint8)  # any bits do
        made = content[: count * dtype.itemsize].clone().view(dtype).reshape(shape)
        if name == "bool":
            made = torch.arange(count).reshape(shape) % 2 == 0
        assert same(loads(dumps(made)), made), shape


X = torch.arange(12.0).reshape(3, 4)
Z = torch.arange(4.0) + 1j
TENSORS = {
    "a view": (X[1:, ::2], X[1:, ::2].clone()),
    "transposed": (X.T, X.T.clone()),
    "expanded": (torch.ones(1, 3).expand(2, 3), torch.ones(2, 3)),
    "conj": (Z.conj(), torch.arange(4.0) - 1j),
    "neg": (torch._neg_view(torch.ones(4)), torch.full((4,), -1.0)),
    "parameter": (nn.Parameter(torch.ones(2)), torch.ones(2)),
    "not a number": (torch.tensor([float("nan"), -0.0]), torch.tensor([float("nan"), -0.0])),
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensor_leaves_its_history_behind(name):
    sent, expected = TENSORS[name]
    arrived = loads(dumps(sent))
    assert same(arrived, expected)
    assert not arrived.requires_grad
    assert arrived.is_contiguous()
    assert not arrived.is_conj()


def test_what_arrives_is_a_copy_that_can_be_written():
    weight = torch.ones(3)
    packed = dumps([weight, weight.clone()])
    weight.zero_()
    one, other = loads(packed)
    one += 1
    assert [one.tolist(), other.tolist(), weight.tolist()] == [[2] * 3, [1] * 3, [0] * 3]


def test_tensors_arrive_wherever_they_are_in_a_value():
    value = {3: [X, (Z, "a")], "named": Point(1, X), "size": X.shape, "max": torch.max(X, 0)}
    arrived = loads(dumps(value))
    assert same(arrived[3][1][0], Z)
    assert type(arrived["named"]) is tuple
    assert same(arrived["named"][1], X)
    assert arrived["size"] == (3, 4)
    assert [part.tolist() for part in arrived["max"]] == [X[2].tolist(), [2] * 4]


def test_what_is_not_data_is_refused():
    for value in [nn.ReLU(), numpy.ones(2), torch.float32, len]:
        name = type(value).__name__
        with pytest.raises(TypeError, match=f"^{name} cannot be sent to another process$"):
            dumps([value])
    for value in [torch.eye(2).to_sparse(), torch.ones(2, device="meta")]:
        with pytest.raises((RuntimeError, NotImplementedError)):
            dumps([value])


COUNTS = [
    (None, 0),
    ("abc", 0),
    ([1, 2.0], 0),
    (X, 48),
    (X[1:, ::2], 16),
    (X.bool(), 12),
    (torch.empty(0), 0),
    ({"a": X, X.sum(): (X, [Z])}, 128),
    (Point(X, X), 96),
    (OrderedDict(a=X.double()), 96),
]


def test_only_the_bytes_of_tensors_are_counted():
    for value, count in COUNTS:
        assert content_bytes(value) == count, value
        assert content_bytes(loads(dumps(value))) == count, value


# Functions: what comes along ------------------------------------------------------------------


def sent(function):
    """A function as another process has it."""
    _, files, packed = dump_function(function)
    return load_function(files, packed)


NUMBERS = [1, 2]


def plain(x):
    return x + 1


def calls_another(x):
    return plain(plain(x))


class Scaled(nn.Module):
    factor = plain(2)

    def __init__(self, size):
        super().__init__()
        self.layer = nn.Linear(size, 1, bias=False)

    @torch.no_grad()
    def forward(self, x):
        return self.layer(x) * self.factor * plain(0)


class Grandchild(Scaled):
    def forward(self, x):
        return -super().forward(x)


def network(x):
    net = Grandchild(2)
    nn.init.ones_(net.layer.weight)
    return net(x).item()


def imports(x):
    zero = nothing(2).sum() + tensor([0.0]).sum()
    tag = xml.etree.ElementTree.fromstring("<a/>").tag
    return [math.floor(x), zero.item(), sqrt(x), get_net()[0].in_features, tag]


def within(x):
    def add(y):
        return x + plain(y)

    return [add(n) for n in range(2)] + (lambda n: [plain(n)])(5)


square = lambda x: x * x  # noqa: E731
COMES = {
    "a function": (plain, [1], 2),
    "helpers": (calls_another, [1], 3),
    "subclasses": (network, [torch.ones(2)], -2 * 3 * 1.0),
    "imports": (imports, [4.0], [4, 0.0, 2.0, 512, "a"]),
    "functions within": (within, [1], [2, 3, 6]),
    "a lambda": (square, [3], 9),
}


@pytest.mark.parametrize("what", COMES)
def test_function_comes_with_all_that_it_uses(what):
    function, args, expected = COMES[what]
    other = sent(function)
    assert other(*args) == function(*args) == expected
    assert other is not function


def test_sent_function_carries_only_the_globals_it_uses():
    assert [name for name in sent(calls_another).__globals__ if "__" not in name] == ["plain"]


def test_what_a_module_has_is_imported_there():
    assert sent(imports).__globals__["get_net"] is get_net
    assert sent(get_net) is get_net
    assert list(dump_function(get_net)[1]) == [get_net.__code__.co_filename]  # for its lines


# Functions: what stays ------------------------------------------------------------------------

net = nn.Linear(1, 1)


def reads_number():
    return NUMBERS


def reads_it_deep():
    return [lambda n=n: (n, NUMBERS) for n in range(2)]


def reads_by_helper():
    return reads_number()


class ReadsNumber:
    def __init__(self):
        self.numbers = NUMBERS


def reads_by_class():
    return ReadsNumber()


def uses_net(x):
    return net(x)


REFUSED = [
    (reads_number, "reads_number uses 'NUMBERS', of type list"),
    (reads_it_deep, "reads_it_deep uses 'NUMBERS', of type list"),
    (reads_by_helper, "reads_number uses 'NUMBERS', of type list"),
    (reads_by_class, "uses 'NUMBERS', of type list"),
    (uses_net, "uses_net uses 'net', of type Linear"),
]


@pytest.mark.parametrize(("function", "message"), REFUSED)
def test_data_of_the_notebook_is_refused(function, message):
    with pytest.raises(TypeError, match=f"{message}, which stays here"):
        dump_function(function)


# Lines and cells ------------------------------------------------------------------------------


def fails(x):
    y = x + 1

    return helps_to_fail(y)


def helps_to_fail(y):
    return 1 / (y - y)


def frames(function):
    with pytest.raises(ZeroDivisionError) as caught:
        function(1)
    return [(f.name, f.lineno, f.line) for f in traceback.extract_tb(caught.tb)[1:]]


def test_lines_keep_their_numbers_and_their_text(monkeypatch):
    here, parcel = frames(fails), dump_function(fails)
    monkeypatch.setattr(linecache, "cache", {})
    monkeypatch.setattr(linecache, "updatecache", lambda *_: [])  # there is no such file there
    there = frames(load_function(*parcel[1:]))
    assert there == here
    assert there[1][::2] == ("helps_to_fail", "return 1 / (y - y)")


def test_lines_are_those_of_the_file_as_it_is_now(tmp_path):
    file, names = tmp_path / "mine.py", {"__name__": "__main__"}
    file.write_text("def f(): return 1\n")
    exec(compile(file.read_text(), str(file), "exec"), names)
    linecache.getlines(str(file))
    file.write_text("def f(): return 1  # a remark\n")
    assert dump_function(names["f"])[1] == {str(file): ["def f(): return 1  # a remark\n"]}


@pytest.fixture
def shell(monkeypatch):
    """A function that runs cells as a notebook does, and returns the notebook's names."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setattr(sys, "displayhook", sys.displayhook)
    monkeypatch.setattr(linecache, "cache", dict(linecache.cache))
    shell = InteractiveShell()
    shell.history_manager.enabled = False

    def run(*cells):
        for cell in cells:
            shell.run_cell(cell, store_history=True).raise_error()
        return shell.user_ns

    yield run
    shell.history_manager.end_session()


def test_functions_of_cells_are_found_in_their_last_version(shell, capsys, tmp_path):
    (tmp_path / "x").write_text("there")
    names = shell(
        "size = 3",
        "print('its line counts')\ndef helper(x):\n    return x + 1",
        "def f(path):\n    with open(path) as file:\n        return helper(1), file.read()",
    )
    assert sent(names["f"])(str(tmp_path / "x")) == (2, "there")
    lines = "".join(*dump_function(names["helper"])[1].values())
    assert lines.startswith("print('its line counts')\ndef helper(x):")
    names = shell("def helper(x): return x + size")
    with pytest.raises(TypeError, match=r"^helper uses 'size', of type int, which stays here"):
        dump_function(names["f"])
    names = shell("def helper(x): return x + 2")
    assert sent(names["f"])(str(tmp_path / "x")) == (3, "there")
