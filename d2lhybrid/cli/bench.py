"""`python -m d2lhybrid bench`: the course's network, run in every way that this machine has."""

import argparse
import os

from .options import add_files, size, write

ABOUT = """
What the table says: the median time of a call; the speed-up over the first row, with its 95 %
interval; the verdict; what compiling cost, and after how many calls that is paid back: never if
it is slower, and "no clear gain" if that is not sure. Lines that begin with "limit" are no way
to run the network, but the least that one must wait for.
"""


def add_command(commands):
    """The options of `bench`, and what runs it."""
    bench = commands.add_parser(
        "bench",
        help="compare the ways to run the course's network",
        description="Compare the ways to run the course's network on this machine.",
        epilog=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    bench.add_argument(
        "--batch",
        type=size,
        nargs="+",
        default=[1],
        metavar="N",
        help="how many inputs a call computes at once, 1 unless said otherwise; "
        "several numbers give a table of speed-ups by size",
    )
    bench.add_argument(
        "--threads",
        type=size,
        default=1,
        metavar="N",
        help="how many threads each way may use, 1 unless said otherwise, as in the notebooks",
    )
    bench.add_argument(
        "--frameworks",
        action="store_true",
        help="compare all frameworks of the course that are installed, each way in a process of "
        "its own with one thread",
    )
    bench.add_argument(
        "--launches",
        type=size,
        metavar="N",
        help="with --frameworks: start every way N times, 11 or more for all of them, at half a "
        "minute each; the answer then holds for the programs and not only for one run of them",
    )
    bench.add_argument(
        "--gpu",
        action="store_true",
        help="measure what the notebooks ask of a GPU; planned for less than ten minutes, and "
        "not yet run on one",
    )
    bench.add_argument(
        "--dry-run", action="store_true", help="with --gpu: try that on the CPU, with tiny inputs"
    )
    add_files(bench)
    bench.set_defaults(run=run, error=bench.error)


def run(options):
    """Measure, print and write. Exit status 2 for options that make no sense together."""
    from ..frameworks.threads import THREADS
    from ..measure.launch import TooFewLaunches
    from ..measure.show import progress_line

    if options.launches and not options.frameworks:
        options.error("--launches needs --frameworks")
    if options.dry_run and not options.gpu:
        options.error("--dry-run needs --gpu")
    os.environ |= dict.fromkeys(THREADS, str(options.threads))  # read when frameworks are loaded
    if options.gpu:
        from . import gpu

        return gpu.run(options)
    show = progress_line(None)
    show("loading PyTorch")
    try:
        from ..cross_framework import variants
    finally:
        show("")
    several = {"launches": options.launches} if options.launches else {}
    measure = variants.compare_frameworks if options.frameworks else variants.compare_ways
    try:
        answer = measure(options.batch, **several)
    except TooFewLaunches as error:
        options.error(str(error))
    if len(answer) == 1:  # one size: a comparison says more
        (answer,) = answer.values()
        shown, limits = without_limits(answer)
    else:
        shown, limits = answer, []
    print(shown, *limits, sep="\n")
    write(answer, shown, options)


def without_limits(comparison):
    """The comparison without the limits, which are no ways to choose, and a line about each."""
    from ..tables import seconds

    limits = [label for label in comparison if "limit: " in label]
    lines = [f"{label}: {seconds(comparison[label].median)} a call" for label in limits]
    ways = [label for label in comparison if label not in limits]
    return (comparison.among(ways) if len(ways) > 1 else comparison), lines
