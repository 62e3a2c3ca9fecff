"""Does compiling help this model? Put yours in its place, and ask:

    python -m d2lhybrid compare mine.py

Every function below without parameters builds one candidate, unless its name begins with "_". It
returns a function without arguments: that one is called and timed, so let it do what you wait for.
The first candidate is the baseline. Each runs in Python processes of its own. The seed gives all
of them the same weights and the same input; that they return the same is checked, in the first and
in the third call. So a training step may return its loss.
"""

import torch
from torch import nn

# torch.set_num_threads(1)  # best for calls far below a millisecond
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU())
model.append(nn.Linear(128, 2)).eval()
x = torch.randn(1, 512)


def eager():
    return _called(model)


def compiled():
    return _called(torch.compile(model))


def torchscript():  # it works, but is deprecated: torch.compile and torch.export take its place
    return _called(torch.jit.freeze(torch.jit.script(model)))


def _called(network):
    def call():
        with torch.inference_mode():  # not for training
            return network(x)

    return call
