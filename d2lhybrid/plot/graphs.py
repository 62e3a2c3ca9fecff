"""Pictures of programs: who feeds whom, syntax trees, and what a program becomes, step by step."""

import ast
import textwrap
from collections.abc import Callable, Collection
from math import inf

import networkx

from ..text.dataflow import data_flow
from .drawing import HIGH, TITLE, Box, Drawing, pale, width_of
from .style import BLUE, ORANGE, joined

BOX_OF = {"input": (ORANGE, True), "operation": (BLUE, False)}  # a node's kind -> its box
WIDEST = 355  # a row of a chain; on a telephone it is not made smaller
STEP, BETWEEN = 61, 58  # from column to column and from row to row, in pixels
GAP, AFTER = 26, 40  # between two boxes of a chain, and between two programs
SPACE, LEVEL = 25, 54  # between two nodes of a tree, from level to level
POINT = dict(label="", name="", kind="operation")  # where an arrow bends
Drawable = str | Callable | networkx.DiGraph


def plot_data_flow(programs: Drawable | dict[str, Drawable]) -> Drawing:
    """Draw which value is computed from which in a program, or in each of a dict from titles.

    Time runs downwards. If each program is a chain, as most networks are, it runs from left to
    right instead, with a row for each layer. Inputs are round, operations square, each with the
    name that the program gives to its value. A program is anything that `data_flow` reads or
    returns. Several programs are drawn to one scale.
    """
    programs = programs if isinstance(programs, dict) else {"": programs}
    flows = {
        title: program if isinstance(program, networkx.DiGraph) else data_flow(program)
        for title, program in programs.items()
    }
    picture = Drawing("Data flow")
    (_draw_chains if all(map(_is_chain, flows.values())) else _draw_downwards)(picture, flows)
    parts = [f"Data flow{title and ', ' + title}: {_described(f)}." for title, f in flows.items()]
    return picture.show(" ".join(parts))


def _described(flow):
    """Return, for the alternative text, each node with the names of its inputs."""
    names, parts = {n: data["name"] or data["label"] for n, data in flow.nodes(data=True)}, []
    for node, data in flow.nodes(data=True):
        whole = f"{data['label']} ({data['name']})" if data["name"] else data["label"]
        if sources := [names[source] for source in flow.predecessors(node)]:
            parts.append(f"{whole} from {joined(sources)}")
        elif not flow.out_degree(node):
            parts.append(f"{whole} alone")
    return "; ".join(parts) or "nothing"


def _is_chain(flow):
    """Return whether each value feeds the next one, and nothing else."""
    most = max((max(flow.in_degree(node), flow.out_degree(node)) for node in flow), default=0)
    return most <= 1 and flow.number_of_edges() >= len(flow) - 1


def _draw_downwards(picture, flows):
    """Draw the flows side by side, each in layers from the top, below its title."""
    left = 0
    for title, flow in flows.items():
        layers = networkx.topological_generations(flow)
        depth = {node: depth for depth, layer in enumerate(layers) for node in layer}
        routes = []  # of each arrow, with a bend in each row on the way
        for source, target in flow.edges:
            between = range(depth[source] + 1, depth[target])
            routes.append([source, *((source, target, row) for row in between), target])
        boxes = _boxes(flow, routes)
        half = max((box.width / 2 - box.x for box in boxes.values()), default=0)
        middle = left + max(width_of(title, **TITLE) / 2, half)
        boxes = {node: box._replace(x=box.x + middle) for node, box in boxes.items()}
        picture.text(middle, -45, title, anchor="middle", **TITLE)
        for route in routes:
            one, *bends, other = (boxes[node] for node in route)
            points = [(one.x, one.y + HIGH / 2)]
            for bend in bends:
                points += [(bend.x, bend.y - HIGH / 2), (bend.x, bend.y + HIGH / 2)]
            away = points[-1][0] - other.x
            x = other.x + other.width / 2 * away / (abs(away) + STEP)
            picture.arrow(*points, (x, other.y - HIGH / 2))
        _draw_nodes(picture, flow, boxes)
        left = max(picture.xs, default=0) + AFTER


