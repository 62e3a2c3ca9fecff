"""The course's network in every variant that this machine has, compared; `bench` prints it.

`compare_variants`, for what can share this process, is explained in notebook 13,
`compare_frameworks` in notebook 18.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch

from ..benchmark.candidates import build
from ..benchmark.comparison import progress_line
from ..benchmark.processes import start_workers
from ..benchmark.sweeps import Sweep, sweep
from ..exercises import muted
from ..hybrid.compiler import c_loop, hybridize, reading
from ..nets import get_net, random_input, without_gradients
from . import framework_variants, in_numpy, missing_frameworks, network_input, network_weights


def compare_variants(
    batches: Sequence[int] = (1,), report: Callable[[str], None] = print, **options: Any
) -> Sweep:
    """Compare the variants of the course's network at each batch size. Returns a `Sweep`.

    The baseline is the network as it is: eager, with gradients. Everything else runs without them.
    Variants that are not installed don't take part, and those that fail are left out; `report` gets
    a line about each. `options` go to `compare`; each size is measured for 3 s unless they say
    otherwise.
    """
    failed, show = [], progress_line(None)  # made here, where nothing is muted
    options = {"time_limit": 3.0, "on_error": failed.append, "progress": show} | options
    with muted():
        compared = sweep(variants(get_net()), random_input, batches, **options)
    _report(failed, report)
    return compared


def compare_frameworks(batches: Sequence[int] = (1,), processes: int = 1, **options: Any) -> Sweep:
    """Compare all frameworks that are installed, at each batch size. Returns a `Sweep`.

    Each variant runs in a process of its own, with one thread and without gradients; the baseline
    is PyTorch's eager. A line is printed about what is not installed, and one about each variant
    that fails and is left out. By default each variant is started once, for all sizes, and a size
    is measured for 10 s; two runs may then differ by more than their intervals say. With several
    `processes`, 11 or more for all variants, it is 3 s for each. `options` go to `compare`.
    """
    if missing := missing_frameworks():
        print(f"not installed, so left out: {', '.join(missing)}")
    weights, programs, failed = network_weights(), framework_variants(), []
    options = {
        "baseline": next(iter(programs)),  # if it fails, there is nothing to compare
        "time_limit": 10.0 if processes == 1 else 3.0 * processes,
        "on_error": failed.append,
        "processes": processes,
    } | options
    once = (
        start_workers(programs, on_error=failed.append) if processes == 1 else nullcontext(programs)
    )
    with once as candidates:
        compared = sweep(candidates, lambda n: (weights, network_input(n)), batches, **options)
    _report(failed, print)
    return compared


def _report(failed, report):
    """Pass a line about each candidate that was left out to `report`."""
    for error in failed:
        report(f"left out: {str(error).splitlines()[0]}")


# The variants that can share this process ------------------------------------------------------


def variants(net):
    """Return label -> candidate: first `net` itself, the baseline, and last the lowest limit."""
    frozen, x = without_gradients(net), random_input()
    scripted = partial(torch.jit.script, frozen)
    layers = [layer for layer in frozen if hasattr(layer, "weight")]
    weights = [(layer.weight.numpy().T, layer.bias.numpy()) for layer in layers]
    others = {"NumPy": in_numpy.network, "ONNX Runtime": onnxruntime_network, "JAX": jax_network}
    for name in missing_frameworks():
        others.pop(name, None)
    builders = {
        "TorchScript": scripted,
        "TorchScript, frozen": lambda: torch.jit.freeze(scripted()),
        "TorchScript, optimized": lambda: torch.jit.optimize_for_inference(scripted()),
        "torch.compile": lambda: torch.compile(frozen),
        "torch.compile, tuned": lambda: tuned(without_gradients(net)),
        **{name: partial(on_tensors, make, weights) for name, make in others.items()},
        "hybridize": lambda: hybridize(frozen, x),
        "the same C, in a C loop": lambda: c_loop(frozen, x),
        "limit: read the weights": lambda: reading(frozen, x),
    }
    built = {label: build(make) for label, make in builders.items()}
    return {"eager": net, "eager, no gradients": frozen} | built


def tuned(net):
    """Return the network by torch.compile with kernels chosen by trial and weights frozen."""
    compiled = torch.compile(net, options={"max_autotune": True, "freezing": True})

    def run(x):
        with torch.no_grad():  # or nothing is frozen
            return compiled(x)

    return run


def on_tensors(build, weights):
    """Return a function of a tensor, from `build(weights)`, which returns one of an array."""
    net = build(weights)
    return lambda x: net(x.numpy())


def onnxruntime_network(weights):
    """Return a function that runs the network in ONNX Runtime, with PyTorch's number of threads."""
    from .in_onnxruntime import network

    return network(weights, torch.get_num_threads())


def jax_network(weights):
    """Return a function that runs the network by `jax.jit`, with PyTorch's number of threads."""
    os.environ.setdefault("NPROC", str(torch.get_num_threads()))  # read at its first operation
    from .in_jax import jax, jnp, network

    params, compiled = jax.tree.map(jnp.array, weights), jax.jit(network)
    return lambda x: compiled(params, x).block_until_ready()
