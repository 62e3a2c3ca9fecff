"""`hybridize`: from a network to a compiled function that watches what it relies on."""

import ctypes
import os
from threading import RLock

import torch

from .codegen import c_entry, c_source, outputs_of, parameters_of
from .export import export
from .graph import BATCH
from .guard import Guarded, admitted, is_readable
from .passes import optimise
from .recorder import RecordingError, trace
from .toolchain import array, load_function
from .witness import Witness

PLAIN = {"dtype": torch.float32, "device": "cpu"}  # whatever torch's defaults are

# Held while a network is recorded and compiled, by one thread at a time; a recording may run
# anything, even a call that records. A fork waits for it, or the child would: for a thread that
# the child does not have.
RECORDING = RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=RECORDING.acquire,
        after_in_parent=RECORDING.release,
        after_in_child=RECORDING.release,
    )


def hybridize(net, *examples):
    """Compile a network, or a function of tensors, for inference on the CPU. Returns a HybridNet.

    `examples` are float32 tensors like those of later calls; the first size of a tensor with two
    dimensions or more is its batch, and may then be any. What Python decides on the way stays
    decided; see `trace`. The network is run on the examples once more, with numbers, to see that
    the recording computes the same; zeros would hide a difference.

    Parameters may change in place, and be replaced; so may layers, and tensors in the function's
    own variables. After any other change, call hybridize again: of hooks, attributes, layers in a
    plain list, or where a parameter becomes another view of its own memory. `Guarded` says what is
    looked at. A call takes no part in autocast, forward-mode derivatives, and recordings such as
    torch.jit.trace makes.

    RecordingError, UnsupportedOperation and ValueError as `trace` raises them; RecordingError, too,
    where the recording computes something else than the network, or uses a tensor that could be
    replaced unseen; TypeError for other examples, or none; CompilerNotFound where there is no C
    compiler.
    """
    if not examples:
        raise TypeError("hybridize needs an example of each argument")
    return HybridNet(net, *examples)


class Program:
    """A graph, compiled. Called with contiguous float32 tensors, it returns new ones.

    The parameters' memory is used where it lies, and kept alive. Several threads may call at
    once: a call shares nothing with another one that is written to.
    """

    def __init__(self, graph):
        self.graph = optimise(graph)
        self.source = c_source(self.graph)
        self.parameters = [node.value.detach() for node in parameters_of(self.graph)]
        for node, tensor in zip(parameters_of(self.graph), self.parameters):
            if not is_readable(tensor):
                raise TypeError(
                    f"the parameter {node.name} must be contiguous, aligned and on the CPU"
                )
        self.table = array([tensor.data_ptr() for tensor in self.parameters])
        self.results = outputs_of(self.graph)
        self.order = [self.results.index(node) for node in self.graph.outputs]
        self.call_forward = load_function(self.source + c_entry(self.graph), "call_forward")
        self.call_forward.argtypes = [ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_void_p]

    def batch(self, shapes):
        """The batch size of inputs of such shapes; 1 where none has a batch. ValueError: no fit."""
        sizes = set()
        for node, shape in zip(self.graph.inputs, shapes, strict=True):
            fits = all(size in (BATCH, given) for size, given in zip(node.shape, shape))
            if len(shape) != len(node.shape) or not fits:
                raise ValueError(f"{node.name} is {node.type}, and the input has {list(shape)}")
            if node.shape[:1] == (BATCH,):
                sizes.add(shape[0])
        if len(sizes) > 1:
            raise ValueError(f"the inputs have batches of {' and '.join(map(str, sorted(sizes)))}")
        return sizes.pop() if sizes else 1

    def result_shapes(self, n):
        """The shapes of `results`, at batch size n."""
        return [[n if size == BATCH else size for size in node.shape] for node in self.results]

    def pack(self, *results):
        """The tensors for `results`, in the form in which the network returns them."""
        return self.graph.pack(results[i] for i in self.order)

    def __call__(self, *inputs):
        n = self.batch([tensor.shape for tensor in inputs])
        results = [torch.empty(shape, **PLAIN) for shape in self.result_shapes(n)]
        tensors = [*inputs, *results]
        if not all(map(is_readable, tensors)):  # so it is within some of torch's transformations
            raise RuntimeError("an input, or a new tensor, has no numbers in memory")
        if self.call_forward(n, array([tensor.data_ptr() for tensor in tensors]), self.table):
            raise MemoryError(f"there is no memory for a batch of {n}")
        return self.pack(*results)


