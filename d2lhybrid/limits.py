"""How fast a network could be: its compiled C without Python, and reading its weights alone."""

import ctypes

from .hybrid.compiler import Program
from .hybrid.recorder import trace
from .hybrid.toolchain import load_function
from .measure.candidates import repeated

TIMES = 16  # calls in one: the call from Python is then a small part

LOOP = """
int repeat(ptrdiff_t times, ptrdiff_t n, const float *x, float *y, const float *const *parameters)
{
    for (; times > 0; times--)
        if (forward(n, x, y, parameters))
            return 1;
    return 0;
}
"""

# Eight sums, from eight streams through memory, so that adding never waits for the sum before.
READ = """
#include <stddef.h>

float repeat(ptrdiff_t times, ptrdiff_t count, const float *const *parameters,
             const ptrdiff_t *sizes)
{
    float total = 0;
    for (; times > 0; times--)
        for (ptrdiff_t p = 0; p < count; p++) {
            const float *w = parameters[p];
            const ptrdiff_t m = sizes[p] / 8;
            float a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
#pragma omp simd reduction(+ : a, b, c, d, e, f, g, h)
            for (ptrdiff_t i = 0; i < m; i++) {
                a += w[i], b += w[m + i], c += w[2 * m + i], d += w[3 * m + i];
                e += w[4 * m + i], f += w[5 * m + i], g += w[6 * m + i], h += w[7 * m + i];
            }
            for (ptrdiff_t i = 8 * m; i < sizes[p]; i++)
                a += w[i];
            total += a + b + c + d + e + f + g + h;
        }
    return total;
}
"""


def remembered(program):
    """A function that returns the program's result, computed again only for another input.

    The same tensor counts as another one once it was written to.
    """
    last = version = result = None

    def result_of(x):
        nonlocal last, version, result
        now = None if x.is_inference() else x._version  # such a tensor counts no writes
        if x is not last or now != version:
            last, version, result = x, now, program(x)
        return result

    return result_of


def c_loop(net, x):
    """A candidate for `compare`: what `hybridize` makes of a network, called in a loop in C.

    `x` is an input, (n, features); the candidate may be compared on others.
    """
    program = Program(trace(net, x))
    repeat = load_function(program.source + LOOP, "repeat")
    repeat.argtypes = [ctypes.c_ssize_t] * 2 + [ctypes.c_void_p] * 3
    result_of = remembered(program)

    def run(x):
        result = result_of(x)
        repeat(TIMES, len(x), x.data_ptr(), result.data_ptr(), program.table)
        return result

    return repeated(run, TIMES)


def reading(net, x):
    """A candidate for `compare` that reads the parameters of a network once, and does no more.

    They are added up, or the C compiler would leave out the reading. No program that needs them
    all at each call can take less. It returns what the network does, computed beforehand, with the
    weights of that moment.
    """
    program = Program(trace(net, x))
    repeat = load_function(READ, "repeat")
    repeat.argtypes = [ctypes.c_ssize_t] * 2 + [ctypes.c_void_p] * 2
    repeat.restype = ctypes.c_float
    count = len(program.parameters)
    sizes = (ctypes.c_ssize_t * count)(*[tensor.numel() for tensor in program.parameters])
    result_of = remembered(program)

    def run(x):
        repeat(TIMES, count, program.table, sizes)
        return result_of(x)

    return repeated(run, TIMES)
