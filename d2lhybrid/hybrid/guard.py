"""The guard in front of a compiled program: guard.c, and what it has to know of the network."""

import ctypes
from ctypes import addressof, c_void_p, py_object
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from .codegen import parameters_of
from .toolchain import array, load

SOURCE = Path(__file__).with_name("guard.c").read_text(encoding="utf-8")

# What stands in `python`, in guard.c, in the same order.
FUNCTIONS = """
    PyObject_Type PyObject_GetAttr PyObject_GetItem PyObject_Vectorcall PyDict_Next PyTuple_Size
    PyTuple_GetItem PyLong_AsVoidPtr PyLong_AsSsize_t Py_IncRef Py_DecRef PyErr_Clear
    PyErr_Occurred PyErr_ExceptionMatches PyEval_SaveThread PyEval_RestoreThread
"""
OBJECTS = [True, False, Exception, Tensor, torch.float32]
OBJECTS += ["shape", "dtype", "is_cpu", "requires_grad"]
OBJECTS += [Tensor.data_ptr, Tensor.is_contiguous, torch.empty_like]


MAX_BATCHES = 1000  # sizes that a guard remembers; then it forgets all, and learns again
READABLE = "on the CPU, in order, without gradients"


class Condition(NamedTuple):
    """What must still be true of a dict in which a module keeps its parts.

    With an address: dict[key] is a tensor that lies there, its numbers perhaps one behind the
    other. Without: dict[key] is the very `object`, or, if there is no key either, this is the
    tuple of the dict's values.
    """

    text: str
    dict: dict
    key: str | None
    object: object = None
    address: int | None = None
    in_order: bool = False

    def words(self):
        """A `struct condition` of guard.c, whose members are addresses and whole numbers."""
        key = None if self.key is None else id(self.key)
        expected = id(self.object) if self.address is None else None
        return [id(self.dict), key, expected, self.address, self.in_order]


class Guarded:
    """A program behind a guard.

    The guard asks of the network whether its parameters lie where they lay and its layers are
    those that were recorded, and of each input whether the program can read it. If not, `recompile`
    gets the call. `call` is the guarded program, `holds` asks of the network alone, and `text`
    says what is asked.

    It does not see what would take too long to ask at each call: whether a parameter was made
    another view of its own memory, whether an input in order is stored with the other sign
    (torch._neg_view), whether a module was given other dicts to keep its parts in, or what else
    Python would decide now. Of such views it sees one, a transposed matrix that still fits. After
    share_memory(), freed memory may be used by another parameter, and the guard cannot tell.
    """

    def __init__(self, seen, program, recompile):
        self.program, self.like = program, {}
        graph, asked = program.graph, list(conditions(seen, program))
        inputs = [f"{node.name}: {node.type}, {READABLE}" for node in graph.inputs]
        self.text = "\n".join([*inputs, *[condition.text for condition in asked]])
        pack = program.pack if graph.container else None
        rows = array([word for condition in asked for word in condition.words()])
        guard = array(
            [  # a `struct guard`
                ctypes.cast(program.call_forward, c_void_p).value,
                addressof(program.table),
                *(len(graph.inputs), len(program.results), len(asked)),
                addressof(rows),
                *(id(self.like), id(pack) if pack else None, id(recompile)),
            ]
        )
        # C counts on all that has an address there to live as long as the functions
        alive = (addressof(guard), guard, rows, asked, program, self.like, pack, recompile)
        library = guard_library()
        self.call, self.holds = (
            new_function(addressof(c_void_p.in_dll(library, method)), alive, None)
            for method in ("call_method", "holds_method")
        )

    def expect(self, shapes):
        """Let the guard pass inputs of these shapes: all else is known of them.

        But not a single number: it is always in order, even if it is stored with another sign.
        """
        if any(shape.numel() == 1 for shape in shapes):
            return
        n = self.program.batch(shapes)
        # one number for all: only shape and type are asked for
        one = torch.zeros((), dtype=torch.float32, device="cpu")
        likes = [one.expand(shape) for shape in self.program.result_shapes(n)]
        *others, last = shapes
        found = self.like
        for shape in others:
            forget_if_full(found)
            found = found.setdefault(shape, {})
        forget_if_full(found)
        found[last] = (n, *likes)


