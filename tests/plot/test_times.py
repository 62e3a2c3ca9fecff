"""The pictures of times: what is on them, read back from matplotlib's objects."""

from itertools import pairwise, product
from math import isnan

import pytest
from matplotlib.colors import same_color
from pictures import cut_off, legend, overlapping, place_of, row_labels, texts

from d2lhybrid.plot.colours import BLACK, BLUE, GREEN, GREY, ORANGE, RED
from d2lhybrid.plot.times import (
    plot_break_even,
    plot_distribution,
    plot_grouped_times,
    plot_latencies,
    plot_over_time,
    plot_scatter,
    plot_shares,
)

UNCLEAR = "no clear difference"
GROUPS = {
    "PyTorch": {
        "eager": (56.1e-6, ""),
        "TorchScript": (42e-6, "faster"),
        "torch.compile": (110e-6, "slower"),
    },
    "NumPy": {"three products": (20e-6, "")},
    "A long name": {
        "one": (2e-3, ""),
        "two": (2e-3, "as good as equal"),
        "a way with a long name": (0.9999e-3, UNCLEAR),
    },
}


def dots(ax):
    """The marks of a picture, without its lines."""
    return [line for line in ax.lines if line.get_marker() not in ("None", "")]


def lines(ax):
    return [line for line in ax.lines if line not in dots(ax)]


def is_hollow(dot):
    return same_color(dot.get_markerfacecolor(), "white")


def points(line):
    found = [tuple(map(float, point)) for point in zip(*line.get_data(), strict=True)]
    return [(x, y) for x, y in found if not isnan(x)]


def marks(axis):
    """The marks of an axis, and the space that the text of each takes on paper."""
    if axis.figure.stale:
        axis.figure.draw_without_rendering()
    return [(text.get_text(), text.get_window_extent()) for text in axis.get_ticklabels()]


def test_grouped_times_are_dots_in_the_colours_of_their_verdicts():
    ax = plot_grouped_times(GROUPS, "time a call")
    times = [time for group in GROUPS.values() for time, _ in group.values()]
    places = [0, 1, 2, 3.35, 4.7, 5.7, 6.7]  # a gap before each group
    found = [points(dot) for dot in dots(ax)]
    assert found == [[pytest.approx(at)] for at in zip(times, places, strict=True)]
    assert [dot.get_color() for dot in dots(ax)] == [BLACK, BLUE, RED, BLACK, BLACK, GREEN, GREY]
    hollow = [True, False, False, False, True, False, False]
    assert [is_hollow(dot) for dot in dots(ax)] == hollow
    assert row_labels(ax) == [way for group in GROUPS.values() for way in group]
    assert list(ax.get_yticks()) == pytest.approx(places)
    assert ax.yaxis_inverted()
    assert ax.get_xscale() == "log"
    left, right = ax.get_xlim()
    assert left < 20e-6 < 2e-3 < right
    assert ax.get_xlabel() == "time a call"


def test_the_time_of_the_eager_way_is_a_line_through_its_group_only():
    dotted = [
        line
        for line in plot_grouped_times(GROUPS, "time a call").lines
        if line.get_linestyle() == ":"
    ]
    (top, bottom), (next_top, next_bottom) = [points(line) for line in dotted]  # none for NumPy
    assert top == (56.1e-6, 0)
    assert bottom[0] == 56.1e-6
    assert 2 < bottom[1] < 2.675  # past the group's last dot, and not to the line below it
    assert next_top == pytest.approx((2e-3, 4.7))
    assert next_bottom[0] == 2e-3
    assert next_bottom[1] > 6.7


def test_groups_have_their_names_and_a_line_between_them():
    ax = plot_grouped_times(GROUPS, "time a call")
    bold = [text for text in ax.texts if text.get_fontweight() == "bold"]
    assert [(text.get_text(), text.xy[1]) for text in bold] == [
        ("PyTorch", 0),
        ("NumPy", 3.35),
        ("A long name", pytest.approx(4.7)),
    ]
    between = [line for line in lines(ax) if line.get_linestyle() == "-"]
    assert [line.get_ydata()[0] for line in between] == pytest.approx([2.675, 4.025])
    assert len(plot_grouped_times({"a": {"eager": (1.0, "")}}, "time").lines) == 1  # its dot


def test_grouped_times_stand_beside_their_rows():
    ax = plot_grouped_times(GROUPS, "time a call")
    beside = [text.get_text() for text in ax.texts if text.get_fontweight() != "bold"]
    expected = ["56.1 µs", "42.0 µs", "110 µs", "20.0 µs", "2.00 ms", "2.00 ms", "1.00 ms"]
    assert beside == expected
    assert [text for text, _ in marks(ax.xaxis)] == ["30 µs", "100 µs", "300 µs", "1 ms"]


