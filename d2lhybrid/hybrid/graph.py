"""A program as a graph: nodes, each of which computes one value from those that it reads.

    >>> a, b = Node("input", name="a"), Node("input", name="b")
    >>> total = Node("add", (a, b))
    >>> graph = Graph("f", (a, b), (total,), (total,))
    >>> graph
    f(a, b):
        v1 = add(a, b)
        return v1
    >>> graph(1, 2)
    3

Explained in notebook 04; torch.fx has the same two classes, JAX calls them Jaxpr and JaxprEqn.
A `Graph` prints one equation a line, can be drawn, and can be run. Until you come to `passes` and
`codegen`, you may skip what is for them: `fused`, `slot` and `size` of a node, and of a graph all
from `readers` to `memory_bytes`, and `copies`.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from math import prod
from numbers import Real
from typing import TYPE_CHECKING, Any

from .operations import BATCH, OPERATIONS, operation_names

if TYPE_CHECKING:
    import networkx
    import torch

    from ..plot.drawing import Drawing


def plain_number(number: Real) -> int | float | bool:
    """Return a number of any type as one whose text is Python without imports."""
    return number if type(number) in (int, float, bool) else float(number)


@dataclass(frozen=True, eq=False)
class Node:
    """One value: an 'input', a 'constant', a 'parameter', or the result of one of the OPERATIONS.

    `x.shape[0]` of a batch is a 'batch'. It never gets into a graph: `Recorder` refuses it.
    """

    op: str
    inputs: tuple[Node, ...] = ()  # the nodes that it reads
    value: Any = None  # of a constant: the number; of a parameter: the tensor
    name: str = ""  # of an input or a parameter
    # of a tensor, perhaps with BATCH in front; None for a number
    shape: tuple[int | str, ...] | None = None
    dtype: torch.dtype | None = None
    fused: bool = False  # computed inside its only reader, and never stored
    slot: int | None = None  # the piece of memory that holds it, once memory is planned

    @property
    def is_operation(self) -> bool:
        return self.op in OPERATIONS

    @property
    def is_elementwise(self) -> bool:
        """Whether each number of the result needs only one number of each input."""
        return self.is_operation and OPERATIONS[self.op].is_elementwise

    @property
    def type(self) -> str:
        """`float32[n, 256]`, or '' for a number."""
        if self.shape is None:
            return ""
        return f"{str(self.dtype).removeprefix('torch.')}[{', '.join(map(str, self.shape))}]"

    @property
    def size(self) -> tuple[int, int]:
        """(numbers per row of the batch, numbers in all if there is no batch); one of them is 0.

        [n, 256] gives (256, 0), and [256] gives (0, 256).
        """
        return size_of(self.shape)


def size_of(shape):
    """`Node.size` of a tensor of this shape."""
    return (prod(shape[1:]), 0) if BATCH in shape else (0, prod(shape))


@dataclass(frozen=True)
class Graph:
    """A program without branches and loops. `graph(*values)` runs it.

    TypeError if the number of values is not the number of inputs.
    """

    name: str
    inputs: tuple[Node, ...]  # in the order of the arguments
    nodes: tuple[Node, ...]  # all others, each after those that it reads
    outputs: tuple[Node, ...]  # a node may be returned several times
    container: type | None = None  # tuple or list, where the program returns one

    def __call__(self, *values: torch.Tensor | Real) -> Any:
        if len(values) != len(self.inputs):
            raise TypeError(f"{self.name} takes {len(self.inputs)} values, not {len(values)}")
        value_of = dict(zip(self.inputs, values, strict=True))
        for node in self.nodes:
            if node.is_operation:
                read = [value_of[source] for source in node.inputs]
                value_of[node] = OPERATIONS[node.op].function(*read)
            else:
                value_of[node] = node.value
        return self.as_returned(value_of[node] for node in self.outputs)

    def as_returned(self, results: Iterable) -> Any:
        """The results in the form in which the program returns them."""
        return self.container(results) if self.container else next(iter(results))

    def bind(self, **values: Real) -> Graph:
        """The graph with some of its numbers fixed, by name. TypeError for any other name."""
        fixed = [x for x in self.inputs if x.name in values and x.shape is None]
        constant = {x.name: Node("constant", value=plain_number(values.pop(x.name))) for x in fixed}
        if values:
            raise TypeError(f"{self.name} has no number {', '.join(sorted(values))}")
        inputs = tuple(node for node in self.inputs if node not in fixed)
        # `rewrite` replaces nodes and leaves inputs alone: so what is fixed becomes a node first
        graph = replace(self, inputs=inputs, nodes=(*fixed, *self.nodes))
        return graph.rewrite(lambda node: constant[node.name] if node.op == "input" else node)

    def rewrite(self, change: Callable[[Node], Node]) -> Graph:
        """Return the graph in which `change(node)` replaces each node, in the order of execution.

        `node` is a copy that reads from the new graph, without the annotations `fused` and `slot`,
        which hold for this graph only. `change` may also return a node that is already in the new
        graph: nodes that read the old node then read that one.
        """
        new = {node: node for node in self.inputs}
        for was in self.nodes:
            sources = tuple(new[source] for source in was.inputs)
            new[was] = change(replace(was, inputs=sources, fused=False, slot=None))
        nodes = dict.fromkeys(node for node in new.values() if node not in self.inputs)
        outputs = tuple(new[node] for node in self.outputs)
        return replace(self, nodes=tuple(nodes), outputs=outputs)

    def annotate(self, fused: set[Node] | None = None, slots: dict | None = None) -> Graph:
        """The graph with these nodes fused, or else the same ones, and with only these slots."""
        fused = {node for node in self.nodes if node.fused} if fused is None else fused
        slots, old = slots or {}, iter(self.nodes)  # `rewrite` takes them in this order
        return self.rewrite(
            lambda node: replace(node, fused=(was := next(old)) in fused, slot=slots.get(was))
        )

    @cached_property
    def readers(self) -> dict[Node, list[Node | None]]:
        """node -> the nodes that read it, one for each time; an output has the reader None."""
        readers = {node: [] for node in (*self.inputs, *self.nodes)}
        for node in self.nodes:
            for source in node.inputs:
                readers[source].append(node)
        for node in self.outputs:
            readers[node].append(None)
        return readers

    @cached_property
    def kernels(self) -> list[list[Node]]:
        """Lists of operations that are computed together, in one loop; the last one is stored."""
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
    def parameters(self) -> list[Node]:
        """The nodes whose tensors a compiled program reads, in the order of its arguments."""
        return [node for node in self.nodes if node.op == "parameter"]

    @cached_property
    def results(self) -> list[Node]:
        """The outputs, each once."""
        return list(dict.fromkeys(self.outputs))

    @cached_property
    def slots(self) -> dict[Node, int | Node]:
        """Stored tensor -> its slot. Where memory is not planned, each has a slot of its own.

        An output has no slot: it is stored in memory that the caller keeps.
        """
        stored = [kernel[-1] for kernel in self.kernels]
        return {
            node: node if node.slot is None else node.slot
            for node in stored
            if node not in self.outputs and node.shape is not None
        }

    @cached_property
    def slot_sizes(self) -> dict[int | Node, tuple[int, int]]:
        """slot -> the numbers in its largest value: for each row, and without a batch."""
        sizes = {}
        for node, slot in self.slots.items():
            per_row, fixed = sizes.get(slot, (0, 0))
            sizes[slot] = (max(per_row, node.size[0]), max(fixed, node.size[1]))
        return sizes

    def memory_bytes(self, batch: int = 1) -> int:
        """The bytes of the intermediate values, for float32.

        In C, `dots` also copies a part of its input, at most 128 KiB, on the stack.
        """
        return 4 * sum(batch * per_row + fixed for per_row, fixed in self.slot_sizes.values())

    @cached_property
    def names(self) -> dict[Node, str]:
        """node -> its name in printed and generated text. A number has no name."""
        names, numbers, taken = {}, count(1), operation_names()
        for node in (*self.inputs, *self.nodes):
            if node.op != "constant":
                # the parameter 0.weight becomes weight_0
                path = "_".join(reversed(node.name.split(".")))
                names[node] = unique_name(path or f"v{next(numbers)}", taken)
        return names

    @cached_property
    def copies(self) -> dict[Node, str]:
        """Output that no operation computes -> the name of the copy that C makes of it."""
        taken = {*operation_names(), *self.names.values()}
        return {
            node: unique_name(f"{self.names[node]}_copy", taken)
            for node in self.results
            if node in self.names and not node.is_operation
        }

    def text(self, node: Node) -> str:
        """How an equation mentions a node: by its name, or by its expression if it is fused."""
        if node not in self.names:
            return repr(node.value)
        return self.equation(node) if node.fused else self.names[node]

    def equation(self, node: Node) -> str:
        """The right side of a node's equation: `relu(linear(x, weight_0, bias_0))`."""
        inputs = ", ".join(map(self.text, node.inputs))
        return f"{node.op}({inputs})" if inputs else node.op

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

    def flow(self) -> networkx.DiGraph:
        """Return the data flow as `data_flow` does: a node for each kernel, none for parameters."""
        import networkx

        flow, place = networkx.DiGraph(), {}
        for node in (*self.inputs, *self.nodes):
            if node.op == "constant" or node in self.inputs:
                place[node] = len(flow)
                label = node.name or repr(node.value)
                flow.add_node(len(flow), label=label, kind="input", name="")
        for kernel in self.kernels:
            here = len(flow)
            place.update(dict.fromkeys(kernel, here))
            label = ", ".join(OPERATIONS[node.op].sign or node.op for node in kernel)
            flow.add_node(here, label=label, kind="operation", name=self.names[kernel[-1]])
            read = [place[source] for node in kernel for source in node.inputs if source in place]
            flow.add_edges_from((source, here) for source in read if source != here)
        return flow

    def plot(self) -> Drawing:
        """Draw the graph's data flow: which value is computed from which."""
        from ..plot.graphs import plot_data_flow

        return plot_data_flow(self.flow())


