"""hybridize: it computes what torch computes, notices what has changed, and refuses the rest."""

import _thread
import copy
import ctypes
import gc
import os
import pickle
import platform
import re
import signal
import sys
import tempfile
import threading
import time
from cProfile import Profile
from functools import lru_cache, partial
from pathlib import Path
from pstats import Stats

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from random_programs import LAYOUTS, assert_close, check_program
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode

from d2lhybrid import get_net, hybridize, trace
from d2lhybrid.hybrid import compiler, guard, toolchain
from d2lhybrid.hybrid.codegen import python_function
from d2lhybrid.hybrid.compiler import CompiledGraph
from d2lhybrid.hybrid.graph import UnsupportedOperation
from d2lhybrid.hybrid.inputs import admitted
from d2lhybrid.hybrid.passes import optimise
from d2lhybrid.hybrid.recorder import RecordingError, Symbol
from d2lhybrid.hybrid.toolchain import CompilationFailed, CompilerNotFound, load_library

NAN, INF = float("nan"), float("inf")
BUDGET, AT_LEAST, PROGRAMS = 25, 40, 300  # seconds, and programs


def test_random_programs_agree_with_torch():
    end = time.monotonic() + BUDGET
    done = 0
    for seed in range(PROGRAMS):
        if done >= AT_LEAST and time.monotonic() > end:
            break
        check_program(seed)
        done += 1
    assert done >= AT_LEAST


def make_net(dropout=False):
    layers = [nn.Linear(4, 4), nn.ReLU(), *[nn.Dropout()] * dropout, nn.Linear(4, 4)]
    return nn.Sequential(*layers).eval()


@pytest.fixture
def net():
    return make_net()


@pytest.fixture
def x():
    return torch.linspace(-2, 2, 12).view(3, 4)


@pytest.fixture(scope="module")
def collect():
    """Collects garbage, but does not look through all of torch each time."""
    gc.collect()
    gc.freeze()
    yield gc.collect
    gc.unfreeze()


def assert_agrees(fast, net, *inputs):
    with torch.no_grad():
        ours, torchs = fast(*inputs), net(*inputs)
    assert not ours.requires_grad
    assert_close(ours, torchs, "compiled")


# Values -------------------------------------------------------------------------------------


def test_the_courses_network():
    net = get_net()
    fast = hybridize(net, torch.randn(1, 512))
    for batch in (1, 0, 2, 33):
        assert_agrees(fast, net, torch.randn(batch, 512))
    assert fast.compilations == 1


DENORMALS = [2.0**-149, -(2.0**-149), 1e-40, -1e-40, 2.0**-126, 0.0, -0.0, 1.0]
EXACT = [
    lambda x: x + x,
    lambda x: x * 0.5,
    lambda x: x * 0.25 - x,
    lambda x: x / 3,
    lambda x: -x,
    lambda x: torch.relu(x),
    lambda x: torch.relu(-x) + x,
    lambda x: 1e-38 * x / 1e-38,
    lambda x: x * x - x * x,
    lambda x: x * 0.1 + x,  # two roundings, not one
    lambda x: x * x - x * 0.3,
]


@pytest.mark.parametrize("function", EXACT)
def test_elementary_arithmetic_is_exact(function):
    some = torch.tensor([*DENORMALS, NAN, INF, -INF, 3e38, -3e38, 0.1, 1 / 3, -7.7])
    x = torch.cat([some, torch.linspace(-3, 3, 1001)])
    ours, torchs = hybridize(function, x)(x), function(x)
    assert torch.equal(ours.isnan(), torchs.isnan())
    number = ~torchs.isnan()
    assert torch.equal(ours[number], torchs[number])
    # an infinity tells the zeros apart
    assert torch.equal(1 / ours[number & (x != 0)], 1 / torchs[number & (x != 0)])


EXTREMES = [-INF, -1e30, -120, -104, -88.8, -87.4, -20, -9.1, -1e-4, -1e-40, -0.0]
SMOOTH = [torch.sigmoid, torch.tanh, torch.exp]


@pytest.mark.parametrize("function", SMOOTH)
def test_smooth_functions_at_their_extremes(function):
    some = torch.tensor([*EXTREMES, NAN, *[-x for x in EXTREMES]])
    x = torch.cat([some, torch.linspace(-20, 20, 2001)])
    ours, torchs, exact = hybridize(function, x)(x), function(x), function(x.double())
    assert torch.equal(ours.isnan(), torchs.isnan())
    assert torch.equal(ours.isinf(), torchs.isinf())
    number = torchs.isfinite()
    error = (ours.double() - exact)[number].abs() / exact[number].abs().clamp(min=2**-126)
    assert error.max() <= 4 * 2**-23


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 8, 9])
def test_long_sums_are_about_as_exact_as_torchs(rows):
    chance = torch.Generator().manual_seed(rows)
    weight, x = torch.rand(rows, 4096, generator=chance), torch.rand(300, 4096, generator=chance)
    exact = F.linear(x.double(), weight.double())
    ours, torchs = (
        ((result - exact) / exact).abs().max().item()
        for result in (hybridize(lambda x: F.linear(x, weight), x)(x), F.linear(x, weight))
    )
    assert ours <= 4 * max(torchs, 2**-23)


def test_one_wrong_number_stays_in_its_row(net, x):
    fast = hybridize(net, x)
    clean = fast(x)
    for special in (NAN, INF, -INF, 1e38):
        spoilt = x.clone()
        spoilt[1, 2] = special
        result = fast(spoilt)
        assert torch.equal(result[[0, 2]], clean[[0, 2]])
        assert_close(result, net(spoilt).detach(), f"{special} in one row", rows=True)


class TwoInputs(nn.Module):
    def forward(self, x, y):
        return x * y, [x, y][0], torch.tanh(y)


def test_results_are_new_tensors_in_the_form_that_the_network_has(x):
    fast = hybridize(TwoInputs(), x, x)
    product, first, tanh = fast(x, x + 1)
    assert torch.equal(product, x * (x + 1))
    assert torch.equal(first, x)
    assert torch.equal(tanh, hybridize(torch.tanh, x)(x + 1))
    first.zero_()
    assert x.any(), "the result is a copy"
    again = fast(x, x)
    assert torch.equal(product, x * (x + 1)), "and the next call has others"
    assert type(again) is tuple
    assert type(hybridize(lambda x: [x + 1], x)(x)) is list


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("shape", [(4,), (3, 4), (1, 4), (2, 3, 4)])
def test_inputs_laid_out_in_any_way(net, layout, shape):
    x = torch.randn(shape)
    fast = hybridize(net, layout(x))
    for one in (layout(x), layout(x + 1), x):
        assert_agrees(fast, net, one)


def test_c_never_sees_a_misaligned_address(net, x, monkeypatch):
    """This processor may not mind, others do: see that the number is copied, each time."""
    copied = []

    def admit(tensor):
        copied.append(admitted(tensor))
        return copied[-1]

    fast = hybridize(net, x)
    fast(x)
    monkeypatch.setattr("d2lhybrid.hybrid.compiler.admitted", admit)
    assert_agrees(fast, net, x)
    assert not copied, "what is in order is not looked at again"
    for _ in range(2):
        assert_agrees(fast, net, LAYOUTS["misaligned"](x))
    assert [tensor.data_ptr() % 4 for tensor in copied] == [0, 0]


def test_expanded_and_broadcast_inputs(net):
    fast = hybridize(net, torch.ones(2, 4))
    for x in (
        torch.randn(1, 4).expand(5, 4),
        torch.randn(5, 1).expand(5, 4),
        torch.randn(8, 8)[::3, ::2],
    ):
        assert_agrees(fast, net, x)


