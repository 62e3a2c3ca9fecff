"""The pictures of syntax trees: what is on them, and that a reader can follow them."""

from drawings import box_of, cut_off, lines, overlapping, place_of, rects, texts

from d2lhybrid.plot.colours import BLUE, ORANGE
from d2lhybrid.plot.trees import plot_tree

LONG = "g = add(add(a, -b), c.d * 4 < 3)\nprint(g and not h)"


def test_a_node_reads_as_it_stands_in_the_program():
    for program, nodes in [
        ("e = add(1, 2)", ["Assign e", "Call add", "1", "2"]),
        ("a + b", ["+", "Name a", "Name b"]),
        ("print('x')", ["Call print", "'x'"]),
        ("a ** 2 <= 3", ["Compare", "**", "Name a", "2", "LtE", "3"]),
        ("net.relu(x)", ["Call", "Attribute", "Name net", "Name x"]),
        ("    a = 1\n    b = 2", ["Module", "Assign a", "1", "Assign b", "2"]),
        ("a, b = c", ["Assign", "Tuple", "Name a", "Name b", "Name c"]),
    ]:
        assert sorted(texts(plot_tree(program))) == sorted(nodes)


def test_what_is_read_stands_below_and_from_left_to_right():
    drawing = plot_tree("e = add(1, 2)")
    assign, call, one, two = (box_of(drawing, text) for text in ("Assign e", "Call add", "1", "2"))
    assert assign.y1 < call.y0 < call.y1 < one.y0 == two.y0
    assert one.x1 < call.middle[0] < two.x0
    expected = {
        ((above.middle[0], above.y1), (below.middle[0], below.y0))
        for above, below in [(assign, call), (call, one), (call, two)]
    }
    found = [[round(number) for end in line for number in end] for line in lines(drawing)]
    assert sorted(found) == sorted([round(n) for end in line for n in end] for line in expected)


def test_marked_parts_have_another_colour_with_all_below_them():
    drawing = plot_tree({"before": "e = add(1, 2)", "after": "e = 1 + 2"}, marked=["add( 1,2 )"])
    labels = [text for text in texts(drawing) if text not in ("before", "after")]
    colours = [look["fill"] for look, _ in rects(drawing)]
    found = list(zip(labels, colours, strict=True))
    assert found[:4] == [("1", ORANGE), ("2", ORANGE), ("Call add", ORANGE), ("Assign e", BLUE)]
    assert {colour for _, colour in found[4:]} == {BLUE}


def test_a_tree_can_be_read():
    for program in (LONG, "a", {"a long title": "a", "other": LONG}, "WWWW(MMMM)"):
        drawing = plot_tree(program)
        assert overlapping(drawing) == []
        assert cut_off(drawing) == []


def test_trees_stand_side_by_side_with_their_titles():
    drawing = plot_tree({"before": "e = add(1, 2)", "after": "f = 3"})
    left = [place_of(drawing, label)[0] for label in ("before", "Assign e", "1", "2")]
    assert max(left) < min(place_of(drawing, label)[0] for label in ("after", "Assign f", "3"))
    assert box_of(drawing, "Assign e").y0 == box_of(drawing, "Assign f").y0
    assert drawing.alt == (
        "Syntax trees. before: Below Assign e: Call add. Below Call add: 1 and 2. "
        "after: Below Assign f: 3."
    )
