"""The table of frameworks: what is asked of one that is loaded, and of no other."""

import sys
from types import ModuleType, SimpleNamespace

import numpy
import pytest
import torch

from d2lhybrid import frameworks, mismatch
from d2lhybrid.frameworks import pytorch


class Array:
    def __init__(self, numbers):
        self.numbers, self.shape, self.dtype = numbers, (len(numbers),), "float32"


@pytest.fixture
def made_up(monkeypatch):
    """A framework that is loaded, in the table, and has a file."""
    waits = []
    file = SimpleNamespace(
        waits=waits,
        synchronize=lambda: waits.append("made_up"),
        to_numpy=lambda x: numpy.array(x.numbers, "f") if isinstance(x, Array) else None,
        state=lambda: {"threads": 99, "fast": True},
        needs_gradients=lambda array: True if isinstance(array, Array) else None,
        name_of=lambda device: "a made-up device" if device == "made_up:0" else None,
        compilations=lambda: (4, 3, 2, 1),
    )
    module = ModuleType("made_up")
    module.__version__ = "1.2.3"
    monkeypatch.setitem(frameworks.FRAMEWORKS, "made_up", file)
    monkeypatch.setitem(sys.modules, "made_up", module)
    return file


def test_a_framework_is_one_row_and_one_file(made_up):
    frameworks.synchronize()
    assert made_up.waits == ["made_up"]
    assert frameworks.to_numpy(Array([1.0, 2.0])).tolist() == [1.0, 2.0]
    assert mismatch(Array([1.0, 2.0]), torch.tensor([1.0, 2.0])) == ""
    assert frameworks.state()["fast"]
    assert frameworks.state()["threads"] == torch.get_num_threads()  # the first row counts
    assert frameworks.needs_gradients(Array([1.0]))
    assert frameworks.needs_gradients(torch.ones(1)) is False
    assert frameworks.needs_gradients(torch.ones(1, requires_grad=True))
    assert frameworks.needs_gradients([1.0]) is None
    assert frameworks.name_of("made_up:0") == "a made-up device"
    assert frameworks.name_of("other:0") == "other:0"
    together = tuple(a + b for a, b in zip(pytorch.compilations(), (4, 3, 2, 1), strict=True))
    assert frameworks.compilations() == together
    assert frameworks.versions()["made_up"] == "1.2.3"


def test_a_framework_that_is_not_loaded_is_not_asked(made_up, monkeypatch):
    monkeypatch.delitem(sys.modules, "made_up")
    frameworks.synchronize()
    assert made_up.waits == []
    assert "made_up" not in frameworks.versions()
    assert "fast" not in frameworks.state()


def test_without_any_framework_there_is_nothing_to_say(monkeypatch):
    monkeypatch.setattr(frameworks, "FRAMEWORKS", {})
    for name in frameworks.THREADS:  # another test may have set them
        monkeypatch.delenv(name, raising=False)
    assert frameworks.synchronize() is None
    assert (frameworks.state(), frameworks.versions()) == ({}, {})
    assert frameworks.compilations() == (0, 0, 0, 0)
    assert frameworks.name_of("cuda:0") == "cuda:0"
    assert frameworks.to_numpy([1, 2]).tolist() == [1, 2]
    for name in frameworks.THREADS:
        monkeypatch.setenv(name, "2")
    assert frameworks.state() == {"threads": 2}


@pytest.mark.parametrize(
    ("one", "two", "known"),
    [("3", "3", {"threads": 3}), ("3", "2", {}), ("3", "", {}), ("many", "many", {}), ("", "", {})],
)
def test_threads_are_those_of_the_variables_if_a_framework_knows_no_others(
    monkeypatch, one, two, known
):
    for name in frameworks.THREADS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ONE", one)
    monkeypatch.setenv("TWO", two)
    file = SimpleNamespace(THREADS=["ONE", "TWO"])
    monkeypatch.setattr(frameworks, "FRAMEWORKS", {"sys": file})  # which is always loaded
    assert frameworks.state() == known
    file.state = lambda: {"threads": 7}
    assert frameworks.state() == {"threads": 7}
