"""What every picture must have: a text for those who cannot see it, and letters that can be read.

Each example gets the function, and a factor for all that it pretends to have measured.
"""

import inspect
import pkgutil
from importlib import import_module

import pytest
from drawings import cut_off, elements, overlapping
from matplotlib import pyplot
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from d2lhybrid import plot, trace
from d2lhybrid.plot.drawing import Drawing
from d2lhybrid.threads.events import Span

MODULES = [import_module(f"{plot.__name__}.{m.name}") for m in pkgutil.iter_modules(plot.__path__)]
PICTURES = {
    name: function
    for module in MODULES
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if name.startswith("plot_")
}

SPEEDUP = (2.0, 1.9, 2.1, "faster")
EXAMPLES = {
    "plot_break_even": lambda draw, k: draw({"eager": (0, 3e-3 * k), "b": (0.1, 2e-3)}),
    "plot_cells": lambda draw, k: draw({"near": ["a", "b"] * 24, "far": ["a"] * 9 + ["b"]}),
    "plot_chunk_ownership": lambda draw, k: draw([[[1, 1], [1, 1]], [[1, 2], [2, 1]]], 2)[0],
    "plot_coins": lambda draw, k: draw([1.1 * k, 1.2, 1.3], 1.15 * k, 1.1, 1.3 * k),
    "plot_course_map": lambda draw, k: draw(),
    "plot_curves": lambda draw, k: draw(
        {"sum": [(4096, 1 * k), (2**24, 9)], "copy": [(4096, 2), (2**24, 30 * k)]},
        "GB/s",
        marks={"first": 2**15 * k},
    ),
    "plot_data_flow": lambda draw, k: draw({"one": "e = 1 + 2\nprint(e)", "two": "f = 3"}),
    "plot_distribution": lambda draw, k: draw([1e-6 * k] * 50 + [2e-6] * 50),
    "plot_grouped_times": lambda draw, k: draw(
        {
            "A": {"eager": (2e-6 * k, ""), "graph": (3e-6, "slower" if k < 2 else "faster")},
            "B": {"x eager": (1e-3, ""), "x graph": (5e-4 / k, "faster"), "y": (0.1 * k, "")},
            "C": {"alone": (1e-5, "")},
        },
        "time per call",
    ),
    "plot_timeline": lambda draw, k: draw(
        {
            "alone": [Span("worker 1", "A", 0, 1 * k), Span("worker 1", "B", 1 * k, 5)],
            "both": [
                *(Span("worker 1", "BA"[k < 2], 0.1 / k, 2), Span("worker 2", "AB"[k < 2], 0.1, 3)),
                Span("worker 2", "done", 3, 3),
            ],
        }
    ),
    "plot_latencies": lambda draw, k: draw(
        {"here": {"a call": 1e-7 * k, "start": 0.02}, "the book": {"start": 0.01}},
        ["a call", "start"],
    ),
    "plot_bar_panels": lambda draw, k: draw({"C": {"ms": 1.2 * k}, "b": {"ms": 9}}, ["C"])[0],
    "plot_lifetimes": lambda draw, k: draw({"kept": "e = 1 + 2\nprint(e)\nf = 3"}),
    "plot_outcomes": lambda draw, k: draw(
        {"if": {"trace": "silently wrong", "script": "right", "export": "error"}}
    ),
    "plot_over_time": lambda draw, k: draw(
        {"alone": ([0, 1], [2e-6 * k, 3e-6]), "busy": ([2, 3], [4e-6, 1e-3])}
    ),
    "plot_pipeline": lambda draw, k: draw({"graph + guards": "what is computed", "C": ""}),
    "plot_published": lambda draw, k: draw(
        [("2019-05-16", 1.89, "a"), ("2020-07-01", 1, ""), ("2021-06-30", 0.9, "")]
    ),
    "plot_ratios": lambda draw, k: draw({"published": [1.89], "same": [1.01 * k]}),
    "plot_roofline": lambda draw, k: draw(
        100 * k,
        {"cache": 90, "memory": 10 * k},
        {"ours": {1: (0.5, 4 * k), 16: (7, 50)}, "a sum": {1: (0.25, 2)}},
    ),
    "plot_scatter": lambda draw, k: draw(
        {"a": [(1 * k, 5), (20, 300)], "b": [(2, 9 * k)]},
        *("calls", "time"),
        diagonal="equal",
        paths=True,
    ),
    "plot_stacked_bars": lambda draw, k: draw(
        {"a": {"work": 1e-5, "guard": 2e-5 * k}, "b": {"work": 9e-5, "guard": 0}}, 5e-6, "reading"
    ),
    "plot_speedups": lambda draw, k: draw(
        {"quick": SPEEDUP, "slow": (0.5 / k, 0.4 / k, 0.6, "slower")}, "eager", 1.05
    ),
    "plot_speedups_by_size": lambda draw, k: draw(
        [1, 16], {"a": [SPEEDUP] * 2, "b": [(0.5 / k, 0.1, 0.6, "slower"), SPEEDUP]}, "eager"
    ),
    "plot_stages": lambda draw, k: draw({"define": "a\nb", "run": "10"}),
    "plot_steps": lambda draw, k: draw({"a": [1, 0.1 * k], "b": [1, -9 * k]}, "the loss"),
    "plot_times": lambda draw, k: draw({"a": 2.0 * k, "b": 0.5}),
    "plot_traffic": lambda draw, k: draw({"all": trace(lambda a, b: a + b, 1, 2)}),
    "plot_tree": lambda draw, k: draw("e = add(1, 2)", marked=["add(1, 2)"]),
}
ALT = {  # others stand in the outputs of notebooks, which nbval compares
    "plot_chunk_ownership": "Cells that have reached 2: 0 and 2.",
    "plot_data_flow": "one: + (e) from 1 and 2; print from e. Data flow, two: 3 (f) alone.",
    "plot_timeline": "for alone and both. Rows: worker 1 and worker 2. On them: A, B and done.",
    "plot_published": "Dots from 2019 to 2021, 1 above 1, 1 below. Labels: a.",
    "plot_tree": "Below Assign e: Call add. Below Call add: 1 and 2.",
}


