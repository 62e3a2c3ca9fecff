"""Every picture of the course.

Pictures of programs and of bars over time are a `Drawing`, which needs no matplotlib; a new one
ends with its `show`. All others are `charts`: figures of matplotlib, which return their
Axes, or a list of them where there are several; a new one ends with `with_alt`. Both give the
picture its text for readers who cannot see it. A new function is public once `__init__.pyi` of the
package names it.
"""
