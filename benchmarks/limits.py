"""Is what `limits` predicts what is measured, and does the bound hold for torch.compile?

Each program is compared as `d2lhybrid compare` does it, on one thread, with torch.compile and with
a tiny twin: the same operations on next to no numbers. The twin's time is the overhead that is
found. The bound is that of the measured time.
"""

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

from d2lhybrid.benchmark.candidates import isolated
from d2lhybrid.benchmark.comparison import compare
from d2lhybrid.benchmark.results import ratio
from d2lhybrid.cli.compare import EXPLAIN
from d2lhybrid.nets import get_net
from d2lhybrid.roofline.limits import Limits
from d2lhybrid.tables import Column, seconds, text_table

from .gpu import ConvolutionBlock, TransformerBlock

COLUMNS = [Column("", 26), Column("operations"), Column("regime", 8)]
COLUMNS += [Column("overhead", 8), Column("found", 5), Column("predicted", 9)]
COLUMNS += [Column("measured", 9), Column("ratio"), Column("bound", 5), Column("speed-up", 22)]
SOURCE = """
import torch
from benchmarks.limits import PROGRAMS

torch.set_grad_enabled(False)

def _built(sizes, compile):
    torch.manual_seed(1)
    function, *args = PROGRAMS[NAME][0](*sizes)
    if NAME.startswith("training"):
        return function(compile)
    function = compile(function)
    return lambda: function(*args)

def eager():
    return _built(PROGRAMS[NAME][1], lambda f: f)

def compiled():
    return _built(PROGRAMS[NAME][1], torch.compile)

def tiny():
    return _built(PROGRAMS[NAME][2], lambda f: f)
"""


def mlp(rows, width=512):
    if width == 512:
        return get_net(), torch.randn(rows, width)
    layers = nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
    return nn.Sequential(*layers, nn.Linear(width, width)), torch.randn(rows, width)


def gelu_chain(n):
    def gelu(x):
        inner = 0.7978845608 * (x + 0.044715 * x * x * x)
        return 0.5 * x * (1 + torch.tanh(inner))

    return gelu, torch.randn(n)


def cheap_chain(n):
    def polynomial(x, a, b):
        y = x * a + b
        y = y * x + a
        y = y * x + b
        return torch.relu(y * x + a)

    return polynomial, torch.rand(n), torch.rand(n), torch.rand(n)


def layer_norm(rows, width):
    gain, bias = torch.rand(width), torch.rand(width)

    def by_hand(x):
        mean = x.mean(-1, keepdim=True)
        variance = ((x - mean) ** 2).mean(-1, keepdim=True)
        return (x - mean) / torch.sqrt(variance + 1e-5) * gain + bias

    return by_hand, torch.randn(rows, width)


def attention(rows, width):
    def by_hand(q, k, v):
        return torch.softmax(q @ k.transpose(-2, -1) * width**-0.5, -1) @ v

    return by_hand, *(torch.randn(1, 4, rows, width) for _ in range(3))


def rms_norm(rows, width):
    gain = torch.rand(width)

    def by_hand(x):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * gain

    return by_hand, torch.randn(rows, width)


def softmax(rows, width):
    def by_hand(x):
        e = torch.exp(x - x.amax(-1, keepdim=True))
        return e / e.sum(-1, keepdim=True)

    return by_hand, torch.randn(rows, width)


def convolution(images, channels, side):
    return ConvolutionBlock(channels).eval(), torch.randn(images, channels, side, side)


def transformer(rows, width, heads):
    return TransformerBlock(width, heads).eval(), torch.randn(1, rows, width)


def gated(rows, width, wide):
    gate, up, down = (torch.randn(shape) for shape in ((wide, width), (wide, width), (width, wide)))

    def block(x):
        return x + F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down)

    return block, torch.randn(rows, width)


def embedding(rows, length, words, width):
    table, net = nn.Embedding(words, width), nn.Linear(width, 2)
    return lambda x: net(table(x).mean(1)), torch.randint(words, (rows, length))


def adam(width):
    p, g, m, v = (torch.rand(width, width) for _ in range(4))

    def update(p, g, m, v):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        return p - 1e-3 * m / (torch.sqrt(v) + 1e-8), m, v

    return update, p, g, m, v


def training(rows, width):
    """Forward, backward, and a plain update; only what is called with `compile` is compiled."""
    net, x = mlp(rows, width)
    labels = torch.randint(2, (rows,))

    def compiled(compile):
        run, parameters = compile(net), list(net.parameters())

        @torch.enable_grad
        def step():
            gradients = torch.autograd.grad(F.cross_entropy(run(x), labels), parameters)
            with torch.no_grad():
                for p, gradient in zip(parameters, gradients, strict=True):
                    p.sub_(gradient, alpha=1e-6)

        return step

    return (compiled,)


def lstm(steps, rows, width):
    cell = nn.LSTMCell(width, width)

    def loop(steps):
        h = c = torch.zeros(steps.shape[1:])
        for x in steps:
            h, c = cell(x, (h, c))
        return h

    return loop, torch.randn(steps, rows, width)


