"""`predict`, what it keeps, and the page of all predictions."""

import json
import os

import numpy
import pytest
from sanitizer import sanitize

from d2lhybrid import Predictions, predict
from d2lhybrid.predictions import FILE, usual_range


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def kept(folder):
    return json.loads((folder / FILE).read_text("utf-8"))


ORDER = "type size value"
JUDGED = [
    # guess, choices, truth, within, whether it came true
    (3, "", 3, 1.0, True),
    (0.1 + 0.2, "", 0.3, 1.0, True),
    (3, "", 4, 1.0, False),
    (3, "", 4, 1.5, True),
    (2, "", 4, 1.5, False),
    (6, "", 4, 1.5, True),
    (-3, "", -4, 1.5, True),
    (3, "", -4, 1.5, False),
    (0, "", 0, 2.0, True),
    (1, "", 0, 2.0, False),
    ((1.1, 1.6), "", numpy.float32(1.5), 1.0, True),
    ((1.6, 1.1), "", 1.1, 1.0, True),
    ([1.1, 1.6], "", 1.7, 1.0, False),
    (" Yes", "yes no", "yes", 1.0, True),
    ("no", "yes no", "yes", 1.0, False),
    (("size", "type", "value"), ORDER, ["size", "type", "value"], 1.0, True),
    (["size", "value"], ORDER, ["size", "type", "value"], 1.0, True),
    (["value", "size"], ORDER, ["size", "type", "value"], 1.0, False),
    (["size"], ORDER, ["size", "type", "value"], 1.0, False),
]


@pytest.mark.parametrize(("guess", "choices", "truth", "within", "hit"), JUDGED)
def test_what_comes_true(folder, capsys, guess, choices, truth, within, hit):
    predict("05: it", guess, choices=choices).was(truth, within)
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("noted: ")
    assert second.startswith("Well predicted: " if hit else "A surprise: ")
    assert kept(folder)["05: it"]["hit"] is hit


def test_what_is_said_and_kept(folder, capsys):
    predict("05: speed-up", (1.2, 3)).was(1.23456)
    predict("06: rounds", 4).was(5)
    assert capsys.readouterr().out.splitlines() == [
        "noted: 1.2 to 3",
        "Well predicted: 1.235 lies in 1.2 to 3.",
        "noted: 4",
        "A surprise: 5, not 4.",
    ]
    one, other = kept(folder).values()
    assert one.pop("time")
    assert one == {
        "guess": [1.2, 3],
        "truth": 1.23456,
        "hit": True,
        "interval": True,
        "notebook": "05",
    }
    assert other["interval"] is False
    assert os.listdir(folder) == [FILE]


@pytest.mark.parametrize(
    ("guess", "choices", "said"),
    [
        (..., "", "no guess yet"),
        ((1, ...), "", "no guess yet"),
        ("five", "", "not noted: it should be a number, or an interval (low, high)"),
        ((1, 2, 3), "", "not noted: it should be a number, or an interval (low, high)"),
        ("maybe", "yes no", "not noted: it should be chosen from yes, no"),
        (["yes", 3], "yes no", "not noted: it should be chosen from yes, no"),
    ],
)
def test_without_a_guess_nothing_is_said_of_the_truth_or_written(
    folder, capsys, guess, choices, said
):
    predict("05: it", guess, choices=choices).was(1.2345)
    assert capsys.readouterr().out == said + "\n"
    assert os.listdir(folder) == []


def test_first_guess_counts(folder, capsys):
    predict("05: it", 3)  # asked again before the truth was shown
    for guess in (4, 4, 5):
        predict("05: it", guess).was(5)
    assert capsys.readouterr().out.endswith("Well predicted: 5.\nYour first guess counts: 4.\n")
    one = kept(folder)["05: it"]
    assert [one[name] for name in ("guess", "hit", "again")] == [4, False, 5]


def test_where_nothing_can_be_written_it_goes_on(folder, capsys):
    (folder / f"{FILE}.{os.getpid()}").mkdir()
    predict("05: it", 3).was(3)
    assert "Well predicted" in capsys.readouterr().out
    assert "no predictions yet" in str(Predictions())


@pytest.mark.parametrize(
    "text", ["", "[", "[1]", '{"05: it": 3}', '{"05: it": {"guess": 3}}', "[" * 10**5, "\xff"]
)
def test_damaged_file_is_put_aside(folder, text):
    (folder / FILE).write_bytes(text.encode("latin-1"))
    predict("05: it", 3).was(3)
    assert [*kept(folder)] == ["05: it"]
    (aside,) = folder.glob("predictions-damaged-*.json")
    assert aside.read_bytes() == text.encode("latin-1")


def guess_all():
    """Four intervals in 05, of which one holds the truth, and a choice in 11."""
    for number, truth in enumerate([1.5, 3, 4, 5]):
        predict(f"05: the <i>{number}</i>.", (1, 2)).was(truth)
    predict("11: graph breaks", "no", choices="yes no").was("yes")


def test_page_has_hits_surprises_and_calibration(folder):
    (folder / "05_torchscript.ipynb").touch()
    guess_all()
    table, surprises = str(Predictions()).split("What surprised you:\n")
    assert [line.split() for line in table.splitlines()] == [
        ["notebook", "guesses", "hits"],
        ["05_torchscript", "4", "1"],
        ["11", "1", "0"],
        ["all", "5", "1"],
    ]
    *misses, intervals, verdict = surprises.splitlines()
    assert misses[0] == "05: the <i>1</i>.: you said 1 to 2, and it was 3."
    assert misses[-1] == "11: graph breaks: you said no, and it was yes."
    assert "Of your 4 intervals," in intervals
    assert "1 did." in intervals
    assert "2 to 4 would be usual" in intervals
    assert "too narrow" in verdict
    html = Predictions()._repr_html_()
    assert "<i>" not in html
    assert "&lt;i&gt;1" in html


def test_page_without_predictions_is_the_same_everywhere(folder):
    empty = Predictions()
    assert empty._repr_html_() == Predictions(folder / "none")._repr_html_()
    assert "no predictions yet" in str(empty)
    assert sanitize(str(empty)) == str(empty)


def test_page_is_in_the_language_of_the_folder(folder):
    (folder / "zh").mkdir()
    os.chdir("zh")
    guess_all()
    assert "猜的是no，结果是yes" in str(Predictions())
    assert "you said no" in str(Predictions(language="en"))


@pytest.mark.parametrize(
    ("held", "verdict"), [(31, "too narrow"), (32, "fit"), (39, "fit"), (40, "too wide")]
)
def test_verdict_on_widths(held, verdict):
    for number in range(40):
        predict(f"05: {number}", (1, 2)).was(1 if number < held else 3)
    assert verdict in str(Predictions()).splitlines()[-1]


@pytest.mark.parametrize(
    ("count", "low", "high"), [(1, 0, 1), (4, 2, 4), (20, 15, 20), (30, 23, 30), (100, 84, 95)]
)
def test_usual_range_is_the_binomials(count, low, high):
    """By a table of the binomial distribution; SciPy's binom.ppf(.025) and (.975) give the same."""
    assert usual_range(count) == (low, high)
