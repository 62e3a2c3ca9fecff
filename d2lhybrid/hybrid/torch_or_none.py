"""`torch`, or what stands in its place where it is not installed, as in a browser.

Programs of numbers are recorded, improved and run without it: no value is a tensor then.
"""

from importlib.util import find_spec

from ..frameworks import FrameworkNotFound


class Absent(type):
    """A class in which every name is the class itself. No value is one, and a call is refused."""

    __file__ = __file__  # a package has one, too

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return cls

    def __call__(cls, *args, **kwargs):
        if cls.__base__ is object:
            raise FrameworkNotFound("torch", "Only programs of numbers can do without it.")
        return super().__call__(*args, **kwargs)  # of a class made from it, such as Recorder

    def __instancecheck__(cls, value):
        return False

    def __subclasscheck__(cls, kind):
        return False


if find_spec("torch"):
    import torch
else:

    class torch(metaclass=Absent):
        """Stands for PyTorch and all that is in it, also for a mode of which no call takes note."""

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass


__all__ = ["torch"]
