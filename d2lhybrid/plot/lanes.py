"""Pictures of what was done at the same time: bars on lanes over time.

Explained in notebook 18; who plans projects calls them Gantt charts, tracing tools timelines.
"""

import re
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from .colours import BLACK, BLUE, PALE_BLUE
from .style import joined, label_rows, new_axes, with_alt


def plot_lanes(
    spans: Sequence | dict[str, Sequence],
    xlabel: str = "seconds",
    lanes: Sequence[str] | None = None,
) -> Axes:
    """Draw what took time as bars, a row for each lane, from the first start on.

    A span is a `Span`, or anything else with `lane`, `label`, `start` and `end`. A dict maps titles
    to spans: they stand below each other, on one scale, each with a start of its own. A label is
    written where it has room. A span that ends when it starts is an event, drawn as a thin upright
    line with its label above. `xlabel` names the unit of the times.

    `lanes` names the rows from top to bottom, also those with nothing on them. Otherwise a lane
    that starts earlier stands higher.
    """
    panels = {}
    for title, own in (spans if isinstance(spans, dict) else {"": spans}).items():
        zero = min(span.start for span in own)
        panels[title] = [(s.lane, s.label, s.start - zero, s.end - zero) for s in own]
    places, titles, depth = _places(panels, lanes)
    ax = new_axes(9, 0.7 + 0.4 * depth, xlabel=xlabel)
    for title, place in titles.items():
        ground = dict(facecolor="white", edgecolor="none", pad=1)
        ax.text(0, place, title, fontsize=13, fontweight="bold", va="center", bbox=ground)
    wanted = []
    for title, own in panels.items():
        for lane, *span in own:
            wanted.append(_draw(ax, *span, places[title, lane]))
    ax.xaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 5, 10]))
    ax.xaxis.set_major_formatter(lambda time, _: f"{time:,.12f}".rstrip("0").rstrip("."))
    ax.set_xlim(0, 1.01 * max(end for own in panels.values() for *_, end in own))
    ax.grid(axis="x", color="#DDDDDD")
    label_rows(ax, [lane for _, lane in places], list(places.values()), room=0.6)
    _write_labels(ax, wanted)
    parts = []
    for title, own in panels.items():  # the same at every run, even where another worker does it
        rows = joined(lane for panel, lane in places if panel == title)
        labels = joined(sorted({label for _, label, *_ in own}, key=_natural_sort_key))
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
        by_start = sorted(own, key=lambda span: (span[2], _natural_sort_key(span[0])))
        for lane in lanes or dict.fromkeys(lane for lane, *_ in by_start):
            if any(lane == other and start == end for other, _, start, end in own):
                place += 0.5  # for the labels of events
            places[title, lane] = place
            place += 1
    return places, titles, place


def _natural_sort_key(text):
    """A key for sorting: `worker 10` comes after `worker 9`."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", text)]


def _draw(ax, label, start, end, place):
    """Draw a span; returns its label, where that belongs, and the room that it has there."""
    if start == end:
        look = dict(color=BLACK, linewidth=2, zorder=4, clip_on=False)
        ax.plot([start, start], [place - 0.48, place + 0.35], **look)
        return label, start, place - 0.73, None
    look = dict(facecolor=(PALE_BLUE, 0.75), edgecolor=BLUE, linewidth=1.2)
    ax.barh(place, end - start, left=start, height=0.7, zorder=2, clip_on=False, **look)
    return label, (start + end) / 2, place, end - start


def _write_labels(ax, wanted):
    """Write the labels that have room: all in one size, the small one if that fits more of them."""
    ax.figure.draw_without_rendering()  # or it would not be known yet how wide a second is
    large, small = (_written(ax, wanted, size) for size in (12, 10))
    for text in large if len(small) > len(large) else small:
        text.remove()


def _written(ax, wanted, size):
    """The texts of the labels that have room in this size, and cover no other."""
    end = ax.get_xlim()[1]
    scale, written = ax.bbox.width / end, []
    for label, middle, place, room in wanted:
        look = dict(fontsize=size, ha="center", va="center_baseline")
        text = ax.text(middle, place, label, **look)
        width = text.get_window_extent().width / scale
        if room is None:  # an event's label may stand beside it, but not beyond the picture
            text.set_x(max(width / 2, min(middle, end - width / 2)))
        box = text.get_window_extent()
        taken = [other.get_window_extent() for other in written]
        if (room is None or width < room - 6 / scale) and not any(map(box.overlaps, taken)):
            written.append(text)
        else:
            text.remove()
    return written
