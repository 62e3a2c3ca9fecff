"""The source text: Python that computes what the graph does, and C without warnings or faults."""

import ast
import random
import re
import subprocess
from functools import cache

import pytest
import torch
import torch.nn.functional as F
from random_programs import (
    BATCH,
    as_list,
    assert_close,
    number_function,
    random_program,
    tensor_program,
)
from torch import nn

from d2lhybrid import get_net, run_program, trace
from d2lhybrid.hybrid import guard
from d2lhybrid.hybrid.codegen import PRELUDE, c_source, python_function, python_source
from d2lhybrid.hybrid.codegen.c import c_entry
from d2lhybrid.hybrid.compiler import CompiledGraph
from d2lhybrid.hybrid.graph import Graph, Node, UnsupportedOperation
from d2lhybrid.hybrid.passes import fuse, optimise
from d2lhybrid.hybrid.toolchain import find_compiler
from d2lhybrid.program import straight_line

NAN, INF = float("nan"), float("inf")
X, Y = torch.tensor([[0.5, -1.0, 2.0, 3.0]] * 3), torch.full((3, 4), 0.25)

# Python -------------------------------------------------------------------------------------


def fancy_func(a, b, c, d):
    e = a + b
    f = c + d
    return e + f


def test_fancy_func_is_a_string_program():
    graph = trace(fancy_func, 1, 2, 3, 4)
    text = python_source(graph)
    assert text == (
        "def fancy_func(a, b, c, d):\n"
        "    v1 = a + b\n"
        "    v2 = c + d\n"
        "    v3 = v1 + v2\n"
        "    return v3"
    )
    assert len(straight_line(text)) == 1
    assert run_program(f"{text}\nprint(fancy_func(1, 2, 3, 4))") == "10\n"
    assert python_function(graph)(1, 2, 3, 4) == 10


def test_fancy_func_after_all_passes():
    graph = trace(fancy_func, 1, 2, 3, 4)
    texts = [python_source(optimise(g)) for g in (graph, graph.bind(a=1, b=2, c=3, d=4))]
    assert texts[0] == "def fancy_func(a, b, c, d):\n    v3 = (a + b) + (c + d)\n    return v3"
    assert texts[1] == "def fancy_func():\n    return 10"
    for text, call in zip(texts, ("fancy_func(1, 2, 3, 4)", "fancy_func()")):
        assert run_program(f"{text}\nprint({call})") == "10\n"


def test_the_courses_network_in_full():
    net, x = get_net(), torch.randn(3, 512)
    graph = optimise(trace(net, x))
    assert python_source(graph) == (
        "def Sequential(input):\n"
        "    v2 = relu(linear(input, weight_0, bias_0))\n"
        "    v4 = relu(linear(v2, weight_2, bias_2))\n"
        "    v5 = linear(v4, weight_4, bias_4)\n"
        "    return v5"
    )
    assert torch.equal(python_function(graph)(x), net(x))


def bits(result):
    return [r.numpy().tobytes() if isinstance(r, torch.Tensor) else repr(r) for r in result]


@pytest.mark.parametrize("seed", range(80))
def test_python_computes_what_a_graph_of_numbers_does(seed):
    rng = random.Random(seed)
    graph = trace(number_function(seed), 1, 2, 3, 4).bind(a=rng.choice([1, -0.0, INF, NAN, True]))
    for one in (graph, fuse(graph), optimise(graph)):
        values = rng.choices([1, 2.5, -3, -0.0, True, INF, NAN], k=3)
        try:
            expected = one(*values)
        except ZeroDivisionError:
            with pytest.raises(ZeroDivisionError):
                python_function(one)(*values)
        else:
            assert repr(python_function(one)(*values)) == repr(expected), python_source(one)


@pytest.mark.parametrize("seed", range(40))
def test_python_computes_what_a_graph_of_tensors_does(seed):
    rng = random.Random(seed)
    program = tensor_program(seed)
    graph = trace(program.net, *program.inputs(rng, 2), 1.5)
    values = [*program.inputs(rng, 3), -0.75]
    with torch.no_grad():
        for one in (graph, fuse(graph), optimise(graph)):
            ours, expected = python_function(one)(*values), one(*values)
            assert type(ours) is type(expected)
            assert bits(as_list(ours)) == bits(as_list(expected)), python_source(one)


