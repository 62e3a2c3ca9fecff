"""`python -m d2lhybrid compare mine.py`: does compiling help your model, the way you use it?"""

import argparse
import sys
from pathlib import Path

from .options import add_files, duration, share, size, write

ABOUT = """
In the file every `def` at the top level without parameters builds one candidate: it returns a
function without arguments, which is called and timed. The first is the baseline. Names that begin
with "_" are left alone. Each candidate is started several times, in a Python process of its own,
so that the answer holds for the programs and not only for one run of them.

    python -m d2lhybrid compare --example > mine.py
    python -m d2lhybrid compare mine.py --calls 200

A call is one of many, made one after the other in bursts of 0.3 ms, or alone if it takes longer.
The speed-up is the median of the ratios of calls that were timed side by side. It may differ from
the quotient of the two times in the table; on a busy machine it is the better figure.

All candidates are in memory at the same time. Calls far below a millisecond are judged best with
one thread: the idle threads of one process go on waiting actively, and so disturb the others.

The exit status is 0 for an answer, whatever it says; 2 for a file that cannot be used; 3 for an
answer without the candidates that failed; 130 if Ctrl-C ended it, with an answer from what was
measured until then.
"""


def add_command(commands):
    """The options of `compare`, and what runs it."""
    compare = commands.add_parser(
        "compare",
        help="compare the candidates that a file of yours builds: does compiling help your model?",
        description="Compare the candidates that a file builds, each in processes of its own.",
        epilog=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    compare.add_argument("file", type=Path, nargs="?", help="a Python file, see --example")
    compare.add_argument("--example", action="store_true", help="print such a file, for PyTorch")
    compare.add_argument(
        "--calls", type=size, metavar="N", help="judge building and N calls together"
    )
    compare.add_argument(
        "--launches",
        type=size,
        metavar="N",
        help="start every candidate N times, 9 unless said otherwise",
    )
    compare.add_argument(
        "--time-limit",
        type=duration,
        metavar="S",
        help="seconds of measuring, half a second for each launch unless said otherwise; a round "
        "that has begun is ended, and each launch measures one",
    )
    compare.add_argument(
        "--timeout",
        type=duration,
        default=300.0,
        metavar="S",
        help="seconds to wait for a candidate to be built and first called, 300 unless said "
        "otherwise",
    )
    add_files(compare)
    compare.add_argument("--markdown", action="store_true", help="print the table for a page")
    compare.add_argument(
        "--no-check", action="store_true", help="do not check that all return the same"
    )
    compare.add_argument(
        "--tolerance",
        type=share,
        metavar="R",
        help="how far results may differ, relative to the largest number; by default the rounding "
        "of the format in which they are computed, 2e-5 for float32, 0.04 for bfloat16 and "
        "quantised numbers",
    )
    compare.set_defaults(run=run, error=compare.error)


def run(options):
    """Compare, print and write. Exit status 2 for a file that cannot be used."""
    from .own_model import EXAMPLE, UnusableFile, compare_file, show

    if options.example:
        print(EXAMPLE.read_text(encoding="utf-8"), end="")
        return
    if options.file is None:
        options.error("which file? `python -m d2lhybrid compare --example` prints one")
    left_out = []
    try:
        answer = compare_file(
            options.file,
            left_out.append,
            options.launches,
            options.time_limit,
            options.timeout,
            calls=options.calls,
            check=not options.no_check,
            tolerance=options.tolerance,
        )
    except UnusableFile as error:
        print(*left_out, error, sep="\n", file=sys.stderr)
        raise SystemExit(2) from None
    try:
        show(answer, options.markdown)
        for text in left_out:
            print(f"\nleft out: {text}")
    finally:  # even if nobody reads on
        write("comparison", answer, answer, options)
    if left_out:
        raise SystemExit(3)
    if not answer.complete:
        raise SystemExit(130)