def test_inputs_that_are_stored_with_the_other_sign(net):
    x = torch.complex(torch.ones(1, 4), torch.ones(1, 4)).conj().imag
    fast = hybridize(net, x)
    assert_agrees(fast, net, x)
    square = hybridize(lambda x: x + 1, torch.ones(1, 1))
    negative = torch.complex(torch.ones(1, 1), torch.full((1, 1), 2.0)).conj().imag
    assert square(negative).item() == -1


def test_a_parameter_that_is_stored_with_the_other_sign_is_refused():
    scale = torch.complex(torch.ones(1), torch.ones(1)).conj().imag
    with pytest.raises(TypeError, match="scale must be contiguous"):
        hybridize(lambda x: x * scale, X)


def test_features_of_no_size():
    with pytest.warns(UserWarning, match="zero-element"):
        net = nn.Linear(0, 3)
    fast = hybridize(net, torch.ones(2, 0))
    assert_agrees(fast, net, torch.ones(5, 0))
    assert hybridize(torch.relu, torch.ones(2, 0))(torch.ones(4, 0)).shape == (4, 0)


def test_a_number_of_no_axes():
    fast = hybridize(lambda x: x * 2 + 1, torch.tensor(3.0))
    assert fast(torch.tensor(4.0)).item() == 9
    assert fast(torch.tensor(4.0)).shape == ()


def test_many_values_at_once_find_their_places():
    """Values of several sizes, with and without a batch, that live side by side."""

    w, v = torch.randn(6, 4), torch.randn(3, 6)

    def function(x, y):
        a, b = F.linear(x, w), F.linear(y, w)
        c, d = F.linear(torch.tanh(a), v), F.linear(torch.exp(b), v)
        e = F.linear(a * b - 1, v)
        return torch.relu(c + d) * e, F.linear(b, v) + e, d

    x, y = torch.randn(5, 4), torch.randn(4)
    fast = hybridize(function, x, y)
    for batch in (1, 5, 0, 11):
        x, y = torch.randn(batch, 4), torch.randn(4)
        assert_close(fast(x, y), function(x, y), "values side by side")


# Inputs that are refused --------------------------------------------------------------------

X = torch.ones(3, 4)
BAD_INPUTS = [  # arguments, the error, what it says
    ([X.double()], TypeError, "of type float32 and on the CPU, not float64 on cpu"),
    ([X.half()], TypeError, "not float16 on cpu"),
    ([X.bfloat16()], TypeError, "not bfloat16 on cpu"),
    ([X.int()], TypeError, "not int32 on cpu"),
    ([X.long()], TypeError, "not int64 on cpu"),
    ([X.bool()], TypeError, "not bool on cpu"),
    ([X.cfloat()], TypeError, "not complex64 on cpu"),
    ([X.to("meta")], TypeError, "not float32 on meta"),
    ([X.to_sparse()], TypeError, "of the ordinary kind, not torch.sparse_coo"),
    ([X.tolist()], TypeError, "a tensor of the ordinary kind, not list"),
    ([X.numpy()], TypeError, "a tensor of the ordinary kind, not ndarray"),
    ([None], TypeError, "a tensor of the ordinary kind, not NoneType"),
    ([1.5], TypeError, "a tensor of the ordinary kind, not float"),
    (["x"], TypeError, "a tensor of the ordinary kind, not str"),
    ([X.as_subclass(type("Mine", (torch.Tensor,), {}))], TypeError, "ordinary kind"),
    ([X.clone().requires_grad_()], RuntimeError, "an input requires gradients"),
    ([nn.Parameter(X)], RuntimeError, "an input requires gradients"),
    ([X.clone().requires_grad_() * 2], RuntimeError, "an input requires gradients"),
    ([torch.ones(3, 5)], ValueError, "the weight takes 4 features"),
    ([torch.ones(4, 3)], ValueError, "the weight takes 4 features"),
    ([torch.ones(2, 4, 5)], ValueError, "the weight takes 4 features"),
    ([torch.ones(5)], ValueError, "the weight takes 4 features"),
    ([torch.tensor(1.0)], ValueError, "the weight takes 4 features"),
    ([torch.ones(3, 0)], ValueError, "the weight takes 4 features"),
    ([], TypeError, r"argument|expected 1 input\(s\), got 0"),
    ([X, X], TypeError, r"argument|expected 1 input\(s\), got 2"),
]


@pytest.mark.parametrize(("arguments", "error", "reason"), BAD_INPUTS)
def test_bad_inputs(net, arguments, error, reason):
    fast = hybridize(net, X)
    with pytest.raises(error, match=reason):
        fast(*arguments)
    assert fast.compilations == 1
    assert_agrees(fast, net, X)


@pytest.mark.parametrize(("arguments", "error", "reason"), BAD_INPUTS)
def test_bad_examples(net, arguments, error, reason):
    with pytest.raises(error, match=reason):
        hybridize(net, *arguments)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_inputs_that_require_gradients_where_none_are_taken(net, mode):
    x = torch.randn(3, 4, requires_grad=True)
    with mode():
        fast = hybridize(net, x)
        for one in (x, x * 2, nn.Parameter(x.detach())):
            assert_agrees(fast, net, one)
    with pytest.raises(RuntimeError, match="no_grad"):
        fast(x)
    assert_agrees(fast, net, x.detach())


TWO_INPUTS = [  # two shapes, the error
    ([(2, 4), (3, 4)], "the inputs have batches of 2 and 3"),
    ([(0, 4), (1, 4)], "the inputs have batches of 0 and 1"),
    ([(1, 4), (2, 4)], "the inputs have batches of 1 and 2"),
    ([(2, 4), (2, 5)], "a size of 5 does not go with 4"),
]


@pytest.mark.parametrize(("shapes", "reason"), TWO_INPUTS)
def test_two_inputs_that_do_not_fit(shapes, reason):
    fast = hybridize(lambda x, y: x + y, X, X)
    with pytest.raises(ValueError, match=reason):
        fast(*map(torch.ones, shapes))
    with pytest.raises(TypeError):
        fast(X)
    assert torch.equal(fast(X, X), X + X)


@pytest.mark.parametrize("shape", [(3, 5), (3, 4, 1), (4,), (3, 0), ()])
def test_a_program_takes_its_shapes_alone(net, shape):
    compiled = CompiledGraph(trace(net, X))
    assert_agrees(compiled, net, X)
    with pytest.raises(ValueError, match=r"input is float32\[n, 4\], and the input has"):
        compiled(torch.ones(shape))


def test_a_network_that_changes_its_input_or_needs_more_is_refused():
    with pytest.raises(RecordingError, match="in place"):
        hybridize(nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True)), X)
    with pytest.raises(UnsupportedOperation, match="gelu"):
        hybridize(nn.Sequential(nn.Linear(4, 4), nn.GELU()), X)
    with pytest.raises(UnsupportedOperation, match="constant of a number"):
        hybridize(lambda x: 3, X)


def with_weight(weight):
    net = nn.Linear(4, 4)
    net.weight = nn.Parameter(weight)
    return net


BAD_PARAMETERS = [
    (
        lambda: nn.Linear(4, 4, device="meta"),
        TypeError,
        "weight must be contiguous, aligned and on the CPU",
    ),
    (lambda: with_weight(torch.randn(4, 4).t()), TypeError, "weight must be contiguous"),
    (lambda: with_weight(torch.randn(4, 8)[:, ::2]), TypeError, "weight must be contiguous"),
    (lambda: with_weight(torch.randn(1, 4).expand(4, 4)), TypeError, "must be contiguous"),
    (lambda: nn.Linear(4, 4).double(), UnsupportedOperation, "float32 and torch.float64"),
    (lambda: nn.Linear(4, 4).half(), UnsupportedOperation, "float16 and torch.float32"),
]


