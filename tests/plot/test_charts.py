"""The charts: what carries meaning on each, read back from matplotlib's objects."""

from math import inf, isnan, log

import pytest
from matplotlib.colors import same_color, to_hex
from pictures import legend, overlapping, row_labels, texts

from d2lhybrid.plot.charts import (
    plot_break_even,
    plot_chunks,
    plot_curves,
    plot_distribution,
    plot_grouped_times,
    plot_latencies,
    plot_measures,
    plot_outcomes,
    plot_over_time,
    plot_pairs,
    plot_published,
    plot_ratios,
    plot_roofline,
    plot_scatter,
    plot_shares,
    plot_speedups,
    plot_speedups_by_size,
)
from d2lhybrid.plot.style import BLACK, BLUE, GRAY, GREEN, ORANGE, PALE_BLUE, RED
from d2lhybrid.verdicts import EQUAL, FASTER, SLOWER, UNCLEAR


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


def x_labels(ax):
    ax.figure.draw_without_rendering()
    low, high = ax.get_xlim()
    marks = zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)
    return [label.get_text() for at, label in marks if low <= at <= high]


# Ratios


def test_ratios_are_dots_in_rows_around_one():
    ax = plot_ratios({"published": [1.89, 0.88], "the same": [1.01]}, "title")
    one, first, second = ax.lines
    assert list(one.get_xdata()) == [1, 1]
    assert points(first) == [(1.89, 0), (0.88, 0)]
    assert points(second) == [(1.01, 1)]
    assert first.get_color() != second.get_color()
    assert (ax.get_title(), row_labels(ax)) == ("title", ["published", "the same"])
    assert ax.get_xscale() == "log"
    assert "1" in x_labels(ax)


@pytest.mark.parametrize("ratio", [0.25, 4, 1.001])
def test_axis_of_ratios_reaches_as_far_down_as_up(ratio):
    left, right = plot_ratios({"a": [ratio]}).get_xlim()
    assert left * right == pytest.approx(1)
    assert left < ratio < right


def test_pairs_show_every_round_and_the_interval():
    ratios = [1.0, 1.1, 0.9, 1.2] * 10 + [50.0, 0.02]
    ax = plot_pairs(ratios, 0.95, 1.05)
    every, above, below, one = ax.lines
    assert list(one.get_ydata()) == [1, 1]
    assert points(every) == list(zip(range(1, 43), ratios, strict=True))
    bottom, top = ax.get_ylim()
    assert points(above) == [(41, top)]  # triangles at the edge
    assert points(below) == [(42, bottom)]
    (band,) = ax.patches
    assert (band.get_y(), band.get_height()) == pytest.approx((0.95, 0.1))
    assert ax.get_yscale() == "log"
    assert 0.8 < bottom < 0.9 < 1.2 < top < 1.3


def test_interval_of_pairs_is_wide_enough_to_be_seen():
    low, high = 0.9995, 1.0005
    for spread in (1.001, 1.05, 10.0):
        ratios = [spread**k for k in (-3, -2, -1, 0, 1, 2, 3)] * 20
        bottom, top = plot_pairs(ratios, low, high).get_ylim()
        assert log(high / low) > 0.05 * log(top / bottom), spread


def test_pairs_far_from_one_still_show_it():
    bottom, top = plot_pairs([3.0, 3.1, 2.9] * 10, 2.95, 3.05).get_ylim()
    assert bottom < 1 < 3.05 < top


def test_published_speedups_are_dots_over_their_dates():
    ax = plot_published([("2019-07-01", 2.0, "a"), ("2021-01-15", 0.5, ""), ("2021-12-31", 1, "c")])
    one, *found = ax.lines
    assert list(one.get_ydata()) == [1, 1]
    assert [dot.get_xdata()[0] for dot in found] == pytest.approx([2019.5, 2021.04, 2022], abs=0.01)
    assert [dot.get_ydata()[0] for dot in found] == [2, 0.5, 1]
    assert [dot.get_color() for dot in found] == [BLUE, RED, GRAY]
    assert (texts(ax), ax.get_yscale()) == (["a", "c"], "log")
    assert {"2020", "2021"} <= {*x_labels(ax)}


