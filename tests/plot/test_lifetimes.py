"""Lifetimes: which lines a value's bar covers."""

import pytest
import torch
from drawings import arrows, extents, is_readable, rects

from d2lhybrid import plot_lifetimes, plot_traffic, trace
from d2lhybrid.hybrid.passes import fuse, plan_memory
from d2lhybrid.plot.style import BLUE, GRAY

ROW = 24


def bars(drawing, color=BLUE):
    """(x of the middle, first line, last line) of each bar, the first of all lines being 1."""
    first = min(area.middle[1] for _, area in extents(drawing))
    areas = [area for look, area in rects(drawing) if look["stroke"] == color]
    rows = [(a.middle[0], (a.y0 - first) / ROW + 1, (a.y1 - first) / ROW + 1) for a in areas]
    return [(round(x), round(one + 0.4), round(other - 0.4)) for x, one, other in rows]


def lines_of(drawing, color=BLUE):
    return [(one, other) for _, one, other in bars(drawing, color)]


def with_del(a, b):
    c = a + b
    del a
    return c


@pytest.mark.parametrize(
    ("program", "needed", "kept"),
    [
        ("e = 1 + 2\nf = e * e\nprint(f)", [(1, 2), (2, 3)], [(3, 3)]),
        ("e = 1\nf = e\ndel e\nprint(f)\ndel f", [(1, 2), (2, 4)], []),
        ("e = 1\nf = 2", [(1, 1), (2, 2)], [(2, 2)]),  # what nothing reads
        ("def f(a):\n    return a\ne = f(1)\nprint(e)", [(1, 2)], []),  # the main part alone
        (with_del, [(1, 2), (1, 2), (2, 4)], [(3, 4)]),
        (trace(lambda a, b: (a + b) * a, 1, 2), [(2, 3), (3, 4)], []),
    ],
)
def test_a_bar_covers_the_lines_of_a_life(program, needed, kept):
    drawing = plot_lifetimes(program)
    assert (lines_of(drawing), lines_of(drawing, GRAY)) == (needed, kept)
    assert is_readable(drawing)


def test_values_of_a_slot_share_a_column():
    planned = plan_memory(trace(lambda a: a + 1 + 2 + 3 + 4, 1))
    (x, *_), (other, *_), (same, *_), output = bars(plot_lifetimes(planned))
    assert x == same < other < output[0]


def test_traffic_has_an_arrow_for_each_trip():
    graph = trace(lambda a, b: (a + b) * (a - b) + 1, *(torch.ones(3) for _ in "ab"))
    drawing = plot_traffic({"recorded": graph, "fused": fuse(graph)})
    down = [points[0][1] < points[-1][1] for points in arrows(drawing)]
    assert down == [True, True, False] * 3 + [True, False] + [True, True, False]
    assert is_readable(drawing)
