"""The course's network by our own compiler, and what limits it, see notebook 13."""

from dataclasses import replace
from functools import partial

import torch

from d2lhybrid import c_loop, hybridize, reading
from d2lhybrid.cross_framework.in_torch import eager, network


def hybridized(weights, x):
    """Return a function that runs the network, compiled by `hybridize`, on `x`."""
    return eager(weights, x, lambda net: hybridize(net, torch.tensor(x)))


def called_with(limit, weights, x):
    """Return the candidate that `limit`, which is `c_loop` or `reading`, makes, called on `x`."""
    x = torch.tensor(x)
    found = limit(network(weights).requires_grad_(False), x)
    return replace(found, function=partial(found.function, x))


in_a_c_loop, reads = partial(called_with, c_loop), partial(called_with, reading)
