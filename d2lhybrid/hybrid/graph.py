"""A program as a graph: nodes, each of which computes one value from those that it reads.

A `Graph` prints one equation a line, can be drawn, and can be run.
"""

import keyword
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from math import prod
from numbers import Real
from typing import NamedTuple

import torch
from torch.nn.functional import linear

BATCH = "n"  # the first size of a shape, where it may differ from call to call


class UnsupportedOperation(NotImplementedError):
    """The program needs an operation that this compiler does not have."""


class Operation(NamedTuple):
    """What a node may compute, in three languages."""

    function: Callable  # of numbers or tensors
    python: str
    c: str  # of floats, element by element; a linear layer's products come before, in a loop


OPERATIONS = {
    "add": Operation(operator.add, "{} + {}", "{} + {}"),
    "sub": Operation(operator.sub, "{} - {}", "{} - {}"),
    "mul": Operation(operator.mul, "{} * {}", "{} * {}"),
    "div": Operation(operator.truediv, "{} / {}", "{} / {}"),
    "neg": Operation(operator.neg, "-{}", "-{}"),
    "exp": Operation(torch.exp, "exp({})", "expf({})"),
    "relu": Operation(torch.relu, "relu({})", "relu({})"),
    "tanh": Operation(torch.tanh, "tanh({})", "tanhf({})"),
    "sigmoid": Operation(torch.sigmoid, "sigmoid({})", "sigmoid({})"),
    "linear": Operation(linear, "linear({}, {}, {})", "{} + {}"),
}

# What a name must not be in generated text: a word of C, or one that our C text uses.
RESERVED = """
    auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while _Bool _Complex _Imaginary expf tanhf fabsf fmaf dots add_dots
    forward malloc free memory main parameters n i ptrdiff_t NAN INFINITY NULL
    RAND_MAX MB_CUR_MAX EXIT_SUCCESS EXIT_FAILURE HUGE_VAL HUGE_VALF HUGE_VALL
    MATH_ERRNO MATH_ERREXCEPT math_errhandling linux unix
"""
# The same: a loop's counter, a number of math.h's, and what C keeps for itself.
RESERVED_FORMS = re.compile(r"i\d+|FP_\w+|_[A-Z_]\w+")


@dataclass(frozen=True, eq=False)
class Node:
    """One value: an 'input', a 'constant', a 'parameter', or what one of OPERATIONS computes."""

    op: str
    inputs: tuple = ()  # the nodes that it reads
    value: object = None  # of a constant: a number or a tensor; of a parameter: the tensor
    name: str = ""  # of an input or a parameter
    shape: tuple | None = None  # of a tensor, perhaps with BATCH in front; None for a number
    dtype: torch.dtype | None = None
    where: str = ""  # the line of the user's program that asked for it
    fused: bool = False  # computed inside its only reader, and never stored
    slot: int | None = None  # the piece of memory that holds it, once memory is planned

    @property
    def is_operation(self):
        return self.op in OPERATIONS

    @property
    def type(self):
        """`float32[n, 256]`, or '' for a number."""
        if self.shape is None:
            return ""
        return f"{str(self.dtype).removeprefix('torch.')}[{', '.join(map(str, self.shape))}]"

    @property
    def size(self):
        """How many numbers a tensor holds, as a pair: n times the first, and the second."""
        if BATCH in self.shape:
            return prod(self.shape[1:]), 0
        return 0, prod(self.shape)


