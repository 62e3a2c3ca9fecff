"""torch.compile(..., backend="d2lhybrid"): right, and an error where it would not be."""

import pytest
import torch
import torch._dynamo
from hybrid_helpers import assert_agrees
from random_programs import assert_close
from torch import nn
from torch._dynamo.testing import CompileCounterWithBackend

from d2lhybrid import get_net
from d2lhybrid.hybrid import backend as module

BACKEND = "d2lhybrid"


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def make_net(last=None):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3), *[last] * (last is not None))


def compiled(net, **options):
    return torch.compile(net, backend=BACKEND, fullgraph=True, **options)


def test_torch_knows_the_backend():
    assert BACKEND in torch.compiler.list_backends()


@pytest.mark.parametrize("dynamic", [None, True])
def test_batches_of_any_size(dynamic):
    net = make_net()
    fast = compiled(net, dynamic=dynamic)
    for batch in (3, 7, 3, 1, 0, 64):
        assert_agrees(fast, net, torch.randn(batch, 4))


def test_dynamic_shapes_compile_once():
    net, counter = make_net(), CompileCounterWithBackend(BACKEND)
    fast = torch.compile(net, backend=counter, dynamic=True)
    for batch in (3, 7, 2, 64):
        assert_agrees(fast, net, torch.randn(batch, 4))
    assert counter.frame_count == 1


def test_the_size_of_a_vector_is_not_taken_for_the_batch():
    counter = CompileCounterWithBackend(BACKEND)
    fast = torch.compile(lambda v, x: (v + 1, x + 1), backend=counter, dynamic=True)
    for batch in (3, 7):
        fast(torch.ones(5), torch.ones(batch, 4))
    assert counter.frame_count == 1


def test_the_courses_network():
    net = get_net()
    assert_agrees(compiled(net), net, torch.randn(1, 512))


def of_tensors(x, y):
    z = torch.tanh(x) * y - 1
    return z, x / (1 + torch.exp(-y)), [z + x, x]


@pytest.mark.parametrize("dynamic", [False, True])
def test_functions_of_several_tensors_with_several_results(dynamic):
    fast = compiled(of_tensors, dynamic=dynamic)
    for batch in (3, 5):
        x, y = torch.randn(batch, 4), torch.randn(batch, 1)
        ours, torchs = fast(x, y), of_tensors(x, y)
        assert type(ours) is tuple
        assert_close([*ours[:2], *ours[2]], [*torchs[:2], *torchs[2]], "by torch.compile")


def test_other_ranks_and_layouts():
    net = make_net()
    fast = compiled(net, dynamic=True)
    for x in (torch.randn(4), torch.randn(2, 3, 4)):
        assert_agrees(fast, net, x)
    for x in (torch.randn(4, 3).t(), torch.randn(6, 8)[::2, ::2], torch.randn(13)[1:].view(3, 4)):
        assert_agrees(fast, net, x)


def test_weights_that_change_are_seen():
    net, x = make_net(), torch.randn(3, 4)
    fast = compiled(net)
    assert_agrees(fast, net, x)
    with torch.no_grad():
        net[0].weight.mul_(-3)
        assert_agrees(fast, net, x)
    net[0].weight.data = torch.randn(5, 4)
    assert_agrees(fast, net, x)
    net[0].weight = nn.Parameter(torch.randn(5, 4))
    assert_agrees(fast, net, x)
    net[1] = nn.Tanh()
    assert_agrees(fast, net, x)


class WithBuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(4))
        self.plain = torch.ones(4)

    def forward(self, x):
        return x * self.scale + self.plain


def test_buffers_that_change_are_seen():
    net, x = WithBuffer(), torch.randn(3, 4)
    fast = compiled(net)
    for _ in range(2):
        assert_agrees(fast, net, x)
        net.scale.mul_(2)
        net.plain.sub_(5)
    net.scale, net.plain = torch.randn(4), torch.randn(4)
    assert_agrees(fast, net, x)


def test_gradients_are_refused_rather_than_lost():
    net, x = make_net(), torch.randn(3, 4)
    fast = compiled(net)
    with pytest.raises(Exception, match="an input or a parameter requires gradients"):
        fast(x)
    assert_agrees(fast, net, x)
    with pytest.raises(Exception, match="requires gradients"):
        fast(x)
    net.requires_grad_(False)
    assert torch.equal(fast(x), compiled(net)(x))
    with pytest.raises(Exception, match="requires gradients"):
        fast(x.clone().requires_grad_())


def test_inference_mode():
    net = make_net()
    fast = compiled(net)
    with torch.inference_mode():
        x = torch.randn(3, 4)
        assert_close(fast(x), net(x), "in inference mode")


def left_to_torch(function, *inputs, **options):
    """What the warning says, after a call whose result was as torch's."""
    torch.manual_seed(0)
    expected = function(*inputs)
    torch.manual_seed(0)
    with pytest.warns(UserWarning, match="d2lhybrid leaves these operations to torch: ") as caught:
        assert_close(compiled(function, **options)(*inputs), expected, "partly in torch")
    return str(caught[0].message).partition(": ")[2]