def deep(rows, width):
    layers = [layer for _ in range(30) for layer in (nn.Linear(width, width), nn.Tanh())]
    return nn.Sequential(*layers), torch.randn(rows, width)


def product(n):
    return torch.mm, torch.randn(n, n), torch.randn(n, n)


def big_attention(rows, width):
    return F.scaled_dot_product_attention, *(torch.randn(1, 4, rows, width) for _ in range(3))


PROGRAMS = {  # name -> what makes it, its sizes, those of its twin
    "MLP, 1 row": (mlp, (1,), (1, 1)),
    "MLP, 16 rows": (mlp, (16,), (1, 1)),
    "MLP, 256 rows": (mlp, (256,), (1, 1)),
    "MLP, 1024 rows": (mlp, (1024,), (1, 1)),
    "training step, 4 rows": (training, (4, 512), (1, 2)),
    "training step, 256 rows": (training, (256, 512), (1, 2)),
    "GELU chain, 16": (gelu_chain, (16,), (1,)),
    "GELU chain, 2^12": (gelu_chain, (2**12,), (1,)),
    "GELU chain, 2^18": (gelu_chain, (2**18,), (1,)),
    "GELU chain, 2^22": (gelu_chain, (2**22,), (1,)),
    "cheap chain, 2^12": (cheap_chain, (2**12,), (1,)),
    "cheap chain, 2^18": (cheap_chain, (2**18,), (1,)),
    "cheap chain, 2^22": (cheap_chain, (2**22,), (1,)),
    "Adam's update, 64 x 64": (adam, (64,), (1,)),
    "Adam's update, 1024 x 1024": (adam, (1024,), (1,)),
    "layer norm, 16 x 256": (layer_norm, (16, 256), (1, 1)),
    "layer norm, 1024 x 1024": (layer_norm, (1024, 1024), (1, 1)),
    "RMS norm, 1024 x 1024": (rms_norm, (1024, 1024), (1, 1)),
    "softmax, 16 x 256": (softmax, (16, 256), (1, 1)),
    "softmax, 1024 x 1024": (softmax, (1024, 1024), (1, 1)),
    "attention, 64 rows": (attention, (64, 32), (1, 1)),
    "attention, 256 rows": (attention, (256, 32), (1, 1)),
    "PyTorch's, 64 rows": (big_attention, (64, 32), (1, 1)),
    "PyTorch's, 256 rows": (big_attention, (256, 32), (1, 1)),
    "transformer, 1 row": (transformer, (1, 128, 4), (1, 4, 4)),
    "transformer, 16 rows": (transformer, (16, 128, 4), (1, 4, 4)),
    "transformer, 256 rows": (transformer, (256, 128, 4), (1, 4, 4)),
    "gated block, 4 rows": (gated, (4, 256, 768), (1, 1, 1)),
    "gated block, 128 rows": (gated, (128, 256, 768), (1, 1, 1)),
    "convolutions, 1 image": (convolution, (1, 32, 16), (1, 8, 1)),
    "convolutions, 16 images": (convolution, (16, 32, 16), (1, 8, 1)),
    "LSTM cell, 16 steps": (lstm, (16, 1, 64), (16, 1, 1)),
    "LSTM cell, 64 rows": (lstm, (16, 64, 128), (16, 1, 1)),
    "embedding": (embedding, (32, 16, 10000, 128), (1, 1, 2, 1)),
    "deep and narrow": (deep, (1, 32), (1, 1)),
    "big product": (product, (768,), (1,)),
}


def predictions(runs: int, report: Callable[[str], None] | None = None) -> str:
    """Predict and measure each program, in `runs` processes each: 1, or 8 and more.

    Returns a table in text. `report` gets each row as soon as it is known.
    """
    rows = []
    for name in PROGRAMS:
        rows.append(predicted(name, runs))
        if report:
            report(text_table(COLUMNS, rows).splitlines()[-1])
    return text_table(COLUMNS, rows)


def predicted(name, processes):
    """Return one row of the table, as strings."""
    text = SOURCE.replace("NAME", repr(name))
    programs = {n: isolated(text, n, threads=1) for n in ("eager", "compiled", "tiny")}
    answer = compare(programs, processes=processes, check=False, explain=EXPLAIN)
    eager, fast = answer["eager"].median, answer["compiled"]
    if answer.reason is None:
        return [name, *["?"] * 5, seconds(eager, 3), *["?"] * 3]
    found = Limits(**answer.reason["limits"])
    return [
        name,
        f"{found.operations}",
        found.regime,
        f"{found.parts['overhead'] / found.time:.0%}",
        f"{answer['tiny'].median / eager:.0%}",
        seconds(found.time, 3),
        seconds(eager, 3),
        f"{eager / found.time:.2f}",
        ratio(found.bound(eager), 1),
        f"{ratio(fast.speedup, 2)} ({ratio(fast.low, 2)} to {ratio(fast.high, 2)})",
    ]
