"""A clock of ours, and candidates that take as long as we say: no test depends on the machine."""

import random

from d2lhybrid import Comparison, build, compare, sweep
from d2lhybrid.benchmark.metadata import describe_machine
from d2lhybrid.benchmark.timing import Measurement


class Clock:
    """A clock that moves only while work is done, and as fast as the machine is `slow`."""

    def __init__(self):
        self.now = 0.0
        self.slow = lambda now: 1.0

    def __call__(self):
        return self.now

    def work(self, seconds, result=None):
        """A function that takes so many seconds."""

        def run(*args):
            self.now += seconds * self.slow(self.now)
            return result

        return run


def restless(spread):
    """A machine whose every call takes longer or shorter by chance."""
    chance = random.Random(1)
    return lambda now: chance.lognormvariate(0, spread)


def built(clock, building, *first_calls, then):
    """A build: so many seconds to build, then the first calls, then every other call."""

    def make():
        clock.now += building
        times = iter(first_calls)

        def run():
            clock.now += next(times, then)

        return run

    return build(make)


def fails():
    raise ZeroDivisionError("by zero")


def example(clock, speed=1.0, spread=0.0, **options):
    clock.slow = restless(spread) if spread else clock.slow
    candidates = {"eager": clock.work(30e-6 * speed), "same": clock.work(30e-6 * speed)}
    candidates["compiled"] = built(clock, 2.0 * speed, 0.1, then=20e-6)
    return compare(candidates, clock=clock, **options)


def crossing_sweep(clock, **options):
    """b takes twice as long for size 1 to 16, then half as long from 32 on."""

    def a(n):
        clock.now += n * 1e-5

    def b(n):
        clock.now += n * 1e-5 * (2 if n <= 16 else 0.5)

    return sweep({"a": a, "b": b}, lambda n: n, [1, 16, 32], clock=clock, **options)


def steady(seconds, rounds=6, **more):
    """A timing whose every block took so long a call; `more` are fields of Measurement."""
    fields = {"calls": 1, "warmup": ()} | more
    if "build" in more:
        fields["build_state"] = "cold process"
    return Measurement((seconds,) * rounds, (seconds,) * rounds, **fields)


def several_processes(processes, calls=None, complete=True):
    """A Comparison of timings, label -> Measurement for each process; the first is the baseline."""
    baseline, *_ = processes[0]
    machine = describe_machine() | {"threads": 1}
    return Comparison(baseline, tuple(processes), 0.01, 1.0, complete, machine, calls)
