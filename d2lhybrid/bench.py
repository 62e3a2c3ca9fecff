"""The course's comparison: its network, run in every way that this machine has."""

import io
import logging
import warnings
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from copy import deepcopy
from importlib.util import find_spec

from .comparison import CandidateError, recipe, teller
from .sweeps import sweep


def bench(batches=(1,), report=print, time_limit=3.0, **options):
    """Compare the ways to run the course's network. Returns a `Sweep` over the batch sizes.

    The baseline is PyTorch, eager, with gradients; everything else runs without. What is not
    installed does not take part, and what fails is left out; `report` gets a line about it.
    `options` go to `compare`.
    """
    import torch

    from .nets import get_net

    net = get_net()
    ways = torch_ways(net) | other_ways(net) | compiled_ways(net)
    options["progress"] = teller(options.get("progress"))  # made here, where nothing is muted
    while True:
        try:
            with muted():
                return sweep(
                    ways, lambda n: torch.randn(n, 512), batches, time_limit=time_limit, **options
                )
        except CandidateError as failure:
            del ways[failure.label]  # and once more without; the rest is then built again
            report(f"left out: {str(failure).splitlines()[0]}")
            if len(ways) < 2:
                raise


def torch_ways(net):
    """What PyTorch itself offers: label -> candidate."""
    import torch

    plain = deepcopy(net).eval().requires_grad_(False)  # the same numbers, no gradients wanted
    return {
        "eager": net,
        "eager, no gradients": plain,
        "TorchScript": recipe(lambda: torch.jit.script(plain)),
        "TorchScript, frozen": recipe(lambda: torch.jit.freeze(torch.jit.script(plain))),
        "TorchScript, optimised": recipe(
            lambda: torch.jit.optimize_for_inference(torch.jit.script(plain))
        ),
        "torch.compile": recipe(lambda: torch.compile(plain)),
        "torch.compile, tuned": recipe(lambda: tuned_way(net)),
    }


def tuned_way(net):
    """torch.compile with all that it has to offer: kernels chosen by trial, weights frozen."""
    import torch

    copy = deepcopy(net).eval()  # its own, or the two compiled networks would share their guards
    compiled = torch.compile(copy, options={"max_autotune": True, "freezing": True})

    def run(x):
        with torch.no_grad():  # or nothing is frozen
            return compiled(x)

    return run


def other_ways(net):
    """The same network in what else is installed; each takes a tensor."""
    ways = {"NumPy": lambda: numpy_way(net)}
    if find_spec("onnxruntime") and find_spec("onnxscript"):
        ways["ONNX Runtime"] = lambda: onnx_way(net)
    if find_spec("jax"):
        ways["JAX"] = lambda: jax_way(net)
    return {label: recipe(build) for label, build in ways.items()}


def compiled_ways(net):
    """What our own compiler makes of it, and what limits that; the least possible is last."""
    import torch

    from .hybrid.compiler import hybridize
    from .limits import c_loop, reading

    x = torch.randn(1, 512)
    return {
        "hybridize": recipe(lambda: hybridize(net, x)),
        "the same C, in a C loop": recipe(lambda: c_loop(net, x)),
        "limit: read the weights": recipe(lambda: reading(net, x)),
    }


def numpy_way(net):
    """Three products of matrices, and nothing in between that NumPy doesn't do."""
    import numpy

    (a, b), (c, d), (e, f) = parameters(net)

    def run(x):
        hidden = numpy.maximum(x.numpy() @ a + b, 0)
        hidden = numpy.maximum(hidden @ c + d, 0)
        return hidden @ e + f

    return run


def jax_way(net):
    """The same in JAX, compiled; it waits for the result, as JAX by itself would not."""
    import jax

    (a, b), (c, d), (e, f) = [(jax.numpy.array(w), jax.numpy.array(v)) for w, v in parameters(net)]

    @jax.jit
    def forward(x):
        hidden = jax.nn.relu(x @ a + b)
        hidden = jax.nn.relu(hidden @ c + d)
        return hidden @ e + f

    return lambda x: forward(x.numpy()).block_until_ready()


def onnx_way(net):
    """The network exported to ONNX, batch size left open, run by ONNX Runtime."""
    import onnxruntime
    import torch

    with muted():
        program = torch.onnx.export(
            net,
            (torch.randn(2, 512),),
            dynamo=True,
            dynamic_shapes=({0: torch.export.Dim("batch")},),
        )
    options = onnxruntime.SessionOptions()
    # Threads that wait for work by asking all the time would slow down the others' blocks.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString(), options)
    name = session.get_inputs()[0].name
    return lambda x: session.run(None, {name: x.numpy()})[0]


@contextmanager
def muted():
    """Without the exporter's and the compilers' reports and warnings: none is about our network."""
    before = logging.root.manager.disable  # one of these may stand in another
    logging.disable(max(before, logging.WARNING))
    try:
        with (
            warnings.catch_warnings(),
            redirect_stdout(io.StringIO()),
            redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def parameters(net):
    """The weights (inputs, outputs) and biases of the linear layers, as NumPy arrays."""
    layers = [layer for layer in net if hasattr(layer, "weight")]
    return [(m.weight.detach().numpy().T, m.bias.detach().numpy()) for m in layers]
