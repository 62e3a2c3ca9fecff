"""What compiling does for four networks on a GPU, and what that GPU reaches.

    python -m benchmarks.gpu --json results/gpu/NAME.json    three to ten minutes
    python -m benchmarks.gpu --device cpu                    tries the program; figures mean nothing

Each network runs eager, by torch.compile, and by torch.compile with CUDA graphs, at several sizes,
in float32 and in bfloat16, without gradients. Two clocks look at each, for two questions:

- `compare` reads the CPU's clock, and waits for the GPU before each reading: how long a program
  waits for a call, one or a few at a time.
- `queued_times` records CUDA's events before and after many calls that are queued one behind the
  other: how often a second the GPU answers. Unlike triton.testing.do_bench, it leaves the cache as
  the call before left it. Where the CPU queues calls more slowly than the GPU computes them, that
  is the time of queueing.

float32 is as PyTorch has it: full precision in matrix products, but TF32 in convolutions, so that
results may differ by float16's rounding.
"""

import argparse
import json
from functools import partial
from itertools import product
from pathlib import Path
from random import sample
from time import perf_counter

import torch
from torch import nn

from d2lhybrid import build, compare, get_net
from d2lhybrid.benchmark.statistics import interval
from d2lhybrid.benchmark.timing import CandidateError
from d2lhybrid.tables import seconds

from .results import ways

TOLERANCE = {torch.float32: 0.01, torch.bfloat16: 0.04}
BATCH, BATCHES = 5e-3, 21  # seconds of queued calls between two events, and how often


class ConvolutionBlock(nn.Module):
    """Two 3x3 convolutions with batch normalization and a residual connection. From notebook 11.

    Maps (n, channels, height, width) to the same shape.
    """

    def __init__(self, channels=32):
        super().__init__()
        options = {"kernel_size": 3, "padding": 1, "bias": False}
        self.first = nn.Conv2d(channels, channels, **options)
        self.second = nn.Conv2d(channels, channels, **options)
        self.norm_1, self.norm_2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)

    def forward(self, x):
        inner = torch.relu(self.norm_1(self.first(x)))
        return torch.relu(self.norm_2(self.second(inner)) + x)


class TransformerBlock(nn.Module):
    """Attention and a two-layer perceptron, each with a residual connection. From notebook 11.

    Maps (batch, tokens, width) to the same shape. nn.TransformerEncoderLayer would not do: in eager
    mode it is one fused function.
    """

    def __init__(self, width=128, heads=4):
        super().__init__()
        self.heads, self.to_three = heads, nn.Linear(width, 3 * width)
        self.to_one = nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        parts = self.to_three(self.norm_1(x)).chunk(3, dim=2)
        query, key, value = (p.unflatten(2, (self.heads, -1)).transpose(1, 2) for p in parts)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value)
        x = x + self.to_one(mixed.transpose(1, 2).flatten(2))
        return x + self.narrow(nn.functional.gelu(self.widen(self.norm_2(x))))


NETWORKS = {  # name -> what makes the network, what makes its input, sizes
    "the course's network": (get_net, lambda n: torch.randn(n, 512), (1, 64, 4096)),
    "convolution block": (ConvolutionBlock, lambda n: torch.randn(n, 32, 16, 16), (1, 64, 1024)),
    "transformer block": (TransformerBlock, lambda n: torch.randn(1, n, 128), (1, 64, 4096)),
    "wide transformer block": (
        partial(TransformerBlock, 1024, 16),
        lambda n: torch.randn(1, n, 1024),
        (1, 64, 4096),
    ),
}


class CpuEvent:
    """A stand-in for torch.cuda.Event on the CPU, where each call is done when it returns."""

    def record(self):
        self.time = perf_counter()

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        """Return the milliseconds between the `record` of this event and that of `end`."""
        return (end.time - self.time) * 1e3


def queued_times(functions, x, event):
    """Time calls that are queued one behind the other: the throughput, not the latency.

    `functions` maps labels to callables, each of which is called with `x`; `event()` makes a
    torch.cuda.Event or a CpuEvent. Returns label -> [low, median, high]: seconds per call, to five
    digits, with the 95% CI of the median over BATCHES batches.
    """

    def batch(function, calls):
        """Return the seconds per call, from the first call to the end of the last."""
        start, end = event(), event()
        start.record()
        for _ in range(calls):
            function(x)
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1e3 / calls  # from milliseconds

    calls = {}
    for label, function in functions.items():
        batch(function, 10)  # the clock rate rises, memory is kept for the next calls
        calls[label] = max(1, min(10_000, round(BATCH / batch(function, 10))))
    times = {label: [] for label in functions}
    for _ in range(BATCHES):
        for label in sample([*functions], len(functions)):
            times[label].append(batch(functions[label], calls[label]))
    intervals = {label: interval(values) for label, values in times.items()}
    return {label: [float(f"{end:.5g}") for end in ends] for label, ends in intervals.items()}


