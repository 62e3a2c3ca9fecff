"""The public names, for editors: `__init__.py` loads each when it is first used."""

from .bench import compare_ways as compare_ways
from .book import (
    Benchmark as Benchmark,
)
from .book import (
    Timer as Timer,
)
from .book import (
    cpu as cpu,
)
from .book import (
    gpu as gpu,
)
from .book import (
    num_gpus as num_gpus,
)
from .book import (
    try_all_gpus as try_all_gpus,
)
from .book import (
    try_gpu as try_gpu,
)
from .dataflow import data_flow as data_flow
from .frameworks import synchronize as synchronize
from .frameworks.pytorch import reset_compiler as reset_compiler
from .hybrid.codegen import (
    PRELUDE as PRELUDE,
)
from .hybrid.codegen import (
    c_source as c_source,
)
from .hybrid.codegen import (
    python_function as python_function,
)
from .hybrid.codegen import (
    python_source as python_source,
)
from .hybrid.compiler import hybridize as hybridize
from .hybrid.graph import (
    OPERATIONS as OPERATIONS,
)
from .hybrid.graph import (
    Node as Node,
)
from .hybrid.graph import (
    UnsupportedOperation as UnsupportedOperation,
)
from .hybrid.guard import GUARD as GUARD
from .hybrid.passes import (
    memory_bytes as memory_bytes,
)
from .hybrid.passes import (
    optimise as optimise,
)
from .hybrid.recorder import (
    RecordingError as RecordingError,
)
from .hybrid.recorder import (
    trace as trace,
)
from .hybrid.toolchain import (
    CompilationFailed as CompilationFailed,
)
from .hybrid.toolchain import (
    CompilerNotFound as CompilerNotFound,
)
from .hybrid.toolchain import (
    compiler_flags as compiler_flags,
)
from .hybrid.toolchain import (
    find_compiler as find_compiler,
)
from .hybrid.toolchain import (
    load_library as load_library,
)
from .lesson import (
    check as check,
)
from .lesson import (
    muted as muted,
)
from .lesson import (
    needs as needs,
)
from .lesson import (
    raises as raises,
)
from .limits import (
    c_loop as c_loop,
)
from .limits import (
    reading as reading,
)
from .measure.agreement import difference as difference
from .measure.candidates import (
    CandidateError as CandidateError,
)
from .measure.candidates import (
    recipe as recipe,
)
from .measure.candidates import (
    repeated as repeated,
)
from .measure.comparison import (
    Comparison as Comparison,
)
from .measure.comparison import (
    compare as compare,
)
from .measure.sweeps import (
    Sweep as Sweep,
)
from .measure.sweeps import (
    sweep as sweep,
)
from .nets import get_net as get_net
from .plot import (
    plot_break_even as plot_break_even,
)
from .plot import (
    plot_data_flow as plot_data_flow,
)
from .plot import (
    plot_distribution as plot_distribution,
)
from .plot import (
    plot_measures as plot_measures,
)
from .plot import (
    plot_outcomes as plot_outcomes,
)
from .plot import (
    plot_over_time as plot_over_time,
)
from .plot import (
    plot_pairs as plot_pairs,
)
from .plot import (
    plot_ratios as plot_ratios,
)
from .plot import (
    plot_shares as plot_shares,
)
from .plot import (
    plot_stages as plot_stages,
)
from .plot import (
    plot_times as plot_times,
)
from .program import (
    as_text as as_text,
)
from .program import (
    drop_unused_text as drop_unused_text,
)
from .program import (
    fold_constants_text as fold_constants_text,
)
from .program import (
    free_after_last_use as free_after_last_use,
)
from .program import (
    inline as inline,
)
from .program import (
    names_in as names_in,
)
from .program import (
    run_program as run_program,
)
from .program import (
    straight_line as straight_line,
)
from .program import (
    substitute as substitute,
)

__version__: str