class HybridNet:
    """A compiled network, called as the network is. `hybridize` makes it.

    `graph` is what was recorded, after all passes; `source` the C function; `guard` says what is
    asked before each call, to make sure that all is as it was; `holds()` asks this of the network
    alone. Where it is not, the network is recorded again; `compilations` counts the different C
    functions. A copy, or what comes out of a pickle, is compiled when it is first used.
    """

    # Python looks up `__call__` in the class. A slot there hands out what this object keeps in
    # it, the guard itself, without a function of Python's in between, which would take time.
    __slots__ = ("__call__", "__dict__", "__weakref__")

    def __init__(self, net, *examples):
        inputs = [admitted(tensor) for tensor in examples]
        self.__setstate__({"net": net, "_shapes": [tensor.shape for tensor in inputs]})
        self._program_for(inputs)

    def __getstate__(self):
        return {"net": self.net, "_shapes": self._shapes}

    def __setstate__(self, state):
        vars(self).update(state)
        self._guarded = {}  # feature shapes -> Guarded
        self._sources = set()
        self.__call__ = self._recompile

    def __getattr__(self, name):
        """What a compilation makes, where there was none yet."""
        if name not in ("graph", "source", "guard", "holds"):
            raise AttributeError(f"a HybridNet has no attribute {name!r}")
        chance = torch.Generator().manual_seed(0)
        self._program_for([torch.rand(size, generator=chance, **PLAIN) for size in self._shapes])
        return vars(self)[name]

    @property
    def compilations(self):
        return len(self._sources)

    def _program_for(self, inputs):
        """Choose, or make, the program for such inputs, and put its guard in front."""
        features = tuple((tensor.dim(), tensor.shape[tensor.dim() > 1 :]) for tensor in inputs)
        with RECORDING:
            guarded = self._guarded.get(features)
            if guarded is None or not guarded.holds():
                guarded = self._guarded[features] = self._record(inputs)
                self._sources.add(guarded.program.source)
            guarded.expect([tensor.shape for tensor in inputs])
            self.graph, self.source = guarded.program.graph, guarded.program.source
            self.guard, self.holds, self.__call__ = guarded.text, guarded.holds, guarded.call
        return guarded.program

    def _record(self, inputs):
        """The program for such inputs, behind a guard that knows how the network was."""
        for _ in range(3):  # again, if another thread has just replaced a tensor
            with Witness(self.net) as seen:
                graph = trace(self.net, *inputs)
            unseen = [node for node in parameters_of(graph) if not seen.places_of(node.value)]
            if not unseen:
                break
        else:
            raise RecordingError(
                f"nothing would be noticed if {unseen[0].name or 'a tensor'} ({unseen[0].type}) "
                "were replaced: no module that was called keeps it, and it is no variable of the "
                "function. Make it a parameter or a buffer of a module"
            )
        guarded = Guarded(seen, Program(graph), self._recompile)
        self._compare(graph, guarded, inputs)
        return guarded

    def _compare(self, graph, guarded, inputs):
        """RecordingError where torch, by the graph, computes something else than the network.

        This happens where Python asks a symbol something that it can't refuse, such as type(x).
        Where the network is being changed meanwhile, the two may differ for that reason.
        """
        for _ in range(3):
            with torch.no_grad(), torch.autocast("cpu", enabled=False):
                if agree(graph(*inputs), self.net(*inputs)) or not guarded.holds():
                    return
        raise RecordingError(
            f"the recording of {graph.name} computes something else than {graph.name} itself. Does "
            "it decide by the type of its arguments, or by what is not the same in each call?"
        )

    def _recompile(self, *inputs, **named):
        """A call that the guard does not let pass."""
        if named:
            raise TypeError(
                f"inputs are given in order, not as keyword arguments: {', '.join(named)}"
            )
        if len(inputs) != len(self._shapes):
            raise TypeError(f"expected {len(self._shapes)} input(s), got {len(inputs)}")
        inputs = [admitted(tensor) for tensor in inputs]
        return self._program_for(inputs)(*inputs)

    def export(self, folder):
        """Write the program to a folder, as C that needs neither Python nor a library.

        See `d2lhybrid.hybrid.export`.
        """
        return export(self, folder)


def agree(one, other):
    """Whether two results of a network are the same, within what a rounding may grow to."""
    if isinstance(one, (tuple, list)):
        return type(one) is type(other) and len(one) == len(other) and all(map(agree, one, other))
    if not isinstance(other, torch.Tensor) or (one.shape, one.dtype) != (other.shape, other.dtype):
        return False
    return torch.allclose(one, other, rtol=1e-3, atol=1e-5, equal_nan=True)
