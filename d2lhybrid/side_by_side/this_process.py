"""The ways to run the course's network that can share this process, for notebook 12."""

import os
from functools import partial

import torch

from ..hybrid.compiler import hybridize
from ..hybrid.limits import c_loop, reading
from ..measure.candidates import recipe
from ..nets import random_input, without_gradients
from . import PROGRAMS_OF, in_numpy


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
