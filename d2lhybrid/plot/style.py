"""What all pictures share, with matplotlib or without: colors, words, how a notebook shows them.

The colors are Okabe and Ito's (https://jfly.uni-koeln.de/color/): colorblind readers see them all.
They are for lines and areas. Most have too little contrast with white for letters, which are black.
"""

import os
import sys
from base64 import b64encode
from collections.abc import Iterable
from html import escape
from itertools import cycle

BLUE, ORANGE, RED, GRAY = "#0072B2", "#E69F00", "#D55E00", "#767676"
GREEN, PURPLE, SKY, BLACK = "#009E73", "#CC79A7", "#56B4E9", "black"
PALE_BLUE = "#D6E8F5"
PAGE = "--picture-ink:currentColor;--picture-ground:none"  # a drawing in the colors of its page
COLORS = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK, GRAY)


def colors_of(labels: Iterable[str], colors: Iterable[str] = COLORS) -> dict[str, str]:
    """Return label -> color; after the last color they begin again."""
    return dict(zip(labels, cycle(colors), strict=False))


def styles(labels: Iterable[str], colors: Iterable[str] = COLORS) -> dict[str, dict[str, str]]:
    """Return label -> a dict with a color and a marker, as matplotlib's `plot` takes them."""
    pairs = zip(colors_of(labels, colors).items(), cycle("os^DvpdP"), strict=False)
    return {label: dict(color=color, marker=marker) for (label, color), marker in pairs}


def joined(words: Iterable[str]) -> str:
    """Return words as a sentence lists them, 'a, b and c'; 'none' if there are none."""
    words = [word.replace("\n", " ") for word in words]
    if len(words) < 2:
        return "".join(words) or "none"
    most, last, semicolon = words[:-1], words[-1], any("," in word for word in words)
    return f"{'; '.join(most)}; and {last}" if semicolon else f"{', '.join(most)} and {last}"


class Picture:
    """What a notebook shows and stores together with its alternative text, `alt`.

    A subclass has a property `png`, an image of twice its size as bytes, and may have one `svg`.
    """

    alt, svg, png = "A picture.", "", b""

    def describe(self, alt: str) -> None:
        """Set the alternative text, which no measurement changes."""
        self.alt = " ".join(alt.split())

    def _repr_mimebundle_(self, include=None, exclude=None):
        data, metadata = {"text/plain": self.alt}, {}
        if svg := self.svg:
            data["image/svg+xml"] = svg
            page = f'<div style="{PAGE}">{svg}</div>'
        if png := self.png:
            image = data["image/png"] = b64encode(png).decode()
            width, height = (int.from_bytes(png[i : i + 4], "big") // 2 for i in (16, 20))
            metadata["image/png"] = dict(alt=self.alt, width=width, height=height)
            size = f'width="{width}" height="{height}"'
            tag = f'<img alt="{escape(self.alt)}" {size} src="data:image/png;base64,{image}">'
        # JupyterLab shows images without their alternative text, and SVG without the page's colors;
        # it prefers HTML, and so does a page in a browser. Stored outputs need none of it.
        if "JPY_SESSION_NAME" in os.environ or sys.platform == "emscripten":
            data["text/html"] = page if svg else tag
        return data, metadata

    def _ipython_display_(self):
        from IPython.display import display

        data, metadata = self._repr_mimebundle_()
        display(data, metadata=metadata, raw=True)
