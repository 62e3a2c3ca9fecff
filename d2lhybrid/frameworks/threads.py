"""How many threads each framework is given."""

import os
import sys

# Read by the frameworks when they are loaded, or by JAX at its first operation.
THREADS = [
    "OMP_NUM_THREADS",  # PyTorch, MXNet, PaddlePaddle
    "OPENBLAS_NUM_THREADS",  # NumPy
    "MKL_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",  # TensorFlow
    "TF_NUM_INTEROP_THREADS",
    "NPROC",  # JAX
]
# How long idle threads wait actively for more work: those of GNU's OpenMP, which PyTorch has on
# Linux, of Intel's, of any OpenMP, and of NumPy's OpenBLAS.
WAITING = ["GOMP_SPINCOUNT", "KMP_BLOCKTIME", "OMP_WAIT_POLICY", "OPENBLAS_THREAD_TIMEOUT"]
SOON = {"GOMP_SPINCOUNT": "30000", "OPENBLAS_THREAD_TIMEOUT": "20"}  # for about a millisecond
AT_ONCE = {"GOMP_SPINCOUNT": "1000", "OPENBLAS_THREAD_TIMEOUT": "4"}  # hardly at all


def limit_threads(name: str, threads: int) -> None:
    """Give the framework of this name so many threads. RuntimeError if it is loaded already."""
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise ValueError(f"threads must be a whole number, 1 or more, not {threads!r}")
    wanted = dict.fromkeys(THREADS, str(threads))
    if name in sys.modules and not wanted.items() <= os.environ.items():
        raise RuntimeError(
            f"{name} is loaded already, and reads its number of threads only then; restart the "
            "kernel, and call import_framework first"
        )
    os.environ |= wanted


def threads_in(variable: str) -> dict[str, int]:
    """The state that an environment variable sets: {"threads": 2}, or {} if it is no number."""
    number = os.environ.get(variable, "")
    return {"threads": int(number)} if number.isdecimal() else {}
