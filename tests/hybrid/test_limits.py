"""The limits: what they return, what they repeat in C, and what they remember."""

import ctypes

import pytest
import torch

from d2lhybrid import get_net
from d2lhybrid.hybrid import compiler
from d2lhybrid.hybrid.compiler import TIMES, c_loop, reading
from d2lhybrid.toolchain import load_function, read_c_file

each_limit = pytest.mark.parametrize("limit", [c_loop, reading])


@each_limit
def test_a_limit_returns_what_its_input_gives(limit):
    net, x = get_net(), torch.ones(2, 512)
    run = limit(net, x).function
    for other in (x, -x, x, torch.ones(512, 2).T):
        assert torch.allclose(run(other), net(other), atol=1e-5)
    x *= 2
    assert torch.allclose(run(x), net(x), atol=1e-5)
    with torch.inference_mode():
        assert torch.allclose(run(x + 1), net(x + 1), atol=1e-5)
    with pytest.raises(TypeError, match="float32"):
        run(x.double())


def replace_repeat(monkeypatch, repeat):
    """Let the loop in C be another function; the compiled network stays."""
    load = lambda source, name: repeat if name == "repeat" else load_function(source, name)  # noqa: E731
    monkeypatch.setattr(compiler, "load_function", load)


@each_limit
def test_a_limit_repeats_in_c(limit, monkeypatch):
    asked = []
    repeat = lambda times, *arguments: asked.append(times)  # noqa: E731
    replace_repeat(monkeypatch, repeat)
    candidate = limit(get_net(), torch.ones(2, 512))
    candidate.function(torch.ones(2, 512))
    assert (asked, candidate.calls) == ([TIMES], TIMES)


def test_the_loop_in_c_may_have_no_batch():
    x = torch.arange(3.0)
    assert torch.equal(c_loop(lambda x: x * 2, x).function(x), x * 2)


@each_limit
def test_what_is_not_timed_is_done_once_until_the_input_changes(limit, monkeypatch):
    seen = []
    monkeypatch.setattr(compiler, "validate_input", lambda x: seen.append(x) or x)
    x, y = torch.ones(2, 512), torch.ones(2, 512)
    run = limit(get_net(), x).function
    for tensor, count in [(x, 1), (x, 1), (y, 2), (y, 2), (x, 3)]:
        run(tensor)
        assert len(seen) == count
    x += 1
    run(x)
    assert len(seen) == 4


def test_every_number_is_read_in_every_repetition():
    repeat = load_function(read_c_file(compiler.__file__, "read.c"), "repeat")
    repeat.argtypes = [ctypes.c_ssize_t] * 2 + [ctypes.c_void_p] * 2
    repeat.restype = ctypes.c_float
    for sizes in ([], [0], [5], [8], [3, 0, 800, 17]):
        tensors = [torch.randint(-9, 9, (size,)).float() for size in sizes]
        addresses = (ctypes.c_void_p * len(sizes))(*[tensor.data_ptr() for tensor in tensors])
        total = sum(tensor.sum().item() for tensor in tensors)
        numbers = (ctypes.c_ssize_t * len(sizes))(*sizes)
        assert repeat(3, len(sizes), addresses, numbers) == 3 * total, sizes


def test_the_loop_ends_where_a_call_fails(monkeypatch):
    replace_repeat(monkeypatch, lambda *arguments: 1)
    with pytest.raises(MemoryError):
        c_loop(get_net(), torch.ones(2, 512)).function(torch.ones(2, 512))
