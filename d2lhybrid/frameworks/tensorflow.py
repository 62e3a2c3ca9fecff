"""TensorFlow, which records functions of its own operations. See notebook 11."""

import os
import re
from contextlib import contextmanager

SYSTEMS = ["Linux x86_64", "Linux aarch64", "Darwin arm64", "Windows AMD64"]


@contextmanager
def prepare():
    # Reports on processor, GPU and compiler, which C++ prints; errors become Python's all the same.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with silent_c():
        yield
    import tensorflow

    tensorflow.get_logger().setLevel("ERROR")  # advice on retracing, with addresses in memory


@contextmanager
def silent_c():
    """A block in which C writes nothing to stderr. One report on oneDNN has no level."""
    before = os.dup(2)
    try:
        with open(os.devnull, "w") as nothing:
            os.dup2(nothing.fileno(), 2)
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)


def to_numpy(array):
    import tensorflow

    return array.numpy() if isinstance(array, (tensorflow.Tensor, tensorflow.Variable)) else None


def name_of(device):
    """Of "/job:localhost/replica:0/task:0/device:CPU:0" the end."""
    found = re.fullmatch(r"/job:.*/device:(\w+):(\d+)", device)
    if not found:
        return None
    kind, number = found.groups()
    return "cpu" if kind == "CPU" else f"{kind.lower()}:{number}"
