"""`python -m d2lhybrid bench`: the course's comparison on this machine, before class."""

import argparse
import json
import os
from dataclasses import replace

ABOUT_BENCH = """
What the table says: the median time of a call; the speed-up over the first row, with its 95 %
interval; the verdict; what compiling cost, and after how many calls that is paid back: never if
it is slower, and "no clear gain" if that is not sure. Lines that begin with "limit" are no way
to run the network, but the least that one must wait for.

What the self-test says, for each question whose answer is known:

    runs, right      how often it was asked, and how often the verdict was right
    faster, slower   how often these verdicts were given; wrong ones count against the machine
    above 1          how often the estimated speed-up was above 1, with or without a verdict
    speed-up         the median of the estimates
    timeit           the median of what interleaved runs of Python's timeit give
    off by, at most  how far an estimate is from timeit's, in the median and at most
    longest          the longest comparison
"""
FORMAT = 1  # of the files that --json writes; a new number for what older readers cannot read


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m d2lhybrid", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    bench = commands.add_parser(
        "bench",
        help="compare the ways to run the course's network",
        description="Compare the ways to run the course's network on this machine.",
        epilog=ABOUT_BENCH,
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
    bench.add_argument("--json", type=writable, metavar="FILE", help="write all that was measured")
    bench.add_argument("--plot", type=picture, metavar="FILE", help="draw it: PNG, PDF or SVG")
    bench.add_argument(
        "--self-test",
        type=size,
        nargs="?",
        const=10,
        metavar="RUNS",
        help="put the measuring itself to the test: 10 runs take about a minute, 100 a full test",
    )
    options = parser.parse_args(arguments)
    try:
        if options.self_test:
            run_self_test(options.self_test)
        else:
            run_bench(options.batch, options.json, options.plot)
    except ModuleNotFoundError as error:
        if error.name.startswith("d2lhybrid"):
            raise
        parser.exit(1, f"{error}: use the Python of the folder .venv, or install the package\n")


def run_bench(batches, json_file, plot_file):
    from .measure.progress import progress_line

    show = progress_line(None)
    show("loading PyTorch")
    try:
        from .bench import compare_ways
    finally:
        show("")
    answer = compare_ways(batches)
    if len(answer) == 1:  # one size: a comparison says more
        (answer,) = answer.values()
        kind, (shown, limits) = "comparison", without_limits(answer)
    else:
        kind, shown, limits = "sweep", answer, []
    print(shown, *limits, *about_threads(answer), sep="\n")
    if json_file:
        with open(json_file, "w") as file:
            json.dump({"format": FORMAT, kind: answer.to_dict()}, file)
    if plot_file:
        import matplotlib

        matplotlib.use("agg")  # a file needs no window
        figure = shown.plot().figure
        figure.supxlabel(answer.measured_on(), fontsize=9, x=0.01, ha="left")
        figure.savefig(plot_file, dpi=144)


def without_limits(comparison):
    """The comparison without the limits, which are no ways to choose, and a line about each."""
    from .tables import seconds

    limits = [label for label in comparison if label.startswith("limit")]
    timings = {k: timing for k, timing in comparison.timings.items() if k not in limits}
    lines = [f"{label}: {seconds(comparison[label].median)} a call" for label in limits]
    return replace(comparison, timings=timings), lines


def about_threads(answer):
    """Why a reader may find other figures in a notebook, as a list of lines."""
    threads = answer.machine["threads"]
    if threads in (None, 1):
        return []
    return [f"Measured with {threads} threads. The notebooks use one, so their figures differ."]


def run_self_test(runs):
    from .measure.selftest import COLUMNS, self_test
    from .tables import text_table

    def report(row):
        print(row, flush=True)

    report(text_table(COLUMNS, []))
    self_test(runs, report)


def size(text):
    number = int(text)
    if number < 1:
        raise ValueError(text)  # argparse makes a message of it
    return number


def writable(path):
    """A file that can be written, as the measuring takes too long to fail after it."""
    is_new = not os.path.lexists(path)
    try:
        open(path, "a").close()
    except OSError as error:
        raise argparse.ArgumentTypeError(error) from None
    if is_new:
        os.remove(path)
    return path


def picture(path):
    if not path.lower().endswith((".png", ".pdf", ".svg")):
        raise argparse.ArgumentTypeError(f"{path!r} must end in .png, .pdf or .svg")
    return writable(path)


if __name__ == "__main__":
    main()
