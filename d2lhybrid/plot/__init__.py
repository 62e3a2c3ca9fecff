"""Every picture of the course, sorted by what it shows.

    speedups  how one time compares with another: speed-ups with their intervals, other ratios
    times     how long something takes, what the time is made of, when a price is paid back
    curves    what changes with the size of the data
    flow      who feeds whom in a program; what a program becomes, step by step
    lanes     what was done at the same time: bars on lanes over time
    roofline  what a machine can do at most, and how close programs come
    trees     what Python reads in a program's text
    outcomes  cells and dots, a row for each thing that was tried
    steps     what changes with the steps of training
    style     what they share: colours, figures, alternative texts, axes

Most functions get plain data; `plot_data_flow` and `plot_tree` get programs. Each makes a figure
and returns its matplotlib Axes; only `plot_measures` and `plot_chunks` have
several Axes, and return them in a list.
A new picture is a new function in the module of what it shows; it ends with what it `say`s to
readers who cannot see it.
"""

from .curves import plot_curves
from .flow import plot_data_flow, plot_pipeline, plot_stages
from .lanes import plot_lanes
from .outcomes import plot_chunks, plot_measures, plot_outcomes
from .roofline import plot_roofline
from .speedups import (
    plot_pairs,
    plot_published,
    plot_ratios,
    plot_speedups,
    plot_speedups_by_size,
)
from .steps import plot_steps
from .style import new_axes
from .times import (
    plot_break_even,
    plot_distribution,
    plot_grouped_times,
    plot_latencies,
    plot_over_time,
    plot_scatter,
    plot_shares,
    plot_times,
)
from .trees import plot_tree

__all__ = [
    "new_axes",
    "plot_break_even",
    "plot_chunks",
    "plot_curves",
    "plot_data_flow",
    "plot_distribution",
    "plot_grouped_times",
    "plot_lanes",
    "plot_latencies",
    "plot_measures",
    "plot_outcomes",
    "plot_over_time",
    "plot_pairs",
    "plot_pipeline",
    "plot_published",
    "plot_ratios",
    "plot_roofline",
    "plot_scatter",
    "plot_shares",
    "plot_speedups",
    "plot_speedups_by_size",
    "plot_stages",
    "plot_steps",
    "plot_times",
    "plot_tree",
]
