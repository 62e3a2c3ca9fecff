"""The pictures of times as bars: their rows, bars, labels, marks and words."""

import pytest
from drawings import Area, cut_off, elements, extents, lines, overlapping, place_of, rects, texts

from d2lhybrid.plot.colours import BLUE
from d2lhybrid.plot.lanes import plot_lanes, plot_times
from d2lhybrid.plot.svg import ticks
from d2lhybrid.threads.log import Span

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


def below_the_axis(drawing):
    """The numbers at the marks of the axis, and its label."""
    lowest = max(line[0][1] for line in lines(drawing) if line[0][1] == line[1][1])
    below = [text.text for text in elements(drawing, "text") if float(text.get("y")) > lowest + 5]
    return below[:-1], below[-1]


def bars(drawing):
    """The areas of the bars, in the order of drawing."""
    return [area for look, area in rects(drawing) if look.get("fill") == BLUE]


def ends(drawing, unit):
    """The bars as (start, end) on the axis, where a `unit` is so many pixels."""
    left = min(x for (x, _), _ in lines(drawing))
    return [((bar.x0 - left) / unit, (bar.x1 - left) / unit) for bar in bars(drawing)]


def sizes(drawing):
    """Label in a bar -> the size of its letters."""
    found = {text.text: float(text.get("font-size")) for text in elements(drawing, "text")}
    marks, label = below_the_axis(drawing)
    return {
        text: found[text] for text in found if text not in [*marks, label, *row_labels(drawing)]
    }


def test_times_are_bars_from_the_top():
    for times, unit, lengths in [
        ({"a": 2.0, "b": 0.5}, "s", [1, 0.25]),
        ({"a": 0.002, "b": 0.5e-6}, "ms", [1, 0.00025]),
        ({"a": 2e-6, "b": 0.5e-6}, "µs", [1, 0.25]),
        ({"a": 2e-9, "b": 0.5e-9}, "ns", [1, 0.25]),
        ({"a": 2e-10}, "ns", [1]),
    ]:
        drawing = plot_times(times)
        assert below_the_axis(drawing)[1] == f"time in {unit}"
        wide = [bar.x1 - bar.x0 for bar in bars(drawing)]
        assert [one / wide[0] for one in wide] == pytest.approx(lengths, abs=1e-3), unit
        assert row_labels(drawing) == list(times)
        assert [bar.y0 for bar in bars(drawing)] == sorted(bar.y0 for bar in bars(drawing))
        assert all(bar.middle[1] == pytest.approx(place_of(drawing, label)[1], abs=4)
                   for label, bar in zip(times, bars(drawing), strict=True))  # fmt: skip


@pytest.mark.parametrize("longest", [0, 1e-12, 0.001, 0.5, 1, 7, 9.01, 9.99, 10, 199.9, 200, 86400])
def test_extreme_times_can_be_read(longest):
    for drawing in (
        plot_times({"a label with a long name": longest, "b": longest / 3}),
        plot_lanes([Span("a", "x", 5, 5 + longest), Span("a", "y", 5 + longest, 5 + longest)]),
    ):
        assert overlapping(drawing) == []
        assert cut_off(drawing) == []


def test_marks_are_few_and_round():
    for thousandth in [*range(1, 1000), *range(1000, 200_001, 500)]:
        end = thousandth / 1000
        marks = ticks(0, end)
        assert 4 <= len(marks) <= 9, end
        assert min(marks) == 0, end
        assert 0.75 * end <= max(marks) <= end * (1 + 1e-9), end
        steps = {round((b - a) / end, 9) for a, b in zip(marks, list(marks)[1:], strict=False)}
        assert len(steps) == 1, end
        assert [float(text.replace(",", "")) for text in marks.values()] == pytest.approx([*marks])


def test_bars_are_on_their_lanes_from_the_first_start_on():
    drawing = plot_lanes(ASYNC, "milliseconds")
    assert row_labels(drawing) == ["front end", "device"]
    assert texts(drawing)[-3:] == ["ask", "multiply", "wait"]
    unit = bars(drawing)[0].x1 - bars(drawing)[0].x0
    expected = [(0, 1), (1, 5), (1, 5.5)]
    assert ends(drawing, unit) == [pytest.approx(pair, abs=0.01) for pair in expected]
    front, device = (place_of(drawing, label)[1] for label in ("front end", "device"))
    rows = [bar.middle[1] for bar in bars(drawing)]
    assert rows == [pytest.approx(y, abs=4) for y in (front, device, front)]
    assert place_of(drawing, "multiply") == pytest.approx(bars(drawing)[1].middle, abs=4)
    assert below_the_axis(drawing)[1] == "milliseconds"


def test_lanes_come_as_they_start_and_then_as_they_count():
    starts = {"worker 10": 1, "worker 9": 1, "a": 2, "z": 0}
    spans = [Span(lane, "x", start, start + 3) for lane, start in starts.items()]
    for own in (spans, spans[::-1]):
        assert row_labels(plot_lanes(own)) == ["z", "worker 9", "worker 10", "a"]
        assert row_labels(plot_lanes(own, lanes=["idle", *starts])) == ["idle", *starts]


