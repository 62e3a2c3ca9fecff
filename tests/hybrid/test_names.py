"""Names in printed and generated text: words in Python and in C, each different."""

import keyword
import re
import subprocess

import pytest
import torch
from hybrid_helpers import write
from torch import nn

from d2lhybrid import trace
from d2lhybrid.hybrid.codegen import PRELUDE
from d2lhybrid.hybrid.compiler import CompiledGraph
from d2lhybrid.hybrid.graph import Graph, Node, unique_name
from d2lhybrid.toolchain import find_compiler

PREFERRED = [  # the preferred names, one after the other, and those that come out
    (["x", "x", "x"], ["x", "x_2", "x_3"]),
    (["x_2", "x", "x"], ["x_2", "x", "x_3"]),
    (["int", "lambda", "n", "fmaf"], ["int_2", "lambda_2", "n_2", "fmaf_2"]),
    (["größe", "1", "a-b", "a b"], ["gr__e", "_1", "a_b", "a_b_2"]),
    (["i7", "i", "FP_NAN", "_Xy", "_x"], ["the_i7", "i_2", "the_FP_NAN", "the__Xy", "_x"]),
    (["given"], ["given_2"]),
]


@pytest.mark.parametrize(("preferred", "names"), PREFERRED)
def test_names_are_unique_words(preferred, names):
    taken = {"given"}
    assert [unique_name(name, taken) for name in preferred] == names


def names_of(graph):
    return list(graph.names.values())


ARGUMENTS = [  # what the user calls an argument, and what it is called in the text
    *[("x", "x"), ("double", "double_2"), ("n", "n_2"), ("linear", "linear_2")],
    *[("relu", "relu_2"), ("v1", "v1"), ("_", "_"), ("größe", "gr__e")],
]


@pytest.mark.parametrize(("argument", "name"), ARGUMENTS)
def test_names_of_arguments(argument, name):
    function = write(f"def program({argument}):\n    return {argument} + 1\n")
    assert names_of(trace(function, 1)) == [name, "v1_2" if argument == "v1" else "v1"]


def test_arguments_without_a_name_are_numbered():
    def function(x, *others):
        return x + sum(others)

    assert names_of(trace(function, 1, 2, 3))[:3] == ["x", "x2", "x3"]


class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.a_b = nn.Linear(4, 4, bias=False), nn.ParameterList([torch.ones(4)])
        self.b = nn.ParameterDict({key: torch.rand(4) for key in ("1", "a-b", "a b", "größe")})
        for name in ("n", "lambda", "weight_a", "int", "x", "i", "memory", "x*/"):
            self.register_parameter(name, nn.Parameter(torch.rand(4)))
        self.plain = torch.ones(4)

    def forward(self, x):
        x = self.a(x)
        for parameter in (*self.parameters(), self.plain):
            if parameter.dim() == 1:
                x = x * parameter
        return x


def test_names_of_parameters_are_words_and_differ():
    net, x = Odd(), torch.randn(3, 4)
    names = names_of(trace(net, x))
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() and name.isascii() for name in names)
    assert {"x", "x_2", "n_2", "lambda_2", "int_2", "weight_a", "weight_a_2"} <= set(names)
    with torch.no_grad():
        torch.testing.assert_close(CompiledGraph(trace(net, x))(x), net(x))


NAMES = "n i j k i0 i1 x_copy y_copy memory parameters dots relu double int register restrict"
NAMES += " forward main malloc NULL NAN INFINITY ptrdiff_t expf inline _Bool _Complex y0 v1 size_t"
NAMES += " errno EOF stdin isnan abs MULTIPLY_ADD x y RAND_MAX EXIT_FAILURE HUGE_VALF FP_NAN linux"
NAMES += " i6 i17 FP_ILOGB0 FP_FAST_FMAF __LINE__ __func__ _Generic __int128 _x __x86_64__"


def test_names_of_arguments_that_mean_something_in_c():
    names = NAMES.split()
    results = ", ".join([*names[:9], *(f"{name} + 1" for name in names)])
    program = write(f"def program({', '.join(names)}):\n    return {results}")
    inputs = [torch.full((2, 3), float(i)) for i in range(len(names))]
    assert all(map(torch.equal, CompiledGraph(trace(program, *inputs))(*inputs), program(*inputs)))


def test_no_macro_of_c_can_be_the_name_of_a_variable():
    command = [*find_compiler(), "-std=c99", "-dM", "-E", "-"]
    text = subprocess.run(command, input=PRELUDE, capture_output=True, text=True, check=True).stdout
    macros = re.findall(r"#define (\w+) ", text)
    assert "NAN" in macros
    graph = Graph("f", tuple(Node("input", name=name) for name in macros), (), ())
    assert not {*graph.names.values()} & {*macros}


def test_every_word_of_the_prelude_can_be_the_name_of_a_weight():
    words = {*re.findall(r"\b[A-Za-z_]\w*", PRELUDE)} - {*keyword.kwlist, "x", "program"}
    assert {"lanes", "few", "panel", "vector", "total", "EACH", "add_tile", "dots"} <= words
    weights = {word: torch.randint(1, 3, (26,)) * 2.0 - 3 for word in sorted(words)}  # 1 or -1
    lines = "\n".join(f"    x = x * {word}" for word in weights)
    text = f"def program(x):\n{lines}\n    return linear(x, the_last).relu()\n"
    last = torch.eye(26)[torch.randperm(26)]
    program = write(text, linear=nn.functional.linear, the_last=last, **weights)
    for n in (1, 3, 40):
        x = torch.randn(n, 26)
        assert torch.equal(CompiledGraph(trace(program, x))(x), program(x))
