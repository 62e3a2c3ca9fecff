"""MXNet, the framework in which the book's section was first written."""


def to_numpy(array):
    return array.asnumpy() if hasattr(array, "asnumpy") else None
