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
   Outputs:     {outputs}
   Parameters:  {parameters}

   `parameters` points to the parameters, in this order. In weights.bin they lie one after the
   other, as little-endian float32. Returns 0, or 1 where there is no memory. */
{signature};

/* For main.c. How many numbers belong to one row of the batch, in the input and in each output: */
#define INPUT_SIZE {input_size}
#define OUTPUT_SIZES {{{output_sizes}}}
/* 1 where there is no batch, so that one row is all: */
#define ONE_ROW {one_row}
/* The outputs in the order in which the network returns them: */
#define SHOWN {{{shown}}}
/* Where the parameters start in weights.bin, counted in numbers, and where the last one ends: */
#define PARAMETER_STARTS {{{starts}}}
#define FORWARD(n, x, y, parameters) forward(n, x, {outputs_of_y}, parameters)

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

    Returns the folder's `Path`. ValueError unless the graph takes one tensor, and where that has a
    batch, each output has one, too: `main` prints the outputs of a row one after the other.
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
    """The text of net.h. ValueError where main.c cannot read the input, or print the outputs."""
    if len(graph.inputs) != 1:
        raise ValueError(
            f"{graph.name} has {len(graph.inputs)} inputs; a network with one can be exported"
        )
    (source,), outputs, parameters = graph.inputs, graph.results, graph.parameters
    if sum(source.size) == 0:
        raise ValueError(f"{source.name} is {source.type}; a row must have a number or more")
    for node in outputs:
        if (BATCH in node.shape) != (BATCH in source.shape):
            raise ValueError(
                f"{source.name} is {source.type}, and an output {node.type}; it needs a batch too"
            )

    def lines(pairs):
        return "\n                ".join(f"{name}  {node.type}" for name, node in pairs) or "none"

    return NET_H.format(
        input=lines([(graph.names[source], source)]),
        outputs=lines((output_name(graph, node), node) for node in outputs),
        parameters=lines((graph.names[node], node) for node in parameters),
        signature=c_signature(graph),
        input_size=sum(source.size),
        one_row=int(BATCH not in source.shape),
        output_sizes=listed(sum(node.size) for node in outputs),
        shown=listed(outputs.index(node) for node in graph.outputs),
        starts=listed(accumulate((sum(node.size) for node in parameters), initial=0)),
        outputs_of_y=listed(f"(y)[{i}]" for i in range(len(outputs))),
    )


def listed(things):
    return ", ".join(map(str, things))
