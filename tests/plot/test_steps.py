"""The picture of values over the steps of training, read from its SVG."""

from math import inf, nan

import pytest
from drawings import cut_off, elements, lines, overlapping, place_of, points_of, texts

from d2lhybrid.plot.steps import CORNERS, HIGH, WIDE, plot_steps

LINES = {"slow": [1, 0.5, 0.25], "quick": [1, 0.1, 0.01], "away": [1, 2, 4]}
EXTREMES = [[1], [0, 0], [1e-9, 2e-9], [3e6, -2e5], [1, nan, inf, 2], [*range(2000)]]


def curves(drawing):
    """The points of the lines of values, which are wider than those of the axes."""
    found = [one for one in elements(drawing, "polyline") if one.get("stroke-width") == "2"]
    return [points_of(one) for one in found[::2]]  # the others are those of the legend


def test_each_label_has_a_line_from_step_0_on():
    drawing = plot_steps(LINES, "the loss")
    high, low = 4, 0.01
    for points, values in zip(curves(drawing), LINES.values(), strict=True):
        assert [x for x, _ in points] == [0, WIDE / 2, WIDE]
        expected = [(high - value) / (high - low) * HIGH for value in values]
        assert [y for _, y in points] == pytest.approx(expected, abs=0.1)
    colours = [one.get("fill") for one in elements(drawing, "polygon")]
    assert len(set(colours)) == 3
    assert len(colours) == 12  # four marks of each, one of them in the legend
    assert {"step", "the loss", "0", "1", "2"} < set(texts(drawing))


def test_the_legend_stands_beside_the_lines():
    labels = [f"τ = {number}" for number in range(14)]
    drawing = plot_steps({label: [1, -0.5] for label in labels}, "the weight")
    places = [place_of(drawing, label) for label in labels]
    assert min(x for x, _ in places) > WIDE
    assert [y for _, y in places] == sorted(y for _, y in places)
    assert overlapping(drawing) == []
    assert cut_off(drawing) == []


def test_eight_lines_can_be_told_apart():
    drawing = plot_steps({str(n): [n, n + 1] for n in range(8)}, "weight")
    marks = {(one.get("fill"), len(points_of(one))) for one in elements(drawing, "polygon")}
    assert len(marks) == 8


def test_zero_is_marked_if_it_is_crossed():
    for values, marked in (([1, -1], True), ([1, 0], False), ([-1, 0], False), ([3, 2], False)):
        drawing = plot_steps({"a": values}, "weight")
        ends = [(line[0][0], line[-1][0]) for line in lines(drawing) if len(line) == 2]
        assert ends.count((-10, WIDE)) == marked, values


def test_a_long_line_has_few_marks():
    drawing = plot_steps({"a": [0.5**i for i in range(99)], "b": [1, 2]}, "error")
    corners = [len(points_of(one)) for one in elements(drawing, "polygon")]
    assert corners.count(CORNERS["o"]) == 25 + 1  # every fourth, and that of the legend


@pytest.mark.parametrize("values", EXTREMES)
def test_extreme_values_can_be_read(values):
    drawing = plot_steps({"a": values, "a long name of a line": [values[0]]}, "a long name " * 3)
    assert overlapping(drawing) == []
    assert cut_off(drawing) == []
    assert "nan" not in drawing.svg
    assert "inf" not in drawing.svg
