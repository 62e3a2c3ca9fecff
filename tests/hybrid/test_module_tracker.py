"""What a recording used: tensors that could be replaced unnoticed, and other profilers."""

import sys
from functools import partial

import numpy as np
import pytest
import torch
from hybrid_helpers import assert_agrees
from torch import nn

from d2lhybrid import hybridize
from d2lhybrid.hybrid.recorder import RecordingError


class Lists(nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = [torch.randn(4)]

    def forward(self, x):
        return x * self.scales[0]


SCALE = torch.ones(4)
UNSEEN = [
    Lists(),
    lambda x: x * SCALE,
    lambda x, scale=SCALE: x * scale,
    partial(lambda x, scale: x * scale, scale=SCALE),
    lambda x: x * torch.from_numpy(np.random.rand(4).astype("f")),
]


@pytest.mark.parametrize("function", UNSEEN)
def test_a_tensor_that_could_be_replaced_unnoticed_is_refused(x, function):
    with pytest.raises(RecordingError, match="could be replaced unnoticed"):
        hybridize(function, x)


def test_hybridize_restores_the_users_profiler(net, x):
    calls = []
    sys.setprofile(lambda frame, event, argument: calls.append(frame.f_code.co_name))
    try:
        hybridize(net, x)
        calls.clear()
        Lists()
    finally:
        sys.setprofile(None)
    assert "__init__" in calls
    with torch.profiler.profile(with_stack=True):
        fast = hybridize(net, x)
    assert_agrees(fast, net, x)


@pytest.mark.filterwarnings("ignore:`torch.jit")
def test_a_scripted_part_that_is_not_called(x):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.unused = nn.Linear(4, 4), torch.jit.script(nn.Linear(2, 2))

        def forward(self, x):
            return self.layer(x)

    net = Net()
    assert_agrees(hybridize(net, x), net, x)
