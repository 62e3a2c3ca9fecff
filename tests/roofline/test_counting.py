"""What is counted, against what can be said on paper."""

import pytest
import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from d2lhybrid import get_net
from d2lhybrid.roofline.counting import CPU_ATTENTION, record

X, W, COLUMN, Q = torch.rand(64, 32), torch.rand(32, 16), torch.rand(64, 1), torch.rand(1, 2, 8, 4)
N, ROWS = X.numel(), torch.tensor([1, 5])
attention = F.scaled_dot_product_attention
PROGRAMS = [  # a function, its operations, numbers of 4 bytes that are read and written, FLOPs
    (lambda: X @ W, "mm", N + 32 * 16 + 64 * 16, 2 * N * 16),
    (lambda: X @ W[:, 0], "mv", N + 32 + 64, 2 * N),
    (lambda: torch.relu(X * 2 + X), "mul add relu", 7 * N, 0),
    (lambda: X.t().reshape(64, 32)[1:].flatten(), "clone", 2 * N, 0),
    (lambda: X.t()[1:].unsqueeze(0), "", 0, 0),
    (lambda: X * COLUMN.expand(64, 32), "mul", 2 * N + 64, 0),
    (lambda: F.embedding(ROWS, X), "embedding", 2 * 2 + 2 * 64, 0),
    (lambda: X.sum(0), "sum", N + 32, 0),
    (lambda: X.clone().mul_(0.5), "clone mul", 4 * N, 0),
    (lambda: X.clone().zero_(), "clone zero", 3 * N, 0),
    (lambda: X * X, "mul", 2 * N, 0),
    (lambda: attention(Q, Q, Q), CPU_ATTENTION, 64 + 64 + 16, 2 * 2 * 2 * 8 * 8 * 4),
]


def work(function):
    """What it does, without views."""
    return [op for op in record(function)[0] if op.kind != "view"]


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize(("function", "names", "numbers", "flops"), PROGRAMS)
def test_operations_bytes_and_flops(mode, function, names, numbers, flops):
    with mode():
        found = work(function)
    assert [op.name for op in found] == names.split()
    assert sum(op.bytes for op in found) == 4 * numbers
    assert sum(op.flops for op in found) == flops


def test_training_has_the_flops_that_pytorch_counts():
    net, x = get_net(), torch.rand(4, 512)
    with FlopCounterMode(display=False) as counter:
        net(x).sum().backward()
    products = [op for op in work(lambda: net(x).sum().backward()) if op.flops]
    assert sum(op.flops for op in products) == counter.get_total_flops()
    assert [op.recorded for op in products] == [True] * 8  # 3 forward, and 5 back


@pytest.mark.parametrize(
    "function",
    [
        lambda: torch.ones(3, device="meta") * 2,
        lambda: torch.ones(3).to_sparse() * 2,
        lambda: X.double() + 1,
        lambda: X.bfloat16() @ W.bfloat16(),
        lambda: torch.nn.LSTM(4, 4)(torch.ones(2, 4)),
    ],
)
def test_what_is_not_known_is_refused(function):
    with pytest.raises(ValueError, match="only"):
        record(function)
