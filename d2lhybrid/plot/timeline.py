"""Pictures of what happens over time: bars for durations."""

import re
from collections.abc import Sequence
from math import inf

from ..tables import unit_for
from .drawing import TITLE, Drawing, pale, ticks, width_of
from .style import BLUE, joined

WIDTH, ROW = 640, 29  # pixels: of rows with their labels, and from row to row


def plot_times(times: dict[str, float]) -> Drawing:
    """Draw times as bars from a common start; `times` maps labels to seconds."""
    unit, factor = unit_for(max(times.values()))
    picture, rows = Drawing("Times", measured=True), [ROW * row for row in range(len(times))]
    longest = max(times.values()) * factor
    left, scale = _frame(picture, zip(times, rows, strict=True), longest, f"time in {unit}")
    for time, y in zip(times.values(), rows, strict=True):
        picture.rect(left, y - 9, time * factor * scale, 18, fill=BLUE)
    return picture.show(f"Times, as bars from a common start: {joined(times)}.")


def plot_timeline(
    spans: Sequence | dict[str, Sequence], xlabel: str = "seconds", lanes: Sequence[str] = ()
) -> Drawing:
    """Draw what took time as bars, with a row for each lane, from the first start on.

    `spans` are `Span`s, or a dict from titles to them, each with its own start, on one scale. A
    label is written if it has room. A span that ends when it starts is an event, drawn as an
    upright line with its label above. `xlabel` names the unit of the times. `lanes` names the rows
    from the top, including empty ones; without it, a lane that starts earlier is placed higher.
    """
    panels = spans if isinstance(spans, dict) else {"": spans}
    places, titles = _places(panels, lanes)
    bars = []
    for title, own in panels.items():
        zero = min(span.start for span in own)
        bars += [(s.label, s.start - zero, s.end - zero, places[title, s.lane]) for s in own]
    picture, end = Drawing("Bars over time", measured=True), 1.01 * max(bar[2] for bar in bars)
    rows = [(lane, y) for (_, lane), y in places.items()]
    left, scale = _frame(picture, rows, end, xlabel)
    for title in panels:
        picture.text(left, titles[title], title, **TITLE)
        ys = [y for (panel, _), y in places.items() if panel == title]
        for x in ticks(end):  # a faint line at each mark, but not through a title
            ends = [(left + x * scale, y) for y in (ys[0] - 0.6 * ROW, ys[-1] + 0.6 * ROW)]
            picture.line(*ends, stroke_width=1, stroke_opacity=0.3)
    wanted = []  # labels, where they belong, and the room there
    for label, start, end, y in bars:
        x, long = left + start * scale, (end - start) * scale
        if long:
            picture.rect(x, y - 0.35 * ROW, long, 0.7 * ROW, **pale(BLUE))
            wanted.append((label, x + long / 2, y, long))
        else:
            picture.rect(x - 1, y - 0.48 * ROW, 2, 0.83 * ROW)
            wanted.append((label, x, y - 0.73 * ROW, inf))
    written, size = max(
        [(_written(wanted, left, size), size) for size in (12, 10)], key=lambda one: len(one[0])
    )
    for place, label in written.items():
        picture.text(*place, label, size, "middle")
    # the same at every run, even where another worker does it
    rows = joined(dict.fromkeys(lane for _, lane in places))
    labels = joined(sorted({bar[0] for bar in bars}, key=_natural_sort_key))
    titles = f" for {joined(panels)}" if isinstance(spans, dict) else ""
    return picture.show(f"Bars over time{titles}. Rows: {rows}. On them: {labels}.")


def _places(panels, lanes):
    """Return two dicts of y positions: (title, lane) -> a row's, and title -> a heading's."""
    places, titles, y = {}, {}, 0.0
    for title, own in panels.items():
        titles[title] = y + 0.25 * ROW * bool(places)
        y = titles[title] + 0.9 * ROW * bool(title)
        by_start = sorted(own, key=lambda span: (span.start, _natural_sort_key(span.lane)))
        for lane in lanes or dict.fromkeys(span.lane for span in by_start):
            if any(span.lane == lane and span.start == span.end for span in own):
                y += 0.5 * ROW  # for the labels of events
            places[title, lane] = y
            y += ROW
    return places, titles


def _natural_sort_key(text):
    """Return a key for sorting by which `worker 10` comes after `worker 9`."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", text)]


def _frame(picture, rows, end, xlabel):
    """Draw the labels of `rows`, pairs (label, y), and an axis from 0 to `end` below them.

    Returns the x of its left end, and how many pixels a unit of the axis has.
    """
    rows, end = list(rows), end or 1
    left = max(width_of(label, 12) for label, _ in rows) + 8
    for label, y in rows:
        picture.text(left - 8, y, label, 12, "end")
    scale, bottom = (WIDTH - left) / end, rows[-1][1] + 0.6 * ROW
    picture.line((left, bottom), (WIDTH, bottom))
    for tick, number in ticks(end).items():
        picture.line((left + tick * scale, bottom), (left + tick * scale, bottom + 4))
        picture.text(left + tick * scale, bottom + 14, number, 12, "middle")
    picture.text((left + WIDTH) / 2, bottom + 32, xlabel, 12, "middle")
    return left, scale


def _written(wanted, left, size):
    """Return place -> label, of those that have room in this size and cover no other.

    `wanted` has (label, x of its middle, y, width of the room); nothing is written left of `left`.
    """
    written, taken = {}, []
    for label, middle, y, room in wanted:
        width = width_of(label, size)
        x = max(left + width / 2, min(middle, WIDTH - width / 2))  # not beyond the picture
        covers = any(y == other and abs(x - at) < (width + wide) / 2 for at, other, wide in taken)
        if width < room - 4 and not covers:
            written[x, y] = label
            taken.append((x, y, width))
    return written
