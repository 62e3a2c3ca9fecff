"""A program for one machine, and the same for many: training on shards, and what a sum costs.

Explained in notebook 27. Only torch is needed: a copy of this file will do. On one machine, with
two processes:

    torchrun --standalone --nproc-per-node 2 two_hosts.py

On two machines, the same file and one command on each, with the address of the first:

    torchrun --nnodes 2 --node-rank 0 --nproc-per-node 1 \\
        --master-addr 10.0.0.1 --master-port 29500 two_hosts.py
    torchrun --nnodes 2 --node-rank 1 --nproc-per-node 1 \\
        --master-addr 10.0.0.1 --master-port 29500 two_hosts.py

Only on a network that you trust: torchrun and the processes accept connections from
anywhere, ask for no password, and run what they are told. A firewall opens their ports between
these two machines, and for nobody else.

Where a host has several networks, or its own name means the loopback, `GLOO_SOCKET_IFNAME=eth0`
(with GPUs `NCCL_SOCKET_IFNAME`) names the right one. If every host has a GPU for each of its
processes, the sums are NCCL's; if none has, they are gloo's. Don't mix such hosts.

Beside the measured times of a sum stand the ring's, if a message of n bytes takes alpha + beta * n
seconds, with the alpha and beta that give the times of the smallest and the largest sum.
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


def main(arguments: list[str] | None = None) -> None:
    """Train, compare, measure; the process with rank 0 prints. Exit code 1 if bits differ."""
    parser = argparse.ArgumentParser()
    sizes = [1_000, 100_000, 1_000_000, 4_000_000]
    parser.add_argument("--sizes", type=int, nargs="+", default=sizes, help="of sums, in bytes")
    parser.add_argument("--repeats", type=int, default=10, help="all-reduces of each size")
    parser.add_argument("--steps", type=int, default=20, help="of training")
    options = parser.parse_args(arguments)
    if "RANK" not in os.environ:
        sys.exit("two_hosts: torchrun starts this program, see its first lines")
    device = own_device()
    backend = "gloo" if device.type == "cpu" else "nccl"
    dist.init_process_group(backend, timeout=timedelta(seconds=60))
    try:
        is_right = training(options.steps, device)
        timing(options.sizes, options.repeats, device)
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


# Measurement -------------------------------------------------------------------------------------


def timing(sizes: list[int], repeats: int, device: torch.device) -> None:
    """Measure sums of several sizes, and print them beside what the model says."""
    ranks = dist.get_world_size()
    times = {size: seconds_of_sum(size, repeats, device) for size in sizes}
    first, last = min(sizes), max(sizes)
    if ranks == 1 or first == last:
        return say("nothing is sent, or there are no two sizes to fit a model to")
    alpha, beta = fitted(first, times[first], last, times[last], ranks)
    say("", f"milliseconds of an all-reduce, the median of {repeats}")
    say(f"{'bytes':>12}{'measured':>12}{'fitted':>12}")
    for size, seconds in times.items():
        model = ring_seconds(size, ranks, alpha, beta)
        say(f"{size:>12,}{1e3 * seconds:>12.2f}{1e3 * model:>12.2f}")
    say(f"alpha {1e3 * alpha:.2f} ms, beta {1e9 * beta:.2f} ns per byte")


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


if __name__ == "__main__":
    main()
