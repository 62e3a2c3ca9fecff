"""A drawing as PNG, for viewers that show no SVG: matplotlib paints the same parts."""

from io import BytesIO

from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import BoxStyle, Ellipse, FancyBboxPatch, Polygon
from matplotlib.text import Text

from .style import smaller

SIDES = {"start": "left", "middle": "center", "end": "right"}


def png(parts: list[tuple], view: tuple[int, int, int, int]) -> bytes:
    """The `parts` and the `view` of a Drawing at twice its density, black on white."""
    left, top, width, height = view
    figure = Figure((width / 72, height / 72), dpi=144, facecolor="white")
    ax = figure.add_axes((0, 0, 1, 1), xlim=(left, left + width), ylim=(top + height, top))
    ax.axis("off")
    for element, look, text in parts:
        get = look.get
        fill = to_rgba(get("fill", "black"), get("fill_opacity"))
        stroke = to_rgba(get("stroke", "none"), get("stroke_opacity"))
        paint = dict(facecolor=fill, edgecolor=stroke, linewidth=get("stroke_width", 1))
        if element == "text":
            kind = dict(
                family=get("font_family"), weight=get("font_weight"), style=get("font_style")
            )
            kind |= dict(size=get("font_size"), ha=SIDES[get("text_anchor")], parse_math=False)
            part = Text(look["x"], look["y"], text, **kind)
        elif element == "rect" and "ry" in look:  # as round as it can be
            middle = look["x"] + look["rx"], look["y"] + look["ry"]
            part = Ellipse(middle, look["width"], look["height"], **paint)
        elif element == "rect":
            style = BoxStyle.Round(pad=0, rounding_size=get("rx", 0))
            size = look["width"], look["height"]
            part = FancyBboxPatch((look["x"], look["y"]), *size, boxstyle=style, **paint)
        else:
            part = Polygon(look["points"], closed=element == "polygon", **paint)
        ax.add_artist(part)
    file = BytesIO()
    figure.savefig(file, format="png")
    return smaller(file.getvalue())
