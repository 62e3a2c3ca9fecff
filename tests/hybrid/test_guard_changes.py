"""The guard: changes of weights, layers and modes are noticed, or the result is right anyway."""

import copy

import pytest
import torch
from hybrid_helpers import (
    AsksWhetherItTrains,
    assert_agrees,
    assign_state,
    call_or_error,
    make_net,
    replace_activation,
    replace_data,
    replace_layer,
    replace_parameter,
)
from random_programs import (
    assert_close,
)
from torch import nn

from d2lhybrid import hybridize
from d2lhybrid.hybrid.graph import UnsupportedOperation
from d2lhybrid.hybrid.recorder import RecordingError

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
    fast = hybridize(net.requires_grad_(), x)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        optimiser.zero_grad()
        net(x).square().sum().backward()
        optimiser.step()
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


def test_a_variable_that_requires_gradients_is_refused(x):
    scale = torch.ones(4, requires_grad=True)
    fast = hybridize(lambda x: x * scale, x)
    with pytest.raises(RuntimeError, match="scale requires gradients"):
        fast(x)
    assert_agrees(fast, lambda x: x * scale, x)


def replace_bias_data(net):
    net[0].bias.data = torch.randn(4)


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


def replace_layer_by_wider(net):
    net[2] = nn.Linear(4, 7)


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


SCALE = torch.ones(4)


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
