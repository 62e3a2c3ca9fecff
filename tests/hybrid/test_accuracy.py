"""The functions of prelude.c against float64, in units in the last place (ulp), and torch's own."""

import math
import re
from functools import cache

import pytest
import torch
import torch.nn.functional as F

from benchmarks import coefficients
from d2lhybrid import trace
from d2lhybrid.hybrid.codegen import PRELUDE
from d2lhybrid.hybrid.compiler import CompiledGraph
from d2lhybrid.hybrid.operations import OPERATIONS

INF = math.inf


def gelu(x):
    return x / 2 * torch.special.erfc(-x / math.sqrt(2))  # torch's own has no digits left of -5


def gelu_tanh(x):
    return x * torch.sigmoid(math.sqrt(8 / math.pi) * (x + 0.044715 * x**3))


EXACT = {"exp": torch.exp, "log": torch.log, "tanh": torch.tanh, "sigmoid": torch.sigmoid}
EXACT |= {"silu": lambda x: x * torch.sigmoid(x), "gelu": gelu, "gelu_tanh": gelu_tanh}
# How many ulp a result may be off, for x above and up to these. Of all floats, where the processor
# multiplies and adds in one step, and in two: exp 0.9 and 1.2, log 0.9, tanh 1 and 1.1, sigmoid and
# silu 2.5, gelu 5.7 and 7.3, near 0 5. What gelu_tanh's sigmoid is given is rounded: the larger it
# is, the more that counts.
ALLOWED = [
    ("exp", -INF, INF, 1.25),
    ("log", -INF, INF, 1),
    ("tanh", -INF, INF, 1.15),
    ("sigmoid", -INF, INF, 2.6),
    ("silu", -INF, INF, 3),
    ("gelu", -INF, -1, 7.5),
    ("gelu", -1, 1, 5.2),
    ("gelu", 1, INF, 1.5),
    ("gelu_tanh", -INF, -5, 250),
    ("gelu_tanh", -5, -1, 40),
    ("gelu_tanh", -1, INF, 3.5),
]


def compute(name, x):
    graph = trace(OPERATIONS[name].function, x[:, None])
    return CompiledGraph(graph)(x[:, None])[:, 0]


@cache
def floats():
    """Of each exponent and sign 2,048 floats, with denormals and the largest one, in order."""
    bits = torch.arange(0, 0x7F800000, 4099, dtype=torch.int32)
    sizes = torch.cat([bits, torch.tensor([1, 0x7FFFFF, 0x800000, 0x7F7FFFFF])]).int()
    sizes = sizes.view(torch.float32).sort().values
    return torch.cat([-sizes.flip(0), sizes])


@cache
def errors(name):
    """Ours and torch's, at all floats; 0 where nothing is defined."""
    x = floats()
    exact = EXACT[name](x.double())
    _, exponent = torch.frexp(exact)
    ulp = torch.ldexp(torch.ones_like(exact), exponent.clamp(-125) - 24)
    results = compute(name, x), OPERATIONS[name].function(x)
    assert torch.equal(results[0].isnan(), exact.isnan())
    off = [torch.where(r == exact.float(), 0, (r.double() - exact).abs() / ulp) for r in results]
    return [one.nan_to_num(0, posinf=INF) for one in off]


@pytest.mark.parametrize(("name", "low", "high", "allowed"), ALLOWED)
def test_error_is_small_or_smaller_than_that_of_torch(name, low, high, allowed):
    ours, torchs = (one[(floats() > low) & (floats() <= high)].max() for one in errors(name))
    assert ours <= allowed
    assert allowed < 6 or ours < torchs


SPECIAL = [math.nan, INF, -INF, 0.0, -0.0, 1e-45, -1e-45, 1e-40, -1e-40, 2.0**-126, 3.4e38, -3.4e38]
SPECIAL += [88.72, 88.73, -87.34, -103.9, -104.0, 1e30, -1e30, 16777216.0, -14.5]


@pytest.mark.parametrize("name", [*EXACT, "relu", "rsqrt"])
def test_special_values_are_those_of_torch_at_each_place_of_a_vector(name):
    for value in SPECIAL:
        x = torch.full([37], value)
        expected = OPERATIONS[name].function(x.double()).float()
        ours = compute(name, x)
        torch.testing.assert_close(ours, expected, rtol=2e-5, atol=1e-44, equal_nan=True)
        assert torch.equal(ours.signbit()[expected == 0], expected.signbit()[expected == 0])


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("width", [1, 3, 16, 37, 1000])
def test_rows_that_are_large_infinite_or_nan(name, width):
    x = torch.randn(9, width) * torch.tensor([1, 1, 1, 1, 1, 1e-3, 30, 1e4, 1e38])[:, None]
    x[0, 0], x[1, -1], x[2, 0], x[3], x[4] = math.nan, INF, -INF, -INF, 1e30
    function = OPERATIONS[name].function
    ours, expected = CompiledGraph(trace(function, x))(x), function(x.double()).float()
    atol = 1e-44 if name == "softmax" else 1.2e-7  # the largest number's logarithm may be near 0
    torch.testing.assert_close(ours, expected, rtol=1e-5, atol=atol, equal_nan=True)


@pytest.mark.parametrize(("norm", "atol"), [(F.layer_norm, 3e-3), (F.rms_norm, 1e-5)])
def test_norms_of_long_rows(norm, atol):
    x = torch.randn(2, 2**18) + 1e4
    ours = CompiledGraph(trace(lambda x: norm(x, (2**18,)), x))(x)
    torch.testing.assert_close(ours.double(), norm(x.double(), (2**18,)), rtol=0, atol=atol)


def test_coefficients_are_those_that_the_script_finds(capsys):
    coefficients.main()
    found = [float(one) for one in re.findall(r"(-?[\d.e-]+)f\b", capsys.readouterr().out)]
    in_c = {float(one) for one in re.findall(r"(-?\d[\d.e-]*)f\b", PRELUDE)}
    assert len(found) == 5 + 8 + 7 + 10
    for one in found:
        assert one == 1 or any(math.isclose(one, other, rel_tol=0.01) for other in in_c)
