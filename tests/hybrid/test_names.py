"""Names in printed and generated text: words in Python and in C, each different."""

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
    command = [*find_compiler(), "-std=c99", "-dM", "-E", "-xc", "-"]
    text = subprocess.run(command, input=PRELUDE, capture_output=True, text=True, check=True).stdout
    macros = re.findall(r"#define (\w+) ", text)
    assert "NAN" in macros
    graph = Graph("f", tuple(Node("input", name=name) for name in macros), (), ())
    assert not {*graph.names.values()} & {*macros}
