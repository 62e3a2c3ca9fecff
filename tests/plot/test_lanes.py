"""The picture of what was done at the same time: its rows, bars, labels and words."""

import pytest
from matplotlib.colors import same_color
from pictures import cut_off, overlapping, place_of, row_labels, texts

from d2lhybrid.plot.colours import BLUE, PALE_BLUE
from d2lhybrid.plot.lanes import plot_lanes
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


def bars(ax):
    """The bars as (start, end, row), in the order of drawing."""
    return [
        (b.get_x(), b.get_x() + b.get_width(), sum(b.get_bbox().intervaly) / 2) for b in ax.patches
    ]


def sizes(ax):
    """Label -> the size of its letters."""
    return {text.get_text(): text.get_fontsize() for text in ax.texts}


def test_bars_are_on_their_lanes_from_the_first_start_on():
    ax = plot_lanes(ASYNC, "milliseconds")
    assert row_labels(ax) == ["front end", "device"]
    assert list(ax.get_yticks()) == [0, 1]
    assert ax.yaxis_inverted()
    assert bars(ax) == [pytest.approx(bar) for bar in [(0, 1, 0), (1, 5, 1), (1, 5.5, 0)]]
    assert texts(ax) == ["ask", "multiply", "wait"]
    assert place_of(ax, "multiply") == (3, 1)
    assert ax.get_xlabel() == "milliseconds"
    left, right = ax.get_xlim()
    assert (left, right) == (0, pytest.approx(5.5, rel=0.02))
    assert right > 5.5
    assert all(same_color(bar.get_edgecolor(), BLUE) for bar in ax.patches)
    assert all(same_color(bar.get_facecolor()[:3], PALE_BLUE) for bar in ax.patches)


def test_lanes_come_as_they_start_and_then_as_they_count():
    starts = {"worker 10": 1, "worker 9": 1, "a": 2, "z": 0}
    spans = [Span(lane, "x", start, start + 3) for lane, start in starts.items()]
    for own in (spans, spans[::-1]):
        assert row_labels(plot_lanes(own)) == ["z", "worker 9", "worker 10", "a"]
        assert row_labels(plot_lanes(own, lanes=["idle", *starts])) == ["idle", *starts]


def test_panels_have_one_scale_and_a_start_of_their_own():
    later = [Span("device", "add", 103, 104), Span("link", "send", 104, 112)]
    ax = plot_lanes({"one": ASYNC, "two": later})
    assert row_labels(ax) == ["front end", "device", "device", "link"]
    one, two = place_of(ax, "one")[1], place_of(ax, "two")[1]
    rows = ax.get_yticks()
    assert one < rows[0] < rows[1] < two < rows[2] < rows[3]
    assert bars(ax)[3:] == [pytest.approx((0, 1, rows[2])), pytest.approx((1, 9, rows[3]))]
    assert overlapping(ax) == []


def test_a_label_is_written_where_it_has_room():
    labels = {"wide": (0, 60), "much wider": (60, 71), "narrow": (71, 72), "I": (72, 100)}
    ax = plot_lanes([Span("a", label, *ends) for label, ends in labels.items()])
    assert sizes(ax) == {"wide": 10, "much wider": 10, "I": 10}  # "narrow" has no room at all


def test_labels_are_large_if_small_ones_would_not_be_more():
    labels = {"wide": (0, 60), "narrow": (60, 61), "I": (61, 100)}
    ax = plot_lanes([Span("a", label, *ends) for label, ends in labels.items()])
    assert sizes(ax) == {"wide": 12, "I": 12}


def test_labels_stay_in_their_bars_and_cover_nothing():
    panels = {"forty": FORTY, "long": LONG, "events": EVENTS}
    for name, spans in (panels | {"async": ASYNC, "panels": panels}).items():
        ax = plot_lanes(spans)
        assert overlapping(ax) == [], name
        assert cut_off(ax) == [], name
        bars = [bar.get_window_extent() for bar in ax.patches]
        for text in ax.texts:
            box = text.get_window_extent()
            assert ax.bbox.x0 <= box.x0 + 0.01, text
            assert box.x1 <= ax.bbox.x1 + 0.01, text
            for bar in bars:  # it is in a bar, or outside
                assert not bar.overlaps(box) or bar.x0 < box.x0 < box.x1 < bar.x1, text


def test_an_event_is_an_upright_line_with_its_label_above():
    ax = plot_lanes(EVENTS)
    assert [tuple(line.get_xdata()) for line in ax.lines] == [(0, 0), (2, 2), (1, 1), (1.01, 1.01)]
    row_of_a, row_of_b = ax.get_yticks()
    assert place_of(ax, "the gate opens")[1] < min(ax.lines[0].get_ydata()) < row_of_a
    assert place_of(ax, "work") == (1, row_of_a)
    assert row_of_a < place_of(ax, "first")[1] < min(ax.lines[2].get_ydata()) < row_of_b
    assert "second" not in texts(ax)  # it would cover the first


def test_bars_that_overlap_are_both_seen():
    ax = plot_lanes([Span("a", "one", 0, 4), Span("a", "two", 1, 2)])
    assert all(bar.get_facecolor()[3] < 1 for bar in ax.patches)
    assert all(bar.get_edgecolor()[3] == 1 for bar in ax.patches)


def test_the_marks_of_time_are_round():
    for end, marks in [
        (12, [0, 2, 4, 6, 8, 10, 12]),
        (7, [0, 1, 2, 3, 4, 5, 6, 7]),
        (0.5, [0, 0.1, 0.2, 0.3, 0.4, 0.5]),
        (3e-4, [0, 5e-5, 1e-4, 1.5e-4, 2e-4, 2.5e-4, 3e-4]),
    ]:
        ax = plot_lanes([Span("a", "x", 0, end)])
        left, right = ax.get_xlim()
        assert [mark for mark in ax.get_xticks() if left <= mark <= right] == pytest.approx(marks)
        ax.figure.draw_without_rendering()
        written = [label.get_text() for label in ax.get_xticklabels()][: len(marks)]
        assert written == [f"{mark:.5f}".rstrip("0").rstrip(".") for mark in marks]


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
    assert [plot_lanes(spans).figure.alt for spans in (one, other)] == [expected] * 2
