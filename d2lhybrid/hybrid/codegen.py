"""From a graph to source text: a Python function, or a C function for float32 on the CPU."""

import keyword
import math
from ctypes import c_float
from pathlib import Path

import torch

from .graph import BATCH, OPERATIONS, UnsupportedOperation
from .passes import slot_sizes

# Python -------------------------------------------------------------------------------------


def python_source(graph):
    """The graph as the text of a Python function, one assignment for each stored value."""

    def text(node):
        if node not in graph.names:  # a number
            return repr(node.value) if math.isfinite(node.value) else f"float('{node.value}')"
        if not node.fused:
            return graph.names[node]
        is_infix = OPERATIONS[node.op].python[0] in "{-"  # `{} + {}` and `-{}`, but not `exp({})`
        return f"({expression(node)})" if is_infix else expression(node)

    def expression(node):
        template = OPERATIONS[node.op].python
        if node.op == "linear" and len(node.inputs) == 2:
            template = "linear({}, {})"
        return template.format(*map(text, node.inputs))

    arguments = ", ".join(graph.names[node] for node in graph.inputs)
    lines = [f"def {function_name(graph)}({arguments}):"]
    for *_, stored in graph.kernels:
        lines.append(f"    {graph.names[stored]} = {expression(stored)}")
    lines.append(f"    return {packed(graph, map(text, graph.outputs))}")
    return "\n".join(lines)


def packed(graph, results):
    """The text for the results in the form in which the program returns them."""
    container = {None: "{}", tuple: "({},)", list: "[{}]"}[graph.container]
    return container.format(", ".join(results))


def python_function(graph):
    """The function that `python_source` describes, compiled by Python."""
    space = {name: operation.function for name, operation in OPERATIONS.items()}
    space |= {graph.names[node]: node.value for node in parameters_of(graph)}
    exec(compile(python_source(graph), f"<{graph.name}>", "exec"), space)
    return space[function_name(graph)]


def function_name(graph):
    """The graph's own name, unless its text uses that for something else."""
    name = graph.name
    while name in {*OPERATIONS, *keyword.kwlist, *graph.names.values()}:
        name += "_"
    return name


# C ------------------------------------------------------------------------------------------

PRELUDE = Path(__file__).with_name("prelude.c").read_text(encoding="utf-8")


def c_source(graph):
    """The graph as the text of a C99 function, for any batch size.

    UnsupportedOperation for types other than float32, and for arithmetic of numbers alone.
    """
    check_types(graph)
    head, starts = [], {}
    for i, node in enumerate(parameters_of(graph)):
        head.append(f"const float *{graph.names[node]} = parameters[{i}]; /* {node.type} */")
    rows = besides = 0
    for slot, size in slot_sizes(graph).items():
        starts[slot] = amount(rows, besides)
        rows, besides = rows + size[0], besides + size[1]
    if starts:  # room for one number more: malloc(0) may return NULL
        head.append(f"float *memory = malloc(({amount(rows, besides + 1)}) * sizeof(float));")
        head.append("if (memory == NULL) return 1;")
    for *_, stored in graph.kernels:
        if stored not in graph.outputs:
            slot = stored if stored.slot is None else stored.slot
            head.append(f"float *{graph.names[stored]} = memory + {starts[slot]};")
    body = [line for kernel in graph.kernels for line in kernel_lines(graph, kernel)]
    for node in outputs_of(graph):
        if not node.is_operation:
            copy = f"{output_name(graph, node)}[i] = {graph.names[node]}[i];"
            body.append(f"for (ptrdiff_t i = 0; i < {amount(*node.size)}; i++) {copy}")
    tail = ["free(memory);"] * bool(starts) + ["return 0;"]
    text = "\n".join("    " + line for line in [*head, *body, *tail])
    return f"{PRELUDE}\n{c_signature(graph)}\n{{\n{text}\n}}\n"


def amount(rows, besides):
    """So many numbers, for each row of the batch and besides, as C writes it: `n * 256 + 3`."""
    terms = [f"n * {rows}"] * (rows > 0) + [f"{besides}"] * (besides > 0)
    return " + ".join(terms) or "0"


def check_types(graph):
    """UnsupportedOperation for a value that C cannot hold, with the line that makes it."""
    for node in (*graph.inputs, *graph.nodes, *graph.outputs):
        is_number = node.op == "constant" and node.shape is None and node not in graph.outputs
        if node.dtype != torch.float32 and not is_number:
            what = f"{node.op} of {node.type or 'a number'} in {node.where or graph.name}"
            raise UnsupportedOperation(f"{what} is not supported in C; supported is float32")


