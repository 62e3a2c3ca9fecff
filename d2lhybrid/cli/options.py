"""What the commands have in common: kinds of options, and the files that they write."""

import argparse
import json
import os
from contextlib import suppress
from math import isfinite
from pathlib import Path
from sys import float_info

from ..benchmark.results import Comparison
from ..benchmark.sweeps import Sweep

ANSWERS = ["speedup", "low", "high", "verdict", "median", "price", "break_even"]
FORMAT = 3  # of the files that --json writes; a new number for what older readers cannot read


def add_files(parser):
    """The options for files."""
    parser.add_argument("--json", type=writable, metavar="FILE", help="write all that was measured")
    parser.add_argument("--plot", type=picture, metavar="FILE", help="draw it: PNG, PDF or SVG")


def write(answer, shown, options, threads=None):
    """Write what the options ask for: the answer as JSON, and a picture of what is shown.

    Answers for several numbers of `threads` get them into the names of their files.
    """
    if options.json:
        kind = "sweep" if isinstance(answer, Sweep) else "comparison"
        content = {"format": FORMAT, kind: answer.to_dict(), "answers": answers(answer)}
        try:
            with open(numbered(options.json, threads), "w") as file:
                json.dump(content, file)
        except OSError as error:
            raise SystemExit(f"cannot write {options.json}: {error.strerror}") from error
    if options.plot:
        import matplotlib

        matplotlib.use("agg")  # a file needs no window
        figure = shown.plot().figure
        figure.supxlabel(answer.measured_on(), fontsize=9, x=0.01, ha="left")
        figure.savefig(numbered(options.plot, threads), dpi=144)


def numbered(path, threads):
    """The name of a file, with the number of threads in front of its ending, if there is one."""
    path = Path(path)
    return path if threads is None else path.with_name(f"{path.stem}-{threads}{path.suffix}")


def answers(answer):
    """What follows for each candidate, at each size of a sweep; null for what is not known."""
    if isinstance(answer, Sweep):
        return {str(size): answers(comparison) for size, comparison in answer.items()}
    return {
        label: {name: _known(getattr(result, name)) for name in ANSWERS}
        for label, result in answer.items()
    }


def _known(value):
    return None if isinstance(value, float) and not isfinite(value) else value


def read(path):
    """The comparison that `write` wrote."""
    try:
        with open(path) as file:
            return Comparison.from_dict(json.load(file)["comparison"])
    except OSError as error:
        raise SystemExit(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise SystemExit(f"{path} is not what --json writes for one comparison") from error


def size(text):
    """A whole number, 1 or more."""
    if not (text.isdecimal() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number, 1 or more")
    return int(text)


def number(least, most, what):
    """A kind of option: a number between two others, or the message says that it must be `what`."""

    def checked(text):
        with suppress(ValueError):
            if least <= float(text) <= most:
                return float(text)
        raise argparse.ArgumentTypeError(f"{text!r} must be {what}")

    return checked


duration = number(float_info.min, float_info.max, "seconds, above 0 and finite")
share = number(0, 1, "a number from 0 to 1")
percent = number(0, 100, "a number from 0 to 100")


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
    """A file for a picture."""
    if not path.lower().endswith((".png", ".pdf", ".svg")):
        raise argparse.ArgumentTypeError(f"{path!r} must end in .png, .pdf or .svg")
    return writable(path)
