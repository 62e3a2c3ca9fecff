"""Do two candidates compute the same, up to the rounding errors of their number format?

Notebook 07 asks this of every candidate; the usual tool is torch.testing.assert_close.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from numbers import Number
from typing import Any

from ..frameworks import needs_gradients, to_numpy
from ..workers import reduce_to_numpy
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
SHIFT = 2**-10  # a share, far above rounding and far below what changes a program's course
FAR = 4 * SHIFT  # a fourth allows 50 roundings in float32; 10,000 random networks had 30 at most
NEAR = 100  # times what is allowed: what differs by more is no matter of rounding
ADVICE = "check=False compares their times anyway"


def mismatch(
    result: Any, expected: Any, tolerance: float | None = None, moved: Sequence[Any] = ()
) -> str:
    """Return how two results differ, in words; '' if they agree.

    A result is a number, an array or tensor of any framework, a list, tuple, dict or dataclass
    of results, or anything that has `==`. Floating-point numbers agree if they differ by no more
    than `tolerance` times their size. By default the tolerance is the rounding error of the coarser
    of the two formats to the power 2/3: 2.4e-5 for float32, 0.01 for float16.

    If a sum of n numbers is computed in another order, the result differs by n roundings at worst,
    and as a rule by about the square root of n (N. J. Higham, Accuracy and Stability of Numerical
    Algorithms, chapters 2 and 4). The power 2/3 is our choice. It allows 200 roundings in float32,
    which a sum of 40,000 numbers may need.

    What is rounded are the numbers that are added up, and they are larger than a sum that happens
    to be near 0. So a number in an array counts as no smaller than the `usual_size` of the array,
    about which an array of few numbers says little. In that case `moved` helps: what the program of
    `expected` returns when each number that it is given is larger or smaller by SHIFT. How far a
    result moves, divided by FAR, shows the size of what was added up.

    Parts are compared with parts: of dicts by their keys, in any order, of dataclasses of one
    type by their fields, of lists and tuples by their positions. A list may agree with a tuple,
    because frameworks return sometimes one, sometimes the other; but `[x]` never agrees with `x`.
    """
    return next(_mismatches(result, expected, tolerance, moved), "")


def _mismatches(result, expected, tolerance, moved):
    """Yield how the two results differ, in words, for each part that differs, in order."""
    kind, ours = parts_of(result)
    other_kind, theirs = parts_of(expected)
    if kind is not other_kind:
        advice = "; return an array from both" * ({kind, other_kind} == {list, Number})
        yield f"{type(result).__name__} against {type(expected).__name__}{advice}"
    elif ours is None:
        yield from _leaf_mismatches(result, expected, tolerance, moved)
    elif ours.keys() == theirs.keys():
        others = [parts for one in moved if (parts := parts_of(one)[1] or {}).keys() == ours.keys()]
        for key, part in ours.items():
            yield from _mismatches(part, theirs[key], tolerance, [one[key] for one in others])
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


def has_values(result: Any) -> bool:
    """Whether a result holds anything that could be compared: not only None or NaN."""
    kind, parts = parts_of(result)
    if parts is not None:
        return any(map(has_values, parts.values()))
    if kind is not Number:
        return result is not None
    numbers = plain(result)
    return bool((numbers == numbers).any())  # NaN is not itself


def formats_of(result: Any) -> set[str]:
    """The names in EPSILON of the formats of a result and its parts."""
    _, parts = parts_of(result)
    found = {_format(result)} if parts is None else set().union(*map(formats_of, parts.values()))
    return found - {""}


def parts_of(result: Any) -> tuple[type, Mapping | None]:
    """Return (kind, parts): two results agree only if their kinds are the same.

    `kind` is dict, list (also for tuples), a dataclass, Number (also for arrays), or object. A
    masked array is a kind of its own; its parts are the mask, and the numbers that it leaves.
    `parts` maps keys, positions or field names to the parts; it is None for a result without parts.
    """
    if isinstance(result, Mapping):
        return dict, result
    if isinstance(result, (list, tuple)):
        return list, dict(enumerate(result))
    if is_dataclass(result) and not isinstance(result, type):
        return type(result), {field.name: getattr(result, field.name) for field in fields(result)}
    if hasattr(result, "filled"):  # a masked array of NumPy's
        from numpy.ma import getmaskarray

        return type(result), {"mask": getmaskarray(result), "numbers": result.filled(0)}
    return Number if isinstance(result, Number) or hasattr(result, "shape") else object, None


def _leaf_mismatches(a, b, tolerance, moved):
    """Yield how two results without parts differ, if they do: arrays, numbers, or what has `==`."""
    if any(hasattr(one, "shape") or isinstance(one, (float, complex)) for one in (a, b)):
        yield from _array_mismatches(a, b, tolerance, moved)
    elif a != b:
        yield f"{a!r} against {b!r}"


def _array_mismatches(a, b, tolerance, moved):
    """Yield how two arrays or numbers differ: in shape, or by more than allowed."""
    import numpy

    names = [_format(a), _format(b)]
    a, b = plain(a), plain(b)
    floating = [name for name in names if name]
    if a.shape != b.shape:
        yield f"shape {a.shape} against {b.shape}"
    elif not floating:
        if (wrong := numpy.asarray(a != b)).any():
            at = numpy.unravel_index(wrong.argmax(), a.shape)
            places = f"{wrong.sum()} of {a.size} numbers differ, first at {[*map(int, at)]}"
            yield f"{places}: {a[at]} against {b[at]}"
    else:
        name = max(floating, key=EPSILON.get)
        usual = EPSILON[name] ** (2 / 3) if all(names) else EPSILON[name]  # whole numbers are exact
        tolerance = usual if tolerance is None else tolerance
        wide = "complex128" if "complex" in "".join(names) else "float64"
        a, b = a.astype(wide), b.astype(wide)
        with numpy.errstate(invalid="ignore", divide="ignore"):
            same = (a == b) | (numpy.isnan(a) & numpy.isnan(b))  # equal infinities among them
            gaps = numpy.where(same, 0.0, numpy.abs(a - b))
            moved = [one for one in map(plain, moved) if one.shape == b.shape]
            far = [numpy.nanmax(abs(one - b), initial=0) / FAR for one in moved]
            sizes = numpy.fmax(numpy.fmax(abs(a), abs(b)), max([usual_size(a, b), *far]))
            excess = numpy.where(same, 0.0, gaps / sizes)  # not a number: one of them is
        wrong = ~(excess <= tolerance)
        if wrong.any():
            at = numpy.unravel_index(numpy.nan_to_num(excess, nan=numpy.inf).argmax(), a.shape)
            text = f"{a[at]:.6g} against {b[at]:.6g}"
            if a.size > 1:
                places = f"{wrong.sum()} of {a.size} numbers differ"
                text = f"{places}, most of all at {[*map(int, at)]}: {text}"
            allowed = tolerance * sizes[at]
            text += f", a difference of {gaps[at]:.2g}, and {allowed:.2g} is allowed for {name}"
            # 5% more, since two digits may round down by as much
            if math.isfinite(most := excess[at]) and most < NEAR * usual:
                text += f"; tolerance={1.05 * most:.2g} would let it pass"
            yield text


def usual_size(*arrays: Any) -> float:
    """The lower quartile of the magnitudes in NumPy arrays, without zeros and infinities.

    A constant that fills places, such as the -1e9 of a mask, doesn't count: a number that stands in
    an array more than once, and in more than 1% of its places (coarse formats repeat others, too).
    Where nothing else is left, it does.
    """
    import numpy

    found = []
    for array in arrays:
        numbers, counts = numpy.unique(array, return_counts=True)
        numbers = abs(numbers)
        usable = numpy.isfinite(numbers) & (numbers > 0)
        rare = usable & (counts <= max(1, array.size // 100))
        kept = numpy.repeat(numbers, counts * rare) if rare.any() else numbers[usable]
        found += [numpy.quantile(kept, 0.25, method="lower")] if kept.size else []
    return float(max(found, default=0.0))


def reduce_with_format(value: Any) -> tuple | None:
    """Do what `reduce_to_numpy` does, and keep the name of a format that NumPy lacks.

    Such an array arrives as a structured one, with the name as that of its only field.
    """
    reduced, name = reduce_to_numpy(value), _format(value)
    if reduced and name in ("bfloat16", "float8_e5m2", "float8_e4m3"):
        make, (shape, number, data) = reduced
        reduced = make, (shape, [(name, number)], data)
    return reduced


def plain(array: Any) -> Any:
    """Return an array as NumPy's, also one that `reduce_with_format` has sent."""
    array = to_numpy(array)
    return array[array.dtype.names[0]] if array.dtype.names else array


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
    """Check that all runners return what the baseline returns, in each of the first calls.

    So programs whose calls change something are compared at the same call. `runners` maps labels to
    runners. `failed` gets the ResultsDiffer or CandidateError of a runner; if it returns, the
    runner is removed from `runners`.
    """
    base, errors, odd = runners[baseline], [], []
    for runner in [one for one in runners.values() if one is not base]:
        try:
            if text := _disagreement(runner, base, tolerance):
                odd.append(runner)
                raise ResultsDiffer(runner.label, text)
        except (ResultsDiffer, CandidateError) as error:
            errors.append(error)
    advice = ADVICE
    if odd and base.draws_random_numbers():
        advice = f"{base.label!r} draws random numbers: turn that off, as eval() does, or {ADVICE}"
    elif len(odd) > 1 and not any(_disagreement(one, odd[0], tolerance) for one in odd[1:]):
        alike = ", ".join(repr(runner.label) for runner in odd)
        advice = f"{alike} return the same; {ADVICE}"
    for error in errors:
        if isinstance(error, ResultsDiffer):
            error = ResultsDiffer(error.label, f"{error}; {advice}")
        failed(error)
        del runners[error.label]


