"""What a bare `pytest` needs, wherever it is started: see also [tool.pytest] in pyproject.toml."""

import os
import tempfile
import textwrap

from nbval.plugin import IPyNbCell

import course


def pytest_ignore_collect(collection_path):
    # A reader's own notebooks are no part of the check. One named on the command line is run:
    # pytest does not ask about it here.
    own = {path.name for path in course.course_notebooks()}
    if collection_path.suffix == ".ipynb" and collection_path.name not in own:
        return True


def pytest_configure(config):
    # nbval takes this path relative to the working directory; make it hold from any.
    config.option.nbval_sanitize_with = str(config.rootpath / "tests" / "sanitize.cfg")
    # The notebooks' kernels must not depend on how this user has set up the machine.
    folder = tempfile.TemporaryDirectory(prefix="ipython-", ignore_cleanup_errors=True)
    config.add_cleanup(folder.cleanup)
    os.environ["IPYTHONDIR"] = folder.name
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
