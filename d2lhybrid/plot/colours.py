"""Okabe and Ito's colours (https://jfly.uni-koeln.de/color/): colour-blind readers see them all.

They are for lines and areas. Most have too little contrast with white for letters, which are black.
"""

from collections.abc import Iterable
from itertools import cycle

BLUE, ORANGE, RED, GREY = "#0072B2", "#E69F00", "#D55E00", "#767676"
GREEN, PURPLE, SKY, BLACK = "#009E73", "#CC79A7", "#56B4E9", "black"
PALE_BLUE = "#D6E8F5"
COLOURS = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK, GREY)


def colours_of(labels: Iterable[str], colours: Iterable[str] = COLOURS) -> dict[str, str]:
    """A colour for each label; after the last they begin again."""
    return dict(zip(labels, cycle(colours), strict=False))


def looks_of(labels: Iterable[str], colours: Iterable[str] = COLOURS) -> dict[str, dict[str, str]]:
    """A colour and a shape for each label, as matplotlib's `plot` takes them."""
    looks = zip(colours_of(labels, colours).items(), cycle("os^DvpdP"), strict=False)
    return {label: dict(color=colour, marker=marker) for (label, colour), marker in looks}