def _boxes(flow, routes):
    """Return node -> Box: each node in a row below all that feeds it, and between them.

    `routes` are lists of nodes, from the source of an arrow to its target, with a point for each
    row between them, so that it goes around what is there. To draw a graph in layers is Sugiyama's
    method; the program `dot` of Graphviz has it in full.
    """
    bent, boxes = networkx.DiGraph(), {}
    bent.add_nodes_from(flow)
    for route in routes:
        networkx.add_path(bent, route)
    place = {node: number for number, node in enumerate(bent)}
    for depth, layer in enumerate(networkx.topological_generations(bent)):
        wish = {}  # node -> the x at which it would like to be
        for node in layer:
            sources = [boxes[source].x for source in bent.predecessors(node)]
            wish[node] = sum(sources) / len(sources) if sources else STEP * len(wish)
        x, end = -STEP, -inf  # where the node to the left is, and where it ends with its name
        for node in sorted(layer, key=lambda node: (wish[node], place[node])):
            data = flow.nodes.get(node, POINT)
            box = Box(0, STEP * depth, data["label"], *BOX_OF[data["kind"]])
            x = max(wish[node], x + STEP, end + 12 + box.width / 2)
            end = x + box.width / 2 + width_of(data["name"])
            boxes[node] = box._replace(x=x)
    xs = [box.x for box in boxes.values()] or [0]
    middle = (min(xs) + max(xs)) / 2
    return {node: box._replace(x=box.x - middle) for node, box in boxes.items()}


def _draw_chains(picture, flows):
    """Draw the flows one below the other, each from left to right."""
    y = 0
    for title, flow in flows.items():
        picture.text(0, y, title, **TITLE)
        y += 36 if title else 0
        boxes = {}
        for row in _rows(flow):
            boxes |= {node: box._replace(y=y) for node, box in row.items()}
            y += BETWEEN
        for source, target in flow.edges:
            one, other = boxes[source], boxes[target]
            if one.y == other.y:
                start = one.x + one.width / 2, one.y
                picture.arrow(start, (other.x - other.width / 2, one.y))
            else:  # to the next row: down, back and down
                turn = (one.y + other.y) / 2
                top, bottom = (one.x, one.y + HIGH / 2), (other.x, other.y - HIGH / 2)
                picture.arrow(top, (one.x, turn), (other.x, turn), bottom)
        _draw_nodes(picture, flow, boxes, above=-10)


def _draw_nodes(picture, flow, boxes, above=0):
    """Draw the box of each node, and beside it, `above` pixels lower, its name."""
    for node, name in flow.nodes(data="name"):
        picture.box(box := boxes[node])
        picture.text(box.x + box.width / 2 + 4, box.y + above, name, font_style="italic")


def _rows(flow):
    """Return the rows of a chain, each node -> Box at y = 0; the first operation begins each row.

    So a network has a row for each layer. A row that would be too wide goes on in the next.
    """
    nodes, rows, left = list(flow), [{}], 0
    begins = flow.nodes[nodes[1]]["label"] if nodes[1:] else ""
    for place, (node, data) in enumerate(flow.nodes(data=True)):
        box = Box(0, 0, data["label"], *BOX_OF[data["kind"]])
        comes_again = data["label"] == begins and place > 1
        if rows[-1] and (comes_again or left + box.width > WIDEST):
            rows.append({})
            left = 0
        rows[-1][node] = box._replace(x=left + box.width / 2)
        left += box.width + max(GAP, width_of(data["name"]) + 4 + GAP)
    return rows


def plot_stages(stages: dict[str, str], *roads: dict[str, str]) -> Drawing:
    """Draw texts side by side, below their titles, with an arrow from each to the next.

    `stages` maps titles to texts. Each of the `roads`, dicts of the same form, continues from the
    last stage, one road below the other.
    """
    picture = Drawing("Texts")
    end, left = _draw_row(picture, stages, 0, [], 0)
    y, middle, ways = 0, left - AFTER / 2, []
    for road in roads:
        _draw_row(picture, road, y, [(end, 0), (middle, 0), (middle, y)], left)
        y += 13.75 * max(len(text.splitlines()) for text in road.values()) + 54
        ways.append(f"from there {joined(road)}")
    return picture.show(f"Texts from left to right: {'; '.join([joined(stages), *ways])}.")


def _draw_row(picture, stages, y, way, left):
    """Draw texts from `left` on at `y`; an arrow leads to the first along the points of `way`.

    Returns where the last text ends, and where the next one could begin.
    """
    code, end = dict(size=11, font_family="monospace"), left
    for title, text in stages.items():
        lines = text.splitlines()
        if way:
            picture.arrow(*way, (left, y))
        end = left + max(width_of(line, **code) for line in lines) + 16
        picture.text(left, y - 26, title, **TITLE)
        picture.rect(left, y - 14, end - left, 13.75 * len(lines) + 14, rx=5, **pale(BLUE))
        picture.text(left + 8, y, text, **code)
        way, left = [(end, y)], max(end, left + width_of(title, **TITLE)) + AFTER
    return end, left


