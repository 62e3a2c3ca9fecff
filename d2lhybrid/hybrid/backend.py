"""The compiler as a backend of torch.compile: `torch.compile(net, backend="d2lhybrid")`.

Explained in notebook 09; Inductor is the backend that torch.compile uses by default. torch.compile
follows Python and has guards of its own, so here only the graph that it has captured is compiled.
The entry point is in pyproject.toml, in the group `torch_dynamo_backends`.
"""

from collections.abc import Callable

import torch

from .compiler import CompiledGraph
from .graph import Node
from .inputs import admitted
from .operations import BATCH
from .recorder import record_nodes


def backend(graph_module: torch.fx.GraphModule, example_inputs: list) -> Callable:
    """Compile a graph that torch.compile has captured, for inference on the CPU.

    Its inputs are tensors, among them the network's parameters, and sizes. One size may vary, the
    batch, which is the first size of a tensor. For another size torch.compile compiles again.
    UnsupportedOperation where the graph needs an operation that is not in OPERATIONS.
    """
    # torch.compile gives each placeholder a tensor without data, whose sizes say what varies.
    placeholders = graph_module.graph.find_nodes(op="placeholder")
    examples = [
        node.meta.get("example_value", example)
        for node, example in zip(placeholders, example_inputs, strict=True)
    ]
    batch = batch_of(examples)
    inputs = [input_for(*pair, batch) for pair in zip(placeholders, examples, strict=True)]
    compiled = CompiledGraph(record_nodes(graph_module, inputs))
    tensors = [
        i for i, given in enumerate(inputs) if isinstance(given, Node) and given.op == "input"
    ]

    def run(*values):
        return compiled(*[admitted(values[i], "an input or a parameter") for i in tensors])

    return run


def batch_of(examples):
    """The symbol that torch.compile has for the size that may vary; None if no size may.

    It is the first one that begins a tensor's shape, and is in no other place of a shape.
    """
    first, others = [], set()
    for example in examples:
        if isinstance(example, torch.Tensor):
            symbols = [*map(size_symbol, example.shape)]
            start = 1 if example.dim() > 1 else 0  # a vector has no batch
            first += symbols[:start]
            others.update(symbols[start:])
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
