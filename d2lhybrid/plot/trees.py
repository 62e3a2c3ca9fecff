"""Pictures of syntax trees: what Python reads in a program's text. Explained in notebook 02."""

import ast
import textwrap
from collections.abc import Collection

from .colours import BLUE, ORANGE
from .svg import HIGH, TITLE, Box, Drawing, width_of
from .words import joined

SPACE, LEVEL = 25, 54  # pixels: between two nodes, from level to level


def plot_tree(programs: str | dict[str, str], marked: Collection[str] = ()) -> Drawing:
    """Draw the syntax tree of a program, a text, or of each program of a dict from titles.

    The parts whose texts are `marked`, such as 'add(1, 2)', are orange, with all below them.
    """
    programs = {"": programs} if isinstance(programs, str) else programs
    marked = {ast.unparse(_tree_of(text)) for text in marked}
    trees = {title: _Drawn(_tree_of(program), marked) for title, program in programs.items()}
    name = f"Syntax tree{'s' * (len(trees) > 1)}"
    picture, left = Drawing(name), 0
    for title, tree in trees.items():
        room = max(tree.width, width_of(title, **TITLE))
        picture.text(left + room / 2, -40, title, anchor="middle", **TITLE)
        tree.draw(picture, left + (room - tree.width) / 2)
        left += room + 2 * SPACE
    parts = [(title and f"{title}: ") + tree.described() for title, tree in trees.items()]
    orange = f" Marked in orange: {joined(sorted(marked))}." if marked else ""
    return picture.show(f"{name}. {' '.join(parts)}{orange}")


def _tree_of(program):
    """The node to begin with: a single statement stands for itself."""
    tree = ast.parse(textwrap.dedent(program))
    return tree.body[0] if len(tree.body) == 1 else tree


class _Drawn:
    """A node with what is below it, and the room that they take."""

    def __init__(self, node, marked, is_marked=False):
        node = node.value if isinstance(node, ast.Expr) else node
        self.label, below = _read(node)
        self.is_marked = is_marked or ast.unparse(node) in marked
        self.children = [_Drawn(child, marked, self.is_marked) for child in below]
        self.below = sum(child.width + SPACE for child in self.children) - SPACE
        self.width = max(Box(0, 0, self.label).width, self.below)

    def draw(self, picture, left, y=0):
        """Draw it all, from `left` on; returns where its own node is."""
        x, at = left + self.width / 2, left + (self.width - self.below) / 2
        for child in self.children:
            ends = (x, y + HIGH / 2), (child.draw(picture, at, y + LEVEL), y + LEVEL - HIGH / 2)
            picture.line(*ends)
            at += child.width + SPACE
        picture.box(Box(x, y, self.label, ORANGE if self.is_marked else BLUE))
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
