"""Which modules a recording used, in what state they were, and where each tensor is kept.

A function may reach its network in many ways: directly, through a decorator, a partial, a helper
or an object. In all of these Python runs a method of each module, and `sys.setprofile` reports
every function that Python runs. Notebook 01 explains `sys.setprofile`; torch.compile's guards are
built from what its tracer, Dynamo, has read.
"""

import sys
from collections.abc import Callable
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import NamedTuple

from torch import Tensor, nn


class ModuleState(NamedTuple):
    """The state of a module when the recording first used it."""

    name: str  # within the outermost module
    layers: tuple[nn.Module, ...]
    parameters: tuple[Tensor, ...] | None  # of a ParameterList or ParameterDict, which may get more
    missing: tuple[tuple[dict, str], ...]  # dict[key] is None, such as the bias of a layer
    training: bool | None  # None where the module has no such attribute


class Place(NamedTuple):
    """Where a tensor is kept: dict[key]."""

    name: str
    dict: dict
    key: str


class Variable:
    """A variable of an enclosing function, which can be looked up as in a dict."""

    def __init__(self, cell):
        self.cell = cell

    def __getitem__(self, name):
        try:
            return self.cell.cell_contents
        except ValueError:
            raise KeyError(name) from None  # it has no value


def state_of(module, name):
    """The state of a module now."""
    kept = (module._parameters, module._buffers)
    missing = [(place, key) for place in kept for key, value in [*place.items()] if value is None]
    layers, training = tuple(module._modules.values()), vars(module).get("training")
    is_list = isinstance(module, (nn.ParameterList, nn.ParameterDict))
    parameters = tuple(module._parameters.values()) if is_list else None
    return ModuleState(name, layers, parameters, tuple(missing), training)


def has_parts(module):
    """False before `Module.__init__` has run, and for TorchScript modules: no dicts for parts."""
    return isinstance(vars(module).get("_modules"), dict)


class Witness:
    """Notes which modules are used within its `with`.

    `modules` are those of which a method was run, and their parts, each with its `ModuleState`.
    `places_of(tensor)` says where they, or the function's variables, keep a tensor.
    """

    def __init__(self, function: Callable):
        self.modules = {}  # module -> ModuleState
        # id of a tensor -> the tensor, which is kept so that no other gets its id, and its places
        self._places = {}
        for name, place, value in variables(function):
            self._note_tensor(value, place, name)

    def __enter__(self):
        self._before = sys.getprofile()
        sys.setprofile(self._on_call)
        return self

    def __exit__(self, *error):
        if hasattr(self._before, "enable"):  # cProfile, up to Python 3.11
            self._before.enable()
        else:  # a profiler written in C cannot be set from Python; it stays off
            sys.setprofile(self._before if callable(self._before) else None)

    def places_of(self, tensor: Tensor) -> list[Place]:
        """All places of a tensor, which may have several names; [] where it has no place."""
        return list(self._places.get(id(tensor), (tensor, {}))[1].values())

    def _on_call(self, frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_argcount:
            owner = frame.f_locals.get(code.co_varnames[0])
            if issubclass(type(owner), nn.Module) and has_parts(owner):
                self._note_module(owner)

    def _note_module(self, module):
        if module not in self.modules:  # and its parts: the function may read their attributes
            for name, part in module.named_modules():
                if part not in self.modules and has_parts(part):
                    self.modules[part] = state_of(part, name)
                    self._note_tensors_of(part)
        self._note_tensors_of(module)  # each time: a tensor may have been replaced since

    def _note_tensors_of(self, module):
        for place in (module._parameters, module._buffers, vars(module)):
            for key, value in [*place.items()]:
                self._note_tensor(value, place, key, self.modules[module].name)

    def _note_tensor(self, value, place, key, owner=""):
        if issubclass(type(value), Tensor):
            _, places = self._places.setdefault(id(value), (value, {}))
            places[id(place), key] = Place(f"{owner}.{key}".lstrip("."), place, key)


# Variables of functions ---------------------------------------------------------------------


def variables(function):
    """The global variables that a function mentions, and those of enclosing functions.

    Yields (name, dict, value), where dict[name] is the variable. Functions, methods and partials
    among the values are searched, too.
    """
    visited, waiting = set(), [function]
    while waiting:
        found = waiting.pop()
        while type(found) in (MethodType, partial):
            found = found.__func__ if type(found) is MethodType else found.func
        if type(found) is not FunctionType or found in visited or is_torchs_own(found):
            continue
        visited.add(found)
        code, closure = found.__code__, found.__closure__ or ()
        places = [(name, found.__globals__) for name in names_in_code(code)]
        places += zip(code.co_freevars, map(Variable, closure), strict=True)
        for name, place in places:
            try:
                value = place[name]
            except KeyError:  # the name of an attribute, or a variable without a value
                continue
            waiting.append(value)
            yield name, place, value


def names_in_code(code):
    """The names that code mentions, and those that functions defined in it mention."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return [*code.co_names, *[name for part in inner for name in names_in_code(part)]]


def is_torchs_own(function):
    """Whether a function is torch's own, and does not wrap a user's function as `no_grad` does."""
    name = function.__globals__.get("__name__", "")
    return name.startswith("torch.") and function.__closure__ is None
