"""Pictures of programs: what is on them, and that a reader can follow them."""

from itertools import pairwise

import networkx
import pytest
from drawings import arrows, box_of, boxes, extents, is_readable, lines, links, rects, texts

from d2lhybrid.plot.graphs import plot_data_flow, plot_pipeline, plot_stages, plot_tree
from d2lhybrid.plot.style import BLUE, ORANGE
from d2lhybrid.text.program import evoke_, inline

FOLDED = "e = 3\nf = 7\ng = 10\nprint(10)"
SHARED = "x = 1\ny = x + x\nz = x * x\nw = x - x\nprint(y, z, w)"


def graph(*edges):
    """A graph from pairs of labels; what nothing feeds is an input, and has no name."""
    flow = networkx.DiGraph()
    fed = [target for _, target in edges]
    for node in (label for edge in edges for label in edge):
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
# on which an arrow would run under boxes if it were straight, or stopped before small ones only
FUSED = graph(*((label, "+, +, +") for label in "abcd"))
RESIDUAL = graph(*pairwise(["x", "linear", WIDE, "+", "relu", "sum"]), ("x", "+"), ("+", "sum"))
LADDER = graph(*((f"n{i}", f"n{j}") for j in range(7) for i in range(j) if (i + j) % 3))
WIDE_ONES = graph(("a", f"{WIDE} 1"), ("a", f"{WIDE} 2"), (f"{WIDE} 1", "b"), (f"{WIDE} 2", "b"))
GRAPHS = {"fused": FUSED, "residual": RESIDUAL, "ladder": LADDER, "W" * 40: WIDE_ONES}
CHAINS = [LAYERS, LONG, "print(1)", chain("input"), chain("input", "linear, " * 12, "tanh"), ""]


def test_data_flow_has_every_value_name_and_arrow():
    drawing = plot_data_flow(inline(evoke_()))
    assert sorted(texts(drawing)) == sorted([*"1234", "+", "+", "+", "print", *"efg"])
    one, two, three, four = (box_of(drawing, label) for label in "1234")
    e, f, g = (box_of(drawing, "+", which) for which in range(3))
    expected = {(one, e), (two, e), (three, f), (four, f), (e, g), (f, g)}
    assert set(links(drawing)) == expected | {(g, box_of(drawing, "print"))}


@pytest.mark.parametrize(
    "program", [inline(evoke_()), FOLDED, SHARED, *CHAINS, *GRAPHS.values(), GRAPHS]
)
def test_data_flow_is_readable(program):
    drawing = plot_data_flow(program)
    assert is_readable(drawing)
    assert {len(pair) for pair in links(drawing)} <= {2}  # each arrow joins two boxes
    if program not in CHAINS:
        assert all(start[1] < end[1] for start, *_, end in arrows(drawing))  # what feeds is above


def test_arrow_over_several_rows_goes_around_boxes():
    drawing = plot_data_flow(RESIDUAL)
    ends = box_of(drawing, "x"), box_of(drawing, "+")
    (around,) = [a for a, p in zip(arrows(drawing), links(drawing), strict=True) if p == ends]
    assert max(x for x, _ in around) > box_of(drawing, WIDE).x1


def test_chain_runs_from_left_to_right_with_a_row_for_each_layer():
    drawing = plot_data_flow({"layers": LAYERS, "too long": LONG})
    first, again = box_of(drawing, "linear"), box_of(drawing, "linear", 1)
    last = box_of(drawing, "tanh")
    assert box_of(drawing, "input").y0 == first.y0 == last.y0
    assert box_of(drawing, "input").x1 < first.x0 < first.x1 < last.x0
    assert (last, again) in links(drawing)
    assert box_of(drawing, "tanh", 1).y0 == again.y0 > first.y1
    assert box_of(drawing, "operation 8").y0 > box_of(drawing, "operation 0").y1
    assert drawing.view[2] < 390  # a telephone's width, so as it is


def test_chain_beside_another_program_runs_downwards():
    drawing = plot_data_flow({"chain": LAYERS, "nothing": "", "sum": "e = 1 + 2"})
    one, other = box_of(drawing, "input"), box_of(drawing, "linear")
    assert one.middle[0] == pytest.approx(other.middle[0], abs=0.1)
    assert one.y1 < other.y0