@pytest.mark.parametrize(("make", "error", "reason"), BAD_PARAMETERS)
def test_bad_parameters(make, error, reason):
    with pytest.raises(error, match=reason):
        hybridize(make(), X)


def test_a_parameter_without_memory(net, x):
    fast = hybridize(net.requires_grad_(False), x)
    net[0].weight.untyped_storage().resize_(0)
    with pytest.raises(TypeError, match=r"0\.weight must be contiguous, aligned and on the CPU"):
        fast(x)


def test_a_misaligned_parameter():
    scale = torch.frombuffer(bytearray(20), dtype=torch.float32, offset=1, count=4)
    with pytest.raises(TypeError, match="scale must be contiguous"):
        hybridize(lambda x: x * scale, X)


def test_a_sparse_parameter():
    weight = torch.ones(4).to_sparse()
    with pytest.raises((TypeError, RuntimeError)):
        hybridize(lambda x: x + weight, X)


# Weights that change ------------------------------------------------------------------------


def test_weights_changed_in_place_are_seen(net, x):
    fast = hybridize(net, x)
    with torch.no_grad():
        net[0].weight.mul_(-2)
        assert_agrees(fast, net, x)
        net[2].bias[1] = 100
        assert_agrees(fast, net, x)
        net.load_state_dict(make_net().state_dict())
        assert_agrees(fast, net, x)
    assert fast.compilations == 1


def test_training_goes_on(net, x):
    fast = hybridize(net, x)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        optimiser.zero_grad()
        net(x).square().sum().backward()
        optimiser.step()
        assert_agrees(fast, net, x)
    assert fast.compilations == 1


def replace_data(net):
    net[0].weight.data = torch.randn(4, 4)


def replace_bias_data(net):
    net[0].bias.data = torch.randn(4)


def assign_state(net):
    net.load_state_dict(make_net().state_dict(), assign=True)


def replace_parameter(net):
    net[0].weight = nn.Parameter(torch.randn(4, 4))


def exchange_parameters(net):
    net[0].weight, net[2].weight = net[2].weight, net[0].weight


def exchange_data(net):
    net[0].weight.data, net[2].weight.data = net[2].weight.data, net[0].weight.data


def swap_tensors(net):
    torch.utils.swap_tensors(net[0].weight, nn.Parameter(torch.randn(4, 4)))


def tie(net):
    net[0].weight = net[2].weight


def drop_bias(net):
    net[0].bias = None


def replace_layer(net):
    net[0] = nn.Linear(4, 4)


def replace_layer_by_wider(net):
    net[2] = nn.Linear(4, 7)


def replace_activation(net):
    net[1] = nn.Tanh()


def append(net):
    net.append(nn.Sigmoid())


def insert(net):
    net.insert(1, nn.Linear(4, 4))


def pop(net):
    net.pop(2)


def delete(net):
    del net[1]


def reverse(net):
    net[0], net[2] = net[2], net[0]


def fewer_rows(net):
    net[2].weight.data, net[2].bias.data = net[2].weight.data[:2], net[2].bias.data[:2]


def one_number_for_all(net):
    net[2].bias.data = net[2].bias.data[:1].expand(4)


def share_memory(net):
    net.share_memory()


def to_and_fro(net):
    net.double().float()


CHANGES = [replace_data, replace_bias_data, assign_state, replace_parameter, exchange_parameters]
CHANGES += [exchange_data, swap_tensors, tie, drop_bias, replace_layer, replace_layer_by_wider]
CHANGES += [replace_activation, append, insert, pop, delete, reverse]
CHANGES += [share_memory, to_and_fro]


def call_or_error(net, x):
    try:
        with torch.no_grad():
            return net(x)
    except (RuntimeError, ValueError, TypeError, NotImplementedError) as error:
        return error


def assert_agrees_or_refuses(fast, net, x):
    """It may refuse what torch computes, but never compute what torch does not."""
    ours, torchs = call_or_error(fast, x), call_or_error(net, x)
    if not isinstance(ours, Exception):
        assert not isinstance(torchs, Exception), torchs
        assert_close(ours, torchs, "after the change")
    return ours


@pytest.mark.parametrize("change", CHANGES)
def test_changes_of_the_network_are_noticed(net, x, change):
    fast = hybridize(net, x)
    change(net)
    for _ in range(2):
        for one in (x, x[:1], x):
            ours = assert_agrees_or_refuses(fast, net, one)
            assert isinstance(ours, torch.Tensor), ours


def test_a_bias_that_comes_later(x):
    net = nn.Linear(4, 4, bias=False)
    fast = hybridize(net, x)
    net.bias = nn.Parameter(torch.randn(4))
    assert_agrees(fast, net, x)


def test_a_buffer_that_comes_later(x):
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("scale", None)

        def forward(self, x):
            return x + 1 if self.scale is None else x * self.scale

    net = Scaled()
    fast = hybridize(net, x)
    net.scale = torch.ones(4)
    assert_agrees(fast, net, x)


def test_a_layer_in_what_was_empty(x):
    net = nn.Sequential(nn.Linear(4, 4), nn.Sequential())
    fast = hybridize(net, x)
    net[1].append(nn.ReLU())
    assert_agrees(fast, net, x)


def test_a_transposed_square_weight_is_not_taken_for_the_same(net, x):
    fast = hybridize(net, x)
    net[0].weight.data = net[0].weight.data.t()
    with pytest.raises(TypeError, match="weight must be contiguous"):
        fast(x)
    net[0].weight.data = net[0].weight.data.contiguous()
    assert_agrees(fast, net, x)


@pytest.mark.parametrize("change", [fewer_rows, one_number_for_all])
def test_another_view_of_its_own_memory_is_right_if_hybridized_again(net, x, change):
    hybridize(net, x)
    change(net)
    ours, torchs = call_or_error(lambda x: hybridize(net, x)(x), x), call_or_error(net, x)
    assert isinstance(ours, TypeError) or torch.allclose(ours, torchs, atol=1e-6)


WRONG_FROM_NOW_ON = [
    (lambda net: net.double(), UnsupportedOperation, "float32 and torch.float64"),
    (lambda net: net.half(), UnsupportedOperation, "float16 and torch.float32"),
    (lambda net: net.to("meta"), TypeError, "on the CPU"),
    (lambda net: net.to_empty(device="meta"), TypeError, "on the CPU"),
    (lambda net: net.append(nn.GELU()), UnsupportedOperation, "gelu"),
    (lambda net: net.append(nn.ReLU(inplace=True)), RecordingError, "in place"),
    (lambda net: net.append(nn.Dropout()), UnsupportedOperation, "dropout in training"),
    (lambda net: net.append(nn.Linear(3, 3)), ValueError, "the weight takes 3 features"),
    (lambda net: nn.utils.parametrizations.weight_norm(net[0]), RecordingError, "computed from"),
    (lambda net: net.__delitem__(0) or delattr(net[1], "weight"), AttributeError, "weight"),
]


@pytest.mark.parametrize(("change", "error", "reason"), WRONG_FROM_NOW_ON)
def test_changes_that_cannot_be_compiled_are_refused_and_can_be_undone(x, change, error, reason):
    net = make_net()
    layers = [copy.deepcopy(layer) for layer in net]
    fast = hybridize(net, x)
    change(net)
    for _ in range(2):
        with pytest.raises(error, match=reason):
            fast(x)
    while len(net):
        net.pop(0)
    net.extend(layers)
    assert_agrees(fast, net, x)


