"""Reads from matplotlib's objects what is on a picture."""

from itertools import combinations


def texts(ax):
    """All texts on a picture, in the order of drawing."""
    return [text.get_text() for text in ax.texts if text.get_text()]


def legend(ax):
    """The texts of a legend."""
    return [text.get_text() for text in ax.get_legend().get_texts()]


def row_labels(ax):
    """What is written beside the rows, or beside the marks of the vertical axis."""
    return [label.get_text() for label in ax.get_yticklabels()]


def overlapping(figure, texts):
    """The pairs of texts that cover each other on paper."""
    figure.draw_without_rendering()
    pairs = combinations([text for text in texts if text.get_text()], 2)
    areas = [(a, a.get_window_extent(), b, b.get_window_extent()) for a, b in pairs]
    return [(a.get_text(), b.get_text()) for a, one, b, other in areas if one.overlaps(other)]
