"""Every picture of the course, sorted by what it shows.

    flow    who feeds whom in a program; what a text becomes, stage by stage
    times   how long something takes, what the time is made of, when a price is paid back
    ratios  how one time compares with another: single ratios, speed-ups with their intervals
    tables  cells and dots, a row for each thing that was tried
    style   what they share: colours, figures, axes

Each function gets plain data, makes a figure and returns its matplotlib Axes; only `plot_measures`
has several Axes and returns them in a list. A new picture is a new function in the module of what
it shows.
"""

from .flow import plot_data_flow, plot_stages
from .ratios import plot_pairs, plot_ratios, plot_speedups, plot_speedups_by_size
from .style import new_axes
from .tables import plot_measures, plot_outcomes
from .times import (
    plot_break_even,
    plot_distribution,
    plot_over_time,
    plot_shares,
    plot_times,
)

__all__ = [
    "new_axes",
    "plot_break_even",
    "plot_data_flow",
    "plot_distribution",
    "plot_measures",
    "plot_outcomes",
    "plot_over_time",
    "plot_pairs",
    "plot_ratios",
    "plot_shares",
    "plot_speedups",
    "plot_speedups_by_size",
    "plot_stages",
    "plot_times",
]