# Names for generated text ---------------------------------------------------------------------

# The words of C that are not Python's, the names that have a meaning in `forward`, and macros. A
# variable may hide other names of prelude.c, such as `one`. `operation_names` has what OPERATIONS
# call.
RESERVED = """
    auto case char const default do double enum extern float goto inline int long register restrict
    short signed sizeof static struct switch typedef union unsigned void volatile _Bool _Complex
    _Imaginary fabsf fmaf add_dots forward malloc free memory main parameters n i ptrdiff_t
    math_errhandling linux unix
"""
RESERVED = {*RESERVED.split(), *keyword.kwlist}
# A loop's counter, macros such as NAN and RAND_MAX, and what C keeps for itself.
RESERVED_FORMS = re.compile(r"i\d+|FP_\w+|[A-Z][A-Z_]{2,}|_[A-Z_]\w+")


def unique_name(preferred: str, taken: set[str]) -> str:
    """A name close to the preferred one that is not among those taken, to which it is added.

    >>> taken = set()
    >>> unique_name("größe", taken), unique_name("int", taken), unique_name("int", taken)
    ('gr__e', 'int_2', 'int_3')
    """
    preferred = re.sub(r"\W|^(?=\d)", "_", preferred, flags=re.ASCII)
    if RESERVED_FORMS.fullmatch(preferred):
        preferred = f"the_{preferred}"
    name, numbers = preferred, count(2)
    while name in taken or name in RESERVED:
        name = f"{preferred}_{next(numbers)}"
    taken.add(name)
    return name
