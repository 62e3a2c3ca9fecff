"""What a comparison means for a person who has to choose, in a sentence."""

from math import ceil

from ..measure.results import Comparison, Result, Speedup
from ..measure.show import SLOWED
from ..verdicts import FASTER, UNCLEAR

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
    """What to say when nothing is known to be faster than the baseline: a line for each reason."""
    base, calls = comparison.baseline, _for_calls(comparison)
    unclear = [result for result in others if _counts(result).verdict == UNCLEAR]
    later = _later(others, comparison)
    if not unclear:
        why = "with building, nothing else is faster" if calls else "nothing else is faster"
        return f"Stay with {base}{calls}: {why}{later}."
    lines = [_unclear(result, comparison) for result in unclear]
    return "\n".join(lines) + (f" But{later[1:]}." if later else "")


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


def _quieter(comparison):
    """What helps against a noise floor."""
    if comparison.machine["threads"] in (None, 1):
        return "Try it again when the machine is quieter."
    return "Try one thread (--threads 1), or a quieter moment."


def _more(result, comparison):
    """Of what to measure more, so that the interval becomes narrower."""
    if comparison.calls is not None:  # a launch measures the building once, however long it takes
        return _more_launches(comparison)
    between, within = result.scatter_between, result.scatter_within
    if between is not None and between > 2 * within:
        return f"its launches differ, so {_more_launches(comparison)}"
    return f"give it more time (--time-limit {ceil(MORE * comparison.took)})"


def _more_launches(comparison):
    return f"give it more launches (--launches {MORE * len(comparison.launches)})"


def _disturbed(comparison):
    """A line where calls take far longer among the others than alone."""
    worst = max(comparison.values(), key=lambda result: result.slowdown)
    has_threads = comparison.machine["threads"] not in (None, 1)
    if worst.slowdown > SLOWED:
        what = f"a call of {worst.label} takes {worst.slowdown:.0f} times as long as it took alone"
    elif comparison.machine.get("is_busy") and has_threads:
        what = "the machine is busy"
    else:
        return ""
    others = (
        "threads may be in each other's way" if has_threads else "other programs are in its way"
    )
    return f"\nBeware: {what}, so {others}. {_quieter(comparison)}"


def _for_calls(comparison):
    calls = comparison.calls
    return "" if calls is None else f" for {calls} call{'s' * (calls != 1)}"


def _times(speedup, comparison):
    """'1.32 times as fast as with eager (1.28 to 1.36)'."""
    times = f"{speedup.speedup:.2f} times as fast as with {comparison.baseline}"
    return f"{times} ({_range(speedup)})"


def _range(speedup):
    return f"{speedup.low:.2f} to {speedup.high:.2f}"


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
    return f"; a call of {best.label} is {_times(best, comparison)}{_pays(best)}"


def _rivals(best, others):
    """The other candidates that this run does not tell from the best."""
    rest = [result for result in others if result is not best]
    labels = [result.label for result in rest if _counts(result).high >= _counts(best).low]
    return f"; {' or '.join(labels)} may be as good" if labels else ""
