"""What all pictures share: colours, the size and sharpness of a figure, the look of its axes.

The colours are Okabe and Ito's (https://jfly.uni-koeln.de/color/): colour-blind readers can tell
them apart. A picture has a white ground of its own, so that it is readable in a dark notebook too.
"""

from collections.abc import Collection

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

BLUE, ORANGE, RED, GREY = "#0072B2", "#E69F00", "#D55E00", "#767676"
GREEN, PURPLE, SKY, BLACK = "#009E73", "#CC79A7", "#56B4E9", "black"
PALE_BLUE, PALE_ORANGE = "#D6E8F5", "#FBE7BE"


def new_axes(width: float, height: float) -> Axes:
    """The Axes of a new figure, `width` by `height` inches; sharp in a notebook."""
    try:
        from matplotlib_inline.backend_inline import set_matplotlib_formats

        set_matplotlib_formats("retina")  # PNG at twice the density
    except (ImportError, AttributeError):
        pass  # outside a notebook there is nothing to set
    size = (width, height)
    return plt.subplots(figsize=size, dpi=72, facecolor="white", layout="constrained")[1]


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
