"""Pictures of syntax trees: what Python reads in a program's text, before it runs any of it.

Explained in notebook 02.
"""

import ast
import textwrap
from collections.abc import Collection
from copy import copy

from matplotlib.axes import Axes

from .colours import BLUE_BOX, GREY, ORANGE_BOX
from .style import joined, new_axes, with_alt

LETTER, SPACE, LEVEL = 0.11, 0.35, 0.75  # inches: a letter's width, between nodes, between levels
LEFT_OUT = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)


def plot_tree(
    programs: str | ast.AST | dict[str, str | ast.AST], marked: Collection[str] = ()
) -> Axes:
    """Draw the syntax tree of a program; several programs side by side.

    A program is a text or a node of `ast`; a dict maps titles to programs. A node reads as it
    stands in the program: `Assign e`, `Call add`, `+`, `Name a`, `1`. `marked` are texts of parts,
    such as 'add(1, 2)': these parts are orange, with all that is below them.
    """
    if not isinstance(programs, dict):
        programs = {"": programs}
    marked = {ast.unparse(_tree_of(text)) for text in marked}
    trees = {title: _Drawn(_tree_of(program), marked) for title, program in programs.items()}
    depth = max(tree.depth for tree in trees.values())
    width = sum(max(tree.width, LETTER * len(title)) + 2 * SPACE for title, tree in trees.items())
    ax = new_axes(width, LEVEL * (depth + 0.55 * any(trees)))
    left = SPACE / 2
    for title, tree in trees.items():
        room = max(tree.width, LETTER * len(title))
        ax.text(left + room / 2, 0.6, title, fontsize=13, fontweight="bold", ha="center")
        tree.draw(ax, left + (room - tree.width) / 2)
        left += room + 2 * SPACE
    top = 1 if any(trees) else 0.45
    ax.set(xlim=(-SPACE / 2, width - SPACE / 2), ylim=(-depth + 0.55, top))
    ax.axis("off")
    titles = {title: f"{title}: " if title else "" for title in trees}
    parts = [titles[title] + tree.described() for title, tree in trees.items()]
    orange = f" Marked in orange: {joined(sorted(marked))}." if marked else ""
    return with_alt(ax, f"Syntax tree{'s' * (len(trees) > 1)}. {' '.join(parts)}{orange}")


def _tree_of(program):
    """The node to begin with: a single statement stands for itself, an expression for its value."""
    if isinstance(program, str):
        program = ast.parse(textwrap.dedent(program))
    if isinstance(program, ast.Module) and len(program.body) == 1:
        program = program.body[0]
    return program.value if isinstance(program, ast.Expr) else program


class _Drawn:
    """A node with what is below it, and the room that they take."""

    def __init__(self, node, marked, is_marked=False):
        self.label, below = _read(node)
        self.is_marked = is_marked or ast.unparse(node) in marked
        self.children = [_Drawn(_tree_of(child), marked, self.is_marked) for child in below]
        self.depth = 1 + max((child.depth for child in self.children), default=0)
        self.below = sum(child.width for child in self.children)
        self.below += SPACE * max(0, len(self.children) - 1)
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
    """How a node reads, and the nodes that are drawn below it."""
    kind = type(node).__name__
    below = [child for child in ast.iter_child_nodes(node) if not isinstance(child, LEFT_OUT)]
    match node:
        case ast.Constant():
            return repr(node.value), []
        case ast.Name():
            return f"Name {node.id}", []
        case ast.Assign(targets=[ast.Name(name)]):
            return f"Assign {name}", [node.value]
        case ast.Call(ast.Name(name)):
            return f"Call {name}", below[1:]
        case ast.Attribute():
            return f"Attribute {node.attr}", below
        case ast.FunctionDef():
            return f"def {node.name}({ast.unparse(node.args)})", node.body
        case ast.BinOp() | ast.UnaryOp() | ast.Compare(ops=[_]):
            return _sign(node), below
        case ast.BoolOp():
            return type(node.op).__name__.lower(), below
    return kind, below


def _sign(node):
    """An operation's sign as Python writes it."""
    bare, a = copy(node), ast.Name("a")
    vars(bare).update(left=a, right=a, operand=a, comparators=[a])  # each sort has some of them
    return ast.unparse(bare).strip("a ")
