"""A drawing as PNG: matplotlib paints the same parts.

GitHub's view of a notebook leaves SVG outputs out, for security
(https://github.com/xflr6/graphviz/issues/182, https://github.com/IRkernel/IRkernel/issues/145).
"""

from io import BytesIO

from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import BoxStyle, Ellipse, FancyBboxPatch, Polygon
from matplotlib.text import Text
from PIL import Image

SIDES = {"start": "left", "middle": "center", "end": "right"}


def paint(parts: list[tuple], view: tuple[int, int, int, int]) -> bytes:
    """The `parts` and the `view` of a Drawing as PNG at twice its density, black on white."""
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
            corner, size = (look["x"], look["y"]), (look["width"], look["height"])
            part = FancyBboxPatch(corner, *size, boxstyle=style, **colors)
        else:
            part = Polygon(look["points"], closed=element == "polygon", **colors)
        ax.add_artist(part)
    return saved(figure)


def saved(figure: Figure, **options) -> bytes:
    """A figure as PNG at twice its density, with a palette: a third of the size of one without."""
    file = BytesIO()
    figure.savefig(file, format="png", dpi=2 * figure.dpi, **options)
    picture, file = Image.open(file).convert("RGB"), BytesIO()
    picture.quantize(256, dither=Image.Dither.NONE).save(file, "png", optimize=True)
    return file.getvalue()
