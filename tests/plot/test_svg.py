"""Drawings: where and how often they are shown, as what, and what they do without."""

import struct
import subprocess
import sys
from base64 import b64decode
from io import BytesIO
from types import SimpleNamespace

import pytest
from drawings import cut_off, elements, extents, overlapping
from PIL import Image, ImageChops

from d2lhybrid.plot.flow import plot_data_flow, plot_pipeline
from d2lhybrid.plot.lanes import plot_times
from d2lhybrid.plot.png import png
from d2lhybrid.plot.svg import Box, Drawing, width_of
from d2lhybrid.plot.trees import plot_tree

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


@pytest.mark.parametrize(
    ("cell", "times"),
    [
        ("ax = plot_tree('1 + 2')", 1),
        ("plot_tree('1 + 2')", 1),
        ("plot_tree('1 + 2');", 1),
        ("for program in ('a + b', 'c'):\n    ax = plot_tree(program)", 2),
        ("plot_tree('1')\nplot_tree('2')", 2),
        ("ax = plot_tree('1')\nax", 1),
    ],
)
def test_a_drawing_is_shown_once_by_the_cell_that_makes_it(shell, outputs, cell, times):
    shell.run_cell(cell, store_history=True)
    assert [sorted(data) for data, _ in outputs] == [
        ["image/png", "image/svg+xml", "text/plain"]
    ] * times


def test_a_later_cell_shows_a_drawing_again(shell, outputs):
    for cell in ("ax = plot_tree('1')", "ax", "display(ax)"):
        shell.run_cell(cell, store_history=True)
    assert len(outputs) == 3
    assert outputs[0] == outputs[1] == outputs[2]


def test_a_script_shows_nothing(capfd, monkeypatch):
    monkeypatch.delattr("builtins.display", raising=False)  # there after any test with a shell
    assert plot_tree("1 + 2").shown_in is None
    assert capfd.readouterr() == ("", "")


def test_a_notebook_stores_svg_and_png_with_the_text(monkeypatch):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    drawing = plot_tree("1 + 2")
    data, metadata = drawing._repr_mimebundle_()
    assert sorted(data) == ["image/png", "image/svg+xml", "text/plain"]
    assert data["text/plain"] == drawing.alt == "Syntax tree. Below +: 1 and 2."
    assert data["image/svg+xml"] == drawing.svg
    _, _, width, height = drawing.view
    assert metadata == {"image/png": dict(alt=drawing.alt, width=width, height=height)}
    pixels = struct.unpack(">II", b64decode(data["image/png"])[16:24])
    assert pixels == (2 * width, 2 * height)


def test_jupyterlab_gets_the_drawing_in_its_own_colours(monkeypatch):
    monkeypatch.setenv("JPY_SESSION_NAME", "a.ipynb")
    drawing = plot_tree("1 + 2")
    colours = "--picture-ink:currentColor;--picture-ground:none"
    html = drawing._repr_mimebundle_()[0]["text/html"]
    assert html == f'<div style="{colours}">{drawing.svg}</div>'


def test_a_drawing_is_saved_as_its_file_is_called(tmp_path):
    drawing = plot_data_flow("print(1)")
    drawing.save(tmp_path / "a.svg")
    drawing.save(str(tmp_path / "a.png"))
    assert (tmp_path / "a.svg").read_bytes() == drawing.svg.encode()
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match=r"a\.pdf must end in \.svg or \.png"):
        drawing.save(tmp_path / "a.pdf")


def test_the_png_has_every_part_of_the_drawing():
    def pixels(parts):
        return Image.open(BytesIO(png(parts, drawing.view))).convert("RGB")

    drawing = plot_pipeline({"a": "b"})
    drawing.box(Box(80, 90, "a", round=True))
    drawing.arrow((20, 80), (40, 90))
    assert len({(name, "ry" in look) for name, look, _ in drawing.parts}) == 5
    whole = pixels(drawing.parts)
    for part in drawing.parts:
        others = [one for one in drawing.parts if one is not part]
        assert ImageChops.difference(whole, pixels(others)).getbbox(), part


