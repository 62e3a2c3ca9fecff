"""What needs matplotlib in every picture: figures, scales, labels, legends; a drawing as PNG."""

from collections.abc import Collection, Iterable, Sequence
from io import BytesIO
from math import sqrt

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import BoxStyle, Ellipse, FancyBboxPatch, Polygon
from matplotlib.text import Annotation, Text
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator
from PIL import Image

from .style import Picture, joined

LEGENDS = {
    "inside": {},
    "beside": dict(loc="upper left", bbox_to_anchor=(1, 0.95)),
    "above": dict(loc="lower left", bbox_to_anchor=(0, 1), ncols=3),
    "above, right": dict(loc="lower right", bbox_to_anchor=(1, 1), ncols=9),
}
SIDES = {"start": "left", "middle": "center", "end": "right"}


class Chart(Picture, Figure):
    """A figure with an alternative text, which a notebook stores and shows instead of its name."""

    @property
    def png(self):
        """The figure as PNG, in bytes."""
        return saved(self, bbox_inches="tight")  # as IPython does

    def _repr_mimebundle_(self, include=None, exclude=None):
        data, metadata = super()._repr_mimebundle_()
        size = [round(float(side) * self.dpi, 2) for side in self.get_size_inches()]
        metadata["image/png"]["figure"] = size  # a test sees whether anything sticks out of it
        return data, metadata


def new_axes(width: float, height: float, **options) -> Axes:
    """Return the Axes of a new figure, `width` by `height` inches.

    `options` are properties of the Axes, such as `xlabel`.
    """
    return new_panels(width, height, 1, **options)[0]


def new_panels(width: float, height: float, panels: int, **options) -> list[Axes]:
    """Return several Axes side by side in a new figure, with one vertical axis; see `new_axes`."""
    ground = dict(dpi=72, facecolor="white", layout="constrained")  # white in a dark notebook, too
    figure = plt.figure(figsize=(width, height), FigureClass=Chart, **ground)
    with plt.rc_context({"axes.axisbelow": True, "axes.labelsize": 12, "axes.titlesize": 13}):
        axes = figure.subplots(1, panels, sharey=True, squeeze=False, subplot_kw=options)[0]
    for ax in axes:
        ax.spines[["right", "top"]].set_visible(False)
        ax.tick_params(labelsize=12)
    return list(axes)


def with_alt(ax: Axes, text: str, *lists: Iterable[str]) -> Axes:
    """Give the figure its alternative text, with lists of what is drawn; returns `ax`."""
    ax.figure.describe(f"{text}{': ' * bool(lists)}{'; '.join(map(joined, lists))}.")
    return ax


def annotate(ax: Axes, text: str, at: tuple, offset: tuple[float, float], **options) -> Annotation:
    """Write beside the place `at`, `offset` points away; `options` are those of matplotlib."""
    options = dict(fontsize=12, textcoords="offset points") | options
    return ax.annotate(text, xy=at, xytext=offset, **options)


def beside(ax: Axes, side: int, row: float, text: str, points: float, **options) -> Annotation:
    """Write beside a row, so many points away from the left side (0) or the right one (1)."""
    options = dict(va="center_baseline", xycoords=("axes fraction", "data")) | options
    return annotate(ax, text, (side, row), (points, 0), **options)


def legend(ax: Axes, where: str, *entries: Iterable, **options) -> None:
    """Add a legend at a place of `LEGENDS`; `entries` are handles and texts, or all labels."""
    ax.legend(*entries, fontsize=12, frameon=False, **LEGENDS[where], **options)


def label_rows(
    ax: Axes, labels: Collection[str], rows: Sequence[float] | None = None, room: float = 0.5
) -> None:
    """Label rows on the vertical axis, which counts downwards.

    `rows` are their places, by default 0, 1, 2 and so on; beyond the first and the last there is
    `room`.
    """
    rows = range(len(labels)) if rows is None else rows
    ax.set_yticks(rows, list(labels))
    ax.set_ylim(rows[-1] + room, -room)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)