def forget_if_full(sizes):
    if len(sizes) >= MAX_BATCHES:
        sizes.clear()


def conditions(seen, program):
    """The conditions under which the program computes what the network would.

    They describe the modules as they were when they were recorded: `seen` is the `Witness` of that.
    What has been replaced since then does not fulfil them.
    """
    for node, tensor in zip(parameters_of(program.graph), program.parameters):
        address, in_order = tensor.data_ptr(), could_turn(tensor)
        for place in seen.places_of(node.value):
            text = f"{place.name}: lies at {address:#x}" + ", in order" * in_order
            yield Condition(text, place.dict, place.key, None, address, in_order)
    for module, was in seen.modules.items():
        name = was.name or type(module).__name__
        if was.layers or not is_torchs_layer(module):
            layers = ", ".join(module._modules) or "none"
            yield Condition(f"{name}: has the layers {layers}", module._modules, None, was.layers)
        if was.parameters is not None:
            keys = ", ".join(module._parameters) or "none"
            yield Condition(
                f"{name}: has the parameters {keys}", module._parameters, None, was.parameters
            )
        for place, key in was.missing:
            yield Condition(f"{name}: has no {key}", place, key)
        if was.training is not None and reads_training(module):
            text = f"{name}: training is {was.training}"
            yield Condition(text, vars(module), "training", was.training)


def could_turn(tensor):
    """Whether its sizes stay the same in another order: a transposed square matrix still fits."""
    return len(set(tensor.shape)) < tensor.dim()


def is_torchs_layer(module):
    """Whether it is a layer of torch's own, which no one puts other layers in."""
    home = type(module).__module__
    return home.startswith("torch.nn.modules.") and not home.endswith(".container")


def reads_training(module):
    """Whether a layer may do something else in training; most of torch's own cannot."""
    code = getattr(type(module).forward, "__code__", None)
    own = type(module).__module__.startswith("torch.nn.modules.")
    return not own or code is None or "training" in code.co_names


def is_readable(tensor):
    """Whether C finds the numbers of a float32 tensor in memory, in order, and as they are."""
    in_order = tensor.is_cpu and tensor.is_contiguous() and not tensor.is_neg()
    address = tensor.data_ptr() if in_order else None
    return in_order and address % 4 == 0 and (address != 0 or tensor.numel() == 0)


def admitted(tensor):
    """The tensor, contiguous; TypeError or RuntimeError for one that cannot be computed with."""
    ordinary = type(tensor) in (Tensor, nn.Parameter)
    if not ordinary or tensor.layout is not torch.strided:
        kind = tensor.layout if ordinary else type(tensor).__name__
        raise TypeError(f"an input must be a tensor of the ordinary kind, not {kind}")
    if tensor.dtype != torch.float32 or not tensor.is_cpu:
        raise TypeError(
            "an input must be of type float32 and on the CPU, not "
            f"{str(tensor.dtype).removeprefix('torch.')} on {tensor.device}"
        )
    if tensor.requires_grad and torch.is_grad_enabled():
        raise RuntimeError(
            "an input requires gradients, which the compiled program would lose; call it under "
            "torch.no_grad(), or with input.detach()"
        )
    tensor = tensor.detach().contiguous().resolve_neg()
    return tensor.clone() if tensor.data_ptr() % 4 else tensor


@cache
def guard_library():
    """guard.c, compiled and told of Python."""
    library = load(SOURCE)
    functions = [getattr(ctypes.pythonapi, name) for name in FUNCTIONS.split()]
    words = [ctypes.cast(function, c_void_p).value for function in functions]
    words += map(id, OBJECTS)
    (c_void_p * len(words)).in_dll(library, "python")[:] = words
    return library


# Makes a function of Python's, of what C calls a method, and the object that it belongs to.
new_function = ctypes.PYFUNCTYPE(py_object, c_void_p, py_object, c_void_p)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)
