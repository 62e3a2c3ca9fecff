"""The picture of lines over the steps of training, read back from matplotlib's objects."""

from pictures import legend

from d2lhybrid.plot.steps import plot_steps

LINES = {"slow": [1, 0.5, 0.25], "quick": [1, 0.1, 0.01], "away": [1, 2, 4]}


def test_each_label_has_a_line_from_step_0_on():
    ax = plot_steps(LINES, "the loss")
    assert [list(line.get_ydata()) for line in ax.lines] == list(LINES.values())
    assert [list(line.get_xdata()) for line in ax.lines] == [[0, 1, 2]] * 3
    assert len({line.get_color() for line in ax.lines}) == 3
    assert len({line.get_marker() for line in ax.lines}) == 3
    assert legend(ax) == list(LINES)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("step", "the loss")


def test_zero_is_marked_if_it_is_crossed():
    for values, marked in (([1, -1], True), ([1, 0], False), ([-1, 0], False)):
        lines = plot_steps({"a": values}, "weight").lines
        assert [list(line.get_ydata()) for line in lines[1:]] == [[0, 0]] * marked, values


def test_values_may_come_from_a_generator_and_lines_may_end_early():
    ax = plot_steps({"a": (0.5**i for i in range(99)), "b": [1, 2]}, "error")
    assert list(ax.lines[0].get_ydata()) == [0.5**i for i in range(99)]
    assert ax.lines[0].get_markevery() == 4
