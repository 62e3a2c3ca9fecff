"""torch.compile(..., backend="d2lhybrid"): right, and an error where it would not be."""

import subprocess
import sys

import pytest
import torch
import torch._dynamo
from hybrid_helpers import assert_agrees
from random_programs import as_list, assert_close
from torch import nn

BACKEND = "d2lhybrid"
LEFT = "d2lhybrid cannot compile any part of this graph: "
pytestmark = pytest.mark.filterwarnings(f"error:{LEFT}")
X = torch.linspace(-1, 1, 12).view(3, 4)


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def make_net(*last):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3), *last)


def compiled(net, **options):
    return torch.compile(net, backend=BACKEND, fullgraph=True, **options)


@pytest.mark.parametrize("dynamic", [None, True])
def test_batches_of_any_size(dynamic):
    net = make_net()
    fast = compiled(net, dynamic=dynamic)
    for batch in (3, 7, 3, 1, 0, 64):
        assert_agrees(fast, net, torch.randn(batch, 4))


def of_tensors(x, y):
    z = torch.tanh(x) * y - 1
    return z, x / (1 + torch.exp(-y)), z + x, x


SIZES_THAT_VARY = [
    (of_tensors, [((3, 4), (3, 1)), ((5, 4), (5, 1))]),
    (lambda x, y: (x.relu(), y.tanh()), [((3, 5), (7, 5)), ((4, 5), (6, 5)), ((4, 5), (8, 5))]),
    (lambda x, y: x + y, [((2, 3, 4), (3, 4)), ((2, 5, 4), (5, 4)), ((3, 6, 4), (6, 4))]),
    (lambda x, y: x * y, [((2, 2), (2, 2)), ((3, 3), (3, 3)), ((5, 4), (4,)), ((6, 4), (4,))]),
    (
        lambda x, y: x + y + x.shape[0],
        [((2, 3), (2, 3)), ((3, 4), (1, 1)), ((6, 6), (6, 6))],
    ),
]


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(("function", "shapes"), SIZES_THAT_VARY)
def test_several_sizes_that_vary(function, shapes, dynamic):
    fast = compiled(function, dynamic=dynamic)
    for pair in shapes:
        x, y = map(torch.randn, pair)
        ours, torchs = as_list(fast(x, y)), as_list(function(x, y))
        assert_close(ours, torchs, "by torch.compile")


@pytest.mark.parametrize("dynamic", [None, True, False])
def test_an_integer_that_varies(dynamic):
    fast = compiled(lambda x, k: x * k, dynamic=dynamic)
    for k in (2, 3, 4, 4):
        assert torch.equal(fast(torch.ones(3, 4), k), torch.full((3, 4), float(k)))


def test_other_ranks_and_layouts():
    net = make_net()
    fast = compiled(net, dynamic=True)
    strided = torch.randn(4, 3).t(), torch.randn(6, 8)[::2, ::2]
    for x in (torch.randn(4), torch.randn(2, 3, 4), *strided):
        assert_agrees(fast, net, x)


class WithBuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(4))
        self.plain, self.layer = torch.ones(4), nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x) * self.scale + self.plain


CHANGES = [
    lambda net: net.scale.mul_(2),
    lambda net: setattr(net, "plain", torch.randn(4)),
    lambda net: net.layer.weight.detach().mul_(-3),
    lambda net: setattr(net.layer.weight, "data", torch.randn(4, 4)),
    lambda net: setattr(net.layer, "weight", nn.Parameter(torch.randn(4, 4))),
    lambda net: setattr(net, "layer", nn.Tanh()),
]


def test_changes_of_weights_and_layers_are_seen():
    net = WithBuffer()
    fast = compiled(net)
    for change in CHANGES:
        assert_agrees(fast, net, X)
        change(net)
    assert_agrees(fast, net, X)


def test_gradients_are_refused_rather_than_lost():
    net = make_net()
    fast = compiled(net)
    for _ in range(2):
        with pytest.raises(Exception, match="requires gradients"):
            fast(X)
        assert_agrees(fast, net, X)
    net.requires_grad_(False)
    assert torch.equal(fast(X), compiled(net)(X))
    with pytest.raises(Exception, match="requires gradients"):
        fast(X.clone().requires_grad_())


def changed_behind_a_reader(x):
    y = torch.tanh(x) + 1
    y.mul_(2)
    return torch.sigmoid(y) * 3


NOT_OURS = {  # what cannot be compiled -> a program and its input
    "an operation": (make_net(nn.ELU()), X),
    "training": (make_net(nn.Dropout()), X),
    "an in-place layer": (make_net(nn.ReLU(inplace=True)), X),
    "an in-place method": (changed_behind_a_reader, X),
    "integers": (lambda x: x + x, torch.ones(3, 4, dtype=torch.int64)),
}


@pytest.mark.parametrize("what", NOT_OURS)
def test_a_graph_that_cannot_be_compiled_runs_as_it_is(what):
    function, x = NOT_OURS[what]
    with torch.no_grad():
        torch.manual_seed(0)
        expected = function(x)
        torch.manual_seed(0)
        with pytest.warns(UserWarning, match=LEFT):
            assert_close(compiled(function, dynamic=True)(x), expected, "in torch")


IN_THREADS = """
import sys, torch
from concurrent.futures import ThreadPoolExecutor
sys.setswitchinterval(1e-5)

def right(i):
    net, x = torch.nn.Linear(4, i), torch.ones(2, 4)
    with torch.no_grad():
        return torch.allclose(torch.compile(net, backend="d2lhybrid")(x), net(x), atol=1e-5)

with ThreadPoolExecutor(8) as pool:
    assert all(pool.map(right, range(1, 9)))
"""


def test_the_first_use_may_be_in_several_threads():
    assert subprocess.run([sys.executable, "-c", IN_THREADS]).returncode == 0