def test_a_time_beside_its_row_has_three_digits():
    times = [0.5e-9, 1e-6, 12.34, 99.96]
    ax = plot_grouped_times({"": {str(time): (time, "") for time in times}}, "time")
    assert texts(ax) == ["0.500 ns", "1.00 µs", "12.3 s", "100 s"]


def test_grouped_times_can_be_read():
    groups = GROUPS | {f"group {i}": GROUPS["A long name"] for i in range(5)}
    ax = plot_grouped_times(groups, "time")
    assert ax.figure.get_size_inches()[0] == 9
    assert ax.figure.get_size_inches()[1] < 7.6  # 22 rows in 8 groups
    assert overlapping(ax) == []
    assert cut_off(ax) == []
    labels = [label.get_window_extent() for label in ax.get_yticklabels()]
    names = [text.get_window_extent() for text in ax.texts if text.get_fontweight() == "bold"]
    assert max(name.x1 for name in names) < min(label.x0 for label in labels) - 5
    assert all(low.y1 < high.y0 for high, low in pairwise(labels))
    assert max(label.x1 for label in labels) < ax.get_window_extent().x0
    key = ax.get_legend().get_window_extent()
    assert ax.bbox.y1 <= key.y0 < key.y1 <= ax.figure.bbox.y1
    assert ax.figure.bbox.x0 <= key.x0


def test_the_legend_of_grouped_times_has_only_what_occurs():
    kinds = ["eager", "faster", "slower", "as good as equal", UNCLEAR]
    assert legend(plot_grouped_times(GROUPS, "time a call")) == kinds
    ax = plot_grouped_times({"a": {"base": (1.0, ""), "b": (2.0, "slower")}}, "time")
    assert legend(ax) == ["eager", "slower"]
    assert [handle.get_color() for handle in ax.get_legend().legend_handles] == [BLACK, RED]
    assert [is_hollow(handle) for handle in ax.get_legend().legend_handles] == [True, False]
    assert plot_grouped_times({"a": {"alone": (1.0, "")}}, "time").get_legend() is None


def test_scattered_points_have_a_colour_and_a_shape_of_their_label():
    clouds = {f"label {i}": [(i + 1, 10 * i + 1), (i + 2, 5)] for i in range(7)}
    ax = plot_scatter(clouds, "calls", "microseconds")
    assert [points(line) for line in ax.lines] == list(clouds.values())
    assert len({line.get_color() for line in ax.lines}) == 7
    assert len({line.get_marker() for line in ax.lines}) == 7
    assert not any(is_hollow(line) for line in ax.lines)
    assert legend(ax) == list(clouds)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("calls", "microseconds")
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert tuple(ax.figure.get_size_inches()) == (8, 4.5)
    assert texts(ax) == []


def test_a_small_cloud_lies_on_a_large_one():
    ax = plot_scatter({"few": [(1, 1)] * 3, "many": [(1, 1)] * 90}, "x", "y")
    few, many = ax.lines
    assert few.zorder > many.zorder
    assert many.get_alpha() < 1  # or many dots would look like one


def test_the_diagonal_is_where_both_axes_are_the_same():
    ax = plot_scatter({"a": [(0.03, 0.1), (2, 40)]}, "x", "y", diagonal="equal")
    assert ax.get_xlim() == ax.get_ylim()
    assert list(ax.get_xticks()) == list(ax.get_yticks())
    assert row_labels(ax) == ["0.1", "1", "10"]
    diagonal = ax.lines[1]
    corners = [ax.transAxes.inverted().transform(end) for end in ends_of(diagonal)]
    assert corners == [pytest.approx((0, 0), abs=1e-6), pytest.approx((1, 1))]
    assert texts(ax) == ["equal"]
    assert cut_off(ax) == []
    frame = ax.get_window_extent()
    assert 0.8 < frame.width / frame.height < 1.25
    (text,) = [text.get_window_extent() for text in ax.texts]
    assert text.x0 > frame.x1  # where no point is
    assert text.y0 < frame.y1 < text.y1  # at the end of the line
    assert not text.overlaps(ax.get_legend().get_window_extent())


def ends_of(line):
    """Where a line without ends of its own begins and ends on paper."""
    line.figure.draw_without_rendering()
    return line.get_transform().transform(line.get_xydata())


