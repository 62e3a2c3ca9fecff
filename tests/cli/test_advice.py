"""The sentence at the end: what a comparison means for a person who has to choose."""

from dataclasses import replace

import pytest
from benchmark_helpers import launched, steady

from d2lhybrid.benchmark.timing import Timing
from d2lhybrid.cli.advice import advice

FASTER = [1.6, 1.8, 1.9, 2.0, 2.0, 2.0, 2.1, 2.2, 2.5]  # 9 launches: 1.8 to 2.2
SLOWER = [1 / s for s in FASTER]
UNCLEAR = [0.5, 0.9, 1.0, 1.0, 1.0, 1.0, 1.1, 1.1, 1.5]  # 0.9 to 1.1
EQUAL = [1.0] * 9


def now_and_then_slow(seconds):
    times = tuple(seconds * (50 if i % 10 == 0 else 1) for i in range(200))
    return Timing(times, (seconds,) * 200, calls=1, warmup=())


def noisy(i, ratio=3):
    """A timing of 1 s a call; one of its blocks takes `ratio` times as long, now this, now that."""
    blocks = [(factor,) * 6 for factor in (ratio**0.5, ratio**-0.5)]
    return Timing(*blocks[:: 1 if i % 2 else -1], calls=1, warmup=())


def among_others(seconds):
    return replace(steady(seconds), warmup=(seconds / 5,))


def of(calls=None, complete=True, **speedups):
    """A Comparison with a: the speed-ups of each other candidate, one for each launch."""
    launches = [
        {"a": steady(1.0)} | {k: steady(1 / s) for k, s in zip(speedups, row, strict=True)}
        for row in zip(*speedups.values(), strict=True)
    ]
    return launched(launches, calls, complete)


def with_prices(prices, calls=None):
    """A call of b saves one second of two; that is paid after as many calls as it cost seconds."""
    return launched([{"a": steady(2.0), "b": steady(1.0, build=p)} for p in prices], calls)