def plain(number: float, _=None) -> str:
    """Return the text of a mark of an axis without an exponent: 1,000 or 0.1.

    Numbers below 0.0001 have one: 10⁻⁸. Matplotlib's second argument is not used.
    """
    if number >= 1e-4:
        return f"{number:,.12g}"
    digit, power = f"{number:.0e}".split("e")
    return f"${digit}\\cdot10^{{{int(power)}}}$".replace("$1\\cdot", "$")


def log_scale(
    axis: Axis, values: Iterable[float], formatter=plain, pad: float = 0.05, **options
) -> None:
    """Make an axis logarithmic that shows the values and two marks or more, at round numbers.

    Beyond the first and the last value, it has `pad` of its length. `formatter` writes a mark;
    `options` are those of matplotlib's `LogLocator`, such as `base`.
    """
    low, high = min(values), max(values)
    if pad:
        middle, reach = sqrt(low * high), max(high / low, 3) ** (0.5 + pad)
        low, high = middle / reach, middle * reach
    axis.axes.set(**{f"{axis.axis_name}scale": "log", f"{axis.axis_name}lim": (low, high)})
    span = high / low
    if span < 5 and "base" not in options:
        marks = MaxNLocator(5, steps=(1, 2, 5, 10))
    else:
        subs = (1, 2, 5) if span < 30 else (1, 3) if span < 3000 else (1,)
        marks = LogLocator(**(dict(subs=subs, numticks=7) | options))
    axis.set(major_locator=marks, minor_locator=NullLocator(), major_formatter=formatter)


# A drawing as PNG: matplotlib paints the same parts.


def paint(parts: list[tuple], view: tuple[int, int, int, int]) -> bytes:
    """Return the `parts` in the `view` of a Drawing as PNG at twice its density, black on white.

    GitHub's view of a notebook leaves SVG outputs out, for security
    (https://github.com/xflr6/graphviz/issues/182, https://github.com/IRkernel/IRkernel/issues/145).
    """
    left, top, width, height = view
    figure = Figure((width / 72, height / 72), dpi=72, facecolor="white")
    ax = figure.add_axes((0, 0, 1, 1), xlim=(left, left + width), ylim=(top + height, top))
    ax.axis("off")
    for element, look, text in parts:
        get = look.get
        colors = dict(
            facecolor=to_rgba(get("fill", "black"), get("fill_opacity")),
            edgecolor=to_rgba(get("stroke", "none"), get("stroke_opacity")),
            linewidth=get("stroke_width", 1),
        )
        if element == "text":
            font = dict(family=get("font_family"), weight=get("font_weight"), size=get("font_size"))
            font |= dict(style=get("font_style"), ha=SIDES[get("text_anchor")], parse_math=False)
            part = Text(look["x"], look["y"], text, **font)
        elif element == "rect" and "ry" in look:  # as round as it can be
            middle = look["x"] + look["rx"], look["y"] + look["ry"]
            part = Ellipse(middle, look["width"], look["height"], **colors)
        elif element == "rect":
            style = BoxStyle.Round(pad=0, rounding_size=get("rx", 0))
            size = look["width"], look["height"]
            part = FancyBboxPatch((look["x"], look["y"]), *size, boxstyle=style, **colors)
        else:
            part = Polygon(look["points"], closed=element == "polygon", **colors)
        ax.add_artist(part)
    return saved(figure)


def saved(figure: Figure, **options) -> bytes:
    """Return a figure as PNG at twice its density, with a palette: a third of the usual size."""
    file = BytesIO()
    figure.savefig(file, format="png", dpi=2 * figure.dpi, **options)
    picture, file = Image.open(file).convert("RGB"), BytesIO()
    picture.quantize(256, dither=Image.Dither.NONE).save(file, "png", optimize=True)
    return file.getvalue()
