"""PaddlePaddle, which reads the bytecode or the source of a function. See notebook 17."""

import logging
import os
import warnings
from contextlib import contextmanager
from functools import wraps

SYSTEMS = ["Linux x86_64", "Darwin arm64", "Windows AMD64"]
THREADS = ["OMP_NUM_THREADS"]  # read when it is loaded


@contextmanager
def prepare():
    # Reports and warnings that C++ prints; errors become Python's all the same.
    os.environ.setdefault("GLOG_minloglevel", "2")
    if os.environ.get("OMP_NUM_THREADS") == "1":  # or programs run in threads of their own
        os.environ.setdefault("FLAGS_new_executor_serial_run", "1")
    # These filters stay: the second warning comes whenever a function is compiled.
    warnings.filterwarnings("ignore", message="No ccache found")
    warnings.filterwarnings("ignore", message="Tensor do not have 'place'")
    # Paddle makes every library's remarks visible, down to matplotlib's; we take that back.
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    refuse_what_is_no_number()


def refuse_what_is_no_number():
    """Let Paddle raise a TypeError where a recording needs one number and gets something else.

    Where that is an array, a list or a text, PaddlePaddle 3.3 ends the process, and a notebook
    would lose its kernel. It gets there when it records `x * array` with an array of NumPy's.
    """
    from paddle import in_dynamic_mode
    from paddle.tensor import creation

    fill = creation.fill_constant
    if hasattr(fill, "__wrapped__"):  # done before
        return

    @wraps(fill)
    def checked(shape, dtype, value, *args, **options):
        is_array = type(value).__module__ == "numpy" and value.ndim > 0
        if not in_dynamic_mode() and (
            is_array or isinstance(value, (str, list, tuple, type(None)))
        ):
            kind = type(value).__name__
            raise TypeError(
                f"a recording accepts tensors and numbers, not {kind}; see paddle.to_tensor"
            )
        return fill(shape, dtype, value, *args, **options)

    creation.fill_constant = checked


def to_numpy(array):
    import paddle

    if not isinstance(array, paddle.Tensor):
        return None
    if array.dtype == paddle.bfloat16:  # NumPy would get its bits, as whole numbers
        array = array.astype("float32")
    return array.numpy()


def state():
    import paddle

    return {"gradients": paddle.is_grad_enabled()}


def needs_gradients(array):
    import paddle

    return not array.stop_gradient if isinstance(array, paddle.Tensor) else None
