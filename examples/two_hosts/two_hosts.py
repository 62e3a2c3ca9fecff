"""A program for one machine, and the same for many: training on shards, and what a sum costs.

Explained in notebook 26. Only torch is needed: a copy of this file will do. On one machine, with
two processes:

    torchrun --standalone --nproc-per-node 2 two_hosts.py

On two machines, the same file and one command on each, with the address of the first:

    torchrun --nnodes 2 --node-rank 0 --nproc-per-node 1 \\
        --master-addr 10.0.0.1 --master-port 29500 two_hosts.py
    torchrun --nnodes 2 --node-rank 1 --nproc-per-node 1 \\
        --master-addr 10.0.0.1 --master-port 29500 two_hosts.py

Only on a network that you trust: torchrun and the processes listen at all addresses, ask for no
password, and run what they are told. A firewall opens their ports between these two machines, and
for nobody else.

Where a host has several networks, or its own name means the loopback, `GLOO_SOCKET_IFNAME=eth0`
(with GPUs `NCCL_SOCKET_IFNAME`) names the right one. `emulated_hosts` runs these two commands on
one machine. Where each process can have a GPU, the sums are NCCL's; or else they are gloo's.

With `--rate` and `--delay`, the link's, a prediction stands beside what is measured: the ring's,
with the delay as alpha. With gloo, alpha is two delays: before a message leaves, the receiver has
to announce that it waits for it.
"""

import argparse
import os
import sys
from datetime import timedelta
from statistics import median
from time import perf_counter

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

SHARD = 16  # examples for each process in each step
ROUNDING = 2.4e-5  # of the largest value: how far float32 may differ in another order
MOST = 2**30  # bytes to sum


def main(arguments: list[str] | None = None) -> None:
    """Train, compare, measure; the process with rank 0 prints. Exit code 1 if bits differ."""
    options = parsed(arguments)
    if "RANK" not in os.environ:
        sys.exit("two_hosts: torchrun starts this program, see its first lines")
    device = own_device()
    dist.init_process_group(
        "gloo" if device.type == "cpu" else "nccl", timeout=timedelta(seconds=options.timeout)
    )
    try:
        is_right = training(options.steps, device)
        timing(options, device)
    finally:
        dist.destroy_process_group()
    sys.exit(0 if is_right else 1)


def say(*lines: str) -> None:
    """Print at rank 0; the others print nothing."""
    if dist.get_rank() == 0:
        print(*lines, sep="\n", flush=True)


def own_device() -> torch.device:
    """A GPU of its own if this host has one for each of its processes, or else the CPU."""
    if torch.cuda.device_count() < int(os.environ["LOCAL_WORLD_SIZE"]):
        return torch.device("cpu")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    return torch.device("cuda", torch.cuda.current_device())


# Training -----------------------------------------------------------------------------------


def training(steps: int, device: torch.device) -> bool:
    """Train together, then alone, and compare; whether all is as it should be."""
    ranks = dist.get_world_size()
    together = trained(steps, device, dist.get_rank(), ranks, batch=ranks * SHARD)
    alone = trained(steps, device, 0, 1, batch=ranks * SHARD)
    same = same_everywhere(together)
    difference = ((together - alone).abs().max() / alone.abs().max()).item()
    say(
        f"processes: {ranks}, with {dist.get_backend()}; {len(alone):,} parameters, {steps} steps",
        f"all processes end with the same bits: {same}",
        f"largest difference from one process, of the largest: {difference:.1e}",
    )
    return same and difference < ROUNDING


def trained(steps: int, device: torch.device, rank: int, ranks: int, batch: int) -> torch.Tensor:
    """The parameters, as one vector, after training on one of `ranks` shards of each batch."""
    torch.manual_seed(0)  # all start with the same parameters, and draw the same batches
    net = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 1)).to(device)
    for _ in range(steps):
        x = torch.randn(batch, 32).to(device)
        mine = x[rank::ranks]
        loss = nn.functional.mse_loss(net(mine), mine.sum(1, keepdim=True))
        gradient = parameters_to_vector(torch.autograd.grad(loss, list(net.parameters())))
        if ranks > 1:
            dist.all_reduce(gradient)
            gradient /= ranks
        with torch.no_grad():
            weights = parameters_to_vector(net.parameters())
            vector_to_parameters(weights - 0.01 * gradient, net.parameters())
    return parameters_to_vector(net.parameters()).detach()


def same_everywhere(vector: torch.Tensor) -> bool:
    """Whether all processes have the bits of rank 0; each needs room for one copy, not for all."""
    first = vector.clone()
    dist.broadcast(first, 0)
    bits, own = first.view(torch.int32), vector.view(torch.int32)
    same = torch.tensor(int(torch.equal(bits, own)), device=vector.device)
    dist.all_reduce(same, dist.ReduceOp.MIN)
    return bool(same)


