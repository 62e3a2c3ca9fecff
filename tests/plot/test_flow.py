"""The pictures of programs: what is on them, and that a reader can follow them."""

from itertools import pairwise

import networkx
import pytest
from drawings import (
    arrows,
    box_of,
    boxes,
    cut_off,
    extents,
    links,
    overlapping,
    place_of,
    rects,
    texts,
    under_boxes,
)

from d2lhybrid.hybrid.recorder import trace
from d2lhybrid.plot.colours import BLUE, ORANGE
from d2lhybrid.plot.flow import plot_data_flow, plot_pipeline, plot_stages
from d2lhybrid.text.dataflow import data_flow
from d2lhybrid.text.program import evoke_, inline

FOLDED = "e = 3\nf = 7\ng = 10\nprint(10)"
SHARED = "x = 1\ny = x + x\nz = x * x\nw = x - x\nprint(y, z, w)"


def graph(*edges, alone=()):
    """A graph from pairs of labels; what nothing feeds is an input, and has no name."""
    flow = networkx.DiGraph()
    fed = [target for _, target in edges]
    for node in [*alone, *(label for edge in edges for label in edge)]:
        kind, name = ("operation", f"v{len(flow)}") if node in fed else ("input", "")
        if node not in flow:
            flow.add_node(node, label=node, kind=kind, name=name)
    flow.add_edges_from(edges)
    return flow


def chain(*labels):
    flow = networkx.DiGraph()
    for node, label in enumerate(labels):
        kind, name = ("operation", f"v{node}") if node else ("input", "")
        flow.add_node(node, label=label, kind=kind, name=name)
    networkx.add_path(flow, range(len(labels)))
    return flow


LAYERS = chain("input", "linear", "tanh", "linear", "tanh")
LONG = chain("x", *[f"operation {step}" for step in range(9)])
WIDE = "a function with a very long name"
# one on which an arrow would run under boxes if it were straight, or stopped before small ones only
FUSED = graph(*((label, "+, +, +") for label in "abcd"))
RESIDUAL = graph(*pairwise(["x", "linear", WIDE, "+", "relu", "sum"]), ("x", "+"), ("+", "sum"))
LADDER = graph(*((f"n{i}", f"n{j}") for j in range(7) for i in range(j) if (i + j) % 3))
WIDE_ONES = graph(("a", f"{WIDE} 1"), ("a", f"{WIDE} 2"), (f"{WIDE} 1", "b"), (f"{WIDE} 2", "b"))
GRAPHS = {"fused": FUSED, "residual": RESIDUAL, "ladder": LADDER, "wide": WIDE_ONES}
PROGRAMS = [inline(evoke_()), evoke_(), FOLDED, SHARED]
CHAINS = [LAYERS, LONG, "print(1)", chain("input"), chain("input", "linear, " * 12, "tanh")]


def test_data_flow_has_every_value_every_name_and_every_arrow():
    program = inline(evoke_())
    drawing = plot_data_flow(program)
    assert sorted(texts(drawing)) == sorted([*"1234", "+", "+", "+", "print", *"efg"])
    *numbers, e, f, g, shown = [box_of(drawing, label) for label in "1234"] + [
        *[box_of(drawing, "+", which) for which in range(3)],
        box_of(drawing, "print"),
    ]
    expected = {*zip(numbers, [e, e, f, f], strict=True), (e, g), (f, g), (g, shown)}
    assert set(links(drawing)) == expected
    assert len(expected) == len(data_flow(program).edges)


@pytest.mark.parametrize("program", [*PROGRAMS, *CHAINS, *GRAPHS.values(), GRAPHS])
def test_data_flow_can_be_read(program):
    drawing = plot_data_flow(program)
    assert overlapping(drawing) == []
    assert cut_off(drawing) == []
    assert under_boxes(drawing) == []
    assert {len(pair) for pair in links(drawing)} <= {2}  # each arrow joins two boxes
    if program not in CHAINS:
        assert all(start[1] < end[1] for start, *_, end in arrows(drawing))  # what feeds is above


def test_an_arrow_goes_around_what_stands_between_its_ends():
    drawing = plot_data_flow(RESIDUAL)
    ends = box_of(drawing, "x"), box_of(drawing, "+")
    (around,) = [a for a, p in zip(arrows(drawing), links(drawing), strict=True) if p == ends]
    assert max(x for x, _ in around) > box_of(drawing, WIDE).x1


