"""What a comparison means for a person who has to choose, in a sentence."""

from math import isfinite

from ..measure.results import Comparison, Result, Speedup
from ..verdicts import FASTER, UNCLEAR


def advice(comparison: Comparison) -> str:
    """Which candidate to take, and how sure that is; or why none can be named.

    Where the number of calls is given, the total of building and calling counts, otherwise a call.
    It speaks to who has called `python -m d2lhybrid compare`, and names its options.
    """
    others = [result for result in comparison.values() if result.label != comparison.baseline]
    faster = [result for result in others if _counts(result).verdict == FASTER]
    if not faster:
        return _none(others, comparison)
    best = max(faster, key=lambda result: _counts(result).speedup)
    if comparison.calls is not None:
        times = _times(best.total, comparison)
        text = f"Take {best.label}{_for_calls(comparison)}: with building, that is {times}"
    elif best.slow_calls_of and best.mean_speedup < 1:
        return (
            f"Take {best.label} only if the usual call is what counts: it is "
            f"{_times(best, comparison)}{_all_calls(best)}."
        )
    else:
        times = _times(best, comparison) + _all_calls(best)
        text = f"Take {best.label}: a call is {times}{_pays(best)}"
    return text + _rivals(best, others) + "."


def _counts(result: Result) -> Speedup:
    """The speed-up on which the choice depends."""
    return result.total or result


def _none(others, comparison):
    """The sentence for when nothing is known to be faster than the baseline."""
    calls = _for_calls(comparison)
    unclear = [result for result in others if _counts(result).verdict == UNCLEAR]
    if unclear:
        names = " or ".join(result.label + _open(_counts(result)) for result in unclear)
        remedy = "give it more time (--time-limit) or more launches (--launches)"
        if calls:  # a launch measures the building once, however long it takes
            remedy = "give it more launches (--launches)"
        if not comparison.complete:
            remedy = "it was interrupted, so let it run to its end"
        text = f"This run cannot tell whether {names} is faster than {comparison.baseline}{calls}"
        return f"{text}: {remedy}{_later(others, comparison)}."
    why = "with building, nothing else is faster" if calls else "nothing else is faster"
    return f"Stay with {comparison.baseline}{calls}: {why}{_later(others, comparison)}."


def _for_calls(comparison):
    calls = comparison.calls
    return "" if calls is None else f" for {calls} call{'s' * (calls != 1)}"


def _times(speedup, comparison):
    """'1.32 times as fast as with eager (1.28 to 1.36)'."""
    ends = f"{speedup.low:.2f} to {speedup.high:.2f}"
    return f"{speedup.speedup:.2f} times as fast as with {comparison.baseline} ({ends})"


def _open(speedup):
    """How fast a candidate may be, unless there are too few launches to say it."""
    if speedup.low <= 0 or not isfinite(speedup.high):
        return ""
    return f" ({speedup.low:.2f} to {speedup.high:.2f} times as fast)"


def _all_calls(result):
    """What the slow calls, which the usual call does not show, make of the speed-up."""
    if not result.slow_calls_of or result.low <= result.mean_speedup <= result.high:
        return ""
    return (
        f", but all calls together are {result.mean_speedup:.2f} times as fast, "
        f"because now and then {result.slow_calls_of} takes far longer"
    )


def _pays(result):
    """After how many calls the price of building is paid."""
    calls = result.break_even
    if calls is None:
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
    return f"; a call of {best.label} is {_times(best, comparison)}{_pays(best)}"


def _rivals(best, others):
    """The other candidates that this run does not tell from the best."""
    rest = [result for result in others if result is not best]
    labels = [result.label for result in rest if _counts(result).high >= _counts(best).low]
    return f"; {' or '.join(labels)} may be as good" if labels else ""
