"""What one call of a function asks PyTorch for: its operations, the bytes and the FLOPs of each.

    operations, kept = record(lambda: torch.relu(x @ w))
    [(op.name, op.flops) for op in operations]  # [('mm', 65536), ('relu', 0)]

A dispatch mode sees what reaches ATen, below autograd: forward, backward and the optimizer's update
alike. A view shares its numbers with another tensor, so it costs time and moves no bytes.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, prod

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry, sdpa_flop_count

GATHERS = {"embedding", "gather", "index", "index_select", "take"}  # read as much as they return
WRITE_ONLY = {"bernoulli", "copy", "fill", "normal", "uniform", "zero"}  # in place, without reading
WITH_VECTORS = {"mv", "addmv", "dot", "vdot"}
UNKNOWN = re.compile("rnn|lstm|gru|quantized|_int_")  # whose FLOPs nobody counts
CPU_ATTENTION = "_scaled_dot_product_flash_attention_for_cpu"  # which PyTorch's registry lacks


@dataclass
class Operation:
    """One operation. What it reads and writes are values: (storage, number of its last writer).

    The number is None for what was there before the call.
    """

    name: str  # `add` stands for `add_`, too
    kind: str  # 'view', 'pointwise', 'scalar' (as x * 2), 'product' or 'other'
    inputs: list[tuple]  # (value, offset, shape, strides) of each tensor
    reads: dict[tuple, int]  # value -> the bytes of it that are needed
    writes: dict[tuple, int]
    flops: int = 0  # of products, convolutions and attention; PyTorch counts no others
    numbers: int = 0  # in the largest tensor
    narrow: int = 0  # the smallest dimension of a product, of three
    recorded: bool = False  # autograd keeps a note of it, or calls it in backward

    @property
    def bytes(self) -> int:
        """Read and written."""
        return sum(self.reads.values()) + sum(self.writes.values())

    @property
    def moved(self) -> int:
        """The bytes that pass between processor and memory: what is written is fetched first."""
        return self.bytes + sum(self.writes.values())


def record(function: Callable[[], object]) -> tuple[list[Operation], set[tuple]]:
    """Call `function()` once; return its operations, and the values that outlive the call.

    ValueError if one is not on the CPU, not in float32, or of a kind whose FLOPs are not known.
    """
    with _Recorder() as recorder:
        result = function()  # noqa: F841 (what it returns must be there until the end)
    kept = {v for v in recorder.writers.items() if not recorder.storages[v[0]].expired()}
    return recorder.operations, kept


class _Recorder(TorchDispatchMode):
    """Notes each operation, and lets it run. It keeps no tensor alive."""

    # Or PyTorch loads torch.compile at the first operation, which takes seconds.
    _should_skip_dynamo = classmethod(lambda cls: False)

    def __init__(self):
        super().__init__()
        self.operations, self.writers = [], {}
        self.storages = {}  # a weak reference to each, so that no other gets its number

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        with self:  # in inference mode even `linear` arrives whole
            out = func.decompose(*args, **kwargs)
        if out is not NotImplemented:
            return out
        before = [(t, self._value(t)) for t in _tensors((args, kwargs))]
        out = func(*args, **kwargs)
        if func.namespace not in ("prim", "profiler"):  # these only ask and note something
            self._note(func, args, kwargs, before, out)
        return out

    def _value(self, tensor):
        if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
            raise ValueError("only dense tensors on the CPU are counted")
        ref = StorageWeakRef(tensor.untyped_storage())
        storage = self.storages.setdefault(ref.cdata, ref).cdata
        return storage, self.writers.get(storage)

    def _note(self, func, args, kwargs, before, out):
        name, outs = func._overloadpacket.__name__.rstrip("_"), _tensors(out)
        shapes = [t.shape for t in outs + [t for t, _ in before]]
        inputs = [(value, t.storage_offset(), t.shape, t.stride()) for t, value in before]
        op = Operation(name, "other", inputs, {}, {}, numbers=max(map(prod, shapes), default=0))
        self.operations.append(op)
        changed = _changed(func, args, kwargs)
        if outs and not changed and {self._value(t)[0] for t in outs} <= {v[0] for _, v in before}:
            op.kind = "view"
            return
        if count := flop_registry.get(func._overloadpacket):
            op.flops = count(*args, **kwargs, out_val=out)
            op.narrow = min(n for shape in shapes for n in shape[-2:])
        elif name == CPU_ATTENTION:
            op.flops = sdpa_flop_count(*(t.shape for t in args[:3]))
        elif name in WITH_VECTORS:  # which PyTorch's registry lacks, too
            op.flops, op.narrow = 2 * op.numbers, 1
        formats = {t.dtype for t in outs if t.is_floating_point() and t.numel() > 1}
        if UNKNOWN.search(name) or formats - {torch.float32}:
            raise ValueError(f"only float32 is counted, and no library RNN: {name}")
        simple = "scalar" if any(isinstance(n, (int, float)) for n in args[:2]) else "pointwise"
        simple = simple if torch.Tag.pointwise in func.tags else "other"
        op.kind = "product" if op.flops else simple
        op.recorded = torch._C._current_graph_task_id() != -1  # in backward
        op.recorded |= torch.is_grad_enabled() and any(t.requires_grad for t, _ in before)
        unread = changed if name in WRITE_ONLY or "out" in kwargs else []
        most = max(map(_bytes, outs), default=0) if name in GATHERS else inf
        for t, value in before:
            if not name.endswith("_like") and not any(t is other for other in unread):
                op.reads[value] = max(min(_bytes(t), most), op.reads.get(value, 0))
        for t in [] if "empty" in name else changed or outs:
            self.writers[self._value(t)[0]] = len(self.operations)
            op.writes[self._value(t)] = _bytes(t)


def _tensors(tree):
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def _bytes(tensor):
    """The bytes of a tensor; an expanded one has no more than it has memory."""
    return min(tensor.numel() * tensor.element_size(), tensor.untyped_storage().nbytes())


def _changed(func, args, kwargs):
    """The tensors that an operation changes in place, or writes to with `out=`."""
    named = dict(zip((p.name for p in func._schema.arguments), args, strict=False)) | kwargs
    written = [p.name for p in func._schema.arguments if p.alias_info and p.alias_info.is_write]
    return _tensors([named.get(name) for name in written])
