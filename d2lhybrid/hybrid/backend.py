"""The compiler as a backend of torch.compile: `torch.compile(net, backend="d2lhybrid")`.

torch.compile watches Python and guards what it relies on; here only the graph that it hands over
is compiled. Its entry point is in pyproject.toml, in the group `torch_dynamo_backends`.
"""

import torch

from .compiler import Program
from .graph import BATCH, Node
from .guard import admitted
from .recorder import record


def backend(graph_module, example_inputs):
    """Compile a graph that torch.compile has captured, for inference on the CPU.

    Its inputs are tensors, the network's parameters among them, and sizes. One size may vary, the
    batch: it is the first size of a tensor. For others torch.compile compiles again.
    UnsupportedOperation for what the graph needs and we do not have.
    """
    # torch.compile keeps with each placeholder a tensor without data, whose sizes say what varies.
    placeholders = graph_module.graph.find_nodes(op="placeholder")
    examples = [
        node.meta.get("example_value", example)
        for node, example in zip(placeholders, example_inputs)
    ]
    batch = batch_of(examples)
    inputs = [input_for(*pair, batch) for pair in zip(placeholders, examples)]
    program = Program(record(graph_module, inputs))
    tensors = [i for i, one in enumerate(inputs) if isinstance(one, Node) and one.op == "input"]

    def run(*values):
        return program(*[admitted(values[i]) for i in tensors])

    return run


def batch_of(examples):
    """What torch.compile calls the size that may vary; None if there is none.

    The first of those with which tensors begin, unless it stands in another place, too.
    """
    first, others = [], set()
    for example in examples:
        if isinstance(example, torch.Tensor):
            symbols = [*map(symbol, example.shape)]
            start = 1 if example.dim() > 1 else 0  # a vector has no batch
            first += symbols[:start]
            others.update(symbols[start:])
    return next((one for one in first if one is not None and one not in others), None)


def symbol(number):
    return number.node.expr if isinstance(number, torch.SymInt) else None


def input_for(placeholder, example, batch):
    """The node for an input of the graph, or the number that it is, from an example of it."""
    if isinstance(example, torch.Tensor):
        varies = batch is not None and example.dim() > 1 and symbol(example.shape[0]) == batch
        rest = example.shape[1:] if varies else example.shape
        # What is taken as an int is guarded by torch.compile.
        shape = (BATCH,) * varies + tuple(map(int, rest))
        return Node("input", name=placeholder.name, shape=shape, dtype=example.dtype)
    if batch is not None and symbol(example) == batch:
        return Node("batch", name=placeholder.name)  # a program that computes with it is refused
    return int(example) if isinstance(example, torch.SymInt) else float(example)
