"""PyTorch: the framework of the course. Notebooks 04 to 09 explain what is used here."""

import sys
from copy import deepcopy


def synchronize():
    import torch

    if torch.cuda.is_initialized():
        for i in range(torch.cuda.device_count()):
            if torch.cuda.memory_reserved(i):  # one that holds nothing was asked for nothing
                torch.cuda.synchronize(i)
    elif torch.backends.mps.is_available():
        torch.mps.synchronize()


def to_numpy(array):
    import torch

    if not isinstance(array, torch.Tensor):
        return None
    if array.dtype.is_floating_point and array.dtype.itemsize < 4:  # NumPy lacks some of these
        array = array.float()
    return array.numpy(force=True)  # wherever and however it is kept


def state():
    import torch

    return {"threads": torch.get_num_threads(), "gradients": torch.is_grad_enabled()}


def needs_gradients(array):
    import torch

    return array.requires_grad if isinstance(array, torch.Tensor) else None


def name_of(device):
    import torch

    if device.startswith("cuda") and torch.cuda.is_available():
        return f"{device} ({torch.cuda.get_device_name(device)})"
    return None


def compilations():
    """What torch.compile has counted; its counters are private, and may be gone one day."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    if dynamo is None:  # not loaded, so it has compiled nothing
        return 0, 0, 0
    stats, inductor = dynamo.counters["stats"], dynamo.counters["inductor"]
    return (
        stats["unique_graphs"],
        inductor["fxgraph_cache_hit"],
        inductor["fxgraph_cache_miss"],
    )


def ways(net):
    import torch

    from ..nets import without_gradients

    plain = without_gradients(net)

    def frozen():
        return torch.jit.freeze(torch.jit.script(plain))

    def optimised():
        return torch.jit.optimize_for_inference(torch.jit.script(plain))

    return {
        "TorchScript": lambda: torch.jit.script(plain),
        "TorchScript, frozen": frozen,
        "TorchScript, optimised": optimised,
        "torch.compile": lambda: torch.compile(plain),
        "torch.compile, tuned": lambda: tuned(net),
    }


def tuned(net):
    """torch.compile with all that it has to offer: kernels chosen by trial, weights frozen."""
    import torch

    copy = deepcopy(net).eval()  # a copy: `.eval()` must not change the caller's network
    compiled = torch.compile(copy, options={"max_autotune": True, "freezing": True})

    def run(x):
        with torch.no_grad():  # or nothing is frozen
            return compiled(x)

    return run


def linear_layers(net):
    """The weights (inputs, outputs) and biases of a network's linear layers, as NumPy arrays."""
    layers = [layer for layer in net if hasattr(layer, "weight")]
    return [(m.weight.detach().numpy().T, m.bias.detach().numpy()) for m in layers]


# Devices, under the book's names --------------------------------------------------------------


def cpu():
    """The CPU, as a `torch.device`."""
    import torch

    return torch.device("cpu")


def gpu(i: int = 0):
    """The GPU number `i`, as a `torch.device`, whether or not this machine has it."""
    import torch

    return torch.device(f"cuda:{i}")


def num_gpus() -> int:
    """How many GPUs torch can use."""
    import torch

    return torch.cuda.device_count()


def try_gpu(i: int = 0):
    """The GPU number `i` if this machine has it, else the CPU."""
    return gpu(i) if num_gpus() >= i + 1 else cpu()


def try_all_gpus() -> list:
    """All GPUs of this machine; a list of the CPU alone if it has no GPU."""
    return [gpu(i) for i in range(num_gpus())] or [cpu()]


# Faults of some versions that would teach something wrong --------------------------------------


def reset_compiler() -> None:
    """Forget all that torch.compile has compiled, and work around two faults of older versions.

    torch 2.11: a `torch.jit.trace` that fails at `torch.cond` leaves a mark, and from then on
    `torch.compile` captures nothing after a graph break.

    Python 3.13.0, with torch 2.11: a dict doesn't notice that an attribute was set
    (python/cpython#125608), so a guard takes the old value for the present one.
    """
    import torch
    from torch._C._dynamo import eval_frame

    torch.compiler.reset()
    if hasattr(eval_frame, "set_eval_frame_override"):
        eval_frame.set_eval_frame_override(eval_frame._EvalFrameOverride.NONE)
    config = torch._dynamo.config
    if sys.version_info[:3] == (3, 13, 0) and hasattr(config, "use_recursive_dict_tags_for_guards"):
        config.use_recursive_dict_tags_for_guards = False
