"""How long a program keeps its values, and what travels to memory and back.

    e = 1 + 2           | e
    f = e * e           |   | f
    print(f)                |

Notebook 02 computes this from a text, and 04 gives the bars of a graph to slots. Compilers call a
bar a live range.
"""

import ast
from collections.abc import Callable
from typing import NamedTuple

from ..text.dataflow import read_function
from ..text.program import names_in, straight_line
from .drawing import TITLE, Drawing, pale, width_of
from .style import BLUE, GRAY, ORANGE, joined

ROW, GAP = 24, 6
CODE = dict(size=12, font_family="monospace")


class _Life(NamedTuple):
    """A value, and the lines, counted from 0, in which it is made, last read and last kept."""

    name: str
    made: int
    read: int
    kept: int
    slot: str = ""


def plot_lifetimes(programs: str | Callable | dict[str, str | Callable]) -> Drawing:
    """Draw a program line by line, with a bar for each value from its line to its last reader's.

    A program is a text or a function, as for `plot_data_flow`, or a `Graph`; several are a dict
    from titles. If a value is no longer read but still kept, as Python keeps the value of a name
    until `del` or the end, its bar continues empty. If the memory of a graph is planned, the values
    of one slot share a column.
    """
    programs = programs if isinstance(programs, dict) else {"": programs}
    read = {
        title: _of_graph(program) if hasattr(program, "kernels") else _of_text(program)
        for title, program in programs.items()
    }
    words = {word for _, lives in read.values() for life in lives for word in life[::4]}
    wide = max([ROW, *(width_of(word, 12) + 8 for word in words)])
    left = max(width_of(line, **CODE) for lines, _ in read.values() for line in lines) + 16
    picture, y, parts = Drawing("Lifetimes"), 0.0, []
    for title, (lines, lives) in read.items():
        picture.text(0, y, title, **TITLE)
        heads = {life.slot or life.name: life.slot for life in lives}
        x_of = {column: left + (wide + GAP) * place for place, column in enumerate(heads)}
        for column, head in heads.items():
            picture.text(x_of[column] + wide / 2, y, head, 12, "middle")
        y += ROW * any([title, *heads.values()])
        for row, line in enumerate(lines):
            picture.text(0, y + ROW * row, line, **CODE)
        for life in lives:
            x, top = x_of[life.slot or life.name], y + ROW * (life.made - 0.5) + 2
            end, kept = (y + ROW * (row + 0.5) - 2 for row in (life.read, life.kept))
            if kept > end:
                picture.rect(x, end, wide, kept - end, fill="none", stroke=GRAY)
            picture.rect(x, top, wide, end - top, **pale(BLUE))
            picture.text(x + wide / 2, top + ROW / 2 - 2, life.name, 12, "middle")
        y += ROW * (len(lines) + 0.5)
        parts.append(f"Lifetimes{title and ', ' + title}: {'; '.join(map(_described, lives))}.")
    return picture.show(" ".join(parts))


def _described(life):
    """Return, for the alternative text, where a value is made, read and kept."""
    where = f" in {life.slot}" * bool(life.slot)
    kept = f", kept until line {life.kept + 1}" * (life.kept > life.read)
    return f"{life.name}{where} from line {life.made + 1} to line {life.read + 1}{kept}"


def _of_text(program):
    """Return the lines of a text or a function, and the lives of what its names stand for."""
    lines, made = [], {}
    if isinstance(program, str):
        statements = [s for s in straight_line(program) if not isinstance(s, ast.FunctionDef)]
    else:
        parameters, statements = read_function(program)
        lines = [f"def {program.__name__}({', '.join(parameters)}):"]
        made = dict.fromkeys(parameters, 0)
    indent, read, kept = "    " * len(lines), dict(made), {}
    for row, statement in enumerate(statements, len(lines)):
        lines.append(indent + ast.unparse(statement))
        names = names_in(statement)
        if isinstance(statement, ast.Assign):
            made |= {target.id: row for target in statement.targets}
        if isinstance(statement, ast.Delete):
            kept |= dict.fromkeys(names, row - 1)
        else:
            read |= dict.fromkeys(names, row)
    end = len(lines) - 1
    return lines, [_Life(name, made[name], read[name], kept.get(name, end)) for name in made]


def _of_graph(graph):
    """Return a line for each kernel of a graph, and the lives of what the kernels store."""
    lines, read = [f"{graph.name}({', '.join(node.name for node in graph.inputs)}):"], {}
    for row, kernel in enumerate(graph.kernels, 1):
        lines.append(f"    {graph.names[kernel[-1]]} = {graph.equation(kernel[-1])}")
        read |= dict.fromkeys([source for node in kernel for source in node.inputs], row)
    lines.append(f"    return {', '.join(map(graph.text, graph.outputs))}")
    read |= dict.fromkeys(graph.outputs, len(lines) - 1)
    lives = []
    for row, (*_, node) in enumerate(graph.kernels, 1):
        last, slot = read.get(node, row), "" if node.slot is None else f"slot {node.slot}"
        lives.append(_Life(graph.names[node], row, last, last, slot))
    return lines, lives


def plot_traffic(graphs: dict[str, object]) -> Drawing:
    """Draw each `Graph` of a dict from titles as its kernels, below the memory that they use.

    An arrow down is a value that a kernel fetches; an arrow up is the value that it stores.
    """
    picture, y, parts = Drawing("Memory traffic"), 0, []
    for title, graph in graphs.items():
        x, trips = 0, []
        for kernel in graph.kernels:
            read = [source for node in kernel for source in node.inputs if source not in kernel]
            read = [graph.names[source] for source in dict.fromkeys(read) if source in graph.names]
            label, stored = graph.equation(kernel[-1]), graph.names[kernel[-1]]
            step = max(width_of(name) + 20 for name in [*read, stored])
            width = max(width_of(label) + 16, step * (len(read) + 1))
            step = width / (len(read) + 1)
            for place, name in enumerate([*read, stored]):
                at = x + (place + 0.6) * step
                ends = [(at, y + 42), (at, y + 92)]
                picture.arrow(*(ends if place < len(read) else ends[::-1]))
                picture.text(at - 5, y + 67, name, anchor="end")
            picture.rect(x, y + 92, width, 26, rx=4, **pale(BLUE))
            picture.text(x + width / 2, y + 105, label, anchor="middle")
            x += width + 24
            trips.append(f"{label} fetches {joined(read)} and stores {stored}")
        picture.text(0, y, title, **TITLE)
        picture.rect(0, y + 16, x - 24, 26, rx=4, **pale(ORANGE))
        picture.text((x - 24) / 2, y + 29, "memory", anchor="middle")
        y += 150
        parts.append(f"Memory traffic, {title}: {'; '.join(trips)}.")
    return picture.show(" ".join(parts))
