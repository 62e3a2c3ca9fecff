"""torch.compile works after reset_compiler, whatever the version got wrong before it."""

import pytest
import torch
from torch import nn

from d2lhybrid.faults import reset_compiler


class Choice(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: -x, (x,))


class Cut(nn.Module):
    def forward(self, x):
        return x * 2 if (x > 0).all() else -x


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * 2


@pytest.mark.filterwarnings("ignore:`torch.jit", "ignore::torch.jit.TracerWarning")
def test_what_follows_a_graph_break_is_captured_although_a_trace_has_failed():
    graphs = []
    with pytest.raises(RuntimeError):
        torch.jit.trace(Choice(), torch.ones(2), check_trace=False)
    reset_compiler()
    torch.compile(Cut(), backend=lambda graph, _: graphs.append(graph) or graph)(torch.ones(2))
    assert len(graphs) == 2


@pytest.mark.filterwarnings("ignore:Guards may run slower")
def test_a_compiled_module_goes_on_counting():
    reset_compiler()
    net = Counts()
    program = torch.compile(net, backend="eager")
    for _ in range(3):
        program(torch.ones(2))
    assert net.calls == 3
