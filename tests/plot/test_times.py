"""The pictures of times: what is on them, read back from matplotlib's objects."""

import pytest
from pictures import legend, place_of, row_labels, texts

from d2lhybrid.plot import (
    plot_break_even,
    plot_distribution,
    plot_over_time,
    plot_shares,
    plot_times,
)


@pytest.mark.parametrize(
    ("times", "unit", "lengths"),
    [
        ({"a": 2.0, "b": 0.5}, "time in s", [2.0, 0.5]),
        ({"a": 0.002, "b": 0.5e-6}, "time in ms", [2.0, 0.0005]),
        ({"a": 2e-6, "b": 0.5e-6}, "time in \u00b5s", [2.0, 0.5]),
        ({"a": 2e-9, "b": 0.5e-9}, "time in ns", [2.0, 0.5]),
        ({"a": 2e-10}, "time in ns", [0.2]),
    ],
)
def test_times_are_bars_from_the_top(times, unit, lengths):
    ax = plot_times(times, "title")
    assert ax.get_xlabel() == unit
    assert ax.get_title() == "title"
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(lengths)
    assert row_labels(ax) == list(times)
    assert ax.yaxis_inverted()
    assert [side for side, spine in ax.spines.items() if spine.get_visible()] == ["bottom"]


def test_shares_are_pieces_of_a_bar_behind_a_line_for_the_limit():
    shares = {"a": {"work": 1e-5, "guard": 2e-5}, "b": {"work": 3e-5, "guard": 0}}
    ax = plot_shares(shares, 5e-6, "the least")
    pieces = [(bar.get_x(), bar.get_width()) for bar in ax.patches]
    expected = [(0, 10), (0, 30), (10, 20), (30, 0)]
    assert [pytest.approx(piece) for piece in pieces] == expected
    assert list(ax.lines[0].get_xdata()) == pytest.approx([5, 5])
    assert legend(ax) == [
        "the least",
        "work",
        "guard",
    ]
    assert ax.get_xlabel() == "\u00b5s a call"
    assert not plot_shares(shares).lines


def test_shares_drop_no_part():
    parts = {f"part {i}": 1e-6 * i for i in range(1, 8)}
    ax = plot_shares({"a": parts, "b": parts})
    assert legend(ax) == list(parts)
    ends = [bar.get_x() + bar.get_width() for bar in ax.patches]
    assert max(ends) == pytest.approx(28)  # all parts together, in microseconds


def test_blocks_over_time_start_at_zero_and_have_the_unit_of_most():
    blocks = {
        "alone": ([5.0, 5.1], [2e-6, 3e-6]),
        "busy": ([5.2, 5.3], [4e-6, 1e-3]),
        "again": ([5.4], [2e-6]),
    }
    ax = plot_over_time(blocks)
    lines = [(list(line.get_xdata()), list(line.get_ydata())) for line in ax.lines]
    assert [x for x, _ in lines] == [
        pytest.approx([0, 0.1]),
        pytest.approx([0.2, 0.3]),
        pytest.approx([0.4]),
    ]
    assert [y for _, y in lines] == [
        pytest.approx([2, 3]),
        pytest.approx([4, 1000]),
        pytest.approx([2]),
    ]
    assert texts(ax) == ["alone", "busy", "again"]
    assert place_of(ax, "busy")[0] == pytest.approx(0.25)
    colours = [line.get_color() for line in ax.lines]
    assert colours[0] == colours[2] != colours[1]
    assert ax.get_ylabel() == "\u00b5s a call"
    assert ax.get_yscale() == "log"
    assert ax.spines["left"].get_visible()
    assert not ax.spines["top"].get_visible()


def test_blocks_over_time_change_colour_with_each_label():
    ax = plot_over_time({label: ([1.0, 2.0], [1e-6, 1e-6]) for label in "abcd"})
    one, other, *rest = [line.get_color() for line in ax.lines]
    assert rest == [one, other]
    assert one != other


def test_distribution_leaves_out_the_longest_but_not_from_the_mean():
    ax = plot_distribution([1e-6] * 100 + [2e-6] * 98 + [1.0] * 2)
    assert sum(bar.get_height() for bar in ax.patches) == 190
    assert ax.get_xscale() == "log"
    median_line, mean_line = ax.lines
    assert list(median_line.get_xdata()) == pytest.approx([1.5, 1.5])
    assert list(mean_line.get_xdata()) == pytest.approx([10001.48, 10001.48])
    assert legend(ax) == ["median", "mean"]
    assert ax.get_xlabel() == "\u00b5s a call"


@pytest.mark.parametrize("longest", [1.3e-6, 1e-3, 100.0])
def test_distribution_has_marks_and_more_than_one_bar(longest):
    times = [1e-6 + 3e-9 * i for i in range(100)] * 3 + [longest]
    ax = plot_distribution(times)
    ax.figure.canvas.draw()
    left, right = ax.get_xlim()
    assert left < 1 < right
    assert len([tick for tick in ax.get_xticks() if left <= tick <= right]) > 1
    assert sum(bar.get_height() > 0 for bar in ax.patches) > 1


def test_break_even_marks_the_crossings_and_reaches_beyond_the_last():
    ax = plot_break_even({"plain": (0, 3e-3), "a": (0.1, 2e-3), "b": (0.5, 1e-3), "c": (1, 4e-3)})
    lines, dots = ax.lines[:4], ax.lines[4:]
    assert legend(ax) == ["plain", "a", "b", "c"]
    assert [list(line.get_xdata()) for line in lines] == [[0, 500]] * 4
    assert [list(line.get_ydata()) for line in lines] == [
        pytest.approx([0, 1.5]),
        pytest.approx([0.1, 1.1]),
        pytest.approx([0.5, 1.0]),
        pytest.approx([1, 3]),
    ]
    assert [(dot.get_xdata()[0], dot.get_ydata()[0]) for dot in dots] == [
        pytest.approx((100, 0.3)),
        pytest.approx((250, 0.75)),
    ]
    assert [dot.get_color() for dot in dots] == [line.get_color() for line in lines[1:3]]
    assert ax.get_ylabel() == "total time in s"


def test_break_even_without_a_crossing():
    ax = plot_break_even({"plain": (0, 1e-3), "worse": (0.5, 2e-3)})
    assert len(ax.lines) == 2
    assert ax.get_xlim() == (0, 1000)


def test_break_even_drops_no_candidate():
    costs = {"plain": (0, 1e-3)} | {f"candidate {i}": (0.1, 5e-4) for i in range(8)}
    ax = plot_break_even(costs)
    assert len(ax.lines) == 9 + 8


def test_break_even_wants_no_price_for_the_first():
    with pytest.raises(ValueError, match="price must be 0"):
        plot_break_even({"plain": (0.1, 1e-3), "b": (0.5, 5e-4)})
