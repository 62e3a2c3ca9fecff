"""Inputs and parameters of every kind: made readable, or refused."""

import pytest
import torch
import torch.nn.functional as F
from hybrid_helpers import Keeping, assert_agrees
from random_programs import LAYOUTS
from torch import nn

from d2lhybrid import hybridize, trace
from d2lhybrid.hybrid.compiler import CompiledGraph, validate_input
from d2lhybrid.hybrid.operations import UnsupportedOperation

X = torch.ones(3, 4)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_inputs_laid_out_in_any_way(net, layout):
    for shape in ((4,), (3, 4), (1, 4), (2, 3, 4)):
        x = torch.randn(shape)
        fast = hybridize(net, layout(x))
        for one in (layout(x), layout(x + 1), x):
            assert_agrees(fast, net, one)


def test_inputs_are_copied_only_where_c_cannot_read_them(net, x):
    assert validate_input(x).data_ptr() == x.data_ptr()
    copied = validate_input(LAYOUTS["misaligned"](x))
    assert copied.data_ptr() % 4 == 0
    assert torch.equal(copied, x)
    fast = hybridize(net, x)
    other_sign = torch.complex(torch.ones(1, 4), torch.ones(1, 4)).conj().imag
    expanded = torch.randn(1, 4).expand(5, 4), torch.randn(5, 1).expand(5, 4)
    for one in (other_sign, *expanded, torch.randn(8, 8)[::3, ::2]):
        assert_agrees(fast, net, one)
    assert_agrees(hybridize(net, other_sign), net, other_sign)


OTHER_TYPES = [X.double(), X.half(), X.long(), X.cfloat(), X.to("meta"), X.to_sparse(), X.tolist()]
OTHER_TYPES += [X.numpy(), None, X.as_subclass(type("Mine", (torch.Tensor,), {}))]
NEED_GRADIENTS = [X.clone().requires_grad_(), nn.Parameter(X), X.clone().requires_grad_() * 2]
WRONG_SHAPES = [torch.ones(shape) for shape in ((3, 5), (2, 4, 5), (), (3, 0))]
BAD_INPUTS = [  # arguments, the error
    *[([one], TypeError) for one in OTHER_TYPES],
    *[([one], RuntimeError) for one in NEED_GRADIENTS],
    *[([one], ValueError) for one in WRONG_SHAPES],
    *[([], TypeError), ([X, X], TypeError)],
]


@pytest.mark.parametrize(("arguments", "error"), BAD_INPUTS)
def test_wrong_type_shape_count_or_gradient_raises(net, arguments, error):
    fast = hybridize(net, X)
    with pytest.raises(error):
        fast(*arguments)
    with pytest.raises(error):
        hybridize(net, *arguments)
    assert fast.compilations == 1
    assert_agrees(fast, net, X)


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


@pytest.mark.parametrize("shapes", [[(2, 4), (3, 4)], [(0, 4), (1, 4)], [(2, 4), (2, 5)]])
def test_inputs_of_different_batch_or_width_raise(shapes):
    fast = hybridize(lambda x, y: x + y, X, X)
    with pytest.raises(ValueError, match=r"batches of|does not match"):
        fast(*map(torch.ones, shapes))
    assert torch.equal(fast(X, X), X + X)


def test_a_compiled_graph_takes_its_shapes_alone(net):
    compiled = CompiledGraph(trace(net, X))
    assert_agrees(compiled, net, X)
    for shape in [(3, 5), (3, 4, 1), (4,), (3, 0), ()]:
        with pytest.raises(ValueError, match="the input has"):
            compiled(torch.ones(shape))


CANNOT_BE_READ = [torch.ones(4, 4, device="meta"), torch.rand(4, 4).t(), torch.ones(4, 8)[:, ::2]]
CANNOT_BE_READ += [torch.ones(1, 4).expand(4, 4), torch.ones(4).to_sparse()]
CANNOT_BE_READ += [torch.complex(torch.ones(4), torch.ones(4)).conj().imag]
CANNOT_BE_READ += [torch.frombuffer(bytearray(20), dtype=torch.float32, offset=1, count=4)]


@pytest.mark.parametrize("weight", [*CANNOT_BE_READ, torch.ones(4).double(), torch.ones(4).half()])
def test_parameters_that_c_cannot_read_are_refused(weight):
    with pytest.raises((TypeError, RuntimeError, UnsupportedOperation)):
        hybridize(Keeping(lambda x, w: F.linear(x, w) if w.dim() == 2 else x + w, w=weight), X)


def test_a_parameter_without_memory(net, x):
    fast = hybridize(net.requires_grad_(False), x)
    net[0].weight.untyped_storage().resize_(0)
    with pytest.raises(TypeError, match=r"0\.weight must be contiguous, aligned"):
        fast(x)
