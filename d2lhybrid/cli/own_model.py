"""What `compare` makes of a file: which functions build candidates, what they give, what fails."""

import ast
import os
import sys
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from importlib.util import decode_source
from pathlib import Path
from statistics import median

from ..benchmark.candidates import own_process
from ..benchmark.comparison import compare
from ..benchmark.metadata import available_cores, load_average
from ..benchmark.results import Comparison
from ..benchmark.statistics import least_launches
from ..benchmark.sweeps import Sweep, sweep
from ..benchmark.timing import CandidateError
from ..frameworks.threads import AT_ONCE, SOON, WAITING
from ..tables import Column, seconds, text_table
from .advice import CHEAP, advice

LAUNCHES = 9  # the fewest for which the interval leaves out the fastest and the slowest launch
EXAMPLE = Path(__file__).with_name("example.py")
RULE = (
    "every `def` at the top level of the file builds one candidate, unless it has parameters or "
    'its name begins with "_"; `python -m d2lhybrid compare --example` prints such a file'
)
NO_CANDIDATE = 'if it is no candidate, let its name begin with "_"'
RULE_FOR_SIZES = "with --sizes, every such `def` with exactly one parameter builds one candidate"
# What to do about the most frequent mistakes: part of a candidate's error -> advice.
HINTS = {
    " missing 1 required positional": "what the function returns is called without arguments; "
    + NO_CANDIDATE,
    " must return a function": NO_CANDIDATE,
    " did not answer for ": "--timeout gives it more",
}


class UnusableFile(ValueError):
    """A file that cannot be compared; the message names the file and, if it is known, the line."""


def builders(path: Path, parameters: int = 0) -> dict[str, int]:
    """The functions of a file that build candidates: name -> the line where it begins.

    They are those with so many `parameters`, none or one for a size.
    """
    if path.exists() and not path.is_file():  # it is read more than once
        raise UnusableFile(f"{path} is no file; save the program as one")
    try:
        tree = ast.parse(decode_source(path.read_bytes()), str(path))
    except OSError as error:
        raise UnusableFile(f"{path}: {error.strerror}") from error
    except (SyntaxError, ValueError) as error:  # the second of null bytes, in older Pythons
        line, why = getattr(error, "lineno", None), getattr(error, "msg", error)
        where = f", line {line}: " if line else " is no Python source in UTF-8: "
        raise UnusableFile(f"{path}{where}{why}") from error
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            found.pop(node.name, None)  # the last definition counts
            if _takes(node.args, parameters):
                found[node.name] = node.lineno
    if len(found) < 2:
        names = [f"only one candidate, {name} (line {line})" for name, line in found.items()]
        rule = RULE_FOR_SIZES if parameters else RULE
        raise UnusableFile(f"{path} has {', '.join(names) or 'no candidates'}; {rule}")
    return found


def _takes(arguments, count):
    """Whether a function takes so many plain arguments, and nothing else."""
    plain = arguments.posonlyargs + arguments.args
    return len(plain) == count and sum(map(bool, vars(arguments).values())) == bool(count)


def compare_file(
    options: Namespace, threads: int | None, left_out: Callable[[str], None]
) -> Comparison | Sweep:
    """Compare what a file builds, each candidate in processes of its own with so many threads.

    `options` are those of the command. `left_out` gets a text about each candidate that fails, or
    returns something else than the baseline. UnusableFile for a file that cannot be compared.
    """
    path, sizes = options.file, options.sizes
    lines = builders(path, parameters=1 if sizes else 0)
    _let_threads_sleep()
    program = {"threads": threads, "timeout": options.timeout, "inputs": options.fresh}
    program |= {"argv": options.argv, "cold_cache": options.cold_cache}
    try:
        programs = {name: own_process(path, name, **program) for name in lines}
    except ValueError as error:
        raise UnusableFile(str(error)) from error
    launches = options.launches or max(LAUNCHES, least_launches(len(programs) - 1))
    asked = {
        "launches": launches,
        "time_limit": options.time_limit or launches / 2,
        "calls": options.calls,
        "check": not options.no_check,
        "tolerance": options.tolerance,
        "single_calls": not sizes,
        "on_error": lambda error: left_out(_failure(path, error, lines[error.label])),
    }
    try:
        if sizes:
            return sweep(programs, lambda n: n, sizes, **asked)
        return compare(programs, **asked)
    except CandidateError as error:
        raise UnusableFile(_failure(path, error, lines[error.label])) from error
    except (TypeError, ValueError) as error:
        raise UnusableFile(f"{path}: {_in_options(error)}") from error


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


def _failure(path, error, builder_line):
    """A candidate's error, with the line at fault in front and advice at the end."""
    line = getattr(error, "line", None)
    text = str(error).replace(f" ({path}, line {line})", "", 1)
    text += "".join(f"; {hint}" for part, hint in HINTS.items() if part in text)
    return f"{path}, line {line or builder_line}: {_in_options(text)}"


def _in_options(text):
    """A message of `compare`, as it reads for a command."""
    return str(text).replace("check=False", "--no-check").replace("tolerance=", "--tolerance ")


def show(answer: Comparison | Sweep, markdown: bool) -> None:
    """Print the answer, and what it means."""
    if isinstance(answer, Sweep):
        shown, said = answer, [f"{size}: {advice(one)}" for size, one in answer.items()]
    else:
        shown, said = _without_cheap_prices(answer), [single_calls(answer), "", advice(answer)]
    print(shown.to_markdown() if markdown else shown, "", *said, sep="\n")
    if sys.stdout:  # None if it was closed
        sys.stdout.flush()


def single_calls(comparison: Comparison) -> str:
    """A table of how long calls take that were timed one by one, and of the memory of each process.

    Of calls that are longer than a block, each was timed by itself anyway. A percentile is shown if
    at least five calls took longer.
    """
    rows = []
    for label in comparison:
        timings = [timings[label] for timings in comparison.launches]
        times = sorted(time for one in timings for time in one.single_calls)
        row = [label, seconds(median(times)) if times else ""]
        for share in (0.95, 0.99):
            longer = int(len(times) * (1 - share) + 1e-9)
            row.append(seconds(times[-1 - longer]) if longer >= 5 else "")
        memory = [one.memory for one in timings if one.memory]
        rows.append([*row, f"{median(memory) / 1e6:.0f} MB" if memory else ""])
    titles = ["single calls: p50", "p95", "p99", "peak memory"]
    return text_table([Column(""), *(Column(title, 10) for title in titles)], rows)


def _without_cheap_prices(comparison):
    """The same without the table of prices, where none is worth a word."""
    if comparison.calls is not None or any(r.price >= CHEAP for r in comparison.values()):
        return comparison
    launches = [
        {label: replace(timing, build=None) for label, timing in timings.items()}
        for timings in comparison.launches
    ]
    return replace(comparison, launches=tuple(launches))
