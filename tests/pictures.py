"""Reads from matplotlib's objects what is on a picture, and where."""

from itertools import combinations


def texts(ax):
    """All texts on a picture, in the order of drawing."""
    return [text.get_text() for text in ax.texts if text.get_text()]


def place_of(ax, label, which=0):
    """Where a text stands, as (x, y); `which` tells equal texts from each other."""
    return [text.get_position() for text in ax.texts if text.get_text() == label][which]


def arrows(ax):
    """The arrows of a picture, as pairs of where they start and end."""
    found = [text for text in ax.texts if getattr(text, "arrow_patch", None)]
    return {(arrow.xyann, arrow.xy) for arrow in found}


def legend(ax):
    """The texts of a legend."""
    return [text.get_text() for text in ax.get_legend().get_texts()]


def row_labels(ax):
    """What is written beside the rows, or beside the marks of the vertical axis."""
    return [label.get_text() for label in ax.get_yticklabels()]


def extents(ax):
    """The texts that are drawn with the space that each takes on paper, its box included."""
    if ax.figure.stale:  # or its layout is done
        ax.figure.draw_without_rendering()
    return [
        (text.get_text(), (text.get_bbox_patch() or text).get_window_extent())
        for text in ax.texts
        if text.get_text()
    ]


def overlapping(ax):
    """The pairs of texts that cover each other."""
    pairs = combinations(extents(ax), 2)
    return [(one, other) for (one, here), (other, there) in pairs if here.overlaps(there)]


def cut_off(ax):
    """The texts that reach beyond the edge of the figure."""
    paper = ax.figure.bbox
    return [
        text
        for text, box in extents(ax)
        if box.x0 < paper.x0 or box.y0 < paper.y0 or box.x1 > paper.x1 or box.y1 > paper.y1
    ]