def test_tied_weights_and_later_untied(x):
    net = make_net()
    net[2].weight = net[0].weight
    fast = hybridize(net, x)
    with torch.no_grad():
        net[0].weight.add_(1)
    assert_agrees(fast, net, x)
    net[2].weight = nn.Parameter(torch.randn(4, 4))
    assert_agrees(fast, net, x)
    net[0].weight = nn.Parameter(torch.randn(4, 4))
    assert_agrees(fast, net, x)
    net[2].weight = net[0].weight
    assert_agrees(fast, net, x)


class Tensors(nn.Module):
    """Keeps tensors in every way in which a module can."""

    def __init__(self):
        super().__init__()
        self.register_buffer("buffer", torch.randn(4))
        self.plain = torch.randn(4)
        self.listed = nn.ParameterList([torch.randn(4)])
        self.parts = nn.ModuleDict({"a": nn.Linear(4, 4)})

    def forward(self, x):
        return self.parts["a"](x * self.buffer + self.plain) - self.listed[0]


def replace_buffer(net):
    net.buffer = torch.randn(4)


def replace_plain(net):
    net.plain = torch.randn(4)


def replace_listed(net):
    net.listed[0] = nn.Parameter(torch.randn(4))


def replace_in_dict(net):
    net.parts["a"] = nn.Linear(4, 4)


def replace_dict(net):
    net.parts = nn.ModuleDict({"a": nn.Linear(4, 4)})


def replace_list(net):
    net.listed = nn.ParameterList([torch.randn(4)])


REPLACED = [replace_buffer, replace_plain, replace_listed, replace_in_dict]


@pytest.mark.parametrize("change", [*REPLACED, replace_dict, replace_list])
def test_tensors_and_layers_kept_in_every_way(x, change):
    net = Tensors()
    fast = hybridize(net, x)
    for _ in range(3):
        change(net)
        assert_agrees(fast, net, x)


CLOSED_OVER = [replace_data, assign_state, replace_parameter, replace_layer, replace_activation]


@pytest.mark.parametrize("change", CLOSED_OVER)
def test_a_function_that_calls_a_network(net, x, change):
    def function(x):
        return net(x) * 2

    fast = hybridize(function, x)
    change(net)
    assert_agrees(fast, function, x)


def test_a_bound_method(net, x):
    fast = hybridize(net.forward, x)
    replace_layer(net)
    assert_agrees(fast, net, x)


# However a function comes to its network.


def helper(x, net):
    return net(x)


class Keeper:
    """No module, but it keeps one."""

    def __init__(self, net):
        self.net = net

    def __call__(self, x):
        return self.net(x)

    def predict(self, x):
        return self.net[2](self.net[1](F.linear(x, self.net[0].weight, self.net[0].bias)))


def undecorated(function):
    def wrapper(*args):
        return function(*args)

    return wrapper


def default_of(net):
    def function(x, net=net):
        return net(x)

    return function


def nested(net):
    def inner(x):
        return net(x)

    return lambda x: inner(x) * 2


WAYS = {
    "no_grad around a function": lambda net: torch.no_grad()(lambda x: net(x)),
    "no_grad around a method": lambda net: torch.no_grad()(net.forward),
    "a decorator without a trace": lambda net: undecorated(net),
    "a partial": lambda net: partial(helper, net=net),
    "a partial of the network": lambda net: partial(net),
    "a default argument": default_of,
    "a helper": nested,
    "a list": lambda net: lambda x, nets=(net,): nets[0](x),
    "an object": Keeper,
    "an object's method": lambda net: Keeper(net).predict,
    "its parts": lambda net: lambda x, parts=[*net]: parts[2](parts[1](parts[0](x))),
}


@pytest.mark.parametrize("change", [replace_parameter, replace_data, assign_state])
@pytest.mark.parametrize("way", WAYS)
def test_a_weight_is_replaced_however_the_network_is_reached(net, x, way, change):
    function = WAYS[way](net)
    fast = hybridize(function, x)
    for _ in range(2):
        change(net)
        assert_agrees(fast, function, x)
    assert fast.holds()
    assert fast.compilations == 1


@pytest.mark.parametrize("way", [way for way in WAYS if way != "its parts"])
def test_a_layer_is_replaced_however_the_network_is_reached(net, x, way):
    function = WAYS[way](net)
    fast = hybridize(function, x)
    for _ in range(2):
        replace_layer(net)
        assert_agrees(fast, function, x)


def test_tensors_in_variables(x):
    shift = torch.randn(4)
    space = {
        "scale": torch.randn(4),
        "relu": torch.relu,
        "gone": None,
        "sum": lambda x: x[0] + x[1],
    }
    text = "sum([relu(x) * scale for _ in range(2)]) + (lambda y: y * scale)(x) + len(str(gone))"
    exec(f"def inner(x):\n    return {text}", space)
    inner = space["inner"]

    def function(x):
        return inner(x) + shift

    fast = hybridize(function, x)
    for _ in range(2):
        space["scale"], shift = torch.randn(4), torch.randn(4)
        assert_agrees(fast, function, x)
    assert fast.compilations == 1


class Lists(nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = [torch.randn(4)]

    def forward(self, x):
        return x * self.scales[0]


def dice(kind):
    return lambda x: x * kind(np.random.rand(4).astype("f"))


SCALE = torch.ones(4)
UNSEEN = [
    Lists(),
    lambda x, scale=SCALE: x * scale,
    partial(lambda x, scale: x * scale, scale=SCALE),
    dice(torch.from_numpy),
    dice(torch.Tensor),
    dice(torch.from_dlpack),
]


@pytest.mark.parametrize("function", UNSEEN)
def test_a_tensor_that_could_be_replaced_unseen_is_refused(x, function):
    with pytest.raises(RecordingError, match=r"if .* were replaced, this would not be noticed"):
        hybridize(function, x)


def replaced_during_the_compilation(net, x, change, monkeypatch):
    """A HybridNet whose network was changed after it was recorded, and before it was compiled."""

    def change_and_optimise(graph):
        change(net)
        return optimise(graph)

    with monkeypatch.context() as patch:
        patch.setattr(compiler, "optimise", change_and_optimise)
        return hybridize(net, x)


@pytest.mark.parametrize(
    "change", [*CLOSED_OVER, lambda net: net.append(nn.Tanh()), lambda net: net.pop(0)]
)
def test_what_is_replaced_during_the_compilation_is_noticed(net, x, change, monkeypatch):
    fast = replaced_during_the_compilation(net, x, change, monkeypatch)
    assert_agrees(fast, net, x)
    assert fast.holds()


def test_training_that_begins_during_the_compilation(x, monkeypatch):
    net = nn.Sequential(AsksWhetherItTrains()).eval()
    fast = replaced_during_the_compilation(net, x, nn.Module.train, monkeypatch)
    assert_agrees(fast, net, x)


def test_a_bias_that_comes_during_the_compilation(x, monkeypatch):
    net = nn.Linear(4, 4, bias=False)

    def change(net):
        net.bias = nn.Parameter(torch.randn(4))

    assert_agrees(replaced_during_the_compilation(net, x, change, monkeypatch), net, x)


def test_a_profiler_goes_on(net, x):
    calls = []
    sys.setprofile(lambda frame, event, argument: calls.append(frame.f_code.co_name))
    try:
        hybridize(net, x)
        calls.clear()
        dice(str)
    finally:
        sys.setprofile(None)
    assert "dice" in calls


def test_cprofile_goes_on(net, x):
    with Profile() as profile:
        hybridize(net, x)
        dice(str)
    assert "dice" in {name for _, _, name in Stats(profile).stats}


def test_a_profiler_of_torchs_is_no_obstacle(net, x):
    with torch.profiler.profile(with_stack=True):
        fast = hybridize(net, x)
    assert_agrees(fast, net, x)


# What Python decides on the way, by what a symbol can't refuse to say.

ASKED_IN_VAIN = [
    lambda x: x * 2 if isinstance(x, torch.Tensor) else x,
    lambda x: x * 2 if torch.is_tensor(x) else x,
    lambda x: x * 2 if type(x) is torch.Tensor else x,
    lambda x: x * 2 if isinstance(x.shape, torch.Size) else x,
    lambda x: x * 2 if isinstance(x.shape[0], int) else x,
    lambda x: x * {3: 3.0}.get(x.shape[0], 1.0),
    lambda x: x * 2 if x.shape[0] in {1, 2, 3} else x,
    lambda x: x * 2 if f"{x.shape[0]}" == "3" else x,
    lambda x: x * lru_cache(float)(x.shape[0]),
    lambda x: (x * 2, x) if repr(x).startswith("tensor") else (x, x),
    lambda x: x * torch.ops.d2lhybrid_test.relu(x),
]


@torch.library.custom_op("d2lhybrid_test::relu", mutates_args=())
def leaky(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x > 0, x, x * 0.1)


@pytest.mark.filterwarnings("ignore:`torch.jit")
def test_a_scripted_part_that_is_not_called(x):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.unused = torch.jit.script(nn.Linear(2, 2))

        def forward(self, x):
            return self.layer(x)

    net = Net()
    assert_agrees(hybridize(net, x), net, x)


@pytest.mark.parametrize("function", ASKED_IN_VAIN)
def test_what_would_be_decided_otherwise_is_refused(x, function):
    with pytest.raises((RecordingError, UnsupportedOperation)):
        hybridize(function, x)


def test_the_error_for_a_recording_that_differs(x):
    with pytest.raises(RecordingError, match="something else than program itself"):
        hybridize(lambda x: x * 2 if type(x) is torch.Tensor else x, x)


def test_a_network_in_autocast_is_compared_in_float32(net, x):
    with torch.autocast("cpu"):
        fast = hybridize(net, x)
    assert_agrees(fast, net, x)


class Alpha(nn.Module):
    def __init__(self, expression):
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor(2.0), requires_grad=False)
        self.forward = lambda x: eval(expression, {"x": x, "alpha": self.alpha, "torch": torch})


