"""A guess before an experiment, whether it came true, and what all of them say about the reader.

    guess = predict("05: TorchScript's speed-up, one row", (1.1, 1.6))
    ...                                      # the experiment
    guess.was(speed_up)                      # Well predicted: 1.35 lies in 1.1 to 1.6.

What was guessed is kept in predictions.json, in the folder of the notebook, and nowhere else.
"""

import json
import os
import tomllib
from collections import Counter
from contextlib import suppress
from math import comb
from numbers import Real
from pathlib import Path
from time import strftime
from typing import Any

from .exercises import has_blank, same
from .tables import Column, Table

FILE, SHARE = "predictions.json", 0.9  # of the intervals, those that are meant to hold the truth
FIELDS = {"guess", "truth", "hit", "interval", "notebook"}


def predict(question: str, guess: Any = ..., *, choices: str = "") -> "Guess":
    """Return a Guess, whose `was` compares it with the truth; `...` is a guess not made yet.

    `question` begins with the notebook's number and a colon. A guess is a number; an interval
    `(low, high)` that contains the truth with a probability of 90%; or one of the words in
    `choices`, which are separated by blanks, or a list of them, an order. Any other guess counts as
    none, and a line says what is wanted.
    """
    guess, among = _plain(guess), choices.split()
    listed = guess if isinstance(guess, list) else [guess]
    are_chosen = all(any(same(one, choice) for choice in among) for one in listed)
    fits = are_chosen if among else isinstance(guess, Real) or _is_interval(guess)
    number = "a number, or an interval (low, high)"
    wanted = f"chosen from {', '.join(among)}" if among else number
    said = f"noted: {_shown(guess, not among)}" if fits else f"not noted: it should be {wanted}"
    print("no guess yet" if has_blank(guess) else said)
    return Guess(question, guess if fits else ...)


class Guess:
    """A guess at the answer to a question; `...` for none."""

    def __init__(self, question: str, value: Any):
        self.question, self.value = question, value

    def was(self, truth: Any, within: float = 1.0) -> None:
        """Print whether the guess came true, and keep it; do nothing for a guess not made.

        A number comes true if it lies between truth / `within` and truth · `within`, an interval if
        it holds the truth, a string if it is the same up to case and blanks, a list if what it
        names stands in this order in the truth. The first guess at a question counts; a later one
        is kept beside it. Where nothing can be written, nothing is kept.
        """
        if self.value is ...:
            return
        guess, truth = self.value, _plain(truth)
        hit, is_interval = came_true(guess, truth, within), isinstance(truth, Real)
        said, now = _shown(guess, is_interval), _shown(truth)
        holds = f" lies in {said}" if _is_interval(guess) else ""
        print(f"Well predicted: {now}{holds}." if hit else f"A surprise: {now}, not {said}.")
        one = {"guess": guess, "truth": truth, "hit": hit, "interval": bool(holds)}
        one |= {"notebook": self.question.partition(":")[0], "time": strftime("%Y-%m-%d %H:%M")}
        kept = load_predictions(Path())
        first = kept.setdefault(self.question, one)
        if first["guess"] != guess:
            first["again"] = guess
            print(f"Your first guess counts: {_shown(first['guess'], first['interval'])}.")
        with suppress(OSError):
            beside = Path(f"{FILE}.{os.getpid()}")
            beside.write_text(json.dumps(kept, indent=1, default=str), "utf-8")
            os.replace(beside, FILE)


def came_true(guess, truth, within=1.0):
    """Return whether a guess came true, see `Guess.was`."""
    if isinstance(truth, Real) and _is_interval(guess):
        return min(guess) <= truth <= max(guess)
    if isinstance(truth, Real) and isinstance(guess, Real):
        low, high = sorted((truth / within, truth * within))
        return low <= guess <= high or same(guess, truth)
    if isinstance(truth, list) and isinstance(guess, list):
        named = [one for one in truth if any(same(one, other) for other in guess)]
        return len(guess) > 1 and same(guess, named)
    return same(guess, truth)


def load_predictions(folder: Path) -> dict[str, dict]:
    """Return question -> what is kept of it, in a folder. A damaged file is put aside."""
    path = folder / FILE
    with suppress(OSError):
        with suppress(ValueError, AttributeError, RecursionError):
            kept = json.loads(path.read_text("utf-8"))
            if all(one.keys() >= FIELDS for one in kept.values()):
                return kept
        os.replace(path, path.with_name(strftime("predictions-damaged-%Y%m%d-%H%M%S.json")))
    return {}


class Predictions(Table):
    """*How well do you know your machine?* A table of the stored predictions, by notebook.

    It is followed by the predictions that did not come true, and by whether the reader's intervals
    were as wide as they should be. The language is "en", or "zh" if the folder has that name.
    """

    def __init__(self, folder: str | Path = ".", language: str | None = None):
        words = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
        self.folder = Path(folder).resolve()
        self.language = language or (self.folder.name if self.folder.name in words else "en")
        self.words = words[self.language]
        self.kept = load_predictions(self.folder)

    def _columns(self):
        return [Column(title) for title in self.words["columns"]]

    def _rows(self):
        names = {path.name[:2]: path.stem for path in sorted(self.folder.glob("*.ipynb"))[::-1]}
        asked = Counter(str(one["notebook"]) for one in self.kept.values())
        hits = Counter(str(one["notebook"]) for one in self.kept.values() if one["hit"])
        rows = [[names.get(one, one), f"{asked[one]}", f"{hits[one]}"] for one in sorted(asked)]
        return [*rows, [self.words["all"], f"{asked.total()}", f"{hits.total()}"]]

    def _notes(self):
        missed = {question: one for question, one in sorted(self.kept.items()) if not one["hit"]}
        yield from [self.words["surprises"]] * bool(missed)
        for question, one in missed.items():
            said = {"guess": _shown(one["guess"], one["interval"]), "truth": _shown(one["truth"])}
            yield self.words["surprise"].format(question=question, **said)
        if held := [bool(one["hit"]) for one in self.kept.values() if one["interval"]]:
            n, held, (low, high) = len(held), sum(held), usual_range(len(held))
            yield self.words["intervals"].format(n=n, held=held, low=low, high=high)
            yield self.words["narrow" if held < low else "wide" if held > high else "fits"]
        elif not self.kept:
            yield self.words["none"]


def usual_range(count: int) -> tuple[int, int]:
    """Return (low, high): in 95% of cases, so many of `count` 90% intervals hold the truth.

    Of the binomial distribution each tail has at most 2.5%.
    """
    chance = [comb(count, k) * SHARE**k * (1 - SHARE) ** (count - k) for k in range(count + 1)]
    low = next(k for k in range(count + 1) if sum(chance[: k + 1]) > 0.025)
    return low, next(k for k in range(count, -1, -1) if sum(chance[k:]) > 0.025)


def _plain(value):
    """Return a value of types that JSON has: tuples and arrays become lists."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return [*map(_plain, value)] if isinstance(value, (list, tuple)) else value


def _is_interval(value):
    """Return whether a value is a list of two numbers."""
    return isinstance(value, list) and [isinstance(one, Real) for one in value] == [True, True]


def _shown(value, is_interval=False):
    """Return a guess or a truth as text."""
    if isinstance(value, list):
        return (" to " if is_interval else ", ").join(map(_shown, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)
