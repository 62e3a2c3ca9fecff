"""Which modules a recording used, and where each tensor is kept.

A function may reach its network in many ways: directly, through a decorator, a partial, a helper
or an object. In all of these Python runs a method of each module, and `sys.setprofile` reports
every function that Python runs. Notebook 01 explains `sys.setprofile`; torch.compile's guards are
built from what its tracer, Dynamo, has read.
"""

import sys
from collections.abc import Callable
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any, NamedTuple

from torch import Tensor, nn


class Condition(NamedTuple):
    """What must still be true of a dict in which a module keeps its parts; see guard.c."""

    text: str
    dict: dict
    key: str | None
    object: Any = None
    address: int | None = None
    in_order: bool = False


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


def has_parts(module):
    """False before `Module.__init__` has run, and for TorchScript modules: no dicts for parts."""
    return isinstance(vars(module).get("_modules"), dict)


def conditions(module, name):
    """What must stay as it is now in a module, beside its tensors."""
    name = name or type(module).__name__
    what, parts = "layers", module._modules
    if isinstance(module, (nn.ParameterList, nn.ParameterDict)):  # which may get more
        what, parts = "parameters", module._parameters
    if parts or not is_torchs_layer(module):
        text = f"{name}: has the {what} {', '.join(parts) or 'none'}"
        yield Condition(text, parts, None, tuple(parts.values()))
    for place in (module._parameters, module._buffers):
        for key in [key for key, value in place.items() if value is None]:
            yield Condition(f"{name}: has no {key}", place, key)
    training = vars(module).get("training")
    if training is not None and reads_training(module):
        yield Condition(f"{name}: training is {training}", vars(module), "training", training)


def is_torchs_layer(module):
    """Whether it is a layer of torch's own, which has no layers in it."""
    home = type(module).__module__
    return home.startswith("torch.nn.modules.") and not home.endswith(".container")


def reads_training(module):
    """Whether a layer may compute something else in training. Most of torch's own cannot."""
    code = getattr(type(module).forward, "__code__", None)
    own = type(module).__module__.startswith("torch.nn.modules.")
    return not own or code is None or "training" in code.co_names


class Witness:
    """Notes which modules are used within its `with`.

    Of those of which a method was run, and of their parts, `conditions` then says what must stay
    as it is, and `places_of(tensor)` where they, or the function's variables, keep a tensor.
    """

    def __init__(self, function: Callable):
        self.function = function
        self.conditions: list[Condition] = []
        self._used = {}  # modules, as a set in order
        self._places = {}  # id of a tensor -> its places

    def __enter__(self):
        self._before = sys.getprofile()
        sys.setprofile(self._on_call)
        return self

    def __exit__(self, *error):
        if hasattr(self._before, "enable"):  # cProfile, up to Python 3.11
            self._before.enable()
        else:  # a profiler written in C cannot be set from Python; it stays off
            sys.setprofile(self._before if callable(self._before) else None)
        for name, place, value in variables(self.function):
            self._note_tensor(value, place, name)
        parts = {}  # module -> its name within the outermost one
        for used in filter(has_parts, self._used):
            for name, part in used.named_modules():  # the function may read their attributes
                parts.setdefault(part, name)
        for part, name in parts.items():
            if has_parts(part):
                self.conditions += conditions(part, name)
                for place in (part._parameters, part._buffers, vars(part)):
                    for key, value in place.items():
                        self._note_tensor(value, place, key, f"{name}.")

    def places_of(self, tensor: Tensor) -> list[Place]:
        """All places of a tensor, which may have several names; [] where it has no place."""
        return list(self._places.get(id(tensor), {}).values())

    def _on_call(self, frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_argcount:
            owner = frame.f_locals.get(code.co_varnames[0])
            if issubclass(type(owner), nn.Module):
                self._used[owner] = True

    def _note_tensor(self, value, place, key, owner=""):
        if issubclass(type(value), Tensor):
            places = self._places.setdefault(id(value), {})
            places[id(place), key] = Place(f"{owner}{key}".lstrip("."), place, key)


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
