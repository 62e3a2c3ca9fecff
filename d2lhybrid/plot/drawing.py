"""Drawings of our own, without matplotlib: SVG, which is the same text on every machine.

A drawing is black on white. A page may set `--picture-ink` and `--picture-ground`, so that it
follows a dark theme. There is no style sheet in it, since a page would take it for its own.
"""

import builtins
from html import escape
from importlib.util import find_spec
from math import ceil, floor, fsum, hypot
from typing import NamedTuple
from zlib import crc32

from .style import BLUE, GRAY, Picture

TITLE = dict(font_weight="bold")  # of a part of a picture
HIGH, MARGIN = 24, 5  # pixels: of a box, around a picture
NARROW, WIDE = set("fijlrtI1 .,:;'|!()[]{}/-*\"`"), set("mwMW%+=<>~@")


class Box(NamedTuple):
    """A label in a box around the place (x, y), in pixels; a round one is an ellipse."""

    x: float
    y: float
    label: str
    color: str = BLUE
    round: bool = False

    @property
    def width(self):
        return max(HIGH, width_of(self.label) + (15 if self.round else 10))


class Drawing(Picture):
    """A picture that is as large as what is drawn. Lengths are in pixels, and y runs downwards.

    What is `measured` differs from run to run, so the course's check does not compare it.
    """

    def __init__(self, title: str, measured: bool = False):
        self.title, self.measured, self.shown_in = title, measured, None
        self.parts, self.xs, self.ys = [], [], []  # what is drawn, and how far it reaches

    def add(self, element, xs, ys, text="", **look):
        """Add an SVG element that reaches over these x and y; `look` are its attributes.

        `stroke_width` is the attribute stroke-width.
        """
        self.xs += xs
        self.ys += ys
        self.parts.append((element, look, text))

    def rect(self, x, y, width, height, **look):
        """Add a rectangle, whose left top corner is (x, y)."""
        look = dict(x=x, y=y, width=width, height=height) | look
        self.add("rect", (x, x + width), (y, y + height), **look)

    def line(self, *points, **look):
        """Add a line through the points (x, y)."""
        look = dict(points=points, fill="none", stroke=GRAY, stroke_width=1.5) | look
        self.add("polyline", *zip(*points, strict=True), **look)

    def arrow(self, *points):
        """Add a line through the points (x, y), with a head at its end."""
        *_, (x, y), (end_x, end_y) = points
        long = hypot(end_x - x, end_y - y)
        a, b = (end_x - x) / long, (end_y - y) / long  # one pixel along it
        self.line(*points[:-1], (end_x - 7 * a, end_y - 7 * b))
        wings = [(end_x - 9 * a + c * b, end_y - 9 * b - c * a) for c in (-4, 4)]
        self.add("polygon", *zip(*wings, strict=True), points=[points[-1], *wings], fill=GRAY)

    def text(self, x, y, text, size=13, anchor="start", **look):
        """Write lines of text at `x`, the middle of the first line at `y`.

        `anchor` says what of a line is at `x`: its "start", "middle" or "end".
        """
        place = dict(x=x, font_size=size, text_anchor=anchor)
        for row, line in enumerate(text.splitlines()):
            if not line:
                continue
            width, base = width_of(line, size, **look), y + (0.35 + 1.25 * row) * size
            left = x - width * ["start", "middle", "end"].index(anchor) / 2
            line = line.replace(" ", "\xa0") if "font_family" in look else line  # as in a program
            ys = base - 0.85 * size, base + 0.25 * size
            self.add("text", (left, left + width), ys, line, y=base, **place, **look)

    def box(self, box):
        """Add a Box with its label."""
        round_look = dict(rx=box.width / 2, ry=HIGH / 2)
        look = (round_look if box.round else dict(rx=4)) | pale(box.color)
        self.rect(box.x - box.width / 2, box.y - HIGH / 2, box.width, HIGH, **look)
        self.text(box.x, box.y, box.label, anchor="middle")

    @property
    def view(self):
        """(left side, top, width, height) of what is drawn, with a margin, in whole pixels."""
        xs, ys = self.xs or [0], self.ys or [0]
        left, top = floor(min(xs)) - MARGIN, floor(min(ys)) - MARGIN
        return left, top, ceil(max(xs)) + MARGIN - left, ceil(max(ys)) + MARGIN - top

    @property
    def svg(self):
        """The drawing as the text of an SVG element."""
        left, top, width, height = self.view
        parts = "\n".join(_element(*part) for part in self.parts)
        name = f"p{crc32((self.alt + parts).encode()):08x}"  # its own, and the same at every run
        measured = ' data-figures="measured"' * self.measured
        return f"""<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="{name}"
width="{width}" height="{height}" viewBox="{left} {top} {width} {height}"{measured}
style="max-width:100%;height:auto">
<title>{escape(self.title)}</title><desc id="{name}">{escape(self.alt)}</desc>
<rect x="{left}" y="{top}" width="{width}" height="{height}"
fill="#fff" style="fill:var(--picture-ground,#fff)"/>
<g fill="#000" style="fill:var(--picture-ink,#000)" font-family="system-ui, sans-serif">
{parts}
</g></svg>
"""

    @property
    def png(self):
        """The drawing as PNG, in bytes; none without matplotlib."""
        if not find_spec("matplotlib"):
            return b""
        from .axes import paint

        return paint(self.parts, self.view)

    def show(self, alt):
        """Give it its alternative text, and show it where there is a notebook; returns it."""
        self.describe(alt)
        if display := getattr(builtins, "display", None):  # IPython puts it there
            display(self)
        return self

    def _ipython_display_(self):
        """Show it, but once in a cell: its last line may be what has shown it already."""
        from IPython import get_ipython

        if self.shown_in != (cell := get_ipython().execution_count):
            self.shown_in = cell
            super()._ipython_display_()


def pale(color: str) -> dict:
    """Return the `look` of an area on which letters can be read, whatever the ground."""
    return dict(fill=color, fill_opacity=0.2, stroke=color)


def width_of(text: str, size: float = 13, font_weight: str = "", font_family: str = "", **_):
    """Return about how many pixels wide a text is in DejaVu Sans or Chinese, wide as fonts go."""
    widths = [0.41 if c in NARROW else 0.93 if c in WIDE else 0.63 for c in text]
    widths = [0.61] * len(text) if font_family else widths
    widths = [1.1 if c > "\u2e80" else width for c, width in zip(text, widths, strict=True)]
    # Not sum: since Python 3.12 its last digit is another one, and pictures are compared as text.
    return size * (fsum(widths) + 0.12 * sum(map(str.isupper, text))) * (1.12 if font_weight else 1)


def ticks(end: float) -> dict[float, str]:
    """Return round numbers from 0 to `end`, which is above 0: at most nine, number -> its text."""
    steps = (digit * 10.0**power for power in range(-12, 300) for digit in (1, 2, 5))
    step = next(step for step in steps if end / step <= 8)
    numbers = [step * n for n in range(floor(end / step + 1e-9) + 1)]
    return {number: f"{number:,.12f}".rstrip("0").rstrip(".") for number in numbers}


def _element(name, look, text):
    """Return an SVG element as text."""
    look = "".join(f' {key.replace("_", "-")}="{_short(value)}"' for key, value in look.items())
    return f"<{name}{look}>{escape(text)}</{name}>"


def _short(value):
    """Return an attribute as text: a number with one digit after the point at most.

    A sequence, such as points, is joined by blanks.
    """
    if isinstance(value, (int, float)):
        return f"{round(value, 1) + 0:.7g}"
    return escape(value) if isinstance(value, str) else " ".join(map(_short, value))
