"""Do two programs compute the same? Within the rounding errors of their number format."""

import cmath
import math

# The distance from 1 to the next number, by the name of the format.
EPSILON = {
    "bfloat16": 2**-7,
    "float16": 2**-10,
    "float32": 2**-23,
    "complex64": 2**-23,
    "float64": 2**-52,
    "complex128": 2**-52,
}


def difference(result, expected, tolerance=None):
    """How two results differ, in words; '' where they agree.

    A result is a number, an array or tensor of any framework, a list, tuple or dict of results,
    or anything that has `==`. Floating-point numbers agree where they differ by no more than
    `tolerance` times the largest number among them. A sum that is computed in another order
    comes out a few roundings away; left open, the tolerance is the rounding error of the coarser
    of the two formats to the power 2/3: 2.4e-5 for float32, 0.01 for float16.
    """
    ours, theirs = _leaves(result), _leaves(expected)
    if len(ours) != len(theirs):
        return f"{len(ours)} values against {len(theirs)}"
    found = (_leaf_difference(a, b, tolerance) for a, b in zip(ours, theirs))
    return next(filter(None, found), "")


def _leaves(result):
    """The numbers and arrays of a nested result, in order."""
    if isinstance(result, dict):
        result = [result[key] for key in sorted(result, key=str)]
    if isinstance(result, (list, tuple)):
        return [leaf for part in result for leaf in _leaves(part)]
    return [result]


def _leaf_difference(a, b, tolerance):
    if hasattr(a, "shape") or hasattr(b, "shape"):
        return _array_difference(a, b, tolerance)
    if isinstance(a, (float, complex)) or isinstance(b, (float, complex)):
        try:
            gap, largest = abs(a - b), max(abs(a), abs(b))
        except TypeError:
            return f"{a!r} against {b!r}"
        if a == b or (cmath.isnan(a) and cmath.isnan(b)):  # equal infinities among them
            return ""
        return _verdict(gap, largest, "float64", tolerance)
    return "" if a == b else f"{a!r} against {b!r}"


def _array_difference(a, b, tolerance):
    import numpy

    names = [_format(a), _format(b)]
    a, b = _as_numpy(a), _as_numpy(b)
    if a.shape != b.shape:
        return f"shape {a.shape} against {b.shape}"
    floating = [name for name in names if name]
    if not floating:
        return "" if (a == b).all() else "the values differ"
    wide = "complex128" if "complex" in "".join(names) else "float64"
    a, b = a.astype(wide), b.astype(wide)
    with numpy.errstate(invalid="ignore"):
        same = (a == b) | (numpy.isnan(a) & numpy.isnan(b))  # equal infinities among them
        gaps = numpy.where(same, 0.0, numpy.abs(a - b))
    sizes = numpy.abs(numpy.concatenate([a.ravel(), b.ravel()]))
    largest = sizes[numpy.isfinite(sizes)].max(initial=0.0)
    gap = float(gaps.max(initial=0.0))  # not a number where only one of the two is
    return _verdict(gap, float(largest), max(floating, key=EPSILON.get), tolerance)


def _verdict(gap, largest, name, tolerance):
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


def _as_numpy(array):
    import numpy

    if hasattr(array, "detach"):  # a torch tensor, perhaps on a GPU
        array = array.detach().cpu()
        if "bfloat16" in str(array.dtype):  # NumPy has no such format
            array = array.float()
    if hasattr(array, "asnumpy"):  # MXNet
        array = array.asnumpy()
    return numpy.asarray(array)
