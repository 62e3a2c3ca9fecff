"""The pictures of programs: what is on them, and that a reader can follow them."""

import networkx
from matplotlib.patches import BoxStyle
from pictures import arrows, cut_off, extents, overlapping, place_of, texts

from d2lhybrid.hybrid.recorder import trace
from d2lhybrid.plot.flow import plot_data_flow, plot_pipeline, plot_stages
from d2lhybrid.text.dataflow import data_flow
from d2lhybrid.text.program import evoke_, inline

FOLDED = "e = 3\nf = 7\ng = 10\nprint(10)"
SHARED = "x = 1\ny = x + x\nz = x * x\nw = x - x\nprint(y, z, w)"


def small_flow():
    flow = networkx.DiGraph()
    flow.add_node("x", label="x", kind="input", name="")
    flow.add_node("y", label="relu", kind="operation", name="h")
    flow.add_edge("x", "y")
    return flow


def test_data_flow_has_every_value_every_name_and_every_arrow():
    program = inline(evoke_())
    ax = plot_data_flow(program)
    assert sorted(texts(ax)) == sorted([*"1234", "+", "+", "+", "print", *"efg"])
    *numbers, e, f, g, shown = [place_of(ax, label) for label in "1234"] + [
        *[place_of(ax, "+", which) for which in range(3)],
        place_of(ax, "print"),
    ]
    expected = {*zip(numbers, [e, e, f, f], strict=True), (e, g), (f, g), (g, shown)}
    assert arrows(ax) == expected
    assert len(expected) == len(data_flow(program).edges)


def test_data_flow_can_be_read():
    for program in [inline(evoke_()), evoke_(), FOLDED, SHARED]:
        ax = plot_data_flow(program)
        assert all(start[1] > end[1] for start, end in arrows(ax)), program  # what feeds is above
        assert overlapping(ax) == [], program
        assert cut_off(ax) == [], program


def chain(*labels):
    flow = networkx.DiGraph()
    for node, label in enumerate(labels):
        kind, name = ("operation", f"v{node}") if node else ("input", "")
        flow.add_node(node, label=label, kind=kind, name=name)
    networkx.add_path(flow, range(len(labels)))
    return flow


LAYERS = chain("input", "linear", "tanh", "linear", "tanh")
LONG = chain("x", *[f"operation {step}" for step in range(9)])


def test_a_chain_is_drawn_from_left_to_right_with_a_row_for_each_layer():
    ax = plot_data_flow({"layers": LAYERS, "too long for a row": LONG})
    first, again = place_of(ax, "linear"), place_of(ax, "linear", 1)
    assert place_of(ax, "input")[1] == first[1] == place_of(ax, "tanh")[1]
    assert place_of(ax, "input")[0] < first[0] < place_of(ax, "tanh")[0]
    assert (place_of(ax, "tanh"), again) in arrows(ax)
    assert [place_of(ax, label, 1)[1] for label in ("linear", "tanh")] == [again[1]] * 2
    shown = ax.transData.transform
    assert shown(again)[1] < shown(first)[1]
    assert shown(place_of(ax, "too long for a row"))[1] < shown(again)[1]
    assert shown(place_of(ax, "operation 8"))[1] < shown(place_of(ax, "operation 0"))[1]
    assert ax.figure.get_size_inches()[0] * 72 < 390  # a telephone's width, so as it is
    assert overlapping(ax) == []
    assert cut_off(ax) == []


def test_a_chain_can_be_read_where_it_is_short_and_where_a_box_is_too_wide_for_a_row():
    for flow in ("print(1)", chain("input"), LAYERS, LONG, chain("input", "linear, " * 12, "tanh")):
        ax = plot_data_flow(flow)
        assert overlapping(ax) == []
        assert cut_off(ax) == []


def test_beside_another_program_a_chain_is_drawn_downwards():
    ax = plot_data_flow({"chain": LAYERS, "sum": "e = 1 + 2"})
    assert place_of(ax, "input")[0] == place_of(ax, "linear")[0]
    assert place_of(ax, "input")[1] > place_of(ax, "linear")[1]


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
    left = [place_of(ax, label)[0] for label in ("1", "2", "long")]
    right = [place_of(ax, label)[0] for label in ("3", "short")]
    assert max(left) < min(right)
    assert place_of(ax, "1")[1] == place_of(ax, "3")[1]  # both begin at the same height
    assert place_of(ax, "long")[1] > place_of(ax, "1")[1]
    assert overlapping(ax) == []
    assert cut_off(ax) == []


def test_values_of_the_same_depth_do_not_cover_each_other():
    ax = plot_data_flow(SHARED)
    assert len({place_of(ax, sign) for sign in "+*-"}) == 3
    assert len({place_of(ax, sign)[1] for sign in "+*-"}) == 1
    ax = plot_data_flow(FOLDED)
    places = [place_of(ax, "3"), place_of(ax, "7"), place_of(ax, "10"), place_of(ax, "10", 1)]
    assert len(set(places)) == 4


def test_a_graph_can_be_given_as_it_is():
    ax = plot_data_flow(small_flow())
    assert sorted(texts(ax)) == ["h", "relu", "x"]
    assert arrows(ax) == {(place_of(ax, "x"), place_of(ax, "relu"))}


def test_a_graph_is_drawn_as_its_data_flow():
    ax = plot_data_flow(trace(lambda a, b: (a + b) * a, 1, 2))
    assert texts(ax) == ["a", "b", "+", "v1", "*", "v2"]


def test_stages_follow_each_other_from_left_to_right():
    ax = plot_stages({"define": "a\nlonger line", "compile": "b", "run": "10"})
    assert texts(ax) == ["define", "a\nlonger line", "compile", "b", "run", "10"]
    boxes = [text for text in ax.texts if text.get_bbox_patch()]
    assert len(boxes) == 3
    assert {(box.get_fontfamily()[0], box.get_va()) for box in boxes} == {("monospace", "top")}


def test_stages_can_be_read():
    long, wide_title = evoke_().strip(), "a title wider than its text"
    ax = plot_stages({"define": long, wide_title: "b", "run": "10"})
    assert overlapping(ax) == []
    assert cut_off(ax) == []
    box = dict(extents(ax))
    for title, text in (("define", long), (wide_title, "b"), ("run", "10")):
        assert box[title].y0 > box[text].y1  # a title stands above its text
    ends = [ax.transData.transform([start, end])[:, 0] for start, end in sorted(arrows(ax))]
    (start, end), (next_start, next_end) = ends  # each arrow in the gap between two texts
    assert box[long].x1 < start < end <= box["b"].x0
    assert box[wide_title].x1 < next_start < next_end <= box["10"].x0


def test_a_pipeline_is_boxes_with_arrows_and_a_text_under_each():
    steps = {"bytecode": "what Python runs", "graph + guards": "a much longer text " * 4, "C": ""}
    ax = plot_pipeline(steps)
    shown = [" ".join(text.split()) for text in texts(ax)]
    long = steps["graph + guards"].strip()
    assert shown == ["bytecode", "what Python runs", "graph + guards", long, "C"]
    where = dict(extents(ax))
    boxes = [box.get_window_extent() for box in ax.patches]
    assert len(boxes) == 3
    assert len(arrows(ax)) == 2
    for box, title in zip(boxes, ("bytecode", "graph + guards", "C"), strict=True):
        title = next(text for text in where if " ".join(text.split()) == title)
        assert box.x0 < where[title].x0 < where[title].x1 < box.x1
    assert where["what Python runs"].y1 < boxes[0].y0
    assert overlapping(ax) == []
    assert cut_off(ax) == []
