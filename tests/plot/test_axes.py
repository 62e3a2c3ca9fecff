"""What all charts share: the figure with its text, scales, rows; and the colors and words."""

from base64 import b64decode
from io import BytesIO

import pytest
from pictures import row_labels
from PIL import Image, ImageChops

from d2lhybrid.plot.axes import label_rows, log_scale, new_axes, plain, saved, with_alt
from d2lhybrid.plot.style import BLUE, joined


def test_a_notebook_stores_a_chart_at_twice_its_density_with_its_text(shell, monkeypatch):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    published = []
    note = lambda data, metadata=None, **_: published.append((data, metadata))  # noqa: E731
    monkeypatch.setattr(shell.display_pub, "publish", note)
    monkeypatch.setattr("IPython.core.interactiveshell.InteractiveShell.initialized", lambda: True)
    assert shell.display_formatter.format(with_alt(new_axes(2, 1), "Dots", "ab").figure) == ({}, {})
    ((data, metadata),) = published
    assert sorted(data) == ["image/png", "text/plain"]
    about = metadata["image/png"]
    assert data["text/plain"] == about["alt"] == "Dots: a and b."
    assert about["figure"] == [144, 72]
    pixels = Image.open(BytesIO(b64decode(data["image/png"]))).size
    assert [2 * about["width"], 2 * about["height"]] == pytest.approx(pixels, abs=2)
    assert pixels == pytest.approx((2 * 144 + 16, 2 * 72 + 16), abs=60)


def test_jupyterlab_gets_the_text_in_html(monkeypatch):
    monkeypatch.setenv("JPY_SESSION_NAME", "a.ipynb")
    data, metadata = with_alt(new_axes(2, 1), "Dots \n& <lines>").figure._repr_mimebundle_()
    width, height = (metadata["image/png"][side] for side in ("width", "height"))
    assert data["text/html"] == (
        f'<img alt="Dots &amp; &lt;lines&gt;." width="{width}" height="{height}" '
        f'src="data:image/png;base64,{data["image/png"]}">'
    )


def test_palette_makes_a_png_small_and_changes_nothing_to_the_eye():
    figure = new_axes(3, 2).figure
    figure.axes[0].plot([1, 2, 3], [1, 4, 9], color=BLUE, label="a curve")
    large, png = BytesIO(), saved(figure)
    figure.savefig(large, format="png", dpi=144)
    assert len(png) < 0.6 * len(large.getvalue())
    one, other = (Image.open(BytesIO(data)).convert("RGB") for data in (large.getvalue(), png))
    assert max(most for _, most in ImageChops.difference(one, other).getextrema()) < 50


def test_rows_are_counted_downwards():
    ax = new_axes(1, 1, xlabel="across")
    label_rows(ax, ["a", "b"], [0, 2], room=1)
    assert (row_labels(ax), ax.get_ylim(), ax.get_xlabel()) == (["a", "b"], (3, -1), "across")


ENDS = (1, 3000), (0.03, 40), (5, 5), (101, 109), (1.01, 9.9), (0.11, 99), (1e-6, 1e6), (1, 1e5)


@pytest.mark.parametrize("ends", ENDS)
def test_log_scale_has_a_few_marks_between_which_all_values_lie(ends):
    ax = new_axes(6.5, 5)
    for axis in (ax.xaxis, ax.yaxis):
        log_scale(axis, ends)
    ax.figure.draw_without_rendering()
    for axis in (ax.xaxis, ax.yaxis):
        low, high = axis.get_view_interval()
        assert low < min(ends) <= max(ends) < high
        marks = [tick for tick in axis.get_ticklocs() if low <= tick <= high]
        assert 2 <= len(marks) <= 7
        assert axis.get_scale() == "log"
    assert not ax.xaxis.get_minorticklocs().size


def test_marks_are_plain_numbers_unless_they_are_very_small():
    assert [plain(number) for number in (1000, 0.5, 1e-4)] == ["1,000", "0.5", "0.0001"]
    assert [plain(number) for number in (1e-8, 3e-7)] == ["$10^{-8}$", r"$3\cdot10^{-7}$"]


def test_words_are_joined_as_in_a_sentence():
    assert [joined("a"), joined("ab"), joined("abc")] == ["a", "a and b", "a, b and c"]
    assert joined(["a\nb"]) == "a b"
    assert joined(["a, b", "c"]) == "a, b; and c"
