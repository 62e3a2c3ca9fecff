"""What every test of a picture needs: no window, and no figure left open."""

import matplotlib
import pytest
from IPython.core.interactiveshell import InteractiveShell

matplotlib.use("agg")


@pytest.fixture(autouse=True)
def _close_figures():
    from matplotlib import pyplot

    yield
    pyplot.close("all")


@pytest.fixture
def shell(monkeypatch):
    """IPython as a notebook's kernel has it, for this test only."""
    monkeypatch.setattr("builtins.display", None, raising=False)  # IPython leaves its own there
    shell = InteractiveShell()
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    monkeypatch.setattr(InteractiveShell, "instance", lambda: shell)
    shell.display_formatter.active_types = ["text/plain", "text/html", "image/png"]
    return shell
