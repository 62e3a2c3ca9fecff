"""`hybridize`: from a network to a compiled function that notices when the network changes.

Explained in notebook 13; torch.compile is the real one. Below it: `export`, a compiled network as a
folder of C, as notebook 08 uses it (PyTorch's ways are torch.export and AOTInductor); and `c_loop`
and `reading`, candidates for `compare` that say how fast a network could be at most.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..benchmark.candidates import inner_loops
from ..toolchain import addresses_of, load_function, read_c_file
from .codegen import c_entry, c_signature, c_source, output_name
from .graph import Graph
from .guard import EMPTY, Guarded, ModuleTracker
from .operations import BATCH
from .passes import optimize
from .recorder import RecordingError, trace

PLAIN = {"dtype": torch.float32, "device": "cpu"}  # whatever torch's defaults are


def hybridize(net: Callable, *examples: Tensor) -> HybridNet:
    """Compile a network, or a function of tensors, for inference on the CPU.

    The compiled network computes no gradients. A call that torch would record for gradients,
    because a parameter or an input requires them, is refused; use torch.no_grad(). What Python
    decides during the recording stays decided; see `trace`. The network is run once more on the
    examples, to check that the recording computes the same; zeros would hide a difference.

    Parameters and buffers may be changed in place or replaced, and so may layers. After any other
    change, such as to a hook, an attribute, or a layer in a plain list, call hybridize again.
    `Guarded` says which changes are noticed. A call takes no part in autocast, in forward-mode
    derivatives, or in recordings such as those of torch.jit.trace.

    Args:
        net: A module, or a function of tensors.
        examples: A float32 tensor on the CPU for each argument, as later calls will have it. The
            first size of a tensor with two dimensions or more is the batch, and may differ from
            call to call. For other shapes the network is recorded again.

    Returns:
        A HybridNet, which is called like the network.

    Raises:
        RecordingError: As for `trace`; or if the recording does not compute what the network
            does, or uses a tensor that no module holds, because it could be replaced unnoticed.
        UnsupportedOperation: The network needs an operation that is not in OPERATIONS.
        ValueError: The shapes do not fit.
        TypeError: There is no example, or one that is not as described above.
        CompilerNotFound: This machine has no C compiler that works.
    """
    if not examples:
        raise TypeError("hybridize needs an example of each argument")
    return HybridNet(net, *examples)


def is_readable(tensor: Tensor) -> bool:
    """Return whether C can read a float32 tensor where it lies; see also guard.c.

    It must be on the CPU, contiguous, aligned, and stored with its own sign.
    """
    in_order = tensor.is_cpu and tensor.is_contiguous() and not tensor.is_neg()
    address = tensor.data_ptr() if in_order else None
    return in_order and address % 4 == 0 and (address != 0 or tensor.numel() == 0)


def validate_input(tensor: Tensor) -> Tensor:
    """Return the tensor without its gradient if C can read it, or else a readable copy.

    TypeError for another type or device; RuntimeError where gradients would be lost.
    """
    what = type(tensor).__name__
    if type(tensor) in (Tensor, nn.Parameter) and tensor.layout is torch.strided:
        what = f"{str(tensor.dtype).removeprefix('torch.')} on {tensor.device}"
    if what != "float32 on cpu":
        raise TypeError(f"an input must be of type float32 and on the CPU, not {what}")
    if tensor.requires_grad and torch.is_grad_enabled():
        raise RuntimeError(
            "an input requires gradients, which the compiled program would lose; call it under "
            "torch.no_grad(), or with input.detach()"
        )
    tensor = tensor.detach().contiguous().resolve_neg()
    return tensor.clone() if tensor.data_ptr() % 4 else tensor


class CompiledGraph:
    """A graph, compiled. Called with contiguous float32 tensors, it returns new ones.

    The parameters' memory is read where it lies, and kept alive. Several threads may call at once,
    because a call writes only to memory of its own.

    TypeError where a parameter is not contiguous, aligned and on the CPU.
    """

    def __init__(self, graph: Graph):
        self.graph = optimize(graph)
        self.source = c_source(self.graph)
        self.parameters = [node.value.detach() for node in self.graph.parameters]
        for node, tensor in zip(self.graph.parameters, self.parameters, strict=True):
            if not is_readable(tensor):
                raise TypeError(f"parameter {node.name} must be contiguous, aligned, on the CPU")
        self.table = addresses_of(self.parameters)
        self.order = [self.graph.results.index(node) for node in self.graph.outputs]
        self.call_forward = load_function(self.source + c_entry(self.graph), "call_forward")
        self.call_forward.argtypes = [ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_void_p]

    def batch(self, shapes: list[torch.Size]) -> int:
        """Return the batch size of inputs of these shapes; 1 if none of them has a batch.

        ValueError where a shape does not fit its input, or two batches differ.
        """
        sizes = set()
        for node, shape in zip(self.graph.inputs, shapes, strict=True):
            pairs = zip(node.shape, shape, strict=False)
            if len(shape) != len(node.shape) or any(s not in (BATCH, given) for s, given in pairs):
                raise ValueError(f"{node.name} is {node.type}, and the input has {list(shape)}")
            if node.shape[:1] == (BATCH,):
                sizes.add(shape[0])
        if len(sizes) > 1:
            raise ValueError(f"the inputs have batches of {' and '.join(map(str, sorted(sizes)))}")
        return sizes.pop() if sizes else 1

    def result_shapes(self, n: int) -> list[list[int]]:
        """Return the shapes of the graph's results, at batch size n."""
        return [[n if s == BATCH else s for s in node.shape] for node in self.graph.results]

    def arguments_of_empty(self, n: int) -> list[tuple]:
        """Return what makes a tensor for each result, by `EMPTY`: shape, strides and dtype."""
        shapes = map(tuple, self.result_shapes(n))
        return [(s, torch.empty(s, device="meta").stride(), torch.float32) for s in shapes]

    def as_returned(self, *results: Tensor) -> Any:
        """Return the tensors for the graph's results, as the network returns them."""
        return self.graph.as_returned(results[i] for i in self.order)

    def __call__(self, *inputs: Tensor) -> Any:
        """Run the program; ValueError where shapes do not fit, MemoryError where memory runs out.

        RuntimeError for a tensor that has no numbers in memory.
        """
        n = self.batch([tensor.shape for tensor in inputs])
        results = [EMPTY(*one) for one in self.arguments_of_empty(n)]
        tensors = [*inputs, *results]
        if not all(map(is_readable, tensors)):  # as inside some of torch's transformations: vmap
            raise RuntimeError("an input, or a new tensor, has no data in memory")
        if self.call_forward(n, addresses_of(tensors), self.table):
            raise MemoryError(f"there is no memory for a batch of {n}")
        return self.as_returned(*results)