def contrast(one, other):
    """The contrast of two colors as the guidelines for web content (WCAG 2) define it."""

    def luminance(color):
        parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color]
        return sum(w * part for w, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))

    dark, light = sorted(luminance(to_rgb(color)) for color in (one, other))
    return (light + 0.05) / (dark + 0.05)


def letters(figure):
    """Everything written on a figure, each with the colors of its letters and of its ground."""
    patches = [patch for ax in figure.axes for patch in ax.patches]
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip():
            box = text.get_window_extent()
            middle = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
            under = [patch.get_facecolor()[:3] for patch in patches if patch.contains_point(middle)]
            yield text, text.get_color(), [(1, 1, 1), *under][-1]


def example(name, factor=1):
    pyplot.close("all")
    made = EXAMPLES[name](PICTURES[name], factor)
    return made if isinstance(made, Drawing) else made.figure


@pytest.fixture(scope="module")
def pictures():
    """Name -> the example's drawing or figure, whose layout is done."""
    made = {name: example(name) for name in EXAMPLES}
    for picture in made.values():
        if not isinstance(picture, Drawing):
            picture.draw_without_rendering()
    return made


@pytest.fixture(scope="module")
def drawings(pictures):
    return {name: one for name, one in pictures.items() if isinstance(one, Drawing)}


@pytest.fixture(scope="module")
def figures(pictures, drawings):
    return {name: one for name, one in pictures.items() if name not in drawings}


def test_there_is_an_example_of_every_picture():
    assert EXAMPLES.keys() == PICTURES.keys()


def test_all_letters_have_contrast(figures):
    for name, figure in figures.items():
        found = list(letters(figure))
        assert len(found) > 1, name
        weak = [text.get_text() for text, ink, ground in found if contrast(ink, ground) < 4.5]
        assert weak == [], name


def test_alternative_text_says_what_is_drawn_and_no_measurement_changes_it(pictures):
    for name, picture in pictures.items():
        alt = picture.alt
        assert example(name, 3).alt == alt, name
        assert len(alt) > 40, name
        assert alt.endswith("."), name
        assert ALT.get(name, "") in alt, name


def test_nothing_is_cut_off_or_covered(figures, drawings):
    for name, figure in figures.items():
        drawn = figure.get_tightbbox()
        beyond = [drawn.x1, drawn.y1] - figure.get_size_inches()
        assert max(-drawn.x0, -drawn.y0, *beyond) < 0.05, name
    for name, drawing in drawings.items():
        assert cut_off(drawing) == [], name
        assert overlapping(drawing) == [], name


def test_svg_is_accessible_and_takes_the_colors_of_its_page(drawings):
    for name, drawing in drawings.items():
        (root,) = elements(drawing, "title/..")
        (title,), (described,) = elements(drawing, "title"), elements(drawing, "desc")
        assert (root.get("role"), root.get("aria-labelledby")) == ("img", described.get("id")), name
        assert (bool(title.text), described.text) == (True, drawing.alt), name
        ground, group = elements(drawing, "rect")[0], elements(drawing, "g")[0]
        assert ground.get("style") == "fill:var(--picture-ground,#fff)", name
        assert group.get("style") == "fill:var(--picture-ink,#000)", name
        for text in elements(drawing, "text"):
            assert {"fill", "style", "stroke", "fill-opacity"}.isdisjoint(text.keys()), name
        for forbidden in ("<style", "class=", "<marker", "url(", "<script", "nan", 'inf"'):
            assert forbidden not in drawing.svg, (name, forbidden)
        assert len(drawing.svg) < 6000, name


def test_measured_drawings_are_marked_for_the_sanitizer(drawings):
    measured = {name for name, one in drawings.items() if 'data-figures="measured"' in one.svg}
    assert measured == {"plot_times", "plot_timeline"}
    others = {name for name in drawings if example(name, 3).svg != drawings[name].svg}
    assert others == measured
