"""Layers that are recorded as several operations, or that have options.

    >>> from .recorder import trace
    >>> norm = torch.nn.LayerNorm(8)
    >>> trace(norm, torch.ones(1, 8))
    LayerNorm(input: float32[n, 8]):
        v1: float32[n, 8] = layer_norm(input, 1e-05)
        weight: float32[8] = parameter
        v2: float32[n, 8] = mul(v1, weight)
        bias: float32[8] = parameter
        v3: float32[n, 8] = add(v2, bias)
        return v3

Each function has the parameters of torch's own. It gets symbols and tensors, and the recorder.
Inductor calls such rules decompositions.
"""

from .operations import UnsupportedOperation
from .torch_or_none import torch


def gelu(recorder, input, approximate="none"):
    """torch.nn.functional.gelu: exactly, or by a tanh."""
    if approximate not in ("none", "tanh"):
        raise UnsupportedOperation(f"gelu with approximate={approximate!r}")
    return recorder.compute("gelu" if approximate == "none" else "gelu_tanh", input)


def softmax(recorder, input, dim=None, _stacklevel=None, dtype=None):
    """torch.softmax, over the last axis."""
    last = len(recorder.node_of(input).shape or ()) - 1
    if dtype or isinstance(_stacklevel, torch.dtype):  # torch.softmax has the type in this place
        raise UnsupportedOperation("softmax with a dtype")
    if dim is None or dim not in (-1, last):
        raise UnsupportedOperation(f"softmax over dim={dim}")
    return recorder.compute("softmax", input)


def layer_norm(
    recorder, input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True
):
    """torch.nn.functional.layer_norm, over the last axis."""
    normalised = recorder.compute("layer_norm", input, eps, over=normalized_shape)
    return scaled(recorder, normalised, weight, bias)


def rms_norm(recorder, input, normalized_shape, weight=None, eps=None):
    """torch.nn.functional.rms_norm, over the last axis."""
    eps = torch.finfo(recorder.node_of(input).dtype).eps if eps is None else eps
    normalised = recorder.compute("rms_norm", input, eps, over=normalized_shape)
    return scaled(recorder, normalised, weight, None)


def batch_norm(
    recorder, input, mean, variance, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5
):
    """torch.nn.functional.batch_norm of rows, by the mean and the variance that were kept."""
    if training:
        raise UnsupportedOperation("batch_norm in training (call .eval() on the network first)")
    if len(recorder.node_of(input).shape) != 2:
        raise UnsupportedOperation("batch_norm of other than rows")
    spread = recorder.compute("rsqrt", recorder.compute("add", variance, eps))
    centred = recorder.compute("sub", input, mean)
    return scaled(recorder, recorder.compute("mul", centred, spread), weight, bias)


def scaled(recorder, value, weight, bias):
    """A value times a weight, if there is one, plus a bias, if there is one."""
    value = value if weight is None else recorder.compute("mul", value, weight)
    return value if bias is None else recorder.compute("add", value, bias)


LAYERS = {one.__name__: one for one in (gelu, softmax, layer_norm, rms_norm, batch_norm)}
"""What torch calls it -> the function that records it."""
