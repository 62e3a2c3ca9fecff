"""TensorFlow, which records functions of its own operations. See notebook 15."""

import os
import re
import tempfile
from contextlib import contextmanager

SYSTEMS = ["Linux x86_64", "Linux aarch64", "Darwin arm64", "Windows AMD64"]
THREADS = ["TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"]  # read when it is loaded


@contextmanager
def prepare():
    # Reports on processor, GPU and compiler, which C++ prints; errors become Python's all the same.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with stderr_of_c_held_back():  # on some processors there is one before the level is read
        yield
    import tensorflow

    tensorflow.get_logger().setLevel("ERROR")  # advice on retracing, with addresses in memory


@contextmanager
def stderr_of_c_held_back():
    """Hold back what is written to file descriptor 2 in the block; show it if there is an error."""
    shown = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        except BaseException:
            held.seek(0)
            os.write(shown, held.read())
            raise
        finally:
            os.dup2(shown, 2)
            os.close(shown)


def synchronize():
    import tensorflow

    if tensorflow.config.list_physical_devices("GPU"):
        tensorflow.test.experimental.sync_devices()


def state():
    import tensorflow

    threads = tensorflow.config.threading.get_intra_op_parallelism_threads()
    threads = threads or int(os.environ.get("TF_NUM_INTRAOP_THREADS", 0))
    return {"threads": threads} if threads else {}  # 0 stands for its own choice


def unused_kinds(things):
    """Return the type of a tf.function, unless one of them has run: there are TensorFlow's own."""
    import tensorflow

    kind = type(tensorflow.function(lambda: None))
    return {kind} - {kind for f in things if type(f) is kind and f.experimental_get_tracing_count()}


def to_numpy(array):
    import tensorflow

    return array.numpy() if isinstance(array, (tensorflow.Tensor, tensorflow.Variable)) else None


def name_of(device):
    """Return "cpu" or "gpu:0" for a name such as "/job:localhost/replica:0/task:0/device:GPU:0".

    None for a name of another form.
    """
    found = re.fullmatch(r"/job:.*/device:(\w+):(\d+)", device)
    if not found:
        return None
    kind, number = found.groups()
    return "cpu" if kind == "CPU" else f"{kind.lower()}:{number}"
