"""The guard: what has changed is noticed, however it is kept and reached, or the result is right.

A change is a statement about `net`, which `change` carries out.
"""

import copy
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from hybrid_helpers import (
    REPLACE_LAYER,
    REPLACE_PARAMETER,
    AsksWhetherItTrains,
    assert_agrees,
    call_or_error,
    change,
    make_net,
)
from random_programs import assert_close
from torch import nn

from d2lhybrid import hybridize
from d2lhybrid.hybrid import compiler
from d2lhybrid.hybrid.operations import UnsupportedOperation
from d2lhybrid.hybrid.passes import optimize
from d2lhybrid.hybrid.recorder import RecordingError

# What changes -------------------------------------------------------------------------------

REPLACE_DATA = "net[0].weight.data = torch.randn(4, 4)"
ASSIGN_STATE = "net.load_state_dict(make_net().state_dict(), assign=True)"
CHANGES = [REPLACE_DATA, ASSIGN_STATE, REPLACE_PARAMETER, REPLACE_LAYER]
CHANGES += ["net[0].weight, net[2].weight = net[2].weight, net[0].weight"]
CHANGES += ["net[0].weight.data, net[2].weight.data = net[2].weight.data, net[0].weight.data"]
CHANGES += ["net[0].weight = net[2].weight", "net[0].bias = None", "net[2] = nn.Linear(4, 7)"]
CHANGES += ["net[1] = nn.Tanh()", "net.append(nn.Sigmoid())", "del net[1]"]
CHANGES += ["net[0], net[2] = net[2], net[0]", "net.share_memory()"]


class Tensors(nn.Module):
    """Keeps tensors in every way in which a module can."""

    def __init__(self):
        super().__init__()
        self.register_buffer("buffer", torch.randn(4))
        self.register_buffer("none", None)
        self.plain = torch.randn(4)
        self.listed = nn.ParameterList()
        self.named = nn.ParameterDict({"a": torch.randn(4)})
        self.parts = nn.ModuleDict({"a": nn.Linear(4, 4, bias=False), "empty": nn.Sequential()})

    def forward(self, x):
        x = self.parts["empty"](self.parts["a"](x * self.buffer + self.plain))
        for one in [*self.listed, *self.named.values()]:
            x = x - one
        return x if self.none is None else x * self.none


class RunsItsParts(nn.Module):
    def forward(self, x):
        for part in self.children():
            x = part(x)
        return x


CHANGES_OF_TENSORS = ["net.buffer = torch.randn(4)", "net.none = torch.randn(4)"]
CHANGES_OF_TENSORS += ["net.plain = torch.randn(4)", "net.listed.append(torch.randn(4))"]
CHANGES_OF_TENSORS += ["net.named['a'] = nn.Parameter(torch.randn(4))"]
CHANGES_OF_TENSORS += ["net.named.update({'b': torch.ones(4)})"]
CHANGES_OF_TENSORS += ["net.parts['a'].bias = nn.Parameter(torch.randn(4))"]
CHANGES_OF_TENSORS += ["net.parts['empty'].append(nn.Tanh())"]
CHANGES_OF_TENSORS += ["net.parts = nn.ModuleDict({'a': nn.Linear(4, 4), 'empty': nn.Tanh()})"]


def assert_still_agrees(fast, net, x):
    for one in (x, x[:1], x):
        ours, torchs = call_or_error(fast, one), call_or_error(net, one)
        assert isinstance(ours, torch.Tensor), ours
        assert_close(ours, torchs, "after the change")
    assert fast.holds()


@pytest.mark.parametrize(
    ("make", "statement"),
    [
        *[(make_net, one) for one in CHANGES],
        *[(Tensors, one) for one in CHANGES_OF_TENSORS],
        (RunsItsParts, "net.part = nn.Tanh()"),
        (lambda: nn.Sequential(AsksWhetherItTrains()).eval(), "net.train(not net.training)"),
    ],
)
def test_a_change_is_noticed(x, make, statement, monkeypatch):
    net = make()
    fast = hybridize(net, x)
    for _ in range(2):
        change(net, statement)
        assert_still_agrees(fast, net, x)
    net = make()
    with monkeypatch.context() as patch:  # between the recording and the compilation
        patch.setattr(compiler, "optimize", lambda graph: change(net, statement) or optimize(graph))
        fast = hybridize(net, x)
    assert_still_agrees(fast, net, x)


