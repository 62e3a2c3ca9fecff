"""The witness: however a network is reached and a tensor is kept, a replacement is noticed."""

import sys
from cProfile import Profile
from functools import partial
from pstats import Stats

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hybrid_helpers import (
    AsksWhetherItTrains,
    assert_agrees,
    assign_state,
    replace_activation,
    replace_data,
    replace_layer,
    replace_parameter,
)
from torch import nn

from d2lhybrid import hybridize
from d2lhybrid.hybrid import compiler
from d2lhybrid.hybrid.passes import (
    optimise,
)
from d2lhybrid.hybrid.recorder import RecordingError


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
