"""The passes: each takes a graph and returns one that computes the same.

    >>> from .recorder import trace
    >>> graph = trace(lambda a, b: (a + 1) * (a + 1) + 2 * b, 1, 2)
    >>> optimize(graph.bind(b=3))
    program(a):
        v1 = add(a, 1)  # slot 0
        v3 = add(mul(v1, v1), 6)
        return v3

2 * b was folded, a + 1 is shared, and mul is fused into add, so it has no line of its own.
Right after a pass, the same one changes nothing more. Their order counts: the first three make the
nodes anew, without the annotations of the last two.
Explained in notebook 04; torch.fx has passes, too, and LLVM's are the best known.
"""

from dataclasses import replace

from .graph import Graph, Node
from .operations import OPERATIONS

LARGEST_KERNEL = 30  # operations: a person can still read it, and a C compiler is soon done


def optimize(graph: Graph) -> Graph:
    """Apply all passes, each after those from which it profits; the two that annotate come last."""
    passes = fold_constants, share_common, drop_unused, fuse, plan_memory
    for change in passes:
        graph = change(graph)
    return graph


def fold_constants(graph):
    """Compute what depends on constants alone. Parameters are not constants: they may change."""

    def fold(node):
        if not node.is_operation or any(source.op != "constant" for source in node.inputs):
            return node
        try:
            value = OPERATIONS[node.op].function(*[source.value for source in node.inputs])
        except (ArithmeticError, TypeError):
            return node  # 1 / 0 must fail when the program runs, and not before
        return Node("constant", value=value)

    return graph.rewrite(fold)


def share_common(graph):
    """Compute only once what is computed twice: common subexpression elimination, CSE."""
    known = {}  # what a node does -> the first node that does it

    def share(node):
        # 1, 1.0 and True are equal, and so are 0.0 and -0.0; their texts are not
        value = repr(node.value) if node.shape is None else id(node.value)
        return known.setdefault((node.op, node.inputs, value), node)

    return graph.rewrite(share)


def drop_unused(graph):
    """Remove what no output needs, from the last node to the first: dead code elimination, DCE."""
    needed = set(graph.outputs)
    for node in reversed(graph.nodes):
        if node in needed:
            needed.update(node.inputs)
    return replace(graph, nodes=tuple(node for node in graph.nodes if node in needed))


def fuse(graph):
    """Let each operation that is read only once, element by element, be computed by its reader.

    A fused value is never stored. A linear layer is fused with the elementwise work after it. A
    kernel has one shape, at most one operation that computes by rows, and at most LARGEST_KERNEL
    operations in all.
    """
    together, fused = {}, set()  # together: node -> the nodes computed along with it
    for node in graph.nodes:
        together[node] = [node]
        for source in node.inputs:
            both = together.get(source, []) + together[node]
            if (
                source.is_operation
                and graph.readers[source] == [node]
                and source.shape == node.shape
                and node.is_elementwise  # `linear` is not: it needs a whole row at once
                and sum(not part.is_elementwise for part in both) <= 1  # each has its own loop
                and len(both) <= LARGEST_KERNEL
            ):
                fused.add(source)
                together[node] = both
    return graph.annotate(fused=fused)


def plan_memory(graph):
    """Give each stored value a slot, a buffer that values share one after the other.

    A value frees it after its last reader. Register allocation is the same problem.
    """
    last_kernel, slots, free = {}, {}, []
    for kernel in graph.kernels:
        last_kernel |= {source: kernel for node in kernel for source in node.inputs}
    for kernel in graph.kernels:
        stored = kernel[-1]
        if stored not in graph.outputs:  # an output goes into memory of its own
            # The slot is chosen before this kernel's inputs free theirs: a linear layer must not
            # write where it still reads. A free one, or else a new one: they are 0, 1, 2 ...
            slots[stored] = free.pop() if free else len(set(slots.values()))
        free += [slots[node] for node in slots if last_kernel.get(node) is kernel]
    return graph.annotate(slots=slots)
