"""The public names: the only list of them. `__init__.py` loads each at its first use."""

from .benchmark.agreement import (
    mismatch as mismatch,
)
from .benchmark.candidates import (
    build as build,
    isolated as isolated,
)
from .benchmark.comparison import (
    compare as compare,
)
from .benchmark.metadata import (
    available_cores as available_cores,
)
from .benchmark.processes import (
    start_workers as start_workers,
)
from .benchmark.results import (
    Comparison as Comparison,
)
from .benchmark.sweeps import (
    sweep as sweep,
)
from .benchmark.timing import (
    CandidateError as CandidateError,
    python_calls as python_calls,
)
from .cross_framework import (
    framework_variants as framework_variants,
    missing_frameworks as missing_frameworks,
    network_data as network_data,
)
from .cross_framework.probes import (
    CASES as CASES,
    ask_frameworks as ask_frameworks,
    try_cases as try_cases,
)
from .cross_framework.variants import (
    compare_variants as compare_variants,
)
from .d2l import (
    Benchmark as Benchmark,
    Timer as Timer,
    cpu as cpu,
    gpu as gpu,
    num_gpus as num_gpus,
    try_all_gpus as try_all_gpus,
    try_gpu as try_gpu,
)
from .exercises import (
    check as check,
    muted as muted,
    needs as needs,
    raises as raises,
)
from .frameworks import (
    import_framework as import_framework,
    synchronize as synchronize,
)
from .frameworks.pytorch import (
    quiet as quiet,
)
from .here import (
    what_is_here as what_is_here,
)
from .hybrid.codegen import (
    PRELUDE as PRELUDE,
    c_source as c_source,
    python_function as python_function,
    python_source as python_source,
)
from .hybrid.compiler import (
    c_loop as c_loop,
    hybridize as hybridize,
    reading as reading,
)
from .hybrid.graph import (
    Graph as Graph,
    Node as Node,
)
from .hybrid.guard import (
    GUARD_SOURCE as GUARD_SOURCE,
)
from .hybrid.operations import (
    OPERATIONS as OPERATIONS,
    UnsupportedOperation as UnsupportedOperation,
)
from .hybrid.passes import (
    optimize as optimize,
)
from .hybrid.recorder import (
    RecordingError as RecordingError,
    trace as trace,
)
from .machine.caches import (
    cache_sizes as cache_sizes,
    measured_latencies as measured_latencies,
)
from .nets import (
    get_net as get_net,
)
from .plot.cells import (
    plot_cells as plot_cells,
)
from .plot.charts import (
    plot_bar_panels as plot_bar_panels,
    plot_break_even as plot_break_even,
    plot_chunk_ownership as plot_chunk_ownership,
    plot_coins as plot_coins,
    plot_curves as plot_curves,
    plot_distribution as plot_distribution,
    plot_grouped_times as plot_grouped_times,
    plot_latencies as plot_latencies,
    plot_outcomes as plot_outcomes,
    plot_over_time as plot_over_time,
    plot_published as plot_published,
    plot_ratios as plot_ratios,
    plot_roofline as plot_roofline,
    plot_scatter as plot_scatter,
    plot_stacked_bars as plot_stacked_bars,
    plot_steps as plot_steps,
)
from .plot.course_map import (
    plot_course_map as plot_course_map,
)
from .plot.graphs import (
    plot_data_flow as plot_data_flow,
    plot_pipeline as plot_pipeline,
    plot_stages as plot_stages,
    plot_tree as plot_tree,
)
from .plot.lifetimes import (
    plot_lifetimes as plot_lifetimes,
    plot_traffic as plot_traffic,
)
from .plot.timeline import (
    plot_timeline as plot_timeline,
    plot_times as plot_times,
)
from .predictions import (
    Predictions as Predictions,
    predict as predict,
)
from .roofline.limits import (
    limits as limits,
)
from .saved import (
    load_compiler as load_compiler,
    save_compiler as save_compiler,
)
from .speaking import (
    speak as speak,
    speaking_net as speaking_net,
)
from .text.program import (
    as_text as as_text,
    names_in as names_in,
    run_program as run_program,
    straight_line as straight_line,
)
from .threads.events import (
    Gate as Gate,
    Link as Link,
    Log as Log,
    Span as Span,
)
from .threads.scheduling import (
    list_schedule as list_schedule,
    longest_path as longest_path,
    makespan as makespan,
    run_parallel as run_parallel,
)
from .toolchain import (
    CompilerNotFound as CompilerNotFound,
    compiler_command as compiler_command,
    load_library as load_library,
)
from .world import (
    RankError as RankError,
    World as World,
)
from .world.collectives import (
    halving_doubling as halving_doubling,
    ring as ring,
    tree as tree,
)

__version__: str
