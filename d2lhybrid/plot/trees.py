"""Pictures of syntax trees: what Python reads in a program's text. Explained in notebook 02."""

import ast
import textwrap
from collections.abc import Collection

from matplotlib.axes import Axes

from .colours import BLUE_BOX, GREY, ORANGE_BOX
from .style import TITLE, joined, new_axes, with_alt

LETTER, SPACE, LEVEL = 0.11, 0.35, 0.75  # inches: a letter's width, between nodes, between levels


def plot_tree(programs: str | dict[str, str], marked: Collection[str] = ()) -> Axes:
    """Draw the syntax tree of a program, a text, or of each program of a dict from titles.

    The parts whose texts are `marked`, such as 'add(1, 2)', are orange, with all below them.
    """
    programs = {"": programs} if isinstance(programs, str) else programs
    marked = {ast.unparse(_tree_of(text)) for text in marked}
    trees = {title: _Drawn(_tree_of(program), marked) for title, program in programs.items()}
    depth = max(tree.depth for tree in trees.values())
    rooms = [max(tree.width, LETTER * len(title)) for title, tree in trees.items()]
    width = sum(rooms) + 2 * SPACE * len(rooms)
    ax = new_axes(width, LEVEL * (depth + 0.55 * any(trees)))
    left = SPACE / 2
    for (title, tree), room in zip(trees.items(), rooms, strict=True):
        ax.text(left + room / 2, 0.6, title, ha="center", **TITLE)
        tree.draw(ax, left + (room - tree.width) / 2)
        left += room + 2 * SPACE
    top = 1 if any(trees) else 0.45
    ax.set(xlim=(-SPACE / 2, width - SPACE / 2), ylim=(-depth + 0.55, top))
    ax.axis("off")
    parts = [(title and f"{title}: ") + tree.described() for title, tree in trees.items()]
    orange = f" Marked in orange: {joined(sorted(marked))}." if marked else ""
    return with_alt(ax, f"Syntax tree{'s' * (len(trees) > 1)}. {' '.join(parts)}{orange}")


def _tree_of(program):
    """The node to begin with: a single statement stands for itself."""
    tree = ast.parse(textwrap.dedent(program))
    return tree.body[0] if len(tree.body) == 1 else tree


class _Drawn:
    """A node with what is below it, and the room that they take in inches."""

    def __init__(self, node, marked, is_marked=False):
        node = node.value if isinstance(node, ast.Expr) else node
        self.label, below = _read(node)
        self.is_marked = is_marked or ast.unparse(node) in marked
        self.children = [_Drawn(child, marked, self.is_marked) for child in below]
        self.depth = 1 + max((child.depth for child in self.children), default=0)
        self.below = sum(child.width + SPACE for child in self.children) - SPACE
        self.width = max(LETTER * len(self.label) + 0.25, self.below)

    def draw(self, ax, left, level=0):
        """Draw it all, from `left` on; returns where its own node is."""
        x, at = left + self.width / 2, left + (self.width - self.below) / 2
        for child in self.children:
            ax.plot([x, child.draw(ax, at, level + 1)], [-level, -level - 1], color=GREY, zorder=0)
            at += child.width + SPACE
        box = dict(boxstyle="round,pad=0.35", **(ORANGE_BOX if self.is_marked else BLUE_BOX))
        ax.text(x, -level, self.label, ha="center", va="center", fontsize=13, bbox=box)
        return x

    def described(self):
        """What is below what, from the top."""
        if not self.children:
            return f"{self.label} alone."
        here = f"Below {self.label}: {joined(child.label for child in self.children)}."
        return " ".join([here, *(c.described() for c in self.children if c.children)])


def _read(node):
    """How a node reads, such as `Assign e`, `Call add` or `+`, and the nodes below it."""
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
