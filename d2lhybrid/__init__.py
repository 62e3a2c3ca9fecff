"""What happens when a program is compiled instead of interpreted, and does it help?

The helper package of the course. Each name below is loaded when it is first used, so
`import d2lhybrid` itself imports neither torch nor matplotlib.
"""

from importlib import import_module

# public name -> the module that defines it
_HOME = {
    "Benchmark": "benchmark",
    "Timer": "benchmark",
    "compare": "comparison",
    "cpu": "device",
    "gpu": "device",
    "num_gpus": "device",
    "synchronize": "device",
    "try_all_gpus": "device",
    "try_gpu": "device",
    "hybridize": "hybrid.compiler",
    "trace": "hybrid.recorder",
    "check": "lesson",
    "raises": "lesson",
    "get_net": "nets",
    "plot_break_even": "plot",
    "plot_data_flow": "plot",
    "plot_distribution": "plot",
    "plot_over_time": "plot",
    "plot_pairs": "plot",
    "plot_ratios": "plot",
    "plot_roads": "plot",
    "plot_shares": "plot",
    "plot_stages": "plot",
    "plot_times": "plot",
    "plot_verdicts": "plot",
    "data_flow": "program",
    "run_program": "program",
    "recipe": "stopwatch",
    "repeated": "stopwatch",
    "sweep": "sweeps",
}

__all__ = [*_HOME]


def __getattr__(name):
    """Import a public name at its first use (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value  # the next use finds it here and does not come back
    return value


def __dir__():
    return sorted(set(globals()) | set(_HOME))
