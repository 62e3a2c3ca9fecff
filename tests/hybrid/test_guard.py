"""The guard: what it asks, and what happens when an answer is no answer."""

import ctypes

import pytest
import torch
from hybrid_helpers import Everything, assert_agrees
from torch._subclasses import FakeTensorMode
from torch.overrides import TorchFunctionMode

from d2lhybrid import hybridize
from d2lhybrid.hybrid import guard
from d2lhybrid.toolchain import load_library


def test_the_guard_says_what_it_asks(x):
    net = Everything().eval()
    addresses = [p.data_ptr() for p in (*net.parameters(), net.scale)]
    assert hybridize(net, x).guard.splitlines() == [
        "x: float32[n, 4], on the CPU, aligned, in order, without gradients",
        f"layers.0.weight: lies at {addresses[0]:#x}, in order",
        f"layers.1.weight: lies at {addresses[1]:#x}",
        f"layers.1.bias: lies at {addresses[2]:#x}",
        f"scale: lies at {addresses[3]:#x}",
        "Everything: has the layers layers",
        "Everything: training is False",
        "layers: has the layers 0, 1",
        "layers.0: has no bias",
    ]


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
    source = f"{guard.GUARD_SOURCE}\nconst size_t in_c[] = {{sizeof({name}), {offsets}}};\n"
    numbers = (ctypes.c_size_t * (len(places) + 1)).in_dll(load_library(source), "in_c")
    in_c = dict(zip(["whole", *places], numbers, strict=True))
    assert in_c == {"whole": ctypes.sizeof(struct)} | places


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
        half = {"dtype": torch.float16} if function in (torch.empty, torch.empty_like) else {}
        return function(*args, **(kwargs or {}) | half)


def test_a_result_is_an_ordinary_tensor_whatever_mode_torch_is_in(net, x):
    fast = hybridize(net, x)
    expected = fast(x)
    with ComputesInHalf():
        assert torch.equal(fast(x), expected)
        assert fast(torch.cat([x, x])).dtype == torch.float32  # a batch of another size
    gradient = torch.func.grad(lambda y: fast(x).sum() * y)(torch.tensor(1.0))
    assert torch.equal(gradient, expected.sum())
    with FakeTensorMode(allow_non_fake_inputs=True):
        result = fast(x)
    assert torch.equal(result, expected)


class Interrupts(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        raise KeyboardInterrupt


def test_guard_propagates_keyboard_interrupt(net, x):
    fast = hybridize(net, x)
    for call in (lambda: fast(x), fast.holds):
        with pytest.raises(KeyboardInterrupt), Interrupts():
            call()
    assert_agrees(fast, net, x)
