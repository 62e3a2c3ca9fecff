"""PyTorch: waiting for devices, faults worked around. A double plays a machine with GPUs."""

import logging
import subprocess
import sys
import warnings

import pytest
import torch

import d2lhybrid as d2l
from d2lhybrid import quiet
from d2lhybrid.frameworks import pytorch


@pytest.mark.parametrize(
    ("cuda_in_use", "reserved", "metal", "waited_for"),
    [
        (False, [], False, []),
        (True, [512], False, [0]),
        (True, [0, 512, 512], False, [1, 2]),  # the first was never used
        (False, [], True, ["metal"]),
    ],
)
def test_synchronize(monkeypatch, cuda_in_use, reserved, metal, waited_for):
    waits = []
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: cuda_in_use)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(reserved))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda i: reserved[i])
    monkeypatch.setattr(torch.cuda, "synchronize", waits.append)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: metal)
    monkeypatch.setattr(torch.mps, "synchronize", lambda: waits.append("metal"))
    d2l.synchronize()
    assert waits == waited_for


def test_synchronize_does_not_import_torch():
    code = "import d2lhybrid, sys; d2lhybrid.synchronize(); print('torch' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "False\n"


# After `quiet`, torch.compile works, whatever the version got wrong before it.


class Counts(torch.nn.Module):
    calls = 0

    def forward(self, x):
        self.calls += 1
        return x * 2


@pytest.mark.filterwarnings("default")
def test_quiet_hides_only_what_pytorch_says_about_itself():
    with warnings.catch_warnings(record=True) as heard:
        quiet()
        torch.jit.script(torch.nn.ReLU())
        warnings.warn("Warning: Profiler clears events at the end of each cycle.", stacklevel=1)
        warnings.warn("of the reader's program", stacklevel=1)
    assert [str(one.message) for one in heard] == ["of the reader's program"]
    for name in ("torch._inductor.utils", "torch.utils.cpp_extension"):  # too few SMs; no CUDA
        assert not logging.getLogger(name).isEnabledFor(logging.WARNING)


@pytest.mark.filterwarnings("ignore:Guards may run slower")
def test_a_compiled_module_goes_on_counting():
    quiet()
    torch.compiler.reset()
    net = Counts()
    program = torch.compile(net, backend="eager")
    for _ in range(3):
        program(torch.ones(2))
    assert net.calls == 3


def test_nothing_is_compiled_before_the_compiler_is_loaded(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch._dynamo.utils", raising=False)
    assert pytorch.compilations() == (0, 0, 0, 0)


def test_an_optimizer_is_no_attempt_to_compile():
    code = "import torch; from d2lhybrid.frameworks import pytorch\n"
    code += "torch.optim.SGD([torch.ones(1, requires_grad=True)], 0.1)\n"
    code += "print(pytorch.compilations()[0])\ntorch.compile(abs, backend='eager')\n"
    code += "print(pytorch.compilations()[0])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "0\n1\n"
