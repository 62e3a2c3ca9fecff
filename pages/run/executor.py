"""Run the cells of a page one by one, as Jupyter does. A browser has no IPython."""

import ast
import builtins
import linecache
import sys
import traceback
import types
from time import monotonic

LONGEST = 100_000  # characters that a cell may print, and that a value or a message may have
MOST = 1000  # outputs of a cell; both are there so that an endless loop does not fill memory
OFTEN = 0.05  # seconds from one message about what was printed to the next, for the same reason


class Shell:
    """Runs cells in one namespace. `send(output)` gets each output as a notebook's file has it."""

    def __init__(self, send):
        self.send, self.displayed = send, []
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        self.names = vars(main)
        self.names["sys"] = sys  # the page leaves out the notebook's first cell, which imports it
        builtins.display = self.display  # as IPython does
        builtins.input = no_input
        self.streams = sys.stdout, sys.stderr = Stream(self, "stdout"), Stream(self, "stderr")

    def display(self, *values):
        for value in values:
            self.displayed.append(value)
            self.put("display_data", data=bundle(value))

    def put(self, kind, **output):
        self.flush()  # what was printed before comes first
        self.give({"output_type": kind, **output})

    def give(self, output):
        self.given += 1
        if self.given < MOST:
            self.send(output)
        elif self.given == MOST:
            self.send({"output_type": "stream", "name": "stdout", "text": "..."})

    def flush(self):
        for stream in self.streams:
            stream.flush()

    def run(self, text, number):
        """Run a cell; returns whether it ended without an error. Its last expression is shown."""
        self.displayed.clear()
        self.given = 0
        for stream in self.streams:
            stream.left = LONGEST
        name = f"<cell {number}>"  # whose lines tracebacks and inspect.getsource find here:
        linecache.cache[name] = len(text), None, text.splitlines(True), name
        try:
            tree = ast.parse(text, name)
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, name, "exec"), self.names)
            if last:
                value = eval(compile(ast.Expression(last.value), name, "eval"), self.names)
                if value is not None and not any(value is one for one in self.displayed):
                    self.put("execute_result", data=bundle(value))
        except BaseException as error:  # SystemExit, too, ends the cell alone
            self.flush()
            self.send({"output_type": "error", "traceback": told(error)})
            return False
        self.flush()
        return True


class Stream:
    """What `print` writes to. Nothing is sent but what a page can show."""

    encoding, errors = "utf-8", "strict"

    def __init__(self, shell, name):
        self.shell, self.name, self.left, self.held, self.sent = shell, name, LONGEST, "", 0

    def write(self, text):
        if self.left > 0:
            for other in self.shell.streams:  # what the other one holds comes first
                if other is not self:
                    other.flush()
            self.held += text[: self.left]
            self.left -= len(text)
            if self.left <= 0:
                self.held += "\n..."
            if monotonic() - self.sent > OFTEN:
                self.flush()
        return len(text)

    def flush(self):
        if self.held:
            self.shell.give({"output_type": "stream", "name": self.name, "text": self.held})
            self.held, self.sent = "", monotonic()

    def isatty(self):
        return False


def no_input(prompt=""):
    raise RuntimeError("nobody can be asked here: write the answer into the cell instead")


def cut(text):
    return text if len(text) <= LONGEST else text[:LONGEST] + "\n..."


def bundle(value):
    """A value in the forms in which it can be shown: MIME type -> text."""
    if hasattr(value, "_repr_mimebundle_"):
        found = value._repr_mimebundle_()
        return found[0] if isinstance(found, tuple) else found
    found = {"text/plain": cut(repr(value))}
    if hasattr(value, "_repr_html_") and not isinstance(value, type):
        found["text/html"] = value._repr_html_()
    return found


def told(error):
    """The lines that say what failed, from the cell's own line on."""
    if hasattr(error, "_render_traceback_"):  # IPython asks for this
        return error._render_traceback_()
    calls = error.__traceback__  # the first are ours, and those of the module ast
    while calls and not calls.tb_frame.f_code.co_filename.startswith("<cell "):
        calls = calls.tb_next
    return [cut("".join(traceback.format_exception(type(error), error, calls)).rstrip())]
