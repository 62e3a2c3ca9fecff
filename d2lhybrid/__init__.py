"""What happens when a program is compiled instead of interpreted, and does it help?

The helper package of the course. Each name below is loaded when it is first used, so
`import d2lhybrid` itself imports neither torch nor matplotlib. `__init__.pyi` tells the names to
editors.
"""

from importlib import import_module

__version__ = "0.1.0"

# module -> the public names that it defines
_NAMES = {
    "cli.ways": "compare_ways",
    "d2l_book": "Benchmark Timer cpu gpu num_gpus try_all_gpus try_gpu",
    "frameworks": "FrameworkNotFound import_framework synchronize",
    "frameworks.pytorch": "reset_compiler",
    "hybrid.codegen": "PRELUDE c_source python_function python_source",
    "hybrid.compiler": "hybridize",
    "hybrid.graph": "Graph Node",
    "hybrid.guard": "GUARD_SOURCE",
    "hybrid.operations": "OPERATIONS UnsupportedOperation",
    "hybrid.passes": "memory_bytes optimise",
    "hybrid.recorder": "RecordingError trace",
    "lesson": "check muted needs raises",
    "machine.caches": "cache_sizes measured_latencies",
    "machine.limits": "c_loop reading",
    "measure.agreement": "difference",
    "measure.candidates": "CandidateError own_process recipe repeated",
    "measure.comparison": "compare",
    "measure.measured_on": "available_cores",
    "measure.processes": "started",
    "measure.results": "Comparison",
    "measure.sweeps": "Sweep sweep",
    "measure.timing": "python_calls",
    "nets": "get_net",
    "plot.curves": "plot_curves",
    "plot.flow": "plot_data_flow plot_pipeline plot_stages",
    "plot.lanes": "plot_lanes plot_times",
    "plot.outcomes": "plot_chunks plot_measures plot_outcomes",
    "plot.roofline": "plot_roofline",
    "plot.speedups": "plot_pairs plot_published plot_ratios",
    "plot.steps": "plot_steps",
    "plot.times": "plot_break_even plot_distribution plot_grouped_times plot_latencies "
    "plot_over_time plot_scatter plot_shares",
    "plot.trees": "plot_tree",
    "side_by_side": "ask_frameworks framework_steps framework_ways missing_frameworks "
    "network_input network_target network_weights",
    "side_by_side.behaviour": "CASES try_cases",
    "text.dataflow": "data_flow",
    "text.program": "as_text drop_unused_text fold_constants_text free_after_last_use inline "
    "names_in run_program straight_line substitute",
    "threads.gate": "Gate",
    "threads.link": "Link",
    "threads.log": "Log Span",
    "threads.plan": "list_schedule longest_path makespan",
    "threads.run_graph": "run_parallel",
    "toolchain": "CompilationFailed CompilerNotFound compiler_flags find_compiler load_library",
    "world.collectives": "halving_doubling ring star tree",
    "world.comm": "Comm Message",
    "world.world": "RankError World",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [*_HOME, "__version__"]


def __getattr__(name):
    """Import a public name at its first use (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    except ModuleNotFoundError as missing:
        if missing.name != "matplotlib":
            raise
        # A browser has none. A notebook goes on there without this picture.
        return lambda *_, **__: print(f"{name} needs matplotlib, which is not installed here")
    globals()[name] = value  # the next use finds it here and does not come back
    return value


def __dir__():
    return sorted(set(globals()) | set(_HOME))
