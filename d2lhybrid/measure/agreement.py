"""Do two candidates compute the same, up to the rounding errors of their number format?

Notebook 07 asks this of every candidate; the usual tool is torch.testing.assert_close.
"""

import cmath
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from itertools import islice
from numbers import Number
from typing import Any, NamedTuple

from ..frameworks import needs_gradients, to_numpy
from .candidates import CandidateError

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
QUANTISED = 2**-7  # the same of whole numbers with 8 bits and a common scale

ADVICE = "check=False compares their times all the same"
SAME_DRAWS = (
    "if they draw random numbers, as dropout does, turn that off (`eval()`), or let them return "
    "None: then only times are compared"
)
WORTH_A_TRY = 0.1  # a tolerance above this would let nearly everything pass
PARTS = 100  # of a result, that are asked for gradients
PIECE = 2**16  # numbers compared at once: large results would take many times their memory


def difference(result: Any, expected: Any, tolerance: float | None = None) -> str:
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
    return next(_differences(result, expected, tolerance), Difference("")).text


def least_tolerance(result: Any, expected: Any) -> float:
    """The least `tolerance` at which two results agree; infinity where none is enough."""
    return max((each.tolerance for each in _differences(result, expected, 0.0)), default=0.0)


class Difference(NamedTuple):
    """One way in which two results differ: in words, and at which tolerance it would pass."""

    text: str
    tolerance: float = math.inf


def _differences(result, expected, tolerance):
    """A `Difference` for each part that differs, in order."""
    kind, ours = parts_of(result)
    other_kind, theirs = parts_of(expected)
    if kind is not other_kind:
        yield Difference(f"{type(result).__name__} against {type(expected).__name__}")
    elif ours is None:
        yield from _leaf_differences(result, expected, tolerance)
    elif ours.keys() == theirs.keys():
        for key, part in ours.items():
            yield from _differences(part, theirs[key], tolerance)
    elif kind is list:
        yield Difference(f"{len(ours)} values against {len(theirs)}")
    else:
        yield Difference(f"keys {[*ours]} against {[*theirs]}")


def any_needs_gradients(results: list) -> bool | None:
    """Whether notes for gradients were kept for any of these results; None if none can tell.

    Of a result with many parts, the first ones are asked, and not what is within them.
    """
    known = []
    for result in results:
        _, parts = parts_of(result)
        arrays = [result] if parts is None else islice(parts.values(), PARTS)
        known += [needs for needs in map(needs_gradients, arrays) if needs is not None]
    return any(known) if known else None


def parts_of(result: Any) -> tuple[type, Mapping | None]:
    """What kind of result it is, which another one must be, too; and its parts, if it has any."""
    if isinstance(result, Mapping):
        return dict, result
    if isinstance(result, (list, tuple)):
        return list, dict(enumerate(result))
    if is_dataclass(result) and not isinstance(result, type):
        return type(result), {field.name: getattr(result, field.name) for field in fields(result)}
    return Number if isinstance(result, Number) or hasattr(result, "shape") else object, None


def _leaf_differences(a, b, tolerance):
    if hasattr(a, "shape") or hasattr(b, "shape"):
        yield from _array_differences(a, b, tolerance)
    elif isinstance(a, (float, complex)) or isinstance(b, (float, complex)):
        if not (a == b or (cmath.isnan(a) and cmath.isnan(b))):  # equal infinities among them
            yield from _too_far(abs(a - b), max(abs(a), abs(b)), "float64", tolerance)
    elif a != b:
        yield Difference(f"{a!r} against {b!r}")


def _array_differences(a, b, tolerance):
    import numpy

    names = [_format(a), _format(b)]
    a, b = to_numpy(a), to_numpy(b)
    floating = [name for name in names if name]
    if a.shape != b.shape:
        yield Difference(f"shape {a.shape} against {b.shape}")
    elif not floating:
        if not (a == b).all():
            yield Difference("the values differ")
    else:
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
        yield from _too_far(gap, float(largest), max(floating, key=EPSILON.get), tolerance)


def _too_far(gap, largest, name, tolerance):
    allowed = (allowed_for(name) if tolerance is None else tolerance) * largest
    if not (math.isfinite(gap) and gap <= allowed):
        needed = gap / largest if math.isfinite(gap) and largest else math.inf
        text = f"the largest difference is {gap:.2g}, and {allowed:.2g} is allowed for {name}"
        yield Difference(text, needed)


def allowed_for(name: str) -> float:
    """The tolerance for numbers of a format, relative to the largest one."""
    return EPSILON.get(name, QUANTISED) ** (2 / 3)


def _format(array):
    """The name of an array's floating-point format, '' for whole numbers and the like."""
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


def check_results(
    runners: dict[str, Any],
    baseline: str,
    tolerance: float | None,
    failed: Callable[[Exception], None],
) -> list[str]:
    """Whether all runners return what the baseline returns, in the first and in the third call.

    So programs whose calls change something are compared at the same call. `failed` gets a runner's
    error; if it returns, the runner is left out. Returns notes. TypeError for results that cannot
    be compared.
    """
    base, notes = runners[baseline], []
    for runner in [one for one in runners.values() if one is not base]:
        try:
            text, note = _disagreement(runner, base, tolerance)
            if text:
                raise ResultsDiffer(runner.label, f"{text}; {ADVICE}")
            notes += [note] if note else []
        except (ResultsDiffer, CandidateError) as error:
            failed(error)
            del runners[runner.label]
        except Exception as error:
            raise TypeError(
                f"what {runner.label!r} and {base.label!r} return cannot be compared "
                f"({type(error).__name__}: {error}); {ADVICE}"
            ) from error
    for label, runner in runners.items():
        if names := getattr(runner, "unsent", None):
            notes.append(f"of what {label} returns, this was not compared: {', '.join(names)}")
    return notes


def _disagreement(runner, base, tolerance):
    """How the results of two runners differ, in words, or ''; and a note, or ''."""
    pairs = list(zip(runner.results, base.results, strict=True))
    texts = [difference(*pair, tolerance) for pair in pairs]
    if not any(texts):
        return "", ""
    needed = max(least_tolerance(*pair) for pair in pairs)
    if tolerance is None and needed < math.inf:
        formats = {one.label: one.number_format() for one in (runner, base)}
        allowed = max((allowed_for(name) for name in formats.values() if name), default=0.0)
        if needed <= allowed:
            usual = "", "float32", "float64"  # Python's floats are float64, of whatever network
            coarse = [f"{k} computes in {name}" for k, name in formats.items() if name not in usual]
            note = f"results differ by {needed:.1%}, and {allowed:.1%} is allowed"
            return "", f"{' and '.join(coarse)}: {note}" if coarse else ""
    first, *_ = texts
    if first:
        text = f"{runner.label!r} does not return what {base.label!r} returns: {first}"
        if difference(*base.results, tolerance):
            text += f"; calls of {base.label!r} differ, too: {SAME_DRAWS}"
    else:
        text = (
            f"{runner.label!r} and {base.label!r} return the same in the first call, and not in "
            f"the third: {texts[-1]}; what their calls change is not the same"
        )
    if needed <= WORTH_A_TRY:
        text += f"; tolerance={rounded_up(needed)} would let it pass"
    return text, ""


def rounded_up(number: float) -> str:
    """A number with two digits, not below it."""
    step = 10.0 ** (math.floor(math.log10(number)) - 1) if number else 1.0
    return f"{math.ceil(number / step * (1 - 1e-9)) * step:.2g}"
