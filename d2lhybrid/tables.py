"""Numbers for the eye: a time with its unit, and one table as text, HTML or Markdown."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

UNITS = (("s", 1), ("ms", 1e3), ("\u00b5s", 1e6), ("ns", 1e9))


def unit_for(time: float) -> tuple[str, float]:
    """Return (unit, factor): the largest unit in which a time in seconds is 1 or more.

    So many of the unit make a second. What is shorter than a nanosecond is in "ns", too.
    """
    return next(((unit, factor) for unit, factor in UNITS if time * factor >= 1), UNITS[-1])


def seconds(time: float, digits: int = 4) -> str:
    """Return a time in seconds as text with a fitting unit: `32.10 µs`."""
    time = float(f"{time:.{digits}g}")  # first, since 999.96 µs become 1.000 ms
    unit, factor = unit_for(time) if time else UNITS[0]
    return f"{time * factor:#.{digits}g}".rstrip(".") + f" {unit}"


class Column(NamedTuple):
    """A column of a table."""

    title: str
    width: int = 0  # in characters; at least as many as the title has


def text_table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as text: the first column is aligned to the left, the others to the right.

    A cell that is wider than its column shifts those behind it. Only the first column is as wide as
    its widest cell. So the layout does not depend on figures, and the outputs of two runs can be
    compared line by line with the figures masked.
    """
    table = [[column.title for column in columns], *rows]
    widths = [max(columns[0].width, *(len(row[0]) for row in table))]
    widths += [max(column.width, len(column.title)) for column in columns[1:]]
    lines = []
    for row in table:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


class Table:
    """Shows itself as a table with notes below: as text where it is printed, as HTML in a notebook.

    A subclass has `_columns()`, which returns Columns, `_rows()`, which gives the cells of each row
    as strings, and `_notes()`, which returns the lines below. What would be too wide as text it
    gives in `_text()`, a list of lines, in another form.
    """

    def _text(self):
        return [text_table(self._columns(), self._rows()), *self._notes()]

    def __str__(self):
        return "\n".join(self._text())

    __repr__ = __str__

    def _repr_html_(self):
        """Figures carry the class `measured`, labels and headings do not."""
        left, right = 'style="text-align:left"', 'style="text-align:right"'
        first, *others = (column.title for column in self._columns())
        head = _cell("th", first, left) + "".join(_cell("th", title, right) for title in others)
        lines = ["<table>", f"<tr>{head}</tr>"]
        for label, *figures in self._rows():
            body = [_cell("td", text, f'class="measured" {right}') for text in figures]
            lines.append(f"<tr>{_cell('td', label, left)}{''.join(body)}</tr>")
        notes = [_cell("div", note, 'class="measured"') for note in self._notes()]
        return "\n".join([*lines, "</table>", *notes])

    def to_markdown(self) -> str:
        """The table and its notes as Markdown, for GitHub and for papers."""
        table = [[column.title for column in self._columns()], *self._rows()]
        lines = [[cell.strip().replace("|", "\\|") for cell in row] for row in table]
        lines.insert(1, ["---"] + ["---:"] * (len(table[0]) - 1))
        rows = ["| " + " | ".join(line) + " |" for line in lines]
        return "\n".join(rows) + "\n\n" + "  \n".join(self._notes())


def _cell(kind, text, look):
    """Return an HTML element of this kind, with `look` as its attributes."""
    return f"<{kind} {look}>{escape(text.strip())}</{kind}>"
