"""The map of the course, and its copies for README."""

import pytest
from drawings import boxes, extents, is_readable, lines, rects, texts
from notebook_rules import ROOT

from d2lhybrid.plot.course_map import plot_course_map
from tools import manifest
from tools.run_notebooks import course_map

LANGUAGES = list(manifest.course()["map"]["yours"])
ON_IT = [entry for entry in manifest.entries() if "line" in entry]


@pytest.fixture(params=LANGUAGES)
def language(request):
    return request.param


def test_stations_are_the_notebooks_of_course_toml_from_the_top(language):
    picture = plot_course_map(language)
    places = {text: area.middle[1] for text, area in extents(picture)}
    heights = []
    for entry in ON_IT:
        own = entry.get("stations", {language: [entry["title"][language]]})[language]
        assert own
        heights += [places[f"{entry['name'][:2]} {name}"] for name in own]
    assert heights == pytest.approx(sorted(heights), abs=3)
    assert is_readable(picture)
    assert picture.view[2] <= 370  # on a telephone it is not made smaller


def test_only_notebooks_of_both_lines_are_boxes_across_them():
    picture = plot_course_map()
    left, right = (next(x for (x, _), _ in lines(picture) if (x > 0) == side) for side in (0, 1))
    across = [box for box in boxes(picture) if box.x0 < left < right < box.x1]
    inside = [text for text, area in extents(picture) if any(box.holds(area) for box in across)]
    both = [f"{e['name'][:2]} {e['title']['en']}" for e in ON_IT if e["line"] == "both"]
    assert inside == both
    assert len(both) == 3


def test_a_ring_is_an_optional_notebook():
    looks = [look.get("fill") for look, _ in rects(plot_course_map())]
    assert looks.count("none") == sum("optional" in entry for entry in ON_IT) > 3


def test_a_compiler_of_theirs_is_like_stations_of_yours():
    written = texts(plot_course_map())
    for entry in ON_IT:
        name = f"{entry['name'][:2]} {entry['title']['en']}"
        like = " \u2192 ".join(entry.get("like", []))
        assert (entry["line"] == "theirs") == bool(like)
        assert not like or written[written.index(name) + 1] == like


def test_readme_shows_it_in_its_language():
    for language in LANGUAGES:
        stored = (ROOT / "img" / f"course_map.{language}.svg").read_text("utf-8")
        assert stored == course_map(language), "run `python3 course.py refresh` for notebook 00"
        readme = "README.md" if language == "en" else f"README.{language}.md"
        assert f"](img/course_map.{language}.svg)" in (ROOT / readme).read_text("utf-8")
