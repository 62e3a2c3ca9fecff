"""From a graph to source text: a Python function, and a C function for float32 on the CPU.

    >>> from .recorder import trace
    >>> print(python_source(trace(lambda a, b: (a + b) * b, 1, 2)))
    def program(a, b):
        v1 = a + b
        v2 = v1 * b
        return v2
    >>> source = c_source(trace(torch.relu, torch.ones(1, 4)))
    >>> print(source[source.index("int forward") :].strip())
    int forward(ptrdiff_t n, const float *x1, float *v1, const float *const *parameters)
    {
        /* v1 = relu(x1) */
        #pragma omp simd
        for (ptrdiff_t i0 = 0; i0 < n * 4; i0++) {
            v1[i0] = relu(x1[i0]);
        }
        return 0;
    }

Explained in notebooks 04 and 13; torch.fx writes Python in `Graph.python_code`, and Inductor, the
compiler behind torch.compile, writes C++ and Triton.
"""

import math
from collections.abc import Callable
from ctypes import c_float

from ..toolchain import read_c_file
from . import torch
from .graph import Graph, size_of, unique_name
from .operations import BATCH, OPERATIONS, UnsupportedOperation, fill

# Python --------------------------------------------------------------------------------------


def python_source(graph: Graph) -> str:
    """Return the graph as the source of a Python function: an assignment per stored value."""

    def text(node):
        if node not in graph.names:  # a number
            is_written = isinstance(node.value, int) or math.isfinite(node.value)
            return repr(node.value) if is_written else f"float('{node.value}')"
        if not node.fused:
            return graph.names[node]
        return f"({expression(node)})" if OPERATIONS[node.op].sign else expression(node)

    def expression(node):
        return fill(OPERATIONS[node.op].python, map(text, node.inputs))

    arguments = ", ".join(graph.names[node] for node in graph.inputs)
    lines = [f"def {function_name(graph)}({arguments}):"]
    for *_, stored in graph.kernels:
        lines.append(f"    {graph.names[stored]} = {expression(stored)}")
    container = {None: "{}", tuple: "({},)", list: "[{}]"}[graph.container]
    results = container.format(", ".join(map(text, graph.outputs)))
    return "\n".join([*lines, f"    return {results}"])


def python_function(graph: Graph) -> Callable:
    """Return the function that `python_source` describes, compiled by Python."""
    space = {name: operation.function for name, operation in OPERATIONS.items()}
    space |= {graph.names[node]: node.value for node in graph.parameters}
    exec(compile(python_source(graph), f"<{graph.name}>", "exec"), space)
    return space[function_name(graph)]


def function_name(graph):
    """Return the graph's own name, or one close to it if the text uses that name otherwise."""
    return unique_name(graph.name, {*OPERATIONS, *graph.names.values()})


# C -------------------------------------------------------------------------------------------

PRELUDE = read_c_file(__file__, "prelude.c")
"""The C text that stands above every generated function: its includes and small helpers."""


def c_source(graph: Graph) -> str:
    """Return the graph as the source of a C99 function `forward`, for any batch size.

    It takes batch size, inputs, results and parameters, and returns 1 if memory is short, else 0.
    UnsupportedOperation for dtypes other than float32, and for arithmetic on numbers alone.
    """
    check_types(graph)
    head, starts = [], {}
    for i, node in enumerate(graph.parameters):
        head.append(f"const float *{graph.names[node]} = parameters[{i}]; /* {node.type} */")
    per_row = fixed = 0
    for slot, size in graph.slot_sizes.items():
        starts[slot] = amount(per_row, fixed)
        per_row, fixed = per_row + size[0], fixed + size[1]
    if starts:  # room for one number more: malloc(0) may return NULL
        head.append(f"float *memory = malloc(({amount(per_row, fixed + 1)}) * sizeof(float));")
        head.append("if (memory == NULL) return 1;")
    for node, slot in graph.slots.items():
        head.append(f"float *{graph.names[node]} = memory + {starts[slot]};")
    body = [line for kernel in graph.kernels for line in kernel_lines(graph, kernel)]
    for node, copy in graph.copies.items():
        step = f"{copy}[i] = {graph.names[node]}[i];"
        body.append(f"for (ptrdiff_t i = 0; i < {amount(*node.size)}; i++) {step}")
    if starts:
        body.append("free(memory);")
    text = "\n".join("    " + line for line in [*head, *body, "return 0;"])
    return f"{PRELUDE}\n{c_signature(graph)}\n{{\n{text}\n}}\n"


def amount(per_row, fixed):
    """Return a number of elements in C, `n * 256 + 3`: `per_row` for each row, and `fixed` more."""
    rows = ["n" if per_row == 1 else f"n * {per_row}"] if per_row else []
    return " + ".join([*rows, *[f"{fixed}"] * (fixed > 0)]) or "0"


def check_types(graph):
    """UnsupportedOperation if a value is not float32; constants within the graph may be plain."""
    for node in (*graph.inputs, *graph.nodes, *graph.outputs):
        is_number = node.op == "constant" and node not in graph.outputs
        if node.dtype != torch.float32 and not is_number:
            what = f"{node.op} of {node.type or 'a number'}"
            raise UnsupportedOperation(f"{what} is not supported in C; only float32 is")


