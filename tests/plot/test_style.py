"""What all pictures share: the figure, and the frame of its axes."""

import base64
import struct
import sys
from io import BytesIO

import pytest
from IPython.core.interactiveshell import InteractiveShell
from pictures import row_labels
from PIL import Image, ImageChops, ImageStat

from d2lhybrid.plot.colours import BLUE, looks_of
from d2lhybrid.plot.style import label_rows, new_axes, smaller, with_alt
from d2lhybrid.plot.words import joined


def visible_sides(ax):
    return {side for side, spine in ax.spines.items() if spine.get_visible()}


def test_a_figure_is_white_and_of_the_size_asked_for():
    figure = new_axes(6, 3).figure
    assert figure.get_facecolor() == (1, 1, 1, 1)
    assert tuple(figure.get_size_inches()) == (6, 3)
    assert figure.dpi == 72


def shown(shell):
    ax = with_alt(new_axes(2, 1), "Dots \n& <lines>.")
    return shell.display_formatter.format(ax.figure)


def test_a_notebook_stores_the_text_of_a_picture(shell, monkeypatch):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    data, metadata = shown(shell)
    assert sorted(data) == ["image/png", "text/plain"]
    assert data["text/plain"] == "Dots & <lines>."
    assert metadata["image/png"]["alt"] == "Dots & <lines>."
    assert metadata["image/png"]["figure"] == [144, 72]
    png = base64.b64decode(data["image/png"])
    pixels = struct.unpack(">II", png[16:24])
    size = [metadata["image/png"][side] for side in ("width", "height")]
    assert [2 * side for side in size] == pytest.approx(pixels, abs=2)  # twice the density


def test_a_stored_picture_is_small_and_looks_the_same():
    figure = new_axes(3, 2).figure
    figure.axes[0].plot([1, 2, 3], [1, 4, 9], color=BLUE, label="a curve")
    figure.axes[0].legend()
    large = BytesIO()
    figure.savefig(large, format="png", dpi=144)
    png = smaller(large.getvalue())
    assert len(png) < 0.6 * len(large.getvalue())
    one, other = (Image.open(BytesIO(data)).convert("RGB") for data in (large.getvalue(), png))
    assert one.size == other.size
    assert max(most for _, most in ImageChops.difference(one, other).getextrema()) < 50
    mean = ImageStat.Stat(ImageChops.difference(one, other)).mean
    assert max(mean) < 0.1


def test_jupyterlab_gets_the_text_in_html(shell, monkeypatch):
    monkeypatch.setenv("JPY_SESSION_NAME", "a.ipynb")
    data, metadata = shown(shell)
    width, height = (metadata["image/png"][side] for side in ("width", "height"))
    assert data["text/html"] == (
        f'<img alt="Dots &amp; &lt;lines&gt;." width="{width}" height="{height}" '
        f'src="data:image/png;base64,{data["image/png"]}">'
    )


def test_figures_of_others_stay_as_they_are(shell):
    import matplotlib.pyplot as plt

    new_axes(1, 1)
    figure = plt.figure()
    figure.subplots()
    data, metadata = shell.display_formatter.format(figure)
    assert data["text/plain"] == "<Figure size 640x480 with 1 Axes>"
    assert "alt" not in metadata["image/png"]


def test_words_are_joined_as_a_sentence_has_them():
    assert [joined("a"), joined("ab"), joined("abc")] == ["a", "a and b", "a, b and c"]
    assert joined(["a\nb"]) == "a b"
    assert joined(["a, b", "c"]) == "a, b; and c"


def test_a_figure_needs_no_notebook_and_starts_none():
    assert not InteractiveShell.initialized()
    assert tuple(new_axes(1, 1).figure.get_size_inches()) == (1, 1)
    assert not InteractiveShell.initialized()


def test_a_figure_needs_no_ipython(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython")
    assert tuple(new_axes(1, 1).figure.get_size_inches()) == (1, 1)


def test_rows_are_counted_downwards_and_have_no_scale():
    ax = new_axes(1, 1, xlabel="across")
    assert visible_sides(ax) == {"left", "bottom"}
    label_rows(ax, ["a", "b"], [0, 2], room=1)
    assert visible_sides(ax) == {"bottom"}
    assert row_labels(ax) == ["a", "b"]
    assert (ax.get_ylim(), ax.get_xlabel()) == ((3, -1), "across")


def test_looks_begin_again_after_the_last_and_drop_no_label():
    looks = looks_of(map(str, range(20)))
    assert [list(look) for look in looks.values()] == [["color", "marker"]] * 20
    assert len({tuple(look.values()) for look in looks.values()}) == 8
