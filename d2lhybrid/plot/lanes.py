"""Pictures of what was done at the same time: bars on lanes over time, a Gantt chart."""

import re
from collections.abc import Sequence
from math import inf

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from .colours import BLACK, BLUE, PALE_BLUE
from .style import TITLE, joined, label_rows, new_axes, with_alt


def plot_lanes(
    spans: Sequence | dict[str, Sequence], xlabel: str = "seconds", lanes: Sequence[str] = ()
) -> Axes:
    """Draw what took time as bars, a row for each lane, from the first start on.

    `spans` are `Span`s, or a dict from titles to them, each with a start of its own, on one scale.
    A label is written where it has room. A span that ends when it starts is an event, an upright
    line with its label above. `xlabel` names the unit of the times. `lanes` names the rows from the
    top, also those with nothing on them; or else a lane that starts earlier stands higher.
    """
    panels = spans if isinstance(spans, dict) else {"": spans}
    places, titles, depth = _places(panels, lanes)
    ax = new_axes(9, 0.7 + 0.4 * depth, xlabel=xlabel)
    for title, place in titles.items():
        look = dict(va="center", bbox=dict(facecolor="white", edgecolor="none", pad=1))
        ax.text(0, place, title, **TITLE, **look)
    wanted = []
    for title, own in panels.items():
        zero = min(span.start for span in own)
        wanted += [_draw(ax, span, zero, places[title, span.lane]) for span in own]
    ax.xaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 5, 10]))
    ax.xaxis.set_major_formatter(lambda time, _: f"{time:,.12f}".rstrip("0").rstrip("."))
    ax.set_xlim(0, 1.01 * ax.dataLim.x1)
    ax.grid(axis="x", color="#DDDDDD")
    label_rows(ax, [lane for _, lane in places], list(places.values()), room=0.6)
    ax.figure.draw_without_rendering()  # or it would not be known yet how wide a second is
    large, small = (_written(ax, wanted, size) for size in (12, 10))
    for text in large if len(small) > len(large) else small:
        text.remove()
    parts = []
    for title, own in panels.items():  # the same at every run, even where another worker does it
        rows = joined(lane for panel, lane in places if panel == title)
        labels = joined(sorted({span.label for span in own}, key=_natural_sort_key))
        parts.append(f"{title}{': ' * bool(title)}{rows}. On them: {labels}.")
    start = ", on one scale. " if any(panels) else ": "
    return with_alt(ax, f"Bars over time, a row for each lane{start}{' '.join(parts)}")


def _places(panels, lanes):
    """(title, lane) -> how far down its row is, title -> the same, and how far down all reaches."""
    places, titles, place = {}, {}, 0.0
    for title, own in panels.items():
        if title:
            place += 0.25 * bool(places)
            titles[title] = place
            place += 0.9
        by_start = sorted(own, key=lambda span: (span.start, _natural_sort_key(span.lane)))
        for lane in lanes or dict.fromkeys(span.lane for span in by_start):
            if any(span.lane == lane and span.start == span.end for span in own):
                place += 0.5  # for the labels of events
            places[title, lane] = place
            place += 1
    return places, titles, place


def _natural_sort_key(text):
    """A key for sorting: `worker 10` comes after `worker 9`."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", text)]


def _draw(ax, span, zero, place):
    """Draw a span; returns its label, where that belongs, and the room there."""
    start, long = span.start - zero, span.end - span.start
    if not long:
        look = dict(color=BLACK, linewidth=2, zorder=4, clip_on=False)
        ax.plot([start, start], [place - 0.48, place + 0.35], **look)
        return span.label, start, place - 0.73, inf
    look = dict(facecolor=(PALE_BLUE, 0.75), edgecolor=BLUE, linewidth=1.2)
    ax.barh(place, long, left=start, height=0.7, zorder=2, clip_on=False, **look)
    return span.label, start + long / 2, place, long


def _written(ax, wanted, size):
    """The texts of the labels that have room in this size, and cover no other."""
    end = ax.get_xlim()[1]
    scale, written = ax.bbox.width / end, []
    for label, middle, place, room in wanted:
        look = dict(fontsize=size, ha="center", va="center_baseline")
        text = ax.text(middle, place, label, **look)
        width = text.get_window_extent().width / scale
        text.set_x(max(width / 2, min(middle, end - width / 2)))  # not beyond the picture
        taken = [other.get_window_extent() for other in written]
        if width < room - 6 / scale and not text.get_window_extent().count_overlaps(taken):
            written.append(text)
        else:
            text.remove()
    return written
