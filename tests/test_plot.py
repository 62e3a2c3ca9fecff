"""The pictures: what is on them, read back from matplotlib's objects, and where it stands."""

import matplotlib
import networkx
import pytest
from matplotlib.patches import BoxStyle

matplotlib.use("agg")

from d2lhybrid import (
    plot,
    plot_data_flow,
    plot_ratios,
    plot_roads,
    plot_shares,
    plot_stages,
    plot_times,
    trace,
)
from d2lhybrid.program import evoke_, fold_constants, inline


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plot.plt.close("all")


def texts(ax):
    return [text.get_text() for text in ax.texts if text.get_text()]


def place_of(ax, label, which=0):
    return [text.get_position() for text in ax.texts if text.get_text() == label][which]


def arrows(ax):
    found = [text for text in ax.texts if getattr(text, "arrow_patch", None)]
    return {(arrow.xyann, arrow.xy) for arrow in found}


def test_a_figure_is_white_and_of_the_size_asked_for():
    figure = plot.new_axes(6, 3).figure
    assert figure.get_facecolor() == (1, 1, 1, 1)
    assert tuple(figure.get_size_inches()) == (6, 3)
    assert figure.dpi == 72


def test_notebooks_are_asked_for_twice_the_density(monkeypatch):
    asked = []
    monkeypatch.setattr("matplotlib_inline.backend_inline.set_matplotlib_formats", asked.append)
    plot.new_axes(1, 1)
    assert asked == ["retina"]


def test_data_flow_has_every_value_every_name_and_every_arrow():
    ax = plot_data_flow(inline(evoke_()))
    assert sorted(texts(ax)) == sorted([*"1234", "+", "+", "+", "print", *"efg"])
    places = {"1": (0, 0), "2": (1, 0), "3": (2, 0), "4": (3, 0), "print": (1.5, -3)}
    assert {label: place_of(ax, label) for label in places} == places
    assert arrows(ax) == {
        ((0, 0), (0.5, -1)),
        ((1, 0), (0.5, -1)),
        ((2, 0), (2.5, -1)),
        ((3, 0), (2.5, -1)),
        ((0.5, -1), (1.5, -2)),
        ((2.5, -1), (1.5, -2)),
        ((1.5, -2), (1.5, -3)),
    }
    left, right = ax.get_xlim()
    bottom, top = ax.get_ylim()
    assert left < 0
    assert right > 3
    assert bottom < -3
    assert top > 0


def test_data_flow_tells_inputs_from_operations_by_shape():
    boxes = {
        text.get_text(): type(text.get_bbox_patch().get_boxstyle())
        for text in plot_data_flow("print(1)").texts
        if text.get_bbox_patch()
    }
    assert boxes == {"1": BoxStyle.Circle, "print": BoxStyle.Round}


def test_several_data_flows_stand_side_by_side_with_their_titles():
    ax = plot_data_flow({"long": "e = 1 + 2\nprint(e)", "short": "print(3)"})
    assert {"long", "short"} < set(texts(ax))
    assert place_of(ax, "1") == (0, 0)
    assert place_of(ax, "3") == (3, 0)
    assert place_of(ax, "long")[0] == 0.5
    assert place_of(ax, "short")[0] == 3
    assert ax.get_xlim()[1] > 3
    assert ax.get_ylim()[1] > place_of(ax, "long")[1]


def test_values_of_the_same_depth_do_not_cover_each_other():
    places = plot._places(plot.data_flow("x = 1\ny = x + x\nz = x * x\nw = x - x\nprint(y, z, w)"))
    middle = [x for x, y in places.values() if y == -1]
    assert sorted(middle) == [0, 1, 2]
    assert plot_data_flow(fold_constants(inline(evoke_()))).get_xlim()[1] > 3


def test_a_graph_can_be_given_as_it_is():
    flow = networkx.DiGraph()
    flow.add_node("x", label="x", kind="input", name="")
    flow.add_node("y", label="relu", kind="operation", name="h")
    flow.add_edge("x", "y")
    ax = plot_data_flow(flow)
    assert sorted(texts(ax)) == ["h", "relu", "x"]
    assert arrows(ax) == {((0, 0), (0, -1))}


def test_stages_follow_each_other_from_left_to_right():
    ax = plot_stages({"define": "a\nlonger line", "compile": "b", "run": "10"})
    assert texts(ax) == ["define", "a\nlonger line", "compile", "b", "run", "10"]
    lefts = [place_of(ax, title)[0] for title in ("define", "compile", "run")]
    assert lefts == [0, 21, 38]  # as wide as the longest line and 3, and a gap of 7
    assert [place_of(ax, text)[0] for text in ("a\nlonger line", "b", "10")] == [1, 22, 39]
    assert arrows(ax) == {((14, -0.5), (21, -0.5)), ((31, -0.5), (38, -0.5))}
    assert ax.get_xlim() == (-1, 45)
    assert ax.get_ylim() == (-2.8, 3)
    boxes = [text for text in ax.texts if text.get_bbox_patch()]
    assert len(boxes) == 3
    assert {(box.get_fontfamily()[0], box.get_va()) for box in boxes} == {("monospace", "top")}


