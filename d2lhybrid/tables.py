"""Numbers for the eye: a time with its unit, and one table as text, HTML or Markdown."""

from html import escape

UNITS = (("s", 1), ("ms", 1e3), ("\u00b5s", 1e6), ("ns", 1e9))


def unit_for(time):
    """The unit in which a time in seconds is 1 or more, and how many of it make a second."""
    return next(((unit, factor) for unit, factor in UNITS if time * factor >= 1), UNITS[-1])


def seconds(time):
    """A time in seconds with four digits and a fitting unit: `32.10 µs`; '' for None."""
    if time is None:
        return ""
    unit, factor = unit_for(time) if time else UNITS[0]
    return f"{time * factor:#.4g} {unit}"


def as_text(header, rows):
    """A table for the terminal: the first column to the left, the others to the right.

    The column of labels is as wide as its widest label, every other as its heading, which
    whoever wrote it has padded with blanks. So the layout does not depend on the figures, and
    the outputs of two runs can be compared line by line with the figures masked.
    """
    table = [header, *rows]
    widths = [max(len(row[0]) for row in table), *map(len, header[1:])]
    lines = []
    for row in table:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def as_markdown(header, rows):
    """A table for GitHub and for papers."""
    lines = [[cell.strip().replace("|", "\\|") for cell in row] for row in (header, *rows)]
    lines.insert(1, ["---"] + ["---:"] * (len(header) - 1))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def as_html(header, rows, notes=()):
    """A table for a notebook. Figures carry the class `measured`, labels and headings do not."""

    def cell(kind, text, look):
        return f"<{kind} {look}>{escape(text.strip())}</{kind}>"

    left, right = 'style="text-align:left"', 'style="text-align:right"'
    head = cell("th", header[0], left) + "".join(cell("th", text, right) for text in header[1:])
    lines = ["<table>", f"<tr>{head}</tr>"]
    for label, *figures in rows:
        body = cell("td", label, left)
        body += "".join(cell("td", text, f'class="measured" {right}') for text in figures)
        lines.append(f"<tr>{body}</tr>")
    lines.append("</table>")
    lines += [cell("div", note, 'class="measured"') for note in notes]
    return "\n".join(lines)


class Shown:
    """Shows itself as a table with notes below, given `_table()` -> (header, rows) and `_notes()`.

    As text where it is printed, as HTML in a notebook, as Markdown on request.
    """

    def __str__(self):
        return "\n".join([as_text(*self._table()), *self._notes()])

    __repr__ = __str__

    def _repr_html_(self):
        return as_html(*self._table(), self._notes())

    def to_markdown(self):
        """The table and its notes as Markdown."""
        return as_markdown(*self._table()) + "\n\n" + "  \n".join(self._notes())
