"""How fast a network could be: its compiled C without Python, and reading its weights alone.

Explained in notebook 09, "Where does the time go?"; a roofline model draws limits of both kinds.
"""

import ctypes
from collections.abc import Callable
from typing import Any

from .hybrid.compiler import CompiledGraph
from .hybrid.recorder import trace
from .hybrid.toolchain import c_text, load_function
from .measure.candidates import repeated

TIMES = 16  # repetitions in one call: the call from Python is then a small part


def remembered(compiled):
    """A function that returns the compiled graph's result, computed again only for a new input.

    A tensor counts as a new input after it was written to.
    """
    last = version = result = None

    def result_of(x):
        nonlocal last, version, result
        now = None if x.is_inference() else x._version  # writes to an inference tensor do not count
        if x is not last or now != version:
            last, version, result = x, now, compiled(x)
        return result

    return result_of


def c_loop(net: Callable, x: Any) -> Any:
    """A candidate for `compare`: what `hybridize` makes of a network, called in a loop in C.

    `x` is an input, (n, features); the candidate may be compared on others.
    """
    compiled = CompiledGraph(trace(net, x))
    repeat = load_function(compiled.source + c_text("loop.c"), "repeat")
    repeat.argtypes = [ctypes.c_ssize_t] * 2 + [ctypes.c_void_p] * 3
    result_of = remembered(compiled)

    def run(x):
        result = result_of(x)
        repeat(TIMES, len(x), x.data_ptr(), result.data_ptr(), compiled.table)
        return result

    return repeated(run, TIMES)


def reading(net: Callable, x: Any) -> Any:
    """A candidate for `compare` that reads the parameters of a network once, and does no more.

    They are added up, or the C compiler would leave out the reading. No program that needs all of
    them at each call can take less time. The candidate returns what the network does, which is
    computed beforehand, with the weights of that moment.
    """
    compiled = CompiledGraph(trace(net, x))
    repeat = load_function(c_text("read.c"), "repeat")
    repeat.argtypes = [ctypes.c_ssize_t] * 2 + [ctypes.c_void_p] * 2
    repeat.restype = ctypes.c_float
    count = len(compiled.parameters)
    sizes = (ctypes.c_ssize_t * count)(*[tensor.numel() for tensor in compiled.parameters])
    result_of = remembered(compiled)

    def run(x):
        repeat(TIMES, count, compiled.table, sizes)
        return result_of(x)

    return repeated(run, TIMES)