def c_signature(graph):
    """Return the first line of `forward`, which is also its declaration."""
    tensors = [f"const float *{graph.names[node]}" for node in graph.inputs]
    tensors += [f"float *{output_name(graph, node)}" for node in graph.results]
    return f"int forward(ptrdiff_t n, {', '.join(tensors)}, const float *const *parameters)"


def c_entry(graph):
    """Return a second C function, `call_forward`, which gets inputs and results as one array."""
    tensors = [f"tensors[{i}]" for i in range(len(graph.inputs) + len(graph.results))]
    arguments = "ptrdiff_t n, void *const *tensors, const float *const *parameters"
    call = f"forward(n, {', '.join(tensors)}, parameters)"
    return f"\nint call_forward({arguments})\n{{\n    return {call};\n}}\n"


def output_name(graph, node):
    """Return what C calls the memory for a result."""
    return graph.copies.get(node, graph.names[node])


def kernel_lines(graph, kernel):
    """The loops that compute one stored value. What is fused into it becomes local variables.

        /* v2 = relu(linear(x, weight, bias)) */
        dots(n, 512, 256, x, weight, v2);
        for (ptrdiff_t i0 = 0; i0 < n; i0++) {
            for (ptrdiff_t i1 = 0; i1 < 256; i1++) {
                const float v1 = v2[i0 * 256 + i1] + bias[i1];
                v2[i0 * 256 + i1] = relu(v1);
            }
        }

    The line with `dots` is a `rows_statement`, which leaves its numbers in v2 for the loops. An
    operation that `is_row_by_row` computes one row there, before the innermost loop, if something
    follows: so the row is still in the cache. Where all shapes are the same, one loop is enough,
    which goes through all numbers in any order.
    """
    stored = kernel[-1]
    depth = len(stored.shape)
    by_rows = next((node for node in kernel if not node.is_elementwise), None)
    inside = by_rows and OPERATIONS[by_rows.op].is_row_by_row and len(kernel) > 1 < depth
    inside = inside and stored.shape[-1] != 1
    read = [one for n in kernel for one in n.inputs[OPERATIONS[n.op].read_by_rows :]]
    is_flat = depth > 1 and not inside and all(n.shape in (None, stored.shape) for n in read)
    sizes = (amount(*stored.size),) if is_flat else stored.shape

    def place(node):
        return f"{graph.names[node]}[{'i0' if is_flat else index(node.shape, depth)}]"

    def operand(node):
        if node in kernel:
            return graph.names[node]
        return literal(node) if node.shape is None else place(node)

    yield f"/* {graph.names[stored]} = {graph.equation(stored)} */"
    if by_rows and not inside:
        yield rows_statement(graph, by_rows, stored)
    if is_flat:
        yield "#pragma omp simd"
    for axis, size in enumerate(sizes):
        if inside and axis == depth - 1:
            row, _, _ = index(stored.shape, depth).rpartition(" + ")
            yield "    " * axis + rows_statement(graph, by_rows, stored, row or "0")
        yield "    " * axis + f"for (ptrdiff_t i{axis} = 0; i{axis} < {size}; i{axis}++) {{"
    for node in kernel:
        operation = OPERATIONS[node.op]
        values = [operand(source) for source in node.inputs[operation.read_by_rows :]]
        if node is by_rows:
            values.insert(0, place(stored))
        target = place(stored) if node is stored else f"const float {graph.names[node]}"
        yield "    " * len(sizes) + f"{target} = {fill(operation.c, values)};"
    yield from ["    " * axis + "}" for axis in reversed(range(len(sizes)))]


def rows_statement(graph, node, stored, row=None):
    """Return the C statement by which an operation of whole rows computes the rows of `stored`.

    All of them, or the one that begins at the index `row`.
    """
    first, *others = [graph.names.get(source) or literal(source) for source in node.inputs]
    n, m, k = amount(*size_of(node.shape[:-1])), node.shape[-1], node.inputs[0].shape[-1]
    out = graph.names[stored]
    if row is not None:
        first, out, n = f"{first} + {row}", f"{out} + {row}", 1
    return OPERATIONS[node.op].rows.format(first, *others, n=n, k=k, m=m, out=out)


def index(shape, depth):
    """Return the index, in C, of the element that the innermost of `depth` loops computes with.

    In a tensor of shape (n, 256), row i0 begins after i0 rows of 256: `i0 * 256 + i1`. A shape with
    fewer sizes belongs to the innermost loops: (256,) gives `i1`. A size of 1 is stretched by
    broadcasting, so its counter is left out: (n, 1) gives `i0`.
    """
    terms, stride = [], 1
    for axis in reversed(range(len(shape))):
        if shape[axis] != 1:
            terms.append(f"i{depth - len(shape) + axis}" + (f" * {stride}" if stride != 1 else ""))
        if shape[axis] != BATCH:
            stride *= shape[axis]
    return " + ".join(reversed(terms)) or "0"


def literal(node):
    """Return a constant's number as C writes it for float32. UnsupportedOperation if too large."""
    # a whole number may be too long for a float: bring it within float32's limits first
    number = c_float(min(max(node.value, -1e39), 1e39)).value
    if math.isinf(number) and abs(node.value) != math.inf:
        raise UnsupportedOperation(f"{node.value} is too large for float32")
    text = f"{number:#.9g}f".replace("inff", "INFINITY").replace("nanf", "NAN")
    return f"({text})" if text.startswith("-") else text
