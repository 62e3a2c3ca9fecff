"""What a comparison means for a person who has to choose, in a sentence."""

from math import ceil

from ..benchmark.results import SLOWED, Comparison, Result, Speedup
from ..benchmark.statistics import FASTER, UNCLEAR

CHEAP = 1e-3  # seconds: a price that every function has which returns another one
MORE = 4  # times as much, for an interval half as wide
CLOSE = 1.05  # for most people, a speed-up below this makes no difference


def advice(comparison: Comparison) -> str:
    """Which candidate to take, and how sure that is; or why none can be named.

    Where the number of calls is given, the total of building and calling counts, otherwise a call.
    It speaks to who has called `python -m d2lhybrid compare`, and names its options.
    """
    return _choice(comparison) + _disturbed(comparison)


def _choice(comparison):
    others = [result for result in comparison.values() if result.label != comparison.baseline]
    faster = [result for result in others if _counts(result).verdict == FASTER]
    if not faster:
        return _none(others, comparison)
    best = max(faster, key=lambda result: _counts(result).speedup)
    if comparison.calls is not None:
        times = _times(best.total, comparison)
        text = f"Take {best.label}{_for_calls(comparison)}: with building, that is {times}"
    else:
        text = f"Take {best.label}: a call is {_times(best, comparison)}{_pays(best)}"
    low = _counts(best).low
    rivals = [r.label for r in others if r is not best and _counts(r).high >= low]
    return text + (f"; {' or '.join(rivals)} may be as good." if rivals else ".")


def _counts(result: Result) -> Speedup:
    """The speed-up on which the choice depends."""
    return result.total or result


def _none(others, comparison):
    """What to say when nothing is known to be faster than the baseline: a line for each reason."""
    unclear = [result for result in others if _counts(result).verdict == UNCLEAR]
    lines = "\n".join(_unclear(result, comparison) for result in unclear)
    later = _later(others, comparison)
    if unclear:
        return f"{lines} But {later}." if later else lines
    calls = _for_calls(comparison)
    why = "with building, nothing else is faster" if calls else "nothing else is faster"
    return f"Stay with {comparison.baseline}{calls}: {why}{later and f'; {later}'}."


def _unclear(result, comparison):
    """Why there is no verdict on a candidate, and the one thing to do about it."""
    base, calls, label = comparison.baseline, _for_calls(comparison), result.label
    speedup, smallest = _counts(result), 1 + comparison.min_effect
    low, high, seen = speedup.low, speedup.high, f"{_range(speedup)} times as fast"
    cannot_tell = f"This run cannot tell whether {label} is faster than {base}{calls}"
    if not comparison.complete:
        return f"{cannot_tell}: it was interrupted, so let it run to its end."
    if not speedup.is_known:
        return f"{cannot_tell}: {_more_launches(comparison)}."
    is_noise = low > smallest or high < 1 / smallest
    if not calls and is_noise and high * (1 + comparison.noise_floor) > CLOSE:
        floor = f"{base} differs from itself by {comparison.noise_floor:.0%}"
        return f"{cannot_tell}: it seems {seen}, but {floor}. {_quieter(comparison)}"
    if high <= CLOSE and low >= 1 / CLOSE:
        most = max(high - 1, 1 / low - 1)
        return f"Stay with {base}{calls}: {label} is as fast, within {most:.1%} either way."
    if high <= smallest:
        return f"Stay with {base}{calls}: {label} is not faster ({seen})."
    return f"{cannot_tell} ({seen}): {_more(result, comparison)}."


def _more(result, comparison):
    """Of what to measure more, so that the interval becomes narrower."""
    between, within = result.scatter_between, result.scatter_within
    if comparison.calls is not None:  # a launch measures the building once, however long it takes
        return _more_launches(comparison)
    if between is not None and between > 2 * within:
        return f"its launches differ, so {_more_launches(comparison)}"
    return f"give it more time (--time-limit {ceil(MORE * comparison.duration)})"


def _more_launches(comparison):
    return f"give it more launches (--launches {MORE * len(comparison.launches)})"


def _has_threads(comparison):
    return comparison.machine["threads"] not in (None, 1)


def _quieter(comparison):
    """What helps against a noise floor."""
    if _has_threads(comparison):
        return "Try one thread (--threads 1), or a quieter moment."
    return "Try it again when the machine is quieter."


def _disturbed(comparison):
    """A line where calls take far longer among the others than alone."""
    worst = max(comparison.values(), key=lambda result: result.slowdown)
    if worst.slowdown > SLOWED:
        what = f"a call of {worst.label} takes {worst.slowdown:.0f} times as long as it took alone"
    elif comparison.machine.get("is_busy") and _has_threads(comparison):
        what = "the machine is busy"
    else:
        return ""
    why = "other programs are in its way"
    if _has_threads(comparison):
        why = "threads may be in each other's way"
    return f"\nBeware: {what}, so {why}. {_quieter(comparison)}"


def _for_calls(comparison):
    calls = comparison.calls
    return "" if calls is None else f" for {calls} call{'s' * (calls != 1)}"


def _times(speedup, comparison):
    """'1.32 times as fast as with eager (1.28 to 1.36)'."""
    base = comparison.baseline
    return f"{speedup.speedup:.2f} times as fast as with {base} ({_range(speedup)})"


def _range(speedup):
    return f"{speedup.low:.2f} to {speedup.high:.2f}"


def _pays(result):
    """After how many calls the price of building is paid."""
    calls = result.break_even
    if calls is None or result.price < CHEAP:
        return ""
    if calls <= 1:
        return ", and building it pays with the first call"
    text = f", and building it pays after about {calls} calls"
    if result.break_even_low is not None:
        high = result.break_even_high
        text += f" ({result.break_even_low} to {'never' if high is None else high})"
    return text


def _later(others, comparison):
    """What would be worth building for more calls."""
    hope = [result for result in others if result.total and result.break_even is not None]
    if not hope:
        return ""
    best = max(hope, key=lambda result: result.speedup)
    return f"a call of {best.label} is {_times(best, comparison)}{_pays(best)}"
