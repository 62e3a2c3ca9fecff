"""Calls and recordings in several threads."""

import threading

import torch
from hybrid_helpers import in_threads

from d2lhybrid import hybridize


def test_eight_threads_get_right_results_from_one_compilation(net):
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
