"""JAX, which records a function and compiles the recording with XLA. See notebook 14."""

import logging
import sys
from contextlib import contextmanager
from functools import cache

SYSTEMS = ["Linux x86_64", "Linux aarch64", "Darwin arm64", "Windows AMD64"]
THREADS = ["NPROC"]  # read at its first operation


@contextmanager
def prepare():
    yield
    # Where there is a GPU that this JAX has no program for, its first operation would say so.
    logging.getLogger("jax._src.xla_bridge").addFilter(
        lambda record: "may be present on this machine" not in record.getMessage()
    )


def synchronize():
    """Wait for a number to be negated on each device.

    JAX can only wait for arrays, and what is timed may have dropped its result. But a device
    runs what one thread asks of it in order: after the negation, all else is done. It takes 5 us,
    or 0.1 ms if JAX's thread has to wake up.
    """
    import jax

    bridge = sys.modules.get("jax._src.xla_bridge")  # private, and may be gone one day
    started = getattr(bridge, "backends_are_initialized", lambda: True)
    if started():  # or no device was asked for anything, and the first call pays for the start
        jax.block_until_ready([-number for number in numbers()])


@cache
def numbers():
    """Return a number on each device, made once."""
    import jax

    return [jax.device_put(1.0, device) for device in jax.local_devices()]


def to_numpy(array):
    import jax

    if not isinstance(array, jax.Array):
        return None
    if jax.numpy.issubdtype(array.dtype, jax.dtypes.prng_key):  # the numbers of a random key
        array = jax.random.key_data(array)
    elif jax.numpy.issubdtype(array.dtype, jax.numpy.floating) and array.dtype.itemsize < 4:
        array = array.astype("float32")  # NumPy lacks some of these
    return jax.device_get(array)


def name_of(device):
    """Return "cpu" for a processor, which JAX calls TFRT_CPU_0 or cpu:0, and None for all else."""
    return "cpu" if device.startswith(("TFRT_CPU_", "cpu:")) else None
