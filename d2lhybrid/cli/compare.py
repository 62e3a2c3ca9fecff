"""`python -m d2lhybrid compare mine.py`: does compiling help your model, the way you use it?"""

import argparse
import sys
from pathlib import Path

from ..benchmark.statistics import SLOWER
from .options import add_files, duration, percent, read, share, size, write

ABOUT = """
In the file every `def` at the top level without parameters builds one candidate: it returns a
function without arguments, which is called and timed. The first is the baseline. Names that begin
with "_" are left alone. Each candidate is started several times, in a Python process of its own,
so that the answer holds for the programs and not only for one run of them.

    python -m d2lhybrid compare --example > mine.py
    python -m d2lhybrid compare mine.py --calls 200
    python -m d2lhybrid compare mine.py -- 3 large      (the file finds 3 and large in sys.argv)

A call is one of many, made one after the other in bursts of 0.3 ms, or alone if it takes longer.
The speed-up is the median of the ratios of calls that were timed side by side, and may differ from
the quotient of the two times. All candidates are in memory at the same time. Calls far below a
millisecond are judged best with one thread, as idle threads wait actively and disturb the others.

What is built once and shipped, such as an exported file, is built beforehand, by another program:
let the candidate only load it. torch.compile finds in its cache what an earlier process compiled;
the price of the first one on this machine is in a note, and --cold-cache asks for it each time.

The exit status is 0 for an answer, whatever it says; 1 for what --fail-if-slower forbids; 2 for a
file that cannot be used; 3 for an answer without the candidates that failed; 130 if Ctrl-C ended
it, with an answer from what was measured until then. --json writes all that was measured, and
what follows from it; `Comparison.from_dict(json.load(file)["comparison"])` reads it.
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
    option = compare.add_argument
    count, limit = {"type": size, "metavar": "N"}, {"type": duration, "metavar": "S"}
    option("file", type=Path, nargs="?", help="a Python file, see --example")
    option("--example", action="store_true", help="print such a file, for PyTorch")
    option("--calls", **count, help="judge building and N calls together, computed from both")
    option(
        "--launches",
        **count,
        help="start every candidate N times; by default 9 times, and more if the interval is wide "
        "then, as long as it all takes little more than a minute",
    )
    option(
        "--time-limit",
        **limit,
        help="seconds of measuring, half a second for each launch by default; a round that has "
        "begun is ended, and each launch measures one",
    )
    option(
        "--timeout", **limit, default=300.0, help="seconds for building and first calls, else 300"
    )
    option("--sizes", **count, nargs="+", help="give each size to functions with one parameter")
    option(
        "--threads", **count, nargs="+", default=[None], help="how many threads; a table for each N"
    )
    option(
        "--fresh",
        metavar="NAME",
        help="a function of the file that returns the arguments of one call, as a tuple; it is "
        "called for each call, outside the timing",
    )
    option(
        "--cold-cache",
        action="store_true",
        help="build with torch.compile's cache in an empty folder",
    )
    option("--against", type=Path, metavar="FILE", help="compare with another run's --json FILE")
    option(
        "--fail-if-slower",
        type=percent,
        metavar="P",
        help="exit with 1 if a candidate is surely slower by more than P per cent, than then with "
        "--against, else than the baseline",
    )
    add_files(compare)
    option("--markdown", action="store_true", help="print the table for a page")
    option("--no-check", action="store_true", help="do not check that all return the same")
    option(
        "--tolerance",
        type=share,
        metavar="R",
        help="how far results may differ, relative to the largest number; by default the rounding "
        "of their format, 2e-5 for float32, 0.04 for bfloat16 and quantised numbers",
    )
    compare.set_defaults(run=run, error=compare.error)


def run(options):
    """Compare, print and write. Exit status 2 for a file that cannot be used."""
    from .own_model import EXAMPLE, UnusableFile, compare_file

    if options.example:
        print(EXAMPLE.read_text(encoding="utf-8"), end="")
        return
    if options.file is None:
        options.error("which file? `python -m d2lhybrid compare --example` prints one")
    if options.sizes and (options.against or options.fail_if_slower is not None):
        options.error("--against and --fail-if-slower are for one size, without --sizes")
    then = read(options.against) if options.against else None
    left_out, answers = [], {}
    try:
        for threads in options.threads:
            answers[threads] = compare_file(options, threads, left_out.append)
            if not answers[threads].complete:
                break
    except UnusableFile as error:
        print(*left_out, error, sep="\n", file=sys.stderr)
        raise SystemExit(2) from None
    if status := tell(answers, left_out, then, options):
        raise SystemExit(status)


def tell(answers, left_out, then, options):
    """Print and write the answers, by the number of threads. Returns the exit status."""
    from . import against
    from .own_model import show

    worst, several = 1.0, len(options.threads) > 1
    for i, (threads, answer) in enumerate(answers.items()):
        if several:
            print("\n" * (i > 0) + f"With {threads} thread{'s' * (threads != 1)}:\n")
        try:
            show(answer, options.markdown)
            speedups = answer.values()
            if then:
                since = against.speedups_since(then, answer)
                print(f"\n{against.text(then, answer, since)}")
                speedups = since.values()
            if options.fail_if_slower is not None:
                worst = min([worst, *(s.high for s in speedups if s.verdict == SLOWER)])
        finally:  # even if nobody reads on
            write(answer, answer, options, threads if several else None)
    for text in dict.fromkeys(left_out):
        print(f"\nleft out: {text}")
    if not answer.complete and not left_out:
        return 130
    if options.fail_if_slower is not None and worst < 1 - options.fail_if_slower / 100:
        print(f"\nA candidate is slower by more than {options.fail_if_slower:g} per cent.")
        return 1
    return 3 if left_out else 0