def test_panels_have_one_scale_and_a_start_of_their_own():
    later = [Span("device", "add", 103, 104), Span("link", "send", 104, 112)]
    drawing = plot_lanes({"one": ASYNC, "two": later})
    assert row_labels(drawing) == ["front end", "device", "device", "link"]
    down = [("one", 0), ("front end", 0), ("device", 0), ("two", 0), ("device", 1), ("link", 0)]
    heights = [place_of(drawing, *label)[1] for label in down]
    assert heights == sorted(heights)
    unit = bars(drawing)[0].x1 - bars(drawing)[0].x0
    assert ends(drawing, unit)[3:] == [pytest.approx(e, abs=0.02) for e in [(0, 1), (1, 9)]]
    assert overlapping(drawing) == []


def test_no_mark_of_time_runs_through_a_title():
    drawing = plot_lanes({"a title " * 9: ASYNC, "another title " * 5: EVENTS})
    titles = [area for text, area in extents(drawing) if "title" in text]
    marks = [Area(x, y, u, v) for (x, y), (u, v) in lines(drawing) if x == u]
    assert len(titles) == 2
    assert [1 for title in titles for mark in marks if title.overlaps(mark)] == []


def test_a_label_is_written_where_it_has_room():
    labels = {"wide": (0, 60), "much wider": (60, 72), "narrow": (72, 73), "I": (73, 100)}
    drawing = plot_lanes([Span("a", label, *ends) for label, ends in labels.items()])
    assert sizes(drawing) == {"wide": 10, "much wider": 10, "I": 10}  # "narrow" has no room at all


def test_labels_are_large_if_small_ones_would_not_be_more():
    labels = {"wide": (0, 60), "narrow": (60, 61), "I": (61, 100)}
    drawing = plot_lanes([Span("a", label, *ends) for label, ends in labels.items()])
    assert sizes(drawing) == {"wide": 12, "I": 12}


def test_labels_stay_in_their_bars_and_cover_nothing():
    panels = {"forty": FORTY, "long": LONG, "events": EVENTS}
    for name, spans in (panels | {"async": ASYNC, "panels": panels}).items():
        drawing = plot_lanes(spans)
        assert overlapping(drawing) == [], name
        assert cut_off(drawing) == [], name
        for text, area in extents(drawing):
            for bar in bars(drawing):  # it is in a bar, or outside
                assert not bar.overlaps(area) or bar.has(area), text


def test_an_event_is_an_upright_line_with_its_label_above():
    drawing = plot_lanes(EVENTS)
    events = [area for look, area in rects(drawing) if "fill" not in look]  # in the page's ink
    assert [area.x1 - area.x0 for area in events] == pytest.approx([2] * 4)
    (work,) = bars(drawing)
    middles = [area.middle[0] for area in events]
    expected = [work.x0, work.x1, work.middle[0], work.x0 + 1.01 / 2 * (work.x1 - work.x0)]
    assert middles == pytest.approx(expected, abs=0.2)
    assert place_of(drawing, "the gate opens")[1] < events[0].y0
    assert place_of(drawing, "work") == pytest.approx(work.middle, abs=4)
    assert work.y1 < place_of(drawing, "first")[1] < events[2].y0
    assert "second" not in texts(drawing)  # it would cover the first


def test_bars_that_overlap_are_both_seen():
    drawing = plot_lanes([Span("a", "one", 0, 4), Span("a", "two", 1, 2)])
    looks = [look for look, _ in rects(drawing)]
    assert [float(look["fill-opacity"]) < 1 for look in looks] == [True, True]
    assert [look["stroke"] for look in looks] == [BLUE, BLUE]


def test_the_marks_of_time_are_round():
    for end, marks in [
        (12, "0 2 4 6 8 10 12"),
        (7, "0 1 2 3 4 5 6 7"),
        (0.5, "0 0.1 0.2 0.3 0.4 0.5"),
        (3e-4, "0 0.00005 0.0001 0.00015 0.0002 0.00025 0.0003"),
    ]:
        drawing = plot_lanes([Span("a", "x", 0, end)])
        assert below_the_axis(drawing)[0] == marks.split()


def test_the_text_is_the_same_whoever_did_what():
    labels = ["task 2", "task 10", "task 1"]
    one = [Span("worker 1", label, i, i + 1) for i, label in enumerate(labels)]
    one.append(Span("worker 2", "last", 0, 4))
    other = [Span("worker 1", "last", 0, 2)]
    other += [Span("worker 2", label, 1 / (i + 1), 3) for i, label in enumerate(labels)]
    expected = (
        "Bars over time, a row for each lane: worker 1 and worker 2. "
        "On them: last, task 1, task 2 and task 10."
    )
    assert [plot_lanes(spans).alt for spans in (one, other)] == [expected] * 2
