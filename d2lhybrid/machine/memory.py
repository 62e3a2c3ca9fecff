"""What lies between a processor and its memory: a model of a cache, and a hop through memory.

Explained in notebook 21.
"""

from collections.abc import Callable, Iterable
from ctypes import c_ssize_t, c_void_p

import numpy as np

from ..d2l import Timer
from ..toolchain import CompilerNotFound, load_library

CHASE = """
ptrdiff_t hop(const int *next, ptrdiff_t at, ptrdiff_t hops)
{
    for (ptrdiff_t i = 0; i < hops; i++)
        at = next[at];
    return at;
}
"""


def in_c(
    source: str, name: str, addresses: int, numbers: int, result: type | None = None
) -> Callable | None:
    """Compile C source, and return its function `name`; None without a C compiler.

    The function takes as many `addresses`, and after them as many integers, as are given; `result`
    is ctypes' type of what it returns, None for nothing.
    """
    try:
        library = load_library("#include <stddef.h>\n" + source)
    except CompilerNotFound:
        return None
    function = getattr(library, name)
    types = [c_void_p] * addresses + [c_ssize_t] * numbers
    function.argtypes, function.restype = types, result
    return function


class Cache:
    """A model of a cache, which counts `hits` and `misses`; it keeps numbers of lines, and no data.

    It has `sets` of `ways` lines of `line` bytes. In a full set, the line goes that was not used
    for the longest time (LRU).
    """

    def __init__(self, sets: int = 64, ways: int = 8, line: int = 64):
        self.sets = [[] for _ in range(sets)]
        self.ways, self.line = ways, line
        self.hits = self.misses = 0

    def read(self, address: int) -> None:
        """Read the byte at an address, and count a hit or a miss."""
        line = address // self.line
        lines = self.sets[line % len(self.sets)]  # the last one used is last
        if line in lines:
            self.hits += 1
            lines.remove(line)
        else:
            self.misses += 1
            if len(lines) == self.ways:
                lines.pop(0)
        lines.append(line)


def misses(places: Iterable[int], **size: int) -> int:
    """Count how often numbers of 4 bytes, read at these places in turn, miss a cache.

    A place is counted in numbers; `size` goes to `Cache`, which is empty at first.
    """
    cache = Cache(**size)
    for i in places:  # counted in numbers
        cache.read(4 * i)
    return cache.misses


def least(call: Callable[[], object], times: int = 5) -> float:
    """Return the shortest time of several calls, in seconds: other programs only make it longer."""
    timer = Timer()
    for _ in range(times):
        timer.start()
        call()
        timer.stop()
    return min(timer.times)


def in_one_circle(places: int) -> np.ndarray:
    """Return an array (places,) of int32: for each place the next one, on a random tour of all."""
    order = np.random.default_rng(17).permutation(np.arange(places, dtype=np.int32))
    next_place = np.empty(places, dtype=np.int32)
    next_place[order] = np.roll(order, -1)
    return next_place


def nanoseconds_a_hop(size: int, hops: int = 300_000) -> float | None:
    """Return how long a hop to a random line takes in a piece of memory of `size` bytes.

    Lines are of 64 bytes. `size` is 64 times 3 or more, without other prime factors than 2 and 3,
    so that the check for one circle is complete. None without a C compiler.
    """
    hop, places = in_c(CHASE, "hop", 1, 2, c_ssize_t), size // 64
    if hop is None:
        return None
    table = np.zeros(16 * places, dtype=np.int32)
    table[::16] = 16 * in_one_circle(places)
    address = table.ctypes.data
    home = [hop(address, 0, places // part) == 0 for part in (3, 2, 1)]
    assert home == [False, False, True], "more than one circle"
    at, timer = 0, Timer()
    for _ in range(3):
        timer.start()
        at = hop(address, at, hops)  # on from where it stands
        timer.stop()
    return min(timer.times) / hops * 1e9
