"""The data flow of a function, of a text, and of what has a method `flow()`."""

import networkx
import pytest

from d2lhybrid.text.dataflow import data_flow
from d2lhybrid.text.program import evoke_


def add(a, b):
    return a + b


def fancy_func(a, b, c, d):
    e = add(a, b)
    f = add(c, d)
    g = add(e, f)
    return g


def of_all_kinds(a):
    b = -a * 2 + a
    return b - 1


def with_a_loop(a):
    for _ in a:
        a = [a]
    return a


def look(flow):
    nodes = [(data["label"], data["kind"][0], data["name"]) for _, data in flow.nodes(data=True)]
    return nodes, sorted(flow.edges)


def test_data_flow_of_a_function():
    nodes, edges = look(data_flow(fancy_func))
    inputs = [(name, "i", "") for name in "abcd"]
    assert nodes == [*inputs, ("add", "o", "e"), ("add", "o", "f"), ("add", "o", "g")]
    assert edges == [(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (5, 6)]


def with_a_docstring(a):
    """Says what it does."""
    return a + 1


def test_a_docstring_computes_nothing():
    nodes, edges = look(data_flow(with_a_docstring))
    assert [label for label, *_ in nodes] == ["a", "1", "+"]
    assert edges == [(0, 2), (1, 2)]


def test_data_flow_of_operators():
    nodes, edges = look(data_flow(of_all_kinds))
    assert [label for label, *_ in nodes] == ["a", "-", "2", "*", "+", "1", "-"]
    assert edges == [(0, 1), (0, 4), (1, 3), (2, 3), (3, 4), (4, 6), (5, 6)]


def test_data_flow_of_a_text():
    nodes, edges = look(data_flow("e = 1 + 2\nprint(e)"))
    assert nodes == [("1", "i", ""), ("2", "i", ""), ("+", "o", "e"), ("print", "o", "")]
    assert edges == [(0, 2), (1, 2), (2, 3)]


def test_data_flow_of_the_program_shows_one_call():
    nodes, _ = look(data_flow(evoke_()))
    assert [label for label, *_ in nodes] == ["1", "2", "3", "4", "fancy_func", "print"]


def test_data_flow_of_a_name_for_a_value_that_has_one():
    nodes, edges = look(data_flow("x = 1\ny = x\nprint(y)"))
    assert nodes == [("1", "i", "y"), ("print", "o", "")]
    assert edges == [(0, 1)]


def test_what_has_a_method_flow_is_asked_for_it():
    flow = networkx.DiGraph()

    class Thing:
        def flow(self):
            return flow

        def __call__(self):
            raise AssertionError("need not be called")

    assert data_flow(Thing()) is flow


def of_all_kinds_of_parameters(a, /, b, *, c):
    return f(a, b, c)  # noqa: F821


def test_every_kind_of_parameter_is_an_input():
    nodes, edges = look(data_flow(of_all_kinds_of_parameters))
    assert [label for label, *_ in nodes] == ["a", "b", "c", "f"]
    assert edges == [(0, 3), (1, 3), (2, 3)]


def with_a_division(a, b):
    return a / b


def with_a_not(a):
    return not a


def with_a_global(a):
    return a + DEPTH  # noqa: F821


def with_a_function_inside(a):
    def inner():
        return a

    return inner()


REFUSED = [  # function, the line and the words in the error
    (with_a_loop, "line 2: cannot follow `for _ in a:`"),
    (with_a_division, "line 2: cannot follow `a / b`"),
    (with_a_not, "line 2: cannot follow `not a`"),
    (with_a_global, "line 2: cannot follow `DEPTH`"),
    (with_a_function_inside, r"line 2: cannot follow `def inner\(\):`"),
]


def test_data_flow_refuses_what_it_cannot_follow():
    for function, reason in REFUSED:
        with pytest.raises(ValueError, match=reason):
            data_flow(function)


def test_data_flow_refuses_a_test_of_its_own():
    with pytest.raises(ValueError, match="cannot follow"):
        data_flow(test_data_flow_of_a_text)


def test_data_flow_refuses_what_is_no_single_function():
    for program in [lambda a: a + a, networkx.DiGraph, 3]:
        with pytest.raises(TypeError, match=r"a function defined by `def`.*, got "):
            data_flow(program)
