"""The sentence at the end: what a comparison means for a person who has to choose."""

from dataclasses import replace

import pytest
from benchmark_helpers import several_processes, steady

from d2lhybrid.benchmark.metadata import available_cores
from d2lhybrid.benchmark.timing import Measurement
from d2lhybrid.cli.compare import advice

FASTER = [1.6, 1.8, 1.9, 2.0, 2.0, 2.0, 2.1, 2.2, 2.5]  # 9 processes: 1.8 to 2.2
SLOWER = [1 / s for s in FASTER]
INCONCLUSIVE = [0.5, 0.9, 1.0, 1.0, 1.0, 1.0, 1.1, 1.1, 1.5]  # 0.9 to 1.1
EQUIVALENT = [1.0] * 9
NOT_FASTER = [0.6, 0.63, 0.7, 0.8, 0.8, 0.9, 0.95, 1.0, 1.01]  # inconclusive: up to 1
TAKE = "Take b: a call is 2.00 times as fast as with a"


def noisy(i):
    """A timing of 1 s a call; one of its blocks takes 3 times as long, now this, now that."""
    blocks = [(factor,) * 6 for factor in (3**0.5, 3**-0.5)]
    return Measurement(*blocks[:: 1 if i % 2 else -1], calls=1, warmup=())


def of(calls=None, complete=True, **speedups):
    """A Comparison with a: the speed-ups of each other candidate, one for each process."""
    processes = [
        {"a": steady(1.0)} | {k: steady(1 / s) for k, s in zip(speedups, row, strict=True)}
        for row in zip(*speedups.values(), strict=True)
    ]
    return several_processes(processes, calls, complete)


def with_build_costs(costs, calls=None):
    """A call of b saves one second of two; that is paid after as many calls as it cost seconds."""
    return several_processes([{"a": steady(2.0), "b": steady(1.0, build=c)} for c in costs], calls)


@pytest.mark.parametrize(
    ("comparison", "sentence"),
    [
        (of(b=FASTER), f"{TAKE} (1.80 to 2.20)."),
        (
            of(b=[2.1] * 9, c=FASTER, d=[1.2] * 9, e=[2.1] * 9),
            "Take b: a call is 2.10 times as fast as with a (2.10 to 2.10); c or e may be as good.",
        ),
        (of(b=SLOWER, c=EQUIVALENT, d=NOT_FASTER), "Stay with a: nothing else is faster."),
        (
            with_build_costs([20.5, 50.0, 80.0, 10.0, 30.0, 40.0, 60.0, 70.0, 90.0]),
            f"{TAKE} (2.00 to 2.00), and building it pays off after about 50 calls (21 to 80).",
        ),
        (with_build_costs([0.0] * 9), f"{TAKE} (2.00 to 2.00), and building it pays off at once."),
        (
            with_build_costs([159598.0] * 9),
            f"{TAKE} (2.00 to 2.00), and building it pays off after about 160000 calls "
            "(160000 to 160000).",
        ),
        (
            of(b=[122.0] * 3 + [534.39] * 3 + [1983.0] * 3),
            "Take b: a call is about 500 times as fast as with a (122 to 1980).",
        ),
        (
            of(b=[0.003] * 5 + [0.109] * 4, c=EQUIVALENT),
            "Stay with a: nothing else is faster, and b is at least 9 times slower.",
        ),
        (
            of(b=FASTER[:1]),
            "Take b: a call is 1.60 times as fast as with a (1.60 to 1.60). "
            "This holds for this run only.",
        ),
        (
            with_build_costs([50.0] * 9, calls=200),
            "Take b for 200 calls: with building, that is 1.60 times as fast as with a "
            "(1.60 to 1.60).",
        ),
        (with_build_costs([50.0] * 9, calls=1), "Stay with a for 1 call: nothing else is faster."),
    ],
)
def test_advice_is_one_sentence(comparison, sentence):
    assert advice(comparison) == sentence


NOISY = several_processes([{"a": noisy(i), "b": steady(1 / s)} for i, s in enumerate(FASTER)])
BUSY = NOISY.machine | {"load": [99.0, 1.0]}
SPREAD = [40.0, 40.0, 40.0, 50.0, 50.0, 50.0, 60.0, 60.0, 60.0]


@pytest.mark.parametrize(
    ("comparison", "reason"),
    [
        (
            of(b=INCONCLUSIVE),
            "b (0.90 to 1.10) is faster than a: give it more processes (--processes 36)",
        ),
        (
            of(b=INCONCLUSIVE, c=SLOWER, d=INCONCLUSIVE),
            "b (0.50 to 1.50) or d (0.50 to 1.50) is faster than a: "
            "give it more time (--time-limit 4)",
        ),
        (
            of(b=INCONCLUSIVE[:2], complete=False),
            "b is faster than a: let it finish",
        ),
        (
            with_build_costs(SPREAD, calls=50),
            "b (0.91 to 1.11) is faster than a for 50 calls: "
            "give it more processes (--processes 36)",
        ),
        (
            replace(of(b=INCONCLUSIVE), machine=BUSY),
            "b (0.90 to 1.10) is faster than a: the machine is busy "
            f"(99.0 threads want {available_cores()} cores); try when it is quiet",
        ),
        (
            NOISY,
            "b (1.80 to 2.20) is faster than a: a differs from itself by 200%",
        ),
    ],
)
def test_advice_says_what_helps_where_the_run_cannot_tell(comparison, reason):
    assert advice(comparison) == f"This run cannot tell whether {reason}."