SPEEDUPS = {
    "quick": (2.0, 1.9, 2.2, FASTER),
    "same": (1.01, 0.98, 1.03, UNCLEAR),
    "slow": (0.5, 0.4, 0.6, SLOWER),
}


def test_speedups_are_dots_with_intervals_in_the_colors_of_their_verdicts():
    ax = plot_speedups(SPEEDUPS, "eager", 1.05)
    (band,) = ax.patches
    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx((1 / 1.05, 1.05))
    one, *found = ax.lines
    assert list(one.get_xdata()) == [1, 1]
    for row, (speedup, low, high, verdict) in enumerate(SPEEDUPS.values()):
        interval, dot = found[2 * row : 2 * row + 2]
        assert (points(interval), points(dot)) == ([(low, row), (high, row)], [(speedup, row)])
        assert texts(ax)[row] == f"{speedup:.2f}  {verdict}"
    assert [line.get_color() for line in found] == [BLUE, BLUE, GRAY, GRAY, RED, RED]
    assert row_labels(ax) == list(SPEEDUPS)
    assert ax.yaxis_inverted()
    assert "speed-up over eager" in ax.get_xlabel()


def test_launches_are_thin_bars_between_their_row_and_the_next():
    launches = {"quick": [(2.0, 1.8, 2.1), (2.2, 2.1, 2.3)], "slow": [(0.5, 0.4, 0.6)]}
    ax = plot_speedups(SPEEDUPS, "eager", 1.05, launches)
    thin = [line for line in ax.lines if same_color(line.get_color(), BLACK)][::2]
    assert [[x for x, _ in points(line)] for line in thin] == [[1.8, 2.1], [2.1, 2.3], [0.4, 0.6]]
    rows = [points(line)[0][1] for line in thin]
    assert 0 < rows[0] < rows[1] < 1
    assert 2 < rows[2] < ax.get_ylim()[0]


def test_interval_without_bounds_reaches_to_the_edge():
    ax = plot_speedups({"a": (1.2, 0.0, inf, UNCLEAR)}, "eager", inf)
    ax.figure.draw_without_rendering()
    assert tuple(ax.lines[1].get_xdata()) == pytest.approx(ax.get_xlim())
    (band,) = ax.patches
    left, right = ax.get_xlim()
    assert 0 < band.get_x() < left  # on a logarithmic axis there is neither 0 nor infinity
    assert right < band.get_x() + band.get_width() < inf


def test_speedups_by_size_are_lines_with_their_crossings():
    unclear = (1.0, 0.0, inf, UNCLEAR)
    speedups = {
        "b": [(0.5, 0.4, 0.6, SLOWER), unclear, (2.0, 1.9, 2.1, FASTER)],
        "c": [(3.0, 2.9, 3.1, FASTER)] * 3,
    }
    sizes = [1, 16, 2**20]
    ax = plot_speedups_by_size(sizes, speedups, "eager", [("b", 20.5, "20.5")])
    one, b, c, crossing = ax.lines
    assert list(one.get_ydata()) == [1, 1]
    assert points(b) == list(zip(sizes, [0.5, 1, 2], strict=True))
    assert points(c) == [(size, 3) for size in sizes]
    assert list(crossing.get_xdata()) == [20.5, 20.5]
    assert crossing.get_color() == b.get_color() != c.get_color()
    assert (texts(ax), legend(ax)) == (["20.5"], ["b", "c"])
    band, b_dots, _, c_dots = ax.collections
    assert [same_color(face, "white") for face in b_dots.get_facecolors()] == [False, True, False]
    assert not any(same_color(face, "white") for face in c_dots.get_facecolors())
    bottom, top = ax.get_ylim()
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices}
    assert {(1, 0.4), (1, 0.6), (16, bottom), (16, top)} <= corners
    assert x_labels(ax) == ["1", "16", "1048576"]
    assert ax.get_ylabel() == "speed-up over eager"
    assert bottom * top == pytest.approx(1)
    assert top > 3.1