def _disagreement(runner, base, tolerance):
    """How the results of two runners differ, in words, or ''."""
    pairs = [*zip(runner.results, base.results, strict=True)]
    texts = [mismatch(*pair, tolerance) for pair in pairs]
    if any(texts) and (moved := moved_results(base)):
        texts = [mismatch(*pair, tolerance, moved) for pair in pairs]
    wrong = next((call for call, text in enumerate(texts) if text), None)
    if wrong is None:
        return ""
    when = f" in call {wrong + 1}" if wrong else ""
    return f"{runner.label!r} does not return what {base.label!r} returns{when}: {texts[wrong]}"


def moved_results(runner) -> list[Any]:
    """Return what a runner's candidate returns for three sets of arguments, each `shifted`.

    [] if it can't be called with them, or if its arguments hold no numbers that could be shifted.
    """
    import numpy

    chance, moved = numpy.random.default_rng(0), []
    with suppress(Exception):  # the arguments may be of any kind
        for _ in range(3):
            args = shifted(runner.args, chance)
            if args is not runner.args:
                moved.append(runner.result_for(args))
    return moved


def shifted(value: Any, chance: Any) -> Any:
    """Return a copy of arguments with each number of each array larger or smaller by SHIFT.

    Tuples, lists and dicts are entered; what holds no floating-point array is returned itself.
    `chance` is a `Generator` of NumPy.
    """
    if isinstance(value, (tuple, list)):
        parts = [shifted(part, chance) for part in value]
        same = all(new is old for new, old in zip(parts, value, strict=True))
        return value if same else type(value)(parts)
    if isinstance(value, dict):
        parts = {key: shifted(part, chance) for key, part in value.items()}
        return value if all(parts[key] is value[key] for key in value) else parts
    if not (_format(value) and getattr(value, "shape", None)):
        return value
    factors = chance.choice([1 - SHIFT, 1 + SHIFT], size=tuple(value.shape))
    if hasattr(value, "new_tensor"):  # PyTorch's don't multiply with NumPy's
        return (value * value.new_tensor(factors)).detach()
    return value * factors.astype(str(value.dtype).rpartition(".")[2])
