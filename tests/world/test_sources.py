"""Functions as text: what comes along, what stays, and what an error says of it."""

import concurrent.futures as futures
import functools
import linecache
import math
import sys
import traceback
import xml.etree.ElementTree
from dataclasses import dataclass
from math import sqrt
from random import randint, random as chance

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from torch import nn, tensor, zeros as nothing

from d2lhybrid import get_net
from d2lhybrid.world.sources import global_names, packed_function, unpacked_function

__name__ = "__main__"  # what follows travels as the functions of a notebook do


def sent(function):
    """A function as another process has it."""
    _, files, packed = packed_function(function)
    return unpacked_function(files, packed)


# What comes along -----------------------------------------------------------------------------

NUMBERS = [1, 2]


def plain(x):
    return x + 1


def calls_another(x):
    return plain(plain(x))


def is_even(n):
    return True if n == 0 else is_odd(n - 1)


def is_odd(n):
    return False if n == 0 else is_even(n - 1)


def with_default(x, add=plain(2), *, how=plain, more=[plain(n) for n in (1, 2)]):  # noqa: B006, B008
    return how(x) + add + sum(more)


def annotated(x: "Scaled | None" = None, y: nn.Module | None = None) -> torch.Tensor:
    return annotated.__annotations__["y"]


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


@dataclass(frozen=True)
class Point:
    x: float
    y: float = 1.0

    def norm(self):
        return math.hypot(self.x, self.y)


def uses_dataclass(x):
    return Point(x, 4).norm(), repr(Point(x))


class Shape:
    """Its method uses a class that extends it."""

    def twice(self):
        return [Square(), Square()]


class Square(Shape):
    @property
    def area(self):
        return 1


def extended():
    return sum(square.area for square in Shape().twice())


class OnlyStatic:
    @staticmethod
    def one():
        return 1

    class Inner:
        @classmethod
        def name(cls):
            return cls.__name__


class OnlyProperty:
    @property
    def x(self):
        return 5


def inner_classes():
    return OnlyStatic.one(), OnlyStatic.Inner.name(), OnlyProperty().x


def doubled(function):
    @functools.wraps(function)
    def twice(*args):
        return function(function(*args))

    return twice


@torch.no_grad()
def without_gradients(x):
    return torch.is_grad_enabled(), x


@doubled
@doubled
def decorated(x):
    return plain(x)


def imports(x):
    zero = nothing(2).sum() + tensor([0.0]).sum()
    low = [randint(1, 1), int(chance()), sqrt(x), futures.Future.__name__]
    return [math.floor(x), zero.item(), *low, get_net()[0].in_features]


def within(x):
    def add(y):
        return x + plain(y)

    return [add(n) for n in range(2)] + (lambda n: [plain(n)])(5)


def hides(NUMBERS):
    plain = 3
    total = 0
    for is_even in NUMBERS:
        total += is_even
    return total + plain, {Point * 2 for Point in (1, 2)}


def leaves():
    global left_over
    left_over = 5
    return left_over


square = lambda x: x * x  # noqa: E731
renamed = plain


class Empty:
    size = 3


def reads_by_default(n=NUMBERS):
    return n


def uses_lambda(x):
    return square(x)


def uses_renamed(x):
    return renamed(x)


def uses_empty():
    return Empty.size


def decorated_by_closure(n):
    def decorate(function):
        def wrapper(x):
            return function(x)

        return wrapper

    return decorate


@decorated_by_closure(1)
def unwrapped(x):
    return x


def uses_submodule():
    return xml.etree.ElementTree.fromstring("<a/>").tag


def counts_down():
    def down(n):
        return down(n - 1) if n else 0

    return down


