"""`python -m d2lhybrid compare mine.py`: does compiling help your model, the way you use it?"""

import argparse
import ast
import os
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from statistics import median

from ..benchmark.advice import advice
from ..benchmark.candidates import isolated
from ..benchmark.comparison import compare
from ..benchmark.metadata import available_cores, load_average
from ..benchmark.results import Comparison
from ..benchmark.sweeps import Sweep, sweep
from ..benchmark.timing import CandidateError
from ..frameworks import AT_ONCE, SOON, WAITING
from ..tables import Column, seconds, text_table
from .options import add_json, positive_int, write_json

PROCESSES = 9  # the fewest for which the interval leaves out the fastest and the slowest process
EXAMPLE = Path(__file__).with_name("example.py")
RULE = (
    "every `def` at the top level of the file builds one candidate, unless it has parameters (with "
    '--sizes, exactly one) or its name begins with "_"; `d2lhybrid compare --example` prints one'
)
ABOUT = """
In the file every `def` at the top level without parameters builds one candidate: it returns a
function without arguments, which is called and timed. The first is the baseline. Names that begin
with "_" are left alone. Each candidate is started several times, in a Python process of its own,
so that the answer holds for the programs and not only for one run of them.

    d2lhybrid compare --example > mine.py
    d2lhybrid compare mine.py --calls 200

A call is one of many, made one after the other in bursts of 0.3 ms, or alone if it takes longer.
The speed-up is the median of the ratios of calls that were timed side by side, and may differ from
the quotient of the two times. All candidates are in memory at the same time. Calls far below a
millisecond are judged best with one thread, as idle threads wait actively and disturb the others.

What is built once and shipped, such as an exported file, is built beforehand, by another program:
let the candidate only load it. torch.compile finds in its cache what an earlier process compiled;
the build cost of the first one on this machine is in a note; --cold-cache asks for it each time.

The exit status is 0 for an answer, whatever it says; 2 for a file that cannot be used; 3 for an
answer without the candidates that failed; 130 if Ctrl-C ended it, with an answer from what was
measured until then. `Comparison.from_dict(json.load(file)["comparison"])` reads what --json wrote.
"""


