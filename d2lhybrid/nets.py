"""The networks of the course, in PyTorch. `get_net` is explained in notebook 05."""

from copy import deepcopy

import torch
from torch import nn


def get_net() -> nn.Sequential:
    """Return a new perceptron with two hidden layers and random weights.

    (n, 512) -> 256 -> 128 -> (n, 2), with a ReLU after each hidden layer: 164,482 parameters.
    """
    return nn.Sequential(
        nn.Linear(512, 256),
        nn.ReLU(),
        nn.Linear(256, 128),
        nn.ReLU(),
        nn.Linear(128, 2),
    )


def random_input(rows: int = 1) -> torch.Tensor:
    """An input for `get_net`: (rows, 512), normally distributed."""
    return torch.randn(rows, 512)


def without_gradients(net: nn.Module) -> nn.Module:
    """A copy of a network for inference, whose parameters ask for no gradients."""
    return deepcopy(net).eval().requires_grad_(False)
