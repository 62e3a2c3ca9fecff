"""Calls and recordings in several threads, and a fork among them."""

import os
import signal
import threading

import pytest
import torch
from hybrid_helpers import in_threads
from random_programs import assert_close
from torch import nn

from d2lhybrid import hybridize, trace
from d2lhybrid.hybrid import compiler
from d2lhybrid.hybrid.recorder import Symbol


def test_many_threads_at_once(net):
    fast = hybridize(net, torch.ones(1, 4))
    wrong, barrier = [], threading.Barrier(8)

    def work(i):
        chance = torch.Generator().manual_seed(i)
        barrier.wait(30)
        for turn in range(60):
            x = torch.randn((i * 3 + turn) % 17, 4, generator=chance)
            with torch.no_grad():
                if not torch.allclose(fast(x), net(x), atol=1e-5):
                    wrong.append((i, turn))

    in_threads(8, work)
    assert not wrong
    assert fast.compilations == 1


def test_a_new_shape_in_many_threads_is_recorded_once(net):
    runs, barrier = [], threading.Barrier(8)
    original = net.forward
    net.forward = lambda x: runs.append(x) or original(x)
    fast = hybridize(net, torch.ones(2, 4))

    def work(_):
        barrier.wait(30)
        fast(torch.ones(2, 11, 4))

    in_threads(8, work)
    assert [type(x) for x in runs] == 2 * [Symbol, torch.Tensor]


def test_a_call_while_the_network_is_recorded(net, x, monkeypatch):
    """As a signal's handler, or a `__del__`, may make it."""
    fast = hybridize(net, x)
    recorded = []

    def trace_and_call(net, *inputs):
        recorded.append(fast(x.repeat(1, 2)[:, :4]))
        return trace(net, *inputs)

    monkeypatch.setattr("d2lhybrid.hybrid.compiler.trace", trace_and_call)
    thread = threading.Thread(target=fast, args=[x[None]], daemon=True)
    thread.start()
    thread.join(60)
    assert len(recorded) == 1
    assert_close(recorded[0], net(x).detach(), "inside of a recording")


def test_weights_replaced_while_others_call(net):
    x = torch.ones(64, 4)
    weights = [nn.Parameter(torch.full((4, 4), float(i)), False) for i in range(1, 4)]
    net[2] = nn.Identity()
    net[0].bias.data.zero_()
    net[0].weight = weights[0]
    fast = hybridize(net, x)
    wrong, done = [], threading.Event()

    def call():
        while not done.is_set():
            result = fast(x)
            if not any(torch.equal(result, torch.full((64, 4), 4.0 * i)) for i in (1, 2, 3)):
                wrong.append(result)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(200):
        net[0].weight = weights[i % 3]
        fast(x[: i % 5])
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong


def in_a_child(work):
    """What a forked process writes: what `work` returns; '' after ten seconds."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(10)
            os.write(writing, work().encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading) as file:
        said = file.read()
    os.waitpid(child, 0)
    return said


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_fork_while_another_thread_records(net, x, monkeypatch):
    fast = hybridize(net, x)
    recording, may_end = threading.Event(), threading.Event()

    def slow_trace(net, *inputs):
        recording.set()
        may_end.wait(0.3)
        return trace(net, *inputs)

    monkeypatch.setattr(compiler, "trace", slow_trace)
    thread = threading.Thread(target=fast, args=[torch.ones(2, 3, 4)])
    thread.start()
    recording.wait(30)
    said = in_a_child(lambda: str([*fast(torch.ones(2, 2, 5, 4)).shape]))
    thread.join()
    assert said == "[2, 2, 5, 4]"
