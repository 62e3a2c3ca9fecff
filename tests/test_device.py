"""Devices: what is there, and waiting for it. A machine with GPUs is played by a double."""

import subprocess
import sys

import pytest
import torch

import d2lhybrid as d2l


@pytest.mark.parametrize(
    ("gpus", "asked", "expected"),
    [(0, 0, "cpu"), (0, 3, "cpu"), (1, 0, "cuda:0"), (2, 1, "cuda:1"), (2, 2, "cpu")],
)
def test_try_gpu(monkeypatch, gpus, asked, expected):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    assert d2l.try_gpu(asked) == torch.device(expected)
    assert d2l.num_gpus() == gpus


@pytest.mark.parametrize(
    ("gpus", "expected"), [(0, ["cpu"]), (1, ["cuda:0"]), (2, ["cuda:0", "cuda:1"])]
)
def test_try_all_gpus(monkeypatch, gpus, expected):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    assert d2l.try_all_gpus() == [torch.device(name) for name in expected]


def test_the_default_is_the_first_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert d2l.try_gpu() == d2l.gpu() == torch.device("cuda:0")


def test_cpu_and_gpu_name_devices_that_need_not_be_there():
    assert d2l.cpu() == torch.device("cpu")
    assert d2l.gpu(7) == torch.device("cuda:7")


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