# Times

GROUPS = {
    "PyTorch": {
        "eager": (56.1e-6, ""),
        "TorchScript": (42e-6, FASTER),
        "torch.compile": (110e-6, SLOWER),
    },
    "NumPy": {"three products": (20e-6, "")},
    "A long name": {
        "one": (2e-3, ""),
        "two": (2e-3, EQUAL),
        "a way with a long name": (0.9999e-3, UNCLEAR),
    },
}


def test_grouped_times_are_dots_in_the_colors_of_their_verdicts():
    ax = plot_grouped_times(GROUPS, "time a call")
    times = [time for group in GROUPS.values() for time, _ in group.values()]
    assert [dot.get_xdata()[0] for dot in dots(ax)] == times
    assert [dot.get_color() for dot in dots(ax)] == [BLACK, BLUE, RED, BLACK, BLACK, GREEN, GRAY]
    assert [number for number, dot in enumerate(dots(ax)) if is_hollow(dot)] == [0, 4]
    assert row_labels(ax) == [way for group in GROUPS.values() for way in group]
    assert [dot.get_ydata()[0] for dot in dots(ax)] == pytest.approx(list(ax.get_yticks()))
    assert (ax.yaxis_inverted(), ax.get_xscale()) == (True, "log")
    assert ax.get_xlabel() == "time a call"
    beside = [text.get_text() for text in ax.texts if text.get_fontweight() != "bold"]
    assert beside == ["56.1 µs", "42.0 µs", "110 µs", "20.0 µs", "2.00 ms", "2.00 ms", "1.00 ms"]
    assert all(label.endswith(("µs", "ms")) for label in x_labels(ax))


def test_a_dotted_line_leads_from_the_eager_time_through_its_group_only():
    ax = plot_grouped_times(GROUPS, "time a call")
    dotted = [points(line) for line in lines(ax) if line.get_linestyle() == ":"]  # none for NumPy
    rows = list(ax.get_yticks())
    for (top, bottom), (first, last), time in zip(
        dotted, [(0, 2), (4, 6)], [56.1e-6, 2e-3], strict=True
    ):
        assert top == (time, pytest.approx(rows[first]))
        assert bottom[0] == time
        assert rows[last] < bottom[1] < rows[last] + 0.6


def test_grouped_times_are_readable():
    groups = GROUPS | {f"group {i}": GROUPS["A long name"] for i in range(5)}
    ax = plot_grouped_times(groups, "time")
    names = [text for text in ax.texts if text.get_fontweight() == "bold"]
    assert [text.get_text() for text in names] == list(groups)
    assert overlapping(ax.figure, [*ax.texts, *ax.get_yticklabels()]) == []
    between = [points(line)[0][1] for line in lines(ax) if line.get_linestyle() == "-"]
    starts = [name.xy[1] for name in names]
    assert all(a < line < b for a, line, b in zip(starts, between, starts[1:], strict=False))
    assert len(between) == len(groups) - 1


def test_legend_of_grouped_times_has_only_what_occurs():
    assert legend(plot_grouped_times(GROUPS, "time")) == ["eager", FASTER, SLOWER, EQUAL, UNCLEAR]
    ax = plot_grouped_times({"a": {"base": (1.0, ""), "b": (2.0, SLOWER)}}, "time")
    assert legend(ax) == ["eager", SLOWER]
    assert [handle.get_color() for handle in ax.get_legend().legend_handles] == [BLACK, RED]
    assert plot_grouped_times({"a": {"alone": (1.0, "")}}, "time").get_legend() is None


def test_shares_are_pieces_of_a_bar_with_a_line_at_the_limit():
    shares = {"a": {"work": 1e-5, "guard": 2e-5}, "b": {"work": 3e-5, "guard": 0}}
    ax = plot_shares(shares, 5e-6, "the least")
    pieces = [(bar.get_x(), bar.get_width()) for bar in ax.patches]
    assert pieces == [pytest.approx(piece) for piece in [(0, 10), (0, 30), (10, 20), (30, 0)]]
    assert list(ax.lines[0].get_xdata()) == pytest.approx([5, 5])
    assert legend(ax) == ["the least", "work", "guard"]
    assert ax.get_xlabel() == "µs a call"
    assert not plot_shares(shares).lines


