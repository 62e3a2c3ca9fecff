"""The pictures of curves over a size: what is on them, read from matplotlib."""

from pictures import cut_off, legend, overlapping, row_labels, texts

from d2lhybrid.plot.curves import plot_curves

KIB, MIB = 2**10, 2**20
STEPS = [(4 * KIB, 1.5), (64 * KIB, 5), (MIB, 20), (128 * MIB, 180)]


def points(line):
    return list(zip(line.get_xdata(), line.get_ydata(), strict=True))


def size_labels(ax):
    return [label.get_text() for label in ax.get_xticklabels()]


def test_each_curve_has_a_colour_and_a_shape_of_its_own():
    curves = {f"curve {i}": [(KIB, i + 1), (MIB, 10 * i + 1)] for i in range(7)}
    ax = plot_curves(curves, "GB/s", "bytes touched")
    assert [points(line) for line in ax.lines] == list(curves.values())
    assert len({line.get_color() for line in ax.lines}) == 7
    assert len({line.get_marker() for line in ax.lines}) == 7
    assert legend(ax) == list(curves)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("bytes touched", "GB/s")
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_a_curve_that_is_alone_needs_no_legend():
    assert plot_curves({"chase": STEPS}, "ns").get_legend() is None


def test_sizes_have_units_and_equal_steps():
    ax = plot_curves({"chase": STEPS}, "ns")
    labels = "4 KiB, 16 KiB, 64 KiB, 256 KiB, 1 MiB, 4 MiB, 16 MiB, 64 MiB"
    assert size_labels(ax) == labels.split(", ")
    assert list(ax.get_xticks()) == [4 * KIB * 4**i for i in range(8)]
    assert row_labels(ax) == ["3", "10", "30", "100"]
    low, high = ax.get_xlim()
    assert low < 4 * KIB
    assert high > 128 * MIB


def test_the_marks_of_the_axis_are_powers_of_two():
    for low, high, labels in [
        (512, 2048, ["512 bytes", "1 KiB", "2 KiB"]),
        (48 * KIB, 300 * KIB, ["64 KiB", "128 KiB", "256 KiB"]),
        (512 * MIB, 2**31, ["512 MiB", "1 GiB", "2 GiB"]),
        (2**20, 2**30, ["1 MiB", "4 MiB", "16 MiB", "64 MiB", "256 MiB", "1 GiB"]),
    ]:
        assert size_labels(plot_curves({"a": [(low, 1), (high, 2)]}, "ns")) == labels


def test_dotted_lines_mark_the_sizes_that_are_on_the_picture():
    marks = {"L1": 48 * KIB, "L2": 2 * MIB, "L3": 480 * MIB}
    ax = plot_curves({"chase": STEPS}, "ns", marks=marks)
    curve, *dotted = ax.lines
    assert [line.get_xdata()[0] for line in dotted] == [48 * KIB, 2 * MIB]
    assert {line.get_linestyle() for line in dotted} == {":"}
    assert texts(ax) == ["L1", "L2"]
    assert curve.zorder > dotted[0].zorder
    assert overlapping(ax) == []
    assert cut_off(ax) == []


def test_the_text_is_the_same_whatever_is_marked():
    alts = [
        plot_curves({"chase": STEPS}, "ns", marks=marks).figure.alt
        for marks in ({}, {"L1": 48 * KIB}, {"first": 32 * KIB, "second": MIB})
    ]
    assert len(set(alts)) == 1
