"""What all pictures share: the figure, and how its axes are dressed."""

import sys

import pytest

from d2lhybrid import plot
from d2lhybrid.plot.style import dress, new_axes


def visible_sides(ax):
    return {side for side, spine in ax.spines.items() if spine.get_visible()}


def test_a_figure_is_white_and_of_the_size_asked_for():
    figure = new_axes(6, 3).figure
    assert figure.get_facecolor() == (1, 1, 1, 1)
    assert tuple(figure.get_size_inches()) == (6, 3)
    assert figure.dpi == 72


def test_notebooks_are_asked_for_twice_the_density(monkeypatch):
    asked = []
    monkeypatch.setattr("matplotlib_inline.backend_inline.set_matplotlib_formats", asked.append)
    new_axes(1, 1)
    assert asked == ["retina"]


def test_a_figure_needs_no_notebook(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib_inline.backend_inline", None)
    assert tuple(new_axes(1, 1).figure.get_size_inches()) == (1, 1)


def test_dressed_axes_have_labels_and_only_the_sides_with_a_scale():
    ax = new_axes(1, 1)
    dress(ax, "across", "upwards", title="title", sides=("left", "bottom"))
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("across", "upwards", "title")
    assert visible_sides(ax) == {"left", "bottom"}
    dress(ax)
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("", "", "")
    assert visible_sides(ax) == {"bottom"}


@pytest.mark.parametrize("name", plot.__all__)
def test_the_wing_gives_out_every_picture(name):
    function = getattr(plot, name)
    assert function.__name__ == name
    assert function.__module__.startswith("d2lhybrid.plot.")
    assert "return" in function.__annotations__
    assert function.__doc__
