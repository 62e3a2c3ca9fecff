"""Source text in C: no warnings, no faults, and what it does not have is refused."""

import random
import subprocess
from functools import cache

import pytest
import torch
from hybrid_helpers import bits, fancy_func
from random_programs import (
    as_list,
    assert_close,
    random_program,
)

from d2lhybrid import trace
from d2lhybrid.hybrid.codegen import c_source
from d2lhybrid.hybrid.compiler import CompiledGraph
from d2lhybrid.hybrid.operations import UnsupportedOperation
from d2lhybrid.hybrid.passes import optimize
from d2lhybrid.toolchain import find_compiler

NAN, INF = float("nan"), float("inf")
X, Y = torch.tensor([[0.5, -1.0, 2.0, 3.0]] * 3), torch.full((3, 4), 0.25)


# As text ------------------------------------------------------------------------------------

WIDE = torch.ones(4, dtype=torch.float64)
NOT_IN_C = [
    *[(lambda x: x + 1, [x]) for x in (X.double(), X.half(), X.bfloat16())],
    (lambda x: (x, WIDE), [X]),
    *[(lambda x, a: x, [X, 2]), (lambda x, a: x * a, [X, 2]), (fancy_func, [1, 2, 3, 4])],
    *[(lambda x, n=n: x * n, [X]) for n in (1e40, -1e40, 10**39, 10**400, 3.5e38)],
]


@pytest.mark.parametrize(("function", "examples"), NOT_IN_C)
def test_c_source_rejects_other_dtypes_constants_and_huge_numbers(function, examples):
    with pytest.raises(UnsupportedOperation):
        c_source(trace(function, *examples))


NUMBERS = [0, -0.0, 1, True, 0.1, 1 / 3, -2.5, 1e-38, 1e-40, 1e-45, 1e-50, -1e-320, 3e38]
NUMBERS += [3.4028234e38, INF, -INF, NAN, 2**24 + 1, 16777219.0, 123456789, 2**-149, -(2**-126)]
NUMBERS += [1 + 2**-24, 1 + 2**-24 + 2**-40, 0.3 + 2**-27, 1e10, 1e-10, 2.0**100]
NUMBERS += [0.01483668852597475, 14.801928520202637, 106.81393432617188]  # need nine digits


def times_many_numbers(x):
    return [x * number for number in NUMBERS] + [x + number for number in NUMBERS]


def test_numbers_are_those_of_float32():
    x = torch.tensor([1.0, -1.0, 3.0, 0.1])
    ours = CompiledGraph(trace(times_many_numbers, x))(x)
    for number, one, other in zip(NUMBERS * 2, ours, times_many_numbers(x), strict=True):
        assert torch.equal(one.isnan(), other.isnan()), number
        assert bits([one.nan_to_num(1)]) == bits([other.nan_to_num(1)]), (number, one, other)


# Without Python -----------------------------------------------------------------------------

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
STRICT += ["-Wno-unused-parameter", "-Wno-unused-function", "-Wno-unknown-pragmas"]
SANITIZE = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def run_compiler(*arguments, **options):
    command = [*find_compiler(), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, **options)


def graph_of(seed):
    program = random_program(seed)
    return program, optimize(trace(program.net, *program.inputs(random.Random(seed), 2)))


STINGY = """\
#include <stdlib.h>
static void *stingy(size_t size) { return size ? malloc(size) : NULL; } /* C allows it */
#define malloc stingy
"""
MAIN = """\
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float *heap(const float *from, size_t count) /* not a number more than is needed */
{
    float *to = malloc(count * sizeof *to);
    if (count && from) memcpy(to, from, count * sizeof *to);
    return to;
}

static void print(float *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) printf("%.9g ", (double)numbers[i]);
    printf("\\n");
    free(numbers);
}

"""


def run_in_c(i, forward, graph, inputs, results, n):
    """C that calls the program with these inputs, in `run{i}`, and prints what comes out."""
    data, body = "", ""
    given = inputs + [node.value.detach() for node in graph.parameters]
    for j, tensor in enumerate(given):
        numbers = [*tensor.reshape(-1).tolist(), 0.0]  # an array must not be empty
        text = ", ".join(f"{number.hex()}f" for number in numbers)
        data += f"static const float data{i}_{j}[] = {{{text}}};\n"
        body += f"    float *x{j} = heap(data{i}_{j}, {tensor.numel()});\n"
    for j, tensor in enumerate(results):
        body += f"    float *y{j} = heap(NULL, {tensor.numel()});\n"
    table = "".join(f"x{j}, " for j in range(len(inputs), len(given)))
    body += f"    const float *const table[] = {{{table}NULL}};\n"
    tensors = [f"x{j}" for j in range(len(inputs))] + [f"y{j}" for j in range(len(results))]
    body += f"    if ({forward}({n}, {', '.join(tensors)}, table)) exit(1);\n"
    body += "".join(f"    print(y{j}, {tensor.numel()});\n" for j, tensor in enumerate(results))
    body += "".join(f"    free(x{j});\n" for j in range(len(given)))
    pointers = ["const float *"] * len(inputs) + ["float *"] * len(results)
    declared = f"int {forward}(ptrdiff_t, {', '.join(pointers)}, const float *const *);\n"
    return f"{declared}{data}static void run{i}(void)\n{{\n{body}}}\n"


BATCHES = [0, 1, 5]
STAND_ALONE = [0, 1, 7, 9, 14, 32, 105, 541]


@cache
def expected(seed):
    """The graph, and for each batch size inputs and what torch makes of them."""
    program, graph = graph_of(seed)
    calls = []
    for n in BATCHES:
        inputs = program.inputs(random.Random(n), n)
        with torch.no_grad():
            results = dict(zip(graph.outputs, as_list(program.net(*inputs)), strict=True))
        calls.append((n, inputs, list(results.values())))
    return graph, calls


def test_c_alone_reads_and_writes_only_its_own_memory(tmp_path):
    """Under the sanitizers, each array just as long as it must be; results against torch."""
    files, calls = [], []
    for seed in STAND_ALONE:
        graph, batches = expected(seed)
        program = tmp_path / f"program{seed}.c"
        program.write_text(f"{STINGY}#define forward forward{seed}\n{c_source(graph)}")
        files.append(program)
        calls += [(seed, graph, *batch) for batch in batches]
    text = MAIN
    for i, (seed, graph, n, inputs, results) in enumerate(calls):
        text += run_in_c(i, f"forward{seed}", graph, inputs, results, n)
    runs = "".join(f"    run{i}();\n" for i in range(len(calls)))
    main = tmp_path / "main.c"
    main.write_text(f"{text}int main(void)\n{{\n{runs}    return 0;\n}}\n")
    done = run_compiler(*STRICT, *SANITIZE, main, *files, "-lm", "-o", tmp_path / "all")
    assert done.stderr == ""
    assert done.returncode == 0
    done = subprocess.run([tmp_path / "all"], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.returncode == 0
    lines = iter(done.stdout.split("\n"))
    for seed, _, n, _, results in calls:
        for result in results:
            numbers = torch.tensor([float(number) for number in next(lines).split()])
            assert_close(numbers.view(result.shape), result, f"seed {seed}, batch {n}")
    assert list(lines) == [""]
