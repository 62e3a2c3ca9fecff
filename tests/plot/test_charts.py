"""The charts: what carries meaning on each, read back from matplotlib's objects."""

from math import inf, isnan, nan

import pytest
from matplotlib.colors import same_color, to_hex
from pictures import legend, overlapping, row_labels, texts

from d2lhybrid.benchmark.verdict import EQUIVALENT, FASTER, INCONCLUSIVE, SLOWER
from d2lhybrid.plot import charts
from d2lhybrid.plot.style import BLACK, BLUE, GRAY, GREEN, ORANGE, PALE_BLUE, RED


def dots(ax):
    """The marks of a picture, without its lines."""
    return [line for line in ax.lines if line.get_marker() not in ("None", "")]


def lines(ax):
    return [line for line in ax.lines if line not in dots(ax)]


def colors(drawn):
    return [line.get_color() for line in drawn]


def hollow(drawn):
    """Which of the marks are hollow, by number."""
    return [i for i, dot in enumerate(drawn) if same_color(dot.get_markerfacecolor(), "white")]


def points(line):
    found = [tuple(map(float, point)) for point in zip(*line.get_data(), strict=True)]
    return [(x, y) for x, y in found if not isnan(x)]


def x_labels(ax):
    ax.figure.draw_without_rendering()
    low, high = ax.get_xlim()
    marks = zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)
    return [label.get_text() for at, label in marks if low <= at <= high]


@pytest.mark.parametrize("ratio", [0.25, 4, 1.001])
def test_ratios_are_dots_in_rows_around_one(ratio):
    ax = charts.plot_ratios({"published": [ratio, 0.99], "the same": [1.01]}, "title")
    one, first, second = ax.lines
    assert list(one.get_xdata()) == [1, 1]
    assert (points(first), points(second)) == (sorted([(ratio, 0), (0.99, 0)]), [(1.01, 1)])
    assert (ax.get_title(), row_labels(ax)) == ("title", ["published", "the same"])
    left, right = ax.get_xlim()
    assert (ax.get_xscale(), left * right) == ("log", pytest.approx(1))
    assert left < ratio < right


def test_many_ratios_are_a_cloud_around_their_median_without_the_farthest():
    rounds = [1 + 0.001 * i for i in range(38)] + [0.01, 50.0]
    ax = charts.plot_ratios({"few": [1.5], "many": rounds}, clouds=True)
    _, few, cloud, middle = map(points, ax.lines)
    assert (few, middle) == ([(1.5, 0)], [(pytest.approx(1.0185), 1)])
    assert {x for x, _ in cloud} == {*sorted(rounds)[4:-4]}
    assert all(0.6 < y < 1.4 for _, y in cloud)
    assert ax.get_xlim()[1] < 2


def test_coins_are_open_below_the_true_median_and_full_above():
    ax = charts.plot_coins([1.3, 1.1, 1.2], 1.15, 1.1, 1.3)
    coins = [(*points(dot), dot.get_markerfacecolor()) for dot in dots(ax)]
    assert coins == [((1.1, 1), "white"), ((1.2, 2), BLUE), ((1.3, 3), BLUE)]
    assert list(lines(ax)[0].get_xdata()) == [1.15, 1.15]
    assert (ax.patches[0].get_x(), ax.patches[0].get_width()) == (1.1, pytest.approx(0.2))


def test_published_speedups_are_dots_over_their_dates():
    ratios = [("2019-07-01", 2.0, "a"), ("2021-01-15", 0.5, ""), ("2021-12-31", 1, "c")]
    ax = charts.plot_published(ratios)
    found = [points(dot)[0] for dot in ax.lines[1:]]
    places = [(2019.5, 2), (2021.04, 0.5), (2022, 1)]
    assert found == [pytest.approx(place, abs=0.01) for place in places]
    assert (colors(ax.lines[1:]), texts(ax)) == ([BLUE, RED, GRAY], ["a", "c"])
    named = [same_color(dot.get_markeredgecolor(), BLACK) for dot in ax.lines[1:]]
    assert named == [True, False, True]


SPEEDUPS = {
    "quick": (2.0, 1.9, 2.2, FASTER),
    "same": (1.01, 0.98, 1.03, INCONCLUSIVE),
    "slow": (0.5, 0.4, 0.6, SLOWER),
}


