"""PaddlePaddle, which reads the bytecode or the source of a function. See notebook 12."""

import logging
import os
import warnings
from contextlib import contextmanager

SYSTEMS = ["Linux x86_64", "Darwin arm64", "Windows AMD64"]


@contextmanager
def prepare():
    handlers, level = [*logging.root.handlers], logging.root.level
    os.environ.setdefault("GLOG_minloglevel", "1")  # no reports on its executor, which C++ prints
    # These filters stay: the second warning comes whenever a function is compiled.
    warnings.filterwarnings("ignore", message="No ccache found")
    warnings.filterwarnings("ignore", message="Tensor do not have 'place'")
    yield
    # Paddle would have everybody's reports printed, not only its own.
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


def state():
    import paddle

    return {"gradients": paddle.is_grad_enabled()}


def to_numpy(array):
    import paddle

    if not isinstance(array, paddle.Tensor):
        return None
    if array.dtype == paddle.bfloat16:  # NumPy would get its bits, as whole numbers
        array = array.astype("float32")
    return array.numpy()
