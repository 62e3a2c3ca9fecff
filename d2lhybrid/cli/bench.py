"""`python -m d2lhybrid bench`: the course's network, run in every way that this machine has."""

import argparse
import os

from ..benchmark.comparison import TooFewProcesses
from ..frameworks import THREADS
from ..tables import seconds
from .options import add_json, positive_int, write_json

ABOUT = """
What the table says: the median time of a call; the speed-up over the first row, with its 95%
interval; the verdict; what compiling cost, and after how many calls that is paid back: never if
it is slower, and "no clear gain" if that is not sure. Lines that begin with "limit" are no way
to run the network, but the least that one must wait for.
"""


def add_command(commands):
    """The options of `bench`, and what runs it."""
    parser = commands.add_parser(
        "bench",
        help="compare the ways to run the course's network",
        description="Compare the ways to run the course's network here, each with one thread.",
        epilog=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    count = {"type": positive_int, "metavar": "N"}
    parser.add_argument(
        "--batch",
        **count,
        nargs="+",
        default=[1],
        help="how many inputs a call computes at once, 1 unless said otherwise; "
        "several numbers give a table of speed-ups by size",
    )
    parser.add_argument(
        "--frameworks",
        action="store_true",
        help="compare all frameworks of the course that are installed, each way in a process of "
        "its own",
    )
    parser.add_argument(
        "--processes",
        **count,
        help="with --frameworks: start every way N times, 11 or more for all of them, at half a "
        "minute each; the answer then holds for the programs and not only for one run of them",
    )
    add_json(parser)
    parser.set_defaults(run=run, error=parser.error)


def run(options):
    """Measure, print and write. Exit status 2 for options that make no sense together."""
    if options.processes and not options.frameworks:
        options.error("--processes needs --frameworks")
    os.environ |= dict.fromkeys(THREADS, "1")  # read when frameworks are loaded
    from ..cross_framework import variants

    measure = variants.compare_frameworks if options.frameworks else variants.compare_variants
    several = {"processes": options.processes} if options.processes else {}
    try:
        answer = measure(options.batch, **several)
    except TooFewProcesses as error:
        options.error(str(error))
    shown, limits = answer, []
    if len(answer) == 1:  # one size: a comparison says more
        (answer,) = answer.values()
        shown, limits = without_limits(answer)
    print(shown, *limits, sep="\n")
    write_json(options.json, answer)


def without_limits(comparison):
    """The comparison without the limits, which are no ways to choose, and a line about each."""
    limits = [label for label in comparison if "limit: " in label]
    lines = [f"{label}: {seconds(comparison[label].median)} a call" for label in limits]
    ways = [label for label in comparison if label not in limits]
    return (comparison.select(ways) if len(ways) > 1 else comparison), lines
