"""The pictures of ratios: what is on them, read back from matplotlib's objects."""

from math import inf, log

import pytest
from matplotlib.colors import same_color
from pictures import legend, row_labels, texts

from d2lhybrid.plot.colours import BLUE, GREY, RED
from d2lhybrid.plot.speedups import (
    plot_pairs,
    plot_published,
    plot_ratios,
    plot_speedups,
    plot_speedups_by_size,
)

UNCLEAR = "no clear difference"


def test_ratios_are_dots_around_the_line_at_one():
    ax = plot_ratios({"published": [1.89, 0.88], "the same": [1.01]}, "title")
    assert ax.get_title() == "title"
    line, first, second = ax.lines
    assert list(line.get_xdata()) == [1, 1]
    assert list(first.get_xdata()) == [1.89, 0.88]
    assert list(first.get_ydata()) == [0, 0]
    assert list(second.get_xdata()) == [1.01]
    assert list(second.get_ydata()) == [1]
    assert first.get_color() != second.get_color()
    assert row_labels(ax) == ["published", "the same"]
    assert ax.yaxis_inverted()
    assert ax.get_xscale() == "log"
    marks = [label.get_text() for label in ax.get_xticklabels()]
    assert marks == ["0.5", "0.67", "0.8", "1", "1.25", "1.5", "2"]
    left, right = ax.get_xlim()
    assert left * right == pytest.approx(1)
    assert right > 1.89


def test_the_axis_of_ratios_reaches_as_far_down_as_up():
    left, right = plot_ratios({"a": [0.25]}).get_xlim()
    assert left < 0.25
    assert right > 4


def test_pairs_show_every_round_and_the_band():
    ratios = [1.0, 1.1, 0.9, 1.2] * 10 + [50.0, 0.02]
    ax = plot_pairs(ratios, 0.95, 1.05)
    dots, above, below, one = ax.lines
    assert list(one.get_ydata()) == [1, 1]
    assert list(dots.get_xdata()) == list(range(1, 43))
    assert list(dots.get_ydata()) == ratios
    bottom, top = ax.get_ylim()
    assert (list(above.get_xdata()), list(above.get_ydata())) == ([41], [top])
    assert (list(below.get_xdata()), list(below.get_ydata())) == ([42], [bottom])
    (band,) = ax.patches
    assert (band.get_y(), band.get_height()) == pytest.approx((0.95, 0.1))
    assert ax.get_yscale() == "log"
    assert 0.8 < bottom < 0.9
    assert 1.2 < top < 1.3


def test_the_band_of_pairs_can_be_seen():
    low, high = 0.9995, 1.0005
    for spread in (1.001, 1.05, 10.0):
        ratios = [spread**k for k in (-3, -2, -1, 0, 1, 2, 3)] * 20
        bottom, top = plot_pairs(ratios, low, high).get_ylim()
        assert log(high / low) > 0.05 * log(top / bottom), spread


def test_pairs_far_from_one_still_show_it():
    ax = plot_pairs([3.0, 3.1, 2.9] * 10, 2.95, 3.05)
    bottom, top = ax.get_ylim()
    assert bottom < 1
    assert top > 3.05
    assert "1" in row_labels(ax)
    assert "2" in row_labels(ax)


def test_published_speedups_are_dots_over_their_dates():
    ax = plot_published([("2019-07-01", 2.0, "a"), ("2021-01-15", 0.5, ""), ("2021-12-31", 1, "c")])
    one, *dots = ax.lines
    assert list(one.get_ydata()) == [1, 1]
    assert [dot.get_xdata()[0] for dot in dots] == pytest.approx([2019.5, 2021.04, 2022], abs=0.01)
    assert [dot.get_ydata()[0] for dot in dots] == [2, 0.5, 1]
    assert [dot.get_color() for dot in dots] == [BLUE, RED, GREY]
    assert texts(ax) == ["a", "c"]
    assert ax.get_yscale() == "log"
    ax.figure.draw_without_rendering()
    years = [label.get_text() for label in ax.get_xticklabels()]
    assert {"2020", "2021"} <= set(years)