def test_shares_of_something_else_than_time_are_drawn_as_they_are():
    ax = plot_shares({"a": {"weights": 2.0, "gradients": 0.25}}, xlabel="MiB on each device")
    assert [(bar.get_x(), bar.get_width()) for bar in ax.patches] == [(0, 2), (2, 0.25)]
    assert ax.get_xlabel() == "MiB on each device"
    assert ax.figure.alt.startswith("MiB on each device, and what they are made of")


def test_blocks_over_time_start_at_zero_and_have_the_unit_of_most():
    busy = ([5.2, 5.3], [4e-6, 1e-3])
    ax = plot_over_time(
        {"alone": ([5.0, 5.1], [2e-6, 3e-6]), "busy": busy, "again": ([5.4], [2e-6])}
    )
    alone, with_others, again = map(points, ax.lines)
    assert alone == [pytest.approx(at) for at in ((0, 2), (0.1, 3))]
    assert with_others == [pytest.approx(at) for at in ((0.2, 4), (0.3, 1000))]
    assert again == [pytest.approx((0.4, 2))]
    assert [(text.get_text(), text.xy[0]) for text in ax.texts] == [
        ("alone", pytest.approx(0.05)),
        ("busy", pytest.approx(0.25)),
        ("again", pytest.approx(0.4)),
    ]
    colors = [line.get_color() for line in ax.lines]
    assert colors[0] == colors[2] != colors[1]
    assert (ax.get_ylabel(), ax.get_yscale()) == ("µs a call", "log")


def test_distribution_leaves_out_the_longest_but_not_from_the_mean():
    ax = plot_distribution([1e-6] * 100 + [2e-6] * 98 + [1.0] * 2)
    assert sum(bar.get_height() for bar in ax.patches) == 190
    median_line, mean_line = ax.lines
    assert list(median_line.get_xdata()) == pytest.approx([1.5, 1.5])
    assert list(mean_line.get_xdata()) == pytest.approx([10001.48, 10001.48])
    assert legend(ax) == ["median", "mean"]
    assert (ax.get_xlabel(), ax.get_xscale()) == ("µs a call", "log")


@pytest.mark.parametrize("longest", [1.3e-6, 1e-3, 100.0])
def test_distribution_has_marks_and_more_than_one_bar(longest):
    ax = plot_distribution([1e-6 + 3e-9 * i for i in range(100)] * 3 + [longest])
    left, right = ax.get_xlim()
    assert left < 1 < right
    assert len(x_labels(ax)) > 1
    assert sum(bar.get_height() > 0 for bar in ax.patches) > 1


def test_break_even_marks_the_crossings_and_reaches_beyond_the_last():
    ax = plot_break_even({"plain": (0, 3e-3), "a": (0.1, 2e-3), "b": (0.5, 1e-3), "c": (1, 4e-3)})
    assert legend(ax) == ["plain", "a", "b", "c"]
    assert [list(line.get_xdata()) for line in lines(ax)] == [[0, 500]] * 4
    ends = [0, 1.5], [0.1, 1.1], [0.5, 1.0], [1, 3]
    assert [list(line.get_ydata()) for line in lines(ax)] == [pytest.approx(each) for each in ends]
    crossings = (100, 0.3), (250, 0.75)
    assert [points(dot) for dot in dots(ax)] == [[pytest.approx(at)] for at in crossings]
    assert [dot.get_color() for dot in dots(ax)] == [line.get_color() for line in lines(ax)[1:3]]
    assert ax.get_ylabel() == "total time in s"


def test_break_even_without_a_crossing_ends_where_the_price_is_reached():
    ax = plot_break_even({"plain": (0, 1e-6), "dear": (5e-3, 2e-6)})
    assert len(ax.lines) == 2
    assert ax.get_xlim() == (0, 10000)
    assert ax.get_ylabel() == "total time in ms"
    assert list(ax.lines[1].get_ydata()) == pytest.approx([5, 25])


