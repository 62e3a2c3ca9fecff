"""What this machine can do: the few numbers from which `limits` predicts a time.

    ceilings = measured(threads=1)     # in half a second, and once in a process
    ceilings["overhead"]["pointwise"]  # seconds of an operation that has next to nothing to do
    between(ceilings["bandwidth"], 2**20)  # bytes per second of an operation that moves 1 MiB

All are measured with PyTorch's own operations, so they are what a program of PyTorch can reach: its
library of products, its loops. They hold for the number of threads that PyTorch has now.
"""

import sys
from collections.abc import Callable
from functools import cache, partial
from mmap import mmap
from statistics import median
from time import perf_counter, process_time
from timeit import Timer
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from ..benchmark.metadata import page_faults
from ..benchmark.timing import python_calls
from .counting import CPU_ATTENTION

# Where glibc gives freed memory back to the system depends on the largest that was ever freed, up
# to 32 MiB. Larger and small tensors change nothing about that for the program.
LARGE = 2**24  # numbers, of 4 bytes each: more than a large cache holds
MANY = 64, 256  # numbers that stay in the caches
OF_ROWS: dict[str, Callable[[torch.Tensor], object]] = {
    "_softmax": lambda x: torch.softmax(x, -1),
    "_log_softmax": lambda x: torch.log_softmax(x, -1),
    "native_layer_norm": lambda x: F.layer_norm(x, MANY[1:]),
    "var": lambda x: x.var(-1),
    "std": lambda x: x.std(-1),
}
NARROW = [4, 16, 64, 512]  # the smallest dimension of products, of three


@cache
def measured(threads: int) -> dict[str, Any]:
    """Measure what this machine can do with so many threads, as many as PyTorch has now.

    Returns a dict: `overhead`, seconds by the kind or the name of an operation; `company`, [so many
    different operations in turn, times the overhead that each has alone]; `bandwidth`, pairs [bytes
    read and written by an operation, bytes moved per second]; `page`, seconds for a page of memory
    that the system must hand out first; `peak`, pairs [smallest dimension, FLOP/s] of products, and
    FLOP/s of other operations.
    """
    with torch.inference_mode(False), torch.enable_grad():
        x, y = torch.ones(LARGE), torch.empty(LARGE)
        (overhead, company), bandwidth = _overheads(), []
        nothing = _copying(x, y, 1)
        for size in (2**k for k in range(15, 28, 2)):
            took = _copying(x, y, size // 8) - nothing
            bandwidth.append([size, 1.5 * size / max(1e-9, took)])  # see `moved`
        found = {"overhead": overhead, "company": company, "bandwidth": bandwidth}
        return found | {"page": _seconds_a_page(), "peak": _peaks(x, y)}


@cache
def seconds_a_number(name: str, threads: int) -> float:
    """What a function such as tanh takes for each number; 0.0 if it has more than one argument."""
    call = OF_ROWS.get(name) or getattr(torch, name, None) or getattr(F, name, None)
    many = torch.ones(MANY)
    try:
        took = _seconds(partial(call, many)) - measured(threads)["overhead"]["pointwise"]
    except TypeError:  # as of `torch.add`
        return 0.0
    return max(0.0, took) / many.numel()


def between(pairs: list[list[float]], size: float) -> float:
    """The bytes or FLOP per second at a size, from those at the sizes nearest to it."""
    sizes, rates = np.log(pairs).T
    return float(np.exp(np.interp(np.log(max(1, size)), sizes, rates)))


def _seconds(call: Callable[[], object]) -> float:
    """Seconds of a call: of this process alone on one thread of Linux, as `compare` does it."""
    alone = sys.platform == "linux" and torch.get_num_threads() == 1  # elsewhere it ticks slowly
    took = max(1e-7, min(Timer(call).repeat(2, 1)))  # a coarse clock may say 0
    calls = min(1000, int(1e-3 / took) + 1)  # so many take a millisecond
    timer = Timer(call, timer=process_time if alone else perf_counter)
    return median(timer.repeat(7, calls)) / calls


def _copying(x, y, numbers):
    """Seconds of an operation that reads and writes so many numbers."""
    return _seconds(partial(torch.clamp_min, x[:numbers], 0, out=y[:numbers]))


def _seconds_a_page():
    """What the first touch of a page costs: fill new memory, and once again."""
    more, pages = 0.0, page_faults()
    for _ in range(16):
        new = torch.frombuffer(mmap(-1, 2**20), dtype=torch.float32)
        first, again = Timer(partial(new.fill_, 0)).repeat(2, 1)
        more += first - again
    return max(0.0, more) / max(1, page_faults() - pages)


def _overheads():
    """One number each, so that there is hardly anything to do. Some operations have their own.

    In a loop of its own, an operation finds its code in the processor's cache. Among many others it
    does not, and takes up to twice as long: that is `company`.
    """
    x, b, image = torch.ones(1, 1), torch.ones(1), torch.ones(1, 1, 1, 1)
    channels, kernel = torch.ones(1, 8, 8, 8), torch.ones(8, 8, 3, 3)
    net = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Tanh()).requires_grad_(False)
    y = torch.ones(1, requires_grad=True)
    small = {
        "pointwise": lambda: x + x,
        "scalar": lambda: x * 2,
        "view": lambda: x.t(),
        "other": lambda: x.sum(-1),
        "mean": lambda: x.mean(-1, keepdim=True),
        "_softmax": lambda: torch.softmax(x, -1),
        "native_layer_norm": lambda: F.layer_norm(x, (1,)),
        "product": lambda: torch.mm(x, x),
        "addmm": lambda: torch.addmm(b, x, x),
        "convolution": lambda: F.conv2d(channels, kernel),
        CPU_ATTENTION: lambda: F.scaled_dot_product_attention(image, image, image),
    }
    found = {name: _seconds(call) for name, call in small.items()}
    together = _seconds(lambda: [call() for call in small.values()])
    company = [len(small), max(1.0, together / sum(found.values()))]
    linear, layers = _seconds(lambda: F.linear(x, x, b)), _seconds(lambda: net(x))
    layers -= linear + found["pointwise"]  # what is left, each function of Python in layers shares
    found["python"] = max(0.0, layers) / python_calls(net, x)
    found["recorded"] = max(0.0, _seconds(lambda: torch.tanh(y)) - found["pointwise"])
    return found, company


def _peaks(x, y):
    """FLOP/s of products that fit into the caches. What they return is small, see LARGE."""
    a, out = x[: 512 * 512].view(512, 512), y[: 512 * 512].view(512, 512)
    image, kernel = x[: 32 * 784].view(1, 32, 28, 28), x[: 9 * 1024].view(32, 32, 3, 3)
    q, attention = x[:16384].view(1, 4, 128, 32), F.scaled_dot_product_attention
    mm = {n: _seconds(partial(torch.mm, a[:n], a.t(), out=out[:n])) for n in NARROW}
    return {
        "product": [[n, 2 * n * 512**2 / time] for n, time in mm.items()],
        "convolution": 18 * 784 * 1024 / _seconds(lambda: F.conv2d(image, kernel, padding=1)),
        CPU_ATTENTION: 16 * 128**2 * 32 / _seconds(lambda: attention(q, q, q)),
    }
