"""Drawings: as what they are shown, and how often, and that they need no matplotlib."""

import subprocess
import sys
from base64 import b64decode
from io import BytesIO

import pytest
from drawings import elements
from PIL import Image, ImageChops

from d2lhybrid.plot.axes import paint
from d2lhybrid.plot.drawing import Box, Drawing, ticks
from d2lhybrid.plot.graphs import plot_data_flow, plot_pipeline, plot_tree
from d2lhybrid.plot.timeline import plot_times

FUNNY = 'a < b & "c" <d>'


@pytest.fixture
def outputs(shell, monkeypatch):
    """What the shell's cells have shown, each as its data and metadata."""
    found = []
    note = lambda data, metadata=None, **_: found.append((data, metadata))  # noqa: E731
    monkeypatch.setattr(shell.display_pub, "publish", note)
    monkeypatch.setattr(shell.displayhook, "write_format_data", lambda *a: found.append(a))
    monkeypatch.setattr("IPython.core.interactiveshell.InteractiveShell.initialized", lambda: True)
    shell.run_cell("from d2lhybrid import plot_tree", store_history=True)
    return found


def test_a_cell_shows_each_new_drawing_once(shell, outputs):
    cells = ["ax = plot_tree('1')", "plot_tree('1 + 2')", "ax = plot_tree('1')\nax", "ax"]
    for number, cell in enumerate(cells):
        shell.run_cell(cell, store_history=True)
        assert len(outputs) == number + 1, cell
    assert outputs[2] == outputs[3]
    assert sorted(outputs[0][0]) == ["image/png", "image/svg+xml", "text/plain"]


def test_a_script_shows_nothing(capfd, monkeypatch):
    monkeypatch.delattr("builtins.display", raising=False)  # there after any test with a shell
    assert plot_tree("1 + 2").shown_in is None
    assert capfd.readouterr() == ("", "")


def test_a_notebook_stores_svg_and_png_of_twice_the_size(monkeypatch):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    drawing = plot_tree("1 + 2")
    data, metadata = drawing._repr_mimebundle_()
    assert data["text/plain"] == drawing.alt == "Syntax trees. Below +: 1 and 2."
    assert data["image/svg+xml"] == drawing.svg
    _, _, width, height = drawing.view
    assert metadata == {"image/png": dict(alt=drawing.alt, width=width, height=height)}
    assert Image.open(BytesIO(b64decode(data["image/png"]))).size == (2 * width, 2 * height)


def test_png_has_every_part_of_the_drawing():
    def pixels(parts):
        return Image.open(BytesIO(paint(parts, drawing.view))).convert("RGB")

    drawing = plot_pipeline({"a": "b"})
    drawing.box(Box(80, 90, "a", round=True))
    drawing.arrow((20, 80), (40, 90))
    assert len({(name, "ry" in look) for name, look, _ in drawing.parts}) == 5
    whole = pixels(drawing.parts)
    for part in drawing.parts:
        others = [one for one in drawing.parts if one is not part]
        assert ImageChops.difference(whole, pixels(others)).getbbox(), part
    drawing = Drawing("a corner")
    drawing.line((0, 0), (40, 0), (40, 40))  # which stays open
    left, top, _, _ = drawing.view
    picture = pixels(drawing.parts)
    assert picture.getpixel((2 * (20 - left), -2 * top)) == (118, 118, 118)
    assert picture.getpixel((2 * (20 - left), 2 * (20 - top))) == (255, 255, 255)


def test_svg_is_the_same_in_every_process():
    code = "from d2lhybrid import plot_data_flow as p; print(p('e = 1 + 2\\nprint(e)').svg, end='')"
    for seed in "01":
        env = {"PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"}
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=env, capture_output=True, encoding="utf-8", check=True)
        assert done.stdout == plot_data_flow("e = 1 + 2\nprint(e)").svg


def test_text_is_escaped_and_numbers_are_short():
    drawing = Drawing(FUNNY)
    drawing.text(1 / 3, -0.04, FUNNY)
    drawing.show(f" {FUNNY}\n again ")
    assert [(text.text, text.get("x")) for text in elements(drawing, "text")] == [(FUNNY, "0.3")]
    assert [one.text for one in elements(drawing, "title")] == [FUNNY]
    assert drawing.alt == f"{FUNNY} again"


def test_ticks_are_few_round_and_equally_spaced():
    for end in [0.003, 0.7, 0.99, 1, 3.7, 12, 200]:
        marks = ticks(end)
        assert 4 <= len(marks) <= 9, end
        assert 0.75 * end <= max(marks) <= end * (1 + 1e-9), end
        step = sorted(marks)[1]
        assert list(marks) == pytest.approx([step * n for n in range(len(marks))])
        assert [float(text.replace(",", "")) for text in marks.values()] == pytest.approx([*marks])
    assert [*ticks(3e-4).values()][:3] == ["0", "0.00005", "0.0001"]
    assert [*ticks(8000).values()][-1] == "8,000"


WITHOUT = """
import sys
class Hide:
    def find_spec(self, name, *_):
        if name in ("matplotlib", "PIL", "numpy", "torch"):
            raise ModuleNotFoundError(name=name)
sys.meta_path.insert(0, Hide())
import d2lhybrid as d
d.plot_data_flow("print(1)"), d.plot_tree("1"), d.plot_stages({"a": "b"})
d.plot_pipeline({"a": ""}), d.plot_times({"a": 1})
d.plot_curves({"a": [(1, 1)]}, "GB/s")
"""


def test_drawings_need_no_matplotlib_and_charts_say_that_they_do(monkeypatch):
    command = [sys.executable, "-c", WITHOUT]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    assert done.stdout == "plot_curves needs matplotlib, which is not installed here\n"
    monkeypatch.setattr("d2lhybrid.plot.drawing.find_spec", lambda name: None)
    data, metadata = plot_times({"a": 1})._repr_mimebundle_()
    assert (sorted(data), metadata) == (["image/svg+xml", "text/plain"], {})


def test_jupyterlab_and_a_browser_get_html_in_the_colors_of_the_page(monkeypatch):
    monkeypatch.setenv("JPY_SESSION_NAME", "a.ipynb")
    drawing = plot_tree("1 + 2")
    colors = "--picture-ink:currentColor;--picture-ground:none"
    html = f'<div style="{colors}">{drawing.svg}</div>'
    assert drawing._repr_mimebundle_()[0]["text/html"] == html
    monkeypatch.delenv("JPY_SESSION_NAME")
    assert "text/html" not in drawing._repr_mimebundle_()[0]
    monkeypatch.setattr("sys.platform", "emscripten")
    assert drawing._repr_mimebundle_()[0]["text/html"] == html
