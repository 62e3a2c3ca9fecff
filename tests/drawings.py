"""Reads from a drawing's SVG what is on it, and where."""

from itertools import combinations, pairwise
from typing import NamedTuple
from xml.etree import ElementTree

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath


class Area(NamedTuple):
    """What is from (x0, y0), above on the left, to (x1, y1)."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def middle(self):
        return (self.x0 + self.x1) / 2, (self.y0 + self.y1) / 2

    def overlaps(self, other):
        across = self.x0 < other.x1 and other.x0 < self.x1
        return across and self.y0 < other.y1 and other.y0 < self.y1

    def has(self, other):
        across = self.x0 <= other.x0 and other.x1 <= self.x1
        return across and self.y0 <= other.y0 and other.y1 <= self.y1

    def without_border(self, width=1):
        return Area(self.x0 + width, self.y0 + width, self.x1 - width, self.y1 - width)


def elements(drawing, name):
    """The elements of its SVG that have a name."""
    root = ElementTree.fromstring(drawing.svg)
    return root.findall(f".//{{http://www.w3.org/2000/svg}}{name}")


def texts(drawing):
    """All lines of text, in the order of drawing."""
    return [text.text for text in elements(drawing, "text")]


def extents(drawing):
    """(line of text, Area that it takes in DejaVu Sans) of all."""
    found = []
    for text in elements(drawing, "text"):
        properties = FontProperties(
            family={"monospace": "DejaVu Sans Mono"}.get(text.get("font-family"), "DejaVu Sans"),
            weight=text.get("font-weight", "normal"),
            style=text.get("font-style", "normal"),
            size=float(text.get("font-size")),
        )
        box = TextPath((0, 0), text.text, prop=properties).get_extents()
        left = float(text.get("x"))
        left -= box.width * ["start", "middle", "end"].index(text.get("text-anchor")) / 2
        base = float(text.get("y"))
        found.append((text.text, Area(left, base - box.y1, left + box.width, base - box.y0)))
    return found


def place_of(drawing, label, which=0):
    """The middle of a text, as (x, y); `which` tells equal texts from each other."""
    return [area.middle for text, area in extents(drawing) if text == label][which]


def rects(drawing):
    """(attributes, Area) of each rectangle, without the ground."""
    found = []
    for rect in elements(drawing, "rect")[1:]:
        x, y, width, height = (float(rect.get(key)) for key in ("x", "y", "width", "height"))
        found.append((rect.attrib, Area(x, y, x + width, y + height)))
    return found


def boxes(drawing):
    """The Areas of boxes with a label, or with lines of text."""
    return [area for look, area in rects(drawing) if "rx" in look]


def box_of(drawing, label, which=0):
    """The Area of the box around a label."""
    x, y = place_of(drawing, label, which)
    return next(box for box in boxes(drawing) if box.has(Area(x, y, x, y)))


def points_of(element):
    numbers = [float(number) for number in element.get("points").split()]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def lines(drawing):
    """The points of each line."""
    return [points_of(line) for line in elements(drawing, "polyline")]


def arrows(drawing):
    """The points of each arrow, the last of them the tip of its head."""
    pairs = pairwise(elements(drawing, "g")[0])
    return [
        [*points_of(line)[:-1], points_of(head)[0]]
        for line, head in pairs
        if head.tag.endswith("polygon")
    ]


def links(drawing):
    """The pairs of boxes that an arrow joins: those that it starts and ends at, up to a pixel."""
    found, drawn = [], boxes(drawing)
    for start, *_, end in arrows(drawing):
        pair = []
        for x, y in (start, end):
            wide = [box for box in drawn if box.without_border(-1).has(Area(x, y, x, y))]
            pair += [box for box in wide if not box.without_border().has(Area(x, y, x, y))]
        found.append(tuple(pair))
    return found


def under_boxes(drawing):
    """The places at which an arrow runs under a box, seen every two pixels."""
    found, inner = [], [box.without_border() for box in boxes(drawing)]
    for points in arrows(drawing):
        for (x, y), (u, v) in pairwise(points):
            steps = int(max(abs(u - x), abs(v - y)) / 2) + 1
            for step in range(steps + 1):
                p, q = x + (u - x) * step / steps, y + (v - y) * step / steps
                here = Area(p, q, p, q)
                found += [here.middle for box in inner if box.has(here)]
    return found


def overlapping(drawing):
    """The pairs of texts, of boxes, and of a text and the side of a box, that cover each other."""
    written, drawn = extents(drawing), boxes(drawing)
    pairs = [(a, b) for (a, one), (b, other) in combinations(written, 2) if one.overlaps(other)]
    pairs += [(one, other) for one, other in combinations(drawn, 2) if one.overlaps(other)]
    return pairs + [
        (text, box)
        for text, area in written
        for box in drawn
        if box.overlaps(area) and not box.without_border().has(area)
    ]


def cut_off(drawing):
    """What reaches beyond the edge of the picture."""
    left, top, width, height = drawing.view
    paper = Area(left, top, left + width, top + height)
    ends = [Area(x, y, x, y) for points in lines(drawing) for x, y in points]
    areas = [
        *extents(drawing),
        *((str(a), a) for a in ends),
        *((str(a), a) for _, a in rects(drawing)),
    ]
    return [what for what, area in areas if not paper.has(area)]