class HybridNet:
    """A compiled network, called as the network is. `hybridize` makes it.

    `graph` is what was recorded, after all passes; `source` is the C function; `guard` lists what
    is checked before each call, to make sure that nothing has changed; `holds()` checks the part
    of that which is about the network. These four belong to inputs of the last call's shape. Where
    something has changed, the network is recorded again; `compilations` counts the different C
    functions."""

    # Python looks up `__call__` in the class. The slot there returns what this object stores in it,
    # the guard, so that a call goes straight to C. A method in Python would take time.
    __slots__ = ("__call__", "__dict__", "__weakref__")

    def __init__(self, net: Callable, *examples: Tensor):
        inputs = [validate_input(tensor) for tensor in examples]
        self.net, self._shapes = net, [tensor.shape for tensor in inputs]
        self._guarded = {}  # feature shapes -> Guarded
        self._sources = set()
        self._compiled_for(inputs)

    def __getattr__(self, name):
        """AttributeError, which says where the attribute is if the network has it."""
        advice = hasattr(vars(self).get("net"), name) * f"; the network is in .net: .net.{name}"
        raise AttributeError(f"'HybridNet' object has no attribute {name!r}{advice}")

    compilations = property(lambda self: len(self._sources))

    def _compiled_for(self, inputs):
        """Return the Guarded for these inputs, found or made, and put its guard in front."""
        features = tuple((tensor.dim(), tensor.shape[tensor.dim() > 1 :]) for tensor in inputs)
        guarded = self._guarded.get(features)
        if guarded is None or not guarded.holds():
            guarded = self._guarded[features] = self._record(inputs)
            self._sources.add(guarded.compiled.source)
        guarded.expect([tensor.shape for tensor in inputs])
        self.graph, self.source = guarded.compiled.graph, guarded.compiled.source
        self.guard, self.holds, self.__call__ = guarded.text, guarded.holds, guarded.call
        return guarded

    def _record(self, inputs):
        """Return a Guarded for these inputs: recorded, compiled, checked. Errors as of
        `hybridize`.
        """
        with ModuleTracker() as tracker:
            graph = trace(self.net, *inputs)
        for node in graph.parameters:
            if id(node.value) not in tracker.places:
                what = f"no called module holds {node.name or 'a tensor'} ({node.type})"
                raise RecordingError(f"{what}: it could be replaced unnoticed")
        guarded = Guarded(tracker, CompiledGraph(graph), self._recompile)
        with torch.no_grad(), torch.autocast("cpu", enabled=False):
            same = agree(graph(*inputs), self.net(*inputs))
        # where Python asked a symbol something that it cannot refuse, such as type(x)
        if not same and guarded.holds():
            raise RecordingError(f"the recording does not compute the same as {graph.name} itself")
        return guarded

    def _recompile(self, *inputs):
        """Run a call that the guard rejected; compile first if that is needed.

        RuntimeError where gradients would be lost.
        """
        inputs = [validate_input(tensor) for tensor in inputs]
        guarded = self._compiled_for(inputs)
        if torch.is_grad_enabled() and (names := guarded.asks_for_gradients()):
            what = f"{names[0]} requires gradients, which would be lost"
            raise RuntimeError(f"{what}; use torch.no_grad()")
        return guarded.compiled(*inputs)

    def export(self, folder: str | Path) -> Path:
        """Write the network to a folder, as C that needs neither Python nor a library.

        Built with `toolchain.compiler_command()`, the program takes sums in the same order as
        this network does, and prints the same numbers. It takes inputs like the example, in a batch
        of any size. Files, result and errors are those of `export`, or of a call.
        """
        inputs = [torch.full(shape, 0.7, **PLAIN) for shape in self._shapes]  # not 0: see hybridize
        compiled = self._compiled_for(inputs).compiled
        return export(compiled.graph, compiled.source, folder)


