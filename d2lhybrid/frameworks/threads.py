"""Environment variables that say how many threads all frameworks may use, and how these wait.

Which variables one framework reads is said in its own file.
"""

import os
import sys

from . import jax, mxnet, numpy, paddle, pytorch, tensorflow

FILES = jax, mxnet, numpy, paddle, pytorch, tensorflow
THREADS = sorted({variable for file in FILES for variable in file.THREADS})
# How long idle threads wait actively for more work: those of GNU's OpenMP, which PyTorch has on
# Linux, of Intel's, of any OpenMP, and of NumPy's OpenBLAS.
WAITING = ["GOMP_SPINCOUNT", "KMP_BLOCKTIME", "OMP_WAIT_POLICY", "OPENBLAS_THREAD_TIMEOUT"]
SOON = {"GOMP_SPINCOUNT": "30000", "OPENBLAS_THREAD_TIMEOUT": "20"}  # for about a millisecond
AT_ONCE = {"GOMP_SPINCOUNT": "1000", "OPENBLAS_THREAD_TIMEOUT": "4"}  # hardly at all


def limit_threads(name: str, threads: int) -> None:
    """Let every framework use so many threads. RuntimeError if the one of this name is loaded."""
    wanted = dict.fromkeys(THREADS, str(threads))
    if name in sys.modules and not wanted.items() <= os.environ.items():
        # It reads them only when it is loaded.
        raise RuntimeError(f"{name} is loaded already; restart, and call import_framework first")
    os.environ |= wanted