# Timing -------------------------------------------------------------------------------------


def timing(options: argparse.Namespace, device: torch.device) -> None:
    """Measure sums of several sizes, and print them beside what the model says."""
    ranks, sizes = dist.get_world_size(), options.sizes
    times = {size: seconds_of_sum(size, options.repeats, device) for size in sizes}
    if ranks == 1:
        return say("one process: nothing to send")
    first, last = min(sizes), max(sizes)
    alpha, beta = fitted(first, times[first], last, times[last], ranks)
    models = {"fitted": (alpha, beta)}
    if options.rate is not None:
        delays = 2 if dist.get_backend() == "gloo" else 1  # see this file's first lines
        models = {"predicted": of_link(options.rate, delays * options.delay)} | models
    say("", f"milliseconds of an all-reduce, the median of {options.repeats}")
    if options.rate is not None:
        say(f"predicted: alpha is {delays} x {options.delay:g} ms, rate {options.rate:g} Mbit/s")
    say(f"{'bytes':>12}{'measured':>12}" + "".join(f"{name:>12}" for name in models))
    for size, seconds in times.items():
        row = [seconds, *(ring_seconds(size, ranks, *model) for model in models.values())]
        say(f"{size:>12,}" + "".join(f"{1e3 * each:>12.2f}" for each in row))
    say(f"fitted to the smallest and the largest: alpha {1e3 * alpha:.2f} ms, rate {rate_of(beta)}")


def rate_of(beta: float) -> str:
    """The rate in words, for seconds per byte; noise can make these zero or less."""
    if beta <= 0:
        return "none"
    rate = 8e-6 / beta
    return f"{rate:.3g} Mbit/s" if rate < 999.5 else f"{rate / 1000:.3g} Gbit/s"


def seconds_of_sum(size: int, repeats: int, device: torch.device) -> float:
    """The median time of an all-reduce of `size` bytes, in seconds; the first does not count."""
    tensor, times = torch.zeros(size // 4, device=device), []
    for _ in range(repeats + 1):
        start = perf_counter()
        dist.all_reduce(tensor)  # no process can end it before the others begin it
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(perf_counter() - start)
    return median(times[1:])


def ring_seconds(size: int, ranks: int, alpha: float, beta: float) -> float:
    """What a ring takes for `size` bytes if a message of n bytes takes alpha + beta * n seconds.

    2 (ranks - 1) steps, in each of which every process sends one part of the `ranks` parts.
    """
    return 2 * (ranks - 1) * (alpha + beta * size / ranks)


def fitted(size: int, seconds: float, larger: int, longer: float, ranks: int) -> tuple:
    """The alpha and beta with which `ring_seconds` gives two measured times, both in seconds."""
    steps = 2 * (ranks - 1)
    beta = (longer - seconds) / (larger - size) * ranks / steps
    return seconds / steps - beta * size / ranks, beta


def of_link(rate: float, alpha: float) -> tuple:
    """Alpha in seconds and beta in seconds per byte, of a link's Mbit/s and milliseconds."""
    return 1e-3 * alpha, 8e-6 / rate


# Arguments ----------------------------------------------------------------------------------


def parsed(arguments: list[str] | None, **options) -> argparse.Namespace:
    """The options of the command line; exit code 2 and one clear line where they make no sense."""
    parser = argparse.ArgumentParser(allow_abbrev=False, **options)
    add = parser.add_argument
    add("--rate", type=within(1, 1e6), help="of the link, in Mbit/s; with --delay")
    add("--delay", type=within(0, 1e3), help="of the link, one way, in milliseconds")
    add("--sizes", type=size, nargs="+", default=[1_000, 100_000, 1_000_000, 4_000_000])
    add("--repeats", type=within(1, 1000, int), default=10, help="all-reduces of each size")
    add("--steps", type=within(1, 10_000, int), default=20, help="of training")
    add("--timeout", type=within(1, 3600), default=60, help="seconds without the others")
    found = parser.parse_args(arguments)
    if (found.rate is None) != (found.delay is None):
        parser.error("--rate and --delay belong together: give both or neither")
    if len(set(found.sizes)) < 2:
        parser.error("--sizes needs two different sizes: alpha and beta are fitted to them")
    return found


def within(least: float, most: float, kind: type = float):
    """A function that reads a number between two limits."""

    def number(text):
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            what = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"{what} from {least:g} to {most:g}, got {text!r}")
        return value

    return number


def size(text: str) -> int:
    """A number of bytes that are whole float32 numbers."""
    value = within(4, MOST, int)(text)
    if value % 4:
        raise argparse.ArgumentTypeError(f"a number of bytes that 4 divides, got {text!r}")
    return value


if __name__ == "__main__":
    main()