@pytest.mark.parametrize(
    ("comparison", "sentence"),
    [
        (of(b=FASTER), "Take b: a call is 2.00 times as fast as with a (1.80 to 2.20)."),
        (of(b=SLOWER), "Stay with a: nothing else is faster."),
        (of(b=EQUAL), "Stay with a: nothing else is faster."),
        (of(b=SLOWER, c=FASTER), "Take c: a call is 2.00 times as fast as with a (1.60 to 2.50)."),
        (
            of(b=[2.0] * 9, c=[3.0] * 9),
            "Take c: a call is 3.00 times as fast as with a (3.00 to 3.00).",
        ),
        (
            of(b=[2.1] * 9, c=FASTER, d=[1.2] * 9),
            "Take b: a call is 2.10 times as fast as with a (2.10 to 2.10); c may be as good.",
        ),
        (
            of(b=UNCLEAR),
            "This run cannot tell whether b is faster than a (0.90 to 1.10 times as fast): "
            "its launches differ, so give it more launches (--launches 36).",
        ),
        (
            of(b=UNCLEAR, c=SLOWER, d=UNCLEAR),
            "This run cannot tell whether b is faster than a (0.50 to 1.50 times as fast): "
            "give it more time (--time-limit 4).\n"
            "This run cannot tell whether d is faster than a (0.50 to 1.50 times as fast): "
            "give it more time (--time-limit 4).",
        ),
        (
            of(b=FASTER[:2], complete=False),
            "This run cannot tell whether b is faster than a: "
            "it was interrupted, so let it run to its end.",
        ),
        (
            with_prices([50.0, 60.0]),  # too few launches: nothing is known
            "This run cannot tell whether b is faster than a: "
            "give it more launches (--launches 8).",
        ),
        (
            of(b=[0.97, 0.98, 0.98, 0.99, 0.99, 1.0, 1.0, 1.02, 1.03]),
            "Stay with a: b is as fast, within 2.0% either way.",
        ),
        (
            of(b=[0.6, 0.63, 0.7, 0.8, 0.8, 0.9, 0.95, 1.0, 1.01]),
            "Stay with a: b is not faster (0.63 to 1.00 times as fast).",
        ),
        (
            launched([{"a": noisy(i), "b": steady(1 / s)} for i, s in enumerate(FASTER)]),
            "This run cannot tell whether b is faster than a: it seems 1.80 to 2.20 times as "
            "fast, but a differs from itself by 200%. Try it again when the machine is quieter.",
        ),
        (  # slower than the noise floor tells, but surely not faster
            launched([{"a": noisy(i, 1.12), "b": steady(1.1)} for i in range(9)]),
            "Stay with a: b is not faster (0.91 to 0.91 times as fast).",
        ),
        (
            launched([{"a": steady(1.0), "b": among_others(0.5)}] * 9),
            "Take b: a call is 2.00 times as fast as with a (2.00 to 2.00).\n"
            "Beware: a call of b takes 5 times as long as it took alone, so other programs are "
            "in its way. Try it again when the machine is quieter.",
        ),
        (
            of(b=FASTER, complete=False),  # interrupted late enough
            "Take b: a call is 2.00 times as fast as with a (1.80 to 2.20).",
        ),
        (
            with_prices([20.5, 50.0, 80.0, 10.0, 30.0, 40.0, 60.0, 70.0, 90.0]),
            "Take b: a call is 2.00 times as fast as with a (2.00 to 2.00), "
            "and building it pays after about 50 calls (21 to 80).",
        ),
        (
            with_prices([50.0]),  # one launch gives no interval of the break-even
            "Take b: a call is 2.00 times as fast as with a (2.00 to 2.00), "
            "and building it pays after about 50 calls.",
        ),
        (
            with_prices([0.0] * 9),
            "Take b: a call is 2.00 times as fast as with a (2.00 to 2.00).",
        ),
        (
            with_prices([50.0] * 9, calls=200),
            "Take b for 200 calls: with building, that is 1.60 times as fast as with a "
            "(1.60 to 1.60).",
        ),
        (
            with_prices([50.0] * 9, calls=10),
            "Stay with a for 10 calls: with building, nothing else is faster; "
            "a call of b is 2.00 times as fast as with a (2.00 to 2.00), "
            "and building it pays after about 50 calls (50 to 50).",
        ),
        (
            with_prices([50.0] * 9, calls=1),
            "Stay with a for 1 call: with building, nothing else is faster; "
            "a call of b is 2.00 times as fast as with a (2.00 to 2.00), "
            "and building it pays after about 50 calls (50 to 50).",
        ),
        (
            with_prices([40.0, 40.0, 40.0, 50.0, 50.0, 50.0, 60.0, 60.0, 60.0], calls=50),
            "This run cannot tell whether b is faster than a for 50 calls "
            "(0.91 to 1.11 times as fast): give it more launches (--launches 36). "
            "But a call of b is 2.00 times as fast as with a (2.00 to 2.00), "
            "and building it pays after about 50 calls (40 to 60).",
        ),
        (of(b=SLOWER, calls=7), "Stay with a for 7 calls: with building, nothing else is faster."),
        (
            launched([{"a": steady(1.0, 200), "b": now_and_then_slow(0.5)}] * 9),
            "Take b only if the usual call is what counts: it is 2.00 times as fast as with a "
            "(2.00 to 2.00), but all calls together are 0.58 times as fast, "
            "because now and then b takes far longer.",
        ),
        (
            launched([{"a": steady(1.0, 200), "b": now_and_then_slow(0.25)}] * 9),
            "Take b: a call is 4.00 times as fast as with a (4.00 to 4.00), but all calls "
            "together are 1.16 times as fast, because now and then b takes far longer.",
        ),
        (
            launched([{"a": now_and_then_slow(1.0), "b": steady(0.5, 200)}] * 9),
            "Take b: a call is 2.00 times as fast as with a (2.00 to 2.00), but all calls "
            "together are 6.90 times as fast, because now and then a takes far longer.",
        ),
    ],
)
def test_one_sentence_says_what_to_do(comparison, sentence):
    assert advice(comparison) == sentence


def test_threads_are_named_where_there_are_several():
    comparison = launched([{"a": steady(1.0), "b": among_others(0.5)}] * 9)
    machine = comparison.machine | {"threads": 4}
    beware = (
        "so threads may be in each other's way. Try one thread (--threads 1), or a quieter moment."
    )
    assert advice(replace(comparison, machine=machine)).endswith(f"alone, {beware}")
    quiet = launched([{"a": steady(1.0), "b": steady(0.5)}] * 9)
    for is_busy in (True, False):
        busy = replace(quiet, machine=machine | {"is_busy": is_busy})
        assert advice(busy).endswith(f"Beware: the machine is busy, {beware}") == is_busy
