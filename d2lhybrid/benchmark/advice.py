"""What a comparison means for a person who has to choose: one sentence."""

from math import ceil

from .results import Comparison, Result, Speedup
from .statistics import FASTER, UNCLEAR

CHEAP = 1e-3  # seconds: a build cost that every function has which returns another one
MORE = 4  # times as much, for an interval half as wide


def advice(comparison: Comparison) -> str:
    """Which candidate to take; or to stay with the baseline; or that this run cannot tell.

    Where the number of calls is given, the total of building and calling counts, otherwise a call.
    It speaks to who has called `python -m d2lhybrid compare`, and names its options.
    """
    base, calls = comparison.baseline, comparison.calls
    for_calls = "" if calls is None else f" for {calls} call{'s' * (calls != 1)}"
    others = [result for result in comparison.values() if result.label != base]
    faster = [result for result in others if _counts(result).verdict == FASTER]
    if faster:
        best = max(faster, key=lambda result: _counts(result).speedup)
        what = "a call" if calls is None else "with building, that"
        text = f"Take {best.label}{for_calls}: {what} is {_counts(best).speedup:.2f} times as fast"
        text += f" as with {base} ({_range(best)}){_pays(best) if calls is None else ''}"
        low = _counts(best).low
        rivals = [r.label for r in others if r is not best and _counts(r).high >= low]
        return text + (f"; {' or '.join(rivals)} may be as good." if rivals else ".")
    largest = 1 + comparison.min_effect  # a speed-up below that is never called one
    unclear = [r for r in others if _counts(r).verdict == UNCLEAR and _counts(r).high > largest]
    if not unclear:
        return f"Stay with {base}{for_calls}: nothing else is faster."
    seen = [r.label + (f" ({_range(r)})" if _counts(r).is_known else "") for r in unclear]
    text = f"This run cannot tell whether {' or '.join(seen)} is faster than {base}{for_calls}"
    return f"{text}: {_hint(comparison, unclear[0])}."


def _counts(result: Result) -> Speedup:
    """The speed-up on which the choice depends."""
    return result.total or result


def _range(result):
    return f"{_counts(result).low:.2f} to {_counts(result).high:.2f}"


def _pays(result):
    """After how many calls the build cost is paid back."""
    calls = result.break_even
    if calls is None or result.build_cost < CHEAP:
        return ""
    text = f", and building it pays after about {calls} call{'s' * (calls != 1)}"
    if result.break_even_low is not None:
        high = result.break_even_high
        text += f" ({result.break_even_low} to {'never' if high is None else high})"
    return text


def _hint(comparison, result):
    """What would make the interval of an unclear result narrower."""
    if not comparison.complete:
        return "it was interrupted, so let it run to its end"
    if result.total is None and result.low > 1 + comparison.min_effect:
        return (
            f"{comparison.baseline} differs from itself by {comparison.noise_floor:.0%}, "
            "so try it again when the machine is quieter"
        )
    between, within = result.spread_between, result.spread_within
    # A process measures the building once, however long it takes.
    if result.total or not result.is_known or (between is not None and between > 2 * within):
        return f"give it more processes (--processes {MORE * len(comparison.processes)})"
    return f"give it more time (--time-limit {ceil(MORE * comparison.duration)})"
