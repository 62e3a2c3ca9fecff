"""How fast a network could be: its compiled C without Python, and reading its weights alone.

Explained in notebook 09, "Where does the time go?"; a roofline model draws limits of both kinds.
"""

import ctypes
from collections.abc import Callable
from typing import Any

from ..hybrid.compiler import CompiledGraph
from ..hybrid.inputs import admitted
from ..hybrid.recorder import trace
from ..measure.candidates import repeated
from ..toolchain import load_function, read_c_file

TIMES = 16  # repetitions in one call: the call from Python is then a small part


def cached_last(function):
    """The function of a tensor, which is called again only for a new input.

    A tensor counts as a new input after it was written to.
    """
    last = version = result = None

    def result_of(x):
        nonlocal last, version, result
        now = None if x.is_inference() else x._version  # writes to an inference tensor do not count
        if x is not last or now != version:
            last, version, result = x, now, function(x)
        return result

    return result_of


def c_loop(net: Callable, x: Any) -> Any:
    """A candidate for `compare`: what `hybridize` makes of a network, called in a loop in C.

    `x` is an input, (n, features); the candidate may be compared on others. ValueError unless the
    network returns one tensor.
    """
    compiled = CompiledGraph(trace(net, x))
    if compiled.graph.container:
        kind = compiled.graph.container.__name__
        raise ValueError(f"c_loop needs a network that returns one tensor, and it returns a {kind}")
    repeat = load_function(compiled.source + read_c_file(__file__, "loop.c"), "repeat")
    repeat.argtypes = [ctypes.c_ssize_t] * 2 + [ctypes.c_void_p] * 3

    @cached_last
    def prepared(x):
        x = admitted(x)
        return x, compiled.batch([x.shape]), compiled(x)

    def run(x):
        x, n, y = prepared(x)
        if repeat(TIMES, n, x.data_ptr(), y.data_ptr(), compiled.table):
            raise MemoryError(f"there is no memory for a batch of {n}")
        return y

    return repeated(run, TIMES)


def reading(net: Callable, x: Any) -> Any:
    """A candidate for `compare` that reads the parameters of a network once, and does no more.

    They are added up, or the C compiler would leave out the reading. No program that needs all of
    them at each call can take less time. The candidate returns what the network does, which is
    computed beforehand, with the weights of that moment.
    """
    compiled = CompiledGraph(trace(net, x))
    repeat = load_function(read_c_file(__file__, "read.c"), "repeat")
    repeat.argtypes = [ctypes.c_ssize_t] * 2 + [ctypes.c_void_p] * 2
    repeat.restype = ctypes.c_float
    count = len(compiled.parameters)
    sizes = (ctypes.c_ssize_t * count)(*[tensor.numel() for tensor in compiled.parameters])
    result_of = cached_last(lambda x: compiled(admitted(x)))

    def run(x):
        repeat(TIMES, count, compiled.table, sizes)
        return result_of(x)

    return repeated(run, TIMES)
