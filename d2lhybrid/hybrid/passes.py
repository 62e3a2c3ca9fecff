"""The passes: each takes a graph and returns one that computes the same.

Each walks over the nodes in the order of computing. Done twice, it does no more than done once.
"""

from dataclasses import replace

from .graph import OPERATIONS, Node

LARGEST_KERNEL = 30  # operations: what a person can still read, and a compiler translate


def optimise(graph):
    """All passes, each where the one before has prepared its work."""
    for change in (fold_constants, share_common, drop_unused, fuse, plan_memory):
        graph = change(graph)
    return graph


def fold_constants(graph):
    """Compute what depends on constants alone. Parameters are none: they may change."""

    def fold(node, was):
        if not node.is_operation or any(source.op != "constant" for source in node.inputs):
            return node
        try:
            value = OPERATIONS[node.op].function(*[source.value for source in node.inputs])
        except (ArithmeticError, TypeError):
            return node  # 1 / 0 is to fail when the program runs, and not before
        return Node("constant", value=value, shape=node.shape, dtype=node.dtype)

    return graph.rewrite(fold)


def share_common(graph):
    """Compute only once what is computed twice from the same values."""
    known = {}  # what a node does -> the first node that does it

    def share(node, was):
        # 1, 1.0 and True are equal, and so are 0.0 and -0.0; their texts are not
        value = repr(node.value) if node.shape is None else id(node.value)
        return known.setdefault((node.op, node.inputs, value), node)

    return graph.rewrite(share)


def drop_unused(graph):
    """Remove what no output needs, from the last node to the first."""
    needed = set(graph.outputs)
    for node in reversed(graph.nodes):
        if node in needed:
            needed.update(node.inputs)
    return replace(graph, nodes=tuple(node for node in graph.nodes if node in needed))


def fuse(graph):
    """Let each operation that is read only once, element by element, be computed by its reader.

    What is fused never goes to memory. A linear layer takes in the elementwise work after it.
    """
    together, fused = {}, set()  # together: node -> the operations computed along with it
    for node in graph.nodes:
        together[node] = [node.op]
        for source in node.inputs:
            both = together.get(source, []) + together[node]
            if (
                source.is_operation
                and graph.readers[source] == [node]
                and source.shape == node.shape
                and node.op != "linear"  # it needs a whole row of its input at once
                and both.count("linear") <= 1  # each brings a loop of its own
                and len(both) <= LARGEST_KERNEL
            ):
                fused.add(source)
                together[node] = both
    return graph.rewrite(lambda node, was: replace(node, fused=was in fused))


def plan_memory(graph):
    """Give each stored value a slot. A value that was read for the last time frees its own."""
    last_kernel, slots, free = {}, {}, []
    for kernel in graph.kernels:
        last_kernel |= {source: kernel for node in kernel for source in node.inputs}
    for kernel in graph.kernels:
        stored = kernel[-1]
        if stored not in graph.outputs:  # an output goes into memory of its own
            # before any is freed: a linear layer must not write where it still reads
            slots[stored] = free.pop() if free else len(set(slots.values()))
        read = dict.fromkeys(source for node in kernel for source in node.inputs)
        free += [slots[node] for node in read if node in slots and last_kernel[node] is kernel]
    return graph.rewrite(lambda node, was: replace(node, fused=was.fused, slot=slots.get(was)))


def slot_sizes(graph):
    """slot -> the numbers in its largest value: (for each row of the batch, besides).

    Where memory is not planned, each stored value has a slot of its own.
    """
    sizes = {}
    for *_, stored in graph.kernels:
        if stored not in graph.outputs and stored.shape is not None:
            slot = stored if stored.slot is None else stored.slot
            rows, besides = sizes.get(slot, (0, 0))
            sizes[slot] = (max(rows, stored.size[0]), max(besides, stored.size[1]))
    return sizes


def memory_bytes(graph, batch=1):
    """The bytes that hold what is neither input nor output, for float32."""
    return 4 * sum(batch * rows + besides for rows, besides in slot_sizes(graph).values())
