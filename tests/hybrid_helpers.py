"""What several tests of the compiler share: programs, networks, changes of networks."""

import linecache
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
import torch.nn.functional as F
from random_programs import as_list, assert_close
from torch import nn


def write(text, **names):
    """The function whose text this is; tracebacks and messages can quote its lines."""
    filename = f"<{text}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    space = {"torch": torch, "nn": nn, "F": F, "np": np}
    space |= {"w": torch.ones(4, 4), "b": torch.ones(4), "g": torch.tensor([3.0, 1.0, 4.0, 1.5])}
    space |= names
    exec(compile(text, filename, "exec"), space)
    return space["program"]


def program(statement, **names):
    return write(f"def program(x, y):\n    {statement}\n    return x\n", **names)


def computing(expression, **names):
    return write(f"def program(x, y):\n    return {expression}\n", **names)


def operations(graph):
    return [node.op for node in graph.nodes if node.is_operation]


def fancy_func(a, b, c, d):
    return (a + b) + (c + d)


def bits(result):
    return [r.numpy().tobytes() if isinstance(r, torch.Tensor) else repr(r) for r in result]


def make_net(dropout=False):
    layers = [nn.Linear(4, 4), nn.ReLU(), *[nn.Dropout()] * dropout, nn.Linear(4, 4)]
    return nn.Sequential(*layers).eval().requires_grad_(False)  # as for inference


def assert_agrees(fast, net, *inputs):
    with torch.no_grad():
        ours, torchs = fast(*inputs), net(*inputs)
    assert not any(one.requires_grad for one in as_list(ours))
    assert_close(ours, torchs, "compiled")


class TwoInputs(nn.Module):
    def forward(self, x, y):
        return x * y, [x, y][0], torch.tanh(y)


REPLACE_PARAMETER = "net[0].weight = nn.Parameter(torch.randn(4, 4))"
REPLACE_LAYER = "net[0] = nn.Linear(4, 4)"


def change(net, statement):
    """Carry out a statement that changes the network."""
    exec(statement, {"net": net, "torch": torch, "nn": nn, "make_net": make_net})


def in_threads(count, work):
    """Run `work(i)` in so many threads at once, until all have ended."""
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(work, range(count)))


def call_or_error(net, x):
    try:
        with torch.no_grad():
            return net(x)
    except (RuntimeError, ValueError, TypeError, NotImplementedError) as error:
        return error


class Keeping(nn.Module):
    """A function of tensors, with some of them kept here under the names of its parameters."""

    def __init__(self, function, **kept):
        super().__init__()
        self.function = function
        for name, tensor in kept.items():
            self.register_buffer(name, tensor)

    def forward(self, *inputs):
        return self.function(*inputs, **self._buffers)


class AsksWhetherItTrains(nn.Module):
    def forward(self, x):
        return x * 2 if self.training else x


class Everything(nn.Module):
    """Has all that a guard asks for."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4, bias=False), nn.Linear(4, 3))
        self.scale = torch.ones(3)

    def forward(self, x):
        return self.layers(x) * self.scale if self.training else self.layers(x) - self.scale
