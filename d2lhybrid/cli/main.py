"""The commands of `python -m d2lhybrid`, or `d2lhybrid`, and how it ends in a terminal."""

import argparse
import os
import sys

from .. import __version__
from . import bench, compare

ABOUT = "`compare` asks about your model, `bench` about the course's network."


def main(arguments=None):
    is_module = sys.argv[0].endswith("__main__.py")
    name = "python -m d2lhybrid" if is_module else "d2lhybrid"
    parser = argparse.ArgumentParser(prog=name, description=ABOUT)
    parser.add_argument("--version", action="version", version=f"d2lhybrid {__version__}")
    commands = parser.add_subparsers(required=True)
    bench.add_command(commands)
    compare.add_command(commands)
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:end])
    options.argv = arguments[end + 1 :]
    try:
        options.run(options)
    except ModuleNotFoundError as error:
        if error.name.startswith("d2lhybrid"):
            raise
        parser.exit(1, f"{error}: use the Python of the folder .venv, or install the package\n")


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
