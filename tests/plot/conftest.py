"""What every test of a picture needs: no window, and no figure left open."""

import matplotlib
import pytest

matplotlib.use("agg")


@pytest.fixture(autouse=True)
def _close_figures():
    from matplotlib import pyplot

    yield
    pyplot.close("all")