def test_speedups_are_dots_with_intervals_in_the_colors_of_their_verdicts():
    processes = {"quick": [(2.0, 1.8, 2.1), (2.2, 2.1, 2.3)], "slow": [(0.5, 0.4, 0.6)]}
    ax = charts.plot_speedups(SPEEDUPS, "eager", 1.05, processes)
    (band,) = ax.patches
    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx((1 / 1.05, 1.05))
    thin = [line for line in lines(ax) if same_color(line.get_color(), BLACK)]
    wide = [line for line in lines(ax)[1:] if line not in thin]
    for row, (line, (_, low, high, _)) in enumerate(zip(wide, SPEEDUPS.values(), strict=True)):
        assert points(line) == [(low, row), (high, row)]
    assert colors(wide) == [BLUE, GRAY, RED]
    assert sorted(x for dot in dots(ax) for x, _ in points(dot)) == [0.5, 0.5, 1.01, 2, 2, 2.2]
    assert [[x for x, _ in points(line)] for line in thin] == [[1.8, 2.1], [2.1, 2.3], [0.4, 0.6]]
    assert texts(ax) == ["2.00  faster", "1.01  inconclusive", "0.50  slower"]
    assert "speed-up over eager" in ax.get_xlabel()


def test_interval_without_bounds_reaches_to_the_edge():
    ax = charts.plot_speedups({"a": (1.2, 0.0, inf, INCONCLUSIVE)}, "eager", inf)
    ax.figure.draw_without_rendering()  # a band without bounds can be drawn, too
    assert tuple(ax.lines[1].get_xdata()) == pytest.approx(ax.get_xlim())


def test_speedups_by_size_are_lines_in_bands_with_their_crossings():
    unclear, quick = (1.0, 0.0, inf, INCONCLUSIVE), (2.0, 1.9, 2.1, FASTER)
    speedups = {"b": [(0.5, 0.4, 0.6, SLOWER), unclear, quick], "c": [quick] * 3}
    sizes = [1, 16, 2**20]
    ax = charts.plot_speedups_by_size(sizes, speedups, "eager", [("b", 20.5, "20.5")])
    one, b, _, crossing = ax.lines
    assert list(one.get_ydata()) == [1, 1]
    assert [y for _, y in points(b)] == [0.5, 1, 2]
    assert list(crossing.get_xdata()) == [20.5, 20.5]
    assert (texts(ax), legend(ax)) == (["20.5"], ["b", "c"])
    band, b_dots, *_ = ax.collections
    assert [same_color(face, "white") for face in b_dots.get_facecolors()] == [False, True, False]
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices}
    assert {(1, 0.4), (1, 0.6), (2**20, 1.9), (2**20, 2.1)} <= corners
    assert x_labels(ax) == ["1", "16", "1048576"]


GROUPS = {
    "PyTorch": {"eager": (5e-5, ""), "script": (4e-5, FASTER), "compile": (1e-4, SLOWER)},
    "NumPy": {"three products": (20e-6, "")},
    "A long name": {
        "one": (2e-3, ""),
        "two": (2e-3, EQUIVALENT),
        "a long way": (0.9999e-3, INCONCLUSIVE),
    },
}


def test_grouped_times_are_dots_in_the_colors_of_their_verdicts():
    ax = charts.plot_grouped_times(GROUPS, "time per call")
    assert [points(dot)[0][0] for dot in dots(ax)] == [5e-5, 4e-5, 1e-4, 2e-5, 2e-3, 2e-3, 9.999e-4]
    assert colors(dots(ax)) == [BLACK, BLUE, RED, BLACK, BLACK, GREEN, GRAY]
    assert hollow(dots(ax)) == [0, 4]
    assert row_labels(ax) == [way for group in GROUPS.values() for way in group]
    rows = list(ax.get_yticks())
    assert [points(dot)[0][1] for dot in dots(ax)] == rows == sorted(rows)
    beside = [text.get_text() for text in ax.texts if text.get_fontweight() != "bold"]
    assert beside == ["50.0 µs", "40.0 µs", "100 µs", "20.0 µs", "2.00 ms", "2.00 ms", "1.00 ms"]
    assert all(label.endswith(("µs", "ms")) for label in x_labels(ax))
    assert legend(ax) == ["eager", FASTER, SLOWER, EQUIVALENT, INCONCLUSIVE]
    dotted = [points(line)[0] for line in lines(ax) if line.get_linestyle() == ":"]
    assert dotted == [(5e-5, rows[0]), (2e-3, rows[4])]  # from the eager one of each group


