"""What `bench --gpu` measures. Each part gets a `Gpu` or a `DryRun`, a `Plan`, and options for
`compare`. It returns what goes into the file, and the lines to print.

What a program waits for is timed by its clock, and what a GPU does meanwhile by marks in its
queues.
"""

import sys
from copy import deepcopy
from dataclasses import dataclass
from random import sample
from time import perf_counter

import torch

from ..benchmark.candidates import recipe
from ..benchmark.comparison import compare
from ..benchmark.statistics import interval
from ..benchmark.sweeps import sweep
from ..benchmark.timing import no_garbage_collection
from ..nets import ConvolutionBlock, TransformerBlock, get_net, random_input, without_gradients
from ..tables import Column, seconds, text_table
from .options import answers

NETWORKS = {  # name -> what makes it, and what makes an input of a size
    "the course's network": (get_net, random_input),
    "convolution block": (ConvolutionBlock, lambda n: torch.randn(n, 32, 16, 16)),
    "transformer block": (TransformerBlock, lambda n: torch.randn(1, n, 128)),
}


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    time_limit: float = 2.0  # seconds for each comparison
    repeats: int = 15  # of what is not compared
    launches: int = 500  # small jobs
    jobs: tuple[int, ...] = (1, 10, 100, 1000, 4000)  # in the queue
    side: int = 1000  # of the matrices in a queue, as in the book
    copies: int = 10
    copied_side: int = 4000  # of the matrices that are copied, as in the book
    bytes: tuple[int, ...] = (2**12, 2**20, 2**28)  # from one GPU to the other
    batches: tuple[int, ...] = (2, 32, 256)  # texts of 128 words in a training step
    sizes: tuple[int, ...] = (1, 64, 4096)  # rows, images or words in a network's input
    patience: float = 300.0  # seconds, after which no further network is begun


def launches(gpu, plan, options):
    """Many small jobs, queued one by one or as one captured graph. Notebook 11."""
    x = torch.ones(1000, device=gpu.devices[0])
    usual, captured = torch.empty_like(x), torch.empty_like(x)

    def jobs(result):
        result.copy_(x)
        for _ in range(plan.launches - 1):
            result.add_(1)
        return result

    def build():
        replay = gpu.captured(lambda: jobs(captured))
        captured.zero_()  # only a replay can fill it again

        def run(x):
            replay()
            return captured

        return run

    ways = {"one by one": lambda x: jobs(usual), "one CUDA graph": recipe(build)}
    answer = compare(ways, x, **options)
    return answers(answer), [f"{plan.launches} small jobs", table(answer)]


def queue(gpu, plan, options):
    """How long calls take to return, and how long until their work is done. Notebook 18."""
    x = torch.randn(plan.side, plan.side, device=gpu.devices[0])
    y = torch.empty_like(x)

    def once(jobs):
        gpu.synchronize()
        start = perf_counter()
        for _ in range(jobs):
            torch.mm(x, x, out=y)
        returned = perf_counter()
        gpu.synchronize()
        return {"returned": returned - start, "done": perf_counter() - start}

    once(3)  # the library prepares itself
    with no_garbage_collection():
        found = {str(n): summary([once(n) for _ in range(plan.repeats)]) for n in plan.jobs}
    title = f"products of {plan.side} x {plan.side} in a queue: when the calls return, and are done"
    return found, [title, times_table("jobs", found)]


def copies(gpu, plan, options):
    """Products, and copies of their results to the CPU, on one stream or on two. Notebook 19.

    All products are queued first, as in the book. A copy waits for its own product only; on one
    stream also for all that was queued before it. `overlap` is how long before the end of the last
    product the first copy begins.
    """
    n, side = plan.copies, plan.copied_side
    x = torch.randn(side, side, device=gpu.devices[0])
    results = torch.zeros(n, side, side, device=gpu.devices[0])
    hosts = {"pageable": torch.zeros(n, side, side), "pinned": gpu.pinned(n, side, side)}

    def once(memory, stream):
        ready = []
        gpu.synchronize()
        start = gpu.mark(gpu.first)
        for result in results:
            torch.mm(x, x, out=result)
            ready.append(gpu.mark(gpu.first))
        gpu.wait(stream, ready[0])
        begin = gpu.mark(stream)
        with gpu.on(stream):
            for result, host, mark in zip(results, hosts[memory], ready, strict=True):
                gpu.wait(stream, mark)
                host.copy_(result, non_blocking=memory == "pinned")  # for others it must wait
        end = gpu.mark(stream)
        gpu.synchronize()
        products = gpu.seconds(start, ready[-1])
        return {
            "whole": gpu.seconds(start, end),
            "products": products,
            "copies": gpu.seconds(begin, end),
            "overlap": max(0.0, products - gpu.seconds(start, begin)),
        }

    streams = {"one stream": gpu.first, "two streams": gpu.second}
    ways = {f"{m}, {s}": (m, stream) for m in hosts for s, stream in streams.items()}
    for label, (memory, stream) in ways.items():
        for each in (results, hosts[memory]):
            each.zero_()  # what is copied too early is 0
        once(memory, stream)
        if not (results.any() and torch.equal(hosts[memory], results.cpu())):
            raise RuntimeError(f"{label}: the copies are not the products")
    times = {label: [] for label in ways}
    with no_garbage_collection():
        for label in sample(plan.repeats * [*ways], plan.repeats * len(ways)):
            times[label].append(once(*ways[label]))
    found = {label: summary(times[label]) for label in ways}
    title = f"{n} products of {side} x {side}, and copies of the results to the CPU"
    return found, [title, times_table("memory", found)]