LOOKED_AT = ["alpha.item()", "float(alpha)", "int(alpha)", "alpha.tolist()", "alpha.numpy()"]
LOOKED_AT += ["bool(alpha > 3)", "(2.0 in alpha)", "range(3)[alpha.int()]", "alpha.__array__()"]
LOOKED_AT += ["torch.equal(alpha, alpha)", "torch.allclose(alpha, alpha)", "(1 if alpha else 0)"]


@pytest.mark.parametrize("expression", LOOKED_AT)
def test_values_that_python_looks_at_are_refused(x, expression):
    with pytest.raises(RecordingError, match="looks at the values of a tensor"):
        hybridize(Alpha(f"x * {expression}"), x)


def caught(x):
    try:
        return x * 2 if x.sum() > 100 else x
    except RuntimeError:
        return x


def caught_as_not_implemented(x):
    try:
        return x.softmax(-1) if x.shape[1] > 4 else x * x.abs()
    except NotImplementedError:
        return x * x


@pytest.mark.parametrize("function", [caught, caught_as_not_implemented])
def test_a_refusal_that_the_program_catches_is_one(function):
    x = torch.ones(2, 4)
    with pytest.raises((RecordingError, UnsupportedOperation), match=r"sum|abs"):
        hybridize(function, x)


def test_parameters_that_join_a_list(x):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.listed = nn.ParameterList()
            self.named = nn.ParameterDict({"a": torch.randn(4)})

        def forward(self, x):
            for one in [*self.listed, *self.named.values()]:
                x = x * one
            return x

    net = Net()
    fast = hybridize(net, x)
    for change in (
        lambda: net.listed.append(torch.randn(4)),
        lambda: net.named.update({"b": SCALE}),
    ):
        change()
        assert_agrees(fast, net, x)


def test_freed_memory_is_never_read(net, x, collect):
    fast = hybridize(net, x)
    for i in range(12):
        if i % 3 == 0:
            net[0].weight = nn.Parameter(torch.randn(4, 4))
        elif i % 3 == 1:
            net[0].weight.data = torch.randn(4, 4)
        else:
            net.load_state_dict(make_net().state_dict(), assign=True)
        collect()
        garbage = [torch.full((4, 4), NAN) for _ in range(50)]
        assert_agrees(fast, net, x)
        del garbage
        assert_agrees(fast, net, x)
    assert fast.compilations == 1


def test_a_weight_is_kept_until_the_next_call(net, x, collect):
    fast = hybridize(net, x)
    storage = StorageWeakRef(net[0].weight.untyped_storage())
    net[0].weight = nn.Parameter(torch.randn(4, 4))
    collect()
    assert not storage.expired(), "or another tensor might get its address, and be taken for it"
    fast(x)
    collect()
    assert storage.expired(), "and not longer"


def test_a_weight_that_a_call_is_reading_is_kept(collect):
    def net_of(width):
        return nn.Sequential(nn.Linear(width, width), *[nn.Tanh() for _ in range(20)])

    net, many, one = net_of(64), torch.randn(12_000, 64), torch.randn(1, 64)
    fast = hybridize(net, one)
    fast(many)
    storage = StorageWeakRef(net[0].weight.untyped_storage())
    started = threading.Event()

    def call():
        started.set()
        fast(many)

    thread = threading.Thread(target=call)
    thread.start()
    started.wait(60)
    time.sleep(0.05)
    net[0].weight = nn.Parameter(torch.randn(64, 64))
    fast(one)
    collect()
    expired, alive = storage.expired(), thread.is_alive()
    thread.join()
    assert alive, "the call was over too early to show anything"
    assert not expired


def test_the_memory_of_a_call_kept_for_later(net, x, collect):
    fast = hybridize(net, x)
    call = fast.__call__
    old = StorageWeakRef(net[0].weight.untyped_storage())
    net[0].weight = nn.Parameter(torch.randn(4, 4))
    fast(x)
    collect()
    assert not old.expired()
    assert_agrees(call, net, x)


# Training and evaluation --------------------------------------------------------------------


def test_dropout(x):
    net = make_net(dropout=True)
    fast = hybridize(net, x)
    assert_agrees(fast, net, x)
    net.train()
    for _ in range(2):
        with pytest.raises(UnsupportedOperation, match=r"dropout in training.*call \.eval\(\)"):
            fast(x)
    net.eval()
    assert_agrees(fast, net, x)
    net[2].train()
    with pytest.raises(UnsupportedOperation, match="dropout in training"):
        fast(x)
    with pytest.raises(UnsupportedOperation, match="dropout in training"):
        hybridize(net, x)
    net[2].p = 0.0
    assert_agrees(fast, net, x)


def test_training_without_dropout(net, x):
    fast = hybridize(net.train(), x)
    assert_agrees(fast, net, x)
    assert_agrees(fast, net.eval(), x)
    assert fast.compilations == 1


class AsksWhetherItTrains(nn.Module):
    def forward(self, x):
        return x * 2 if self.training else x


def test_a_layer_that_does_something_else_in_training(x):
    net = nn.Sequential(AsksWhetherItTrains())
    fast = hybridize(net.eval(), x)
    for training in (True, False, True):
        net.train(training)
        assert_agrees(fast, net, x)
    assert fast.compilations == 2


