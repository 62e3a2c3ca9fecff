"""The guard in front of a compiled program: it checks at each call whether anything has changed.

Explained in notebook 13; torch.compile's guards do the same, built from what its tracer, Dynamo,
has read. A `ModuleTracker` finds out what to check, while a function is recorded; guard.c checks
it, and gets what it needs in the three structures below.
"""

import ctypes
import re
from collections.abc import Callable
from ctypes import addressof, c_ssize_t, c_void_p, py_object
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..toolchain import load_library, read_c_file
from .lines import ProfileHook

GUARD_SOURCE = read_c_file(__file__, "guard.c")
"""The C text of the guard, as notebook 13 shows it."""

# What Inductor's own programs call: it makes a tensor with numbers in memory whatever mode torch is
# in, and takes half as long as torch.empty.
EMPTY = torch._C._dynamo.guards._empty_strided_cpu

READABLE = "on the CPU, aligned, in order, without gradients"


# What must not change -----------------------------------------------------------------------


class GuardCondition(NamedTuple):
    """What must still be true of a dict in which a module keeps its parts; see guard.c.

    `text` says it in words. Without a `key`, the values of `dict` must be those in `object`. With
    one, and an `address`, `dict[key]` must be a tensor there, contiguous if `in_order`; without an
    address, `dict[key]` must be `object` itself.
    """

    text: str
    dict: dict
    key: str | None
    object: Any = None
    address: int | None = None
    in_order: bool = False


class ModuleTracker(ProfileHook):
    """Finds out which modules a recording uses, within its `with`, and where they keep tensors.

    A function may reach its network in many ways: directly, through a decorator, a partial, a
    helper or an object. In all of these Python runs a method of each module.

    Of the modules of which a method was run, and of their parts, `conditions` then says what must
    stay as it is, and `places[id(tensor)]` where they keep a tensor: (name, dict, key) for each.
    """

    def __init__(self):
        self.conditions: list[GuardCondition] = []
        self.places: dict[int, list[tuple[str, dict, str]]] = {}
        self._used = {}  # modules, as a set in order

    def __exit__(self, *error):
        super().__exit__(*error)
        parts = {}  # module -> its name within the outermost one
        for used in filter(is_module, self._used):
            for name, part in used.named_modules():  # the function may read their attributes
                parts.setdefault(part, name)
        for part, name in parts.items():
            if is_module(part):
                self.conditions += conditions(part, name)
                for place in (part._parameters, part._buffers, vars(part)):
                    for key, value in place.items():
                        if issubclass(type(value), Tensor):
                            found = self.places.setdefault(id(value), [])
                            found.append((f"{name}.{key}".lstrip("."), place, key))

    def on_event(self, frame, event, argument):
        """Keep the module of which a method begins to run."""
        code = frame.f_code
        if event == "call" and code.co_argcount:
            owner = frame.f_locals.get(code.co_varnames[0])
            if issubclass(type(owner), nn.Module):
                self._used[owner] = True


def is_module(module):
    """Return whether a module keeps its parts in dicts.

    It does not before `Module.__init__` has run, and a TorchScript module never does.
    """
    return isinstance(vars(module).get("_modules"), dict)


def conditions(module, name):
    """Yield a GuardCondition for all that must stay as it is in a module, beside its tensors."""
    name, kind = name or type(module).__name__, type(module)
    is_torchs = kind.__module__.startswith("torch.nn.modules.")
    what, parts = "layers", module._modules
    if isinstance(module, (nn.ParameterList, nn.ParameterDict)):  # which may get more
        what, parts = "parameters", module._parameters
    # torch's own layers have no layers in them, and its containers may get some
    if parts or not is_torchs or kind.__module__.endswith(".container"):
        text = f"{name}: has the {what} {', '.join(parts) or 'none'}"
        yield GuardCondition(text, parts, None, tuple(parts.values()))
    for place in (module._parameters, module._buffers):
        for key in [key for key, value in place.items() if value is None]:
            yield GuardCondition(f"{name}: has no {key}", place, key)
    # most of torch's own layers compute the same in training
    code = getattr(kind.forward, "__code__", None)
    if "training" in vars(module) and not (is_torchs and code and "training" not in code.co_names):
        text = f"{name}: training is {module.training}"
        yield GuardCondition(text, vars(module), "training", module.training)


def all_conditions(tracker, compiled):
    """Yield what must stay as it is: where the parameters lie, and what the tracker has seen."""
    for node, tensor in zip(compiled.graph.parameters, compiled.parameters, strict=True):
        # if two sizes are equal, it can be transposed, and keep its shape
        address, in_order = tensor.data_ptr(), len(set(tensor.shape)) < tensor.dim()
        for name, place, key in tracker.places[id(node.value)]:
            text = f"{name}: lies at {address:#x}" + ", in order" * in_order
            yield GuardCondition(text, place, key, None, address, in_order)
    yield from tracker.conditions


