"""The pictures of the course, each drawn from the object that it shows.

Every function makes a figure and returns its matplotlib Axes. A picture has a white ground of
its own, so that it reads in a dark notebook as well, and takes its colours from Okabe and
Ito's set, which colour-blind readers can tell apart.
"""

import matplotlib.pyplot as plt
import networkx
from matplotlib.ticker import NullFormatter

from .program import data_flow

BLUE, ORANGE, RED, GREY = "#0072B2", "#E69F00", "#D55E00", "#767676"
PALE_BLUE, PALE_ORANGE = "#D6E8F5", "#FBE7BE"
UNITS = (("s", 1), ("ms", 1e3), ("\u00b5s", 1e6), ("ns", 1e9))


def new_axes(width, height):
    """The Axes of a new figure of so many inches; sharp in a notebook."""
    try:
        from matplotlib_inline.backend_inline import set_matplotlib_formats

        set_matplotlib_formats("retina")  # PNG at twice the density
    except (ImportError, AttributeError):
        pass  # no notebook, or no shell to tell: nothing is shown inline
    size = (width, height)
    return plt.subplots(figsize=size, dpi=72, facecolor="white", layout="constrained")[1]


def plot_data_flow(programs):
    """Draw who feeds whom in a program; several programs side by side, on one scale.

    Time runs downwards. Inputs are round, operations square, each with the name that the
    program gives to its value. `programs` is a function or a program's text, which `data_flow`
    reads, or a graph in the form in which `data_flow` returns it; or a dict from titles to them.
    """
    if not isinstance(programs, dict):
        programs = {"": programs}
    flows = {
        title: program if isinstance(program, networkx.DiGraph) else data_flow(program)
        for title, program in programs.items()
    }
    places = [_places(flow) for flow in flows.values()]
    widths = [max(x for x, _ in place.values()) + 2 for place in places]
    depth = max(-y for place in places for _, y in place.values())
    ax = new_axes(0.85 * sum(widths), 0.85 * (depth + 1.2))
    left = 0
    for (title, flow), place, width in zip(flows.items(), places, widths):
        _draw_flow(ax, flow, {node: (left + x, y) for node, (x, y) in place.items()})
        ax.text(left + width / 2 - 1, 0.6, title, fontsize=13, fontweight="bold", ha="center")
        left += width
    ax.set_xlim(-0.7, left - 0.9)
    ax.set_ylim(-depth - 0.5, 1 if any(flows) else 0.5)
    ax.axis("off")
    return ax


def _places(flow):
    """Where each node of a data flow goes: below all that feeds it, and between them."""
    place = {}
    for depth, layer in enumerate(networkx.topological_generations(flow)):
        wish = {}
        for node in layer:
            sources = [place[source][0] for source in flow.predecessors(node)]
            wish[node] = sum(sources) / len(sources) if sources else len(wish)
        leftmost = 0
        for node in sorted(layer, key=lambda node: (wish[node], node)):
            place[node] = (max(wish[node], leftmost), -depth)
            leftmost = place[node][0] + 1
    return place


def _draw_flow(ax, flow, place):
    for source, target in flow.edges:
        _arrow(ax, place[source], place[target], shrinkA=15, shrinkB=15)
    for node, data in flow.nodes(data=True):
        if data["kind"] == "input":
            look = dict(boxstyle="circle,pad=0.35", facecolor=PALE_ORANGE, edgecolor=ORANGE)
        else:
            look = dict(boxstyle="round,pad=0.4", facecolor=PALE_BLUE, edgecolor=BLUE)
        ax.text(*place[node], data["label"], ha="center", va="center", fontsize=13, bbox=look)
        ax.annotate(
            data["name"],
            xy=place[node],
            xytext=(16 + 4 * len(data["label"]), 0),  # to the right of the box
            textcoords="offset points",
            va="center",
            fontsize=13,
            fontstyle="italic",
            color=BLUE,
        )


def _arrow(ax, start, end, **looks):
    looks = dict(arrowstyle="-|>", color=GREY, linewidth=1.5, mutation_scale=14) | looks
    ax.annotate("", xy=end, xytext=start, arrowprops=looks)


def plot_stages(stages):
    """Draw texts side by side, an arrow from each to the next.

    `stages` maps a title to a text, in order: what one thing becomes on its way.
    """
    lines = {title: text.splitlines() for title, text in stages.items()}
    widths = [max(map(len, [title, *text])) + 3 for title, text in lines.items()]
    gap = 7  # all lengths along x are in characters, along y in lines
    width = sum(widths) + gap * (len(widths) - 1)
    height = max(map(len, lines.values()))
    ax = new_axes(0.094 * (width + 3), 0.2 * (height + 4))
    left = 0
    for (title, text), width in zip(lines.items(), widths):
        if left:
            _arrow(ax, (left - gap, -0.5), (left, -0.5))
        ax.text(left, 1.7, title, fontsize=13, fontweight="bold")
        ax.text(
            left + 1,
            0,
            "\n".join(text),
            family="monospace",
            fontsize=11,
            va="top",
            bbox=dict(boxstyle="round,pad=0.6", facecolor=PALE_BLUE, edgecolor=BLUE),
        )
        left += width + gap
    ax.set_xlim(-1, left - gap + 1)
    ax.set_ylim(-height - 0.8, 3)
    ax.axis("off")
    return ax


def plot_times(times, title=""):
    """Draw times as bars, longest possible bar the longest time. `times` maps labels to seconds."""
    ax = new_axes(8, 0.9 + 0.45 * len(times))
    labels = list(times)
    longest = max(times.values())
    unit, factor = next((u, f) for u, f in UNITS if longest * f >= 1 or u == "ns")
    ax.barh(labels, [times[label] * factor for label in labels], color=BLUE, height=0.6)
    ax.invert_yaxis()
    ax.set_xlabel(f"{unit} a run", fontsize=12)
    _plain(ax, title)
    return ax


def plot_ratios(ratios, title=""):
    """Draw ratios of two times as dots, a row for each label; a line marks where both are equal.

    `ratios` maps a label to numbers: the second time divided by the first. Above 1 the second
    was slower. The axis is logarithmic: twice as fast lies as far out as twice as slow.
    """
    ax = new_axes(8, 1.1 + 0.55 * len(ratios))
    labels = list(ratios)
    ax.axvline(1, color=GREY, linewidth=1.5)
    for row, label in enumerate(labels):
        values = list(ratios[label])
        colour = [BLUE, RED][row % 2]
        ax.plot(values, [row] * len(values), "o", color=colour, markersize=9, alpha=0.55)
    ax.set_xscale("log")
    farthest = max(max(max(v), 1 / min(v)) for v in ratios.values()) * 1.15
    ax.set_xlim(1 / farthest, farthest)
    ticks = [tick for tick in (0.25, 0.5, 0.8, 1, 1.25, 2, 4) if 1 / farthest < tick < farthest]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks], fontsize=12)
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_xlabel(
        "\u2190 second faster      second time / first time      second slower \u2192", fontsize=12
    )
    _plain(ax, title)
    return ax


def _plain(ax, title):
    """Keep of the frame what is needed: the axis that has a scale."""
    ax.set_title(title, fontsize=13)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(labelsize=12)
    ax.tick_params(axis="y", length=0)
