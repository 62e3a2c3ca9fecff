"""What the commands have in common: kinds of options, and the files that they write."""

import argparse
import json
import os
from math import inf

FORMAT = 2  # of the files that --json writes; a new number for what older readers cannot read


def add_files(parser):
    """The options for files."""
    parser.add_argument("--json", type=writable, metavar="FILE", help="write all that was measured")
    parser.add_argument("--plot", type=picture, metavar="FILE", help="draw it: PNG, PDF or SVG")


def write(kind, answer, shown, options):
    """Write what the options ask for: the answer as JSON, and a picture of what is shown."""
    if options.json:
        try:
            with open(options.json, "w") as file:
                json.dump({"format": FORMAT, kind: answer.to_dict()}, file)
        except OSError as error:
            raise SystemExit(f"cannot write {options.json}: {error.strerror}") from error
    if options.plot:
        import matplotlib

        matplotlib.use("agg")  # a file needs no window
        figure = shown.plot().figure
        figure.supxlabel(answer.measured_on(), fontsize=9, x=0.01, ha="left")
        figure.savefig(options.plot, dpi=144)


def size(text):
    """A whole number, 1 or more."""
    if not (text.isdecimal() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number, 1 or more")
    return int(text)


def duration(text):
    """Seconds, above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < inf:
        raise argparse.ArgumentTypeError(f"{text!r} must be seconds, above 0 and finite")
    return number


def share(text):
    """A number from 0 to 1."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number from 0 to 1")
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
    """A file for a picture."""
    if not path.lower().endswith((".png", ".pdf", ".svg")):
        raise argparse.ArgumentTypeError(f"{path!r} must end in .png, .pdf or .svg")
    return writable(path)
