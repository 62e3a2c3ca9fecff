"""Values as JSON, and back: what two processes say to each other. Nothing in them is code.

    text = json.dumps(encode((1, "a", array)))
    value = decode(json.loads(text))

Numbers, strings, None, arrays of every framework, and lists, tuples and dicts of these. An array
travels in the format of `numpy.save`. NumPy is loaded only for arrays.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from io import BytesIO
from numbers import Complex
from typing import Any

from ..frameworks import to_numpy

SENDABLE = "arrays, tensors, numbers, strings and None can, and lists, tuples and dicts of them"


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


def encode(value: Any, widening: bool = True) -> Any:
    """A value as types that JSON has. TypeError for what cannot be sent.

    `widening`: whether an array may be sent whose format NumPy lacks, see `Widened`.
    """
    if hasattr(value, "shape") and hasattr(value, "dtype"):  # NumPy's numbers among them
        return _encode_array(value, widening)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, list):
        return [encode(part, widening) for part in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(part, widening) for part in value]}
    if isinstance(value, Mapping):
        pairs = [[encode(key, widening), encode(part, widening)] for key, part in value.items()]
        return {"dict": pairs}
    raise TypeError(f"{type(value).__name__} cannot be sent to another process: {SENDABLE}")


def _encode_array(value, widening):
    import numpy

    array, name = to_numpy(value), str(value.dtype)
    if name.endswith(".float16"):
        array = array.astype("float16")  # `to_numpy` widens it, and NumPy has it
    elif array.dtype.isbuiltin == 2:  # a format that some package has added to NumPy
        array = array.astype("float32")
    if str(array.dtype) not in name and not widening:
        raise TypeError(f"an array of {name} cannot be sent to another process: NumPy lacks it")
    file = BytesIO()
    try:
        numpy.save(file, array, allow_pickle=False)
    except ValueError:  # it holds Python's objects
        raise TypeError(f"an array of {name} cannot be sent to another process") from None
    return {"array": b64encode(file.getvalue()).decode(), "dtype": name}


def decode(value: Any) -> Any:
    """The value that `encode` was given; an array of whatever framework as NumPy's."""
    if isinstance(value, list):
        return [decode(part) for part in value]
    if not isinstance(value, dict):
        return value
    if "complex" in value:
        return complex(*value["complex"])
    if "tuple" in value:
        return tuple(decode(part) for part in value["tuple"])
    if "dict" in value:
        return {decode(key): decode(part) for key, part in value["dict"]}
    import numpy

    array, name = numpy.load(BytesIO(b64decode(value["array"])), allow_pickle=False), value["dtype"]
    return array if str(array.dtype) in name else Widened(array, name)
