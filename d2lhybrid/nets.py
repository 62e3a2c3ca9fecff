"""The networks of the course."""

from torch import nn


def get_net():
    """A fresh perceptron with two hidden layers, weights drawn at random.

    (n, 512) -> 256 -> 128 -> (n, 2), with a ReLU behind each hidden layer: 164,482 parameters.
    """
    return nn.Sequential(
        nn.Linear(512, 256),
        nn.ReLU(),
        nn.Linear(256, 128),
        nn.ReLU(),
        nn.Linear(128, 2),
    )