@dataclass(frozen=True)
class Graph:
    """A program without `if` and without loops. `graph(*values)` runs it."""

    name: str
    inputs: tuple  # nodes, in the order of the arguments
    nodes: tuple  # all others, each behind those that it reads
    outputs: tuple
    container: type | None = None  # tuple or list, where the program returns one

    def __call__(self, *values):
        if len(values) != len(self.inputs):
            raise TypeError(f"{self.name} takes {len(self.inputs)} values, not {len(values)}")
        value_of = dict(zip(self.inputs, values))
        for node in self.nodes:
            if node.is_operation:
                read = [value_of[source] for source in node.inputs]
                value_of[node] = OPERATIONS[node.op].function(*read)
            else:
                value_of[node] = node.value
        return self.pack(value_of[node] for node in self.outputs)

    def pack(self, results):
        """The results in the form in which the program returns them."""
        return self.container(results) if self.container else next(iter(results))

    def bind(self, **values):
        """The graph with inputs set for good, by name: numbers, or tensors without a batch."""
        constants = {}
        for node in [node for node in self.inputs if node.name in values]:
            value = values.pop(node.name)
            is_tensor = isinstance(value, torch.Tensor)
            given = (tuple(value.shape), value.dtype) if is_tensor else (None, None)
            if given != (node.shape, node.dtype) or not (is_tensor or isinstance(value, Real)):
                wanted = f"a {node.type}" if node.type else "a number"
                raise TypeError(f"{node.name} is {wanted}, and cannot be bound to {value!r}")
            constants[node] = replace(node, op="constant", value=value, name="")
        if values:
            raise TypeError(f"{self.name} has no input {', '.join(sorted(values))}")
        inputs = tuple(node for node in self.inputs if node not in constants)
        graph = replace(self, inputs=inputs, nodes=(*constants, *self.nodes))
        return graph.rewrite(lambda node, was: constants.get(was, node))

    def rewrite(self, change):
        """The graph in which `change(node, was)` stands for each node, in the order of computing.

        `was` is the node in this graph; `node` is a copy that reads from the new one, without the
        marks `fused` and `slot`, which held for this graph. A node that is in the new graph already
        may be returned once more; then its readers read that one.
        """
        new = {node: node for node in self.inputs}
        for was in self.nodes:
            sources = tuple(new[source] for source in was.inputs)
            node = replace(was, inputs=sources, fused=False, slot=None)
            new[was] = change(node, was)
        nodes = dict.fromkeys(node for node in new.values() if node not in self.inputs)
        outputs = tuple(new[node] for node in self.outputs)
        return replace(self, nodes=tuple(nodes), outputs=outputs)

    @cached_property
    def readers(self):
        """node -> the nodes that read it, one for each time; an output has the reader None."""
        readers = {node: [] for node in (*self.inputs, *self.nodes)}
        for node in self.nodes:
            for source in node.inputs:
                readers[source].append(node)
        for node in self.outputs:
            readers[node].append(None)
        return readers

    @cached_property
    def kernels(self):
        """The operations that store a value, in order, each behind those fused into it."""
        kernels, waiting = [], {}  # waiting: what is fused, until its reader comes
        for node in self.nodes:
            if node.is_operation:
                body = [part for source in node.inputs for part in waiting.pop(source, ())]
                if node.fused:
                    waiting[node] = [*body, node]
                else:
                    kernels.append([*body, node])
        return kernels

    @cached_property
    def names(self):
        """node -> its name in printed and generated text, a word in Python and in C.

        A number stands for itself, and has none. An output that is not computed has a second
        name, under the key (node, "copy"): C has to copy it.
        """
        names, numbers = {}, count(1)
        taken = {*RESERVED.split(), *keyword.kwlist, *OPERATIONS}

        def unique(wish):
            wish = name = re.sub(r"\W|^(?=\d)", "_", wish, flags=re.ASCII)
            if RESERVED_FORMS.fullmatch(wish):
                wish = name = f"the_{wish}"
            copies = count(2)
            while name in taken:
                name = f"{wish}_{next(copies)}"
            taken.add(name)
            return name

        for node in (*self.inputs, *self.nodes):
            if node.op != "constant" or node.shape is not None:
                # the parameter 0.weight becomes weight_0
                path = reversed(node.name.split("."))
                names[node] = unique("_".join(path) or f"v{next(numbers)}")
        for node in self.outputs:
            if node in names and not node.is_operation:
                names[node, "copy"] = unique(f"{names[node]}_copy")
        return names

    def text(self, node):
        """How an equation mentions a node: by its name, or by what it computes if it is fused."""
        if node not in self.names:
            return repr(node.value)
        return self.equation(node) if node.fused else self.names[node]

    def equation(self, node):
        """The right side of a node's equation: `relu(linear(x, weight_0, bias_0))`."""
        if not node.is_operation:
            return node.op
        return f"{node.op}({', '.join(map(self.text, node.inputs))})"

    def __str__(self):
        def typed(node):
            return self.names[node] + (f": {node.type}" if node.type else "")

        lines = [f"{self.name}({', '.join(map(typed, self.inputs))}):"]
        for node in self.nodes:
            if node in self.names and not node.fused:
                line = f"    {typed(node)} = {self.equation(node)}"
                lines.append(line if node.slot is None else f"{line}  # slot {node.slot}")
        return "\n".join([*lines, f"    return {', '.join(map(self.text, self.outputs))}"])

    __repr__ = __str__

    def plot(self):
        """Draw who feeds whom; returns matplotlib Axes."""
        from ..plot import plot_data_flow

        return plot_data_flow(self)
