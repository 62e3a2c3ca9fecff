"""A child and its parent: what is said of errors and ends, and what comes before and between."""

import os
from queue import SimpleQueue

import pytest

from d2lhybrid.children.inside import in_words
from d2lhybrid.children.parent import Child, Kept, end_all, how_it_ended, new_answers


class Odd(Exception):
    def __str__(self):
        raise ValueError("no words")


def test_errors_and_ends_in_words():
    memory = "was killed by signal 9 (SIGKILL), as the system does when memory runs out,"
    ends = {0: "ended with exit code 0", 3: "ended with exit code 3", -9: memory}
    ends |= {-11: "was killed by signal 11 (SIGSEGV)", -99: "was killed by signal 99 (unknown)"}
    assert {code: how_it_ended(code) for code in ends} == ends
    errors = {KeyError(): "KeyError", ValueError("no"): "ValueError: no", Odd(): "Odd: <exception "}
    errors |= {KeyboardInterrupt(): "KeyboardInterrupt", SystemExit(3): "SystemExit: 3"}
    for error, words in errors.items():
        assert in_words(error) == words + "str() failed>" * isinstance(error, Odd)


def test_of_a_long_text_the_begin_and_the_end_are_kept():
    for begin, end, text in [
        (3, 2, "abc\n... 3 characters left out ...\ngh"),
        (0, 2, "\n... 6 characters left out ...\ngh"),
        (3, 5, "abcdefgh"),
        (9, 9, "abcdefgh"),
    ]:
        for parts in (["abcdefgh"], [*"abcdefgh"], ["ab", "", "cdefg", "h"]):
            kept = Kept(begin, end)
            for part in parts:
                kept.add(part)
            assert (str(kept), kept.count) == (text, 8), (begin, end, parts)


@pytest.fixture
def worker(monkeypatch):
    """A function that starts a child, and one that waits for what it says next."""
    answers, children = SimpleQueue(), []

    def start():
        children.append(Child("measure.worker", {}, answers, "mine"))
        return children[-1]

    def next_answer():
        while not (new := new_answers(answers, children)):
            pass
        return new[0]

    yield start, next_answer
    end_all(children)


def load(child, source):
    return child.ask("load", "mine", source, "<program>", "", "a")


def test_each_answer_has_its_requests_number(worker):
    start, next_answer = worker
    child = start()
    first = load(child, "def a(): pass")
    second = child.ask("no such request")
    assert first != second
    assert next_answer() == (child, (first, "ok", None))
    answered, (number, kind, content) = next_answer()
    assert (answered.name, number, kind) == ("mine", second, "error")
    assert "no such request" in content[0]
    child.ask_no_more()
    assert next_answer() == (child, None)
    assert child.how_it_ended() == "ended with exit code 0"
    assert child.process.poll() == 0


def test_what_python_prints_while_it_starts_is_no_answer(worker, tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text("print('frames'); print('no end', end='')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    start, next_answer = worker
    child = start()
    number = load(child, "def a(): pass")
    assert next_answer() == (child, (number, "ok", None))


def test_last_words_are_whole_whatever_their_letters(worker):
    start, next_answer = worker
    child = start()
    load(child, "import os\nfor byte in 'ä→'.encode(): os.write(2, bytes([byte]))\nos._exit(1)")
    assert next_answer() == (child, None)
    assert child.last_words() == "ä→"
    child.ask("load")  # it goes nowhere, and is no error
    child.kill()


def test_a_child_has_the_package_of_its_parent_whatever_else_is_there(
    worker, tmp_path, monkeypatch
):
    (tmp_path / "random.py").write_text("raise RuntimeError('the user has a file of this name')")
    (tmp_path / "d2lhybrid").mkdir()
    (tmp_path / "d2lhybrid" / "__init__.py").write_text("raise RuntimeError('another one')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    start, next_answer = worker
    child = start()
    number = load(child, "import sys, d2lhybrid\nassert sys.argv == ['-c']\ndef a(): pass")
    assert next_answer() == (child, (number, "ok", None))
