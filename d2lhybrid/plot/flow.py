"""Pictures of programs: who feeds whom, and what a program becomes, step by step."""

import textwrap
from collections.abc import Callable

import networkx
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyBboxPatch
from matplotlib.path import Path
from matplotlib.textpath import TextPath

from ..text.dataflow import data_flow
from .colours import BLUE, BLUE_BOX, GREY, ORANGE_BOX
from .style import TITLE, joined, new_axes, with_alt, write

BOX_OF = {  # a node's kind -> its box
    "input": dict(boxstyle="circle,pad=0.35", **ORANGE_BOX),
    "operation": dict(boxstyle="round,pad=0.4", **BLUE_BOX),
}
WIDEST = 360  # points: a row of a chain; on a telephone it is not made smaller
BETWEEN, GAP = 58, 26  # points: from row to row, and between two boxes
IN_ORDER = "from left to right, with an arrow from each to the next"
Drawable = str | Callable | networkx.DiGraph


def plot_data_flow(programs: Drawable | dict[str, Drawable]) -> Axes:
    """Draw who feeds whom in a program, or in each program of a dict from titles, on one scale.

    Time runs downwards. Where each program is a chain, as most networks are, it runs from left to
    right instead, with a row for each layer. Inputs are round, operations square, each with the
    name that the program gives to its value. A program is what `data_flow` reads or returns.
    """
    programs = programs if isinstance(programs, dict) else {"": programs}
    flows = {
        title: program if isinstance(program, networkx.DiGraph) else data_flow(program)
        for title, program in programs.items()
    }
    ax = (_draw_chains if all(map(_is_chain, flows.values())) else _draw_downwards)(flows)
    ax.axis("off")
    parts = [f"Data flow{title and ', ' + title}: {_described(f)}." for title, f in flows.items()]
    return with_alt(ax, " ".join(parts))


def _described(flow):
    """Who feeds whom, one sentence; the arrows that lead to one node are read together."""
    names, whole, parts = {}, {}, []
    for node, data in flow.nodes(data=True):
        label, name = data["label"], data["name"]
        names[node], whole[node] = name or label, f"{label} ({name})" if name else label
    if alone := [whole[node] for node in networkx.isolates(flow)]:
        parts.append(f"{joined(alone)} stand{'s' * (len(alone) == 1)} alone")
    for node in flow:
        if sources := [names[source] for source in flow.predecessors(node)]:
            parts.append(f"{joined(sources)} flow{'s' * (len(sources) == 1)} into {whole[node]}")
    return "; ".join(parts)


def _is_chain(flow):
    """Whether each value feeds the next, and nothing else."""
    most = max(max(flow.in_degree(node), flow.out_degree(node)) for node in flow)
    return most <= 1 and flow.number_of_edges() == len(flow) - 1


def _draw_downwards(flows):
    places = [_places(flow) for flow in flows.values()]
    widths = [max(x for x, _ in place.values()) + 2 for place in places]
    depth = max(-y for place in places for _, y in place.values())
    ax = new_axes(0.85 * sum(widths), 0.85 * (depth + 1.2))
    left = 0
    for (title, flow), place, width in zip(flows.items(), places, widths, strict=True):
        place = {node: (left + x, y) for node, (x, y) in place.items()}
        for source, target in flow.edges:
            _arrow(ax, place[source], place[target], shrinkA=15, shrinkB=15)
        for node, data in flow.nodes(data=True):
            _draw_node(ax, data, place[node], (16 + 4 * len(data["label"]), 0), va="center")
        ax.text(left + width / 2 - 1, 0.6, title, ha="center", **TITLE)
        left += width
    top = 1 if any(flows) else 0.5  # with room for titles, if there are any
    ax.set(xlim=(-0.7, left - 0.9), ylim=(-depth - 0.5, top))
    return ax


def _places(flow):
    """Where each node goes, as node -> (x, y): below all that feeds it, and between them.

    To draw a graph in layers is Sugiyama's method; the program `dot` of Graphviz has it in full.
    """
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


def _draw_chains(flows):
    """One below the other, from left to right; all lengths are in points."""
    ax = new_axes(1, 1)
    y, right = -BETWEEN, 0
    for title, flow in flows.items():
        ax.text(0, y + BETWEEN, title, va="center", **TITLE)
        right = max(right, _width(title, **TITLE))
        labels = dict(flow.nodes(data="label"))
        boxes = {node: _width(label) + 10 for node, label in labels.items()}
        names = {node: _width(name) + 4 for node, name in flow.nodes(data="name")}
        place = {}
        y += 36 if title else 0
        for row in _rows(labels, boxes, names):
            y += BETWEEN
            place |= {node: (x, y) for node, x in row.items()}
        for one, next_one in flow.edges:
            room = dict(shrinkA=boxes[one] / 2 + 2, shrinkB=boxes[next_one] / 2 + 2)
            if place[one][1] < place[next_one][1]:
                room = dict(shrinkA=15, shrinkB=15, connectionstyle=_turn)
            _arrow(ax, place[one], place[next_one], **room)
        for node, data in flow.nodes(data=True):
            _draw_node(ax, data, place[node], (boxes[node] / 2 + 4, 2), va="bottom")
            right = max(right, place[node][0] + boxes[node] / 2 + names[node])
    top, bottom = -16 if any(flows) else -26, y + 26
    ax.set(xlim=(-4, right + 4), ylim=(bottom, top))
    size = right + 14, bottom - top + 6  # with the margin that matplotlib leaves
    ax.figure.set_size_inches(*[points / 72 for points in size])
    return ax


