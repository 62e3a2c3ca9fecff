"""A compiled network as a folder of C; main.c is the same for all, net.h says what differs.

Explained in notebooks 08 and 12; torch.export and AOTInductor are PyTorch's ways.
"""

from itertools import accumulate
from pathlib import Path

from ..toolchain import read_c_file
from .codegen import c_signature, output_name
from .graph import Graph
from .operations import BATCH

NET_H = """\
/* The network in net.c. In tensors the last index runs fastest; n is the size of the batch.
   Input:       {input}
   Output:      {output}
   Parameters:  {parameters}

   `parameters` points to the parameters, in this order. In weights.bin they lie one after the
   other, as little-endian float32. Returns 0, or 1 where there is no memory. */
#include <stddef.h>
{signature};
/* For main.c: how many numbers belong to one row of the batch; where the parameters start in
   weights.bin, counted in numbers, and where the last one ends. */
#define INPUT_SIZE {input_size}
#define OUTPUT_SIZE {output_size}
#define PARAMETER_STARTS {{{starts}}}
"""
# All networks have the same helpers and arguments: no warnings about those that are not used.
UNUSED = """\
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
"""


def export(graph: Graph, source: str, folder: str | Path) -> Path:
    """Write a compiled graph and its C source to a folder, which is made if it is missing.

    net.c        the network, as one C function
    net.h        its declaration, its sizes, and what its parameters are
    weights.bin  the parameters as they are now, one after the other: little-endian float32
    main.c       a program around it, from text to text; its first lines say how to build it

    Returns the folder's `Path`. ValueError unless the graph takes one tensor and returns one, both
    with a batch: `main` reads and prints them row by row.
    """
    header, folder = c_header(graph), Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "net.h").write_text(header, encoding="utf-8")
    (folder / "net.c").write_text(UNUSED + source, encoding="utf-8")
    (folder / "main.c").write_text(read_c_file(__file__, "main.c"), encoding="utf-8")
    weights = [node.value.detach().numpy().astype("<f4").tobytes() for node in graph.parameters]
    (folder / "weights.bin").write_bytes(b"".join(weights))
    return folder


def c_header(graph):
    """The text of net.h. ValueError where main.c cannot read the input, or print the output."""
    ends = [*graph.inputs, *graph.outputs]
    if len(ends) != 2 or any(BATCH not in node.shape for node in ends) or not ends[0].size[0]:
        raise ValueError("only a graph of one input and one output, both with a batch, is exported")
    named = [f"{graph.names[node]}  {node.type}" for node in graph.parameters]
    starts = accumulate((sum(node.size) for node in graph.parameters), initial=0)
    return NET_H.format(
        input=f"{graph.names[ends[0]]}  {ends[0].type}",
        output=f"{output_name(graph, ends[1])}  {ends[1].type}",
        parameters="\n                ".join(named) or "none",
        signature=c_signature(graph),
        input_size=ends[0].size[0],
        output_size=ends[1].size[0],
        starts=", ".join(map(str, starts)),
    )
