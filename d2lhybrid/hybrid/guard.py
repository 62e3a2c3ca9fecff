"""The guard in front of a compiled program: it asks at each call whether anything has changed.

Explained in notebook 12; torch.compile's guards do the same. The questions are asked in C, by
guard.c, which gets what it needs in the three structures below.
"""

import ctypes
from collections.abc import Callable
from ctypes import addressof, c_ssize_t, c_void_p, py_object
from functools import cache
from typing import Any

import torch
from torch import Tensor

from ..toolchain import load_library, read_c_file
from .inputs import READABLE
from .witness import Condition, Witness

GUARD_SOURCE = read_c_file(__file__, "guard.c")
"""The C text of the guard, as notebook 12 shows it."""

# What guard.c needs of Python: functions of Python's C interface, objects, names of attributes.
FUNCTIONS = """
    PyObject_Type PyObject_GetAttr PyObject_GetItem PyObject_Vectorcall PyDict_Next PyTuple_Size
    PyTuple_GetItem PyLong_AsVoidPtr PyLong_AsSsize_t Py_IncRef Py_DecRef PyErr_Clear
    PyErr_Occurred PyErr_ExceptionMatches PyEval_SaveThread PyEval_RestoreThread
"""
OBJECTS = {"True": True, "False": False, "Exception": Exception, "Tensor": Tensor}
OBJECTS |= {"float32": torch.float32}
OBJECTS |= {name: name for name in ("shape", "dtype", "is_cpu", "requires_grad")}
OBJECTS |= {"data_ptr": Tensor.data_ptr, "is_contiguous": Tensor.is_contiguous}
OBJECTS |= {"empty_like": torch.empty_like, "is_grad_enabled": torch.is_grad_enabled}

MAX_BATCHES = 1000  # sizes that a guard remembers; after that many the table is emptied


def fields(kind, names):
    """Fields of a struct that have the same type, as one line of C declares them."""
    return [(name, kind) for name in names.split()]


# The structs of guard.c, which says what each field means.


class PythonStruct(ctypes.Structure):
    _fields_ = fields(c_void_p, " ".join([FUNCTIONS, *OBJECTS]))


class ConditionStruct(ctypes.Structure):
    _fields_ = [*fields(c_void_p, "dict key object address"), ("in_order", c_ssize_t)]


class GuardStruct(ctypes.Structure):
    _fields_ = [
        *fields(c_void_p, "call_forward parameters"),
        *fields(c_ssize_t, "input_count result_count condition_count"),
        *fields(c_void_p, "conditions by_shape as_returned recompile"),
    ]


def struct_of(condition):
    """What guard.c is told of a condition."""
    _, dict, key, object, address, in_order = condition
    is_here = id(object) if address is None else None
    return ConditionStruct(id(dict), None if key is None else id(key), is_here, address, in_order)


class Guarded:
    """A compiled graph with a guard in front of it.

    The guard asks whether the network's parameters are at the recorded addresses and its layers
    are the recorded ones; whether the program can read each input; and, where torch keeps notes for
    gradients, whether a parameter requires one. If not, `recompile` gets the call. `call` is the
    guarded program, `holds` asks about the network alone, and `text` lists all questions but the
    one about gradients.

    Some changes it does not notice, because to ask for them would take too long at each call:
    a parameter that was made another view of its own memory (except for a transposed square
    matrix), an input in order that is stored with the other sign (torch._neg_view), a module with
    other dicts to keep its parts in, and what else Python would now decide in another way. After
    share_memory(), freed memory may be used by another parameter, and the guard cannot tell.
    """

    def __init__(self, witness: Witness, compiled: Any, recompile: Callable):
        """`compiled` is a CompiledGraph, and `witness` has watched its recording."""
        self.compiled = compiled
        # first input's shape -> second's -> ... -> n, and for each result a tensor of its shape
        self.by_shape = {}
        graph = compiled.graph
        self.conditions = asked = list(all_conditions(witness, compiled))
        inputs = [f"{node.name}: {node.type}, {READABLE}" for node in graph.inputs]
        self.text = "\n".join([*inputs, *[condition.text for condition in asked]])
        as_returned = compiled.as_returned if graph.container else None
        rows = (ConditionStruct * len(asked))(*map(struct_of, asked))
        guard = GuardStruct(
            call_forward=ctypes.cast(compiled.call_forward, c_void_p).value,
            parameters=addressof(compiled.table),
            input_count=len(graph.inputs),
            result_count=len(graph.results),
            condition_count=len(asked),
            conditions=addressof(rows),
            by_shape=id(self.by_shape),
            as_returned=id(as_returned) if as_returned else None,
            recompile=id(recompile),
        )
        # C keeps addresses: what lies there must live as long as the two functions
        alive = (addressof(guard), guard, rows, asked, compiled)
        alive += (self.by_shape, as_returned, recompile)
        library = guard_library()
        self.call, self.holds = (
            new_function(addressof(c_void_p.in_dll(library, method)), alive, None)
            for method in ("call_method", "holds_method")
        )

    def asks_for_gradients(self) -> list[str]:
        """The names of the parameters that require gradients now."""
        tensors = [one for one in self.conditions if one.address is not None]
        return [one.text.partition(":")[0] for one in tensors if one.dict[one.key].requires_grad]

    def expect(self, shapes: list[torch.Size]) -> None:
        """Let the guard pass inputs of these shapes from now on."""
        n = self.compiled.batch(shapes)
        # one number in memory is enough: only shape and type are asked for
        number = torch.zeros((), dtype=torch.float32, device="cpu")
        *others, last = shapes
        found = self.by_shape
        for shape in others:
            forget_if_full(found)
            found = found.setdefault(shape, {})
        forget_if_full(found)
        found[last] = (n, *[number.expand(shape) for shape in self.compiled.result_shapes(n)])


def forget_if_full(sizes):
    if len(sizes) >= MAX_BATCHES:
        sizes.clear()


def all_conditions(witness, compiled):
    """What must stay as it is: where the parameters lie, and what the witness has seen."""
    for node, tensor in zip(compiled.graph.parameters, compiled.parameters, strict=True):
        address, in_order = tensor.data_ptr(), transpose_has_same_shape(tensor)
        for name, place, key in witness.places[id(node.value)]:
            text = f"{name}: lies at {address:#x}" + ", in order" * in_order
            yield Condition(text, place, key, None, address, in_order)
    yield from witness.conditions


def transpose_has_same_shape(tensor):
    """Whether two of its sizes are equal: then it can be transposed, and keep its shape."""
    return len(set(tensor.shape)) < tensor.dim()


@cache
def guard_library():
    """guard.c, compiled, with its `python` filled in."""
    library = load_library(GUARD_SOURCE)
    python = PythonStruct.in_dll(library, "python")
    for name in FUNCTIONS.split():
        setattr(python, name, ctypes.cast(getattr(ctypes.pythonapi, name), c_void_p).value)
    for name, value in OBJECTS.items():
        setattr(python, name, id(value))
    return library


# Makes a function for Python from a `struct method` of guard.c, and from the object that it gets
# as its `self`.
new_function = ctypes.PYFUNCTYPE(py_object, c_void_p, py_object, c_void_p)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)
