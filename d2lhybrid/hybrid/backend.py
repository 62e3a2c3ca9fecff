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

    Its inputs are tensors, the network's parameters among them, and sizes. The first size of a
    tensor may vary. UnsupportedOperation for what the graph needs and we do not have.
    """
    # torch.compile keeps with each placeholder a tensor without data, whose sizes say what varies.
    placeholders = graph_module.graph.find_nodes(op="placeholder")
    inputs = [
        input_for(node.name, node.meta.get("example_value", example))
        for node, example in zip(placeholders, example_inputs)
    ]
    program = Program(record(graph_module, inputs))
    tensors = [i for i, node in enumerate(inputs) if node.op == "input"]

    def run(*values):
        return program(*[admitted(values[i]) for i in tensors])

    return run


def input_for(name, example):
    """The node for an input of the graph, from an example of it."""
    if not isinstance(example, torch.Tensor):
        return Node("batch", name=name)  # a size; whoever computes with it is refused
    varies = example.dim() > 1 and isinstance(example.shape[0], torch.SymInt)
    rest = example.shape[1:] if varies else example.shape
    # Whatever is taken as an int is guarded by torch.compile.
    shape = (BATCH,) * varies + tuple(map(int, rest))
    return Node("input", name=name, shape=shape, dtype=example.dtype)
