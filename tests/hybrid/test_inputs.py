"""Inputs and parameters of every kind: made readable, or refused."""

import pytest
import torch
import torch.nn.functional as F
from hybrid_helpers import Keeping, assert_agrees
from random_programs import LAYOUTS
from torch import nn

from d2lhybrid import hybridize, trace
from d2lhybrid.hybrid.compiler import CompiledGraph
from d2lhybrid.hybrid.inputs import admitted
from d2lhybrid.hybrid.operations import UnsupportedOperation

# Inputs in any layout -----------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_inputs_laid_out_in_any_way(net, layout):
    for shape in ((4,), (3, 4), (1, 4), (2, 3, 4)):
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


# What is refused ----------------------------------------------------------------------------

X = torch.ones(3, 4)
BAD_INPUTS = [  # arguments, the error, what it says
    ([X.double()], TypeError, "of type float32 and on the CPU, not float64 on cpu"),
    ([X.half()], TypeError, "not float16 on cpu"),
    ([X.long()], TypeError, "not int64 on cpu"),
    ([X.cfloat()], TypeError, "not complex64 on cpu"),
    ([X.to("meta")], TypeError, "not float32 on meta"),
    ([X.to_sparse()], TypeError, "of the ordinary kind, not torch.sparse_coo"),
    ([X.tolist()], TypeError, "a tensor of the ordinary kind, not list"),
    ([X.numpy()], TypeError, "a tensor of the ordinary kind, not ndarray"),
    ([None], TypeError, "a tensor of the ordinary kind, not NoneType"),
    ([X.as_subclass(type("Mine", (torch.Tensor,), {}))], TypeError, "ordinary kind"),
    ([X.clone().requires_grad_()], RuntimeError, "an input requires gradients"),
    ([nn.Parameter(X)], RuntimeError, "an input requires gradients"),
    ([X.clone().requires_grad_() * 2], RuntimeError, "an input requires gradients"),
    ([torch.ones(3, 5)], ValueError, "the weight takes 4 features"),
    ([torch.ones(2, 4, 5)], ValueError, "the weight takes 4 features"),
    ([torch.tensor(1.0)], ValueError, "the weight takes 4 features"),
    ([torch.ones(3, 0)], ValueError, "the weight takes 4 features"),
    ([], TypeError, r"argument|expected 1 input\(s\), got 0"),
    ([X, X], TypeError, r"argument|expected 1 input\(s\), got 2"),
]


def test_bad_inputs_and_examples(net):
    for arguments, error, reason in BAD_INPUTS:
        fast = hybridize(net, X)
        with pytest.raises(error, match=reason):
            fast(*arguments)
        with pytest.raises(error, match=reason):
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


TWO_INPUTS = [  # two shapes, the error
    ([(2, 4), (3, 4)], "the inputs have batches of 2 and 3"),
    ([(0, 4), (1, 4)], "the inputs have batches of 0 and 1"),
    ([(1, 4), (2, 4)], "the inputs have batches of 1 and 2"),
    ([(2, 4), (2, 5)], "a size of 5 does not go with 4"),
]


def test_two_inputs_that_do_not_fit():
    for shapes, reason in TWO_INPUTS:
        fast = hybridize(lambda x, y: x + y, X, X)
        with pytest.raises(ValueError, match=reason):
            fast(*map(torch.ones, shapes))
        with pytest.raises(TypeError):
            fast(X)
        assert torch.equal(fast(X, X), X + X)


def test_a_program_takes_its_shapes_alone(net):
    for shape in [(3, 5), (3, 4, 1), (4,), (3, 0), ()]:
        compiled = CompiledGraph(trace(net, X))
        assert_agrees(compiled, net, X)
        with pytest.raises(ValueError, match=r"input is float32\[n, 4\], and the input has"):
            compiled(torch.ones(shape))


CANNOT_BE_READ = "must be contiguous, aligned and on the CPU"
BAD_WEIGHTS = [
    (torch.ones(4, 4, device="meta"), TypeError, CANNOT_BE_READ),
    (torch.rand(4, 4).t(), TypeError, CANNOT_BE_READ),
    (torch.ones(4, 8)[:, ::2], TypeError, CANNOT_BE_READ),
    (torch.ones(1, 4).expand(4, 4), TypeError, CANNOT_BE_READ),
    (torch.complex(torch.ones(4), torch.ones(4)).conj().imag, TypeError, CANNOT_BE_READ),
    (
        torch.frombuffer(bytearray(20), dtype=torch.float32, offset=1, count=4),
        TypeError,
        CANNOT_BE_READ,
    ),
    (torch.ones(4).to_sparse(), (TypeError, RuntimeError), None),
    (torch.ones(4).double(), UnsupportedOperation, "float32 and torch.float64"),
    (torch.ones(4).half(), UnsupportedOperation, "float32"),
]


def test_bad_parameters():
    for weight, error, reason in BAD_WEIGHTS:
        with pytest.raises(error, match=reason):
            hybridize(Keeping(lambda x, w: F.linear(x, w) if w.dim() == 2 else x + w, w=weight), X)


def test_a_parameter_without_memory(net, x):
    fast = hybridize(net.requires_grad_(False), x)
    net[0].weight.untyped_storage().resize_(0)
    with pytest.raises(TypeError, match=r"0\.weight must be contiguous, aligned and on the CPU"):
        fast(x)
