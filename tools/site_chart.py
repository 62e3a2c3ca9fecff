"""A chart of times on a page: a table in which each row has two dots, on a logarithmic axis.

What it shows stands in its cells, so it needs no other text, and on a phone a row becomes a card.
"""

import functools
import runpy
from html import escape
from math import floor, log10
from typing import NamedTuple

from .files import ROOT


class Row(NamedTuple):
    """A program: its time in seconds, and that of what it is compared with; one may be missing."""

    name: str
    time: float | None
    before: float | None = None
    verdict: str = ""  # "faster" and "slower" have a color, and a "limit" is no program
    note: str = ""  # what is smaller below the name
    more: tuple = ()  # pairs of a figure and what is smaller below it
    data: dict | None = None  # by which pages/static/results.js can choose it


def chart(heads, rows, two=True, in_order=False):
    """The HTML of a chart, with the heads of its columns, but for the dots.

    If not `two`, it is the notes of the rows that have the times before. The fastest row is the
    first, unless the rows are `in_order`.
    """
    times = [time for row in rows for time in (row.time, row.before) if time]
    low, high = log10(min(times)) - 0.05, log10(max(times)) + 0.05

    def at(time):
        return f"{3 + 94 * (log10(time) - low) / (high - low):.1f}%"

    digits = (1,) if high - low > 1.2 else (1, 2, 5)
    numbers = [digit * 10.0**power for power in range(floor(low), 3) for digit in digits]
    marks = {at(one): one for one in numbers if low < log10(one) < high}
    grid = "".join(f'<line x1="{x}" x2="{x}" y1="0" y2="100%"/>' for x in marks)
    axis = "".join(f'<text x="{x}" y="14">{unit(one)}</text>' for x, one in marks.items())

    def line(row):
        was, now = row.before and at(row.before), row.time and at(row.time)
        dots = grid
        if was and now:
            dots += f'<line class="way" x1="{was}" x2="{now}" y1="50%" y2="50%"/>'
        dots += f'<circle class="before" cx="{was}" cy="50%" r="4.5"/>' if was else ""
        dots += f'<circle cx="{now}" cy="50%" r="5.5"/>' if now else ""
        cells = [f"<td>{dot('○', row.before)}</td>"] if two else []
        sign = "•" if row.verdict == "limit" else "●"
        cells.append(f'<td class="time">{dot(sign, row.time)}</td>')
        cells.append(f'<td class="dots {row.verdict}">{drawing(dots)}</td>')
        cells += [f"<td>{text}{small(below)}</td>" for text, below in row.more]
        data = "".join(f' data-{key}="{escape(value)}"' for key, value in (row.data or {}).items())
        lang = ' lang="en"' * row.name.isascii()  # on a Chinese page, too
        name = f'<th scope="row"{lang}>{escape(row.name)}{small(row.note)}</th>'
        return f"<tr{data}>{name}{''.join(cells)}</tr>"

    heads = [f'<th scope="col">{one}</th>' for one in heads]
    heads.insert(2 + two, f'<td class="dots">{drawing(axis)}</td>')
    rows = rows if in_order else sorted(rows, key=lambda row: row.time or row.before)
    head = f"<thead><tr>{''.join(heads)}</tr></thead>"
    return "\n".join(
        ['<table class="chart">', head, "<tbody>", *map(line, rows), "</tbody></table>"]
    )


def drawing(parts):
    return f'<svg aria-hidden="true">{parts}</svg>'


def dot(sign, time):
    return f'<span aria-hidden="true">{sign} </span>{seconds(time)}' if time else ""


def small(text):
    return f" <small>{text}</small>" if text else ""


def unit(time):
    """A round time on an axis: 5 µs, 100 µs, 2 ms."""
    return f"{time * 1e6:g} µs" if time < 9e-4 else f"{time * 1e3:g} ms"


@functools.cache
def tables():
    """The package's `tables`, by its path, because the package needs what is installed with it."""
    return runpy.run_path(str(ROOT / "d2lhybrid" / "tables.py"))


def seconds(time, digits=3):
    """A time as the package writes it."""
    return tables()["seconds"](time, digits)
