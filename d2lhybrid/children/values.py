"""Values as bytes and back: what two processes say to each other. Nothing in them is code.

    value = unpack(pack({"a": (1, array)}, to_parts), from_parts)
    pipe.write(frame((1, "ok", None)))  # `read_frame` reads it

Only the standard library is loaded; what an array is, the caller says.
"""

import pickle
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any, BinaryIO

# What pickle writes without looking anything up by its name.
PLAIN = type(None), bool, int, float, str, bytes, bytearray, list, tuple, set, frozenset, dict


def pack(
    value: Any, to_parts: Callable[[Any], tuple | None] = lambda value: None, arrays: str = ""
) -> bytes:
    """None, numbers, strings, bytes, lists, tuples, sets and dicts of them, and arrays, as bytes.

    `to_parts(value)` gives a tuple of such values for an array, and None for all else. A subclass
    of dict, list, tuple, str or a number arrives as one of these. TypeError for what is not data,
    with what can be sent; `arrays` is what it calls arrays.
    """
    file = BytesIO()
    _Pickler(file, to_parts, arrays).dump(value)
    return file.getvalue()


def unpack(packed: bytes, from_parts: Callable[..., Any] | None = None) -> Any:
    """The value that `pack` was given; `from_parts(*parts)` makes an array."""
    return _Unpickler(BytesIO(packed), from_parts).load()


def refusal(what: str, arrays: str = "") -> TypeError:
    """The error for what cannot be sent."""
    kinds = f"{arrays}, numbers" if arrays else "numbers"
    return TypeError(
        f"{what} cannot be sent to another process: {kinds}, strings and None can, and lists, "
        "tuples and dicts of them"
    )


class _Pickler(pickle.Pickler):
    def __init__(self, file, to_parts, arrays):
        super().__init__(file, protocol=5)
        self._to_parts, self._arrays = to_parts, arrays

    def persistent_id(self, value):
        """None for a plain value; for any other, plain ones of which it is made again."""
        if type(value) in PLAIN:
            return None
        if (parts := self._to_parts(value)) is not None:
            return "array", *parts
        if isinstance(value, complex):
            return "complex", value.real, value.imag
        if isinstance(value, Mapping):
            return "plain", dict(value)
        for kind in PLAIN[1:]:
            if isinstance(value, kind):
                return "plain", kind(value)
        raise refusal(type(value).__name__, self._arrays)


class _Unpickler(pickle.Unpickler):
    def __init__(self, file, from_parts):
        super().__init__(file)
        self._makers = {"array": from_parts, "complex": complex, "plain": lambda value: value}

    def persistent_load(self, parts):
        maker, *parts = parts
        return self._makers[maker](*parts)

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"{module}.{name} is not data")


def frame(content: Any) -> bytes:
    """Plain values as bytes for a pipe, so that `read_frame` finds their end."""
    packed = pack(content)
    return len(packed).to_bytes(8, "big") + packed


def read_frame(pipe: BinaryIO) -> Any:
    """What `frame` was given. EOFError if the pipe ends before."""
    size = pipe.read(8)
    packed = pipe.read(int.from_bytes(size, "big"))
    if len(size) < 8 or len(packed) < int.from_bytes(size, "big"):
        raise EOFError("the pipe has ended")
    return unpack(packed)