def add_command(commands):
    """The options of `compare`, and what runs it."""
    parser = commands.add_parser(
        "compare",
        help="compare the candidates that a file of yours builds: does compiling help your model?",
        description="Compare the candidates that a file builds, each in processes of its own.",
        epilog=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option, count = parser.add_argument, {"type": positive_int, "metavar": "N"}
    option("file", type=Path, nargs="?", help="a Python file, see --example")
    option("--example", action="store_true", help="print such a file, for PyTorch")
    option("--calls", **count, help="judge building and N calls together, computed from both")
    option("--processes", **count, default=PROCESSES, help="start every candidate N times, else 9")
    option(
        "--time-limit",
        type=float,
        metavar="S",
        help="seconds of measuring, half a second for each process by default; a round that has "
        "begun is ended, and each process measures one",
    )
    option("--sizes", **count, nargs="+", help="give each size to functions with one parameter")
    option(
        "--threads", **count, nargs="+", default=[None], help="how many threads; a table for each N"
    )
    option(
        "--cold-cache",
        action="store_true",
        help="build with torch.compile's cache in an empty folder",
    )
    option("--no-check", action="store_true", help="do not check that all return the same")
    option(
        "--tolerance",
        type=float,
        metavar="R",
        help="how far results may differ, relative to the largest number; by default the rounding "
        "of their format, 2e-5 for float32, 0.04 for bfloat16 and quantised numbers",
    )
    add_json(parser)
    parser.set_defaults(run=run, error=parser.error)


def run(options):
    """Compare, print and write. The exit status is in ABOUT."""
    if options.example:
        print(EXAMPLE.read_text(encoding="utf-8"), end="")
        return
    if options.file is None:
        options.error("which file? `d2lhybrid compare --example` prints one")
    if options.json and len(options.threads) > 1:
        options.error("--json is for one number of threads")
    status = 0
    for threads in options.threads:
        errors = []
        try:
            answer = compare_file(options, threads, errors.append)
        except UnusableFile as error:
            print(*map(_in_options, [*errors, error]), sep="\n", file=sys.stderr)
            raise SystemExit(2) from None
        if len(options.threads) > 1:
            print(f"\nWith {threads} thread{'s' * (threads != 1)}:\n")
        report(answer)
        for text in dict.fromkeys(map(_in_options, errors)):
            print(f"\nleft out: {text}")
        write_json(options.json, answer)
        if was_interrupted(answer, {error.label for error in errors}):
            raise SystemExit(130)
        status = 3 if errors else status
    if status:
        raise SystemExit(status)


class UnusableFile(ValueError):
    """A file that cannot be compared; the message names it."""


def builders(path: Path, parameters: int = 0) -> list[str]:
    """The names of the functions of a file that build candidates.

    They are those with so many `parameters`, none or one for a size. UnusableFile if there are
    fewer than two, or the file is no Python program.
    """
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except (OSError, SyntaxError, ValueError) as error:  # the last of null bytes
        raise UnusableFile(f"{path} is no Python file in UTF-8: {error}") from error
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    last = {node.name: node for node in functions}  # the last definition of a name counts
    found = [
        node.name
        for node in functions
        if node is last[node.name] and node.name[0] != "_" and _takes(node.args, parameters)
    ]
    if len(found) < 2:
        raise UnusableFile(
            f"{path} builds too few candidates ({', '.join(found) or 'none'}): {RULE}"
        )
    return found


def _takes(arguments, count):
    """Whether a function takes so many plain arguments, and nothing else."""
    plain = arguments.posonlyargs + arguments.args
    return len(plain) == count and sum(map(bool, vars(arguments).values())) == bool(count)


def compare_file(
    options: Namespace, threads: int | None, on_error: Callable[[CandidateError], None]
) -> Comparison | Sweep:
    """Compare what a file builds, each candidate in processes of its own with so many threads.

    `options` are those of the command. `on_error` gets the error of each candidate that fails, or
    returns something else than the baseline. UnusableFile for a file that cannot be compared.
    """
    _let_threads_sleep()
    labels = builders(options.file, parameters=1 if options.sizes else 0)
    program = {"threads": threads, "cold_cache": options.cold_cache}
    programs = {label: isolated(options.file, label, **program) for label in labels}
    asked = {
        "processes": options.processes,
        "time_limit": options.processes / 2 if options.time_limit is None else options.time_limit,
        "calls": options.calls,
        "check": not options.no_check,
        "tolerance": options.tolerance,
        "single_calls": not options.sizes,
        "on_error": on_error,
    }
    try:
        if options.sizes:
            return sweep(programs, lambda size: size, options.sizes, **asked)
        return compare(programs, **asked)
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
    """A message of `compare`, as it reads for a command."""
    return str(text).replace("check=False", "--no-check").replace("tolerance=", "--tolerance ")


def was_interrupted(answer: Comparison | Sweep, failed: set[str]) -> bool:
    """Whether Ctrl-C ended the measuring, and not that the baseline or all others `failed`."""
    last = [*answer.values()][-1] if isinstance(answer, Sweep) else answer
    others = {label for label in last if label != last.baseline}
    has_ended_itself = not last.complete and (last.baseline in failed or others <= failed)
    return not answer.complete and not has_ended_itself


def report(answer: Comparison | Sweep) -> None:
    """Print the answer, and what it means."""
    if isinstance(answer, Sweep):
        said = [f"{size}: {advice(comparison)}" for size, comparison in answer.items()]
    else:
        said = [single_calls(answer), "", advice(answer)]
    print(answer, "", *said, sep="\n", flush=True)


def single_calls(comparison: Comparison) -> str:
    """A table of how long calls take that were timed one by one, and of the memory of each process.

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
