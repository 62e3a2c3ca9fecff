"""Pictures of what happens over time: rows, bars and labels."""

import pytest
from drawings import elements, extents, is_readable, lines, rects, texts

from d2lhybrid.plot.style import BLUE
from d2lhybrid.plot.timeline import plot_timeline, plot_times
from d2lhybrid.threads.events import Span

ASYNC = [
    Span("front end", "ask", 10, 11),
    Span("device", "multiply", 11, 15),
    Span("front end", "wait", 11, 15.5),
]
FORTY = [Span(f"worker {i % 4 + 1}", f"task {i}", i // 4, i // 4 + 0.9) for i in range(40)]
LONG = [
    Span("a lane with a long name", "multiply two large matrices with each other " * 3, 0, 3),
    Span("link", "send it", 0, 0.4),
    Span("link", "x", 2.99, 3),
]
EVENTS = [
    Span("a", "the gate opens", 0, 0),
    Span("a", "work", 0, 2),
    Span("a", "the end of all", 2, 2),
    Span("b", "first", 1, 1),
    Span("b", "second", 1.01, 1.01),
]


def row_labels(drawing):
    """What is written beside the rows, from the top."""
    return [text.text for text in elements(drawing, "text") if text.get("text-anchor") == "end"]


def bars(drawing):
    """The areas of the bars, in the order of drawing."""
    return [area for look, area in rects(drawing) if look.get("fill") == BLUE]


def spans(drawing):
    """(start, end) of each bar, in units of the first one's length, from the axis on."""
    left, (unit, *_) = min(x for (x, _), _ in lines(drawing)), [b.x1 - b.x0 for b in bars(drawing)]
    return [pytest.approx(((b.x0 - left) / unit, (b.x1 - left) / unit), abs=0.02)
            for b in bars(drawing)]  # fmt: skip


def row_of(drawing, label):
    return dict(extents(drawing))[label].middle[1]


def test_times_are_bars_from_the_top_in_their_unit():
    for longest, unit in [(2.0, "s"), (2e-6, "µs"), (2e-10, "ns")]:
        drawing = plot_times({"a": longest, "b": longest / 4})
        assert f"time in {unit}" in texts(drawing)
        long, short = bars(drawing)
        assert long.x1 - long.x0 == pytest.approx(4 * (short.x1 - short.x0), rel=0.01)
        assert (row_labels(drawing), long.y1 < short.y0) == (["a", "b"], True)
        (_, y), (right, same) = lines(drawing)[0]  # the axis
        assert y == same > short.y1
        assert right >= long.x1


@pytest.mark.parametrize("longest", [0, 1e-12, 0.5, 9.99, 200, 86400])
def test_extreme_times_are_readable(longest):
    for drawing in (
        plot_times({"a label with a long name": longest, "b": longest / 3}),
        plot_timeline([Span("a", "x", 5, 5 + longest), Span("a", "y", 5 + longest, 5 + longest)]),
    ):
        assert is_readable(drawing)


def test_bars_are_on_their_lanes_from_the_first_start_on():
    drawing = plot_timeline(ASYNC, "milliseconds")
    assert row_labels(drawing) == ["front end", "device"]
    assert {"milliseconds", "ask", "multiply", "wait"} < set(texts(drawing))
    assert spans(drawing) == [(0, 1), (1, 5), (1, 5.5)]
    lanes = ("front end", "device", "front end")
    for lane, label, bar in zip(lanes, ("ask", "multiply", "wait"), bars(drawing), strict=True):
        assert bar.middle[1] == pytest.approx(row_of(drawing, lane), abs=4)
        assert bar.holds(dict(extents(drawing))[label])


def test_lanes_are_ordered_by_start_and_then_naturally():
    starts = {"worker 10": 1, "worker 9": 1, "a": 2, "z": 0}
    all_spans = [Span(lane, "x", start, start + 3) for lane, start in starts.items()]
    for own in (all_spans, all_spans[::-1]):
        assert row_labels(plot_timeline(own)) == ["z", "worker 9", "worker 10", "a"]
        assert row_labels(plot_timeline(own, lanes=["idle", *starts])) == ["idle", *starts]


def test_panels_share_a_scale_and_start_at_their_own_first_span():
    later = [Span("device", "add", 103, 104), Span("link", "send", 104, 112)]
    drawing = plot_timeline({"one": ASYNC, "two": later})
    assert row_labels(drawing) == ["front end", "device", "device", "link"]
    assert spans(drawing)[3:] == [(0, 1), (1, 9)]


def test_labels_are_small_only_if_more_of_them_fit_so():
    wide, narrow, last = ("wide", 0, 60), ("narrow", 60, 61), ("I", 61, 100)  # no room for narrow
    for spans, size in [([wide, narrow, last], "12"), ([wide, ("much wider", 60, 72), last], "10")]:
        drawing = plot_timeline([Span("a", *span) for span in spans])
        sizes = {text.text: text.get("font-size") for text in elements(drawing, "text")}
        labels = {label for label, *_ in spans} - {"narrow"}
        assert {sizes[label] for label in labels} == {size}
        assert "narrow" not in sizes


@pytest.mark.parametrize(
    "spans", [FORTY, LONG, EVENTS, {"forty": FORTY, "long": LONG, "events": EVENTS}]
)
def test_labels_stay_in_their_bars_and_cover_nothing(spans):
    drawing = plot_timeline(spans)
    assert is_readable(drawing)
    for text, area in extents(drawing):
        for bar in bars(drawing):  # it is in a bar, or outside
            assert not bar.overlaps(area) or bar.holds(area), text


def test_event_is_an_upright_line_with_its_label_above():
    drawing = plot_timeline(EVENTS)
    events = [area for look, area in rects(drawing) if "fill" not in look]  # in the page's ink
    (work,) = bars(drawing)
    middles = [area.middle[0] for area in events[:3]]
    assert middles == pytest.approx([work.x0, work.x1, work.middle[0]], abs=0.2)
    where = dict(extents(drawing))
    assert where["the gate opens"].middle[1] < events[0].y0 < where["work"].y0
    assert "second" not in where  # it would cover the first
