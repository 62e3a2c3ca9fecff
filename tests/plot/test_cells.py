"""Cells in a row: which are drawn alone, and which as one."""

import pytest
from drawings import extents, is_readable, rects

from d2lhybrid import plot_cells


@pytest.mark.parametrize(
    ("cells", "written", "drawn"),
    [
        (["w0", "w1", "x0"], ["w0", "w1", "x0"], 3),  # each with its label
        (["a"] * 60 + ["b"] * 60, ["a", "b"], 2),  # no room for 120 labels
        (["a", "b"] * 60, [], 120),
    ],
)
def test_neighbors_without_room_are_one(cells, written, drawn):
    drawing = plot_cells({"here": cells})
    _, *labels = [text for text, _ in extents(drawing)]
    areas = [area for _, area in rects(drawing)]
    assert (labels, len(areas)) == (written, drawn)
    assert is_readable(drawing)
    widths = [area.x1 - area.x0 for area in areas]
    assert max(widths) - min(widths) < 1e-6
