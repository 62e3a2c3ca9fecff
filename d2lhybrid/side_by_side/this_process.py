"""The ways to run a PyTorch network that can share this process, for notebook 12."""

import os
from copy import deepcopy

import torch

from . import PROGRAMS_OF


def torchs_ways(net, frozen):
    """What PyTorch has to offer: label -> a function that builds a callable. `frozen` is a copy."""

    def scripted():
        return torch.jit.script(frozen)

    return {
        "TorchScript": scripted,
        "TorchScript, frozen": lambda: torch.jit.freeze(scripted()),
        "TorchScript, optimised": lambda: torch.jit.optimize_for_inference(scripted()),
        "torch.compile": lambda: torch.compile(frozen),
        "torch.compile, tuned": lambda: tuned(net),
    }


def tuned(net):
    """torch.compile with all that it has to offer: kernels chosen by trial, weights frozen."""
    copy = deepcopy(net).eval()  # a copy: `.eval()` must not change the caller's network
    compiled = torch.compile(copy, options={"max_autotune": True, "freezing": True})

    def run(x):
        with torch.no_grad():  # or nothing is frozen
            return compiled(x)

    return run


def others_ways(net):
    """The network in what else is installed: label -> a function that builds a callable.

    As in a process of its own, but with as many threads as PyTorch has.
    """
    layers = [layer for layer in net if hasattr(layer, "weight")]
    weights = [(m.weight.detach().numpy().T, m.bias.detach().numpy()) for m in layers]

    def in_numpy():
        from .in_numpy import network

        return network(weights)

    def in_onnxruntime():
        from .in_onnxruntime import network

        return network(weights, torch.get_num_threads())

    def in_jax():
        # JAX reads this at its first operation.
        os.environ.setdefault("NPROC", str(torch.get_num_threads()))
        from .in_jax import jax, jnp, network

        params, compiled = jax.tree.map(jnp.array, weights), jax.jit(network)
        return lambda x: compiled(params, x).block_until_ready()

    builders = {"NumPy": in_numpy, "ONNX Runtime": in_onnxruntime, "JAX": in_jax}
    return {
        name: taking_tensors(build)
        for name, build in builders.items()
        if PROGRAMS_OF[name].is_there
    }


def taking_tensors(build):
    """What builds a function of a tensor, from what builds one of NumPy's arrays."""

    def built():
        net = build()
        return lambda x: net(x.numpy())

    return built
