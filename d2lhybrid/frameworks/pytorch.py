"""PyTorch: the framework of the course. Notebooks 05 to 13 explain what is used here."""

import logging
import sys
import warnings

THREADS = ["OMP_NUM_THREADS", "MKL_NUM_THREADS"]  # read when it is loaded


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


def random_state():
    import torch

    return torch.get_rng_state().numpy().tobytes()


def name_of(device):
    import torch

    if device.startswith("cuda") and torch.cuda.is_available():
        return f"{device} ({torch.cuda.get_device_name(device)})"
    return None


def compilations():
    """Return (functions tried, graphs, found in Inductor's cache, not found there) so far.

    They are torch's private counters; zeros if Dynamo is not loaded. What torch.compile returned
    and nobody called counts as tried, by its backend.
    """
    dynamo = sys.modules.get("torch._dynamo.utils")
    if dynamo is None:  # not loaded, so it has compiled nothing
        return 0, 0, 0, 0
    frames, stats, inductor = (dynamo.counters[of] for of in ("frames", "stats", "inductor"))
    cache = inductor["fxgraph_cache_hit"], inductor["fxgraph_cache_miss"]
    asked = getattr(sys.modules.get("torch._dynamo.eval_frame"), "cached_backends", {}).values()
    tried = sum(backend is not None for backend in asked)  # None: an optimizer turns Dynamo off
    return frames["total"] + tried, stats["unique_graphs"], *cache


# What would disturb a lesson ------------------------------------------------------------------


def quiet() -> None:
    """From now on, hide messages of PyTorch that a reader can do nothing about.

    TorchScript is deprecated; this machine has no GPU; the profiler of torch 2.11 clears its
    events; guards are slow in Python 3.13.0. This also works around a bug: there, with torch 2.11,
    a dict doesn't notice that an attribute was set (python/cpython#125608), so a guard of
    torch.compile takes the old value for the current one.
    """
    import torch

    warnings.filterwarnings("ignore", message="`torch.jit|Guards may run|Warning: Prof")
    torch._logging.set_logs(all=logging.ERROR)
    logging.getLogger("torch.utils").setLevel(logging.ERROR)
    if sys.version_info[:3] == (3, 13, 0):
        config = torch._dynamo.config
        if hasattr(config, "use_recursive_dict_tags_for_guards"):
            config.use_recursive_dict_tags_for_guards = False
