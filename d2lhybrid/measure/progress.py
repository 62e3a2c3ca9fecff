"""A line that shows how far a long measurement is."""

import sys
from collections.abc import Callable


def progress_line(progress: bool | Callable[[str], None] | None) -> Callable[[str], None]:
    """A function that shows a text on stderr in place of the previous one; '' erases it.

    With `progress` None it shows something only in a terminal, so that nothing of it is ever
    stored in a notebook; with False nothing. A function is used as it is: it gets each text, and
    '' at the end.
    """
    if callable(progress):
        return progress
    stream = sys.stderr
    visible = stream.isatty() if progress is None else progress
    width = 0

    def show(text):
        nonlocal width
        if visible and (text or width):
            stream.write("\r" + text.ljust(width) + ("" if text else "\r"))
            stream.flush()
            width = len(text)

    return show