def test_latencies_are_marks_in_the_rows_that_are_asked_for():
    latencies = {
        "here": {"cache": 1.4e-9, "call": 1.3e-7, "Python": 0.012, "not shown": 1e3},
        "the book": {"cache": 1.5e-9, "disk": 5e-3, "call": 1e-7},
        "the picture": {"disk": 8e-4},
    }
    rows = ["cache", "call", "disk", "Python", "nobody's"]
    ax = plot_latencies(latencies, rows)
    assert row_labels(ax) == rows
    assert ax.yaxis_inverted()
    assert [points(dot) for dot in dots(ax)] == [
        [(1.4e-9, 0), (1.3e-7, 1), (0.012, 3)],
        [(1.5e-9, 0), (1e-7, 1), (5e-3, 2)],
        [(8e-4, 2)],
    ]
    assert legend(ax) == list(latencies)
    assert [dot.get_color() for dot in dots(ax)] == [BLUE, ORANGE, RED]
    assert [dot.get_markerfacecolor() for dot in dots(ax)] == [BLUE, "none", "none"]
    assert ax.get_xscale() == "log"
    left, right = ax.get_xlim()
    powers = {10.0**power for power in range(-8, -1)}  # a line at each of them
    lines_at = {*ax.get_xticks(), *ax.get_xticks(minor=True)}
    assert all(any(at == pytest.approx(power) for at in lines_at) for power in powers)
    assert left < 1.4e-9 < 0.012 < right


# Points, curves and the roofline


def test_points_have_a_color_and_a_shape_of_their_label():
    clouds = {f"label {i}": [(i + 1, 10 * i + 1), (i + 2, 5)] for i in range(7)}
    ax = plot_scatter(clouds, "calls", "microseconds")
    assert [points(line) for line in ax.lines] == list(clouds.values())
    assert len({line.get_color() for line in ax.lines}) == 7
    assert len({line.get_marker() for line in ax.lines}) == 7
    assert not any(is_hollow(line) for line in ax.lines)
    assert legend(ax) == list(clouds)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("calls", "microseconds")
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_a_small_cloud_lies_on_a_large_one():
    few, many = plot_scatter({"few": [(1, 1)] * 3, "many": [(1, 1)] * 90}, "x", "y").lines
    assert few.zorder > many.zorder
    assert many.get_alpha() < 1  # or many dots would look like one


def test_diagonal_is_where_both_axes_are_the_same():
    ax = plot_scatter({"a": [(0.03, 0.1), (2, 40)]}, "x", "y", diagonal="equal")
    assert ax.get_xlim() == ax.get_ylim()
    diagonal = ax.lines[1]
    ax.figure.draw_without_rendering()
    ends = diagonal.get_transform().transform(diagonal.get_xydata())
    corners = [ax.transAxes.inverted().transform(end) for end in ends]
    assert corners == [pytest.approx((0, 0), abs=1e-6), pytest.approx((1, 1))]
    (text,) = [text.get_window_extent() for text in ax.texts]
    assert text.x0 > ax.bbox.x1  # where no point is
    assert text.y0 < ax.bbox.y1 < text.y1  # at the end of the line
    assert not text.overlaps(ax.get_legend().get_window_extent())


def test_paths_lead_from_a_hollow_first_point_to_each_other_point():
    stars = {"a": [(100, 900), (1, 50), (3, 70)], "alone": [(8, 20)]}
    ax = plot_scatter(stars, "x", "y", paths=True)
    assert [points(line) for line in lines(ax)] == [[(100, 900), (1, 50)], [(100, 900), (3, 70)]]
    first, others, alone = dots(ax)
    assert [points(dot) for dot in (first, others, alone)] == [
        [(100, 900)],
        [(1, 50), (3, 70)],
        [(8, 20)],
    ]
    assert [is_hollow(dot) for dot in (first, others, alone)] == [True, False, False]
    assert first.get_marker() == others.get_marker() != alone.get_marker()
    assert {line.get_color() for line in [first, others, *lines(ax)]} == {first.get_color()}
    assert legend(ax) == ["a", "alone"]
    assert max(line.zorder for line in lines(ax)) < min(dot.zorder for dot in dots(ax))