ALONE = [  # function of x and y, what is stored last
    (lambda x, y: (torch.exp(x) + 1) * 2, "(exp(x) + 1) * 2"),
    (lambda x, y: (F.relu(x) - y) / x, "(relu(x) - y) / x"),
    (lambda x, y: x - (y - x), "x - (y - x)"),
    (lambda x, y: (x - y) - x, "x - y - x"),
    (lambda x, y: x / (y / x), "x / (y / x)"),
    (lambda x, y: x * torch.tanh(x + y), "x * tanh(x + y)"),
    (lambda x, y: -(x + y), "-(x + y)"),
    (lambda x, y: -(-x * y), "-(-x * y)"),
    (lambda x, y: x - -y, "x - -y"),
    (lambda x, y: x * -2, "x * -2"),
    (lambda x, y: 2 - torch.sigmoid(-x), "2 - sigmoid(-x)"),
]


@pytest.mark.parametrize(("function", "text"), ALONE)
def test_parentheses(function, text):
    graph = fuse(trace(function, X, Y))
    line = ast.parse(python_source(graph)).body[0].body[0]
    assert ast.unparse(line.value) == text
    assert torch.equal(python_function(graph)(X, Y), function(X, Y))


def relu(x, linear):
    return torch.relu(x) + F.linear(linear, W, None)


def exp(exp):
    return torch.exp(exp) * INF - NAN


W = torch.eye(4)
NAMED = [
    (lambda x: x + 1, [2]),
    (lambda inf, nan: inf * INF + nan, [2.0, 1]),
    (lambda x: x * NAN, [X]),
    (lambda x: x * -INF, [X]),
    (relu, [X, Y]),
    (exp, [X]),
    (nn.Sequential(nn.Linear(4, 4)), [X]),
    (torch.tanh, [X]),
]


@pytest.mark.parametrize(("function", "values"), NAMED)
@pytest.mark.parametrize("change", [lambda graph: graph, optimise])
def test_names_that_stand_in_the_way(function, values, change):
    graph = change(trace(function, *values))
    with torch.no_grad():
        assert bits([python_function(graph)(*values)]) == bits([function(*values)])


# C, as text ---------------------------------------------------------------------------------

WIDE = torch.ones(4, dtype=torch.float64)
NOT_IN_C = [
    (lambda x: x + 1, [X.double()], "add of float64|input of float64"),
    (lambda x: x + 1, [X.half()], "input of float16"),
    (lambda x: x + 1, [X.bfloat16()], "input of bfloat16"),
    (lambda x: x, [X.double()], "input of float64"),
    (lambda x: (x, WIDE), [X], "parameter of float64"),
    (lambda x: 3, [X], "constant of a number"),
    (lambda x: (x, 3.0), [X], "constant of a number"),
    (lambda x, a: x, [X, 2], "input of a number"),
    (lambda x, a: x * a, [X, 2], "input of a number"),
    (fancy_func, [1, 2, 3, 4], "of a number"),
    (lambda x: x * 1e40, [X], "1e.40 is not supported in C: it is too large"),
    (lambda x: -1e40 + x, [X], "too large"),
    (lambda x: x * 10**39, [X], "too large"),
    (lambda x: x * 10**400, [X], "too large"),
    (lambda x: x * 3.5e38, [X], "too large"),
]


@pytest.mark.parametrize(("function", "examples", "reason"), NOT_IN_C)
def test_what_c_does_not_have(function, examples, reason):
    with pytest.raises(UnsupportedOperation, match=reason):
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


NAMES = "n i j k i0 i1 x_copy y_copy memory parameters dots relu double int register restrict"
NAMES += " forward main malloc NULL NAN INFINITY ptrdiff_t expf inline _Bool _Complex y0 v1 size_t"
NAMES += " errno EOF stdin isnan abs MULTIPLY_ADD x y RAND_MAX EXIT_FAILURE HUGE_VALF FP_NAN linux"
NAMES += (
    " i6 i17 FP_ILOGB0 FP_ILOGBNAN FP_FAST_FMAF __LINE__ __func__ _Generic __int128 _x __x86_64__"
)


