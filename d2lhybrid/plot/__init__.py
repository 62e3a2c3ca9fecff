"""All pictures of the course.

Pictures of programs and of bars over time are a `Drawing`, which doesn't need Matplotlib; a new
one ends with its `show`. All others are in `charts`: Matplotlib figures, which return their
axes, or a list of them if there are several; a new one ends with `with_alt`. Both give the
picture its text for readers who cannot see it. A new function becomes public when the package's
`__init__.pyi` names it.
"""