def limits(device, event, width):
    """Time what programs are made of: launching operations, copying memory, multiplying matrices.

    `width` is that of the square matrices. Returns name -> {"work": an amount, "unit": its unit,
    "queued": [low, median, high] seconds per call}; the amount by the seconds is a rate.
    """
    tiny = torch.zeros(1, device=device)
    a, b, c = (torch.randn(width, width, device=device) for _ in range(3))
    half_a, half_b = a.bfloat16(), b.bfloat16()
    kinds = {  # name -> what is called, its work, the unit
        "one operation": (lambda x: tiny.add_(1), 1, "operations"),
        "copy": (lambda x: c.copy_(a), 2 * 4 * width**2, "bytes"),  # reads and writes
        "float32 product": (lambda x: torch.mm(a, b, out=c), 2 * width**3, "FLOP"),
        "bfloat16 product": (lambda x: half_a @ half_b, 2 * width**3, "FLOP"),
    }
    if device == "cuda":
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(100):
                tiny.add_(1)
        kinds["CUDA graph of 100"] = (lambda x: graph.replay(), 100, "operations")
    queued = queued_times({name: function for name, (function, _, _) in kinds.items()}, None, event)
    found = {}
    for name, (_, work, unit) in kinds.items():
        found[name] = {"work": work, "unit": unit, "queued": queued[name]}
        middle = queued[name][1]
        print(f"{name}: {seconds(middle)}, or {work / middle:.3g} {unit} per second")
    return found


def measure(net, x, is_dry, left_out, event):
    """Compare the ways to run `net` on the tensor `x`, with both clocks, and print the answers.

    `is_dry` tries the program on a CPU without generating code. `left_out` gets the CandidateError
    of each way that fails, and `event` makes what `queued_times` needs. Returns
    {"machine": ..., "compared": ..., "queued": ...} for the file.
    Raises what `compare` raises: CandidateError if eager fails, ValueError if nothing else is left.
    """
    torch.compiler.reset()  # or it remembers other sizes, and the networks before
    built = {"eager": net}

    def compiled(**options):
        if is_dry:
            return torch.compile(net, backend="eager")  # which needs no compiler for C++
        return torch.compile(net, dynamic=False, options=options or None)

    def with_graphs():
        # What the mode "reduce-overhead" asks for; the second, not to do without them silently.
        run = compiled(**{"triton.cudagraphs": True, "triton.cudagraph_or_error": True})
        return lambda x: run(x).clone()  # a call overwrites what the last one returned

    def kept(label, make):
        """Return a `build` of what `make()` returns, which also stores it as `built[label]`."""
        return build(lambda: built.setdefault(label, make()))

    candidates = {"eager": net, "torch.compile": kept("torch.compile", compiled)}
    candidates["with CUDA graphs"] = kept("with CUDA graphs", with_graphs)
    limits = {"time_limit": 0.01 if is_dry else 2.0, "tolerance": TOLERANCE[x.dtype]}
    answer = compare(candidates, x, on_error=left_out, **limits)
    queued = queued_times({label: built[label] for label in answer}, x, event)
    print(answer)
    for label, (low, middle, high) in queued.items():
        print(f"{label}, queued: {seconds(middle)} per call ({seconds(low)} to {seconds(high)})")
    return {"machine": answer.machine, "compared": ways(answer), "queued": queued}


@torch.no_grad()
def main(arguments=None):
    """Measure each network at each size, in both formats; print, and rewrite --json after each one.

    Exit status 2 where torch finds no GPU and --device is not cpu.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    is_dry = options.device == "cpu"
    if not is_dry and not torch.cuda.is_available():
        parser.exit(2, "torch.cuda finds no GPU here; --device cpu tries the program without one\n")
    device = "cpu (dry run)" if is_dry else torch.cuda.get_device_name()
    data = {"device": device, "cuda": torch.version.cuda, "left_out": [], "results": {}}
    event = CpuEvent if is_dry else partial(torch.cuda.Event, enable_timing=True)
    data["limits"] = limits(options.device, event, 64 if is_dry else 8192)
    for (name, (make, make_input, sizes)), dtype in product(NETWORKS.items(), TOLERANCE):
        for size in sizes[:1] if is_dry else sizes:
            title = f"{name}, {str(dtype).removeprefix('torch.')}, size {size}"
            print(f"\n{title}", flush=True)
            torch.manual_seed(0)
            net = make().eval().requires_grad_(False).to(options.device, dtype)
            x, errors = make_input(size).to(options.device, dtype), []
            try:
                data["results"][title] = measure(net, x, is_dry, errors.append, event)
                data["machine"] = data["results"][title].pop("machine")
            except (CandidateError, ValueError) as error:  # eager failed, or nothing else is left
                errors.append(error)
            data["left_out"] += [f"{title}: {error}" for error in errors]
            if options.json:  # now, as the next one may take too long
                options.json.write_text(f"{json.dumps(data, indent=1)}\n", encoding="utf-8")
    print(*data["left_out"], sep="\n")


if __name__ == "__main__":
    main()