def test_paths_lead_from_a_hollow_first_point_to_each_of_the_others():
    stars = {"a": [(100, 900), (1, 50), (3, 70)], "alone": [(8, 20)]}
    ax = plot_scatter(stars, "x", "y", paths=True)
    assert [points(line) for line in lines(ax)] == [
        [(100, 900), (1, 50)],
        [(100, 900), (3, 70)],
    ]
    first, others, alone = dots(ax)
    assert points(first) == [(100, 900)]
    assert points(others) == [(1, 50), (3, 70)]
    assert [is_hollow(dot) for dot in (first, others, alone)] == [True, False, False]
    assert first.get_marker() == others.get_marker() != alone.get_marker()
    assert {line.get_color() for line in [first, others, *lines(ax)]} == {first.get_color()}
    assert legend(ax) == ["a", "alone"]
    assert not any(is_hollow(handle) for handle in ax.get_legend().legend_handles)
    assert max(line.zorder for line in lines(ax)) < min(dot.zorder for dot in dots(ax))


def test_the_marks_of_scattered_points_are_few_and_apart():
    ends = (1, 3000), (0.03, 40), (5, 5), (101, 109), (1.01, 9.9), (0.11, 99), (1e-6, 1e6), (1, 1e5)
    for (low, high), diagonal in product(ends, ["", "equal"]):
        ax = plot_scatter({"Paddle": [(low, low), (high, high)]}, "x", "y", diagonal=diagonal)
        case = low, high, diagonal
        for axis in (ax.xaxis, ax.yaxis):
            found = marks(axis)
            assert 2 <= len(found) <= 6, case
            assert not any("e" in text for text, _ in found), case
            assert not any(one.overlaps(other) for (_, one), (_, other) in pairwise(found)), case
            bottom, top = axis.get_view_interval()
            assert all(bottom <= tick <= top for tick in axis.get_ticklocs()), case
            assert bottom < low <= high < top, case


def test_the_marks_of_scattered_points_are_plain_numbers():
    ax = plot_scatter({"a": [(0.5, 2), (2000, 70)]}, "x", "y")
    assert [text for text, _ in marks(ax.xaxis)] == ["1", "10", "100", "1,000"]
    assert [text for text, _ in marks(ax.yaxis)] == ["3", "10", "30"]
    assert not ax.xaxis.get_minorticklocs().size


def test_the_marks_of_very_small_numbers_have_exponents():
    ax = plot_scatter({"a": [(1e-16, 2e-7), (1, 4e-6)]}, "x", "y")
    assert [text for text, _ in marks(ax.xaxis)] == ["10⁻¹⁶", "10⁻¹²", "10⁻⁸", "10⁻⁴", "1"]
    assert [text for text, _ in marks(ax.yaxis)][:2] == ["3·10⁻⁷", "10⁻⁶"]


def test_the_legend_of_scattered_points_covers_nothing():
    labels = ["TensorFlow, operations", *"abcdef"]
    ax = plot_scatter({label: [(1, 2), (300, 9)] for label in labels}, "x", "y", paths=True)
    ax.figure.draw_without_rendering()
    key = ax.get_legend().get_window_extent()
    assert ax.bbox.x1 <= key.x0 < key.x1 <= ax.figure.bbox.x1
    assert ax.figure.bbox.y0 <= key.y0


def test_shares_are_pieces_of_a_bar_behind_a_line_for_the_limit():
    shares = {"a": {"work": 1e-5, "guard": 2e-5}, "b": {"work": 3e-5, "guard": 0}}
    ax = plot_shares(shares, 5e-6, "the least")
    pieces = [(bar.get_x(), bar.get_width()) for bar in ax.patches]
    expected = [(0, 10), (0, 30), (10, 20), (30, 0)]
    assert [pytest.approx(piece) for piece in pieces] == expected
    assert list(ax.lines[0].get_xdata()) == pytest.approx([5, 5])
    assert legend(ax) == ["the least", "work", "guard"]
    assert ax.get_xlabel() == "µs a call"
    assert not plot_shares(shares).lines


def test_shares_of_something_else_than_time_are_drawn_as_they_are():
    ax = plot_shares({"a": {"weights": 2.0, "gradients": 0.25}}, xlabel="MiB on each device")
    assert [(bar.get_x(), bar.get_width()) for bar in ax.patches] == [(0, 2), (2, 0.25)]
    assert ax.get_xlabel() == "MiB on each device"
    assert ax.figure.alt.startswith("MiB on each device, and what they are made of, as bars")


def test_blocks_over_time_start_at_zero_and_have_the_unit_of_most():
    blocks = {
        "alone": ([5.0, 5.1], [2e-6, 3e-6]),
        "busy": ([5.2, 5.3], [4e-6, 1e-3]),
        "again": ([5.4], [2e-6]),
    }
    ax = plot_over_time(blocks)
    alone, busy, again = map(points, ax.lines)
    assert alone == [pytest.approx(at) for at in ((0, 2), (0.1, 3))]
    assert busy == [pytest.approx(at) for at in ((0.2, 4), (0.3, 1000))]
    assert again == [pytest.approx((0.4, 2))]
    assert texts(ax) == ["alone", "busy", "again"]
    assert place_of(ax, "busy")[0] == pytest.approx(0.25)
    colours = [line.get_color() for line in ax.lines]
    assert colours[0] == colours[2] != colours[1]
    assert ax.get_ylabel() == "\u00b5s a call"
    assert ax.get_yscale() == "log"
    assert ax.spines["left"].get_visible()
    assert not ax.spines["top"].get_visible()


