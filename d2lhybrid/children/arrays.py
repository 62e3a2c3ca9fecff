"""Arguments and results as bytes, and back, for the way between two processes.

    packed = encode((1, "a", array))
    value = decode(packed)

An array of any framework travels in the format of `numpy.save`, and arrives as NumPy's. NumPy is
loaded only for arrays. For all else see `values`.
"""

from functools import partial
from io import BytesIO
from typing import Any

from ..frameworks import to_numpy
from .values import pack, unpack


class Widened:
    """An array whose numbers came in a format that NumPy lacks, such as bfloat16.

    The numbers are those of a wider format, `dtype` is the name of their own.
    """

    def __init__(self, array: Any, dtype: str):
        self.array, self.dtype, self.shape = array, dtype, array.shape

    def __array__(self, dtype=None, copy=None):
        return self.array if dtype is None else self.array.astype(dtype)

    def __repr__(self):
        return f"{self.array!r} from {self.dtype}"


def encode(value: Any, widening: bool = True) -> bytes:
    """A value as bytes. TypeError for what cannot be sent.

    `widening`: whether an array may be sent whose format NumPy lacks, see `Widened`.
    """
    return pack(value, partial(_to_parts, widening), "arrays, tensors")


def decode(packed: bytes) -> Any:
    """The value that `encode` was given; an array of whatever framework as NumPy's."""
    return unpack(packed, _from_parts)


def _to_parts(widening, value):
    if not (hasattr(value, "shape") and hasattr(value, "dtype")):  # NumPy's numbers have them
        return None
    import numpy

    array, name, file = to_numpy(value), str(value.dtype), BytesIO()
    refusal = f"an array of {name} cannot be sent to another process"
    if name.endswith(".float16"):
        array = array.astype("float16")  # `to_numpy` widens it, and NumPy has it
    elif array.dtype.isbuiltin == 2:  # a format that some package has added to NumPy
        array = array.astype("float32")
    if str(array.dtype) not in name and not widening:
        raise TypeError(f"{refusal}: NumPy lacks it")
    if array.dtype.hasobject:
        raise TypeError(refusal)
    numpy.save(file, array)
    return file.getvalue(), name


def _from_parts(content, name):
    import numpy

    array = numpy.load(BytesIO(content))  # which refuses code, as is its default
    return array if str(array.dtype) in name else Widened(array, name)
