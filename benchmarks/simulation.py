"""Does `compare` keep its promise? Put to the test with a simulated clock.

On a real machine nobody can say how much faster a candidate truly is. Here a candidate does no
work, but moves a clock, by a time that we choose and by noise of a known kind. So the truth is
known, and a comparison takes some milliseconds instead of a second. All the rest, from the first
calls to the verdict, is the code that measures real programs.
"""

import multiprocessing
import signal
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from math import exp, log, pi, sin, sqrt
from random import Random
from statistics import NormalDist, fmean
from unittest.mock import patch

from d2lhybrid.benchmark import timing
from d2lhybrid.benchmark.comparison import MIN_EFFECT, compare
from d2lhybrid.benchmark.results import Result
from d2lhybrid.benchmark.verdict import EQUIVALENT, FASTER, INCONCLUSIVE
from d2lhybrid.tables import Column, text_table

CALL = 100e-6  # seconds that a call of the baseline takes without noise
LIMIT = 1.0  # simulated seconds of each comparison
PROCESSES = 9
EFFECTS = (0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.10)  # by how much the candidate is faster

NORMAL = [NormalDist().inv_cdf((i + 0.5) / 10_000) for i in range(10_000)]
EXPONENTIAL = [-log((i + 0.5) / 100) for i in range(100)]

# Noise says how long a call takes that starts at a moment and would take so many seconds without.
Noise = Callable[[float, float], float]
MakeNoise = Callable[[Random], Noise]


@dataclass(frozen=True)
class Kind:
    """A kind of machine and of programs: its sources of noise, and how much is compared."""

    common: Sequence[MakeNoise]  # what disturbs all candidates
    own: Sequence[MakeNoise] = ()  # what each has for itself, and anew in each process
    processes: int = 1
    others: int = 1  # how many candidates there are beside the baseline


class Clock:
    """A clock that moves only while a candidate runs; called, it returns its seconds."""

    now = 0.0

    def __call__(self):
        return self.now

    def candidate(self, seconds: float, noises: Sequence[Noise]) -> Callable[[], None]:
        """Return a function that moves the clock by `seconds`, as changed by each noise in turn."""

        def run():
            took = seconds
            for noise in noises:
                took = noise(self.now, took)
            self.now += took

        return run


def drawn(values, chance):
    """Yield values drawn at random, endlessly: in bulk, as one by one is far slower."""
    while True:
        yield from chance.choices(values, k=1000)


# Noise of each kind, from its sizes and random numbers.


def factors(values: Sequence[float], chance: Random) -> Noise:
    """Each call takes longer or shorter by one of these factors."""
    draw = drawn(values, chance).__next__
    return lambda start, seconds: seconds * draw()


def drift(size: float, period: float, chance: Random) -> Noise:
    """The machine becomes slower and faster, up to `size`, in a sine wave."""
    phase = chance.uniform(0, 2 * pi)
    return lambda start, seconds: seconds * (1 + size * sin(2 * pi * start / period + phase))


def wandering(size: float, memory: float, chance: Random) -> Noise:
    """The logarithm of the speed is an AR(1) process of standard deviation `size`.

    Its correlation falls to 1/e within `memory` seconds.
    """
    draw = drawn(NORMAL, chance).__next__
    level, last = draw(), 0.0

    def noise(start, seconds):
        nonlocal level, last
        kept = exp((last - start) / memory)
        level, last = kept * level + sqrt(1 - kept * kept) * draw(), start
        return seconds * exp(size * level)

    return noise