def test_distribution_leaves_out_the_longest_but_not_from_the_mean():
    ax = plot_distribution([1e-6] * 100 + [2e-6] * 98 + [1.0] * 2)
    assert sum(bar.get_height() for bar in ax.patches) == 190
    assert ax.get_xscale() == "log"
    median_line, mean_line = ax.lines
    assert list(median_line.get_xdata()) == pytest.approx([1.5, 1.5])
    assert list(mean_line.get_xdata()) == pytest.approx([10001.48, 10001.48])
    assert legend(ax) == ["median", "mean"]
    assert ax.get_xlabel() == "\u00b5s a call"


def test_distribution_has_marks_and_more_than_one_bar():
    for longest in (1.3e-6, 1e-3, 100.0):
        ax = plot_distribution([1e-6 + 3e-9 * i for i in range(100)] * 3 + [longest])
        ax.figure.draw_without_rendering()
        left, right = ax.get_xlim()
        assert left < 1 < right, longest
        assert len([tick for tick in ax.get_xticks() if left <= tick <= right]) > 1, longest
        assert sum(bar.get_height() > 0 for bar in ax.patches) > 1, longest


def test_break_even_marks_the_crossings_and_reaches_beyond_the_last():
    ax = plot_break_even({"plain": (0, 3e-3), "a": (0.1, 2e-3), "b": (0.5, 1e-3), "c": (1, 4e-3)})
    lines, dots = ax.lines[:4], ax.lines[4:]
    assert legend(ax) == ["plain", "a", "b", "c"]
    assert [list(line.get_xdata()) for line in lines] == [[0, 500]] * 4
    ends = [0, 1.5], [0.1, 1.1], [0.5, 1.0], [1, 3]
    assert [list(line.get_ydata()) for line in lines] == [pytest.approx(each) for each in ends]
    crossings = (100, 0.3), (250, 0.75)
    assert [points(dot) for dot in dots] == [[pytest.approx(at)] for at in crossings]
    assert [dot.get_color() for dot in dots] == [line.get_color() for line in lines[1:3]]
    assert ax.get_ylabel() == "total time in s"


def test_break_even_without_a_crossing():
    ax = plot_break_even({"plain": (0, 1e-3), "worse": (0.5, 2e-3)})
    assert len(ax.lines) == 2
    assert ax.get_xlim() == (0, 1000)


def test_break_even_is_drawn_in_its_unit():
    ax = plot_break_even({"plain": (0, 1e-6), "dear": (5e-3, 2e-6)})
    assert ax.get_ylabel() == "total time in ms"
    assert list(ax.lines[1].get_ydata()) == pytest.approx([5, 25])


LATENCIES = {
    "here": {"cache": 1.4e-9, "call": 1.3e-7, "Python": 0.012, "not shown": 1e3},
    "the book": {"cache": 1.5e-9, "disk": 5e-3, "call": 1e-7},
    "the picture": {"disk": 8e-4},
}
THINGS = ["cache", "call", "disk", "Python", "nobody's"]


def test_latencies_are_marks_in_the_rows_that_are_asked_for():
    ax = plot_latencies(LATENCIES, THINGS)
    assert row_labels(ax) == THINGS
    assert ax.yaxis_inverted()
    assert [points(dot) for dot in dots(ax)] == [
        [(1.4e-9, 0), (1.3e-7, 1), (0.012, 3)],
        [(1.5e-9, 0), (1e-7, 1), (5e-3, 2)],
        [(8e-4, 2)],
    ]
    assert legend(ax) == list(LATENCIES)
    assert [dot.get_color() for dot in dots(ax)] == [BLUE, ORANGE, RED]
    assert len({dot.get_marker() for dot in dots(ax)}) == 3
    assert [dot.get_markerfacecolor() for dot in dots(ax)] == [BLUE, "none", "none"]


def test_latencies_have_a_line_at_each_power_of_ten():
    ax = plot_latencies(LATENCIES, THINGS)
    assert ax.get_xscale() == "log"
    powers = [10.0**power for power in range(-9, 0)]
    assert sorted([*ax.get_xticks(), *ax.get_xticks(minor=True)]) == pytest.approx(powers)
    left, right = ax.get_xlim()
    assert left < 1e-9 < 0.1 < right
    expected = ["1 ns", "100 ns", "10 µs", "1 ms", "100 ms"]
    assert [text for text, _ in marks(ax.xaxis)] == expected
