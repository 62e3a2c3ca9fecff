"""The network that speaks as JavaScript, for the page that lets it speak: static/speak/.

    .venv/bin/python pages/javascript.py

trains it and writes `network.js`, the graph as a program, and `weights.js`, its numbers, in about
two minutes. Both are stored; Sphinx runs none of this. The graph is recorded and optimized by the
course's compiler, and templates write it out as hybrid/codegen.py writes C, here for one row.
"""

import json
import sys
from base64 import b64encode
from datetime import date
from pathlib import Path

import torch

from d2lhybrid import OPERATIONS, optimize, speaking_net, trace
from d2lhybrid.benchmark.metadata import describe_machine
from d2lhybrid.hybrid.operations import fill
from d2lhybrid.speaking import CONTEXT, SYMBOLS

FOLDER = Path(__file__).parent / "static" / "speak"
PRELUDE = """\
const relu = x => (x < 0 ? 0 : x);

// The sum of k products: of x, and of row i of w.
function dot(k, x, w, i) {
    let sum = 0;
    for (let j = 0; j < k; j++) sum += w[i * k + j] * x[j];
    return sum;
}
"""


def javascript_source(net):
    """A network of linear and elementwise layers, as the text of a function of one row."""
    graph = optimize(trace(net, torch.rand(1, net[0].in_features)))
    names, lines = graph.names, []
    for kernel in graph.kernels:
        stored = kernel[-1]
        size = stored.shape[-1]
        lines += [f"// {names[stored]} = {graph.equation(stored)}"]
        lines += [f"const {names[stored]} = new Float32Array({size});"]
        lines += [f"for (let i = 0; i < {size}; i++) {{"]
        for node in kernel:
            operation, first = OPERATIONS[node.op], node.inputs[0]
            read = node.inputs[operation.read_by_rows :]
            values = [names[one] if one in kernel else f"{names[one]}[i]" for one in read]
            if operation.rows:  # linear: its sum, to which its template adds the bias
                k, x, w = first.shape[-1], names[first], names[node.inputs[1]]
                values.insert(0, f"dot({k}, {x}, {w}, i)")
            target = f"{names[stored]}[i]" if node is stored else f"const {names[node]}"
            lines.append(f"    {target} = {fill(operation.c, values)};")
        lines.append("}")
    head = f"function network({names[graph.inputs[0]]}, parameters) {{"
    lines = [f"const [{', '.join(names[one] for one in graph.parameters)}] = parameters;", *lines]
    lines.append(f"return {names[graph.outputs[0]]};")
    return "\n".join([PRELUDE, head, *(f"    {line}" for line in lines), "}\n"])


def rounded(parameter):
    """A bias as a list; a matrix as 8-bit integers in base64, and each row's scale."""
    if parameter.dim() == 1:
        return parameter.tolist()
    scales = parameter.abs().amax(1, keepdim=True) / 127
    integers = (parameter / scales).round()
    parameter.copy_(integers * scales)  # so that the network computes with the same numbers
    data = b64encode(integers.to(torch.int8).numpy().tobytes()).decode()
    return {"scales": scales.flatten().tolist(), "rows": data}


def main():
    torch.set_num_threads(1)
    net = speaking_net(steps=8000)
    weights = [rounded(parameter) for parameter in net.parameters()]
    begin = "the statement is"
    one_hot = torch.eye(len(SYMBOLS))[[SYMBOLS.index(c) for c in begin]].reshape(1, -1)
    processor = describe_machine()["processor"]
    made = f"Python {sys.version.split()[0]}, torch {torch.__version__}, {processor}"
    speaker = {
        "made": f"{made}, {date.today():%Y-%m-%d}",
        "symbols": SYMBOLS,
        "context": CONTEXT,
        "example": {"text": begin, "scores": net(one_hot)[0].tolist()},  # PyTorch's, for the test
        "weights": weights,
    }
    head = "// Made by pages/javascript.py: trained on Python's language reference (PSF License)."
    (FOLDER / "weights.js").write_text(f"{head}\nconst speaker = {json.dumps(speaker)};\n")
    (FOLDER / "network.js").write_text(javascript_source(net))


if __name__ == "__main__":
    main()
