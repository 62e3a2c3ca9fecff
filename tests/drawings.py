"""Reads from a drawing's SVG what is on it, and where."""

from functools import cache
from itertools import combinations, pairwise
from typing import NamedTuple
from xml.etree import ElementTree

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

SIDES = "x", "y", "width", "height"  # of a rectangle


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

    def holds(self, other):
        across = self.x0 <= other.x0 and other.x1 <= self.x1
        return across and self.y0 <= other.y0 and other.y1 <= self.y1

    def grown(self, by):
        return Area(self.x0 - by, self.y0 - by, self.x1 + by, self.y1 + by)


def elements(drawing, name):
    """The elements of its SVG that have a name."""
    svg = "{http://www.w3.org/2000/svg}"
    return ElementTree.fromstring(drawing.svg).findall(f".//{svg}{name}")


def texts(drawing):
    """All lines of text, in the order of drawing."""
    return [text.text for text in elements(drawing, "text")]


@cache
def extents(drawing):
    """(line of text, Area that it takes in DejaVu Sans) of all."""
    found = []
    for text in elements(drawing, "text"):
        family = "DejaVu Sans Mono" if text.get("font-family") else "DejaVu Sans"
        style = dict(weight=text.get("font-weight"), style=text.get("font-style"))
        font = FontProperties(family=family, size=float(text.get("font-size")), **style)
        box = TextPath((0, 0), text.text, prop=font).get_extents()
        shift = ["start", "middle", "end"].index(text.get("text-anchor")) / 2
        left, base = float(text.get("x")) - box.width * shift, float(text.get("y"))
        found.append((text.text, Area(left, base - box.y1, left + box.width, base - box.y0)))
    return found


def rects(drawing):
    """(attributes, Area) of each rectangle, without the ground."""
    found = [(rect.attrib, *map(rect.get, SIDES)) for rect in elements(drawing, "rect")[1:]]
    numbers = [(look, *map(float, sides)) for look, *sides in found]
    return [(look, Area(x, y, x + width, y + height)) for look, x, y, width, height in numbers]


def boxes(drawing):
    """The Areas of boxes with a label, or with lines of text."""
    return [area for look, area in rects(drawing) if "rx" in look]


def box_of(drawing, label, which=0):
    """The Area of the box around a label; `which` tells equal labels from each other."""
    named = [area for text, area in extents(drawing) if text == label]
    return [box for area in named for box in boxes(drawing) if box.holds(area)][which]


def points_of(element):
    numbers = [float(number) for number in element.get("points").split()]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def lines(drawing):
    """The points of each line."""
    return [points_of(line) for line in elements(drawing, "polyline")]


def arrows(drawing):
    """The points of each arrow, the last of them the tip of its head."""
    pairs = pairwise(elements(drawing, "g")[0])
    drawn = [pair for pair in pairs if pair[1].tag.endswith("polygon")]
    return [[*points_of(line)[:-1], points_of(head)[0]] for line, head in drawn]


def links(drawing):
    """The pairs of boxes that an arrow joins: those at whose sides it starts and ends."""
    found, drawn = [], boxes(drawing)
    for points in arrows(drawing):
        ends = [Area(x, y, x, y) for x, y in (points[0], points[-1])]
        pair = [b for e in ends for b in drawn if b.grown(1).holds(e) and not b.grown(-1).holds(e)]
        found.append(tuple(pair))
    return found


def under_boxes(drawing):
    """The places at which an arrow runs under a box."""
    inner, parts = [box.grown(-1) for box in boxes(drawing)], [part / 99 for part in range(100)]
    ends = [pair for points in arrows(drawing) for pair in pairwise(points)]
    path = [(x + (u - x) * k, y + (v - y) * k) for (x, y), (u, v) in ends for k in parts]
    return [place for place in path for box in inner if box.holds(Area(*place, *place))]


def overlapping(drawing):
    """The pairs of texts, of boxes, and of a text and the side of a box, that cover each other."""
    written, drawn = [area for _, area in extents(drawing)], boxes(drawing)
    pairs = [*combinations(written, 2), *combinations(drawn, 2)]
    pairs += [(text, box) for text in written for box in drawn if not box.grown(-1).holds(text)]
    return [(one, other) for one, other in pairs if one.overlaps(other)]


def cut_off(drawing):
    """What reaches beyond the edge of the picture."""
    left, top, width, height = drawing.view
    paper = Area(left, top, left + width, top + height)
    areas = [area for _, area in extents(drawing) + rects(drawing)]
    areas += [Area(*point, *point) for points in lines(drawing) for point in points]
    return [area for area in areas if not paper.holds(area)]


def is_readable(drawing):
    """Whether nothing covers another thing, is cut off, or runs under a box."""
    return overlapping(drawing) == cut_off(drawing) == under_boxes(drawing) == []