@pytest.mark.parametrize(
    ("last", "names"),
    [
        (nn.ELU(), "elu"),
        (nn.Softmax(dim=0), "softmax"),
        (nn.Dropout(), "dropout"),
        (nn.ReLU(inplace=True), "linear, relu, because one of them changes a tensor in place"),
    ],
)
def test_what_we_do_not_have_is_left_to_torch(last, names):
    with torch.no_grad():
        assert left_to_torch(make_net(last), torch.randn(3, 4)).endswith(names)


class Parts(nn.Module):
    """Two parts that can be compiled, with an operation of torch in between."""

    def __init__(self):
        super().__init__()
        self.words, self.wide, self.norm = nn.Embedding(10, 4), nn.Linear(4, 8), nn.LayerNorm(8)
        self.across, self.back = nn.Conv1d(8, 8, 3, padding=1), nn.Linear(8, 4)

    def forward(self, i):
        x = self.words(i)
        y = nn.functional.gelu(self.norm(self.wide(x)))
        z = self.across(y.transpose(1, 2)).transpose(1, 2)
        return torch.softmax(x + self.back(torch.relu(z)), -1), y


def test_a_network_may_be_compiled_in_parts(monkeypatch):
    parts = []
    whole = module.compiled
    monkeypatch.setattr(module, "compiled", lambda graph: parts.append(graph) or whole(graph))
    net = Parts().eval()
    with torch.no_grad():
        names = left_to_torch(net, torch.randint(0, 10, (2, 5)))
        assert names == "embedding, transpose, conv1d"
        assert len(parts) == 3, "the whole, which cannot be compiled, and two parts"
        fast = compiled(net, dynamic=True)
        for sizes in ((2, 5), (3, 5)):
            words = torch.randint(0, 10, sizes)
            assert_close(fast(words), net(words), "in parts, at several sizes")


def test_what_reads_a_tensor_behind_its_change_sees_it():
    def function(x):
        y = torch.tanh(x) + 1
        y.mul_(2)
        return torch.sigmoid(y) * 3

    assert left_to_torch(function, torch.randn(3, 4)).endswith("changes a tensor in place")


def test_dropout_that_is_off():
    net = make_net(nn.Dropout()).eval()
    assert_agrees(compiled(net), net, torch.randn(3, 4))


def test_other_types_are_left_to_torch():
    for name in ("float64", "float16", "int64"):
        x = torch.ones(3, 4, dtype=getattr(torch, name))
        assert left_to_torch(lambda x: x + x, x) == "add"


def test_the_batch_size_as_a_number_is_left_to_torch():
    left_to_torch(lambda x: torch.tanh(x) / x.shape[0], torch.ones(3, 4), dynamic=True)


def test_features_that_vary_are_compiled_again():
    fast = compiled(lambda x: x + 1, dynamic=True)
    for shape in ((3, 4), (3, 5), (2, 6), (9, 4)):
        assert torch.equal(fast(torch.ones(shape)), torch.full(shape, 2.0))


SIZES_THAT_VARY = [
    (lambda x, y: (x.relu(), y.tanh()), [((3, 5), (7, 5)), ((4, 5), (6, 5)), ((4, 5), (8, 5))]),
    (lambda x, y: x + y, [((2, 3, 4), (3, 4)), ((2, 5, 4), (5, 4)), ((3, 6, 4), (6, 4))]),
    (lambda x, y: x * y, [((2, 2), (2, 2)), ((3, 3), (3, 3)), ((5, 4), (4,)), ((6, 4), (4,))]),
    (lambda x, y: x + y + x.shape[1], [((2, 3), (2, 3)), ((3, 4), (1, 1)), ((6, 6), (6, 6))]),
]


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(("function", "shapes"), SIZES_THAT_VARY)
def test_several_sizes_that_vary(function, shapes, dynamic):
    fast = compiled(function, dynamic=dynamic)
    for pair in shapes:
        x, y = map(torch.randn, pair)
        ours, torchs = fast(x, y), function(x, y)
        both = isinstance(torchs, tuple)
        assert_close([*ours] if both else ours, [*torchs] if both else torchs, "by torch.compile")


@pytest.mark.parametrize("dynamic", [None, True, False])
def test_a_whole_number_that_varies(dynamic):
    fast = compiled(lambda x, k: x * k, dynamic=dynamic)
    for k in (2, 3, 4, 4):
        assert torch.equal(fast(torch.ones(3, 4), k), torch.full((3, 4), float(k)))


def test_tied_weights():
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    net[1].weight = net[0].weight
    fast, x = compiled(net), torch.randn(3, 4)
    assert_agrees(fast, net, x)
    net[1].weight = nn.Parameter(torch.randn(4, 4))
    assert_agrees(fast, net, x)


def test_behind_a_graph_break_the_rest_is_compiled():
    def function(x):
        x = torch.tanh(x) + 1
        if x.sum() > 0:
            return x * 2
        return -x

    x = torch.ones(3, 4)
    with pytest.warns(UserWarning, match="leaves these operations to torch: sum"):
        assert_close(torch.compile(function, backend=BACKEND)(x), function(x), "in two graphs")
