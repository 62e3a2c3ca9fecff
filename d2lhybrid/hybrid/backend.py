"""The compiler as a backend of torch.compile: `torch.compile(net, backend="d2lhybrid")`.

Explained in notebook 13; Inductor is the backend that torch.compile uses by default. torch.compile
follows Python and has guards of its own, so here only the graph that it has captured is compiled.
The entry point is in pyproject.toml, in the group `torch_dynamo_backends`.
"""

import warnings
from collections.abc import Callable

import torch
from torch._dynamo import register_backend

from .compiler import CompiledGraph, validate_input
from .graph import Node
from .operations import UnsupportedOperation
from .recorder import RecordingError, record_nodes


def compile_graph(graph_module: torch.fx.GraphModule, example_inputs: list) -> Callable:
    """Compile a graph that torch.compile has captured, for inference on the CPU.

    Its inputs are tensors, among them the network's parameters, and sizes. For other sizes
    torch.compile compiles again.

    Returns the compiled graph, which raises RuntimeError where gradients would be lost; or, after
    a warning, the graph as it is, if it needs something that this compiler does not have.
    """
    # torch.compile gives each placeholder a tensor without data, whose sizes say what varies.
    placeholders = graph_module.graph.find_nodes(op="placeholder")
    try:
        inputs = [input_for(*pair) for pair in zip(placeholders, example_inputs, strict=True)]
        program = CompiledGraph(record_nodes(graph_module, inputs))
    except (UnsupportedOperation, RecordingError, TypeError, ValueError, AttributeError) as error:
        warnings.warn(f"d2lhybrid cannot compile any part of this graph: {error}", stacklevel=2)
        return graph_module.forward
    tensors = [i for i, node in enumerate(inputs) if isinstance(node, Node)]
    return lambda *values: program(*[validate_input(values[i]) for i in tensors])


def input_for(placeholder, example):
    """Return the node for an input of the graph, of a tensor, or else the input's own number.

    int() and float() make torch.compile guard what they are told: for another size it compiles
    again.
    """
    example = placeholder.meta.get("example_value", example)
    if isinstance(example, torch.Tensor):
        shape = tuple(map(int, example.shape))
        return Node("input", name=placeholder.name, shape=shape, dtype=example.dtype)
    return int(example) if isinstance(example, torch.SymInt) else float(example)


# Python imports a module once, however many threads use it first. torch registers what an entry
# point names in each of them, and the second time is an error; but it leaves None alone.
register_backend(compile_graph, name="d2lhybrid")
backend = None