def c_signature(graph):
    """The C function takes the batch size, inputs, outputs, parameters. 1 means out of memory."""
    tensors = [f"const float *{graph.names[node]}" for node in graph.inputs]
    tensors += [f"float *{output_name(graph, node)}" for node in outputs_of(graph)]
    return f"int forward(ptrdiff_t n, {', '.join(tensors)}, const float *const *parameters)"


def c_entry(graph):
    """A second C function, `call_forward`, of one form for all graphs: the tensors are a list."""
    count = len(graph.inputs) + len(outputs_of(graph))
    tensors = ", ".join(f"tensors[{i}]" for i in range(count))
    arguments = "ptrdiff_t n, void *const *tensors, const float *const *parameters"
    call = f"forward(n, {tensors}, parameters)"
    return f"\nint call_forward({arguments})\n{{\n    return {call};\n}}\n"


def outputs_of(graph):
    """The nodes that the C function returns, each once."""
    return list(dict.fromkeys(graph.outputs))


def output_name(graph, node):
    """What C calls an output."""
    return graph.names.get((node, "copy"), graph.names[node])


def parameters_of(graph):
    """The nodes whose tensors the C function finds in `parameters`, in this order."""
    return [node for node in graph.nodes if not node.is_operation and node.shape is not None]


def kernel_lines(graph, kernel):
    """The loops that compute one stored value, with what is fused into it as local variables."""
    stored, depth = kernel[-1], len(kernel[-1].shape)
    out = f"{graph.names[stored]}[{index(stored.shape, depth)}]"

    def operand(node):
        if node in kernel:
            return graph.names[node]
        if node.shape is None:
            return literal(node)
        return f"{graph.names[node]}[{index(node.shape, depth)}]"

    yield f"/* {graph.names[stored]} = {graph.equation(stored)} */"
    layer = next((node for node in kernel if node.op == "linear"), None)
    for axis, size in enumerate(stored.shape):
        if layer and axis == depth - 1:  # all the sums of a row, before the row is gone through
            x, weight, *bias = layer.inputs
            (m, k), row = weight.shape, index(stored.shape[:-1], depth - 1)
            row = f"({row})" if " " in row else row
            source = f"{graph.names[x]} + {row} * {k}, {graph.names[weight]}"
            target = f"{graph.names[stored]} + {row} * {m}"
            yield "    " * axis + f"dots({k}, {m}, {source}, {target});"
        yield "    " * axis + f"for (ptrdiff_t i{axis} = 0; i{axis} < {size}; i{axis}++) {{"
    for node in kernel:
        if node is layer:
            value = " + ".join([out, *map(operand, bias)])
        else:
            value = OPERATIONS[node.op].c.format(*map(operand, node.inputs))
        place = out if node is stored else f"const float {graph.names[node]}"
        yield "    " * depth + f"{place} = {value};"
    yield from ["    " * axis + "}" for axis in reversed(range(depth))]


def index(shape, depth):
    """Where the element lies that the innermost of `depth` loops is at.

    In a tensor of shape (n, 256), row i0 begins behind i0 rows of 256: `i0 * 256 + i1`. A shape
    with fewer sizes belongs to the innermost loops, (256,) gives `i1`; and a size of 1 is
    stretched, as broadcasting has it, so its counter does not move: (n, 1) gives `i0`.
    """
    terms, stride = [], 1
    for axis in reversed(range(len(shape))):
        if shape[axis] != 1:
            terms.append(f"i{depth - len(shape) + axis}" + (f" * {stride}" if stride != 1 else ""))
        if shape[axis] != BATCH:
            stride *= shape[axis]
    return " + ".join(reversed(terms)) or "0"


def literal(node):
    """A number as C writes it for float32. UnsupportedOperation where it is too large."""
    # a whole number may have any length, and is cut before it becomes a float
    number = c_float(min(max(node.value, -1e39), 1e39)).value
    if math.isinf(number) and abs(node.value) != math.inf:
        text = f"{node.value} is not supported in C: it is too large for float32"
        raise UnsupportedOperation(text)
    text = f"{number:#.9g}f".replace("inff", "INFINITY").replace("nanf", "NAN")
    return f"({text})" if text.startswith("-") else text
