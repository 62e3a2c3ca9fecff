"""Every picture of the course.

Pictures of programs, of times as bars and of steps are a `Drawing`, which needs no matplotlib; a
new one ends with its `show`. Every other function makes a figure and returns its matplotlib Axes,
or a list of them where there are several; a new one ends with `with_alt`. Both give the picture its
text for readers who cannot see it. The name of a new function belongs in `_NAMES`.
"""
