"""Functions as text: what comes along, what stays, and what an error says of it."""

import asyncio
import concurrent.futures as futures
import functools
import linecache
import math
import pickle
import sys
import traceback
from dataclasses import dataclass
from math import sqrt
from random import randint, random as chance

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from torch import nn, tensor, zeros as nothing

from d2lhybrid import get_net
from d2lhybrid.parallel.sources import MODULE, Sources, global_names


@pytest.fixture(autouse=True)
def other_process(monkeypatch):
    """The module with the functions goes away behind each test."""
    monkeypatch.setitem(sys.modules, MODULE, None)


def sent(function):
    """A function as another process has it."""
    return pickle.loads(pickle.dumps(Sources.of(function))).build()


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


class Failed(Exception):
    def __str__(self):
        return "it failed"


def catches():
    try:
        raise Failed
    except Failed as error:
        return str(error)


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


async def soon(x):
    return plain(x)


def waits(x):
    return asyncio.run(soon(x))


if NUMBERS:

    def in_a_block(x):
        """It has
        more lines."""
        if x:
            return """a text
without indentation"""

    class InABlock:
        def one(self):
            return plain(0)


def uses_blocks(x):
    return in_a_block(x), InABlock().one()


def making():
    def made(x):
        return plain(x)

    return made


def own_name():
    def own_name(x):
        return x, "the inner one"

    return own_name


def in_brackets(
    x,
):
    return (
        x
        # a remark
    )


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
    "an error": (catches, [], "it failed"),
    "a decorator of a module": (without_gradients, [1], (False, 1)),
    "decorators": (decorated, [0], 4),
    "imports": (imports, [4.0], [4, 0.0, 1, 0, 2.0, "Future", 512]),
    "functions within": (within, [1], [2, 3, 6]),
    "local names": (hides, [[1, 2]], (6, {2, 4})),
    "a global of its own": (leaves, [], 5),
    "async": (waits, [1], 2),
    "a block": (uses_blocks, [1], ("a text\nwithout indentation", 1)),
    "a function that was made": (making(), [1], 2),
    "a function in one of its name": (own_name(), [1], (1, "the inner one")),
    "several lines": (in_brackets, [1], 1),
}


@pytest.mark.parametrize(("function", "args", "expected"), COMES.values(), ids=COMES)
def test_a_function_comes_with_all_that_it_uses(function, args, expected):
    here = function(*args)
    other = sent(function)
    assert other(*args) == here == expected
    assert other is not function
    assert other.__module__ == MODULE


def test_nothing_else_comes():
    assert [part.name for part in Sources.of(calls_another).parts] == ["calls_another", "plain"]
    assert Sources.of(calls_another).imports == {}
    assert Sources.of(imports).imports == {
        "math": ("math", ""),
        "futures": ("concurrent.futures", ""),
        "sqrt": ("math", "sqrt"),
        "nothing": ("torch", "zeros"),
        "tensor": ("torch", "tensor"),
        "randint": ("random", "randint"),
        "chance": ("random", "random"),
        "get_net": ("d2lhybrid.nets", "get_net"),
    }


def test_what_was_made_in_another_process_stays_there():
    globals()["left_over"] = "here"
    one, other = sent(leaves), sent(leaves)
    assert one() == 5
    assert "left_over" not in vars(sys.modules[MODULE])
    assert one.__globals__ is not other.__globals__
    assert globals()["left_over"] == "here"


# What stays -----------------------------------------------------------------------------------

net = nn.Linear(1, 1)
square = lambda x: x * x  # noqa: E731
renamed = plain
cached = functools.cache(plain)


class Empty:
    size = 3


def reads_number():
    return NUMBERS


def reads_it_deep():
    return [lambda n=n: (n, NUMBERS) for n in range(2)]


def reads_by_helper():
    return reads_number()


def reads_by_default(n=NUMBERS):
    return n


class ReadsNumber:
    def __init__(self):
        self.numbers = NUMBERS


def reads_by_class():
    return ReadsNumber()


def uses_net(x):
    return net(x)


def uses_lambda(x):
    return square(x)


def uses_renamed(x):
    return renamed(x)


def uses_cached(x):
    return cached(x)


def uses_empty():
    return Empty()


def uses_undefined(x):
    return x + undefined  # noqa: F821


def closure(n=3):
    def uses_n(x):
        return x + n

    return uses_n


def decorated_by_closure(n):
    def decorate(function):
        def wrapper(x):
            return function(x)

        return wrapper

    return decorate


@decorated_by_closure(1)
def unwrapped(x):
    return x


