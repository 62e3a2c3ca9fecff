"""Products for several rows at once: every remainder, every width of a vector, nothing beside y."""

import random
import re
import subprocess
import sys
from functools import cache
from itertools import product

import pytest
import torch
from hybrid_helpers import bits
from random_programs import INF, NAN, assert_close, check_layers
from torch import nn

from d2lhybrid import hybridize
from d2lhybrid.hybrid import compiler
from d2lhybrid.hybrid.codegen import PRELUDE
from d2lhybrid.toolchain import (
    FLAGS,
    CompilerNotFound,
    compiler_command,
    find_compiler,
    read_c_file,
)

try:
    CC = find_compiler()
except CompilerNotFound as error:
    pytest.skip(str(error), allow_module_level=True)

# Where a tile, a block, a panel or a part ends: for vectors of 4, 8 and 16 numbers.
PANELS = [8, 16, 32]
ROWS = [0, 1, 2, 3, 4, 5, 7, 8, 9]
ROWS += [p * 3 // 4 + i for p in PANELS for i in (-1, 0, 1, p - 1, p)]
ROWS += [i * p + more for p in PANELS for i in (1, 2) for more in (-1, 0, 1, 3)]
WIDTHS = [1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 47, 64, 65]
OUTPUTS = [1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 15, 16, 17, 23, 24, 25, 26, 31, 33, 36, 37, 49]
LONG = [1023, 1024, 1025, 1039, 2049, 4095, 4096, 4097, 4100, 8193]


def sizes():
    """Rows, numbers in a row, and results for it: all remainders of each, and 0."""
    rng = random.Random(0)
    yield from [(n, rng.choice(WIDTHS), m) for n in sorted({*ROWS}) for m in [0, *OUTPUTS]]
    for k, times in [*[(k, 10) for k in [0, *WIDTHS]], *[(k, 12) for k in LONG]]:
        yield from [(rng.choice(ROWS), k, rng.choice(OUTPUTS)) for _ in range(times)]


SIZES = list(sizes())


# In C, for other processors and compilers ---------------------------------------------------

MAIN = r"""
#define _DEFAULT_SOURCE
#define _DARWIN_C_SOURCE
#include <stdio.h>
#include <sys/mman.h>

PRELUDE

enum { ROOM = 1 << 22, FENCE = 1 << 16, BESIDE = 200, END = ROOM / sizeof(float) };

static float *fenced(void) /* room between two fences, which nothing may touch */
{
    char *all = mmap(NULL, ROOM + 2 * FENCE, PROT_NONE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (all == MAP_FAILED || mprotect(all + FENCE, ROOM, PROT_READ | PROT_WRITE)) exit(2);
    return (float *)(all + FENCE);
}

static ptrdiff_t chance(ptrdiff_t below)
{
    static unsigned state = 1;
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

/* Numbers that can only be read: all 0.1 where that is wanted, and else whole, but for one. */
static const float *filled(float *room, ptrdiff_t count, int at_end, int tenths, float special)
{
    float *numbers = at_end ? room + END - count : room;
    if (mprotect(room, ROOM, PROT_READ | PROT_WRITE)) exit(2);
    for (ptrdiff_t i = 0; i < count; i++) numbers[i] = tenths ? 0.1f : (float)chance(9) - 4;
    if (count && special != 0) numbers[chance(count)] = special;
    if (mprotect(room, ROOM, PROT_READ)) exit(2);
    return numbers;
}

static int agree(double a, double b, double allowed)
{
    return a == b || fabs(a - b) <= allowed * fabs(b) || (isnan(a) && isnan(b));
}

int main(int count, char **arguments) /* sizes come in; with an argument, 0.1 is added up */
{
    const double allowed = count > 1 ? atof(arguments[1]) : 0;
    const float specials[] = {0, 0, NAN, INFINITY, -INFINITY};
    float *xs = fenced(), *ws = fenced(), *ys = fenced();
    ptrdiff_t n, k, m;
    for (int turn = 0; scanf("%td %td %td", &n, &k, &m) == 3; turn++) {
        printf("%td rows, %td to %td\n", n, k, m), fflush(stdout);
        const int at_end = turn % 2, in_x = turn % 3 > 0;
        const float special = allowed > 0 ? 0 : specials[turn % 5];
        const float *x = filled(xs, n * k, at_end, allowed > 0, in_x ? special : 0);
        const float *w = filled(ws, m * k, at_end, allowed > 0, in_x ? 0 : special);
        float *y = at_end ? ys + END - n * m : ys, *beside = at_end ? y - BESIDE : y + n * m;
        for (ptrdiff_t i = 0; i < n * m; i++) y[i] = NAN;
        for (ptrdiff_t i = 0; i < BESIDE; i++) beside[i] = 12345;
        dots(n, k, m, x, w, y);
        for (ptrdiff_t r = 0; r < n; r++)
            for (ptrdiff_t c = 0; c < m; c++) {
                double sum = 0, found = y[r * m + c];
                for (ptrdiff_t i = 0; i < k; i++) sum += (double)x[r * k + i] * w[c * k + i];
                if (!agree(found, sum, allowed))
                    return printf("y[%td][%td] is %.9g, not %.9g\n", r, c, found, sum), 1;
            }
        for (ptrdiff_t i = 0; i < BESIDE; i++)
            if (beside[i] != 12345) return printf("written beside y\n"), 1;
    }
    return 0;
}
"""

# What they compile for: the options, and what this processor must have.
PROCESSORS = {
    "128 bits": (["-march=x86-64"], "__SSE2__"),
    "256 bits": (["-march=haswell"], "__AVX2__"),
    "512 bits": (["-march=haswell", "-mavx512f", "-mprefer-vector-width=512"], "__AVX512F__"),
}
EXPORTED = re.search(r"cc (-std.*) main.c", read_c_file(compiler.__file__, "main.c"))[1].split()
WAYS = {"as here": (CC, compiler_command()[len(CC) :], ""), "as exported": (CC, EXPORTED, "")}
for name in ("gcc", "clang"):
    for processor, (options, needed) in PROCESSORS.items():
        WAYS[f"{name}, {processor}"] = ([name], [*FLAGS, *options], needed)
    for options in ("-std=c11 -O0", "-std=gnu17 -O2", "-std=c99 -Os"):
        WAYS[f"{name} {options}"] = ([name], [*options.split(), "-march=native"], "")
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wno-unused-function"]
STRICT += ["-Wno-unknown-pragmas", "-Wno-pass-failed"]
# Not as exported: there gcc takes vectors of 256 bits, and so its sums are longer.
SUM_WELL = ["as here", *(way for way in WAYS if way.endswith("bits"))]


def call(*command, **options):
    return subprocess.run([*map(str, command)], capture_output=True, text=True, **options)


@cache
def can_run(compiler, flags, needed):
    """Whether there is such a compiler, it takes the flags, and the processor has what is needed.

    A name may be that of another compiler: on macOS, gcc is clang.
    """
    try:
        given = call(*compiler, *flags, "-dM", "-E", "-", input="")
    except FileNotFoundError:
        return False
    here = call(*compiler_command(), "-dM", "-E", "-", input="")
    return given.returncode == 0 and (not needed or f"#define {needed} " in here.stdout)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The name of a way -> a program that computes products of the sizes that it reads."""
    made = {}

    def build(way):
        compiler, flags, needed = WAYS[way]
        if sys.platform == "win32" or not can_run(tuple(compiler), tuple(flags), needed):
            pytest.skip(f"{way}: not on this machine")
        if way not in made:
            folder = tmp_path_factory.mktemp("products")
            (folder / "main.c").write_text(MAIN.replace("PRELUDE", PRELUDE))
            made[way] = folder / "main"
            command = [*compiler, *STRICT, *flags, folder / "main.c", "-o", made[way], "-lm"]
            done = call(*command)
            assert (done.returncode, done.stderr) == (0, "")
        return made[way]

    return build


def assert_right(program, sizes, *arguments):
    text = "".join(f"{n} {k} {m}\n" for n, k, m in sizes)
    done = call(program, *arguments, input=text)
    assert done.returncode == 0, "\n".join(done.stdout.splitlines()[-2:])
    assert done.stdout.count("\n") == len(sizes)


@pytest.mark.parametrize("way", WAYS)
def test_matrix_products_are_exact_for_every_size(built, way):
    """Exact results for whole numbers, NaN and infinity; only x and w are read, only y written."""
    assert_right(built(way), SIZES)


@pytest.mark.parametrize("way", SUM_WELL)
def test_long_sums_lose_no_digits(built, way):
    """The same number again and again: each addition errs in the same direction."""
    long = [(n, k, 37) for n in (1, 2, 3, 5, 6, 8, 12, 16, 24, 32, 35) for k in (512, *LONG)]
    assert_right(built(way), long, 24 * 2.0**-23)


# In Python ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def layer():
    torch.manual_seed(0)
    net = nn.Linear(37, 29)
    return net, hybridize(net, torch.ones(1, 37))


@pytest.mark.parametrize("n", [2, 3, 5, 13, 24, 33, 71])
@torch.no_grad()
def test_a_special_number_reaches_its_own_row_and_no_other(layer, n):
    net, fast = layer
    x = torch.randn(n, 37)
    before = fast(x)
    for number, row in product([NAN, INF, -INF], {0, n // 2, n - 1}):
        where = f"{number} in row {row}"
        changed = x.clone()
        changed[row, row % 37] = number
        result = fast(changed)
        assert_close(result, net(changed), where, rows=True)
        others = [i for i in range(n) if i != row]
        assert bits([result[others]]) == bits([before[others]]), where


@pytest.mark.parametrize("n", [2, 3, 5, 13, 24, 33, 71])
@torch.no_grad()
def test_a_special_weight_reaches_its_own_results_and_no_others(layer, n):
    """Weights are changed in place, and the change is seen."""
    net, fast = layer
    x = torch.randn(n, 37)
    before = fast(x)
    for number, place in product([NAN, INF, -INF], (0, 11, 23, 24, 28)):
        where = f"{number} in weight {place}"
        was = net.weight[place].clone()
        net.weight[place, place] = number
        result = fast(x)
        assert_close(result, net(x), where)
        net.weight[place] = was
        others = [i for i in range(29) if i != place]
        assert bits([result[:, others]]) == bits([before[:, others]]), where


SHAPES = [(37,), (1, 37), (0, 37), (1, 5, 37), (3, 11, 37), (0, 5, 37), (5, 0, 37), (2, 3, 9, 37)]


@pytest.mark.parametrize("shape", SHAPES)
@torch.no_grad()
def test_the_rows_of_any_shape(shape):
    net, x = nn.Linear(37, 29), torch.randn(shape)
    fast = hybridize(net, x)
    assert_close(fast(x), net(x), "as it was")
    net.weight.mul_(-0.75)
    net.weight[28, 36], net.bias[3] = 100, -100
    assert_close(fast(x), net(x), "changed in place")


def test_without_features_the_bias_is_the_result():
    net = nn.Linear(1, 30)
    net.weight = nn.Parameter(torch.empty(30, 0))
    for shape in ((7, 0), (40, 0), (0,)):
        with torch.no_grad():
            x = torch.empty(shape)
            assert torch.equal(hybridize(net, x)(x), net(x))


# Random networks ----------------------------------------------------------------------------


def test_random_layers_of_any_width():
    for seed in range(3):
        check_layers(seed)