def test_grouped_times_have_names_lines_between_and_a_legend_of_what_occurs():
    groups = GROUPS | {f"group {i}": GROUPS["A long name"] for i in range(5)}
    ax = charts.plot_grouped_times(groups, "time")
    names = [text for text in ax.texts if text.get_fontweight() == "bold"]
    assert [text.get_text() for text in names] == list(groups)
    assert overlapping(ax.figure, [*ax.texts, *ax.get_yticklabels()]) == []
    assert charts.plot_grouped_times({"a": {"alone": (1.0, "")}}, "time").get_legend() is None


def test_shares_are_pieces_of_a_bar_with_a_line_at_the_limit():
    shares = {"a": {"work": 1e-5, "guard": 2e-5}, "b": {"work": 3e-5, "guard": 0}}
    ax = charts.plot_stacked_bars(shares, 5e-6, "the least")
    pieces = [(bar.get_x(), bar.get_width()) for bar in ax.patches]
    assert pieces == [pytest.approx(piece) for piece in [(0, 10), (0, 30), (10, 20), (30, 0)]]
    assert list(ax.lines[0].get_xdata()) == pytest.approx([5, 5])
    assert (legend(ax), ax.get_xlabel()) == (["the least", "work", "guard"], "µs per call")
    other = charts.plot_stacked_bars(shares, xlabel="MiB")  # which are no times
    assert (len(other.lines), other.get_xlabel(), other.patches[0].get_width()) == (0, "MiB", 1e-5)


def test_blocks_over_time_start_at_zero_and_have_the_unit_of_most():
    blocks = {"alone": ([5.0, 5.1], [2e-6, 3e-6]), "busy": ([5.2, 5.3], [4e-6, 1e-3])}
    ax = charts.plot_over_time(blocks | {"again": ([5.4], [2e-6])})
    found = [at for line in ax.lines for at in points(line)]
    expected = [(0, 2), (0.1, 3), (0.2, 4), (0.3, 1000), (0.4, 2)]
    assert found == [pytest.approx(at) for at in expected]
    assert (ax.get_ylabel(), ax.get_yscale()) == ("µs per call", "log")


def test_distribution_leaves_out_the_longest_but_not_from_the_mean():
    ax = charts.plot_distribution([1e-6] * 100 + [2e-6] * 98 + [1.0] * 2)
    assert sum(bar.get_height() for bar in ax.patches) == 190
    middles = [line.get_xdata()[0] for line in ax.lines]
    assert middles == pytest.approx([1.5, 10001.48])
    assert (legend(ax), ax.get_xscale()) == (["median", "mean"], "log")


def test_break_even_marks_the_crossings_and_reaches_beyond_the_last():
    costs = {"plain": (0, 3e-3), "a": (0.1, 2e-3), "b": (0.5, 1e-3), "c": (1, 4e-3)}
    ax = charts.plot_break_even(costs)
    assert (legend(ax), ax.get_ylabel()) == (list(costs), "total time in s")
    ends = [(0, 0), (500, 1.5)], [(0, 0.1), (500, 1.1)], [(0, 0.5), (500, 1)], [(0, 1), (500, 3)]
    assert [points(line) for line in lines(ax)] == [list(map(pytest.approx, e)) for e in ends]
    assert [points(dot) for dot in dots(ax)] == [[pytest.approx((100, 0.3))], [(250, 0.75)]]
    assert colors(dots(ax)) == colors(lines(ax)[1:3])
    never = charts.plot_break_even({"plain": (0, 1e-6), "dear": (5e-3, 2e-6)})
    assert (len(never.lines), never.get_xlim()) == (2, (0, 10000))


def test_latencies_are_marks_in_the_rows_that_are_asked_for():
    here, book = {"call": 1.3e-7, "Python": 0.012, "no row": 1e3}, {"disk": 5e-3, "call": 1e-7}
    ax = charts.plot_latencies({"here": here, "the book": book}, ["call", "disk", "Python", "no"])
    assert row_labels(ax) == ["call", "disk", "Python", "no"]
    marks = [[(1.3e-7, 0), (0.012, 2)], [(1e-7, 0), (5e-3, 1)]]
    assert [points(dot) for dot in dots(ax)] == marks
    assert (legend(ax), colors(dots(ax))) == (["here", "the book"], [BLUE, ORANGE])
    assert [dot.get_markerfacecolor() for dot in dots(ax)] == [BLUE, "none"]


