"""Which modules a recording used, and where each tensor is kept.

A function may reach its network in many ways: directly, through a decorator, a partial, a helper
or an object. In all of these Python runs a method of each module, and `sys.setprofile` reports
every function that Python runs. Notebook 01 explains `sys.setprofile`; torch.compile's guards are
built from what its tracer, Dynamo, has read.
"""

import sys
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


def has_parts(module):
    """False before `Module.__init__` has run, and for TorchScript modules: no dicts for parts."""
    return isinstance(vars(module).get("_modules"), dict)


def conditions(module, name):
    """What must stay as it is now in a module, beside its tensors."""
    name = name or type(module).__name__
    what, parts = "layers", module._modules
    if isinstance(module, (nn.ParameterList, nn.ParameterDict)):  # which may get more
        what, parts = "parameters", module._parameters
    # torch's own layers have no layers in them, and its containers may get some
    if parts or not is_torchs(module) or type(module).__module__.endswith(".container"):
        text = f"{name}: has the {what} {', '.join(parts) or 'none'}"
        yield Condition(text, parts, None, tuple(parts.values()))
    for place in (module._parameters, module._buffers):
        for key in [key for key, value in place.items() if value is None]:
            yield Condition(f"{name}: has no {key}", place, key)
    training = vars(module).get("training")
    if training is not None and reads_training(module):
        yield Condition(f"{name}: training is {training}", vars(module), "training", training)


def is_torchs(module):
    return type(module).__module__.startswith("torch.nn.modules.")


def reads_training(module):
    """Whether a layer may compute something else in training. Most of torch's own cannot."""
    code = getattr(type(module).forward, "__code__", None)
    return not is_torchs(module) or code is None or "training" in code.co_names


class Witness:
    """Notes which modules are used within its `with`.

    Of those of which a method was run, and of their parts, `conditions` then says what must stay
    as it is, and `places[id(tensor)]` where they keep a tensor: (name, dict, key) for each place.
    """

    def __init__(self):
        self.conditions: list[Condition] = []
        self.places: dict[int, list[tuple[str, dict, str]]] = {}
        self._used = {}  # modules, as a set in order

    def __enter__(self):
        self._before = sys.getprofile()
        sys.setprofile(self._on_call)
        return self

    def __exit__(self, *error):
        if hasattr(self._before, "enable"):  # cProfile, up to Python 3.11
            self._before.enable()
        else:  # a profiler written in C cannot be set from Python; it stays off
            sys.setprofile(self._before if callable(self._before) else None)
        parts = {}  # module -> its name within the outermost one
        for used in filter(has_parts, self._used):
            for name, part in used.named_modules():  # the function may read their attributes
                parts.setdefault(part, name)
        for part, name in parts.items():
            if has_parts(part):
                self.conditions += conditions(part, name)
                for place in (part._parameters, part._buffers, vars(part)):
                    for key, value in place.items():
                        if issubclass(type(value), Tensor):
                            found = self.places.setdefault(id(value), [])
                            found.append((f"{name}.{key}".lstrip("."), place, key))

    def _on_call(self, frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_argcount:
            owner = frame.f_locals.get(code.co_varnames[0])
            if issubclass(type(owner), nn.Module):
                self._used[owner] = True
