"""Pictures with a row for each thing that was tried: outcomes as cells, measures as dots."""

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise, product
from math import ceil, log10

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from .axes import powers_of_ten, set_log_scale, two_digits
from .colours import BLACK, BLUE, GREY, PALE_BLUE, RED
from .style import label_rows, new_axes, new_panels, with_alt, write
from .words import joined

LOOK_OF = {  # outcome -> the colour of its cell, and of its word
    "right": (PALE_BLUE, BLACK),
    "silently wrong": (RED, BLACK),
    "error": ("white", GREY),
}


def plot_outcomes(outcomes: dict[str, dict[str, str]], gap_before: str | None = None) -> Axes:
    """Draw a table of outcomes as coloured cells, with a gap above the row `gap_before`.

    `outcomes` maps the label of a row to a dict from columns to 'right', 'silently wrong' or
    'error'; all rows have the same columns, in one order.
    """
    columns = list(next(iter(outcomes.values())))
    gap = list(outcomes).index(gap_before) if gap_before else len(outcomes)
    rows = [row + 0.5 * (row >= gap) for row in range(len(outcomes))]
    width = 9 if len(columns) <= 4 else 2.7 + 1.4 * len(columns)
    ax = new_axes(width, 0.85 + 0.35 * rows[-1], frame_on=False)
    for row, cells in zip(rows, outcomes.values(), strict=True):
        for column, outcome in enumerate(cells.values()):
            ground, ink = LOOK_OF[outcome]
            ax.barh(row, 0.97, left=column - 0.485, height=0.9, color=ground)
            ax.text(column, row, outcome, color=ink, ha="center", va="center", fontsize=12)
    label_rows(ax, outcomes, rows)
    ax.set_xticks(range(len(columns)), columns, fontweight="bold")
    ax.tick_params(length=0, labeltop=True, labelbottom=False)
    cells = {label: map(" ".join, row.items()) for label, row in outcomes.items()}
    shown = [f"{label}: {', '.join(row)}" for label, row in cells.items()]
    return with_alt(ax, f"Table of outcomes. {'; '.join(shown)}.")


def plot_chunks(states: Iterable[Sequence[Sequence[float]]], complete: float) -> list[Axes]:
    """Draw what the ranks have in their chunks, step by step: tables side by side.

    Each state, the first of which is the start, is a table with a row for each rank and a column
    for each chunk. A cell that has reached `complete` is dark, one above 1 is pale.
    """
    states = [[[round(value) for value in row] for row in state] for state in states]
    ranks, chunks = len(states[0]), len(states[0][0])
    side = min(0.4, (9.2 / len(states) - 0.15) / chunks)  # of a cell, in inches
    width, height = 0.8 + len(states) * (side * chunks + 0.15), 0.9 + side * ranks
    look = dict(frame_on=False, xlabel="chunk", xlim=(-0.5, chunks - 0.5), xticks=range(chunks))
    axes = new_panels(width, height, len(states), **look)
    pairs = pairwise([states[0], *states])  # each with the one before
    for step, (ax, (before, state)) in enumerate(zip(axes, pairs, strict=True)):
        for rank, chunk in product(range(ranks), range(chunks)):
            value = state[rank][chunk]
            done, new = value >= complete, value != before[rank][chunk]
            look = dict(edgecolor=BLACK, linewidth=2) if new else dict(edgecolor="#DDDDDD")
            look["facecolor"] = BLUE if done else PALE_BLUE if value > 1 else "white"
            ax.add_patch(Rectangle((chunk - 0.47, rank - 0.47), 0.94, 0.94, **look))
            ink = dict(color="white", fontweight="bold") if done else dict(color=BLACK)
            ax.text(chunk, rank, f"{value}", ha="center", va="center", fontsize=12, **ink)
        label_rows(ax, [f"rank {rank}" for rank in range(ranks)])
        ax.set_title(f"step {step}" if step else "start", fontsize=13)
        ax.tick_params(length=0)
    counts = [sum(value >= complete for row in state for value in row) for state in states]
    alt = f"""Tables side by side, from the start to step {len(states) - 1}, each with a row for
        each of {ranks} ranks and a column for each of {chunks} chunks, and a number in each cell.
        Dark cells have reached {complete}; of these there are {joined(map(str, counts))}. A frame
        marks what has changed."""
    with_alt(axes[0], alt)
    return axes


def plot_measures(measures: dict[str, dict[str, float]], dots: Collection[str] = ()) -> list[Axes]:
    """Draw several measures of each label, such as size and speed, each on an axis of its own.

    `measures` maps a label to a dict from the names of the measures to numbers above 0; all have
    the same names, in one order. Labels in `dots` are blue dots, all others red squares. On all
    axes, which are logarithmic, the same distance is the same factor.
    """
    names = list(next(iter(measures.values())))
    axes = new_panels(9.5, 0.9 + 0.4 * len(measures), len(names))
    columns = {name: [row[name] for row in measures.values()] for name in names}
    span = max(max(values) / min(values) for values in columns.values())
    span *= 6 * span**0.35  # with room for the number beside the last dot
    for ax, (name, values) in zip(axes, columns.items(), strict=True):
        for row, (label, value) in enumerate(zip(measures, values, strict=True)):
            colour, marker = (BLUE, "o") if label in dots else (RED, "s")
            ax.plot(value, row, marker, color=colour, markersize=8)
            write(ax, two_digits(value), (value, row), (7, 0), va="center", fontsize=11)
        ticks = powers_of_ten(min(values), max(values))[:: 1 + ceil(log10(span)) // 4]
        low = min(values) / 2
        set_log_scale(ax.xaxis, low, low * span, ticks, "{:g}".format)
        label_rows(ax, measures)
        ax.grid(axis="y", color="#DDDDDD")
        ax.set_title(name, fontsize=13)
    panels = f"Panels side by side, with a dot in a row for each label: {joined(names)}."
    with_alt(axes[0], f"{panels} The rows: {joined(sorted(measures))}.")
    return axes
