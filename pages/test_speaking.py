"""The page on which the network speaks. `python3 course.py site --check` runs this."""

import re

import pytest

LOOKS = [("speak.html", 1300, "light"), ("zh/speak.html", 390, "dark")]


@pytest.mark.parametrize(("name", "width", "colors"), LOOKS)
def test_network_speaks_from_what_is_typed(visit, base, shut_out, name, width, colors):
    page = visit(base["file"] + name, width, colors)
    page.fill("[name=begin]", "The Class é")
    page.press("[name=begin]", "Enter")
    page.wait_for_selector("[name=text][aria-busy]")
    page.wait_for_selector("[name=text]:not([aria-busy])")
    said = page.text_content("[name=text]")
    assert said.startswith("the class  ")
    assert len(said) == len("the class  ") + 600
    assert len(re.findall(r"\b(?:the|is|a|of|to|in|object)\b", said)) > 15
    assert re.search(r"\d{3}", page.text_content("[name=rate]"))
    page.evaluate("document.querySelector('details.solution').open = true")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert shut_out(page) == []
    assert page.faults == []


def test_a_higher_temperature_makes_it_wilder(visit, base):
    page = visit(base["file"] + "speak.html")
    many = "Array.from({{length: 500}}, () => draw([1, 3, 2], {})).filter(s => s === symbols[1])"
    cold, warm = (len(page.evaluate(many.format(temperature))) for temperature in (0.05, 1))
    assert cold == 500
    assert 250 < warm < 420  # 333 of 500


def test_its_numbers_are_those_of_pytorch(visit, base):
    page = visit(base["file"] + "speak.html")
    scores = page.evaluate("[...network(oneHot(speaker.example.text), parameters)]")
    wanted = page.evaluate("speaker.example.scores")
    assert scores == pytest.approx(wanted, abs=1e-4)
    assert max(wanted) - min(wanted) > 5
