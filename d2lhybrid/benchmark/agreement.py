"""Do two candidates compute the same, up to the rounding errors of their number format?

Notebook 07 asks this of every candidate; the usual tool is torch.testing.assert_close.
"""

import cmath
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from numbers import Number
from typing import Any

from ..frameworks import needs_gradients, to_numpy
from .timing import CandidateError

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
ADVICE = "check=False compares their times all the same"


def mismatch(result: Any, expected: Any, tolerance: float | None = None) -> str:
    """How two results differ, in words; '' where they agree.

    A result is a number, an array or tensor of any framework, a list, tuple, dict or dataclass
    of results, or anything that has `==`. Floating-point numbers agree if they differ by no more
    than `tolerance` times the largest number of their array. By default it is the rounding error
    of the coarser of the two formats to the power 2/3: 2.4e-5 for float32, 0.01 for float16.

    A sum of n numbers that is computed in another order comes out n roundings away at worst, and as
    a rule about the square root of n (N. J. Higham, Accuracy and Stability of Numerical Algorithms,
    chapters 2 and 4). The power 2/3 is our choice. It allows 200 roundings in float32, which a sum
    of 40,000 numbers may need.

    Parts are compared with parts: of dicts by their keys, in any order, of dataclasses of one
    type by their fields, of lists and tuples by their positions. A list may agree with a tuple,
    since frameworks return now one, now the other; but `[x]` never with `x`.
    """
    return next(_mismatches(result, expected, tolerance), "")


def _mismatches(result, expected, tolerance):
    """Yield how the two results differ, in words, for each part that differs, in order."""
    kind, ours = parts_of(result)
    other_kind, theirs = parts_of(expected)
    if kind is not other_kind:
        yield f"{type(result).__name__} against {type(expected).__name__}"
    elif ours is None:
        yield from _leaf_mismatches(result, expected, tolerance)
    elif ours.keys() == theirs.keys():
        for key, part in ours.items():
            yield from _mismatches(part, theirs[key], tolerance)
    elif kind is list:
        yield f"{len(ours)} values against {len(theirs)}"
    else:
        yield f"keys {[*ours]} against {[*theirs]}"


def any_needs_gradients(results: list) -> bool | None:
    """Return whether any of these results requires gradients; None if no framework can tell.

    Of a result with parts, the parts are asked, but not what is within them.
    """
    known = []
    for result in results:
        _, parts = parts_of(result)
        arrays = [result] if parts is None else parts.values()
        known += [needs for needs in map(needs_gradients, arrays) if needs is not None]
    return any(known) if known else None


def parts_of(result: Any) -> tuple[type, Mapping | None]:
    """Return (kind, parts): two results agree only if their kinds are the same.

    `kind` is dict, list (also for tuples), a dataclass, Number (also for arrays), or object.
    `parts` maps keys, positions or field names to the parts; it is None for a result without parts.
    """
    if isinstance(result, Mapping):
        return dict, result
    if isinstance(result, (list, tuple)):
        return list, dict(enumerate(result))
    if is_dataclass(result) and not isinstance(result, type):
        return type(result), {field.name: getattr(result, field.name) for field in fields(result)}
    return Number if isinstance(result, Number) or hasattr(result, "shape") else object, None


def _leaf_mismatches(a, b, tolerance):
    """Yield how two results without parts differ, if they do: arrays, numbers, or what has `==`."""
    if hasattr(a, "shape") or hasattr(b, "shape"):
        yield from _array_mismatches(a, b, tolerance)
    elif isinstance(a, (float, complex)) or isinstance(b, (float, complex)):
        if not (a == b or (cmath.isnan(a) and cmath.isnan(b))):  # equal infinities among them
            yield from _too_far(abs(a - b), max(abs(a), abs(b)), "float64", tolerance)
    elif a != b:
        yield f"{a!r} against {b!r}"


def _array_mismatches(a, b, tolerance):
    """Yield how two arrays, or an array and a number, differ: in shape, or by more than allowed."""
    import numpy

    names = [_format(a), _format(b)]
    a, b = to_numpy(a), to_numpy(b)
    floating = [name for name in names if name]
    if a.shape != b.shape:
        yield f"shape {a.shape} against {b.shape}"
    elif not floating:
        if not (a == b).all():
            yield "the values differ"
    else:
        wide = "complex128" if "complex" in "".join(names) else "float64"
        a, b = a.astype(wide), b.astype(wide)
        with numpy.errstate(invalid="ignore"):
            same = (a == b) | (numpy.isnan(a) & numpy.isnan(b))  # equal infinities among them
            gap = numpy.where(same, 0.0, numpy.abs(a - b)).max(initial=0.0)  # or not a number
        sizes = numpy.abs([a, b])
        largest = sizes[numpy.isfinite(sizes)].max(initial=0.0)
        yield from _too_far(float(gap), float(largest), max(floating, key=EPSILON.get), tolerance)


def _too_far(gap, largest, name, tolerance):
    """Yield a text if `gap` is not finite, or above `tolerance` times `largest`.

    `name` is a format of EPSILON, which gives the tolerance where that is None.
    """
    tolerance = EPSILON[name] ** (2 / 3) if tolerance is None else tolerance
    allowed = tolerance * largest
    if not math.isfinite(gap) or gap > allowed:
        text = f"the largest difference is {gap:.2g}, and {allowed:.2g} is allowed for {name}"
        if math.isfinite(gap) and largest:  # 5% more, since two digits may round down by as much
            text += f"; tolerance={1.05 * gap / largest:.2g} would let it pass"
        yield text


def _format(array):
    """Return the name in EPSILON of an array's or a number's format; '' if it has no fractions."""
    if isinstance(array, float):
        return "float64"
    if isinstance(array, complex):
        return "complex128"
    name = str(getattr(array, "dtype", ""))
    return next((known for known in EPSILON if known in name), "")


# The check of `compare` ---------------------------------------------------------------------


class ResultsDiffer(ValueError):
    """The candidate `label` does not return what the baseline returns."""

    def __init__(self, label: str, text: str):
        super().__init__(text)
        self.label = label


def check_results(runners, baseline: str, tolerance: float | None, failed: Callable) -> None:
    """Check that all runners return what the baseline returns, in the first and in the third call.

    So programs whose calls change something are compared at the same call. `runners` maps labels to
    runners. `failed` gets the ResultsDiffer or CandidateError of a runner; if it returns, the
    runner is removed from `runners`.
    """
    base = runners[baseline]
    for runner in [one for one in runners.values() if one is not base]:
        try:
            if text := _disagreement(runner, base, tolerance):
                raise ResultsDiffer(runner.label, f"{text}; {ADVICE}")
        except (ResultsDiffer, CandidateError) as error:
            failed(error)
            del runners[runner.label]


def _disagreement(runner, base, tolerance):
    """How the results of two runners differ, in words, or ''."""
    pairs = zip(runner.results, base.results, strict=True)
    texts = [mismatch(*pair, tolerance) for pair in pairs]
    if not any(texts):
        return ""
    text = f"{runner.label!r} does not return what {base.label!r} returns"
    return text + (f": {texts[0]}" if texts[0] else f" in the third call: {texts[1]}")
