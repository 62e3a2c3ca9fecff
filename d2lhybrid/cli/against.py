"""Two runs of the same file: is a candidate faster or slower than it was then?"""

from math import exp, log

from ..benchmark.results import Comparison, Speedup
from ..benchmark.statistics import ALPHA, interval, judge
from ..tables import Column, seconds, text_table

COLUMNS = [Column(""), Column("time then", 9), Column("time now", 9), Column("now : then", 10)]
COLUMNS += [Column("95 % interval", 16), Column("verdict", 19)]
SETTINGS = ("processor", "cores", "threads", "waiting", "device")


def speedups_since(then: Comparison, now: Comparison) -> dict[str, Speedup]:
    """How many times as fast each candidate of both runs is now: label -> Speedup.

    Each run has an interval of the logarithm of a call's time, from its launches (see
    `interval`). The two intervals hold together if each may miss half as often. So what lies
    between the one's low and the other's high end is an interval of the difference; it is wider
    than need be.
    """
    found, labels = {}, [label for label in now if label in then]
    for label in labels:
        old, new = (_log_time(run, label, ALPHA / 2 / len(labels)) for run in (then, now))
        low, middle, high = old[0] - new[2], old[1] - new[1], old[2] - new[0]
        noise_floor = max(run.noise_floor for run in (then, now))
        verdict = judge(low, high, now.min_effect, noise_floor)
        found[label] = Speedup(exp(middle), exp(low), exp(high), verdict)
    return found


def _log_time(run, label, error):
    """The interval of the logarithm of a call's time, from launches or from rounds."""
    timings = [timings[label] for timings in run.launches]
    if len(timings) > 1:
        return interval([log(timing.usual_time) for timing in timings], error)
    (timing,) = timings
    return interval([log(time) for time in timing.block_a + timing.block_b], error)


def text(then: Comparison, now: Comparison, since: dict[str, Speedup]) -> str:
    """The table, and a line for each thing that is not as it was."""
    rows = []
    for label, speedup in since.items():
        times = [seconds(run[label].median) for run in (then, now)]
        cells = ["?", "not known"]
        if speedup.is_known:
            cells = [f"{speedup.speedup:.3f}", f"{speedup.low:.3f} to {speedup.high:.3f}"]
        rows.append([label, *times, *cells, speedup.verdict])
    lines = [text_table(COLUMNS, rows), f"then: {then.machine['date'][:10]}"]
    was, has = (
        {name: run.machine.get(name) for name in SETTINGS} | run.machine["versions"]
        for run in (then, now)
    )
    for name in was | has:
        if was.get(name) != has.get(name):
            lines.append(f"note: {name} then: {was.get(name)}, now: {has.get(name)}")
    return "\n".join(lines)
