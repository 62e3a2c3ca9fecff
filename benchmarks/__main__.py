"""`python -m benchmarks`: does `compare` tell the truth on this machine, and in theory?

What is said of the limits, for each program: the regime that is predicted, the share of overhead
that is predicted and found, the time of a call that is predicted and measured, and their ratio;
the bound, and by how much torch.compile made it faster.

What the self-test says, for each question whose answer is known:

    runs             how often it was asked
    right            how often the verdict was right: "equivalent" for what is equal
    open             how often it was "inconclusive": this machine, then, cannot tell
    wrong            how often it was another one; once in a hundred is too often
    above 1          how often the estimated speed-up was above 1, with or without a verdict
    speed-up         the median of the estimates
    timeit           the median of what interleaved runs of Python's timeit give
    off by, at most  how far an estimate is from timeit's, in the median and at most
    longest          the longest comparison

What the simulation says, for each kind of noise and each true effect (the candidate is faster by so
much): in how many of 100 comparisons the 95% CI covers the truth, the verdict is right, and
the verdict is wrong. In the others it is "inconclusive". The right verdict is "faster"
above 1 %, and "equivalent" below. At 1 %, the smallest effect, only "slower" is wrong.

    calm             each call scatters by 0.3 %
    rough            by 5 %, the machine drifts by 10 %, and 1 call in 100 takes far longer
    another process  wakes up every 10 ms and takes 1 ms
    autocorrelated   the machine's speed scatters by 5 % and changes within 5 ms
    modes            each candidate switches by itself between speeds 15 % apart
    processes         9 processes; each candidate's speed in each of them scatters by so much
    5 together       4 candidates beside the baseline: all must be covered, and be judged right
"""

import argparse
from functools import partial

from d2lhybrid.cli.compare import positive_int
from d2lhybrid.tables import text_table

from . import limits, selftest, simulation

COMMANDS = {  # name -> module, function, runs unless said otherwise, about them
    "limits": (limits, limits.predictions, 1, "processes of each, 1 or 8: six minutes, or 40"),
    "self-test": (selftest, selftest.self_test, 10, "10 take four minutes, 100 suffice"),
    "simulate": (simulation, simulation.simulate, 100, "100 take a minute, 2000 suffice"),
}


def main(arguments=None):
    """Run what `arguments` name (by default sys.argv[1:]), and print its rows one by one."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True)
    for name, (module, function, runs, about) in COMMANDS.items():
        command = commands.add_parser(name, help=f"so many runs of each question; {about}")
        command.add_argument("runs", type=positive_int, nargs="?", default=runs)
        command.set_defaults(function=function, columns=module.COLUMNS)
    options = parser.parse_args(arguments)
    print(text_table(options.columns, []), flush=True)
    options.function(options.runs, partial(print, flush=True))  # as the next may take a minute


if __name__ == "__main__":
    main()
