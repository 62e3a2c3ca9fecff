"""The course's network by our own compiler, and what limits it, see notebook 12."""

import torch

from d2lhybrid import c_loop, hybridize, reading, repeated
from d2lhybrid.side_by_side.in_torch import network


def hybridized(weights, x):
    x = torch.tensor(x)
    net = hybridize(network(weights).requires_grad_(False), x)
    return lambda: net(x)


def in_a_c_loop(weights, x):
    return called_with(c_loop, weights, x)


def reads(weights, x):
    return called_with(reading, weights, x)


def called_with(limit, weights, x):
    x = torch.tensor(x)
    found = limit(network(weights).requires_grad_(False), x)
    return repeated(lambda: found.function(x), found.calls)
