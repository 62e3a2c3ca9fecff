"""A compiled network as a folder of C; main.c is the same for all, net.h says what differs.

Explained in notebooks 08 and 12; torch.export and AOTInductor are PyTorch's ways.
"""

from itertools import accumulate
from pathlib import Path

from ..toolchain import read_c_file
from .codegen.c import c_signature, output_name
from .graph import Graph
from .operations import BATCH

NET_H = """\
/* The network in net.c. In tensors the last index runs fastest; n is the size of the batch. */
#ifndef NET_H
#define NET_H

#include <stddef.h>

/* Input:       {input}
   Output:      {output}
   Parameters:  {parameters}

   `parameters` points to the parameters, in this order. In weights.bin they lie one after the
   other, as little-endian float32. Returns 0, or 1 where there is no memory. */
{signature};

/* For main.c. How many numbers belong to one row of the batch: */
#define INPUT_SIZE {input_size}
#define OUTPUT_SIZE {output_size}
/* Where the parameters start in weights.bin, counted in numbers, and where the last one ends: */
#define PARAMETER_STARTS {{{starts}}}

#endif
"""
NET_C = """\
/* All networks have the same helpers and arguments: no warnings about those that are not used. */
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"

{source}"""


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
    (folder / "net.c").write_text(NET_C.format(source=source), encoding="utf-8")
    (folder / "main.c").write_text(read_c_file(__file__, "main.c"), encoding="utf-8")
    with (folder / "weights.bin").open("wb") as file:
        for node in graph.parameters:
            file.write(node.value.detach().numpy().astype("<f4").tobytes())
    return folder


def c_header(graph):
    """The text of net.h. ValueError where main.c cannot read the input, or print the output."""
    ends = [*graph.inputs, *graph.outputs]
    if len(ends) != 2 or any(BATCH not in node.shape for node in ends):
        shapes = " and ".join(node.type for node in ends)
        raise ValueError(f"one input and one output, with a batch, can be exported, not {shapes}")
    source, result = ends
    if source.size[0] == 0:
        raise ValueError(f"{source.name} is {source.type}; a row must have a number or more")
    named = [f"{graph.names[node]}  {node.type}" for node in graph.parameters]
    starts = accumulate((sum(node.size) for node in graph.parameters), initial=0)
    return NET_H.format(
        input=f"{graph.names[source]}  {source.type}",
        output=f"{output_name(graph, result)}  {result.type}",
        parameters="\n                ".join(named) or "none",
        signature=c_signature(graph),
        input_size=source.size[0],
        output_size=result.size[0],
        starts=", ".join(map(str, starts)),
    )
