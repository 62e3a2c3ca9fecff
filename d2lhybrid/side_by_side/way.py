"""One way to run or to train the network, as a program: `way.py torch torchscript`."""

import sys
from importlib import import_module

framework, name = sys.argv[1:]
function = getattr(import_module(f"d2lhybrid.side_by_side.in_{framework}"), name)


def way(*args):
    return function(*args)