KIB, MIB = 2**10, 2**20
STEPS = [(4 * KIB, 1.5), (64 * KIB, 5), (MIB, 20), (128 * MIB, 180)]


def test_curves_have_a_color_and_a_shape_of_their_own():
    curves = {f"curve {i}": [(KIB, i + 1), (MIB, 10 * i + 1)] for i in range(7)}
    ax = plot_curves(curves, "GB/s", "bytes touched")
    assert [points(line) for line in ax.lines] == list(curves.values())
    assert len({(line.get_color(), line.get_marker()) for line in ax.lines}) == 7
    assert legend(ax) == list(curves)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("bytes touched", "GB/s")
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert plot_curves({"alone": STEPS}, "ns").get_legend() is None


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (512, 2048, ["512 bytes", "1 KiB", "2 KiB"]),
        (48 * KIB, 300 * KIB, ["64 KiB", "128 KiB", "256 KiB"]),
        (512 * MIB, 2**31, ["512 MiB", "1 GiB", "2 GiB"]),
        (
            4 * KIB,
            128 * MIB,
            ["4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB", "4 MiB", "16 MiB", "64 MiB"],
        ),
    ],
)
def test_sizes_are_marked_at_powers_of_two(low, high, labels):
    assert x_labels(plot_curves({"a": [(low, 1), (high, 2)]}, "ns")) == labels


def test_dotted_lines_mark_the_sizes_that_are_on_the_picture():
    marks = {"L1": 48 * KIB, "L2": 2 * MIB, "L3": 480 * MIB}
    ax = plot_curves({"chase": STEPS}, "ns", marks=marks)
    _, *dotted = ax.lines
    assert [line.get_xdata()[0] for line in dotted] == [48 * KIB, 2 * MIB]
    assert texts(ax) == ["L1", "L2"]


ROWS = {1: (0.5, 5.0), 16: (7.5, 60.0), 64: (26.0, 80.0), 256: (70.0, 90.0), 512: (98.0, 92.0)}
SLOWER_ROWS = {rows: (x, y / 2) for rows, (x, y) in ROWS.items()}
SERIES = {"eager": ROWS, "hybridize": SLOWER_ROWS, "three loops": {2: (7.5, 1.5)}}
SLOPES = {"L2 cache": 80.0, "memory": 10.0}


def test_roof_is_the_lower_of_bandwidth_and_peak():
    ax = plot_roofline(100, SLOPES, SERIES)
    flat, cache, memory = lines(ax)
    assert points(flat) == [(100 / 80, 100), (ax.get_xlim()[1], 100)]  # from the steepest slope on
    for line, rate in ((cache, 80), (memory, 10)):
        (x, y), end = points(line)
        assert (y / x, end) == (pytest.approx(rate), (100 / rate, 100))
        assert x == ax.get_xlim()[0]
    assert (memory.get_color(), cache.get_color()) == (BLACK, GRAY)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    names = ["peak: 100 GFLOP/s", "L2 cache: 80 GB/s", "memory: 10 GB/s"]
    assert sorted(texts(ax)) == sorted([*names, *map(str, ROWS), "2"])


@pytest.mark.parametrize(
    ("peak", "bandwidths", "series"),
    [
        (100, SLOPES, SERIES),
        (100, {"memory": 10}, {"a": {1: (0.1, 0.5)}}),
        (20, {"memory": 400}, {"a": {1: (0.01, 1)}, "b": {1: (500, 0.02)}}),
    ],
)
def test_programs_are_dots_in_their_order_inside_the_roofline(peak, bandwidths, series):
    ax = plot_roofline(peak, bandwidths, series)
    assert [points(line) for line in dots(ax)] == [list(each.values()) for each in series.values()]
    assert legend(ax) == list(series)
    assert len({(line.get_marker(), line.get_color()) for line in dots(ax)}) == len(series)
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    assert all(left < x < right and bottom < y < top for line in dots(ax) for x, y in points(line))
    flat = [text for text in ax.texts if not text.get_rotation()]  # the box of others is large
    assert overlapping(ax.figure, flat) == []


