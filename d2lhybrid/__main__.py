"""`python -m d2lhybrid bench`: the course's comparison on this machine, before class."""

import argparse
import json
import os


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m d2lhybrid", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    bench = commands.add_parser("bench", help="compare the ways to run the course's network")
    bench.add_argument("--batch", type=size, nargs="+", default=[1], metavar="N")
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
    if options.self_test:
        run_self_test(options.self_test)
    else:
        run_bench(options.batch, options.json, options.plot)


def run_bench(batches, json_file, plot_file):
    from .bench import compare_ways

    answer = compare_ways(batches)
    if len(answer) == 1:  # one size: a comparison says more
        (answer,) = answer.values()
    print(answer)
    if json_file:
        with open(json_file, "w") as file:
            json.dump(answer.to_dict(), file)
    if plot_file:
        import matplotlib

        matplotlib.use("agg")  # a file needs no window
        answer.plot().figure.savefig(plot_file, dpi=144)


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
