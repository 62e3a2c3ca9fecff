"""NumPy."""

THREADS = ["OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]  # read when it is loaded


def state():
    """Return {"threads": those of its linear algebra}, or {} where that can't be found out."""
    from threadpoolctl import threadpool_info

    counts = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {"threads": max(counts)} if counts else {}


def random_state():
    import numpy

    _, numbers, position, *_ = numpy.random.get_state()
    return numbers.tobytes() + str(position).encode()
