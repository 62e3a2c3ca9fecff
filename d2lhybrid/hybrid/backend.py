"""The compiler as a backend of torch.compile: `torch.compile(net, backend="d2lhybrid")`.

Explained in notebook 12; Inductor is the backend that torch.compile uses by default. torch.compile
follows Python and has guards of its own, so here only the graph that it has captured is compiled.
The entry point is in pyproject.toml, in the group `torch_dynamo_backends`.
"""

import warnings
from collections.abc import Callable

import torch

from .compiler import CompiledGraph, validate_input
from .graph import Node
from .operations import BATCH, UnsupportedOperation
from .recorder import RecordingError, record_nodes

CANNOT_COMPILE = (UnsupportedOperation, RecordingError, TypeError, ValueError, AttributeError)


def backend(graph_module: torch.fx.GraphModule, example_inputs: list) -> Callable:
    """Compile a graph that torch.compile has captured, for inference on the CPU.

    Its inputs are tensors, among them the network's parameters, and sizes. One size may vary, the
    batch, which is the first size of a tensor. For another size torch.compile compiles again.

    Returns the compiled graph, which raises RuntimeError where gradients would be lost; or, after
    a warning, the graph as it is, if it needs something that this compiler does not have.
    """
    # torch.compile gives each placeholder a tensor without data, whose sizes say what varies.
    placeholders = graph_module.graph.find_nodes(op="placeholder")
    pairs = zip(placeholders, example_inputs, strict=True)
    examples = [node.meta.get("example_value", example) for node, example in pairs]
    batch = batch_of(examples)
    try:
        inputs = [input_for(*pair, batch) for pair in zip(placeholders, examples, strict=True)]
        program = CompiledGraph(record_nodes(graph_module, inputs))
    except CANNOT_COMPILE as error:
        warnings.warn(f"d2lhybrid leaves this graph to PyTorch: {error}", stacklevel=2)
        return graph_module.forward
    tensors = [i for i, node in enumerate(inputs) if isinstance(node, Node) and node.op == "input"]
    return lambda *values: program(*[validate_input(values[i]) for i in tensors])


def batch_of(examples):
    """The symbol that torch.compile has for the size that may vary; None if no size may.

    It is the first one that begins a tensor's shape, and is in no other place of a shape.
    """
    shapes = [[*map(size_symbol, one.shape)] for one in examples if isinstance(one, torch.Tensor)]
    first = [shape[0] for shape in shapes if len(shape) > 1]  # a vector has no batch
    others = [size for shape in shapes for size in shape[len(shape) > 1 :]]
    return next((size for size in first if size is not None and size not in others), None)


def size_symbol(number):
    """The symbol of sympy's that torch.compile has for a size; None for a fixed size."""
    return number.node.expr if isinstance(number, torch.SymInt) else None


def input_for(placeholder, example, batch):
    """The node for an input of the graph, from an example of it; a number is returned itself."""
    if isinstance(example, torch.Tensor):
        varies = batch is not None and example.dim() > 1 and size_symbol(example.shape[0]) == batch
        rest = example.shape[1:] if varies else example.shape
        # int() makes torch.compile guard the size: for another one it compiles again.
        shape = (BATCH,) * varies + tuple(map(int, rest))
        return Node("input", name=placeholder.name, shape=shape, dtype=example.dtype)
    if batch is not None and size_symbol(example) == batch:
        return Node("batch", name=placeholder.name)  # a graph that computes with it is refused
    return int(example) if isinstance(example, torch.SymInt) else float(example)