COMES = {
    "a function": (plain, [1], 2),
    "helpers": (calls_another, [1], 3),
    "helpers that call each other": (is_even, [7], False),
    "defaults": (with_default, [1], 2 + 3 + 5),
    "annotations": (annotated, [], nn.Module | None),
    "subclasses": (network, [torch.ones(2)], -2 * 3 * 1.0),
    "a dataclass": (uses_dataclass, [3.0], (5.0, "Point(x=3.0, y=1.0)")),
    "a class that uses one which extends it": (extended, [], 2),
    "methods that are none": (inner_classes, [], (1, "Inner", 5)),
    "a decorator of a module": (without_gradients, [1], (False, 1)),
    "decorators": (decorated, [0], 4),
    "imports": (imports, [4.0], [4, 0.0, 1, 0, 2.0, "Future", 512]),
    "functions within": (within, [1], [2, 3, 6]),
    "local names": (hides, [[1, 2]], (6, {2, 4})),
    "a default": (reads_by_default, [], [1, 2]),
    "a lambda inside": (uses_lambda, [3], 9),
    "another name": (uses_renamed, [1], 2),
    "a class without methods": (uses_empty, [], 3),
    "a closure by a decorator": (unwrapped, [3], 3),
    "a module in a package": (uses_submodule, [], "a"),
    "itself, within": (counts_down(), [3], 0),
}


def test_a_function_comes_with_all_that_it_uses():
    for what, (function, args, expected) in COMES.items():
        here = function(*args)
        other = sent(function)
        assert other(*args) == here == expected, what
        assert other is not function, what


def test_nothing_else_comes():
    assert [name for name in sent(calls_another).__globals__ if "__" not in name] == ["plain"]


def test_what_a_module_has_is_imported_there():
    assert sent(imports).__globals__["get_net"] is get_net
    assert sent(get_net) is get_net
    assert list(packed_function(get_net)[1]) == [get_net.__code__.co_filename]  # for its lines


def test_dice_of_a_module_are_those_of_the_other_process():
    # Python would send the generator that `randint` belongs to, with its state.
    assert len(packed_function(imports)[2]) < 3000


def test_what_was_made_in_another_process_stays_there():
    one, other = sent(leaves), sent(leaves)
    assert one() == 5
    assert "left_over" not in globals()
    assert "left_over" in one.__globals__
    assert "left_over" not in other.__globals__


# What stays -----------------------------------------------------------------------------------

net = nn.Linear(1, 1)
cached = functools.cache(plain)


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


def reads_by_default_class(kind=ReadsNumber):
    return kind()


def uses_net(x):
    return net(x)


def uses_cached(x):
    return cached(x)


def closure(n=3):
    def uses_n(x):
        return x + n

    return uses_n


STAYS = "which stays here: another process has only what is passed to it"
DEF = "a world runs functions that are written with def, and got"
REFUSED = {
    "data": (reads_number, f"reads_number uses 'NUMBERS', of type list, {STAYS}"),
    "data, deep inside": (reads_it_deep, f"reads_it_deep uses 'NUMBERS', of type list, {STAYS}"),
    "a helper's": (reads_by_helper, f"reads_number uses 'NUMBERS', of type list, {STAYS}"),
    "a class's": (reads_by_class, f"ReadsNumber uses 'NUMBERS', of type list, {STAYS}"),
    "a default's": (
        reads_by_default_class,
        f"ReadsNumber uses 'NUMBERS', of type list, {STAYS}",
    ),
    "a network": (uses_net, f"uses_net uses 'net', of type Linear, {STAYS}"),
    "a cache": (uses_cached, f"uses_cached uses 'cached', of type _lru_cache_wrapper, {STAYS}"),
    "a closure": (
        closure(),
        "uses_n uses 'n' of the function around it, which stays here; pass it as an argument",
    ),
    "a lambda": (square, f"{DEF} <lambda>"),
    "a builtin": (len, f"{DEF} len"),
    "a class": (Point, f"{DEF} Point"),
    "an object": (net, f"{DEF} Linear"),
}


def test_what_stays_is_said_before_anything_is_sent():
    for function, message in REFUSED.values():
        with pytest.raises(TypeError) as caught:
            packed_function(function)
        assert str(caught.value) == message


