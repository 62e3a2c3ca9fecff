"""`raises`, `check`, `needs` and `muted`: what they print, and that they can fail."""

import logging
import sys
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy
import pytest
import torch

from d2lhybrid import check, muted, needs, raises


def wrong(a):
    return a + "1"


def test_raises_prints_the_error_and_who_called_whom(capsys):
    with raises(TypeError, show_calls=True):
        wrong(1)
    assert capsys.readouterr().out.splitlines() == [
        "in test_raises_prints_the_error_and_who_called_whom: wrong(1)",
        'in wrong: return a + "1"',
        "TypeError: unsupported operand type(s) for +: 'int' and 'str'",
    ]


@pytest.mark.parametrize("name", ["<module>", "<cell line: 1>"])  # IPython 7 has the second
def test_raises_names_a_cell_that_has_no_source(capsys, name):
    with raises(ZeroDivisionError, KeyError, show_calls=True):
        exec(compile("1 / 0", "", "exec").replace(co_name=name))
    assert "in <module>: (no source line known)\n" in capsys.readouterr().out


IN_USER_CODE = "in user code:\n\n    File 'a.py', line 2\n\n    ValueError: no choice here\n\n"


def test_raises_shows_one_line_of_a_long_message(capsys):
    for message, line, shown in [
        (IN_USER_CODE, -1, "ValueError: no choice here"),  # its type is said once
        ("in user code:\n\nthe cause", -1, "ValueError: the cause"),
        ("ValueError was raised", 0, "ValueError: ValueError was raised"),
        ("", 0, "ValueError:"),
        ("one\ntwo", 3, "ValueError: two"),  # of a shorter message the last
    ]:
        with raises(ValueError, line=line):
            raise ValueError(message)
        assert capsys.readouterr().out == shown + "\n", (message, line)


def test_raises_lets_other_errors_through():
    with pytest.raises(ZeroDivisionError), raises(TypeError):
        1 / 0  # noqa: B018


def test_raises_fails_if_nothing_is_raised():
    expected = pytest.raises(AssertionError, match="TypeError or KeyError was expected")
    with expected, raises(TypeError, KeyError):
        pass


class Odd:
    """An object that cannot be compared."""

    def __eq__(self, other):
        raise ValueError("not with me")

    __hash__ = None


tensor = torch.tensor
CHECKED = [
    (Fraction(3, 2), 1.5, "right"),
    ([Decimal("0.2"), Fraction(1, 3)], [0.2, 1 / 3], "right"),
    (Fraction(1, 3), 0.34, "not right: your answer gives Fraction(1, 3)"),
    ({"Layer norm", 2}, {"layer norm", 2}, "right"),
    ({1, 2}, {1, 3}, "not right: your answer gives {1, 2}"),
    ([2, 1], {1, 2}, "right"),
    ([1, 3], {1, 2}, "not right: your answer gives [1, 3]"),
    # an answer not given
    (..., 6, "not yet"),
    ([2, ...], [2, 3], "not yet"),
    ({"rows": ...}, {"rows": 3}, "not yet"),
    ((tensor([1, 2]), ...), [[1, 2], 3], "not yet"),
    # numbers
    (4.0, 4, "right"),
    (0.1 + 0.2, 0.3, "right"),
    (10**20 + 1, 10**20, "not right: your answer gives 100000000000000000001"),
    (6.0, "6", "not right: your answer gives 6.0"),
    # sequences
    (range(3), [0, 1, 2], "right"),
    ([(1, 2), (3, 4)], [[1, 2], [3, 4]], "right"),
    ([2, 3, 4], [2, 3], "not right: your answer gives [2, 3, 4]"),
    ({"rows": (1, 2)}, {"rows": [1, 2]}, "right"),
    ({"rows": 1}, {"columns": 1}, "not right: your answer gives {'rows': 1}"),
    # words
    (" Too  close", "too close ", "right"),
    ("no difference", "inconclusive", "not right: your answer gives 'no difference'"),
    # tensors and arrays
    ([2, 3], tensor([2, 3]), "right"),
    (tensor([[1.0, 2.0]], requires_grad=True), tensor([[1, 2]]), "right"),
    (tensor([2, 3]), [2, 4], "not right: your answer gives tensor([2, 3])"),
    (numpy.float64(0.5), 0.5, "right"),
    # other things
    (numpy.ndarray, torch.Tensor, "not right: your answer gives <class 'numpy.ndarray'>"),
    (Odd(), 6, "not right: ValueError: not with me"),
]


@pytest.mark.parametrize(("answer", "truth", "line"), CHECKED)
def test_check(capsys, answer, truth, line):
    check(answer, truth)
    assert capsys.readouterr().out == line + "\n"


def test_check_by(capsys):
    for answer, line in [
        ("ab", "right"),
        ("abc", "not right: your answer gives 3"),
        (7, "not right: TypeError: object of type 'int' has no len()"),
    ]:
        check(answer, 2, by=len)
        assert capsys.readouterr().out == line + "\n", line
    check(lambda x: ..., 2, by=lambda function: function(1))  # a function still to be written
    assert capsys.readouterr().out == "not yet\n"


def test_needs_says_what_is_missing(capsys):
    assert needs("/usr/bin/g++", "C++ compiler") is True
    assert needs(None, "C++ compiler") is False
    expected = "this machine: has no C++ compiler; the stored outputs show this section\n"
    assert capsys.readouterr().out == expected


def test_muted_holds_back_output_warnings_and_logs_even_inside_itself(capsys, caplog):
    with warnings.catch_warnings(record=True) as heard, muted():
        with muted():
            warnings.warn("no CPU", stacklevel=1)
        warnings.warn("no GPU", stacklevel=1)
        logging.getLogger("a compiler").warning("no GPU")
        print("chosen: a kernel")
        print("chosen: a kernel", file=sys.stderr)  # as max_autotune does
    assert [heard, caplog.records, *capsys.readouterr()] == [[], [], "", ""]
    logging.getLogger("a compiler").warning("no GPU")
    assert len(caplog.records) == 1
