"""Does `compare` tell the truth on this machine? Ask it questions whose answers are known.

Each question is asked many times, on the machine as it is and with all cores kept busy by other
programs: a function against itself, and a task against one that is known to be longer. Then the
same of programs, each in several processes of its own. `simulation` asks with a
clock of ours, where any truth and any noise can be had.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from functools import partial
from hashlib import sha256
from math import ceil
from statistics import median
from time import perf_counter
from timeit import timeit

from d2lhybrid.benchmark.candidates import isolated
from d2lhybrid.benchmark.comparison import compare
from d2lhybrid.benchmark.verdict import EQUIVALENT, INCONCLUSIVE, SLOWER
from d2lhybrid.tables import Column, text_table

TITLES = "runs right open wrong above_1 speed-up timeit off_by at_most longest"
COLUMNS = [Column("", 26), Column("load", 5)]
COLUMNS += [Column(title.replace("_", " ")) for title in TITLES.split()]
# Keeps a core busy until its standard input closes, which happens at the latest when the parent
# process ends.
BUSY = """
import os, sys, threading
threading.Thread(target=lambda: os._exit(len(sys.stdin.read()))).start()
while True: pass
"""
BLOCKS = (1030, 1050, 1100, 1500)
TIME_LIMIT = 0.5  # seconds, for what is asked within this process
PROCESSES = 9
PROGRAMS = {1000: EQUIVALENT, 1030: SLOWER, 1100: SLOWER}  # blocks of the second -> the truth
# SHA-256 takes its input block by block, and each needs the one before: so many blocks, so much
# time. A loop in Python would not do, as its speed differs between equal processes: on an AMD EPYC
# we have seen 4.5, 5.0, 5.9 and 6.7 ns a step.
BLOCK = 64  # bytes
PROGRAM = """
from hashlib import sha256

data = bytes(LENGTH)

def digest():
    return lambda: sha256(data).digest()
"""


def self_test(runs: int, report: Callable[[str], None] | None = None) -> str:
    """Ask every question, and return the answers as a table in text.

    Each is asked `runs` times, but the first one twice as often, and programs on busy cores half as
    often. Columns: the number of runs; how often the verdict was right, open ("inconclusive") and
    wrong; how often the estimate was above 1; the median estimate; the median of what `timeit`
    gives, and how far an estimate is off that, in the median and at most; the longest comparison.
    `report` gets each row as soon as it is known.
    """
    rows = []

    def ask(label, load, truth, question, count):
        """Add a row: call `question(i)` `count` times; `truth` is the right verdict."""
        with busy() if load == "busy" else nullcontext():
            answers = [question(i) for i in range(count)]
        rows.append(summary(label, load, truth, answers))
        if report:
            report(text_table(COLUMNS, rows).splitlines()[-1])

    question = same_network()
    ask("a network and itself", "quiet", EQUIVALENT, question, 2 * runs)
    ask("a network and itself", "busy", EQUIVALENT, question, runs)
    for load in ("quiet", "busy"):
        for blocks in BLOCKS:
            ask(f"1000 blocks and {blocks}", load, SLOWER, partial(two_digests, blocks), runs)
    for load, count in (("quiet", runs), ("busy", ceil(runs / 2))):  # which takes twice as long
        for blocks, truth in PROGRAMS.items():
            ask(f"programs of 1000 and {blocks}", load, truth, partial(two_programs, blocks), count)
    return text_table(COLUMNS, rows)


def same_network():
    """Return a question that compares the course's network with itself: `question(i)` -> a dict."""
    from d2lhybrid.nets import get_net, random_input

    net, x = get_net(), random_input()
    return lambda i: answer(net, net, x, time_limit=TIME_LIMIT)


def two_digests(blocks, i):
    """Compare SHA-256 of 1000 blocks with that of `blocks` blocks, by `compare` and by `timeit`.

    Returns the dict of `answer`, with the speed-up by `timeit` added. `i`, the number of the run,
    is not used.
    """
    one, other = (partial(sha256, bytes(BLOCK * n)) for n in (1000, blocks))
    return answer(one, other, time_limit=TIME_LIMIT) | {"timeit": interleaved_timeit(one, other)}


def interleaved_timeit(one, other, rounds=100, number=30):
    """Return the speed-up of `other` over `one` by `timeit`: the median of many short runs."""
    return median(timeit(one, number=number) / timeit(other, number=number) for _ in range(rounds))


def two_programs(blocks, i):
    """Compare a program that digests 1000 blocks with one that digests `blocks`, as `answer` does.

    `i`, the number of the run, is not used.
    """
    texts = (PROGRAM.replace("LENGTH", str(BLOCK * n)) for n in (1000, blocks))
    one, other = map(isolated, texts)
    return answer(one, other, processes=PROCESSES)


def answer(one, other, *args, **options):
    """Compare `other` with `one`: returns {"verdict": ..., "speedup": ..., "took": seconds}."""
    start = perf_counter()
    result = compare({"one": one, "other": other}, *args, check=False, **options)["other"]
    took = perf_counter() - start
    return {"verdict": result.verdict, "speedup": result.speedup, "took": took}


@contextmanager
def busy():
    """A context manager that keeps every core busy with a program that does nothing else."""
    command = [sys.executable, "-c", BUSY]
    cores = range(os.cpu_count())
    children = [subprocess.Popen(command, stdin=subprocess.PIPE) for _ in cores]
    try:
        yield
    finally:
        for child in children:
            child.kill()
            child.communicate()


def summary(label, load, truth, answers):
    """Return one row of the table, as strings, from the dicts that the questions returned."""
    said = [a["verdict"] for a in answers]
    speedups = [a["speedup"] for a in answers]
    right, left_open = said.count(truth), said.count(INCONCLUSIVE)
    row = [label, load, f"{len(said)}", f"{right}", f"{left_open}"]
    row += [f"{len(said) - right - left_open}"]
    row += [f"{sum(s > 1 for s in speedups)}", f"{median(speedups):.4f}"]
    if "timeit" in answers[0]:
        off = [abs(a["speedup"] / a["timeit"] - 1) for a in answers]
        row += [f"{median(a['timeit'] for a in answers):.4f}"]
        row += [f"{median(off):.1%}", f"{max(off):.1%}"]
    else:
        row += ["", "", ""]
    return [*row, f"{max(a['took'] for a in answers):.2f} s"]