def agree(ours, theirs):
    """Whether two results are the same, up to rounding; coarser than `benchmark.agreement`."""
    if type(ours) is not type(theirs):
        return False
    try:
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-5, equal_nan=True)
    except (AssertionError, TypeError, ValueError):  # the last two: no tensors in the list
        return False
    return True


# Without Python -----------------------------------------------------------------------------

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
    (folder / "net.c").write_text(source, encoding="utf-8")
    (folder / "main.c").write_text(read_c_file(__file__, "main.c"), encoding="utf-8")
    weights = [node.value.detach().numpy().astype("<f4").tobytes() for node in graph.parameters]
    (folder / "weights.bin").write_bytes(b"".join(weights))
    return folder


def c_header(graph):
    """The text of net.h. ValueError where main.c cannot read the input, or print the output."""
    ends = [*graph.inputs, *graph.outputs]
    if len(ends) != 2 or any(BATCH not in node.shape for node in ends) or not ends[0].size[0]:
        raise ValueError("export needs a graph with one input and one output, both with a batch")
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


# Limits -------------------------------------------------------------------------------------

TIMES = 16  # repetitions in one call: the call from Python is then a small part


def until_written(function):
    """Return `function`, of one tensor, with its last result kept.

    It is computed again for another tensor, or after a write to the same one.
    """
    remembered = lru_cache(1)(lambda x, version: function(validate_input(x)))
    # PyTorch counts the writes to a tensor, but for one that was made in inference mode
    return lambda x: remembered(x, None if x.is_inference() else x._version)


def c_loop(net: Callable, x: Any) -> Any:
    """A candidate for `compare`: the C that `hybridize` makes of a network, called in a loop in C.

    `x` is an example of the inputs (n, features), where n may vary; the network returns one tensor.
    """
    compiled = CompiledGraph(trace(net, x))
    repeat = load_function(compiled.source + read_c_file(__file__, "loop.c"), "repeat")
    repeat.argtypes = [ctypes.c_ssize_t] * 2 + [ctypes.c_void_p] * 3

    prepared = until_written(lambda x: (x, compiled.batch([x.shape]), compiled(x)))

    def run(x):
        x, n, y = prepared(x)
        if repeat(TIMES, n, x.data_ptr(), y.data_ptr(), compiled.table):
            raise MemoryError(f"there is no memory for a batch of {n}")
        return y

    return inner_loops(run, TIMES)


def reading(net: Callable, x: Any) -> Any:
    """A candidate for `compare` that reads the parameters of a network once and does nothing else.

    `x` is an example of the inputs, as for `c_loop`. The parameters are added up, because the C
    compiler would otherwise remove the reading. The candidate returns the network's result, which
    is computed beforehand with the weights of that moment.
    """
    compiled = CompiledGraph(trace(net, x))
    repeat = load_function(read_c_file(__file__, "read.c"), "repeat")
    repeat.argtypes = [ctypes.c_ssize_t] * 2 + [ctypes.c_void_p] * 2
    repeat.restype = ctypes.c_float
    count = len(compiled.parameters)
    sizes = (ctypes.c_ssize_t * count)(*[tensor.numel() for tensor in compiled.parameters])
    result = until_written(compiled)

    def run(x):
        repeat(TIMES, count, compiled.table, sizes)
        return result(x)

    return inner_loops(run, TIMES)
