"""Pictures of programs: who feeds whom, and what a text becomes, stage by stage.

Explained in notebooks 01 and 02. To draw a graph in layers is Sugiyama's method; the program `dot`
of Graphviz has it in full.
"""

from collections.abc import Callable

import networkx
from matplotlib.axes import Axes

from ..dataflow import HasFlow, data_flow
from .style import BLUE, GREY, ORANGE, PALE_BLUE, PALE_ORANGE, new_axes

Program = str | Callable | HasFlow | networkx.DiGraph


def plot_data_flow(programs: Program | dict[str, Program]) -> Axes:
    """Draw who feeds whom in a program; several programs side by side, on one scale.

    Time runs downwards. Inputs are round, operations square, each with the name that the program
    gives to its value. A program is a function, a text, or anything with a method `flow()`, as
    `data_flow` reads them, or a graph in the form in which `data_flow` returns it. A dict maps
    titles to programs.
    """
    if not isinstance(programs, dict):
        programs = {"": programs}
    flows = {title: _flow_of(program) for title, program in programs.items()}
    places = [_places(flow) for flow in flows.values()]
    widths = [max(x for x, _ in place.values()) + 2 for place in places]
    depth = max(-y for place in places for _, y in place.values())
    ax = new_axes(0.85 * sum(widths), 0.85 * (depth + 1.2))
    left = 0
    for (title, flow), place, width in zip(flows.items(), places, widths, strict=True):
        _draw_flow(ax, flow, {node: (left + x, y) for node, (x, y) in place.items()})
        ax.text(left + width / 2 - 1, 0.6, title, fontsize=13, fontweight="bold", ha="center")
        left += width
    ax.set_xlim(-0.7, left - 0.9)
    ax.set_ylim(-depth - 0.5, 1 if any(flows) else 0.5)  # with room for titles, if there are any
    ax.axis("off")
    return ax


def _flow_of(program):
    return program if isinstance(program, networkx.DiGraph) else data_flow(program)


def _places(flow):
    """Where each node goes, as node -> (x, y): below all that feeds it, and between them."""
    place = {}
    for depth, layer in enumerate(networkx.topological_generations(flow)):
        wish = {}  # node -> the x at which it would like to be
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


def plot_stages(stages: dict[str, str]) -> Axes:
    """Draw texts side by side, with an arrow from each to the next.

    `stages` maps a title to a text, in the order in which each text is made from the one before.
    """
    lines = {title: text.splitlines() for title, text in stages.items()}
    widths = [max(map(len, [title, *text])) + 3 for title, text in lines.items()]
    gap = 7  # all lengths along x are in characters, along y in lines
    total_width = sum(widths) + gap * (len(widths) - 1)
    height = max(map(len, lines.values()))
    ax = new_axes(0.094 * (total_width + 3), 0.2 * (height + 4))
    left = 0
    for (title, text), width in zip(lines.items(), widths, strict=True):
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


def _arrow(ax, start, end, **looks):
    looks = dict(arrowstyle="-|>", color=GREY, linewidth=1.5, mutation_scale=14) | looks
    ax.annotate("", xy=end, xytext=start, arrowprops=looks)
