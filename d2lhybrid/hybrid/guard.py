"""The guard: a Python function in front of a compiled one, written as text for it alone."""

import ctypes

import torch
from torch import Tensor

from .codegen import packed, parameters_of
from .recorder import modules_of

GUARD = """\
def call({arguments}):
    try:
        n, {likes} = like[{shapes}]
        if not (
            {inputs_hold}
            and {net_holds}
        ):
            return anew({arguments})
    except Exception:  # no tensor, another shape, a parameter that is gone
        return anew({arguments})
    {results} = {new_results}
    if forward(n, {addresses}, parameters):
        raise MemoryError("there is no memory for this batch")
    return {returned}


def holds():
    try:
        return (
            {net_holds}
        )
    except Exception:
        return False
"""
INPUT_HOLDS = """\
type({x}) is Tensor and {x}.dtype is float32 and {x}.is_cpu and {x}.is_contiguous()
            and not {x}.requires_grad and not ({x}_at := {x}.data_ptr()) & 3"""
AND = "\n            and "


class Guarded:
    """A program behind a guard: a Python function, written as text for this program alone.

    The guard asks of each input whether the program can read it, and of the network whether its
    parameters lie where they lay and its layers are those that were recorded. If not, `anew` gets
    the call. `call` is the guarded program, `holds` asks of the network alone.

    It does not see what would take too long to ask at each call: whether a parameter was made
    another view of its own memory, or what else Python would decide now. Of such views it sees
    one, a transposed matrix that still fits.
    """

    def __init__(self, net, program, anew):
        self.program, self.like = program, {}
        graph = program.graph
        inputs = [f"x{i}" for i in range(len(graph.inputs))]
        results = [f"y{i}" for i in range(len(program.results))]
        returned = [results[program.results.index(node)] for node in graph.outputs]
        space = {
            "Tensor": Tensor,
            "float32": torch.float32,
            "empty_like": torch.empty_like,
            "program": program,  # a call that still runs when it is replaced keeps it alive
            "forward": program.forward,
            "parameters": ctypes.c_void_p(ctypes.addressof(program.table)),
            "like": self.like,
            "anew": anew,
        }
        self.text = GUARD.format(
            arguments=", ".join(inputs),
            likes=", ".join(f"like_{y}" for y in results),
            shapes=", ".join(f"{x}.shape" for x in inputs),
            inputs_hold=AND.join(INPUT_HOLDS.format(x=x) for x in inputs),
            net_holds=AND.join(self.conditions(net, space)) or "True",
            results=", ".join(results),
            new_results=", ".join(f"empty_like(like_{y})" for y in results),
            addresses=", ".join([f"{x}_at" for x in inputs] + [f"{y}.data_ptr()" for y in results]),
            returned=packed(graph, returned),
        )
        exec(compile(self.text, "<guard>", "exec"), space)
        self.call, self.holds = space["call"], space["holds"]

    def conditions(self, net, space):
        """What must be true of the network, as Python text; the objects go into `space`."""
        modules = list(dict.fromkeys(m for root in modules_of(net) for m in root.modules()))
        for node, tensor in zip(parameters_of(self.program.graph), self.program.parameters):
            for place, key in places(modules, node.value):
                name = f"at{len(space)}"
                space[name] = place
                address = f"(p := {name}[{key!r}]).data_ptr() == {tensor.data_ptr()}"
                yield address + " and p.is_contiguous()" * could_turn(tensor)
        for module in modules:
            name = f"layer{len(space)}"
            parts = module._modules
            space |= {name: module, f"{name}_parts": parts, f"{name}_had": [*parts.values()]}
            if parts or not is_torchs_layer(module):
                yield f"{name}_had == [*{name}_parts.values()]"
            for key in (key for key, value in module._parameters.items() if value is None):
                yield f"{name}._parameters[{key!r}] is None"
            if reads_training(module):
                yield f"{name}.training is {module.training}"

    def expect(self, shapes):
        """Let the guard pass inputs of these shapes: all else is known of them.

        But not a single number: it is always in order, even if it is stored with another sign.
        """
        if any(shape.numel() == 1 for shape in shapes):
            return
        n = self.program.batch(shapes)
        likes = self.program.new_results(n).values()
        for like in likes:
            like.untyped_storage().resize_(0)  # only its shape and type are asked for
        # n as C has it already: to convert an int takes longer, at each call
        self.like[shapes[0] if len(shapes) == 1 else tuple(shapes)] = (ctypes.c_ssize_t(n), *likes)


def places(modules, tensor):
    """Where modules keep a tensor: pairs of a dict and a key. What none keeps, we do."""
    found = []
    for module in modules:
        for place in (module._parameters, module._buffers, vars(module)):
            found += [(place, key) for key, value in place.items() if value is tensor]
    return found or [({"tensor": tensor}, "tensor")]


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
