"""Which inputs a compiled program can read, and how others are made readable.

Explained in notebook 12; torch.compile's guards ask the same of tensors (TENSOR_MATCH).
"""

import torch
from torch import Tensor, nn

READABLE = "on the CPU, aligned, in order, without gradients"


def is_readable(tensor: Tensor) -> bool:
    """Whether a float32 tensor is in memory, aligned, in order, with its sign; see also guard.c."""
    in_order = tensor.is_cpu and tensor.is_contiguous() and not tensor.is_neg()
    address = tensor.data_ptr() if in_order else None
    return in_order and address % 4 == 0 and (address != 0 or tensor.numel() == 0)


def admitted(tensor: Tensor, what: str = "an input") -> Tensor:
    """The tensor if C can read it, or a readable copy. `what` is its name in messages.

    TypeError for another type or device; RuntimeError where gradients would be lost.
    """
    ordinary = type(tensor) in (Tensor, nn.Parameter)
    if not ordinary or tensor.layout is not torch.strided:
        kind = tensor.layout if ordinary else type(tensor).__name__
        raise TypeError(f"{what} must be a tensor of the ordinary kind, not {kind}")
    if tensor.dtype != torch.float32 or not tensor.is_cpu:
        raise TypeError(
            f"{what} must be of type float32 and on the CPU, not "
            f"{str(tensor.dtype).removeprefix('torch.')} on {tensor.device}"
        )
    if tensor.requires_grad and torch.is_grad_enabled():
        raise RuntimeError(
            f"{what} requires gradients, which the compiled program would lose; call it under "
            "torch.no_grad(), or with input.detach()"
        )
    tensor = tensor.detach().contiguous().resolve_neg()
    return tensor.clone() if tensor.data_ptr() % 4 else tensor
