"""`python -m d2lhybrid`: `compare` asks about your model, `bench` about the course's network."""

import sys

# Python looks for modules in the current folder first, where a reader may have a random.py.
if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]

import argparse
import json
import os
from math import inf
from pathlib import Path

ABOUT_BENCH = """
What the table says: the median time of a call; the speed-up over the first row, with its 95 %
interval; the verdict; what compiling cost, and after how many calls that is paid back: never if
it is slower, and "no clear gain" if that is not sure. Lines that begin with "limit" are no way
to run the network, but the least that one must wait for.

What the self-test says, for each question whose answer is known:

    runs             how often it was asked
    right            how often the verdict was right: "as good as equal" for what is equal
    open             how often it was "no clear difference": this machine, then, cannot tell
    wrong            how often it was another one; once in a hundred is too often
    above 1          how often the estimated speed-up was above 1, with or without a verdict
    speed-up         the median of the estimates
    timeit           the median of what interleaved runs of Python's timeit give
    off by, at most  how far an estimate is from timeit's, in the median and at most
    longest          the longest comparison

What --simulate says, for each kind of noise and each true effect (the candidate is faster by so
much): in how many of 100 comparisons the 95 % interval covers the truth, the verdict is right, and
the verdict is wrong. In the others it is "no clear difference". The right verdict is "faster"
above 1 %, and "as good as equal" below. At 1 %, the smallest effect, only "slower" is wrong.

    calm             each call scatters by 0.3 %
    rough            by 5 %, the machine drifts by 10 %, and 1 call in 100 takes far longer
    another process  wakes up every 10 ms and takes 1 ms
    autocorrelated   the machine's speed scatters by 5 % and changes within 5 ms
    modes            each candidate switches by itself between speeds 15 % apart
    launches         9 launches; each candidate's speed in each of them scatters by so much
    5 together       4 candidates beside the baseline: all must be covered, and be judged right
"""
ABOUT_COMPARE = """
In the file every `def` at the top level without parameters builds one candidate: it returns a
function without arguments, which is called and timed. The first is the baseline. Names that begin
with "_" are left alone. Each candidate is started several times, in a Python process of its own,
so that the answer holds for the programs and not only for one run of them.

    python -m d2lhybrid compare --example > mine.py
    python -m d2lhybrid compare mine.py --calls 200

Short calls are judged best with one thread (torch.set_num_threads(1) in the file): the idle threads
of one process go on waiting actively for a moment, and so disturb the others.

The exit status is 0 for an answer, whatever it says, and 2 for a file that cannot be used.
"""
FORMAT = 2  # of the files that --json writes; a new number for what older readers cannot read


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
    bench.add_argument("--json", type=writable, metavar="FILE", help="write all that was measured")
    bench.add_argument("--plot", type=picture, metavar="FILE", help="draw it: PNG, PDF or SVG")
    bench.add_argument(
        "--self-test",
        type=size,
        nargs="?",
        const=10,
        metavar="RUNS",
        help="put the measuring itself to the test: 10 runs take four minutes, 100 a full test",
    )
    mine = commands.add_parser(
        "compare",
        help="compare the candidates that a file of yours builds: does compiling help your model?",
        description="Compare the candidates that a file builds, each in processes of its own.",
        epilog=ABOUT_COMPARE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    mine.add_argument("file", type=Path, nargs="?", help="a Python file, see --example")
    mine.add_argument("--example", action="store_true", help="print such a file, for PyTorch")
    mine.add_argument("--calls", type=size, metavar="N", help="judge building and N calls together")
    mine.add_argument(
        "--launches",
        type=size,
        metavar="N",
        help="start every candidate N times, 9 unless said otherwise",
    )
    mine.add_argument(
        "--time-limit",
        type=duration,
        metavar="S",
        help="seconds of measuring, half a second for each launch unless said otherwise",
    )
    mine.add_argument("--json", type=writable, metavar="FILE", help="write all that was measured")
    mine.add_argument("--plot", type=picture, metavar="FILE", help="draw it: PNG, PDF or SVG")
    mine.add_argument("--markdown", action="store_true", help="print the table for a page")
    mine.add_argument(
        "--no-check", action="store_true", help="do not check that all return the same"
    )
    bench.add_argument(
        "--simulate",
        type=size,
        nargs="?",
        const=100,
        metavar="RUNS",
        help="put the statistics to the test with a simulated clock, where the truth is known: "
        "100 runs take about a minute on two cores, 2000 a full test",
    )
    options = parser.parse_args(arguments)
    if options.command == "compare":
        if options.file is None and not options.example:
            mine.error("which file? `python -m d2lhybrid compare --example` prints one")
        return run_compare(options)
    tests = [name for name in ("self_test", "simulate") if getattr(options, name)]
    others = [name for name, value in vars(options).items() if value != bench.get_default(name)]
    if tests and len(others) > 2:  # the command's name is one of them
        bench.error(f"--{tests[0].replace('_', '-')} takes no other option")
    try:
        from .measure.comparison import TooFewLaunches

        if options.self_test:
            run_self_test(options.self_test)
        elif options.simulate:
            run_simulation(options.simulate)
        else:
            if options.launches and not options.frameworks:
                bench.error("--launches needs --frameworks")
            several = {"launches": options.launches} if options.launches else {}
            try:
                run_bench(options.batch, options.frameworks, options.json, options.plot, several)
            except TooFewLaunches as error:
                bench.error(str(error))
    except ModuleNotFoundError as error:
        if error.name.startswith("d2lhybrid"):
            raise
        parser.exit(1, f"{error}: use the Python of the folder .venv, or install the package\n")


def run_bench(batches, frameworks, json_file, plot_file, options):
    from .measure.progress import progress_line

    show = progress_line(None)
    show("loading PyTorch")
    try:
        from .bench import compare_frameworks, compare_ways
    finally:
        show("")
    answer = (compare_frameworks if frameworks else compare_ways)(batches, **options)
    if len(answer) == 1:  # one size: a comparison says more
        (answer,) = answer.values()
        kind, (shown, limits) = "comparison", without_limits(answer)
    else:
        kind, shown, limits = "sweep", answer, []
    print(shown, *limits, *about_threads(answer), sep="\n")
    write(kind, answer, json_file, shown, plot_file)


def write(kind, answer, json_file, shown, plot_file):
    if json_file:
        with open(json_file, "w") as file:
            json.dump({"format": FORMAT, kind: answer.to_dict()}, file)
    if plot_file:
        import matplotlib

        matplotlib.use("agg")  # a file needs no window
        figure = shown.plot().figure
        figure.supxlabel(answer.measured_on(), fontsize=9, x=0.01, ha="left")
        figure.savefig(plot_file, dpi=144)


def run_compare(options):
    from .own_model import EXAMPLE, UnusableFile, compare_file, show

    if options.example:
        print(EXAMPLE.read_text(encoding="utf-8"), end="")
        return
    try:
        answer = compare_file(
            options.file, options.launches, options.calls, options.time_limit, not options.no_check
        )
    except UnusableFile as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
    try:
        show(answer, options.markdown)
    finally:  # even if nobody reads on
        write("comparison", answer, options.json, answer, options.plot)


def without_limits(comparison):
    """The comparison without the limits, which are no ways to choose, and a line about each."""
    from .tables import seconds

    limits = [label for label in comparison if "limit: " in label]
    lines = [f"{label}: {seconds(comparison[label].median)} a call" for label in limits]
    ways = [label for label in comparison if label not in limits]
    return (comparison.among(ways) if len(ways) > 1 else comparison), lines


def about_threads(answer):
    """Why a reader may find other figures in a notebook, as a list of lines."""
    threads = answer.machine["threads"]
    if threads in (None, 1):
        return []
    return [f"Measured with {threads} threads. The notebooks use one, so their figures differ."]


def run_self_test(runs):
    from .measure.selftest import COLUMNS, self_test
    from .tables import text_table

    print_line(text_table(COLUMNS, []))
    self_test(runs, print_line)


def run_simulation(runs):
    from .measure.simulation import COLUMNS, simulate
    from .tables import text_table

    print_line(text_table(COLUMNS, []))
    simulate(runs, print_line)


def print_line(text):
    print(text, flush=True)  # at once, as the next may take a minute


def size(text):
    if not (text.isdecimal() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number, 1 or more")
    return int(text)


def duration(text):
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < inf:
        raise argparse.ArgumentTypeError(f"{text!r} must be seconds, above 0 and finite")
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


def run():
    """`main`, for a terminal: without a traceback for what is no fault of the program."""
    for stream in (sys.stdout, sys.stderr):
        if stream:  # None if it was closed
            stream.reconfigure(errors="replace")  # not every terminal has a sign for micro
    try:
        main()
        if sys.stdout:
            sys.stdout.flush()
    except KeyboardInterrupt:
        sys.exit(130)  # before anything was measured
    except BrokenPipeError:  # nobody reads on, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the last flush
        sys.exit(1)


if __name__ == "__main__":
    run()
