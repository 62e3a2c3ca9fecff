"""The package as others meet it: its names, and what importing it costs."""

import importlib
import pkgutil
import subprocess
import sys

import pytest
import torch

import d2lhybrid
from d2lhybrid import get_net


def test_importing_the_package_loads_nothing_large():
    large = ["torch", "matplotlib", "networkx", "numpy", "ast", "importlib.metadata", "asyncio"]
    code = f"import sys, d2lhybrid; print([m for m in {large} if m in sys.modules])"
    # -S: whatever site-packages imports at the start of Python is not our doing
    command = [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path}; {code}"]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "[]\n"


@pytest.mark.parametrize("name", d2lhybrid.__all__)
def test_public_name(name):
    value = getattr(d2lhybrid, name)
    assert value.__name__ == name
    assert value.__module__.startswith("d2lhybrid.")
    assert value.__doc__
    assert name in dir(d2lhybrid)
    assert vars(d2lhybrid)[name] is value  # kept, so that the second use costs nothing


def test_unknown_name():
    with pytest.raises(AttributeError, match="has no attribute 'hybrid_forward'"):
        d2lhybrid.hybrid_forward  # noqa: B018
    with pytest.raises(ImportError):
        from d2lhybrid import hybrid_forward  # noqa: F401


def test_no_module_bears_the_name_of_a_public_function():
    modules = {module.name for module in pkgutil.iter_modules(d2lhybrid.__path__)}
    assert modules & set(d2lhybrid.__all__) == set()


def test_every_module_says_what_it_is_for():
    for module in pkgutil.iter_modules(d2lhybrid.__path__):
        assert importlib.import_module(f"d2lhybrid.{module.name}").__doc__


def test_what_the_books_section_uses_is_there():
    for name in ["Timer", "Benchmark", "try_gpu", "try_all_gpus", "gpu", "cpu", "num_gpus"]:
        assert name in d2lhybrid.__all__


def test_get_net():
    net = get_net()
    layers = [
        (type(layer).__name__, *getattr(layer, "weight", torch.empty(0)).shape) for layer in net
    ]
    relu = ("ReLU", 0)
    assert layers == [("Linear", 256, 512), relu, ("Linear", 128, 256), relu, ("Linear", 2, 128)]
    assert sum(p.numel() for p in net.parameters()) == 164_482
    assert net(torch.zeros(3, 512)).shape == (3, 2)
    assert not torch.equal(net[0].weight, get_net()[0].weight)
