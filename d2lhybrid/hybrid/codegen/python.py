"""From a graph to the text of a Python function.

    >>> from ..recorder import trace
    >>> print(python_source(trace(lambda a, b: (a + b) * b, 1, 2)))
    def program(a, b):
        v1 = a + b
        v2 = v1 * b
        return v2

Explained in notebook 04; torch.fx does this in `Graph.python_code`.
"""

import keyword
import math
from collections.abc import Callable

from ..graph import Graph
from ..operations import OPERATIONS, fill


def python_source(graph: Graph) -> str:
    """The graph as the text of a Python function: one assignment for each stored value."""

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
    """The function that `python_source` describes, compiled by Python."""
    space = {name: operation.function for name, operation in OPERATIONS.items()}
    space |= {graph.names[node]: node.value for node in graph.parameters}
    exec(compile(python_source(graph), f"<{graph.name}>", "exec"), space)
    return space[function_name(graph)]


def function_name(graph):
    """The graph's own name, with `_` appended if the text uses that name for something else."""
    name = graph.name
    while name in {*OPERATIONS, *keyword.kwlist, *graph.names.values()}:
        name += "_"
    return name
