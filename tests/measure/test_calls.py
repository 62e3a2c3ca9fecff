"""Calls of Python, counted."""

import sys

import pytest

from d2lhybrid import python_calls


def inner(x):
    return x


def outer(x, y):
    return inner(x) + inner(y)


def test_the_function_itself_counts_and_c_does_not():
    assert python_calls(outer, 1, 2) == 3
    assert python_calls(abs, -1) == 0


def test_what_happens_only_at_first_is_not_counted():
    calls = []

    def learns():
        calls.append(1)
        if len(calls) < 3:
            outer(1, 2)

    assert python_calls(learns) == 1
    assert len(calls) == 4


def test_an_error_leaves_the_profiler_as_it_was():
    before = sys.getprofile()
    with pytest.raises(TypeError):
        python_calls(outer, 1)
    assert sys.getprofile() is before
