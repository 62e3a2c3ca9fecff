"""MXNet, the framework in which the book's section was first written. See notebook 16.

Version 1.9.1, of 2022, is its last. It asks for names that NumPy has dropped since, so NumPy is
lent them for as long as the import takes.
"""

import math
import re
import sys
import warnings
from contextlib import contextmanager
from importlib.util import find_spec
from types import ModuleType

SYSTEMS = ["Linux x86_64", "Linux aarch64", "Darwin x86_64"]
THREADS = ["OMP_NUM_THREADS"]  # read when it is loaded

# MXNet imports these functions and never calls them.
FUNCTIONS = "alltrue in1d mirr msort npv pmt ppmt product pv rate round_ sometrue trapz"
GONE = dict.fromkeys(FUNCTIONS.split()) | {"NAN": math.nan, "NaN": math.nan, "Inf": math.inf}
GONE |= {"PINF": math.inf, "NINF": -math.inf, "PZERO": 0.0, "NZERO": -0.0}


@contextmanager
def prepare():
    """Lend NumPy the names that it has dropped, and Python `distutils`, within the block."""
    from unittest.mock import patch

    import numpy

    lent = {name: value for name, value in GONE.items() if not hasattr(numpy, name)}
    stand_ins = {} if find_spec("distutils") else distutils()
    sys.modules |= stand_ins
    try:
        with patch.multiple(numpy, create=True, **lent), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    finally:
        for name in stand_ins:
            del sys.modules[name]


def distutils():
    """Return stand-ins for `distutils`, name -> module: it is gone in Python 3.12.

    MXNet only compares versions with it.
    """
    version = ModuleType("distutils.version")
    version.LooseVersion = version.StrictVersion = numbers
    return {"distutils": ModuleType("distutils"), "distutils.version": version}


def numbers(version):
    """Return the numbers of a version: of "1.10.0rc1", 1, 10, 0 and 1."""
    return [*map(int, re.findall(r"\d+", version))]


def synchronize():
    """Wait for MXNet's engine, which computes in threads of its own, on a CPU, too."""
    import mxnet

    mxnet.nd.waitall()


def state():
    import mxnet

    return {"gradients": mxnet.autograd.is_recording()}


def to_numpy(array):
    return array.asnumpy() if hasattr(array, "asnumpy") else None