STAYS = "which stays here: another process has only what is passed to it"
DEF = "a world runs functions that are written with def, and got"
REFUSED = {
    "data": (reads_number, f"reads_number uses 'NUMBERS', of type list, {STAYS}"),
    "data, deep inside": (reads_it_deep, f"reads_it_deep uses 'NUMBERS', of type list, {STAYS}"),
    "a helper's": (reads_by_helper, f"reads_number uses 'NUMBERS', of type list, {STAYS}"),
    "a default": (reads_by_default, f"reads_by_default uses 'NUMBERS', of type list, {STAYS}"),
    "a class's": (reads_by_class, f"ReadsNumber uses 'NUMBERS', of type list, {STAYS}"),
    "a network": (uses_net, f"uses_net uses 'net', of type Linear, {STAYS}"),
    "a cache": (uses_cached, f"uses_cached uses 'cached', of type _lru_cache_wrapper, {STAYS}"),
    "a lambda inside": (uses_lambda, "uses_lambda uses 'square', a lambda: write it with def"),
    "another name": (
        uses_renamed,
        "uses_renamed uses 'renamed', another name of plain: use the name that it was defined with",
    ),
    "no methods": (uses_empty, "the source of Empty cannot be found: it has no methods"),
    "a closure": (
        closure(),
        "uses_n uses 'n' of the function around it, which stays here; pass it as an argument",
    ),
    "a closure by a decorator": (
        unwrapped,
        "wrapper uses 'function' of the function around it, which stays here; pass it as an "
        "argument",
    ),
    "a lambda": (square, f"{DEF} <lambda>"),
    "a builtin": (len, f"{DEF} len"),
    "a class": (Point, f"{DEF} Point"),
    "an object": (net, f"{DEF} Linear"),
    "a partial": (functools.partial(plain, 1), f"{DEF} partial"),
    "a method": (Point(1, 2).norm, f"{DEF} norm"),
    "data alone": (3, f"{DEF} int"),
    "nothing": (None, f"{DEF} NoneType"),
    "what was executed": (
        eval("exec('def f(): pass') or locals()['f']"),
        "the source of f cannot be found",
    ),
}


@pytest.mark.parametrize(("function", "message"), REFUSED.values(), ids=REFUSED)
def test_what_stays_is_said_before_anything_is_sent(function, message):
    with pytest.raises(TypeError) as caught:
        Sources.of(function)
    assert str(caught.value) == message


def test_a_name_that_is_not_defined_is_said():
    with pytest.raises(NameError) as caught:
        Sources.of(uses_undefined)
    assert str(caught.value) == "uses_undefined uses 'undefined', which is not defined"
    assert caught.value.name == "undefined"


@pytest.mark.parametrize(
    ("source", "at_once", "later"),
    [
        ("def f(x): return x + y", "", "y"),
        ("def f(x, y=z): return f(x)", "z", ""),
        ("@d(e)\ndef f(x: a) -> b: pass", "a b d e", ""),
        ("def f():\n global g\n g = 1\n return g", "", ""),
        ("def f():\n import a.b, c as d\n from e import g\n return a, d, g, c", "", "c"),
        ("def f():\n try: pass\n except E as e: e\n with o() as p: p", "", "E o"),
        ("def f():\n def g(): return h, k\n h = 1\n return g", "", "k"),
        ("def f(): return [x for x in y if (z := x)] + [z]", "", "y"),
        ("def f(): return {a: b for a in c for b in a}, (q for q in r)", "", "c r"),
        ("def f(x=[a for a in b if c(a)]): pass", "b c", ""),
        ("def f(x=lambda a: b + a): pass", "", "b"),
        ("class C(D, m=M):\n x = y\n z = x\n def g(self): return C, x", "D M y", "x"),
        ("class C:\n x: int = 3\n def g(self, a=x) -> T: return self.__b, __class__", "T int", ""),
        ("class C:\n class D(E):\n  y = z\n  def f(): return D", "E z", "D"),
        ("class C:\n l = [a for a in b]", "b", ""),
        ("def f():\n match a:\n  case B(c=d): return d", "", "B a"),
        ("def f(): print(f'{a!r:{b}}', __name__)", "", "__name__ a b print"),
        ("if True:\n def f(): return a", "", "a"),
    ],
)
def test_the_names_that_a_text_needs(source, at_once, later):
    names = global_names(source)
    assert " ".join(sorted(name for name in names if names[name])) == at_once
    assert " ".join(sorted(name for name in names if not names[name])) == later


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


def test_the_parts_say_where_they_were():
    parts = {part.name: part for part in Sources.of(uses_blocks).parts}
    for name, function in [("in_a_block", in_a_block), ("uses_blocks", uses_blocks)]:
        assert parts[name].line == function.__code__.co_firstlineno
        assert parts[name].filename == f"<{name}>"
        assert parts[name].padded.splitlines()[parts[name].line - 1].lstrip().startswith("def ")


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
    parts = {part.name: part.line for part in Sources.of(names["train"]).parts}
    assert parts == {"train": 8, "Net": 2, "ones": 9, "Result": 2}
    with pytest.raises(TypeError, match=f"^wrong uses 'size', of type int, {STAYS}$"):
        Sources.of(names["wrong"])


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
    assert (frame.filename, frame.lineno, frame.line) == ("<f>", 5, "return 1 / x")
