"""Does compiling help your model, the way you use it?

In the file, every top-level `def` without parameters builds one candidate: it returns a function
without arguments, which is called and timed. The first one is the baseline. Names that begin with
"_" are ignored. Each candidate is started several times, in a Python process of its own, so that
the answer holds for the programs and not only for one run of them.

    d2lhybrid compare --example > mine.py
    d2lhybrid compare mine.py --calls 200

Calls are timed in blocks of about 0.3 ms, or one by one if a call takes longer. The speed-up is the
median of the ratios of calls that were timed side by side, so it can differ from the quotient of
the two times. All candidates are in memory at the same time. If calls take far less than a
millisecond, use one thread, because idle threads wait actively and disturb the others.

Anything that you build once and ship, such as an exported file, should be built beforehand, by
another program; let the candidate only load it. torch.compile finds in its cache what an earlier
process has compiled; with --cold-cache, it compiles in each process.

The exit status is 0 for an answer, whatever it says; 2 for a file that cannot be used; 3 for an
answer without the candidates that failed; 130 if Ctrl-C or SIGTERM ended it, with an answer from
what had been measured by then. `Comparison.from_dict(json.load(file)["comparison"])` reads what
--json wrote.

If the candidates are PyTorch on the CPU, the answer is followed by what a call of the baseline
waits for, and how much faster compiling could make it; --why adds the same for each operation.
"""

import argparse
import ast
import json
import os
import re
import sys
from argparse import Namespace
from collections.abc import Callable
from itertools import pairwise
from math import ceil, floor
from pathlib import Path
from statistics import median
from time import monotonic

from ..benchmark.candidates import isolated
from ..benchmark.comparison import compare, progress_line
from ..benchmark.metadata import available_cores, load_average
from ..benchmark.results import Comparison, ratio
from ..benchmark.statistics import least_processes
from ..benchmark.sweeps import Sweep, sweep
from ..benchmark.timing import CandidateError
from ..benchmark.verdict import FASTER, INCONCLUSIVE
from ..frameworks import AT_ONCE, SOON, WAITING
from ..roofline.limits import Limits
from ..tables import Column, seconds, text_table

# Of two candidates: the fewest for which the interval leaves out the fastest and the slowest. With
# more candidates none of nine is left out, and the range of seven is narrower: they get the fewest
# that give an interval.
PROCESSES = 9
BUSY = 0.75  # threads that wanted each core before: other programs disturb what is timed
MUCH = 0.2  # a speed-up below it says how much slower a candidate is, at least
LONG = 30  # seconds: of a shorter run nobody needs to be told how long it takes
MORE = 4  # times as much, for an interval half as wide
EXPLAIN = "d2lhybrid.roofline.limits:explain"
EXAMPLE = Path(__file__).with_name("example.py")


