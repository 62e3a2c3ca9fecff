"""The operations: shapes, templates, and a new operation as one entry."""

import operator

import pytest
import torch

from d2lhybrid import trace

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