def test_the_png_leaves_a_line_open():
    drawing = Drawing("a corner")
    drawing.line((0, 0), (40, 0), (40, 40))
    picture = Image.open(BytesIO(png(drawing.parts, drawing.view))).convert("RGB")
    left, top, _, _ = drawing.view
    seen = [picture.getpixel((2 * (x - left), 2 * (y - top))) for x, y in ((20, 0), (20, 20))]
    assert seen == [(118, 118, 118), (255, 255, 255)]


def test_the_same_program_gives_the_same_text_in_another_process():
    code = "from d2lhybrid import plot_data_flow as p; print(p('e = 1 + 2\\nprint(e)').svg, end='')"
    for seed in "01":
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        assert done.stdout == plot_data_flow("e = 1 + 2\nprint(e)").svg


def test_names_of_different_drawings_differ():
    svgs = [plot_tree(program).svg for program in ("1 + 2", "1 + 3", "1 - 2")]
    names = [svg.split('aria-labelledby="')[1][:9] for svg in svgs]
    assert len(set(names)) == 3


def test_text_is_escaped_and_numbers_are_short():
    drawing = Drawing(FUNNY)
    drawing.text(1 / 3, -0.04, FUNNY)
    drawing.show(f" {FUNNY}\n again ")
    assert [text.text for text in elements(drawing, "text")] == [FUNNY]
    assert [text.get("x") for text in elements(drawing, "text")] == ["0.3"]
    assert [one.text for one in elements(drawing, "title")] == [FUNNY]
    assert drawing.alt == f"{FUNNY} again"


def test_a_text_is_as_wide_as_is_thought():
    words = "Call fancy_func, FullyConnected aten::linear worker 10 τ = 0.5 minimum WWW iii"
    for look in ({}, {"font_weight": "bold"}, {"font_family": "monospace"}):
        for text, least in [(words, 0.85), *((word, 0) for word in words.split())]:
            drawing = Drawing("a")
            drawing.text(0, 0, text, **look)
            ((_, area),) = extents(drawing)
            guess = width_of(text, **look)
            assert least * guess < area.x1 - area.x0 < 1.06 * guess + 1, (text, look)


def test_long_labels_can_be_read():
    program = f"{'m' * 30} = 123456789 + 2\nprint({'m' * 30}, 3)"
    drawing = plot_data_flow({"W" * 40: program, "b": "print(1)"})
    assert overlapping(drawing) == []
    assert cut_off(drawing) == []


WITHOUT = """
import sys
from importlib.abc import MetaPathFinder

class Hide(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"matplotlib", "PIL", "numpy", "torch"}:
            asked.append(name)
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

asked = []
sys.meta_path.insert(0, Hide())
import d2lhybrid as d
from d2lhybrid.threads.log import Span
d.plot_data_flow("print(1)"), d.plot_tree("1")
d.plot_stages({"a": "b"}), d.plot_pipeline({"a": ""})
d.plot_times({"a": 1}), d.plot_lanes([Span("a", "b", 0, 1)]), d.plot_steps({"a": [1]}, "b")
print(asked)
print(d.plot_curves({"a": [(1, 1)]}, "GB/s"))
print(d.plot_shares is d.plot_shares, asked)
"""


def test_drawings_do_without_matplotlib_and_other_pictures_say_that_it_is_missing():
    command = [sys.executable, "-c", WITHOUT]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    first, *rest = done.stdout.splitlines()
    assert first == "[]"  # nothing of it has been asked for
    assert rest[:2] == ["plot_curves needs matplotlib, which is not installed here", "None"]


def test_without_matplotlib_a_notebook_stores_no_png(monkeypatch):
    monkeypatch.setattr("d2lhybrid.plot.svg.find_spec", lambda name: None)
    data, metadata = plot_times({"a": 1})._repr_mimebundle_()
    assert (sorted(data), metadata) == (["image/svg+xml", "text/plain"], {})


def test_a_browser_gets_a_drawing_that_follows_its_page(monkeypatch):
    monkeypatch.setattr("d2lhybrid.plot.svg.sys", SimpleNamespace(platform="emscripten"))
    assert "currentColor" in plot_tree("1")._repr_mimebundle_()[0]["text/html"]