# How a network is reached -------------------------------------------------------------------


class Keeper:
    """No module, but it keeps one."""

    def __init__(self, net):
        self.net = net

    def predict(self, x):
        return self.net[2](self.net[1](F.linear(x, self.net[0].weight, self.net[0].bias)))


WAYS = {
    "a function": lambda net: lambda x: net(x) * 2,
    "a bound method": lambda net: net.forward,
    "a decorator": lambda net: torch.no_grad()(net.forward),
    "a partial": lambda net: partial(lambda x, net: net(x), net=net),
    "a default argument": lambda net: lambda x, net=net: net(x),
    "an object's method": lambda net: Keeper(net).predict,
    "its parts": lambda net: lambda x, parts=[*net]: parts[2](parts[1](parts[0](x))),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_change_is_noticed_however_the_network_is_reached(net, x, way):
    function = WAYS[way](net)
    fast = hybridize(function, x)
    for statement in (REPLACE_PARAMETER, REPLACE_DATA, ASSIGN_STATE) * 2:
        change(net, statement)
        assert_agrees(fast, function, x)
        assert fast.holds(), statement
    assert fast.compilations == 1
    for statement in (REPLACE_LAYER, REPLACE_LAYER, "net[1] = nn.Tanh()"):
        change(net, statement)
        assert_agrees(fast, function, x)


# Values that change, and gradients ----------------------------------------------------------


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


def test_a_parameter_that_requires_gradients_is_refused(net, x):
    fast = hybridize(net, x)
    for name, parameter in net.named_parameters():
        parameter.requires_grad_()
        for batch in (x, x[:2]):  # one that the guard knows, and a new one
            with pytest.raises(RuntimeError, match=f"{name} requires gradients, .*no_grad"):
                fast(batch)
            assert_agrees(fast, net, batch)
        parameter.requires_grad_(False)
    net[2].weight = nn.Parameter(net[2].weight.data)  # at the same address
    with pytest.raises(RuntimeError, match=r"2\.weight requires gradients"):
        fast(x)
    net[2].weight.requires_grad_(False)
    assert_close(fast(x), net(x), "without gradients")
    assert fast.compilations == 1


# Changes that cannot be followed ------------------------------------------------------------


def test_a_transposed_square_weight_is_not_taken_for_the_same(net, x):
    fast = hybridize(net, x)
    net[0].weight.data = net[0].weight.data.t()
    with pytest.raises(TypeError, match="weight must be contiguous"):
        fast(x)
    net[0].weight.data = net[0].weight.data.contiguous()
    assert_agrees(fast, net, x)


CANNOT_BE_COMPILED = [
    ("net.double()", UnsupportedOperation),
    ("net.to('meta')", TypeError),
    ("net.append(nn.ReLU(inplace=True))", UnsupportedOperation),
    ("net.append(nn.Linear(3, 3))", ValueError),
    ("nn.utils.parametrizations.weight_norm(net[0])", RecordingError),
    ("del net[0], net[1].weight", AttributeError),
]


@pytest.mark.parametrize(("statement", "error"), CANNOT_BE_COMPILED)
def test_changes_that_cannot_be_compiled_are_refused_and_can_be_undone(x, statement, error):
    net = make_net()
    layers = [copy.deepcopy(layer) for layer in net]
    fast = hybridize(net, x)
    change(net, statement)
    for _ in range(2):
        with pytest.raises(error):
            fast(x)
    while len(net):
        net.pop(0)
    net.extend(layers)
    assert_agrees(fast, net, x)


# Training and evaluation --------------------------------------------------------------------


def test_dropout_in_training_is_refused(x):
    net = make_net(dropout=True)
    fast = hybridize(net, x)
    for change_mode in (net.train, net[2].train):
        assert_agrees(fast, net.eval(), x)
        change_mode()
        for compiled in (fast, partial(hybridize, net)):
            with pytest.raises(UnsupportedOperation, match="dropout in training"):
                compiled(x)
    net[2].p = 0.0
    assert_agrees(fast, net, x)
