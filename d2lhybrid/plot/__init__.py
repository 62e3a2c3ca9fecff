"""Every picture of the course.

Each function makes a figure and returns its matplotlib Axes, or a list of them where there are
several. A new one ends with `with_alt`, which gives the picture its text for readers who cannot
see it, and has its name in `_NAMES`.
"""