def _rows(labels, boxes, names):
    """Rows of a chain, each {node: x of its middle}; the first operation begins a row each time.

    So a network has a row for each layer. A row that would be too wide goes on in the next.
    """
    first, *later = boxes
    rows, left = [{first: boxes[first] / 2}], boxes[first] + names[first] + GAP
    for node in later:
        comes_again = labels[node] == labels[later[0]] and node != later[0]
        if comes_again or left + boxes[node] > WIDEST:
            rows.append({})
            left = 0
        rows[-1][node] = left + boxes[node] / 2
        left += boxes[node] + names[node] + GAP
    return rows


def _turn(start, end, shrinkA, shrinkB, **_):
    """The line of an arrow to the next row: down, back and down; matplotlib gives pixels."""
    (x, y), (next_x, next_y) = start, end
    middle = (y + next_y) / 2
    return Path([(x, y - shrinkA), (x, middle), (next_x, middle), (next_x, next_y + shrinkB)])


def _width(text, fontsize=13, fontweight="normal"):
    properties = FontProperties(size=fontsize, weight=fontweight)
    return TextPath((0, 0), text, prop=properties).get_extents().width if text else 0


def _draw_node(ax, data, at, beside, va):
    box = BOX_OF[data["kind"]]
    ax.text(*at, data["label"], ha="center", va="center", fontsize=13, bbox=box)
    write(ax, data["name"], at, beside, va=va, fontsize=13, fontstyle="italic", color=BLUE)


def plot_stages(stages: dict[str, str]) -> Axes:
    """Draw texts side by side, by their titles, with an arrow from each to the next."""
    lines = {title: text.splitlines() for title, text in stages.items()}
    widths = [max(map(len, [title, *text])) + 3 for title, text in lines.items()]
    gap = 7  # all lengths along x are in characters, along y in lines
    height = max(map(len, lines.values()))
    ax = new_axes(0.094 * (sum(widths) + gap * len(widths) - gap + 3), 0.2 * (height + 4))
    left = 0
    for (title, text), width in zip(lines.items(), widths, strict=True):
        if left:
            _arrow(ax, (left - gap, -0.5), (left, -0.5))
        ax.text(left, 1.7, title, **TITLE)
        look = dict(bbox=dict(boxstyle="round,pad=0.6", **BLUE_BOX), family="monospace")
        ax.text(left + 1, 0, "\n".join(text), fontsize=11, va="top", **look)
        left += width + gap
    ax.set(xlim=(-1, left - gap + 1), ylim=(-height - 0.8, 3))
    ax.axis("off")
    said = {title: f"{len(text)} lines" if text[1:] else text[0] for title, text in lines.items()}
    return with_alt(ax, f"Texts {IN_ORDER}: {'; '.join(map(', '.join, said.items()))}.")


def plot_pipeline(steps: dict[str, str]) -> Axes:
    """Draw boxes from left to right, each with a text under it, and an arrow to the next."""
    titles = [textwrap.fill(title, 12, break_long_words=False) for title in steps]
    width = 0.11 * max(len(line) for title in titles for line in title.splitlines()) + 0.4
    gap = 0.5  # all lengths are in inches
    texts = [textwrap.fill(text, int((width + 0.6 * gap) / 0.085)) for text in steps.values()]
    height = 0.35 + 0.2 * max(title.count("\n") for title in titles)
    depth = 0.25 + 0.2 * max(text.count("\n") + 1 for text in texts)
    total = len(steps) * (width + gap) - gap
    ax = new_axes(total + 0.6 * gap, 2 * height + depth - 0.1)
    box = dict(boxstyle="round,pad=0,rounding_size=0.1", **BLUE_BOX)
    for step, (title, text) in enumerate(zip(titles, texts, strict=True)):
        left = step * (width + gap)
        ax.add_patch(FancyBboxPatch((left, -height), width, 2 * height, **box))
        middle = dict(ha="center", fontsize=12)
        ax.text(left + width / 2, 0, title, va="center", fontweight="bold", **middle)
        ax.text(left + width / 2, -height - 0.15, text, va="top", **middle)
        if step:
            _arrow(ax, (left - gap, 0), (left, 0))
    ax.set(xlim=(-0.3 * gap, total + 0.3 * gap), ylim=(-height - depth, height + 0.1))
    ax.axis("off")
    parts = [f"{title} ({text})" if text else title for title, text in steps.items()]
    return with_alt(ax, f"Boxes {IN_ORDER}: {', '.join(parts)}.")


def _arrow(ax, start, end, **look):
    look |= dict(arrowstyle="-|>", color=GREY, linewidth=1.5, mutation_scale=14)
    ax.annotate("", xy=end, xytext=start, arrowprops=look)