def test_names_of_arguments_that_mean_something_in_c():
    names = NAMES.split()
    space = {}
    results = ", ".join([*names[:9], *(f"{name} + 1" for name in names)])
    exec(f"def program({', '.join(names)}):\n    return {results}", space)
    inputs = [torch.full((2, 3), float(i)) for i in range(len(names))]
    ours = CompiledGraph(trace(space["program"], *inputs))(*inputs)
    assert all(map(torch.equal, ours, space["program"](*inputs)))


def test_no_macro_of_c_can_be_the_name_of_a_variable():
    command = [*find_compiler(), "-std=c99", "-dM", "-E", "-"]
    text = subprocess.run(command, input=PRELUDE, capture_output=True, text=True, check=True).stdout
    macros = re.findall(r"#define (\w+) ", text)
    assert "NAN" in macros
    graph = Graph("f", tuple(Node("input", name=name) for name in macros), (), ())
    assert not {*graph.names.values()} & {*macros}


class OddNames(nn.Module):
    def __init__(self):
        super().__init__()
        self.listed = nn.ParameterList([torch.full((4,), 2.0), torch.full((4,), 3.0)])
        self.keyed = nn.ParameterDict({"0": torch.ones(4), "größe": torch.ones(4)})
        for name in ("n", "int", "i", "lambda", "memory", "x*/"):
            self.register_parameter(name, nn.Parameter(torch.rand(4)))

    def forward(self, x):
        for parameter in self.parameters():
            x = x * parameter
        return x


def test_names_of_parameters_that_mean_something_in_c():
    net = OddNames()
    with torch.no_grad():
        torch.testing.assert_close(CompiledGraph(trace(net, X))(X), net(X))


# C, on its own ------------------------------------------------------------------------------

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
STRICT += ["-Wno-unused-parameter", "-Wno-unused-function", "-Wno-unknown-pragmas"]
SANITIZE = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def compiler(*arguments, **options):
    command = [*find_compiler(), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, **options)


def graph_of(seed):
    program = random_program(seed)
    return program, optimise(trace(program.net, *program.inputs(random.Random(seed), 2)))


def test_c_has_no_warnings(tmp_path):
    files = [tmp_path / f"program{seed}.c" for seed in range(40)]
    for seed, file in enumerate(files):
        graph = graph_of(seed)[1]
        file.write_text(c_source(graph) + c_entry(graph))
    files.append(tmp_path / "guard.c")
    files[-1].write_text(guard.SOURCE)
    files.append(tmp_path / "numbers.c")
    files[-1].write_text(c_source(optimise(trace(times_many_numbers, X))))
    done = compiler(*STRICT, "-fsyntax-only", *files)
    assert done.stderr == ""
    assert done.returncode == 0


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
STAND_ALONE = [3, 4, 8, 14, 19, 104, 185, 194]


@cache
def expected(seed):
    """The graph, and for each batch size inputs and what torch makes of them."""
    program, graph = graph_of(seed)
    calls = []
    for n in BATCHES:
        inputs = program.inputs(random.Random(n), n)
        with torch.no_grad():
            results = dict(zip(graph.outputs, as_list(program.net(*inputs))))
        calls.append((n, inputs, list(results.values())))
    return graph, calls


def test_the_seeds_cover_what_matters():
    programs = [random_program(seed) for seed in STAND_ALONE]
    shapes = [shape for program in programs for shape in program.shapes]
    assert {len(shape) for shape in shapes} == {0, 1, 2, 3}
    graphs = [expected(seed)[0] for seed in STAND_ALONE]
    assert any(len(set(graph.outputs)) > 1 for graph in graphs)
    assert any(len(set(graph.outputs)) < len(graph.outputs) for graph in graphs)
    assert any(output in graph.inputs for graph in graphs for output in graph.outputs)
    kept = [{node.shape[:1] for node in g.nodes if node.slot is not None} for g in graphs]
    assert any((BATCH,) in shapes and len(shapes) > 1 for shapes in kept)


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
    done = compiler(*STRICT, *SANITIZE, main, *files, "-lm", "-o", tmp_path / "all")
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
