"""The teaching compiler: function -> Graph -> Graph -> source text -> callable.

    module      what it does                                                       notebook
    operations  OPERATIONS: what each operation computes, in Python and in C       04, 13
    graph       Node, Graph: a program as a graph, and all facts about it          04
    lines       lines of the user's program, for errors
    recorder    trace: function -> Graph                                           04
    passes      Graph -> Graph: fold, share, drop, fuse, plan memory               04
    codegen     Graph -> source text, in Python and in C                           04, 13, 22
    compiler    hybridize: all of these together; and their C without Python       08, 13
    guard       what is checked before each call, by guard.c                       13
    backend     the compiler as a backend of torch.compile                         13

A new operation is one entry in `operations.OPERATIONS`. If C has no function for it, write one in
prelude.c; if torch has other names for the operation, add them to `recorder.SYNONYMS`. A graph
holds no options: an operation that has some, such as the `dim` of softmax, gets a function in
`operations.LAYERS`, and so does a layer that consists of several operations. A new pass is a
function in `passes` that is called by `optimize`.

`torch` in here is PyTorch, or a stand-in if PyTorch is not installed, as in a browser: programs
of plain numbers are recorded, improved and run without it.
"""

from importlib.util import find_spec

from ..frameworks import FrameworkNotFound


class Absent(type):
    """The metaclass where torch is missing: every attribute is the class itself, and to call it
    raises FrameworkNotFound.
    """

    __file__ = __file__  # a package has one, too

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return cls

    def __call__(cls, *args, **kwargs):
        if cls.__base__ is object:
            raise FrameworkNotFound("torch", "Only programs of plain numbers work without it.")
        return super().__call__(*args, **kwargs)  # of a class made from it, such as Recorder


if find_spec("torch"):
    import torch as torch
else:

    class torch(metaclass=Absent):
        """Stands for PyTorch and all that is in it; as a context manager it does nothing."""

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass
