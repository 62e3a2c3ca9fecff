"""The pictures with a row for each thing: outcomes as cells, measures as dots."""

import pytest
from matplotlib.colors import to_hex
from pictures import row_labels, texts

from d2lhybrid.plot.colours import BLACK, BLUE, GREY, PALE_BLUE, RED
from d2lhybrid.plot.outcomes import plot_chunks, plot_measures, plot_outcomes


def test_measures_have_a_dot_in_each_row_of_each_panel():
    measures = {"C": {"MiB": 0.664, "ms": 1.2}, "Python": {"MiB": 754.4, "ms": 3636.0}}
    size, start = plot_measures(measures, dots=["C"])
    assert (size.get_title(), start.get_title()) == ("MiB", "ms")
    for ax, values in ((size, [0.664, 754.4]), (start, [1.2, 3636.0])):
        assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines] == [
            (values[0], 0),
            (values[1], 1),
        ]
        assert ax.get_xscale() == "log"
        left, right = ax.get_xlim()
        assert left < values[0] < 10 * values[1] < right  # with room for the number
        one, other = ax.lines
        assert one.get_color() != other.get_color()
        assert (one.get_marker(), other.get_marker()) == ("o", "s")
    assert texts(size) == ["0.66", "754"]
    assert texts(start) == ["1.2", "3,636"]
    assert row_labels(size) == ["C", "Python"]
    assert size.yaxis_inverted()
    assert len(size.figure.axes) == 2


def test_the_marks_of_measures_do_not_run_into_each_other():
    (ax,) = plot_measures({"a": {"ms": 1.0}, "b": {"ms": 5000.0}})
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "100", "10000"]


def test_outcomes_are_cells_in_the_colours_of_their_words():
    outcomes = {
        "a": {"trace": "silently wrong", "script": "right"},
        "b": {"trace": "error", "script": "error"},
        "b, mended": {"trace": "right", "script": "error"},
    }
    ax = plot_outcomes(outcomes, gap_before="b, mended")
    places = [text.get_position() for text in ax.texts]
    assert places == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2.5), (1, 2.5)]
    assert texts(ax) == [word for row in outcomes.values() for word in row.values()]
    assert [text.get_color() for text in ax.texts[:3]] == [BLACK, BLACK, GREY]
    grounds = [to_hex(cell.get_facecolor()) for cell in ax.patches]
    assert grounds[:3] == [RED.lower(), PALE_BLUE.lower(), "#ffffff"]
    assert [cell.get_center() for cell in ax.patches] == [pytest.approx(p) for p in places]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["trace", "script"]
    assert row_labels(ax) == list(outcomes)
    assert list(ax.get_yticks()) == [0, 1, 2.5]
    assert ax.get_ylim() == (3, -0.5)
    assert not ax.get_frame_on()


def test_chunks_are_tables_with_a_row_for_each_rank():
    states = [[[1, 1], [1, 1]], [[1, 2.0], [2.0, 1]], [[2, 2], [2, 2]]]
    axes = plot_chunks(iter(states), complete=2)
    assert [ax.get_title() for ax in axes] == ["start", "step 1", "step 2"]
    assert texts(axes[1]) == ["1", "2", "2", "1"]
    assert [text.get_position() for text in axes[1].texts] == [(0, 0), (1, 0), (0, 1), (1, 1)]
    grounds = [to_hex(cell.get_facecolor()) for cell in axes[1].patches]
    assert grounds == ["#ffffff", BLUE.lower(), BLUE.lower(), "#ffffff"]
    assert row_labels(axes[0]) == ["rank 0", "rank 1"]
    assert axes[0].yaxis_inverted()


def test_a_chunk_that_has_changed_is_framed():
    states = [[[1, 1], [1, 1]], [[1, 2], [2, 1]], [[2, 2], [2, 2]]]
    framed = [
        [to_hex(cell.get_edgecolor()) == to_hex(BLACK) for cell in ax.patches]
        for ax in plot_chunks(states, complete=2)
    ]
    assert framed == [[False] * 4, [False, True, True, False], [True, False, False, True]]


def test_a_chunk_on_its_way_is_pale():
    (ax,) = plot_chunks([[[1, 2, 3]]], complete=3)
    grounds = [to_hex(cell.get_facecolor()) for cell in ax.patches]
    assert grounds == ["#ffffff", PALE_BLUE.lower(), BLUE.lower()]