def test_rows_of_a_roofline_stand_once_below_their_lowest_dot():
    written = {text.get_text(): text for text in plot_roofline(100, SLOPES, SERIES).texts}
    assert written["16"].xy == SLOWER_ROWS[16]
    assert written["16"].get_position()[1] < 0  # points


# Rows of what was tried


def test_outcomes_are_cells_in_the_colors_of_their_words():
    outcomes = {
        "a": {"trace": "silently wrong", "script": "right"},
        "b": {"trace": "error", "script": "error"},
        "b, mended": {"trace": "right", "script": "error"},
    }
    ax = plot_outcomes(outcomes, gap_before="b, mended")
    assert texts(ax) == [word for row in outcomes.values() for word in row.values()]
    assert [text.get_color() for text in ax.texts[:3]] == [BLACK, BLACK, GRAY]
    grounds = [to_hex(cell.get_facecolor()) for cell in ax.patches]
    assert grounds[:3] == [RED.lower(), PALE_BLUE.lower(), "#ffffff"]
    for text, cell in zip(ax.texts, ax.patches, strict=True):
        assert cell.get_center() == pytest.approx(text.get_position())
    assert x_labels(ax) == ["trace", "script"]
    assert row_labels(ax) == list(outcomes)
    one, two, mended = ax.get_yticks()
    assert mended - two > two - one > 0
    assert ax.yaxis_inverted()


def test_chunks_are_tables_that_show_what_is_complete_and_what_is_new():
    states = [[[1, 1, 1], [1, 1, 1]], [[1, 3.0, 1], [2.0, 1, 1]], [[3, 3, 1], [2, 1, 1]]]
    axes = plot_chunks(iter(states), complete=3)
    assert [ax.get_title() for ax in axes] == ["start", "step 1", "step 2"]
    _, ax, last = axes
    assert texts(ax) == ["1", "3", "1", "2", "1", "1"]
    assert [text.get_position() for text in ax.texts[:4]] == [(0, 0), (1, 0), (2, 0), (0, 1)]
    grounds = [to_hex(cell.get_facecolor()) for cell in ax.patches]
    assert grounds[:4] == ["#ffffff", BLUE.lower(), "#ffffff", PALE_BLUE.lower()]
    framed = [[cell.get_linewidth() == 2 for cell in one.patches] for one in axes]
    assert framed == [[False] * 6, [False, True, False, True, False, False], [True] + [False] * 5]
    assert row_labels(axes[0]) == ["rank 0", "rank 1"]
    assert last.yaxis_inverted()


def test_measures_have_a_dot_in_each_row_of_each_panel():
    measures = {"C": {"MiB": 0.664, "ms": 1.2}, "Python": {"MiB": 754.4, "ms": 3636.0}}
    size, start = plot_measures(measures, dots=["C"])
    assert (size.get_title(), start.get_title()) == ("MiB", "ms")
    reach = []
    for ax, values in ((size, [0.664, 754.4]), (start, [1.2, 3636.0])):
        assert [points(dot) for dot in ax.lines] == [[(values[0], 0)], [(values[1], 1)]]
        left, right = ax.get_xlim()
        assert left < values[0] < 10 * values[1] < right  # with room for the number
        reach.append(right / left)
        assert [line.get_marker() for line in ax.lines] == ["o", "s"]
        assert [line.get_color() for line in ax.lines] == [BLUE, RED]
        assert (ax.get_xscale(), ax.yaxis_inverted()) == ("log", True)
        assert 1 < len(x_labels(ax)) < 6
    assert reach[0] == pytest.approx(reach[1])  # the same distance is the same factor
    assert (texts(size), texts(start)) == (["0.66", "754"], ["1.2", "3,636"])
    assert row_labels(size) == ["C", "Python"]
