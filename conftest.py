"""What a bare `pytest` needs, wherever it is started: see also [tool.pytest] in pyproject.toml."""

import os
import tempfile
import textwrap

from nbval.plugin import IPyNbCell


def pytest_configure(config):
    # nbval takes this path relative to the working directory; make it hold from any.
    config.option.nbval_sanitize_with = str(config.rootpath / "tests" / "sanitize.cfg")
    # The notebooks' kernels must not depend on how this user has set up the machine.
    os.environ["IPYTHONDIR"] = tempfile.mkdtemp(prefix="ipython-")
    for name in ("MPLBACKEND", "PYTHONWARNINGS", "PYTHONSTARTUP"):
        os.environ.pop(name, None)


def say_both_outputs(cell, kind, page, machine):
    """Report a difference in full; nbval would shorten it to one line."""
    for who, output in (("The page says", page), ("This machine says", machine)):
        cell.comparison_traceback += [f"{who} ({kind}):", textwrap.indent(str(output), "    ")]


def number_from_one(self, name, parent, cell_num, cell, options, make=IPyNbCell.__init__):
    """Number a notebook's cells as JupyterLab does; nbval begins at 0."""
    make(self, f"Cell {cell_num + 1}", parent, cell_num + 1, cell, options)


IPyNbCell.format_output_compare = say_both_outputs
IPyNbCell.__init__ = number_from_one
