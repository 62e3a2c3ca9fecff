"""Lines of the user's program, for errors: the one that runs, and the one that returned last."""

import linecache
import os
import sys
from pathlib import Path

from . import torch

# Files whose lines are not the user's program.
NOT_THE_USERS = tuple(str(Path(file).parent) + os.sep for file in (__file__, torch.__file__))


def users_line():
    """The line of the user's program that runs now: "line 3 of forward, `if x > 0:`"."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(NOT_THE_USERS):
        frame = frame.f_back
    return line_of(frame.f_code, frame.f_lineno, frame.f_globals)


def line_of(code, number, names):
    """Return line `number` of some code, as `users_line` does; `names` are its global ones."""
    place = f"line {number}"
    if not code.co_name.startswith(("<module", "<cell")):
        place += f" of {code.co_name}"
    text = linecache.getline(code.co_filename, number, names).strip()
    return f"{place}, `{text}`" if text else place


class ProfileHook:
    """A context manager within which Python calls `on_event` of each function that it runs.

    `sys.setprofile` says with what, and notebook 01 explains it. A profiler that was there before
    is called, too. One written in C cannot be called or set from Python; it stays off.
    """

    def __enter__(self):
        before = sys.getprofile()
        self._before = before if callable(before) else None
        sys.setprofile(self._hook)
        return self

    def __exit__(self, *error):
        sys.setprofile(self._before)

    def _hook(self, *event):
        self.on_event(*event)
        if self._before:
            self._before(*event)


class LastReturn(ProfileHook):
    """Keeps where a function of the user's returned last: `place` is what `line_of` needs."""

    place = None

    def on_event(self, frame, event, argument):
        if event == "return" and not frame.f_code.co_filename.startswith(NOT_THE_USERS):
            self.place = frame.f_code, frame.f_lineno, frame.f_globals
