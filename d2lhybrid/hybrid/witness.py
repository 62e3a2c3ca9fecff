"""What a recording went through: the modules, as they were then, and where each tensor is kept.

A program may reach its network in many ways: as itself, through a decorator, a partial, a helper,
an object. None of them needs to be understood: whichever way it goes, Python runs a method of each
module on it, and `sys.setprofile` tells of each function that Python runs (see notebook 01).
"""

import sys
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import NamedTuple

from torch import Tensor, nn


class Seen(NamedTuple):
    """A module as it was when the recording first came to it."""

    name: str  # within the outermost module
    layers: tuple[nn.Module, ...]
    parameters: tuple[Tensor, ...] | None  # for ParameterList and ParameterDict, which may get more
    missing: tuple[tuple[dict, str], ...]  # dict[key] is None, such as the bias of a layer
    training: bool | None  # None where the module does not keep it


class Place(NamedTuple):
    """Where a tensor is kept: dict[key]."""

    name: str
    dict: dict
    key: str


class Variable:
    """A variable of an enclosing function, to be looked up as in a dict."""

    def __init__(self, cell):
        self.cell = cell

    def __getitem__(self, name):
        try:
            return self.cell.cell_contents
        except ValueError:
            raise KeyError(name) from None  # it has no value


def seen(module, name):
    """A module as it is now."""
    kept = (module._parameters, module._buffers)
    missing = [(place, key) for place in kept for key, value in [*place.items()] if value is None]
    layers, training = tuple(module._modules.values()), vars(module).get("training")
    is_list = isinstance(module, (nn.ParameterList, nn.ParameterDict))
    parameters = tuple(module._parameters.values()) if is_list else None
    return Seen(name, layers, parameters, tuple(missing), training)


def has_parts(module):
    """Whether it keeps its parts in dicts: not before its __init__, nor in TorchScript."""
    return isinstance(vars(module).get("_modules"), dict)


class Witness:
    """Sees what a recording goes through, while it is entered.

    `modules` are those of which a method was run, and their parts, each with what was `Seen` of it.
    `places_of(tensor)` says where they, or the function's variables, keep a tensor.
    """

    def __init__(self, function):
        self.modules = {}  # module -> Seen
        self._places = {}  # id of a tensor -> that tensor, so that no other gets its id; places
        for name, place, value in variables(function):
            self._note(value, place, name)

    def __enter__(self):
        self._before = sys.getprofile()
        sys.setprofile(self._look)
        return self

    def __exit__(self, *error):
        if hasattr(self._before, "enable"):  # cProfile, up to Python 3.11
            self._before.enable()
        else:  # Python cannot set another profiler that is written in C; it stays off
            sys.setprofile(self._before if callable(self._before) else None)

    def places_of(self, tensor):
        """All places of a tensor: it may have several names. None, where it was seen nowhere."""
        return list(self._places.get(id(tensor), (tensor, {}))[1].values())

    def _look(self, frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_argcount:
            owner = frame.f_locals.get(code.co_varnames[0])
            if issubclass(type(owner), nn.Module) and has_parts(owner):
                self._see(owner)

    def _see(self, module):
        if module not in self.modules:  # its parts, too: a program may look at them from outside
            for name, part in module.named_modules():
                if part not in self.modules and has_parts(part):
                    self.modules[part] = seen(part, name)
                    self._note_tensors(part)
        self._note_tensors(module)  # each time, for one may have been replaced since

    def _note_tensors(self, module):
        for place in (module._parameters, module._buffers, vars(module)):
            for key, value in [*place.items()]:
                self._note(value, place, key, self.modules[module].name)

    def _note(self, value, place, key, owner=""):
        if issubclass(type(value), Tensor):
            _, places = self._places.setdefault(id(value), (value, {}))
            places[id(place), key] = Place(f"{owner}.{key}".lstrip("."), place, key)


# Variables of functions ---------------------------------------------------------------------


def variables(function):
    """The global variables that a function mentions, and those of enclosing functions.

    As (name, dict, value), where dict[name] is the variable. Functions among the values are looked
    through, too, and so are methods and partials.
    """
    visited, waiting = set(), [function]
    while waiting:
        one = waiting.pop()
        while type(one) in (MethodType, partial):
            one = one.__func__ if type(one) is MethodType else one.func
        if type(one) is not FunctionType or one in visited or leads_nowhere(one):
            continue
        visited.add(one)
        places = [(name, one.__globals__) for name in names(one.__code__)]
        places += zip(one.__code__.co_freevars, map(Variable, one.__closure__ or ()))
        for name, place in places:
            try:
                value = place[name]
            except KeyError:  # the name of an attribute, or a variable without a value
                continue
            waiting.append(value)
            yield name, place, value


def names(code):
    """The names that code mentions, and those that functions defined in it mention."""
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    return [*code.co_names, *[name for one in inner for name in names(one)]]


def leads_nowhere(function):
    """Whether it is torch's own. A wrapper of torch's, such as no_grad's, leads to the user's."""
    name = function.__globals__.get("__name__", "")
    return name.startswith("torch.") and function.__closure__ is None