def add_command(commands):
    """Add the parser of `compare` to `commands`, which argparse's `add_subparsers` has returned."""
    parser = commands.add_parser(
        "compare",
        help="compare the candidates in a file of yours: does compiling help your model?",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option, count = parser.add_argument, {"type": positive_int, "metavar": "N"}
    option("file", type=Path, nargs="?", help="a Python file, see --example")
    option("--example", action="store_true", help="print an example of such a file, for PyTorch")
    option("--calls", **count, help="judge the total of building and N calls")
    option("--processes", **count, help="start each candidate N times (default: 7 to 9)")
    about = "start each candidate once; the answer then holds for this run only"
    option("--quick", action="store_const", dest="processes", const=1, help=about)
    about = "compare only these candidates with the baseline"
    option("--only", nargs="+", metavar="NAME", help=about)
    option("--time-limit", type=float, metavar="S", help="seconds of measuring (default: N / 2)")
    option("--sizes", **count, nargs="+", help="pass each size to functions with one parameter")
    about = "number of threads; one table for each N"
    option("--threads", **count, nargs="+", default=[None], help=about)
    option("--cold-cache", action="store_true", help="give torch.compile an empty cache each time")
    option("--no-check", action="store_true", help="do not check that all results are the same")
    about = "how far results may differ, relative to their size (default: rounding)"
    option("--tolerance", type=float, metavar="R", help=about)
    option("--why", action="store_true", help="show the time of each operation of the baseline")
    add_json(parser)
    parser.set_defaults(run=run, error=parser.error)


def run(options):
    """Run `compare` with its parsed options; the exit status is in the module's docstring."""
    if options.example:
        print(EXAMPLE.read_text(encoding="utf-8"), end="")
        return
    if options.file is None:
        options.error("which file? `d2lhybrid compare --example` prints one")
    if options.json and len(options.threads) > 1:
        options.error("--json works with a single number of threads")
    status = 0
    for threads in options.threads:
        errors, steps, answer = [], Steps(len(options.sizes or [0])), None
        try:
            answer = compare_file(options, threads, errors.append, steps)
        except KeyboardInterrupt:
            print(steps.interrupted())
        except UnusableFile as error:
            print(*map(_in_options, [*errors, error]), sep="\n", file=sys.stderr)
            raise SystemExit(2) from None
        if len(options.threads) > 1:
            print(f"\nWith {threads} thread{'s' * (threads != 1)}:\n")
        if answer:
            report(answer, options.why)
            write_json(options.json, answer)
        for text in dict.fromkeys(map(_in_options, errors)):
            print(f"\nleft out: {text}")
        if not (answer and answer.complete):
            raise SystemExit(130)
        status = 3 if errors else status
    if status:
        raise SystemExit(status)


class Steps:
    """A `progress` that remembers the steps, to say how long all will take, or what was done.

    In a terminal it shows each step. Elsewhere, as in a log, it prints one line, when the first
    process of each candidate has ended, if all of them in so many comparisons take long.
    """

    def __init__(self, comparisons: int = 1):
        self.comparisons, self.shown, self.show = comparisons, [], progress_line(None)

    def __call__(self, text):
        self.shown.append((monotonic(), text))
        self.show(text)
        second = re.search(r"process 2 of (\d+)", text)
        if second and self.comparisons and sys.stderr and not sys.stderr.isatty():
            one, count = monotonic() - self.shown[0][0], int(second[1]) * self.comparisons
            self.comparisons = 0  # it is said once
            if one * count > LONG:
                took = f"The first process of each took {one:.0f} s"
                rest = f"all {count} take {one * count / 60:.1f} minutes or less"
                print(f"{took}; {rest}.", file=sys.stderr, flush=True)

    def interrupted(self) -> str:
        """Return what was going on when nothing was measured yet, for how long, and what before."""
        steps = [*self.shown, (monotonic(), "")]
        spent = [f"{text} ({t - s:.1f} s)" for (s, text), (t, _) in pairwise(steps) if text]
        *before, last = spent or ["nothing was started"]
        before = f"Before that: {', '.join(before)}." if before else ""
        return f"Interrupted before anything was measured: {last}.\n{before}".strip()


class UnusableFile(ValueError):
    """A file that cannot be compared; the message names it."""


def builders(path: Path, parameters: int = 0) -> list[str]:
    """Return the names of the functions of a file that build candidates.

    They are those at the top level that take so many `parameters`: none, or one for a size.
    UnusableFile if there are fewer than two, or the file is no Python program.
    """
    try:
        tree = ast.parse(path.read_text("utf-8-sig"), str(path))
    except (OSError, SyntaxError, ValueError) as error:  # the last of null bytes
        raise UnusableFile(f"{path} is not a Python file in UTF-8: {error}") from error
    # The last definition of a name counts.
    functions = {node.name: node.args for node in tree.body if isinstance(node, ast.FunctionDef)}
    found = [n for n, args in functions.items() if n[0] != "_" and _takes(args, parameters)]
    if len(found) < 2:
        advice = "see `d2lhybrid compare --help`"
        raise UnusableFile(f"{path} builds too few candidates, {found}; {advice}")
    return found


def _takes(arguments, count):
    """Return whether an `ast.arguments` has `count` plain parameters, no defaults and no others."""
    plain = arguments.posonlyargs + arguments.args
    return len(plain) == count and sum(map(bool, vars(arguments).values())) == bool(count)


def compare_file(
    options: Namespace, threads: int | None, on_error: Callable, progress: Callable
) -> Comparison | Sweep:
    """Compare what a file builds, each candidate in processes of its own with so many threads.

    `options` are those of the command. `on_error` gets the error of each candidate that fails, or
    returns something else than the baseline, `progress` a text about each step. UnusableFile for a
    file that cannot be compared.
    """
    _let_threads_sleep()
    labels = builders(options.file, parameters=1 if options.sizes else 0)
    only = options.only or labels
    if unknown := [name for name in only if name not in labels]:
        raise UnusableFile(f"{options.file} builds {labels}, not {unknown}")
    labels = [label for label in labels if label in [labels[0], *only]]
    usual = PROCESSES if len(labels) == 2 else least_processes(len(labels) - 1)
    processes = options.processes or usual
    program = {"threads": threads, "cold_cache": options.cold_cache}
    programs = {label: isolated(options.file, label, **program) for label in labels}
    asked = {
        "processes": processes,
        "time_limit": max(1, processes / 2) if options.time_limit is None else options.time_limit,
        "calls": options.calls,
        "check": not options.no_check,
        "tolerance": options.tolerance,
        "single_calls": not options.sizes,
        "on_error": on_error,
        "progress": progress,
    }
    try:
        if options.sizes:
            return sweep(programs, lambda size: size, options.sizes, **asked)
        return compare(programs, explain=EXPLAIN, **asked)
    except (CandidateError, TypeError, ValueError) as error:
        raise UnusableFile(f"{options.file}: {error}") from error


def _let_threads_sleep():
    """Keep the idle threads of one candidate from taking cores from the candidate that is timed.

    As they come, they wait actively for many milliseconds. After one they are asleep before the
    next block is timed, and between two operations of a call they are still awake: with four
    threads on four quiet cores that doubled the rounds, halved the noise floor, and cost nothing.
    To sleep at once costs up to half the speed there; on four busy cores it made two networks that
    take turns need 0.5 ms a call instead of 30, and a product of two vectors 31 us, not 12 ms.
    """
    is_busy = (load_average() or 0) >= available_cores() / 2
    if not any(name in os.environ for name in WAITING):
        os.environ |= AT_ONCE if is_busy else SOON


def _in_options(text):
    """Return a message of `compare` with the command's options in place of arguments."""
    return str(text).replace("check=False", "--no-check").replace("tolerance=", "--tolerance ")


def report(answer: Comparison | Sweep, table: bool = False) -> None:
    """Print the answer, and the advice that follows from it; `table` is for `why`."""
    if isinstance(answer, Sweep):
        said = [build_costs(answer), ""]
        said += [f"{size}: {advice(comparison)}" for size, comparison in answer.items()]
    else:
        said = [single_calls(answer), "", advice(answer), *why(answer, table)]
    print(answer, "", *said, sep="\n", flush=True)


def why(comparison: Comparison, table: bool = False) -> list[str]:
    """Return what the baseline's time goes to, in at most six lines; [] where that is not known.

    `table`: what each of its operations takes, above them.
    """
    if not comparison.reason:
        return []
    base, limits = comparison.baseline, Limits(**comparison.reason["limits"])
    first, *lines = limits.reasons(comparison[base].median)
    rows = ["", text_table(limits._columns(), limits._rows())] if table else []
    if graphs := [f"{label} {n}" for label, n in comparison.reason["graphs"].items() if n]:
        lines.append(f"graphs of torch.compile: {', '.join(graphs)}")
    return [*rows, "", f"Why: a call of {base} is {first}", *lines]


def single_calls(comparison: Comparison) -> str:
    """Return a table of how long single calls take, and of how much memory each process had.

    Where a block was one call, each call was timed by itself anyway; that may differ from process
    to process. A percentile is shown if at least five calls took longer.
    """
    rows = []
    for label in comparison:
        timings = [timings[label] for timings in comparison.processes]
        times = sorted(time for timing in timings for time in timing.single_calls)
        row = [label, seconds(median(times)) if times else ""]
        for share in (0.95, 0.99):
            longer = int(len(times) * (1 - share) + 1e-9)
            row.append(seconds(times[-1 - longer]) if longer >= 5 else "")
        memory = [timing.memory for timing in timings if timing.memory]
        rows.append([*row, f"{median(memory) / 1e6:.0f} MB" if memory else ""])
    titles = ["single calls: p50", "p95", "p99", "peak memory"]
    return text_table([Column(""), *(Column(title, 10) for title in titles)], rows)


def build_costs(answer: Sweep) -> str:
    """Return a table of what building costs at each size."""
    labels = [answer.baseline, *answer.labels]
    rows = [[f"{n}", *(seconds(c[k].build_cost) for k in labels)] for n, c in answer.items()]
    return text_table([Column("build cost"), *(Column(label, 9) for label in labels)], rows)


# What an answer means ----------------------------------------------------------------------------


def advice(comparison: Comparison) -> str:
    """Return which candidate to take; or to stay with the baseline; or that this run cannot tell.

    Where the number of calls is given, the total of building and calling counts, otherwise a call.
    It speaks to who has called `python -m d2lhybrid compare`, and names its options.
    """
    this_run = " This holds for this run only." if len(comparison.processes) == 1 else ""
    return _advice(comparison) + this_run


def _advice(comparison):
    """Return the advice, as if there were several processes."""
    base, calls = comparison.baseline, comparison.calls
    for_calls = "" if calls is None else f" for {calls} call{'s' * (calls != 1)}"
    others = {label: r.total or r for label, r in comparison.items() if label != base}
    if faster := [label for label, found in others.items() if found.verdict == FASTER]:
        best = max(faster, key=lambda label: others[label].speedup)
        found = others[best]
        what = "a call" if calls is None else "with building, that"
        text = f"Take {best}{for_calls}: {what} is {_times(found)} times as fast as with {base}"
        text += _range(found) + (_pays(comparison[best]) if calls is None else "")
        rivals = [label for label in others if label != best and others[label].high >= found.low]
        return text + (f"; {' or '.join(rivals)} may be as good." if rivals else ".")
    largest = 1 + comparison.min_effect  # a speed-up below that is never called one
    unclear = {k: r for k, r in others.items() if r.verdict == INCONCLUSIVE and r.high > largest}
    if not unclear:
        slow = [
            f"{label} is at least {floor(1 / found.high)} times slower"
            for label, found in others.items()
            if found.high < MUCH and calls is None
        ]
        return f"Stay with {base}{for_calls}: {', and '.join(['nothing else is faster', *slow])}."
    names = " or ".join(label + _range(found) for label, found in unclear.items())
    text = f"This run cannot tell whether {names} is faster than {base}{for_calls}"
    return f"{text}: {_hint(comparison, comparison[next(iter(unclear))])}."


def _range(found):
    """Return the interval as ` (1.02 to 1.30)`; '' where it is not known."""
    return f" ({ratio(found.low, 2)} to {ratio(found.high, 2)})" if found.is_known else ""


def _times(found):
    """Return the speed-up as text, with no more digits than its interval carries."""
    is_vague = found.high > 4 * found.low
    return f"about {float(f'{found.speedup:.1g}'):.15g}" if is_vague else ratio(found.speedup, 2)


def _pays(result):
    """Return ", and building it pays off after about N calls", or "" where N is not known."""
    low, calls, high = result.break_even_low, result.break_even, result.break_even_high
    if calls is None or calls <= 1:
        return "" if calls is None else ", and building it pays off at once"
    low, calls, high = (
        "never" if n is None else f"{float(f'{n:.3g}'):.0f}" for n in (low, calls, high)
    )
    ends = "" if low == "never" else f" ({low} to {high})"
    return f", and building it pays off after about {calls} calls{ends}"


def _hint(comparison, result):
    """Return, as a clause, why a result is unclear, or what would make its interval narrower."""
    if not comparison.complete:
        return "let it finish"
    load, cores = (comparison.machine.get("load") or [None])[0] or 0, available_cores()
    if load >= BUSY * cores:
        return f"the machine is busy ({load:.1f} threads want {cores} cores); try when it is quiet"
    if len(comparison.processes) == 1:
        return "leave out --quick"
    if result.total is None and result.low > 1 + comparison.min_effect:
        return f"{comparison.baseline} differs from itself by {comparison.noise_floor:.0%}"
    between, within = result.spread_between, result.spread_within
    # A process measures the building once, however long it takes.
    if result.total or not result.is_known or (between is not None and between > 2 * within):
        return f"give it more processes (--processes {MORE * len(comparison.processes)})"
    return f"give it more time (--time-limit {ceil(MORE * comparison.duration)})"


# What the commands have in common -----------------------------------------------------------------


def positive_int(text):
    """Return `text` as a whole number, for argparse; ArgumentTypeError unless it is 1 or more."""
    if not (text.isdecimal() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"{text!r} must be an integer, 1 or more")
    return int(text)


def output_file(path):
    """Return `path`, for argparse; ArgumentTypeError if its folder does not exist.

    Nobody wants to learn that only after the measuring.
    """
    if not Path(path).parent.is_dir():
        raise argparse.ArgumentTypeError(f"the folder of {path!r} does not exist")
    return path


def add_json(parser):
    """Add the option --json, the file to which `write_json` writes."""
    about = "write all measurements to FILE"
    parser.add_argument("--json", type=output_file, metavar="FILE", help=about)


def write_json(path: str | None, answer: Comparison | Sweep) -> None:
    """Write {"comparison": what `Comparison.from_dict` reads}, or {"sweep": ...}; None: nothing."""
    if path:
        kind = "sweep" if isinstance(answer, Sweep) else "comparison"
        Path(path).write_text(json.dumps({kind: answer.to_dict()}), encoding="utf-8")