def waking(period: float, busy: float, chance: Random) -> Noise:
    """Another process runs for `busy` seconds once in each `period`; a call must wait meanwhile."""
    phase = chance.uniform(0, period)

    def noise(start, seconds):
        since = start + phase
        return seconds + busy * ((since + seconds) // period - since // period)

    return noise


def modes(ratio: float, dwell: float, chance: Random) -> Noise:
    """Two speeds alternate, each for `dwell` seconds on average (exponential).

    At the lower one a call takes `ratio` times as long.
    """
    slow, until = chance.random() < 0.5, chance.expovariate(1 / dwell)

    def noise(start, seconds):
        nonlocal slow, until
        while until <= start:
            slow, until = not slow, until + chance.expovariate(1 / dwell)
        return seconds * ratio if slow else seconds

    return noise


def apart(size: float, chance: Random) -> Noise:
    """All calls of a process take longer or shorter by one factor, normal in the logarithm."""
    factor = exp(chance.gauss(0, size))
    return lambda start, seconds: seconds * factor


def scatter(size):
    """Return what makes a noise: each call's time is multiplied by a log-normal factor of its own.

    `size` is the standard deviation of the factor's logarithm.
    """
    return partial(factors, [exp(size * z) for z in NORMAL])


CALM = [scatter(0.003)]
OUTLIERS = [1.0] * 99 * len(EXPONENTIAL) + [1 + extra for extra in EXPONENTIAL]
ROUGH = [scatter(0.05), partial(drift, 0.1, 2 * LIMIT), partial(factors, OUTLIERS)]
KINDS = {
    "calm": Kind(CALM),
    "rough": Kind(ROUGH),
    "another process": Kind([*CALM, partial(waking, 10e-3, 1e-3)]),
    "autocorrelated": Kind([*CALM, partial(wandering, 0.05, 5e-3)]),
    "modes of 2 ms": Kind(CALM, own=[partial(modes, 1.15, 2e-3)]),
    "modes of 20 ms": Kind(CALM, own=[partial(modes, 1.15, 20e-3)]),
    "modes of 200 ms": Kind(CALM, own=[partial(modes, 1.15, 200e-3)]),
    "processes, 1 % apart": Kind(CALM, own=[partial(apart, 0.01)], processes=PROCESSES),
    "processes, 3 % apart": Kind(CALM, own=[partial(apart, 0.03)], processes=PROCESSES),
    "the same, rough": Kind(ROUGH, own=[partial(apart, 0.03)], processes=PROCESSES),
    "5 together, rough": Kind(ROUGH, others=4),
}
COLUMNS = [Column("covers/right/wrong, %", max(map(len, KINDS)))]
COLUMNS += [Column(f"{effect:.1%}", 15) for effect in EFFECTS]


def simulate(runs: int, report: Callable[[str], None] | None = None) -> str:
    """Make `runs` comparisons of each kind and effect, on all cores; returns a table.

    A cell says in how many of 100 comparisons the interval covers the truth, the verdict is right,
    and the verdict is wrong; in the others it is "inconclusive". `report` gets each
    row as soon as it is known. The seeds are fixed: another run gives the same table.
    """
    tasks = [(kind, effect, i) for kind in KINDS for effect in EFFECTS for i in range(runs)]
    context = multiprocessing.get_context("spawn")
    ignore_interrupts = (signal.SIGINT, signal.SIG_IGN)  # the parent ends the workers
    rows = []
    with context.Pool(initializer=signal.signal, initargs=ignore_interrupts) as pool:
        outcomes = pool.imap(outcome, tasks, chunksize=10)
        for kind in KINDS:
            rows.append([kind, *(cell(islice(outcomes, runs)) for _ in EFFECTS)])
            if report:
                report(text_table(COLUMNS, rows).splitlines()[-1])
    return text_table(COLUMNS, rows)


def cell(outcomes: Iterable[tuple[bool, bool, bool]]) -> str:
    """Return how often each of the three is true, in percent: `96.1/100/0`."""
    covers, right, wrong = (100 * fmean(each) for each in zip(*outcomes, strict=True))
    return f"{covers:.3g}/{right:.3g}/{wrong:.2g}"


def outcome(task: tuple[str, float, int]) -> tuple[bool, bool, bool]:
    """Make one comparison: do the intervals cover the truth, is the verdict right, is it wrong?

    `task` is a key of KINDS, the true effect, and the number of the run, which seeds it.
    "Equivalent" is wrong if the effect is above the smallest one, "faster" if it is below, and
    "slower" always; "inconclusive" never is. An effect of just the smallest size may be called any
    of them but "slower". With several candidates all must be right, and one that is wrong makes the
    answer wrong.
    """
    kind, effect, number = task
    results = measured(KINDS[kind], effect, Random(f"{kind}, {effect}, {number}"))
    true = {FASTER} if effect > MIN_EFFECT else {EQUIVALENT}
    if effect == MIN_EFFECT:
        true = {FASTER, EQUIVALENT, INCONCLUSIVE}
    covers = all(result.low <= 1 + effect <= result.high for result in results)
    right = all(result.verdict in true for result in results)
    wrong = any(result.verdict not in {*true, INCONCLUSIVE} for result in results)
    return covers, right, wrong


def measured(kind: Kind, effect: float, chance: Random) -> list[Result]:
    """Return what `compare` says of candidates that are all faster by `effect`."""
    clock = Clock()
    common = [noise(chance) for noise in kind.common]

    def trial():
        """Return the Comparison of one process of each candidate."""
        candidates = {"baseline": CALL}
        candidates |= {f"candidate {i}": CALL / (1 + effect) for i in range(kind.others)}
        for label, seconds in candidates.items():
            own = [noise(chance) for noise in kind.own]
            candidates[label] = clock.candidate(seconds, common + own)
        with patch.object(timing, "Random", lambda: chance):  # which draws the order of blocks
            return compare(
                candidates,
                check=False,
                time_limit=LIMIT / kind.processes,
                progress=lambda text: None,
                clock=clock,
            )

    # Only programs in processes of their own can have several processes, so we join the answers.
    trials = [trial() for _ in range(kind.processes)]
    answer = replace(trials[0], processes=tuple(each.timings for each in trials))
    return [result for result in answer.values() if result.label != answer.baseline]