def test_points_have_a_color_and_a_shape_of_their_label():
    clouds = {f"label {i}": [(i + 1, 10 * i + 1)] * (i + 1) for i in range(7)}
    ax = charts.plot_scatter(clouds, "calls", "microseconds")
    assert [points(line) for line in ax.lines] == list(clouds.values())
    assert len({*colors(ax.lines)}) == len({line.get_marker() for line in ax.lines}) == 7
    assert (hollow(ax.lines), legend(ax)) == ([], list(clouds))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("calls", "microseconds")


def test_diagonal_is_where_both_axes_are_the_same():
    ax = charts.plot_scatter({"a": [(0.03, 0.1), (2, 40)]}, "x", "y", diagonal="equal")
    assert ax.get_xlim() == ax.get_ylim()
    assert (texts(ax), ax.lines[1].get_xdata()[0]) == (["equal"], ax.lines[1].get_ydata()[0])
    assert overlapping(ax.figure, [*ax.texts, *ax.get_legend().get_texts()]) == []


def test_paths_lead_from_a_hollow_first_point_to_each_other_point():
    stars = {"a": [(100, 900), (1, 50), (3, 70)], "alone": [(8, 20)]}
    ax = charts.plot_scatter(stars, "x", "y", paths=True)
    assert [points(line) for line in lines(ax)] == [[(100, 900), (1, 50)], [(100, 900), (3, 70)]]
    assert [points(dot) for dot in dots(ax)] == [[(100, 900)], [(1, 50), (3, 70)], [(8, 20)]]
    assert hollow(dots(ax)) == [0]
    first, others, alone = dots(ax)
    assert {*colors([first, others, *lines(ax)])} == {first.get_color()} != {alone.get_color()}
    assert legend(ax) == ["a", "alone"]


def test_steps_are_lines_from_0_on_that_end_where_they_diverge():
    ax = charts.plot_steps({"a": [1, -1, 0.5], "b": [1, inf, nan], "c": [nan] * 2}, "the loss")
    *curves, zero = ax.lines
    assert [list(line.get_xdata()) for line in curves] == [[0, 1, 2], [0, 1, 2], [0, 1]]
    assert (list(curves[0].get_ydata()), list(zero.get_ydata())) == ([1, -1, 0.5], [0, 0])
    assert (ax.get_xlabel(), ax.get_ylabel(), legend(ax)) == ("step", "the loss", ["a", "b", "c"])
    assert len(charts.plot_steps({"a": [1, 0]}, "weight").lines) == 1  # no line at 0 to be crossed
    (marks,) = charts.plot_steps({"a": [1] * 2000}, "weight").lines
    assert marks.get_markevery() == 67


KIB, MIB = 2**10, 2**20


