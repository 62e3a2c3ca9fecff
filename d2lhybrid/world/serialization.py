"""What the processes of a world send each other, as bytes and back: values, and functions.

    packed = dumps((1, {"weight": tensor}))         # loads(packed)
    name, files, packed = dump_function(train)      # load_function(files, packed)

Of values only data travels, as `workers.encode` says. A tensor arrives on the CPU, equal bit by
bit. Its device, its gradient and the larger tensor that it is a view of stay.

Python pickles a function of a notebook only as its name. cloudpickle sends what it is, and the
notebook's functions and classes that it uses; what is in modules is imported there again. It would
send the notebook's data as well. Here that is refused, so that nothing travels unseen.
"""

import dis
import io
import linecache
import pickle
from collections.abc import Mapping
from functools import partial
from types import CodeType, FunctionType
from typing import Any

import cloudpickle
import torch

from ..workers import encode

NOTEBOOK = "__main__"  # its module, which another process cannot import


def content_bytes(value: Any) -> int:
    """Return the bytes of all tensors in a value."""
    if isinstance(value, torch.Tensor):
        return value.nbytes
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, (list, tuple, set, frozenset)):
        return 0
    return sum(map(content_bytes, value))


def reduce_tensor(value: Any) -> tuple | None:
    """Return (function, arguments) with which pickle makes a tensor again; None for all else.

    Not torch's own reducers: they write a file for each tensor, or share memory. Tensors that have
    not just numbers, such as sparse ones, raise torch's errors.
    """
    if not isinstance(value, torch.Tensor):
        return None
    tensor = value.detach().resolve_conj().resolve_neg().cpu()
    flat = tensor.contiguous().reshape(-1).view(torch.uint8)  # NumPy has no bfloat16
    name = str(tensor.dtype).removeprefix("torch.")
    return make_tensor, (bytearray(flat.numpy()), name, tuple(tensor.shape))


def make_tensor(content: bytearray, dtype: str, shape: tuple[int, ...]) -> torch.Tensor:
    """Return a tensor over these bytes; `dtype` is a name in torch, such as "float32"."""
    tensor = torch.empty(0, dtype=getattr(torch, dtype))
    return (torch.frombuffer(content, dtype=tensor.dtype) if content else tensor).reshape(shape)


dumps = partial(encode, reduce_array=reduce_tensor)
loads = pickle.loads


# Functions ----------------------------------------------------------------------------------


def dump_function(function: FunctionType) -> tuple[str, dict[str, list[str]], bytes]:
    """Return (name, files, packed) of a function: its name, lines of source, itself as bytes.

    `files` maps each cell or file where it and its helpers stand to its lines. TypeError if it uses
    data of the notebook; pickle's errors. With a bound method that a notebook has imported, such as
    random's `randint`, its object's state goes.
    """
    files, file = {}, io.BytesIO()
    keep_lines(function, files)
    _FunctionPickler(file, files).dump(function)
    return function.__name__, files, file.getvalue()


def load_function(files: dict[str, list[str]], packed: bytes) -> FunctionType:
    """Return the function that `dump_function` was given; `linecache` then finds its lines."""
    for filename, lines in files.items():
        linecache.cache[filename] = len(lines), None, lines, filename
    return pickle.loads(packed)


class _FunctionPickler(cloudpickle.Pickler):
    """Refuses data of the notebook, and keeps the lines of its functions."""

    def __init__(self, file, files):
        super().__init__(file)
        self._files = files

    def reducer_override(self, value):
        """Pickle's hook. TypeError for a notebook's function that uses data of the notebook."""
        if isinstance(value, CodeType):  # cloudpickle 3.1.3 sends a fixed name of its file
            return make_code, (value.co_filename, *self.dispatch_table[CodeType](value))
        if isinstance(value, FunctionType) and value.__globals__.get("__name__") == NOTEBOOK:
            keep_lines(value, self._files)
            refuse_data(value, value.__code__)
        return super().reducer_override(value)


def make_code(filename, make, parts):
    """Return the code object that `make(*parts)` makes, as of the file `filename`."""
    return make(*parts).replace(co_filename=filename)


def keep_lines(function: FunctionType, files: dict[str, list[str]]) -> None:
    """Put the lines of a function's file or cell, as they are now, into `files` by its name."""
    filename = function.__code__.co_filename
    linecache.checkcache(filename)
    files[filename] = linecache.getlines(filename, function.__globals__)


def refuse_data(function: FunctionType, code: CodeType) -> None:
    """TypeError if the code uses a global name that is no module, function or class."""
    for each in dis.get_instructions(code):
        value = function.__globals__.get(each.argval) if each.opname == "LOAD_GLOBAL" else None
        if value is not None and not hasattr(value, "__name__"):  # a network has none
            raise TypeError(
                f"{function.__name__} uses {each.argval!r}, of type {type(value).__name__}, which "
                "stays here: another process has only what is passed to it"
            )
    for inner in code.co_consts:  # functions within it
        if isinstance(inner, CodeType):
            refuse_data(function, inner)