@pytest.mark.parametrize(
    ("times", "unit", "lengths"),
    [
        ({"a": 2.0, "b": 0.5}, "time in s", [2.0, 0.5]),
        ({"a": 0.002, "b": 0.5e-6}, "time in ms", [2.0, 0.0005]),
        ({"a": 2e-6, "b": 0.5e-6}, "time in \u00b5s", [2.0, 0.5]),
        ({"a": 2e-9, "b": 0.5e-9}, "time in ns", [2.0, 0.5]),
        ({"a": 2e-10}, "time in ns", [0.2]),
    ],
)
def test_times_are_bars_from_the_top(times, unit, lengths):
    ax = plot_times(times, "title")
    assert ax.get_xlabel() == unit
    assert ax.get_title() == "title"
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(lengths)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(times)
    assert ax.yaxis_inverted()
    assert [side for side, spine in ax.spines.items() if spine.get_visible()] == ["bottom"]


def test_shares_are_pieces_of_a_bar_behind_a_line_for_the_limit():
    shares = {"a": {"work": 1e-5, "guard": 2e-5}, "b": {"work": 3e-5, "guard": 0}}
    ax = plot_shares(shares, 5e-6, "the least")
    pieces = [(bar.get_x(), bar.get_width()) for bar in ax.patches]
    expected = [(0, 10), (0, 30), (10, 20), (30, 0)]
    assert [pytest.approx(piece) for piece in pieces] == expected
    assert list(ax.lines[0].get_xdata()) == pytest.approx([5, 5])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "the least",
        "work",
        "guard",
    ]
    assert ax.get_xlabel() == "\u00b5s a call"
    assert not plot_shares(shares).lines


def test_roads_have_a_dot_in_each_row_of_each_panel():
    roads = {"C": {"MiB": 0.664, "ms": 1.2}, "Python": {"MiB": 754.4, "ms": 3636.0}}
    size, start = plot_roads(roads, apart=["C"])
    assert (size.get_title(), start.get_title()) == ("MiB", "ms")
    for ax, values in ((size, [0.664, 754.4]), (start, [1.2, 3636.0])):
        assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines] == [
            (values[0], 0),
            (values[1], 1),
        ]
        assert ax.get_xscale() == "log"
        left, right = ax.get_xlim()
        assert left < values[0] < 10 * values[1] < right  # with room for the figure
        one, other = ax.lines
        assert one.get_color() != other.get_color()
        assert one.get_marker() != other.get_marker()
    assert texts(size) == ["0.66", "754"]
    assert texts(start) == ["1.2", "3,636"]
    assert [label.get_text() for label in size.get_yticklabels()] == ["C", "Python"]
    assert size.yaxis_inverted()
    assert len(size.figure.axes) == 2


def test_the_marks_of_roads_do_not_run_into_each_other():
    (ax,) = plot_roads({"a": {"ms": 1.0}, "b": {"ms": 5000.0}})
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "100", "10000"]


def test_a_graph_is_drawn_as_its_data_flow():
    ax = plot_data_flow(trace(lambda a, b: (a + b) * a, 1, 2))
    assert texts(ax) == ["a", "b", "+", "v1", "*", "v2"]


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
    assert [label.get_text() for label in ax.get_yticklabels()] == ["published", "the same"]
    assert ax.yaxis_inverted()
    assert ax.get_xscale() == "log"
    assert [label.get_text() for label in ax.get_xticklabels()] == [
        "0.5",
        "0.67",
        "0.8",
        "1",
        "1.25",
        "1.5",
        "2",
    ]
    left, right = ax.get_xlim()
    assert left * right == pytest.approx(1)
    assert right > 1.89


def test_the_axis_of_ratios_reaches_as_far_down_as_up():
    left, right = plot_ratios({"a": [0.25]}).get_xlim()
    assert left < 0.25
    assert right > 4


def test_blocks_over_time_start_at_zero_and_have_the_unit_of_most():
    watched = {
        "alone": ([5.0, 5.1], [2e-6, 3e-6]),
        "busy": ([5.2, 5.3], [4e-6, 1e-3]),
        "again": ([5.4], [2e-6]),
    }
    ax = plot.plot_over_time(watched)
    lines = [(list(line.get_xdata()), list(line.get_ydata())) for line in ax.lines]
    assert [x for x, _ in lines] == [
        pytest.approx([0, 0.1]),
        pytest.approx([0.2, 0.3]),
        pytest.approx([0.4]),
    ]
    assert [y for _, y in lines] == [
        pytest.approx([2, 3]),
        pytest.approx([4, 1000]),
        pytest.approx([2]),
    ]
    assert texts(ax) == ["alone", "busy", "again"]
    assert place_of(ax, "busy")[0] == pytest.approx(0.25)
    colours = [line.get_color() for line in ax.lines]
    assert colours[0] == colours[2] != colours[1]
    assert ax.get_ylabel() == "\u00b5s a call"
    assert ax.get_yscale() == "log"
    assert ax.spines["left"].get_visible()
    assert not ax.spines["top"].get_visible()


