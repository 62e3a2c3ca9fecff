"""Arguments, results and messages as bytes, and back: what the processes of a world send.

Only data travels so; for functions see `sources`, and for all but tensors `children.values`. A
tensor arrives on the CPU. Its device, its gradient and the larger tensor that it is part of stay.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch

from ..children import values


def content_bytes(value: Any) -> int:
    """The bytes of all tensors in a value."""
    if isinstance(value, torch.Tensor):
        return value.nbytes
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, (list, tuple, set, frozenset)):
        return 0
    return sum(map(content_bytes, value))


def _to_parts(value):
    """A tensor's bytes, its type and its shape: not torch's way of saving files."""
    if not isinstance(value, torch.Tensor):
        return None
    if value.layout != torch.strided:
        raise values.refusal(f"a tensor of layout {value.layout}", "tensors")
    for kind in ("quantized", "nested", "meta"):  # no bytes, or not only bytes
        if getattr(value, f"is_{kind}", False):
            raise values.refusal(f"a {kind} tensor", "tensors")
    tensor = value.detach().resolve_conj().resolve_neg().cpu()
    flat = tensor.contiguous().reshape(-1).view(torch.uint8)  # NumPy has no bfloat16
    return bytearray(flat.numpy()), str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape)


def _from_parts(content, dtype, shape):
    """A tensor over these bytes."""
    tensor = torch.empty(0, dtype=getattr(torch, dtype), device="cpu")
    return (torch.frombuffer(content, dtype=tensor.dtype) if content else tensor).reshape(shape)


pack = partial(values.pack, to_parts=_to_parts, arrays="tensors")
unpack = partial(values.unpack, from_parts=_from_parts)