def test_curves_have_a_color_of_their_own_and_known_sizes_are_marked():
    curves = {f"curve {i}": [(4 * KIB, i + 1), (64 * MIB, 10 * i + 1)] for i in range(7)}
    marks = {"L1": 48 * KIB, "L2": 2 * MIB, "L3": 480 * MIB}
    ax = charts.plot_curves(curves, "GB/s", "bytes touched", marks)
    assert [points(line) for line in ax.lines[:7]] == list(curves.values())
    assert len({(line.get_color(), line.get_marker()) for line in ax.lines[:7]}) == 7
    assert [line.get_xdata()[0] for line in ax.lines[7:]] == [48 * KIB, 2 * MIB]
    assert (legend(ax), texts(ax)) == (list(curves), ["L1", "L2"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("bytes touched", "GB/s")
    assert charts.plot_curves({"alone": curves["curve 0"]}, "ns").get_legend() is None


def test_sizes_are_marked_at_powers_of_two():
    for low, high, labels in [
        (512, 2 * KIB, "512 bytes,1 KiB,2 KiB"),
        (48 * KIB, 300 * KIB, "64 KiB,128 KiB,256 KiB"),
        (4 * KIB, 128 * MIB, "4 KiB,16 KiB,64 KiB,256 KiB,1 MiB,4 MiB,16 MiB,64 MiB"),
    ]:
        assert x_labels(charts.plot_curves({"a": [(low, 1), (high, 2)]}, "ns")) == labels.split(",")


ROWS = {1: (0.5, 5.0), 16: (7.5, 60.0), 64: (26.0, 80.0), 256: (70.0, 90.0), 512: (98.0, 92.0)}
LOWER = {rows: (x, y / 2) for rows, (x, y) in ROWS.items()}


@pytest.mark.parametrize(
    "series", [{"eager": ROWS, "ours": LOWER, "loops": {2: (7.5, 1.5)}}, {"a": {1: (500, 0.02)}}]
)
def test_roofline_is_the_lower_of_bandwidth_and_peak_with_dots_for_programs(series):
    ax = charts.plot_roofline(100, {"cache": 80.0, "memory": 10.0}, series)
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    flat, *slopes = [points(line) for line in lines(ax)]
    assert flat == [(100 / 80, 100), (right, 100)]  # from where the steepest slope arrives
    assert slopes == [[(left, pytest.approx(r * left)), (100 / r, 100)] for r in (80, 10)]
    assert colors(lines(ax)) == [BLACK, GRAY, BLACK]
    assert [points(line) for line in dots(ax)] == [list(each.values()) for each in series.values()]
    assert all(left < x < right and bottom < y < top for line in dots(ax) for x, y in points(line))
    assert legend(ax) == list(series)
    names = ["peak: 100 GFLOP/s", "cache: 80 GB/s", "memory: 10 GB/s"]
    assert sorted(texts(ax)) == sorted(
        {*names, *(str(n) for line in series.values() for n in line)}
    )
    upright = [text for text in ax.texts if not text.get_rotation()]  # the others' boxes are large
    assert overlapping(ax.figure, upright) == []
    below = {text.get_text(): (text.xy, text.get_position()[1] < 0) for text in upright}
    assert "16" not in below or below["16"] == (LOWER[16], True)  # the lowest of its dots


def test_outcomes_are_cells_in_the_colors_of_their_words():
    wrong, error, right = {"x": "silently wrong", "y": "right"}, {"x": "error"}, {"x": "right"}
    outcomes = {"a": wrong, "b": error | {"y": "error"}, "mended": right | {"y": "error"}}
    ax = charts.plot_outcomes(outcomes, gap_before="mended")
    assert texts(ax) == [word for row in outcomes.values() for word in row.values()]
    assert [text.get_color() for text in ax.texts[:3]] == [BLACK, BLACK, GRAY]
    grounds = [to_hex(cell.get_facecolor()) for cell in ax.patches]
    assert grounds[:3] == [RED.lower(), PALE_BLUE.lower(), "#ffffff"]
    assert (x_labels(ax), row_labels(ax)) == (["x", "y"], list(outcomes))
    assert list(ax.get_yticks()) == [0, 1, 2.5]  # a gap before the third


def test_chunks_are_tables_that_show_what_is_complete_and_what_is_new():
    states = [[[1, 1, 1], [1, 1, 1]], [[1, 3.0, 1], [2.0, 1, 1]], [[3, 3, 1], [2, 1, 1]]]
    axes = charts.plot_chunk_ownership(iter(states), complete=3)
    assert [ax.get_title() for ax in axes] == ["start", "step 1", "step 2"]
    assert texts(axes[1]) == ["1", "3", "1", "2", "1", "1"]
    grounds = [to_hex(cell.get_facecolor()) for cell in axes[1].patches]
    assert grounds[:4] == ["#ffffff", BLUE.lower(), "#ffffff", PALE_BLUE.lower()]
    framed = [[i for i, cell in enumerate(ax.patches) if cell.get_linewidth() == 2] for ax in axes]
    assert framed == [[], [1, 3], [0]]
    assert row_labels(axes[0]) == ["rank 0", "rank 1"]


def test_measures_have_a_dot_in_each_row_of_each_panel():
    measures = {"C": {"MiB": 0.664, "ms": 1.2}, "Python": {"MiB": 754.4, "ms": 3636.0}}
    size, start = charts.plot_bar_panels(measures, dots=["C"])
    assert (size.get_title(), start.get_title()) == ("MiB", "ms")
    assert [points(dot) for dot in size.lines] == [[(0.664, 0)], [(754.4, 1)]]
    assert colors(start.lines) == [BLUE, RED]
    assert (texts(size), texts(start)) == (["0.66", "754"], ["1.2", "3,636"])
    (left, right), (low, high) = size.get_xlim(), start.get_xlim()
    assert right / left == pytest.approx(high / low)  # the same distance is the same factor
    assert (row_labels(size), size.get_xscale()) == (["C", "Python"], "log")


def test_a_measure_that_is_not_known_leaves_its_place_empty():
    ms, lines = charts.plot_bar_panels({"a": {"ms": 3, "lines": nan}, "b": {"ms": 4, "lines": 6}})
    assert [points(dot) for dot in lines.lines] == [[(6, 1)]]
    assert (texts(ms), texts(lines)) == (["3", "4"], ["6"])
