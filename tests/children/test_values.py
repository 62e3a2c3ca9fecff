"""Values as bytes and back: they arrive as they were, as Python's own types, and never as code."""

import enum
import io
import math
import pickle
from collections import OrderedDict, namedtuple

import numpy
import pytest

from d2lhybrid.children.values import frame, pack, read_frame, unpack

Point = namedtuple("Point", "x y")


class Level(enum.IntEnum):
    HIGH = 3


class Colour(enum.Enum):
    RED = 1


class Name(str):
    pass


class Wide(list):
    pass


class Array:
    """What the codec of these tests takes for an array."""

    def __init__(self, *numbers):
        self.numbers = numbers


def parts(value):
    return (value.numbers, 7) if isinstance(value, Array) else None


def array(numbers, seven):
    return Array(*numbers, seven)


def test_a_value_arrives_as_pythons_own_types():
    same = [None, True, 3, -(10**5000), 0.1, -math.inf, math.nan, 2 - 1j, "ä\n\0\ud800", b"\0\xff"]
    same += [[], (), {}, set(), [1, [2.5]], (1, (2,)), {"a": (1, [2]), (4, 5): None}, {1, 2}]
    same += [frozenset("a"), [1j, (2.0, [None, {"a": b""}])]]
    plain = {Level.HIGH: 3, Name("n"): "n", Point(1, 2): (1, 2), numpy.float64(0.5): 0.5}
    values = [(value, value) for value in same] + [*plain.items()]
    values += [(Wide([1]), [1]), (OrderedDict(b=1, a=Name()), {"b": 1, "a": ""})]
    for value, expected in values:
        arrived = unpack(pack(value))
        assert type(arrived) is type(expected), value
        if type(value) is int:
            assert arrived == value  # one may be too long for a text
        else:
            assert repr(arrived) == repr(expected)  # types of the parts included


def test_an_array_is_taken_apart_and_made_again_wherever_it_is():
    value = Array(1, 2)
    one, other = unpack(pack([value, {"a": (value,)}], parts), array)
    assert one.numbers == other["a"][0].numbers == (1, 2, 7)
    assert one is not other["a"][0]


def test_what_is_not_data_is_refused_in_words():
    can = "sent to another process: {}numbers, strings and None can, and lists, tuples and dicts of"
    values = [len, lambda: 1, math, (n for n in []), object(), int, Colour.RED, range(3)]
    values += [ValueError("no"), numpy.float32(1)]
    for value in [*values, *({"a": [1, (value,)]} for value in values), {Colour.RED: 1}]:
        for options, kinds in [((parts, "arrays"), "arrays, "), ((), "")]:
            with pytest.raises(TypeError, match=can.format(kinds)):
                pack(value, *options)
    with pytest.raises(TypeError, match=r"^Colour cannot be sent to another process: numbers"):
        pack({Colour.RED: 1})
    with pytest.raises(TypeError, match=r"^Array cannot be sent to another process: numbers"):
        pack(Array())


def test_what_arrives_is_never_code():
    for value in (len, Level.HIGH, OrderedDict(), 1j, numpy.ones(1)):
        with pytest.raises(pickle.UnpicklingError, match=r" is not data$"):
            unpack(pickle.dumps(value))


def test_frames_are_read_one_by_one_and_the_end_is_an_error():
    contents = [("run", 1, b"x" * 10**6), (), {"a": None}]
    pipe = io.BytesIO(b"".join(map(frame, contents)))
    assert [read_frame(pipe) for _ in contents] == contents
    with pytest.raises(EOFError, match=r"^the pipe has ended$"):
        read_frame(pipe)
    whole = frame("all of it")
    for length in range(len(whole)):
        with pytest.raises(EOFError):
            read_frame(io.BytesIO(whole[:length]))
