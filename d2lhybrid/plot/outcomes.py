"""Pictures with a row for each thing that was tried: outcomes as cells, measures as dots.

Explained in notebooks 06 and 07; statistics calls the dots a Cleveland dot plot.
"""

from collections.abc import Collection
from math import ceil, floor, log10

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from .style import BLACK, BLUE, GREY, PALE_BLUE, RED, dress, listed, new_axes, say

LOOK_OF = {  # outcome -> the colour of its cell, and of its word
    "right": (PALE_BLUE, BLACK),
    "silently wrong": (RED, BLACK),
    "error": ("white", GREY),
}


def plot_outcomes(outcomes: dict[str, dict[str, str]], gap_before: str | None = None) -> Axes:
    """Draw a table of outcomes as coloured cells, a row for each label.

    `outcomes` maps a label to a dict from columns to 'right', 'silently wrong' or 'error'; all
    rows have the same columns, in one order. There is a gap above the row labelled `gap_before`.
    """
    columns = list(next(iter(outcomes.values())))
    place, rows = 0.0, []
    for label in outcomes:
        place += 0.5 * (label == gap_before)
        rows.append(place)
        place += 1
    width = 9 if len(columns) <= 4 else 2.7 + 1.4 * len(columns)
    ax = new_axes(width, 0.5 + 0.35 * place)
    for row, cells in zip(rows, outcomes.values(), strict=True):
        for column, outcome in enumerate(cells.values()):
            ground, ink = LOOK_OF[outcome]
            ax.barh(row, 0.97, left=column - 0.485, height=0.9, color=ground)
            ax.text(column, row, outcome, color=ink, ha="center", va="center", fontsize=12)
    ax.set_xticks(range(len(columns)), columns, fontweight="bold")
    ax.set_yticks(rows, list(outcomes))
    ax.set_ylim(place - 0.5, -0.5)
    dress(ax, sides=())
    ax.tick_params(length=0, labeltop=True, labelbottom=False)
    rows = [
        f"{label}: {', '.join(f'{column} {outcome}' for column, outcome in cells.items())}"
        for label, cells in outcomes.items()
    ]
    say(ax, f"Table of outcomes. {'; '.join(rows)}.")
    return ax


def plot_measures(measures: dict[str, dict[str, float]], dots: Collection[str] = ()) -> list[Axes]:
    """Draw several measures of each label, such as size and speed, each on an axis of its own.

    `measures` maps a label to a dict from the names of the measures to numbers above 0; all have
    the same names, in one order. Labels in `dots` are drawn as blue dots, all others as red
    squares. The axes are logarithmic, and on all of them the same distance is the same factor.

    Returns a list with one Axes for each measure, from left to right.
    """
    labels = list(measures)
    names = list(next(iter(measures.values())))
    whole = new_axes(9.5, 0.9 + 0.4 * len(labels))
    axes = whole.figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    whole.remove()
    columns = {name: [row[name] for row in measures.values()] for name in names}
    span = max(max(values) / min(values) for values in columns.values())
    span *= 6 * span**0.35  # with room for the number beside the last dot
    for ax, (name, values) in zip(axes, columns.items(), strict=True):
        for row, (label, value) in enumerate(zip(labels, values, strict=True)):
            look = dict(color=BLUE, marker="o") if label in dots else dict(color=RED, marker="s")
            ax.plot(value, row, markersize=8, **look)
            ax.annotate(
                f"{value:,.0f}" if value >= 10 else f"{value:.2g}",
                xy=(value, row),
                xytext=(7, 0),
                textcoords="offset points",
                va="center",
                fontsize=11,
            )
        ax.set_xscale("log")
        decades = range(floor(log10(min(values))), ceil(log10(max(values))) + 1)
        ticks = [10.0**k for k in decades[:: 1 + ceil(log10(span)) // 4]]
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_xlim(min(values) / 2, min(values) / 2 * span)
        ax.grid(axis="y", color="#DDDDDD")
        ax.set_axisbelow(True)
        dress(ax, title=name)
    axes[0].set_yticks(range(len(labels)), labels)
    axes[0].set_ylim(len(labels) - 0.5, -0.5)
    panels = f"Panel{'s' * (len(names) > 1)} side by side, with a dot in a row for each label"
    say(axes[0], f"{panels}: {listed(names)}. The rows: {listed(sorted(labels))}.")
    return list(axes)
