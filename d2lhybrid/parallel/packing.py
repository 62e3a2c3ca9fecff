"""Values as bytes and back: what the processes of a world say to each other.

Only data travels so; for functions see `sources`.
"""

import pickle
from collections.abc import Mapping
from typing import Any, BinaryIO

import torch

SENDABLE = "tensors, numbers, strings and None can be sent, and lists, tuples and dicts of them"
BEGIN = b"frames begin here\n"  # the first line of a pipe that is of interest


def pack(value: Any) -> bytes:
    """A value as bytes. TypeError, with what can be sent, for anything else.

    A tensor leaves its device, its gradient and the larger tensor that it is part of behind. A
    subclass of dict, list, tuple, str or a number arrives as one of these.
    """
    return pickle.dumps(_plain(value))


def unpack(packed: bytes) -> Any:
    """The value that `pack` was given, with all tensors on the CPU."""
    return pickle.loads(packed)


class _Tensor:
    """Stands for a tensor while it is pickled: its bytes, not torch's way of saving files."""

    def __init__(self, tensor):
        if tensor.layout != torch.strided:
            raise TypeError(f"a tensor of layout {tensor.layout} cannot be sent: {SENDABLE}")
        for kind in ("quantized", "nested", "meta"):  # no bytes, or not only bytes
            if getattr(tensor, f"is_{kind}", False):
                raise TypeError(f"a {kind} tensor cannot be sent: {SENDABLE}")
        self.tensor = tensor.detach().resolve_conj().resolve_neg().cpu()

    def __reduce__(self):
        flat = self.tensor.contiguous().reshape(-1).view(torch.uint8)  # NumPy has no bfloat16
        dtype = str(self.tensor.dtype).removeprefix("torch.")
        return tensor_from, (bytearray(flat.numpy()), dtype, tuple(self.tensor.shape))


def tensor_from(content: bytearray, dtype: str, shape: tuple[int, ...]) -> torch.Tensor:
    """A tensor over these bytes."""
    dtype = getattr(torch, dtype)
    if not content:
        return torch.empty(shape, dtype=dtype, device="cpu")
    return torch.frombuffer(content, dtype=dtype).reshape(shape)


def _plain(value):
    """A value whose types pickle knows, so that nothing is looked up by its name."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, torch.Tensor):
        return _Tensor(value)
    for kind in (int, float, complex, str, bytes):
        if isinstance(value, kind):
            return kind(value)
    for kind in (list, tuple, set, frozenset):
        if isinstance(value, kind):
            return kind(map(_plain, value))
    if isinstance(value, Mapping):
        return {_plain(key): _plain(part) for key, part in value.items()}
    raise TypeError(f"{type(value).__name__} cannot be sent: {SENDABLE}")


def content_bytes(value: Any) -> int:
    """The bytes of all tensors in a value."""
    if isinstance(value, torch.Tensor):
        return value.nbytes
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, (list, tuple, set, frozenset)):
        return 0
    return sum(map(content_bytes, value))


def frame(content: Any) -> bytes:
    """What pickle knows as bytes for a pipe, so that `read_frame` finds its end."""
    packed = pickle.dumps(content)
    return len(packed).to_bytes(8, "big") + packed


def write_frame(file: BinaryIO, content: Any) -> None:
    """Write what pickle knows to a pipe."""
    file.write(frame(content))
    file.flush()


def read_frame(file: BinaryIO) -> Any:
    """What `write_frame` was given. EOFError if the pipe ends before."""
    size = file.read(8)
    packed = file.read(int.from_bytes(size, "big"))
    if len(size) < 8 or len(packed) < int.from_bytes(size, "big"):
        raise EOFError("the pipe has ended")
    return pickle.loads(packed)
