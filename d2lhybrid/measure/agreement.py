"""Do two candidates compute the same, up to the rounding errors of their number format?

Notebook 06 asks this of every candidate; the usual tool is torch.testing.assert_close.
"""

import cmath
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from itertools import islice
from numbers import Number
from typing import Any

from ..frameworks import needs_gradients, to_numpy

# The distance from 1 to the next number, by the name of the format.
EPSILON = {
    "float8_e5m2": 2**-2,
    "float8_e4m3": 2**-3,
    "bfloat16": 2**-7,
    "float16": 2**-10,
    "float32": 2**-23,
    "complex64": 2**-23,
    "float64": 2**-52,
    "complex128": 2**-52,
}

PARTS = 100  # of a result, that are asked for gradients
PIECE = 2**16  # numbers compared at once: large results would take many times their memory


def difference(result: Any, expected: Any, tolerance: float | None = None) -> str:
    """How two results differ, in words; '' where they agree.

    A result is a number, an array or tensor of any framework, a list, tuple, dict or dataclass
    of results, or anything that has `==`. Floating-point numbers agree if they differ by no more
    than `tolerance` times the largest number of their array. By default it is the rounding error
    of the coarser of the two formats to the power 2/3: 2.4e-5 for float32, 0.01 for float16.

    A sum that is computed in another order comes out a few roundings away: for n numbers n
    roundings at worst, and as a rule about the square root of n (N. J. Higham, Accuracy and
    Stability of Numerical Algorithms, chapters 2 and 4). The power 2/3 is our choice. It allows
    200 roundings in float32, which a sum of 40,000 numbers may need.

    Parts are compared with parts: of dicts by their keys, in any order, of dataclasses of one
    type by their fields, of lists and tuples, named ones too, by their positions. A list may
    agree with a tuple, since frameworks return now one, now the other; but `[x]` never with `x`.
    """
    kind, ours = _parts(result)
    other_kind, theirs = _parts(expected)
    if kind is not other_kind:
        return f"{type(result).__name__} against {type(expected).__name__}"
    if ours is None:
        return _leaf_difference(result, expected, tolerance)
    if ours.keys() != theirs.keys():
        if kind is list:
            return f"{len(ours)} values against {len(theirs)}"
        return f"keys {[*ours]} against {[*theirs]}"
    for key, part in ours.items():
        if text := difference(part, theirs[key], tolerance):
            return text
    return ""


def any_needs_gradients(results: list) -> bool | None:
    """Whether notes for gradients were kept for any of these results; None if none can tell.

    Of a result with many parts, the first ones are asked, and not what is within them.
    """
    said = []
    for result in results:
        _, parts = _parts(result)
        arrays = [result] if parts is None else islice(parts.values(), PARTS)
        said += map(needs_gradients, arrays)
    known = [answer for answer in said if answer is not None]
    return any(known) if known else None


def _parts(result):
    """What kind of result it is, which another one must be, too; and its parts, if it has any."""
    if isinstance(result, Mapping):
        return dict, result
    if isinstance(result, (list, tuple)):
        return list, dict(enumerate(result))
    if is_dataclass(result) and not isinstance(result, type):
        return type(result), {field.name: getattr(result, field.name) for field in fields(result)}
    return Number if isinstance(result, Number) or hasattr(result, "shape") else object, None


def _leaf_difference(a, b, tolerance):
    if hasattr(a, "shape") or hasattr(b, "shape"):
        return _array_difference(a, b, tolerance)
    if isinstance(a, (float, complex)) or isinstance(b, (float, complex)):
        if a == b or (cmath.isnan(a) and cmath.isnan(b)):  # equal infinities among them
            return ""
        return _too_far(abs(a - b), max(abs(a), abs(b)), "float64", tolerance)
    return "" if a == b else f"{a!r} against {b!r}"


def _array_difference(a, b, tolerance):
    import numpy

    names = [_format(a), _format(b)]
    a, b = to_numpy(a), to_numpy(b)
    if a.shape != b.shape:
        return f"shape {a.shape} against {b.shape}"
    floating = [name for name in names if name]
    if not floating:
        return "" if (a == b).all() else "the values differ"
    wide = "complex128" if "complex" in "".join(names) else "float64"
    gaps, largest = [], 0.0
    for start in range(0, a.size, PIECE):
        x, y = (array.flat[start : start + PIECE].astype(wide) for array in (a, b))
        with numpy.errstate(invalid="ignore"):
            same = (x == y) | (numpy.isnan(x) & numpy.isnan(y))  # equal infinities among them
            gaps.append(numpy.where(same, 0.0, numpy.abs(x - y)).max())
        sizes = numpy.abs(numpy.concatenate([x, y]))
        largest = sizes[numpy.isfinite(sizes)].max(initial=largest)
    gap = float(numpy.max(gaps, initial=0.0))  # not a number where only one of the two is
    return _too_far(gap, float(largest), max(floating, key=EPSILON.get), tolerance)


def _too_far(gap, largest, name, tolerance):
    allowed = (EPSILON[name] ** (2 / 3) if tolerance is None else tolerance) * largest
    if math.isfinite(gap) and gap <= allowed:
        return ""
    return f"the largest difference is {gap:.2g}, and {allowed:.2g} is allowed for {name}"


def _format(array):
    """The name of an array's floating-point format, '' for whole numbers and the like."""
    if isinstance(array, float):
        return "float64"
    if isinstance(array, complex):
        return "complex128"
    name = str(getattr(array, "dtype", ""))
    return next((known for known in EPSILON if known in name), "")