def test_empty_program_gives_an_empty_picture():
    drawing = plot_data_flow("")
    assert (texts(drawing), drawing.alt) == ([], "Data flow: nothing.")


def test_inputs_and_operations_differ_in_shape_and_color():
    (one, _), (shown, _) = rects(plot_data_flow("print(1)"))
    assert (one["rx"], one["ry"], shown["rx"], shown.get("ry")) == ("12", "12", "4", None)
    assert (one["stroke"], shown["stroke"]) == (ORANGE, BLUE)


def test_stages_follow_each_other_from_left_to_right():
    text, wide = "def f(a):\n    return a", "a title wider than its text"
    drawing = plot_stages({"define": text, wide: "b", "run": "10"})
    shown = [line.replace("\xa0", " ") for line in texts(drawing)]
    assert shown == ["define", *text.splitlines(), wide, "b", "run", "10"]
    assert links(drawing) == [*pairwise(boxes(drawing))]
    assert is_readable(drawing)


def test_stages_may_fork_into_roads_one_below_the_other():
    roads = {"script": "if a:\n    b\nc"}, {"an example": "a = 1", "trace": "b"}
    drawing = plot_stages({"source": "if a: b"}, *roads)
    start, script, example, trace = boxes(drawing)
    assert links(drawing) == [(start, script), (start, example), (example, trace)]
    assert drawing.alt.endswith("source; from there script; from there an example and trace.")
    assert is_readable(drawing)


def test_pipeline_is_boxes_with_arrows_and_a_text_under_each():
    long = "a much longer text " * 4
    steps = {"bytecode": "what Python runs", "graph + guards": long, "C": "", "MMMM WWWW": ""}
    drawing = plot_pipeline(steps, marked=["graph + guards"])
    orange = [look.get("fill") == ORANGE for kind, look, _ in drawing.parts if kind == "rect"]
    assert orange == [False, True, False, False]
    shown = " ".join(texts(drawing))
    assert shown == f"bytecode what Python runs graph + guards {long}C MMMM WWWW"
    assert links(drawing) == [*pairwise(boxes(drawing))]
    for box, title in zip(boxes(drawing), ("bytecode", "guards", "C", "WWWW"), strict=True):
        assert box.holds(next(area for text, area in extents(drawing) if title in text))
    assert is_readable(drawing)


def test_node_of_a_tree_reads_as_in_the_program():
    for program, nodes in [
        ("e = add(1, 'x')", ["Assign e", "Call add", "1", "'x'"]),
        ("a ** 2 <= 3", ["Compare", "**", "Name a", "2", "LtE", "3"]),
        ("net.relu(x)", ["Call", "Attribute", "Name net", "Name x"]),
        (
            "    a = 1\n    b, c = 2",
            ["Module", "Assign a", "1", "Assign", "Tuple", "Name b", "Name c", "2"],
        ),
    ]:
        assert sorted(texts(plot_tree(program))) == sorted(nodes)


def test_children_of_a_node_stand_below_it_from_left_to_right():
    drawing = plot_tree("e = add(1, 2)")
    assign, call, one, two = (box_of(drawing, text) for text in ("Assign e", "Call add", "1", "2"))
    assert assign.y1 < call.y0 < call.y1 < one.y0 == two.y0
    assert one.x1 < call.middle[0] < two.x0
    assert len(lines(drawing)) == 3


def test_marked_parts_of_a_tree_are_orange_with_all_below_them():
    drawing = plot_tree({"before": "e = add(1, 2)", "after": "e = 1 + 2"}, marked=["add( 1,2 )"])
    labels = [text for text in texts(drawing) if text not in ("before", "after")]
    found = list(zip(labels, [look["fill"] for look, _ in rects(drawing)], strict=True))
    assert found[:4] == [("1", ORANGE), ("2", ORANGE), ("Call add", ORANGE), ("Assign e", BLUE)]
    assert {color for _, color in found[4:]} == {BLUE}


def test_trees_are_readable_side_by_side():
    program = "g = add(add(a, -b), c.d * 4 < 3)\nprint(g and not h)"
    drawing = plot_tree({"a title longer than its tree": "f = 3", "other": program})
    where = dict(extents(drawing))
    assert is_readable(drawing)
    assert where["a title longer than its tree"].x1 < where["Module"].x0
    assert drawing.alt.startswith("Syntax trees. a title longer than its tree: Below Assign f: 3.")
