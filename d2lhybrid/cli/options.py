"""What the commands have in common: kinds of options, and the file that they write."""

import argparse
import json
from pathlib import Path

from ..benchmark.results import Comparison
from ..benchmark.sweeps import Sweep


def positive_int(text):
    """A whole number, 1 or more."""
    if not (text.isdecimal() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number, 1 or more")
    return int(text)


def output_file(path):
    """The path of a file in a folder that is there: nobody wants to learn after measuring."""
    if not Path(path).parent.is_dir():
        raise argparse.ArgumentTypeError(f"the folder of {path!r} does not exist")
    return path


def add_json(parser):
    """The option for a file."""
    about = "write all that was measured"
    parser.add_argument("--json", type=output_file, metavar="FILE", help=about)


def write_json(path: str | None, answer: Comparison | Sweep) -> None:
    """Write what `Comparison.from_dict` or `Sweep.from_dict` reads: {"comparison": ...}."""
    if path:
        kind = "sweep" if isinstance(answer, Sweep) else "comparison"
        Path(path).write_text(json.dumps({kind: answer.to_dict()}), encoding="utf-8")
