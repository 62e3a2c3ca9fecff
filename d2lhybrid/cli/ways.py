"""The course's comparisons: its network, run in every way that this machine has.

`compare_ways` is explained in notebook 12, `compare_frameworks` in notebook 17.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch

from ..hybrid.compiler import hybridize
from ..lesson import muted
from ..machine.limits import c_loop, reading
from ..measure.candidates import recipe
from ..measure.processes import started
from ..measure.show import progress_line
from ..measure.sweeps import Sweep, sweep
from ..nets import get_net, random_input, without_gradients
from ..side_by_side import (
    PROGRAMS_OF,
    framework_ways,
    in_numpy,
    missing_frameworks,
    network_input,
    network_weights,
)


def compare_ways(
    batches: Sequence[int] = (1,), report: Callable[[str], None] = print, **options: Any
) -> Sweep:
    """Compare the ways to run the course's network, at each batch size. Returns a `Sweep`.

    The baseline is the network as it comes, eager, with gradients; everything else runs without.
    What is not installed does not take part, and what fails is left out; `report` gets a line
    about it. `options` go to `compare`; a size is measured for 3 s unless they say otherwise.
    """
    failed, show = [], progress_line(None)  # made here, where nothing is muted
    options = {"time_limit": 3.0, "on_error": failed.append, "progress": show} | options
    with muted():
        answer = sweep(ways(get_net()), random_input, batches, **options)
    _report(failed, report)
    return answer


def compare_frameworks(
    batches: Sequence[int] = (1,),
    report: Callable[[str], None] = print,
    launches: int = 1,
    **options: Any,
) -> Sweep:
    """Compare all frameworks that are there, at each batch size. Returns a `Sweep`.

    Each way runs in a process of its own, with one thread and without gradients; the baseline is
    PyTorch's eager. `report` gets a line about what is not installed, and one about each way that
    fails and is left out. By default each way is started once, for all sizes, and a size is
    measured for 10 s; two runs may then differ by more than their intervals say. With several
    `launches`, 11 or more for all ways, it is 3 s for each. `options` go to `compare`.
    """
    if missing := missing_frameworks():
        report(f"not installed, so left out: {', '.join(missing)}")
    weights, ways, failed = network_weights(), framework_ways(), []
    options = {
        "baseline": next(iter(ways)),  # if it fails, there is nothing to compare
        "time_limit": 10.0 if launches == 1 else 3.0 * launches,
        "on_error": failed.append,
        "launches": launches,
    } | options
    once = started(ways, on_error=failed.append) if launches == 1 else nullcontext(ways)
    with once as running:
        answer = sweep(running, lambda n: (weights, network_input(n)), batches, **options)
    _report(failed, report)
    return answer


def _report(failed, report):
    for error in failed:
        report(f"left out: {str(error).splitlines()[0]}")


def ways(net):
    """label -> candidate; first the baseline, last the lowest limit."""
    frozen, x = without_gradients(net), random_input()
    scripted = partial(torch.jit.script, frozen)
    layers = [layer for layer in frozen if hasattr(layer, "weight")]
    weights = [(layer.weight.numpy().T, layer.bias.numpy()) for layer in layers]
    in_others = {"NumPy": in_numpy.network, "ONNX Runtime": in_onnxruntime, "JAX": in_jax}
    builders = {
        "TorchScript": scripted,
        "TorchScript, frozen": lambda: torch.jit.freeze(scripted()),
        "TorchScript, optimised": lambda: torch.jit.optimize_for_inference(scripted()),
        "torch.compile": lambda: torch.compile(frozen),
        "torch.compile, tuned": lambda: tuned(without_gradients(net)),
        **{
            name: partial(in_another, build, weights)
            for name, build in in_others.items()
            if PROGRAMS_OF[name].is_there
        },
        "hybridize": lambda: hybridize(frozen, x),
        "the same C, in a C loop": lambda: c_loop(frozen, x),
        "limit: read the weights": lambda: reading(frozen, x),
    }
    recipes = {label: recipe(build) for label, build in builders.items()}
    return {"eager": net, "eager, no gradients": frozen} | recipes


def tuned(net):
    """torch.compile with all that it has to offer: kernels chosen by trial, weights frozen."""
    compiled = torch.compile(net, options={"max_autotune": True, "freezing": True})

    def run(x):
        with torch.no_grad():  # or nothing is frozen
            return compiled(x)

    return run


def in_another(build, weights):
    """The network in what else is installed: as in a process of its own, with PyTorch's threads."""
    net = build(weights)
    return lambda x: net(x.numpy())


def in_onnxruntime(weights):
    from ..side_by_side.in_onnxruntime import network

    return network(weights, torch.get_num_threads())


def in_jax(weights):
    os.environ.setdefault("NPROC", str(torch.get_num_threads()))  # read at its first operation
    from ..side_by_side.in_jax import jax, jnp, network

    params, compiled = jax.tree.map(jnp.array, weights), jax.jit(network)
    return lambda x: compiled(params, x).block_until_ready()
