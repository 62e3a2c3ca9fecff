"""What all pictures share: the figure with its text, legends, the look of axes."""

import os
import sys
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Sequence
from html import escape
from io import BytesIO

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from PIL import Image

STYLE = {
    "axes.axisbelow": True,
    "axes.labelsize": 12,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 13,
}
LEGENDS = {
    "inside": {},
    "beside": dict(loc="upper left", bbox_to_anchor=(1, 0.95)),
    "above": dict(loc="lower left", bbox_to_anchor=(0, 1), ncols=3),
    "above, right": dict(loc="lower right", bbox_to_anchor=(1, 1), ncols=9),
}


class Picture(Figure):
    """A figure with an alternative text, which a notebook stores and shows instead of its name."""

    alt = "A picture."

    def _repr_pretty_(self, printer, cycle):
        printer.text(self.alt)


def new_axes(width: float, height: float, **look) -> Axes:
    """The Axes of a new figure, `width` by `height` inches; `look` is what they are set to."""
    return new_panels(width, height, 1, **look)[0]


def new_panels(width: float, height: float, panels: int, **look) -> list[Axes]:
    """The same with several Axes side by side, which have one vertical axis."""
    if shell := "IPython" in sys.modules and sys.modules["IPython"].get_ipython():
        _prepare(shell)
    ground = dict(dpi=72, facecolor="white", layout="constrained")  # white in a dark notebook, too
    figure = plt.figure(figsize=(width, height), FigureClass=Picture, **ground)
    with plt.rc_context(STYLE):
        axes = figure.subplots(1, panels, sharey=True, squeeze=False, subplot_kw=look)[0]
    for ax in axes:
        ax.tick_params(labelsize=12)
    return list(axes)


def with_alt(ax: Axes, text: str) -> Axes:
    """Give the picture its alternative text, which no measurement changes; returns `ax`."""
    ax.figure.alt = " ".join(text.split())
    return ax


def _prepare(shell):
    """Ask a notebook's IPython for PNG at twice the density, with the alternative text."""
    from matplotlib_inline.backend_inline import set_matplotlib_formats

    set_matplotlib_formats("retina")
    formatters = shell.display_formatter.formatters
    draw = formatters["image/png"].lookup_by_type(Figure)

    def png(picture):
        data, shown = draw(picture)
        size = [round(float(side) * picture.dpi, 2) for side in picture.get_size_inches()]
        data = b64encode(smaller(b64decode(data))).decode()
        return data, shown | {"alt": picture.alt, "figure": size}

    def html(picture):
        data, shown = png(picture)
        size = f'width="{shown["width"]}" height="{shown["height"]}"'
        return f'<img alt="{escape(shown["alt"])}" {size} src="data:image/png;base64,{data}">'

    formatters["image/png"].for_type(Picture, png)
    # JupyterLab shows images without their alternative text, and prefers HTML to images. Stored
    # outputs are made without its server; they stay small and are the same everywhere.
    if "JPY_SESSION_NAME" in os.environ:
        formatters["text/html"].for_type(Picture, html)


def smaller(png: bytes) -> bytes:
    """A PNG with a palette: a third of its size, and the same to the eye."""
    file, picture = BytesIO(), Image.open(BytesIO(png)).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(file, "png", optimize=True)
    return file.getvalue()


def write(ax: Axes, text: str, at: tuple, offset: tuple[float, float], **look) -> Annotation:
    """Write beside a place, `offset` points away; `look` is for matplotlib's `annotate`."""
    look = dict(fontsize=12) | look
    return ax.annotate(text, xy=at, xytext=offset, textcoords="offset points", **look)


def write_beside(ax: Axes, side: int, row: float, text: str, points: float, **look) -> Annotation:
    """Write beside a row, so many points away from the left side (0) or the right one (1)."""
    look = dict(va="center_baseline") | look  # as the labels of the rows
    return write(ax, text, (side, row), (points, 0), xycoords=("axes fraction", "data"), **look)


def add_legend(ax: Axes, where: str, *entries: Iterable, **look) -> None:
    """Add a legend at a place of `LEGENDS`; `entries` are handles and texts, or all labels."""
    ax.legend(*entries, fontsize=12, frameon=False, **LEGENDS[where], **look)


def label_rows(
    ax: Axes, labels: Collection[str], rows: Sequence[float] | None = None, room: float = 0.5
) -> None:
    """Count rows downwards, with `room` beyond the first and the last, and label each."""
    rows = range(len(labels)) if rows is None else rows
    ax.set_yticks(rows, list(labels))
    ax.set_ylim(rows[-1] + room, -room)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
