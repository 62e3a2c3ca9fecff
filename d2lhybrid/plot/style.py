"""What all pictures share: colours, the figure with its text, the look of its axes.

The colours are Okabe and Ito's (https://jfly.uni-koeln.de/color/): colour-blind readers can tell
them apart. As lines and areas they are strong enough; letters and digits are black, because most
of these colours have too little contrast with white for them. A picture has a white ground of
its own, so that it is readable in a dark notebook too.

Each picture says in a sentence or two what it shows, for readers who cannot see it. The sentence
has no figure that was measured: it must be the same at every run.
"""

import os
import sys
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable
from html import escape
from io import BytesIO

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

BLUE, ORANGE, RED, GREY = "#0072B2", "#E69F00", "#D55E00", "#767676"
GREEN, PURPLE, SKY, BLACK = "#009E73", "#CC79A7", "#56B4E9", "black"
PALE_BLUE, PALE_ORANGE = "#D6E8F5", "#FBE7BE"


class Picture(Figure):
    """A figure with an alternative text, which a notebook stores and shows instead of its name."""

    alt = "A picture."

    def _repr_pretty_(self, printer, cycle):
        printer.text(self.alt)


def new_axes(width: float, height: float) -> Axes:
    """The Axes of a new figure, `width` by `height` inches; sharp in a notebook."""
    _prepare_notebook()
    look = dict(figsize=(width, height), dpi=72, facecolor="white", layout="constrained")
    return plt.subplots(FigureClass=Picture, **look)[1]


def say(ax: Axes, text: str) -> None:
    """Give the picture its alternative text."""
    ax.figure.alt = " ".join(text.split())


def listed(words: Iterable[str]) -> str:
    """Words as a sentence lists them: 'a, b and c'."""
    *most, last = [word.replace("\n", " ") for word in words]
    if not most:
        return last
    comma = "; " if any("," in word for word in [*most, last]) else ", "
    return f"{comma.join(most)}{';' * (comma == '; ')} and {last}"


def _prepare_notebook():
    """Ask IPython for PNG at twice the density, with the alternative text."""
    if "IPython" not in sys.modules:
        return
    from IPython import get_ipython

    shell = get_ipython()
    if shell is None:
        return  # outside a notebook there is nothing to prepare
    from matplotlib_inline.backend_inline import set_matplotlib_formats

    set_matplotlib_formats("retina")
    formatters = shell.display_formatter.formatters
    draw = formatters["image/png"].lookup_by_type(Figure)

    def png(picture):
        data, shown = draw(picture)
        data = smaller(data)
        inches = picture.get_size_inches()
        size = [round(float(side) * picture.dpi, 2) for side in inches]
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


def smaller(png: str) -> str:
    """A PNG, as base64, with a palette: a third of its size, and the same to the eye."""
    file = BytesIO()
    with Image.open(BytesIO(b64decode(png))) as picture:
        few = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
        few.save(file, "png", optimize=True)
    return b64encode(file.getvalue()).decode()


def dress(
    ax: Axes,
    xlabel: str = "",
    ylabel: str = "",
    *,
    title: str = "",
    sides: Collection[str] = ("bottom",),
) -> None:
    """Label the axes, and keep of the frame only the `sides` that carry a scale."""
    ax.set_title(title, fontsize=13)
    ax.set_xlabel(xlabel, fontsize=12)
    ax.set_ylabel(ylabel, fontsize=12)
    for side, spine in ax.spines.items():
        spine.set_visible(side in sides)
    ax.tick_params(labelsize=12)
    if "left" not in sides:
        ax.tick_params(axis="y", length=0)
