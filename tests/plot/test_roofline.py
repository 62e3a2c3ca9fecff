"""The roofline: where its roof and its dots are, read back from matplotlib's objects."""

from math import log10

import pytest
from matplotlib.colors import same_color
from pictures import cut_off, legend, overlapping, place_of, texts

from d2lhybrid.plot.colours import BLACK, GREY
from d2lhybrid.plot.roofline import plot_roofline

ROWS = {1: (0.5, 5.0), 16: (7.5, 60.0), 64: (26.0, 80.0), 256: (70.0, 90.0), 512: (98.0, 92.0)}
SLOWER = {rows: (x, y / 2) for rows, (x, y) in ROWS.items()}
SLOPES = {"L2 cache": 80.0, "memory": 10.0}
SERIES = {"eager": ROWS, "hybridize": SLOWER, "three loops": {2: (7.5, 1.5)}}


def lines(ax):
    return [line for line in ax.lines if line.get_marker() == "None"]


def dots(ax):
    return [line for line in ax.lines if line.get_marker() != "None"]


def test_the_roof_is_the_lower_of_bandwidth_and_peak():
    flat, cache, memory = lines(plot_roofline(100, SLOPES, SERIES))
    assert list(flat.get_ydata()) == [100, 100]
    assert flat.get_xdata()[0] == 100 / 80  # where the steepest slope arrives
    for line, rate in ((cache, 80), (memory, 10)):
        xs, ys = line.get_data()
        assert [y / x for x, y in zip(xs, ys, strict=True)] == pytest.approx([rate, rate])
        assert (xs[-1], ys[-1]) == (100 / rate, 100)
    assert same_color(memory.get_color(), BLACK)
    assert same_color(cache.get_color(), GREY)


def test_the_roof_reaches_both_edges_of_the_picture():
    ax = plot_roofline(100, SLOPES, SERIES)
    flat, cache, memory = lines(ax)
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    assert flat.get_xdata()[1] > right
    assert memory.get_xdata()[0] < left
    assert cache.get_xdata()[0] < left
    assert bottom < 1.5 < 100 < top
    assert left < 0.5 < 98 < right


def test_programs_are_dots_joined_in_their_order():
    ax = plot_roofline(100, SLOPES, SERIES)
    found = [list(zip(*line.get_data(), strict=True)) for line in dots(ax)]
    assert found == [list(ROWS.values()), list(SLOWER.values()), [(7.5, 1.5)]]
    assert legend(ax) == list(SERIES)
    assert len({line.get_marker() for line in dots(ax)}) == 3
    assert len({line.get_color() for line in dots(ax)}) == 3


def test_texts_stand_once_below_the_lowest_dot():
    ax = plot_roofline(100, SLOPES, SERIES)
    names = ["peak: 100 GFLOP/s", "L2 cache: 80 GB/s", "memory: 10 GB/s"]
    assert sorted(texts(ax)) == sorted([*names, *map(str, ROWS), "2"])
    below = {text.get_text(): text.xy for text in ax.texts}
    assert below["16"] == SLOWER[16]
    assert place_of(ax, "16")[1] < 0  # points


def test_a_roofline_can_be_read():
    ax = plot_roofline(100, SLOPES, SERIES)
    along = {text.get_text() for text in ax.texts if text.get_rotation()}  # their boxes are large
    assert along == {"L2 cache: 80 GB/s", "memory: 10 GB/s"}
    assert [pair for pair in overlapping(ax) if not {*pair} <= along] == []
    assert cut_off(ax) == []
    key = ax.get_legend().get_window_extent()
    assert ax.bbox.y1 <= key.y0 < key.y1 <= ax.figure.bbox.y1


def test_a_power_of_ten_has_one_length_and_the_picture_one_shape():
    for peak, bandwidths, points in [
        (100, {"memory": 10}, {"a": {1: (0.1, 0.5)}}),
        (3000, {"L1": 900, "L2": 300, "memory": 20}, SERIES),
        (20, {"memory": 400}, {"a": {1: (0.01, 1)}, "b": {1: (500, 0.02)}}),
        (1, {"memory": 1}, {"a": {1: (1, 1)}}),
    ]:
        ax = plot_roofline(peak, bandwidths, points)
        assert ax.get_aspect() == 1, peak
        assert ax.get_xscale() == ax.get_yscale() == "log", peak
        wide, high = (log10(end / start) for start, end in (ax.get_xlim(), ax.get_ylim()))
        assert wide / high == pytest.approx(1.75), peak
        assert cut_off(ax) == [], peak
        ax.figure.draw_without_rendering()
        assert ax.bbox.width > 0.7 * ax.figure.bbox.width, peak
        assert sum(bool(text.get_text()) for text in ax.get_xticklabels()) > 1, peak