def test_a_chain_is_drawn_from_left_to_right_with_a_row_for_each_layer():
    drawing = plot_data_flow({"layers": LAYERS, "too long for a row": LONG})
    first, again = box_of(drawing, "linear"), box_of(drawing, "linear", 1)
    last = box_of(drawing, "tanh")
    assert box_of(drawing, "input").y0 == first.y0 == last.y0
    assert box_of(drawing, "input").x1 < first.x0 < first.x1 < last.x0
    assert (last, again) in links(drawing)
    assert box_of(drawing, "tanh", 1).y0 == again.y0 > first.y1
    assert place_of(drawing, "too long for a row")[1] > again.y1
    assert box_of(drawing, "operation 8").y0 > box_of(drawing, "operation 0").y1
    assert drawing.view[2] < 390  # a telephone's width, so as it is


def test_beside_another_program_a_chain_is_drawn_downwards():
    drawing = plot_data_flow({"chain": LAYERS, "sum": "e = 1 + 2"})
    one, other = box_of(drawing, "input"), box_of(drawing, "linear")
    assert one.middle[0] == pytest.approx(other.middle[0], abs=0.1)
    assert one.y1 < other.y0


def test_data_flow_tells_inputs_from_operations_by_shape():
    (one, _), (shown, _) = rects(plot_data_flow("print(1)"))
    assert (float(one["rx"]), float(one["ry"])) == (12, 12)
    assert (shown["rx"], shown.get("ry")) == ("4", None)
    assert (one["stroke"], shown["stroke"]) == (ORANGE, BLUE)


def test_several_data_flows_stand_side_by_side_with_their_titles():
    drawing = plot_data_flow({"long": "e = 1 + 2\nprint(e)", "short": "print(3)"})
    where = dict(extents(drawing))
    assert max(where[text].x1 for text in ("1", "2", "e", "long")) < where["short"].x0
    assert max(where[text].x1 for text in ("1", "2", "e", "long")) < where["3"].x0
    assert box_of(drawing, "1").y0 == box_of(drawing, "3").y0  # both begin at the same height
    assert where["long"].y1 < box_of(drawing, "1").y0


def test_values_of_the_same_depth_do_not_cover_each_other():
    drawing = plot_data_flow(SHARED)
    assert len({box_of(drawing, sign).x0 for sign in "+*-"}) == 3
    assert len({box_of(drawing, sign).y0 for sign in "+*-"}) == 1
    drawing = plot_data_flow(FOLDED)
    areas = [box_of(drawing, "3"), box_of(drawing, "7")]
    areas += [box_of(drawing, "10", which) for which in (0, 1)]
    assert len(set(areas)) == 4


def test_a_graph_can_be_given_as_it_is():
    drawing = plot_data_flow(graph(("x", "relu")))
    assert sorted(texts(drawing)) == ["relu", "v1", "x"]
    assert links(drawing) == [(box_of(drawing, "x"), box_of(drawing, "relu"))]


def test_a_graph_is_drawn_as_its_data_flow():
    drawing = plot_data_flow(trace(lambda a, b: (a + b) * a, 1, 2))
    assert texts(drawing) == ["a", "b", "+", "v1", "*", "v2"]


def test_stages_follow_each_other_from_left_to_right():
    text = "def f(a):\n    return a"
    drawing = plot_stages({"define": text, "compile": "b", "run": "10"})
    lines = [line.replace("\xa0", " ") for line in texts(drawing)]
    assert lines == ["define", *text.splitlines(), "compile", "b", "run", "10"]
    assert [pair[0].x1 < pair[1].x0 for pair in links(drawing)] == [True, True]
    assert drawing.svg.count('font-family="monospace"') == 4


def test_stages_can_be_read():
    long, wide_title = evoke_().strip(), "a title wider than its text"
    drawing = plot_stages({"define": long, wide_title: "b", "run": "10"})
    assert overlapping(drawing) == []
    assert cut_off(drawing) == []
    assert under_boxes(drawing) == []
    where, (first, second, third) = dict(extents(drawing)), boxes(drawing)
    for title, box in zip(("define", wide_title, "run"), (first, second, third), strict=True):
        assert where[title].y1 < box.y0  # a title stands above its text
    assert links(drawing) == [(first, second), (second, third)]


def test_a_pipeline_is_boxes_with_arrows_and_a_text_under_each():
    long = "a much longer text " * 4
    steps = {"bytecode": "what Python runs", "graph + guards": long, "C": "", "MMMM WWWW": ""}
    drawing = plot_pipeline(steps)
    shown = " ".join(texts(drawing))
    assert shown == f"bytecode what Python runs graph + guards {long}C MMMM WWWW"
    found = boxes(drawing)
    assert links(drawing) == [*pairwise(found)]
    for box, title in zip(found, ("bytecode", "guards", "C", "WWWW"), strict=True):
        assert box.has(next(area for text, area in extents(drawing) if title in text))
    assert dict(extents(drawing))["what Python runs"].y0 > found[0].y1
    assert overlapping(drawing) == []
    assert cut_off(drawing) == []