class NeverTrains(nn.Module):
    training = property(lambda self: False, lambda self, value: None)

    def forward(self, x):
        return x * 2


def test_a_layer_that_computes_whether_it_trains(x):
    assert hybridize(NeverTrains(), x).holds()


# Compilations -------------------------------------------------------------------------------


def test_compilations_are_counted(net):
    fast = hybridize(net, torch.ones(2, 4))
    counts = [fast.compilations]
    for x in (
        torch.ones(7, 4),
        torch.ones(0, 4),
        torch.ones(4),  # another rank
        torch.ones(4),
        torch.ones(2, 5, 4),
        torch.ones(9, 5, 4),
        torch.ones(9, 6, 4),
        torch.ones(1, 4),
    ):
        assert_agrees(fast, net, x)
        counts.append(fast.compilations)
    assert counts == [1, 1, 1, 2, 2, 3, 3, 4, 4]
    replace_parameter(net)
    assert_agrees(fast, net, torch.ones(2, 4))
    assert fast.compilations == 4
    replace_activation(net)
    assert_agrees(fast, net, torch.ones(2, 4))
    assert fast.compilations == 5


def test_a_known_batch_does_not_even_leave_the_guard(net, x):
    calls = []
    original = net.forward
    net.forward = lambda x: calls.append(x) or original(x)
    fast = hybridize(net, x)
    assert len(calls) == 2, "the recording, and the run that it is compared with"
    for batch in (1, 2, 3, 2, 1):
        fast(torch.ones(batch, 4))
    assert len(calls) == 2


def test_what_is_shown(net, x):
    fast = hybridize(net, x)
    assert [node.op for node in fast.graph.nodes if node.is_operation] == [
        "linear",
        "relu",
        "linear",
    ]
    assert "int forward(ptrdiff_t n, const float *input, float *v3" in fast.source
    assert fast.source.isascii()
    fast(torch.ones(2, 3, 4))
    assert "float32[n, 3, 4]" in str(fast.graph)