NAMES = {
    "def f(x): return x + y": "y",
    "def f():\n global g\n g = 1\n return g": "g",
    "def f():\n import a.b, c as d\n from e import g\n return a, d, g, c": "c",
    "def f():\n try: pass\n except E as e: e\n with o() as p: p": "E o",
    "def f():\n def g(): return h, k\n h = 1\n return g": "k",
    "def f(): return [x for x in y if (z := x)] + [z]": "y",
    "def f(): return {a: b for a in c for b in a}, (q for q in r)": "c r",
    "def f(x): return x.size, lambda a: b + a": "b",
    "def f():\n class C(D):\n  def g(self): return C, x, self.w": "D x",
    "def f():\n match a:\n  case B(c=d): return d": "B a",
    "def f(): print(f'{a!r:{b}}')": "a b print",
}


def test_the_names_that_a_function_uses():
    for source, names in NAMES.items():
        exec(source, made := {})
        assert sorted({*global_names(made["f"].__code__)}) == names.split(), source


# Lines ----------------------------------------------------------------------------------------


def fails(x):
    y = x + 1

    return helps_to_fail(y)


def helps_to_fail(y):
    return 1 / (y - y)


def test_lines_keep_their_numbers_and_their_text():
    def frames(function):
        with pytest.raises(ZeroDivisionError) as caught:
            function(1)
        return [(f.name, f.lineno, f.line) for f in traceback.extract_tb(caught.tb)[1:]]

    here = frames(fails)
    there = frames(sent(fails))
    assert there == here
    assert there[1][::2] == ("helps_to_fail", "return 1 / (y - y)")


# Cells ----------------------------------------------------------------------------------------


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


CELLS = [
    """\
import torch
from dataclasses import dataclass
from torch import nn
import torch.nn.functional as F

size = 3
""",
    """\
print("a cell of", size)  # its line counts
class Net(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.layer = nn.Linear(size, size)

    def forward(self, x): return F.relu(self.layer(x))

def ones(net): return [nn.init.ones_(p) for p in net.parameters()]
""",
    """\
%pwd
@dataclass
class Result:
    total: float
    def text(self):
        return f"{self.total:g}"

def train(comm, x):
    net = Net(x.shape[1])
    ones(net)
    return Result(net(x).sum().item()).text()

def wrong(comm):
    ""
    return size
""",
]


def test_the_functions_of_cells_are_found(shell, capsys):
    names = shell(*CELLS)
    assert names["train"].__module__ == "__main__"
    assert sent(names["train"])(None, torch.ones(2, 3)) == "24"
    assert "".join(*packed_function(names["ones"])[1].values()) == CELLS[1]
    with pytest.raises(TypeError, match=f"^wrong uses 'size', of type int, {STAYS}$"):
        packed_function(names["wrong"])


def test_open_is_pythons_and_not_the_shells(shell, tmp_path):
    (tmp_path / "x").write_text("there")
    names = shell("def f(path):\n    with open(path) as file:\n        return file.read()")
    assert names["open"] is not open
    assert sent(names["f"])(str(tmp_path / "x")) == "there"


def test_the_last_version_of_a_cell_counts(shell):
    cell = "def helper(): return {}\ndef f(): return helper()"
    assert sent(shell(cell.format(1))["f"])() == 1
    names = shell(cell.format(2))
    assert sent(names["f"])() == 2
    names = shell("def helper(): return 3")
    assert sent(names["f"])() == 3


def test_an_error_of_a_cell_has_the_cells_line(shell):
    names = shell("# first\n\ndef f(x):\n    # a remark\n    return 1 / x\n")
    with pytest.raises(ZeroDivisionError) as caught:
        sent(names["f"])(0)
    (frame,) = traceback.extract_tb(caught.tb)[1:]
    assert (frame.lineno, frame.line) == (5, "return 1 / x")
