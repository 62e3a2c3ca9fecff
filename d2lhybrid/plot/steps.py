"""The picture of what changes with the steps of training."""

from collections.abc import Sequence
from math import ceil, cos, isfinite, pi, sin

from .colours import COLOURS, looks_of
from .svg import Drawing, ticks
from .words import joined

WIDE, HIGH = 440, 240  # pixels: of the lines
MOST_MARKS = 30  # on a line
CORNERS = {"o": 12, "s": 4, "^": 3, "D": 4, "v": 3, "p": 5, "d": 6, "P": 8}  # of a mark's shape
TURNED = {"s": pi / 4, "v": pi}


def plot_steps(lines: dict[str, Sequence[float]], ylabel: str) -> Drawing:
    """Draw values over the steps of training, from step 0 on, a line for each label."""
    picture, last = Drawing("Lines over the step"), max(map(len, lines.values())) - 1 or 1
    values = [value for line in lines.values() for value in line if isfinite(value)]
    low, high = min(values), max(values)
    scale = HIGH / (high - low or 1)
    for step, number in [(step, n) for step, n in ticks(0, last).items() if "." not in n]:
        x = step / last * WIDE
        picture.line((x, HIGH + 10), (x, HIGH + 14))
        picture.text(x, HIGH + 24, number, 12, "middle")
    for value, number in ticks(low, high).items():
        y = (high - value) * scale
        picture.line((-14, y), (-10, y))
        picture.text(-18, y, number, 12, "end")
        if low < value == 0 < high:
            picture.line((-10, y), (WIDE, y), stroke_width=1)
    picture.line((-10, -6), (-10, HIGH + 10), (WIDE, HIGH + 10))
    picture.text(WIDE / 2, HIGH + 42, "step", 12, "middle")
    picture.text(-10, -22, ylabel, 12)
    every = ceil((last + 1) / MOST_MARKS)
    # without black, which a dark ground would swallow, and the grey of the axes
    for row, (label, look) in enumerate(looks_of(lines, COLOURS[:6]).items()):
        points = [
            (x / last * WIDE, (high - y) * scale) for x, y in enumerate(lines[label]) if isfinite(y)
        ]
        sample = [(WIDE + 15, 20 * row), (WIDE + 41, 20 * row)]
        for line, marks in ((points, points[::every]), (sample, [(WIDE + 28, 20 * row)])):
            picture.line(*line, stroke=look["color"], stroke_width=2)
            for x, y in marks:
                _mark(picture, x, y, **look)
        picture.text(WIDE + 48, 20 * row, label, 12)
    return picture.show(f"Lines over the step, with {ylabel} upwards: {joined(lines)}.")


def _mark(picture, x, y, marker, color):
    turns = [2 * pi * n / CORNERS[marker] + TURNED.get(marker, 0) for n in range(CORNERS[marker])]
    points = [(x + 4 * sin(turn), y - 4 * cos(turn)) for turn in turns]
    picture.add("polygon", *zip(*points, strict=True), points=points, fill=color)
