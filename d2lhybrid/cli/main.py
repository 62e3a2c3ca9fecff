"""The commands of `python -m d2lhybrid`, or `d2lhybrid`, and how they end in a terminal."""

import argparse
import signal
import sys

from .. import __version__
from . import bench, compare


def main(arguments=None):
    """Run the command that `arguments` name, by default those of the program.

    SystemExit with the command's exit status, unless that is 0.
    """
    about = "`compare` asks about your model, `bench` about the course's network."
    parser = argparse.ArgumentParser(prog="d2lhybrid", description=about)
    parser.add_argument("--version", action="version", version=f"d2lhybrid {__version__}")
    commands = parser.add_subparsers(required=True)
    bench.add_command(commands)
    compare.add_command(commands)
    options = parser.parse_args(arguments)
    options.run(options)


def run():
    """Run `main` for a terminal: Ctrl-C ends it with exit status 130, and without a traceback.

    So does SIGTERM, which CI and `timeout` send.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if sys.stdout:  # None where it was closed
        sys.stdout.reconfigure(errors="replace")  # not every terminal has a sign for micro
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)  # before anything was measured
