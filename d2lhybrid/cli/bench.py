"""Compare the variants of the course's network on this machine, each with one thread.

The table shows the median time per call; the speed-up over the first row, with its 95% CI; the
verdict; the build cost, and the number of calls after which it is paid back: "never" if the
variant is slower, "no clear gain" if that is not certain. Lines that begin with "limit" are not
variants of the network: they show the least time that any variant has to wait.
"""

import argparse
import os

from ..benchmark.comparison import TooFewProcesses
from ..frameworks import THREADS
from ..tables import seconds
from .compare import add_json, positive_int, write_json


def add_command(commands):
    """Add the parser of `bench` to `commands`, which argparse's `add_subparsers` has returned."""
    parser = commands.add_parser(
        "bench",
        help="compare the variants of the course's network",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    count = {"type": positive_int, "metavar": "N"}
    option = parser.add_argument
    about = "batch size (default: 1); several give the speed-ups at each size"
    option("--batch", **count, nargs="+", default=[1], help=about)
    about = "compare all installed frameworks of the course, each variant in its own process"
    option("--frameworks", action="store_true", help=about)
    about = "with --frameworks: start each variant N times, 11 or more, half a minute each"
    option("--processes", **count, help=about)
    add_json(parser)
    parser.set_defaults(run=run, error=parser.error)


def run(options):
    """Run `bench` with its parsed options: measure, print, and write the file of --json.

    Exit status 2 for options that make no sense together.
    """
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
    """Return the comparison without the limits, which nobody can choose, and a line about each."""
    limits = [label for label in comparison if "limit: " in label]
    lines = [f"{label}: {seconds(comparison[label].median)} per call" for label in limits]
    ways = [label for label in comparison if label not in limits]
    return (comparison.select(ways) if len(ways) > 1 else comparison), lines