# What guard.c is told -----------------------------------------------------------------------

# Functions of Python's C interface, objects, names of attributes.
FUNCTIONS = re.findall(r"\(\*(Py\w+)\)", GUARD_SOURCE)
OBJECTS = {"True": True, "False": False, "Exception": Exception, "Tensor": Tensor}
OBJECTS |= {"float32": torch.float32}
OBJECTS |= {name: name for name in ("shape", "dtype", "is_cpu", "requires_grad")}
OBJECTS |= {"data_ptr": Tensor.data_ptr, "is_contiguous": Tensor.is_contiguous}
OBJECTS |= {"is_grad_enabled": torch.is_grad_enabled}
OBJECTS |= {"empty_strided_cpu": EMPTY}


def fields(kind, names):
    """Return ctypes' list of fields of one type, whose names one line of C declares."""
    return [(name, kind) for name in names.split()]


# The structs of guard.c, which says what each field means.


class PythonStruct(ctypes.Structure):
    _fields_ = fields(c_void_p, " ".join([*FUNCTIONS, *OBJECTS]))


class ConditionStruct(ctypes.Structure):
    _fields_ = [*fields(c_void_p, "dict key object address"), ("in_order", c_ssize_t)]


class GuardStruct(ctypes.Structure):
    _fields_ = [
        *fields(c_void_p, "call_forward parameters"),
        *fields(c_ssize_t, "input_count result_count condition_count"),
        *fields(c_void_p, "conditions by_shape as_returned recompile"),
    ]


def struct_of(condition):
    """Return a GuardCondition as guard.c reads it."""
    _, dict, key, object, address, in_order = condition
    is_here = id(object) if address is None else None
    return ConditionStruct(id(dict), None if key is None else id(key), is_here, address, in_order)


@cache
def guard_library():
    """Return guard.c as a loaded library, compiled once, with its `python` filled in."""
    library = load_library(GUARD_SOURCE)
    python = PythonStruct.in_dll(library, "python")
    for name in FUNCTIONS:
        setattr(python, name, ctypes.cast(getattr(ctypes.pythonapi, name), c_void_p).value)
    for name, value in OBJECTS.items():
        setattr(python, name, id(value))
    return library


# Makes a function for Python from a `struct method` of guard.c, and from the object that it gets
# as its `self`.
new_function = ctypes.PYFUNCTYPE(py_object, c_void_p, py_object, c_void_p)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)


class Guarded:
    """A compiled graph with a guard in front of it.

    The guard checks whether the network's parameters are at the recorded addresses and its layers
    are the recorded ones; whether the program can read each input; and, where torch keeps notes for
    gradients, whether a parameter requires one. If not, `recompile` gets the call. `call` is the
    guarded program, `holds` checks the network alone, and `text` lists all conditions but the
    one about gradients.

    Some changes it does not notice, because to check them would take too long at each call:
    a parameter that was made another view of its own memory (except for a transposed square
    matrix), an input in order that is stored with the other sign (torch._neg_view), a module with
    other dicts to keep its parts in, and what else Python would now decide in another way. After
    share_memory(), freed memory may be used by another parameter, and the guard cannot tell.
    """

    def __init__(self, tracker: ModuleTracker, compiled: Any, recompile: Callable):
        """`tracker` has watched the recording of `compiled`, a CompiledGraph.

        `recompile(*inputs)` runs each call that the guard rejects, and returns its result.
        """
        self.compiled = compiled
        # first input's shape -> second's -> ... -> n, and for each result sizes, strides and dtype
        self.by_shape = {}
        graph = compiled.graph
        self.conditions = list(all_conditions(tracker, compiled))
        inputs = [f"{node.name}: {node.type}, {READABLE}" for node in graph.inputs]
        self.text = "\n".join([*inputs, *[condition.text for condition in self.conditions]])
        as_returned = compiled.as_returned if graph.container else None
        rows = (ConditionStruct * len(self.conditions))(*map(struct_of, self.conditions))
        guard = GuardStruct(
            call_forward=ctypes.cast(compiled.call_forward, c_void_p).value,
            parameters=addressof(compiled.table),
            input_count=len(graph.inputs),
            result_count=len(graph.results),
            condition_count=len(self.conditions),
            conditions=addressof(rows),
            by_shape=id(self.by_shape),
            as_returned=id(as_returned) if as_returned else None,
            recompile=id(recompile),
        )
        # C keeps addresses: what lies there must live as long as the two functions
        alive = (addressof(guard), guard, rows, self.conditions, compiled)
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
        found = self.by_shape
        for shape in shapes[:-1]:
            found = found.setdefault(shape, {})
        found[shapes[-1]] = (n, *self.compiled.arguments_of_empty(n))