def test_speedups_are_dots_with_their_intervals_around_a_grey_band():
    speedups = {
        "quick": (2.0, 1.9, 2.2, "faster"),
        "same": (1.01, 0.98, 1.03, UNCLEAR),
        "slow": (0.5, 0.4, 0.6, "slower"),
    }
    ax = plot_speedups(speedups, "eager", 1.05)
    (band,) = ax.patches
    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx((1 / 1.05, 1.05))
    one, *lines = ax.lines
    assert list(one.get_xdata()) == [1, 1]
    for row, (speedup, low, high, _) in enumerate(speedups.values()):
        interval, dot = lines[2 * row : 2 * row + 2]
        assert (list(interval.get_xdata()), list(interval.get_ydata())) == ([low, high], [row, row])
        assert (list(dot.get_xdata()), list(dot.get_ydata())) == ([speedup], [row])
    assert [line.get_color() for line in lines] == [BLUE, BLUE, GREY, GREY, RED, RED]
    assert texts(ax) == ["2.00  faster", "1.01  no clear difference", "0.50  slower"]
    assert row_labels(ax) == list(speedups)
    assert ax.yaxis_inverted()
    assert "speed-up over eager" in ax.get_xlabel()
    left, right = ax.get_xlim()
    assert left * right == pytest.approx(1)
    assert right > 1 / 0.4


def test_speedups_without_bounds_reach_to_the_edge():
    ax = plot_speedups({"a": (1.2, 0.0, inf, UNCLEAR)}, "eager", inf)
    ax.figure.draw_without_rendering()
    assert tuple(ax.lines[1].get_xdata()) == pytest.approx(ax.get_xlim())
    (band,) = ax.patches
    left, right = ax.get_xlim()
    assert 0 < band.get_x() < left  # on a logarithmic axis there is neither 0 nor infinity
    assert right < band.get_x() + band.get_width() < inf


def test_speedups_by_size_are_lines_in_bands_with_their_crossings():
    speedups = {
        "b": [(0.5, 0.4, 0.6, "slower"), (1.0, 0.9, 1.1, UNCLEAR), (2.0, 1.9, 2.1, "faster")],
        "c": [(3.0, 2.9, 3.1, "faster")] * 3,
    }
    sizes = [1, 16, 2**20]
    ax = plot_speedups_by_size(sizes, speedups, "eager", [("b", 20.5, "20.5")])
    one, b, c, crossing = ax.lines
    assert list(one.get_ydata()) == [1, 1]
    for line, values in ((b, [0.5, 1, 2]), (c, [3, 3, 3])):
        assert (list(line.get_xdata()), list(line.get_ydata())) == (sizes, values)
    assert list(crossing.get_xdata()) == [20.5, 20.5]
    assert crossing.get_color() == b.get_color() != c.get_color()
    assert texts(ax) == ["20.5"]
    assert legend(ax) == ["b", "c"]
    _, b_dots, _, c_dots = ax.collections
    assert [same_color(face, "white") for face in b_dots.get_facecolors()] == [False, True, False]
    assert not any(same_color(face, "white") for face in c_dots.get_facecolors())
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "16", "1048576"]
    assert ax.get_ylabel() == "speed-up over eager"
    bottom, top = ax.get_ylim()
    assert bottom * top == pytest.approx(1)
    assert top > 3.1


def test_the_bands_of_speedups_by_size_hold_the_intervals():
    speedups = {"b": [(0.5, 0.4, 0.6, "slower"), (1.0, 0.0, inf, UNCLEAR)]}
    ax = plot_speedups_by_size([1, 2], speedups, "eager")
    ax.figure.draw_without_rendering()  # an interval without bounds can be drawn too
    corners = {tuple(corner) for corner in ax.collections[0].get_paths()[0].vertices}
    bottom, top = ax.get_ylim()
    assert {(1, 0.4), (1, 0.6), (2, bottom), (2, top)} <= corners
    assert len(ax.lines) == 2  # no crossing
