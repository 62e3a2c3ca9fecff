"""What happens when a program is compiled instead of interpreted, and does it help?

The helper package of the course. Each name below is loaded when it is first used, so
`import d2lhybrid` itself imports neither torch nor matplotlib. `__init__.pyi` tells the names to
editors.
"""

from importlib import import_module

__version__ = "0.1.0"

# module -> the public names that it defines
_NAMES = {
    "bench": "compare_ways",
    "book": "Benchmark Timer cpu gpu num_gpus try_all_gpus try_gpu",
    "dataflow": "data_flow",
    "frameworks": "FrameworkNotFound import_framework synchronize",
    "frameworks.pytorch": "reset_compiler",
    "hardware": "cache_sizes measured_latencies",
    "hybrid.codegen": "PRELUDE c_source python_function python_source",
    "hybrid.compiler": "hybridize",
    "hybrid.graph": "Graph Node",
    "hybrid.guard": "GUARD_SOURCE",
    "hybrid.operations": "OPERATIONS UnsupportedOperation",
    "hybrid.passes": "memory_bytes optimise",
    "hybrid.recorder": "RecordingError trace",
    "hybrid.toolchain": "CompilationFailed CompilerNotFound compiler_flags find_compiler "
    "load_library",
    "lesson": "check muted needs raises",
    "limits": "c_loop reading",
    "measure.agreement": "difference",
    "measure.candidates": "CandidateError own_process recipe repeated",
    "measure.comparison": "compare",
    "measure.machine": "available_cores",
    "measure.processes": "started",
    "measure.results": "Comparison",
    "measure.sweeps": "Sweep sweep",
    "nets": "get_net",
    "parallel.comm": "Comm Message PeerLost",
    "parallel.collectives": "halving_doubling ring star tree",
    "parallel.gate": "Gate",
    "parallel.link": "Link",
    "parallel.log": "Log Span",
    "parallel.schedule": "list_schedule longest_path makespan",
    "parallel.scheduler": "run_parallel",
    "parallel.world": "RankError World",
    "plot": "plot_break_even plot_chunks plot_curves plot_data_flow plot_distribution "
    "plot_grouped_times plot_lanes plot_latencies plot_measures plot_outcomes plot_over_time "
    "plot_pairs plot_pipeline plot_published plot_ratios plot_roofline plot_scatter plot_shares "
    "plot_stages plot_steps plot_times plot_tree",
    "program": "as_text drop_unused_text fold_constants_text free_after_last_use inline names_in "
    "run_program straight_line substitute",
    "side_by_side": "ask_frameworks framework_steps framework_ways missing_frameworks "
    "network_input network_target network_weights",
    "tables": "Column Table",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

# Names of earlier versions, which saved copies of notebooks still import -> what they are now.
_EARLIER = {
    "GUARD": "GUARD_SOURCE",
    "plot_roads": "plot_measures",
    "plot_verdicts": "plot_outcomes",
}
# Modules of earlier versions: `import d2lhybrid.agreement` finds earlier/agreement.py.
__path__.append(f"{__path__[0]}/earlier")

__all__ = [*_HOME, "__version__"]


def __getattr__(name):
    """Import a public name at its first use (PEP 562)."""
    if name in _EARLIER:
        return __getattr__(_EARLIER[name])
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value  # the next use finds it here and does not come back
    return value


def __dir__():
    return sorted(set(globals()) | set(_HOME))
