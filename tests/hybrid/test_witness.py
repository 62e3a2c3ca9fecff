"""The witness: tensors that could be replaced unseen, and other profilers."""

import sys
from cProfile import Profile
from functools import partial
from pstats import Stats

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


def dice(kind):
    return lambda x: x * kind(np.random.rand(4).astype("f"))


SCALE = torch.ones(4)
UNSEEN = [
    Lists(),
    lambda x: x * SCALE,
    lambda x, scale=SCALE: x * scale,
    partial(lambda x, scale: x * scale, scale=SCALE),
    dice(torch.from_numpy),
    dice(torch.Tensor),
    dice(torch.from_dlpack),
]


def test_a_tensor_that_could_be_replaced_unseen_is_refused(x):
    for function in UNSEEN:
        with pytest.raises(RecordingError, match=r"if .* were replaced, this would not be noticed"):
            hybridize(function, x)


def test_a_profiler_goes_on(net, x):
    calls = []
    sys.setprofile(lambda frame, event, argument: calls.append(frame.f_code.co_name))
    try:
        hybridize(net, x)
        calls.clear()
        dice(str)
    finally:
        sys.setprofile(None)
    assert "dice" in calls


def test_cprofile_goes_on(net, x):
    with Profile() as profile:
        hybridize(net, x)
        dice(str)
    assert "dice" in {name for _, _, name in Stats(profile).stats}


def test_a_profiler_of_torchs_is_no_obstacle(net, x):
    with torch.profiler.profile(with_stack=True):
        fast = hybridize(net, x)
    assert_agrees(fast, net, x)


@pytest.mark.filterwarnings("ignore:`torch.jit")
def test_a_scripted_part_that_is_not_called(x):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.unused = torch.jit.script(nn.Linear(2, 2))

        def forward(self, x):
            return self.layer(x)

    net = Net()
    assert_agrees(hybridize(net, x), net, x)
