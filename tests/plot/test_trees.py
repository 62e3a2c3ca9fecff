"""The pictures of syntax trees: what is on them, and that a reader can follow them."""

from matplotlib.colors import to_hex
from pictures import cut_off, overlapping, place_of, texts

from d2lhybrid.plot.colours import PALE_BLUE, PALE_ORANGE
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
    ax = plot_tree("e = add(1, 2)")
    assign, call, one, two = (place_of(ax, label) for label in ("Assign e", "Call add", "1", "2"))
    assert assign[1] > call[1] > one[1] == two[1]
    assert one[0] < call[0] < two[0]
    ends = {tuple(zip(*line.get_data(), strict=True)) for line in ax.lines}
    assert ends == {(assign, call), (call, one), (call, two)}


def test_marked_parts_have_another_colour_with_all_below_them():
    ax = plot_tree({"before": "e = add(1, 2)", "after": "e = 1 + 2"}, marked=["add( 1,2 )"])
    grounds = {
        text.get_text(): to_hex(text.get_bbox_patch().get_facecolor()).upper()
        for text in ax.texts[:5]
        if text.get_bbox_patch()
    }
    orange = dict.fromkeys(["Call add", "1", "2"], PALE_ORANGE)
    assert grounds == {"Assign e": PALE_BLUE} | orange
    assert to_hex(ax.texts[-1].get_bbox_patch().get_facecolor()).upper() == PALE_BLUE


def test_a_tree_can_be_read():
    for program in (LONG, "a", {"a long title": "a", "other": LONG}):
        ax = plot_tree(program)
        assert overlapping(ax) == []
        assert cut_off(ax) == []


def test_trees_stand_side_by_side_with_their_titles():
    ax = plot_tree({"before": "e = add(1, 2)", "after": "f = 3"})
    left = [place_of(ax, label)[0] for label in ("before", "Assign e", "1", "2")]
    assert max(left) < min(place_of(ax, label)[0] for label in ("after", "Assign f", "3"))
    assert place_of(ax, "Assign e")[1] == place_of(ax, "Assign f")[1]
    assert ax.figure.alt == (
        "Syntax trees. before: Below Assign e: Call add. Below Call add: 1 and 2. "
        "after: Below Assign f: 3."
    )
