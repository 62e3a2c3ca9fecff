"""How fast a network could be: its compiled C without Python, and reading its weights alone."""

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ..benchmark.candidates import inner_loops
from ..toolchain import load_function, read_c_file
from .compiler import CompiledGraph, validate_input
from .recorder import trace

TIMES = 16  # repetitions in one call: the call from Python is then a small part


def until_written(function):
    """The same function of an input, computed again only for another one or after a write."""
    remembered = lru_cache(1)(lambda x, version: function(validate_input(x)))
    # PyTorch counts the writes to a tensor, but for one that was made in inference mode
    return lambda x: remembered(x, None if x.is_inference() else x._version)


def c_loop(net: Callable, x: Any) -> Any:
    """A candidate for `compare`: what `hybridize` makes of a network, called in a loop in C.

    `x` is an input, (n, features), of many; the network returns one tensor.
    """
    compiled = CompiledGraph(trace(net, x))
    repeat = load_function(compiled.source + read_c_file(__file__, "loop.c"), "repeat")
    repeat.argtypes = [ctypes.c_ssize_t] * 2 + [ctypes.c_void_p] * 3

    prepared = until_written(lambda x: (x, compiled.batch([x.shape]), compiled(x)))

    def run(x):
        x, n, y = prepared(x)
        if repeat(TIMES, n, x.data_ptr(), y.data_ptr(), compiled.table):
            raise MemoryError(f"there is no memory for a batch of {n}")
        return y

    return inner_loops(run, TIMES)


def reading(net: Callable, x: Any) -> Any:
    """A candidate for `compare` that reads the parameters of a network once, and does no more.

    They are added up, or the C compiler would leave out the reading. The candidate returns what the
    network does, computed beforehand with the weights of that moment.
    """
    compiled = CompiledGraph(trace(net, x))
    repeat = load_function(read_c_file(__file__, "read.c"), "repeat")
    repeat.argtypes = [ctypes.c_ssize_t] * 2 + [ctypes.c_void_p] * 2
    repeat.restype = ctypes.c_float
    count = len(compiled.parameters)
    sizes = (ctypes.c_ssize_t * count)(*[tensor.numel() for tensor in compiled.parameters])
    result = until_written(compiled)

    def run(x):
        repeat(TIMES, count, compiled.table, sizes)
        return result(x)

    return inner_loops(run, TIMES)
