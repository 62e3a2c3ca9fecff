"""Which device computes, and when it has finished."""

import sys


def cpu():
    """The CPU, as a `torch.device`."""
    import torch

    return torch.device("cpu")


def gpu(i=0):
    """The GPU number `i`, as a `torch.device`, whether or not this machine has it."""
    import torch

    return torch.device(f"cuda:{i}")


def num_gpus():
    """How many GPUs torch can use."""
    import torch

    return torch.cuda.device_count()


def try_gpu(i=0):
    """The GPU number `i` if this machine has it, else the CPU."""
    return gpu(i) if num_gpus() >= i + 1 else cpu()


def try_all_gpus():
    """All GPUs of this machine; a list of the CPU alone where there is none."""
    return [gpu(i) for i in range(num_gpus())] or [cpu()]


def synchronize():
    """Wait until every GPU has finished what this process asked of it.

    A call that computes on a GPU returns when the work is queued, not when it is done. So a
    clock must wait here, before it is read. Where torch was never imported, or has no GPU,
    there is nothing to wait for.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return
    if torch.cuda.is_initialized():
        for i in range(torch.cuda.device_count()):
            if torch.cuda.memory_reserved(i):  # one that holds nothing was asked for nothing
                torch.cuda.synchronize(i)
    elif torch.backends.mps.is_available():
        torch.mps.synchronize()