def two_gpus(gpu, plan, options):
    """A copy from GPU to GPU, and the gradient of a batch on one and on both. Notebook 23."""
    found = {str(size): copied(gpu, size, plan.repeats) for size in plan.bytes}
    net = TransformerBlock()
    nets = [deepcopy(net).to(device) for device in gpu.devices]  # `to` alone may return `net`

    def on_both(x):
        shards = zip(nets, gpu.devices, x.chunk(2), strict=True)
        one, other = [gradient(net, shard.to(device)) for net, device, shard in shards]
        mean = (one + other.to(gpu.devices[0])) / 2
        mean.to(gpu.devices[1])  # both need it for the same step
        return mean

    def texts(n):
        return torch.randn(n, 128, 128, device=gpu.devices[0])

    ways = {"one GPU": lambda x: gradient(nets[0], x), "two GPUs": on_both}
    swept = sweep(ways, texts, plan.batches, **options)
    lines = ["bytes from one GPU to the other", times_table("bytes", found), ""]
    lines += ["the gradient of the transformer block for a batch of texts", table(swept)]
    return {"copy": found, "step": answers(swept)}, lines


def copied(gpu, size, repeats):
    """The times of a copy of so many bytes. PyTorch puts it into the source's stream in use."""
    source = torch.ones(size // 4, device=gpu.devices[0])
    target = torch.zeros_like(source, device=gpu.devices[1])

    def once():
        gpu.synchronize()
        start = gpu.mark(gpu.first)
        target.copy_(source)
        end = gpu.mark(gpu.first)
        gpu.synchronize()
        return {"copy": gpu.seconds(start, end)}

    once()  # the first one opens the way
    if not target.cpu().all():
        raise RuntimeError(f"the copy of {size} bytes is not what was copied")
    with no_garbage_collection():
        return summary([once() for _ in range(repeats)])


def gradient(net, x):
    """The gradient of the output's mean square, as one vector."""
    found = torch.autograd.grad(net(x).square().mean(), list(net.parameters()))
    return torch.cat([each.flatten() for each in found])


def networks(gpu, plan, options):
    """Three networks, eager, and compiled without CUDA graphs and with them. Notebook 11."""
    found, lines, began = {}, ["with CUDA graphs, each call also copies its result"], perf_counter()
    for name, (make, make_input) in NETWORKS.items():
        if perf_counter() - began > plan.patience:
            options["on_error"](f"{name}, as the time was over")
            continue
        skipped = skipped_graphs()
        swept = swept_network(gpu, plan, options, make, make_input)
        found[name] = answers(swept)
        lines += ["", name, table(swept)]
        if skipped_graphs() > skipped:
            options["on_error"](f"{name}: torch.compile made a program without CUDA graphs")
    return found, lines


def swept_network(gpu, plan, options, make, make_input):
    net = without_gradients(make()).to(gpu.devices[0])

    def sized(n):
        torch.compiler.reset()  # each size is compiled by itself
        return make_input(n).to(gpu.devices[0])

    def with_graphs():
        compiled = gpu.compiled(net, with_graphs=True)
        return lambda x: compiled(x).clone()  # the next call overwrites what this one returns

    ways = {
        "eager": net,
        "torch.compile": recipe(lambda: gpu.compiled(net, with_graphs=False)),
        "with CUDA graphs": recipe(with_graphs),
    }
    return sweep(ways, sized, plan.sizes, **options)


def skipped_graphs():
    """How often torch.compile was to use CUDA graphs and did not; its counters are private."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return dynamo.counters["inductor"]["cudagraph_skips"] if dynamo else 0


PARTS = (launches, queue, copies, two_gpus, networks)  # the shortest first


# What is made of the times ----------------------------------------------------------------------


def summary(runs):
    """Of several runs, each name -> seconds, the medians and their 95 % intervals."""
    found = {}
    for name in runs[0]:
        low, middle, high = interval([run[name] for run in runs])
        found[name] = {"median": middle, "low": low, "high": high}
    return found


def times_table(title, found):
    """One line for each time of each label: the median and its interval."""
    rows = [
        [label, name, seconds(time["median"]), f"{seconds(time['low'])} to {seconds(time['high'])}"]
        for label, times in found.items()
        for name, time in times.items()
    ]
    columns = [Column(title), Column("", 8), Column("median", 9), Column("95 % interval", 22)]
    return text_table(columns, rows)


def table(answer):
    """What `print` shows of a comparison or a sweep, without the machine, which is the same."""
    return str(answer).removesuffix(f"\n{answer.measured_on()}")