def plot_pipeline(steps: dict[str, str], marked: Collection[str] = ()) -> Drawing:
    """Draw boxes from left to right, each with a text below it and an arrow to the next.

    `steps` maps the titles in the boxes to the texts. Boxes that are `marked` are orange.
    """
    titles = [textwrap.wrap(title, 12, break_long_words=False) for title in steps]
    width = max(width_of(line, 12, **TITLE) for title in titles for line in title) + 36
    height = 15 * max(map(len, titles)) + 22
    picture, left = Drawing("Steps"), 0
    for title, text in zip(titles, steps.values(), strict=True):
        middle, top = left + width / 2, -7.5 * (len(title) - 1)
        if left:
            picture.arrow((left - AFTER, 0), (left, 0))
        color = ORANGE if " ".join(title) in marked else BLUE
        picture.rect(left, -height / 2, width, height, rx=7, **pale(color))
        picture.text(middle, top, "\n".join(title), 12, "middle", **TITLE)
        text = textwrap.fill(text, int((width + 0.6 * AFTER) / 6.7))
        picture.text(middle, height / 2 + 14, text, 12, "middle")
        left += width + AFTER
    parts = [f"{title} ({text})" if text else title for title, text in steps.items()]
    return picture.show(f"Boxes from left to right: {', '.join(parts)}.")


def plot_tree(programs: str | dict[str, str], marked: Collection[str] = ()) -> Drawing:
    """Draw the syntax tree of a program's source, or of each program in a dict from titles.

    The parts whose texts are `marked`, such as 'add(1, 2)', are orange, with everything below them.
    """
    programs = {"": programs} if isinstance(programs, str) else programs
    marked = {ast.unparse(_tree_of(text)) for text in marked}
    trees = {title: _Node(_tree_of(program), marked) for title, program in programs.items()}
    picture, left = Drawing("Syntax trees"), 0
    for title, tree in trees.items():
        room = max(tree.width, width_of(title, **TITLE))
        picture.text(left + room / 2, -40, title, anchor="middle", **TITLE)
        tree.draw(picture, left + (room - tree.width) / 2)
        left += room + 2 * SPACE
    parts = [(title and f"{title}: ") + tree.described() for title, tree in trees.items()]
    orange = f" Marked in orange: {joined(sorted(marked))}." if marked else ""
    return picture.show(f"Syntax trees. {' '.join(parts)}{orange}")


def _tree_of(program):
    """Return the root of a text's syntax tree: its only statement, or else the module."""
    tree = ast.parse(textwrap.dedent(program))
    return tree.body[0] if len(tree.body) == 1 else tree


class _Node:
    """A node of a syntax tree with what is below it, and the `width` that they take."""

    def __init__(self, node, marked, is_marked=False):
        node = node.value if isinstance(node, ast.Expr) else node
        self.label, below = _read(node)
        self.is_marked = is_marked or ast.unparse(node) in marked
        self.children = [_Node(child, marked, self.is_marked) for child in below]
        self.below = sum(child.width + SPACE for child in self.children) - SPACE
        self.width = max(Box(0, 0, self.label).width, self.below)

    def draw(self, picture, left, y=0):
        """Draw the node and all below it, from `left` on; returns the x of the node itself."""
        x, at = left + self.width / 2, left + (self.width - self.below) / 2
        for child in self.children:
            below = child.draw(picture, at, y + LEVEL), y + LEVEL - HIGH / 2
            picture.line((x, y + HIGH / 2), below)
            at += child.width + SPACE
        picture.box(Box(x, y, self.label, ORANGE if self.is_marked else BLUE))
        return x

    def described(self):
        """Return in words what is below what, from the top."""
        here = f"Below {self.label}: {joined(child.label for child in self.children)}."
        return " ".join([here, *(c.described() for c in self.children if c.children)])


def _read(node):
    """Return how a node reads, such as `Assign e`, `Call add` or `+`, and the nodes below it."""
    below = [n for n in ast.iter_child_nodes(node) if not isinstance(n, ast.expr_context)]
    match node:
        case ast.Constant():
            return repr(node.value), []
        case ast.Name():
            return f"Name {node.id}", []
        case ast.Assign(targets=[ast.Name(name)]):
            return f"Assign {name}", [node.value]
        case ast.Call(ast.Name(name)):
            return f"Call {name}", below[1:]
        case ast.BinOp():
            alone = ast.BinOp(ast.Name("a"), node.op, ast.Name("a"))
            return ast.unparse(alone).strip("a "), [node.left, node.right]
    return type(node).__name__, below