class Everything(nn.Module):
    """Has all that a guard asks for."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4, bias=False), nn.Linear(4, 3))
        self.scale = torch.ones(3)

    def forward(self, x):
        return self.layers(x) * self.scale if self.training else self.layers(x) - self.scale


def test_the_guard_says_what_it_asks(x):
    net = Everything().eval()
    addresses = [p.data_ptr() for p in (*net.parameters(), net.scale)]
    assert hybridize(net, x).guard.splitlines() == [
        "x: float32[n, 4], on the CPU, in order, without gradients",
        f"layers.0.weight: lies at {addresses[0]:#x}, in order",
        f"layers.1.weight: lies at {addresses[1]:#x}",
        f"layers.1.bias: lies at {addresses[2]:#x}",
        f"scale: lies at {addresses[3]:#x}",
        "Everything: has the layers layers",
        "Everything: training is False",
        "layers: has the layers 0, 1",
        "layers.0: has no bias",
    ]


# The guard, which is written in C -----------------------------------------------------------


STRUCTS = {  # in C, in Python
    "struct python": guard.PythonStruct,
    "struct condition": guard.ConditionStruct,
    "struct guard": guard.GuardStruct,
}


@pytest.mark.parametrize("name", STRUCTS)
def test_python_and_c_agree_on_what_the_guard_is_told(name):
    """The same fields at the same places, and no others: the sizes are the same, too."""
    struct = STRUCTS[name]
    places = {field: getattr(struct, field).offset for field, _ in struct._fields_}
    offsets = ", ".join(f"offsetof({name}, {field})" for field in places)
    source = f"{guard.SOURCE}\nconst size_t in_c[] = {{sizeof({name}), {offsets}}};\n"
    numbers = (ctypes.c_size_t * (len(places) + 1)).in_dll(load_library(source), "in_c")
    in_c = dict(zip(["whole", *places], numbers, strict=True))
    assert in_c == {"whole": ctypes.sizeof(struct)} | places


def test_the_guard_gets_what_its_names_say():
    python = guard.PythonStruct.in_dll(guard.guard_library(), "python")
    for name, value in guard.OBJECTS.items():
        assert ctypes.cast(getattr(python, name), ctypes.py_object).value is value
        assert name in (value if isinstance(value, str) else repr(value))
    for name in guard.FUNCTIONS.split():
        function = getattr(ctypes.pythonapi, name)
        assert getattr(python, name) == ctypes.cast(function, ctypes.c_void_p).value


def test_the_guard_gives_back_what_it_is_handed(x, collect):
    """A reference too many keeps memory for ever, and one too few frees what is still used."""
    net = Everything().eval()
    fast, pair = hybridize(net, x), hybridize(TwoInputs(), x, x)
    many, wrong, gone = x.repeat(3, 1), x.double(), nn.Linear(4, 4)
    from_gone = hybridize(gone, x)
    del gone.bias  # the guard meets an error of Python's at each call

    def calls():
        for one in (x, many):
            fast(one)
            pair(one, one)
        assert fast.holds() is True
        assert from_gone.holds() is False
        for refused in (lambda: fast(wrong), lambda: fast(x, x), lambda: from_gone(x)):
            with pytest.raises((TypeError, AttributeError)):
                refused()

    guarded = [*fast._guarded.values(), *pair._guarded.values()]
    watched = [
        x,
        many,
        wrong,
        *guard.OBJECTS.values(),
        *net.parameters(),
        *net.modules(),
        net.scale,
    ]
    watched += [one for module in net.modules() for one in (module._parameters, module._modules)]
    watched += [one for g in guarded for one in (g.call, g.call.__self__, g.by_shape)]
    watched += [one for g in guarded for found in g.by_shape.values() for one in (found, *found)]

    def state():
        collect()
        return [sys.getrefcount(one) for one in watched], sys.getallocatedblocks()

    for _ in range(3):
        calls()
    counts, blocks = state()
    for _ in range(200):
        calls()
    counts_after, blocks_after = state()
    assert counts_after == counts
    assert blocks_after < blocks + 100


def test_a_tensor_that_answers_in_its_own_way_is_not_believed(net, x):
    """What a parameter's class does may raise, and may change what it was asked about."""

    class Liar(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            if function is torch.Tensor.data_ptr and "weight" in net[0]._parameters:
                del net[0]._parameters["weight"]
            return super().__torch_function__(function, types, args, kwargs or {})

    fast = hybridize(net, x)
    net[0]._parameters["weight"] = torch.randn(4, 4).as_subclass(Liar)
    with pytest.raises(AttributeError, match="weight"):
        fast(x)


class ComputesInHalf(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        half = {"dtype": torch.float16} if function is torch.empty_like else {}
        return function(*args, **(kwargs or {}) | half)


@pytest.mark.filterwarnings("ignore:Accessing the data pointer of FakeTensor")
def test_a_result_without_memory_of_its_own_is_not_written_to(net, x):
    fast = hybridize(net, x)
    expected = fast(x)
    with ComputesInHalf():
        assert torch.equal(fast(x), expected)
    with pytest.raises(RuntimeError, match="data pointer"):
        torch.func.grad(lambda y: fast(x).sum() * y)(torch.tensor(1.0))
    with FakeTensorMode(allow_non_fake_inputs=True), pytest.raises((RuntimeError, TypeError)):
        fast(x)
    assert torch.equal(fast(x), expected)


class Interrupts(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        raise KeyboardInterrupt


def test_an_interruption_is_no_answer(net, x):
    fast = hybridize(net, x)
    for call in (lambda: fast(x), fast.holds):
        with pytest.raises(KeyboardInterrupt), Interrupts():
            call()
    assert_agrees(fast, net, x)


@pytest.fixture
def timeouts():
    """What interrupts the main thread raises a TimeoutError."""

    def handler(signum, frame):
        raise TimeoutError

    before = signal.signal(signal.SIGINT, handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interruption_while_the_program_runs(timeouts):
    weight = torch.randn(512, 512)

    def function(x):
        for _ in range(8):
            x = F.linear(x, weight)
        return x, x + 1

    x = torch.randn(6000, 512)
    fast = hybridize(function, x)
    fast(x)
    interruption = threading.Timer(0.05, _thread.interrupt_main)

    def call():
        interruption.start()
        fast(x)
        interruption.join()

    with pytest.raises(TimeoutError):
        call()


def test_what_the_guard_knows_can_be_shown(net, x):
    assert "tensor([[0., 0., 0., 0.]" in repr(hybridize(net, x).holds.__self__)


def test_arguments_with_names_are_refused(net, x):
    fast = hybridize(net, x)
    for arguments, named in (((), {"input": x}), ((x,), {"bias": x})):
        with pytest.raises(TypeError, match="keyword argument"):
            fast(*arguments, **named)


# The surroundings ---------------------------------------------------------------------------


def test_results_never_require_gradients(net, x):
    fast = hybridize(net, x)
    for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
        with mode():
            for batch in (1, 2, 3):
                assert not fast(torch.ones(batch, 4)).requires_grad
    for parameter in net.parameters():
        parameter.requires_grad_(False)
    assert not fast(x).requires_grad


@pytest.fixture
def default_float64():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def test_the_default_type_does_not_matter(net, x, default_float64):
    fast = hybridize(net, x)
    for one in (x, x[:2], torch.ones(4, dtype=torch.float32)):
        assert_agrees(fast, net, one)
        assert fast(one).dtype == torch.float32


def test_the_default_device_does_not_matter(net, x):
    def function(x):
        return net(x) * 2.5 - 1

    tensors = [x, x[:2].clone(), torch.ones(4), x[:1].clone(), x]
    with torch.device("meta"):
        fast = hybridize(function, x)
        results = [fast(one) for one in tensors]
    for one, result in zip(tensors, results):
        assert result.device.type == "cpu"
        assert_close(result, function(one).detach(), "under another default device")


def test_a_copy_is_compiled_whatever_the_default_type(net, x, default_float64):
    other = copy.deepcopy(hybridize(net, x))
    assert other.holds()


def test_inference_mode_inside_and_outside(net, x):
    with torch.inference_mode():
        fast = hybridize(net, x)
        inside = torch.ones(2, 4)
        assert_agrees(fast, net, inside)
    for one in (x, x[:2], inside):
        assert_agrees(fast, net, one)
    result = fast(x)
    result += 1  # no tensor of the inference mode
    other = hybridize(net, x)
    with torch.inference_mode():
        assert_agrees(other, net, x)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # in torch itself
def test_transformations_of_torch_are_not_fooled(net, x):
    fast = hybridize(net, x)
    transforms = [torch.func.vmap, torch.func.jacrev, torch.func.jacfwd, torch.func.functionalize]
    for transform in transforms:
        for one in (x, x.repeat(2, 1, 1)):  # the second hides a tensor of a known shape
            ours = call_or_error(transform(fast), one)
            torchs = transform(net)(one)
            assert isinstance(ours, Exception) or torch.allclose(ours, torchs)


def test_many_threads_at_once(net):
    fast = hybridize(net, torch.ones(1, 4))
    wrong, barrier = [], threading.Barrier(8)

    def work(i):
        chance = torch.Generator().manual_seed(i)
        barrier.wait(30)
        for turn in range(60):
            x = torch.randn((i * 3 + turn) % 17, 4, generator=chance)
            with torch.no_grad():
                if not torch.allclose(fast(x), net(x), atol=1e-5):
                    wrong.append((i, turn))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert fast.compilations == 1


def test_a_new_shape_in_many_threads_is_recorded_once(net):
    runs, barrier = [], threading.Barrier(8)
    original = net.forward
    net.forward = lambda x: runs.append(x) or original(x)
    fast = hybridize(net, torch.ones(2, 4))

    def work():
        barrier.wait(30)
        fast(torch.ones(2, 11, 4))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [type(x) for x in runs] == 2 * [Symbol, torch.Tensor]


def test_a_call_while_the_network_is_recorded(net, x, monkeypatch):
    """As a signal's handler, or a `__del__`, may make it."""
    fast = hybridize(net, x)
    recorded = []

    def trace_and_call(net, *inputs):
        recorded.append(fast(x.repeat(1, 2)[:, :4]))
        return trace(net, *inputs)

    monkeypatch.setattr("d2lhybrid.hybrid.compiler.trace", trace_and_call)
    thread = threading.Thread(target=fast, args=[x[None]], daemon=True)
    thread.start()
    thread.join(60)
    assert len(recorded) == 1
    assert_close(recorded[0], net(x).detach(), "inside of a recording")


def test_weights_replaced_while_others_call(net):
    x = torch.ones(64, 4)
    weights = [nn.Parameter(torch.full((4, 4), float(i))) for i in range(1, 4)]
    net[2] = nn.Identity()
    net[0].bias.data.zero_()
    net[0].weight = weights[0]
    fast = hybridize(net, x)
    wrong, done = [], threading.Event()

    def call():
        while not done.is_set():
            result = fast(x)
            if not any(torch.equal(result, torch.full((64, 4), 4.0 * i)) for i in (1, 2, 3)):
                wrong.append(result)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(200):
        net[0].weight = weights[i % 3]
        fast(x[: i % 5])
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong


def in_a_child(work):
    """What a forked process writes: what `work` returns; '' after ten seconds."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(10)
            os.write(writing, work().encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading) as file:
        said = file.read()
    os.waitpid(child, 0)
    return said


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_fork_while_another_thread_records(net, x, monkeypatch):
    fast = hybridize(net, x)
    recording, may_end = threading.Event(), threading.Event()

    def slow_trace(net, *inputs):
        recording.set()
        may_end.wait(0.3)
        return trace(net, *inputs)

    monkeypatch.setattr(compiler, "trace", slow_trace)
    thread = threading.Thread(target=fast, args=[torch.ones(2, 3, 4)])
    thread.start()
    recording.wait(30)
    said = in_a_child(lambda: str([*fast(torch.ones(2, 2, 5, 4)).shape]))
    thread.join()
    assert said == "[2, 2, 5, 4]"


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda fast: pickle.loads(pickle.dumps(fast)),
}


@pytest.mark.parametrize("way", COPIES)
def test_a_copy_is_a_network_of_its_own(net, x, way):
    fast = hybridize(net, x)
    other = COPIES[way](fast)
    assert other.source == fast.source
    assert other.holds()
    assert_agrees(other, net, x)
    assert (other.net is net) == (way == "copy")
    replace_parameter(other.net)
    assert_agrees(other, other.net, x)
    assert_agrees(fast, net, x)


@pytest.mark.parametrize("way", ["deepcopy", "pickle"])
def test_a_copy_of_a_network_that_keeps_its_compiled_self(net, x, way):
    net.fast = hybridize(net, x)
    other = COPIES[way](net)
    assert other.fast.net is other
    replace_layer(other)
    assert_agrees(other.fast, other, x)
    assert_agrees(net.fast, net, x)


def test_a_hybrid_net_has_no_other_attributes(net, x):
    with pytest.raises(AttributeError, match="no attribute 'grpah'"):
        _ = hybridize(net, x).grpah


def test_batch_sizes_are_not_remembered_for_ever(net, x, monkeypatch):
    monkeypatch.setattr(guard, "MAX_BATCHES", 8)
    fast, scaled = hybridize(net, x), hybridize(lambda w, x: x * w, x[0], x)
    for batch in range(2, 30):
        x = torch.ones(batch, 4)
        assert_agrees(fast, net, x)
        assert torch.equal(scaled(x[0], x), x)
    (guarded,), (of_scaled,) = fast._guarded.values(), scaled._guarded.values()
    assert len(guarded.by_shape) <= 8
    assert len(of_scaled.by_shape[x[0].shape]) <= 8


# The C compiler -----------------------------------------------------------------------------


@pytest.fixture
def unseen():
    """A function that was not compiled yet, so that the compiler must be started."""
    number = time.time_ns() % 10**9

    def function(x):
        return x * number

    return function


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder for temporary files, with a name that a shell would take apart."""
    folder = tmp_path / "a b; $(touch c) 'd' \"e\" & f"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_without_a_compiler(unseen, monkeypatch, tmp_path, x):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CompilerNotFound, match=r"Install the package gcc .*apt install gcc"):
        hybridize(unseen, x)
    assert torch.equal(python_function(trace(unseen, x))(x), unseen(x))


@pytest.mark.parametrize("there", [["cc", "gcc", "clang"], ["gcc", "clang"], ["clang"]])
def test_the_first_compiler_that_is_there_is_taken(monkeypatch, tmp_path, there):
    for name in there:
        script(tmp_path / name, "exit 0")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert toolchain.find_compiler() == there[:1]


def test_a_compiler_that_does_not_exist(unseen, monkeypatch, x):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(CompilerNotFound, match="no-such-compiler"):
        hybridize(unseen, x)


def test_a_compiler_that_fails(unseen, monkeypatch, tmp_path, folder, x):
    monkeypatch.setenv("CC", script(tmp_path / "cc", "echo what is wrong >&2; exit 3"))
    with pytest.raises(CompilationFailed, match="what is wrong"):
        hybridize(unseen, x)
    assert not list(folder.iterdir())
    monkeypatch.delenv("CC")
    assert torch.equal(hybridize(unseen, x)(x), unseen(x)), "a failure is not remembered"


def test_a_compiler_that_writes_no_text(unseen, monkeypatch, tmp_path, x):
    monkeypatch.setenv("CC", script(tmp_path / "cc", r"printf '\377\376' >&2; exit 1"))
    with pytest.raises(CompilationFailed):
        hybridize(unseen, x)


BAD_COMPILERS = {
    "nothing": "exit 0",
    "garbage": 'for last; do case $last in *.so) echo garbage >"$last";; esac; done',
    "another library": 'for last; do case $last in *.so) echo "int other;" | cc -shared -fPIC '
    '-x c -o "$last" -;; esac; done',
}


@pytest.mark.parametrize("makes", BAD_COMPILERS)
def test_a_compiler_that_makes_something_else(unseen, monkeypatch, tmp_path, makes, x):
    monkeypatch.setenv("CC", script(tmp_path / "cc", BAD_COMPILERS[makes]))
    with pytest.raises(CompilationFailed, match=r"CC name a C compiler.* TMPDIR"):
        hybridize(unseen, x)


def test_a_compiler_that_says_nothing(unseen, monkeypatch, tmp_path, x):
    monkeypatch.setenv("CC", script(tmp_path / "cc", "exit 3"))
    with pytest.raises(CompilationFailed, match="failed with status 3"):
        hybridize(unseen, x)


def test_a_compiler_that_hangs(unseen, monkeypatch, tmp_path, x):
    monkeypatch.setattr(toolchain, "TIME_LIMIT", 0.5)
    monkeypatch.setenv("CC", script(tmp_path / "cc", "exec sleep 60"))
    with pytest.raises(CompilationFailed, match=r"had not ended after 0.5 seconds; does CC"):
        hybridize(unseen, x)


def test_a_command_with_an_open_quotation(unseen, monkeypatch, x):
    monkeypatch.setenv("CC", "gcc 'x")
    with pytest.raises(CompilerNotFound, match='CC is not a command: "gcc \'x"'):
        hybridize(unseen, x)


def test_no_folder_for_temporary_files(unseen, monkeypatch, tmp_path, x):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(CompilationFailed, match="TMPDIR"):
        hybridize(unseen, x)


def test_the_processors_own_vectors_are_used(unseen, monkeypatch, tmp_path, x):
    log = tmp_path / "log"
    monkeypatch.setenv("CC", script(tmp_path / "cc", f'echo "$@" >>"{log}"\nexec cc "$@"'))
    hybridize(unseen, x)
    own = "-march=native" if platform.machine() in ("x86_64", "AMD64") else "-mcpu=native"
    assert own in log.read_text().split()


def test_the_path_of_the_compiler_may_have_blanks(unseen, monkeypatch, tmp_path, x):
    (tmp_path / "Program Files").mkdir()
    command = script(tmp_path / "Program Files" / "cc", 'exec cc "$@"')
    monkeypatch.setenv("CC", command)
    assert torch.equal(hybridize(unseen, x)(x), unseen(x))


def test_the_compiler_may_have_arguments(unseen, monkeypatch, x):
    monkeypatch.setenv("CC", "cc -DSOMETHING='a b'")
    assert torch.equal(hybridize(unseen, x)(x), unseen(x))


@pytest.mark.parametrize("command", ["cc; touch {}", "cc && touch {}", "$(touch {})", "`touch {}`"])
def test_no_shell_reads_the_command(unseen, monkeypatch, tmp_path, x, command):
    monkeypatch.setenv("CC", command.format(tmp_path / "proof"))
    with pytest.raises((CompilerNotFound, CompilationFailed)):
        hybridize(unseen, x)
    assert not (tmp_path / "proof").exists()


def test_files_are_private_and_removed(unseen, monkeypatch, tmp_path, folder, x):
    report = tmp_path / "report"
    command = (
        f'for last; do case $last in *.c) ls -ld "$(dirname "$last")" >\'{report}\';; esac; done'
    )
    monkeypatch.setenv("CC", script(tmp_path / "cc", f'{command}\nexec cc "$@"'))
    fast = hybridize(unseen, x)
    assert torch.equal(fast(x), unseen(x))
    assert report.read_text().startswith("drwx------")
    assert str(folder) in report.read_text()
    assert not list(folder.iterdir())
    assert not Path("c").exists()


def test_the_same_source_is_compiled_once(unseen, monkeypatch, tmp_path, x):
    log = tmp_path / "log"
    monkeypatch.setenv("CC", script(tmp_path / "cc", f'echo once >>"{log}"\nexec cc "$@"'))
    first, second = hybridize(unseen, x), hybridize(unseen, x[:1])
    assert torch.equal(first(x), second(x))
    assert log.read_text().count("once") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on memory")
def test_without_memory_for_the_batch(x):
    import resource

    wide, back = torch.ones(1 << 18, 1), torch.ones(1, 1 << 18)

    def function(x):
        return F.linear(F.linear(x, wide), back)

    fast = hybridize(function, torch.ones(1, 1))
    twice = hybridize(lambda x: (function(x), function(x + 1)), torch.ones(1, 1))
    assert fast(torch.ones(2, 1)).tolist() == [[1 << 18]] * 2
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    many = torch.ones(4096, 1)
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), hard))
    try:
        for one in (fast, fast, twice, twice):
            with pytest.raises(MemoryError, match="no memory for"):
                one(many)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    assert fast(torch.ones(2, 1)).tolist() == [[1 << 18]] * 2