def test_distribution_leaves_out_the_longest_but_not_from_the_mean():
    ax = plot.plot_distribution([1e-6] * 100 + [2e-6] * 98 + [1.0] * 2)
    assert sum(bar.get_height() for bar in ax.patches) == 198
    median_line, mean_line = ax.lines
    assert list(median_line.get_xdata()) == pytest.approx([1.5, 1.5])
    assert list(mean_line.get_xdata()) == pytest.approx([10001.48, 10001.48])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["median", "mean"]
    assert ax.get_xlabel() == "\u00b5s a call"


def test_pairs_show_every_round_and_the_band():
    ratios = [1.0, 1.1, 0.9, 1.2] * 10 + [50.0]
    ax = plot.plot_pairs(ratios, 0.95, 1.05)
    one, dots = ax.lines
    assert list(one.get_ydata()) == [1, 1]
    assert list(dots.get_xdata()) == list(range(1, 42))
    assert list(dots.get_ydata()) == ratios
    (band,) = ax.patches
    assert (band.get_y(), band.get_height()) == pytest.approx((0.95, 0.1))
    bottom, top = ax.get_ylim()
    assert bottom < 0.9
    assert 1.2 < top < 50


def test_break_even_marks_the_crossings_and_reaches_beyond_the_last():
    ax = plot.plot_break_even(
        {"plain": (0, 3e-3), "a": (0.1, 2e-3), "b": (0.5, 1e-3), "c": (1, 4e-3)}
    )
    lines, dots = ax.lines[:4], ax.lines[4:]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["plain", "a", "b", "c"]
    assert [list(line.get_xdata()) for line in lines] == [[0, 500]] * 4
    assert [list(line.get_ydata()) for line in lines] == [
        pytest.approx([0, 1.5]),
        pytest.approx([0.1, 1.1]),
        pytest.approx([0.5, 1.0]),
        pytest.approx([1, 3]),
    ]
    assert [(dot.get_xdata()[0], dot.get_ydata()[0]) for dot in dots] == [
        pytest.approx((100, 0.3)),
        pytest.approx((250, 0.75)),
    ]
    assert [dot.get_color() for dot in dots] == [line.get_color() for line in lines[1:3]]
    assert ax.get_ylabel() == "total time in s"


def test_break_even_without_a_crossing():
    ax = plot.plot_break_even({"plain": (0, 1e-3), "worse": (0.5, 2e-3)})
    assert len(ax.lines) == 2
    assert ax.get_xlim() == (0, 1000)


def test_break_even_drops_no_candidate():
    costs = {"plain": (0, 1e-3)} | {f"candidate {i}": (0.1, 5e-4) for i in range(8)}
    ax = plot.plot_break_even(costs)
    assert len(ax.lines) == 9 + 8


def test_verdicts_are_cells_in_the_colours_of_their_words():
    table = {
        "a": {"trace": "silently wrong", "script": "right"},
        "b": {"trace": "error", "script": "error"},
        "b, mended": {"trace": "right", "script": "error"},
    }
    ax = plot.plot_verdicts(table, gap_before="b, mended")
    places = [text.get_position() for text in ax.texts]
    assert places == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2.5), (1, 2.5)]
    assert texts(ax) == [word for row in table.values() for word in row.values()]
    assert [text.get_color() for text in ax.texts[:3]] == ["white", plot.BLACK, plot.GREY]
    grounds = [matplotlib.colors.to_hex(cell.get_facecolor()) for cell in ax.patches]
    assert grounds[:3] == [plot.RED.lower(), plot.PALE_BLUE.lower(), "#ffffff"]
    assert [cell.get_center() for cell in ax.patches] == [pytest.approx(p) for p in places]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["trace", "script"]
    assert [label.get_text() for label in ax.get_yticklabels()] == list(table)
    assert list(ax.get_yticks()) == [0, 1, 2.5]
    assert ax.get_ylim() == (3, -0.5)
    assert not any(spine.get_visible() for spine in ax.spines.values())


def test_verdicts_without_a_gap_and_with_a_word_of_their_own():
    row = {"trace": "right"}
    assert list(plot.plot_verdicts({"a": row, "b": row}).get_yticks()) == [0, 1]
    with pytest.raises(KeyError):
        plot.plot_verdicts({"a": {"trace": "wrong"}})
