"""The guard: it neither reads freed memory, nor keeps memory forever."""

import gc
import sys
import threading
import time

import pytest
import torch
from hybrid_helpers import Everything, TwoInputs, assert_agrees, make_net
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef

from d2lhybrid import hybridize
from d2lhybrid.hybrid import guard

NAN, INF = float("nan"), float("inf")


@pytest.fixture(scope="module")
def collect():
    """Collects garbage, but does not look through all of torch each time."""
    gc.collect()
    gc.freeze()
    yield gc.collect
    gc.unfreeze()


def test_freed_memory_is_never_read(net, x, collect):
    fast = hybridize(net, x)
    for i in range(12):
        if i % 3 == 0:
            net[0].weight = nn.Parameter(torch.randn(4, 4), False)
        elif i % 3 == 1:
            net[0].weight.data = torch.randn(4, 4)
        else:
            net.load_state_dict(make_net().state_dict(), assign=True)
        collect()
        garbage = [torch.full((4, 4), NAN) for _ in range(50)]
        assert_agrees(fast, net, x)
        del garbage
        assert_agrees(fast, net, x)
    assert fast.compilations == 1


def test_a_weight_is_kept_until_the_next_call(net, x, collect):
    fast = hybridize(net, x)
    storage = StorageWeakRef(net[0].weight.untyped_storage())
    net[0].weight = nn.Parameter(torch.randn(4, 4), False)
    collect()
    assert not storage.expired(), "or another tensor might get its address, and be taken for it"
    fast(x)
    collect()
    assert storage.expired(), "and not longer"


def test_a_weight_that_a_call_is_reading_is_kept(collect):
    def net_of(width):
        layers = [nn.Linear(width, width) for _ in range(8)]
        return nn.Sequential(*layers).requires_grad_(False)

    net, many, one = net_of(512), torch.randn(6_000, 512), torch.randn(1, 512)
    fast = hybridize(net, one)
    fast(many)
    storage = StorageWeakRef(net[0].weight.untyped_storage())
    started = threading.Event()

    def call():
        started.set()
        fast(many)

    thread = threading.Thread(target=call)
    thread.start()
    started.wait(60)
    time.sleep(0.05)
    net[0].weight = nn.Parameter(torch.randn(512, 512), False)
    fast(one)
    collect()
    expired, alive = storage.expired(), thread.is_alive()
    thread.join()
    assert alive, "the call was over too early to show anything"
    assert not expired


def test_saved_call_keeps_the_memory_of_old_weights_alive(net, x, collect):
    fast = hybridize(net, x)
    call = fast.__call__
    old = StorageWeakRef(net[0].weight.untyped_storage())
    net[0].weight = nn.Parameter(torch.randn(4, 4), False)
    fast(x)
    collect()
    assert not old.expired()
    assert_agrees(call, net, x)


def test_the_guard_gives_back_what_it_is_handed(x, collect):
    """A reference too many keeps memory forever, and one too few frees what is still used."""
    net = Everything().eval().requires_grad_(False)
    fast, pair = hybridize(net, x), hybridize(TwoInputs(), x, x)
    many, wrong, gone = x.repeat(3, 1), x.double(), nn.Linear(4, 4)
    from_gone, trained = hybridize(gone, x), hybridize(nn.Linear(4, 4), x)
    del gone.bias  # the guard meets an error of Python's at each call

    def calls():
        for one in (x, many):
            fast(one)
            pair(one, one)
        assert fast.holds() is True
        assert from_gone.holds() is False
        for program, inputs in ((fast, [wrong]), (fast, [x, x]), (from_gone, [x]), (trained, [x])):
            with pytest.raises((TypeError, AttributeError, RuntimeError)):
                program(*inputs)

    guarded = [*fast._guarded.values(), *pair._guarded.values()]
    watched = [x, many, wrong, net.scale, *guard.OBJECTS.values(), *net.modules()]
    watched += [*net.parameters(), *trained.net.parameters()]
    watched += [one for module in net.modules() for one in (module._parameters, module._modules)]
    watched += [one for g in guarded for one in (g.call, g.call.__self__, g.by_shape)]
    watched += [one for g in guarded for found in g.by_shape.values() for one in (found, *found)]

    def state():
        collect()
        return [sys.getrefcount(one) for one in watched], sys.getallocatedblocks()

    for _ in range(3):
        calls()
    counts, blocks = state()
    for _ in range(200):
        calls()
    counts_after, blocks_after = state()
    assert counts_after == counts
    assert blocks_after < blocks + 100
