"""The networks of the course, in PyTorch. `get_net` is explained in notebook 05."""

from copy import deepcopy

import torch
from torch import nn


def get_net() -> nn.Sequential:
    """A fresh perceptron with two hidden layers, weights drawn at random.

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


class ConvolutionBlock(nn.Module):
    """Two convolutions with batch normalization, and a way around them. Notebook 11 explains it.

    (n, channels, height, width) -> the same shape.
    """

    def __init__(self, channels: int = 32):
        super().__init__()
        options = {"kernel_size": 3, "padding": 1, "bias": False}
        self.first = nn.Conv2d(channels, channels, **options)
        self.second = nn.Conv2d(channels, channels, **options)
        self.norm_1 = nn.BatchNorm2d(channels)
        self.norm_2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        inner = torch.relu(self.norm_1(self.first(x)))
        return torch.relu(self.norm_2(self.second(inner)) + x)


class TransformerBlock(nn.Module):
    """Attention and two wide layers, each with a way around it. Notebook 11 explains it.

    (batch, rows, width) -> the same shape.
    """

    def __init__(self, width: int = 128, heads: int = 4):
        super().__init__()
        self.heads = heads
        self.to_three = nn.Linear(width, 3 * width)
        self.to_one = nn.Linear(width, width)
        self.widen = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        parts = self.to_three(self.norm_1(x)).chunk(3, dim=2)
        heads = [part.unflatten(2, (self.heads, -1)) for part in parts]
        query, key, value = [head.transpose(1, 2) for head in heads]
        attention = nn.functional.scaled_dot_product_attention
        mixed = attention(query, key, value).transpose(1, 2).flatten(2)
        x = x + self.to_one(mixed)
        wide = nn.functional.gelu(self.widen(self.norm_2(x)))
        return x + self.narrow(wide)
