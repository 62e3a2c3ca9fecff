"""The compiler as a backend of torch.compile: `torch.compile(net, backend="d2lhybrid")`.

Explained in notebook 12; Inductor is the backend that torch.compile uses by default. torch.compile
follows Python and has guards of its own, so here only the graph that it has captured is compiled,
and of that the parts that have operations enough. The rest is left to torch.
The entry point is in pyproject.toml, in the group `torch_dynamo_backends`.
"""

import warnings
from collections.abc import Callable

import torch
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import create_op_support

from .codegen.c import check_types
from .compiler import CompiledGraph
from .graph import Node
from .inputs import admitted
from .operations import BATCH, UnsupportedOperation
from .recorder import IN_PLACE, RecordingError, record_nodes

PART = "compiled_part_"  # what the names of compiled parts begin with


def backend(graph_module: torch.fx.GraphModule, example_inputs: list) -> Callable:
    """Compile a graph that torch.compile has captured, for inference on the CPU.

    Its inputs are tensors, among them the network's parameters, and sizes. One size may vary, the
    batch, which is the first size of a tensor. For another size torch.compile compiles again.

    Operations that are not in OPERATIONS are left to torch, and a warning names them. A graph that
    changes tensors in place is left to torch as a whole, because its parts must keep their order.
    """
    # torch.compile gives each placeholder a tensor without data, whose sizes say what varies.
    placeholders = graph_module.graph.find_nodes(op="placeholder")
    for node, example in zip(placeholders, example_inputs, strict=True):
        node.meta.setdefault("example_value", example)
    try:
        return compiled(graph_module)
    except (UnsupportedOperation, RecordingError):
        return compiled_in_parts(graph_module)


def compiled(graph_module):
    placeholders = graph_module.graph.find_nodes(op="placeholder")
    inputs = nodes_for(placeholders)
    program = CompiledGraph(record_nodes(graph_module, inputs))
    tensors = [
        i for i, given in enumerate(inputs) if isinstance(given, Node) and given.op == "input"
    ]

    def run(*values):
        return program(*[admitted(values[i], "an input or a parameter") for i in tensors])

    return run


def compiled_in_parts(graph_module):
    """A graph of which those parts are compiled that can be, and the others run in torch."""
    calls = [node for node in graph_module.graph.nodes if node.op.startswith("call_")]
    theirs, reason = [node for node in calls if not can_be_recorded(node)], ""
    if any(map(changes_a_tensor, calls)):
        theirs, reason = calls, ", because one of them changes a tensor in place"

    supported = create_op_support(lambda _, node: node in calls and node not in theirs)
    partitioner = CapabilityBasedPartitioner(graph_module, supported)
    module = partitioner.fuse_partitions(partitioner.propose_partitions(), prefix=PART)
    for name, part in list(module.named_children()):
        if name.startswith(PART):
            delattr(module, name)  # no function can take a module's place
            setattr(module, name, compiled(part))
    names = dict.fromkeys(getattr(node.target, "__name__", node.target) for node in theirs)
    text = f"d2lhybrid leaves these operations to torch: {', '.join(names)}{reason}"
    warnings.warn(text, stacklevel=2)
    return module.forward


def can_be_recorded(node):
    """Whether an operation can be compiled: it is tried, by itself."""

    def call(*values):
        value_of = dict(zip(node.all_input_nodes, values, strict=True))
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), value_of.get)
        if node.op == "call_method":
            return getattr(args[0], node.target)(*args[1:], **kwargs)
        return node.target(*args, **kwargs)

    if node.op not in ("call_method", "call_function"):
        return False
    try:
        check_types(record_nodes(call, nodes_for(node.all_input_nodes)))
    except (UnsupportedOperation, RecordingError, TypeError, ValueError, AttributeError):
        return False
    return True


def changes_a_tensor(node):
    """Whether an operation writes to a tensor that another one may read."""
    name = getattr(node.target, "__name__", node.target)
    is_in_place = f"__{name}__" in IN_PLACE or (name.endswith("_") and not name.endswith("__"))
    return is_in_place or bool(node.kwargs.get("out") or node.kwargs.get("inplace"))


def nodes_for(fx_nodes):
    """Our input nodes for the values of torch.fx's nodes; a number is itself."""
    examples = [node.meta.get("example_value") for node in fx_nodes]
    batch = batch_of(examples)
    return [input_for(*pair, batch) for pair in zip(fx_nodes, examples, strict=True)]


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
