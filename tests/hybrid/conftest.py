"""Fixtures of the compiler's tests."""

import pytest
import torch
from hybrid_helpers import make_net


@pytest.fixture
def net():
    return make_net()


@pytest.fixture
def x():
    return torch.linspace(-2, 2, 12).view(3, 4)


@pytest.fixture
def default_float64():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)
