"""Programs in real processes: mixed with candidates of this process, launched several times."""

import os
import re

import pytest
from process_helpers import gone

from d2lhybrid import CandidateError, compare, own_process, recipe, started, sweep
from d2lhybrid.benchmark.comparison import TooFewLaunches
from d2lhybrid.benchmark.statistics import least_launches

ONE = "def one():\n    return lambda: 1\n"
QUICK = {"time_limit": 0.06}


@pytest.fixture
def notes(tmp_path):
    """A file where a program can note its process: its path and what is in it."""
    path = tmp_path / "notes"

    def noting(source):
        return f"import os\nopen({str(path)!r}, 'a').write(f'{{os.getpid()}}\\n')\n{source}"

    def noted():
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    return noting, noted


def all_have_ended(numbers):
    return all(map(gone, numbers))


def test_programs_are_compared_with_candidates_of_this_process():
    def double(numbers):
        return [2 * number for number in numbers]

    program = "def twice(numbers):\n    return lambda: [2 * number for number in numbers]\n"
    candidates = {
        "ready": double,
        "built": recipe(lambda: double),
        "program": own_process(program),
    }
    said = []
    result = compare(candidates, [1.0, 2.0, 3.0], progress=said.append, **QUICK)
    assert list(result) == ["ready", "built", "program"]
    assert [result[label].price is None for label in result] == [True, False, False]
    assert said[0] == "starting program"
    assert len(result.launches) == 1


def test_each_launch_starts_each_program(notes):
    noting, noted = notes
    slow = "import time\ndef one():\n    time.sleep(0.05)\n    return lambda: 1\n"
    candidates, said = {"a": own_process(noting(ONE)), "b": own_process(noting(slow))}, []
    result = compare(candidates, launches=6, calls=10, progress=said.append, **QUICK)
    assert len(result.launches) == 6
    assert len(set(noted())) == 12
    assert os.getpid() not in noted()
    assert all_have_ended(noted())
    assert result.complete
    assert all(timings["b"].block_a for timings in result.launches)
    b = result["b"]
    assert b.low > 0
    assert b.total.time >= 0.05
    assert b.total.verdict == "slower"
    assert b.built_in == "cold process"
    assert said[0] == "launch 1 of 6: starting a"  # nobody can say how long it takes
    assert any(re.fullmatch(r"launch 6 of 6, about \d+ s left: warming up a", s) for s in said)
    assert said[-1] == ""


def test_programs_that_fail_are_left_out_and_not_started_again(notes):
    noting, noted = notes
    sources = {"a": ONE, "b": "1 / 0\n" + ONE, "c": "def one():\n    1 / 0\n", "d": ONE}
    candidates = {label: own_process(noting(source)) for label, source in sources.items()}
    left_out = []
    result = compare(candidates, launches=8, on_error=left_out.append, **QUICK)
    assert list(result) == ["a", "d"]
    assert [error.label for error in left_out] == ["b", "c"]
    assert result.alpha == 0.04  # as if the others had never been there
    assert len(noted()) == 4 + 7 * 2  # they are not started again
    two = {label: candidates[label] for label in "ab"}
    with pytest.raises(CandidateError, match="candidate 'b' raised ZeroDivisionError"):
        compare(two, baseline="b", launches=6, on_error=left_out.append, **QUICK)
    with pytest.raises(ValueError, match="nothing is left to compare with 'a'"):
        compare(two, launches=6, on_error=left_out.append, **QUICK)
    assert all_have_ended(noted())


@pytest.mark.parametrize(
    ("candidates", "options", "error"),
    [
        ("ab", {"launches": 5}, TooFewLaunches),
        ("abc", {"launches": 6}, TooFewLaunches),
        ("ab", {"calls": 9}, ValueError),
        ("af", {"launches": 6}, TypeError),
    ],
)
def test_launches_that_give_no_answer_are_refused(candidates, options, error):
    kinds = {label: own_process(ONE) for label in candidates} | {"f": lambda: 1}
    with pytest.raises(error):
        compare({label: kinds[label] for label in candidates}, **options)


def test_more_candidates_need_more_launches():
    assert [least_launches(others) for others in (1, 2, 3, 4, 10)] == [6, 7, 8, 8, 9]


TIMES = "def times(n, factor=1):\n    return lambda: n * factor\n"


def test_started_programs_serve_several_comparisons(notes):
    noting, noted = notes
    program, heavy = own_process(noting(TIMES)), own_process(noting(TIMES.replace("=1", "=1.0")))
    with started({"a": program, "b": heavy}) as running:
        assert len(noted()) == 2
        with pytest.raises(ValueError, match="'b' does not return what 'a' returns"):
            compare(running | {"b": lambda n: n + 1}, 5, **QUICK)
        first = compare(running, 5, **QUICK)
        swept = sweep(running, float, [1, 2], **QUICK)
        results = {label: one.results[-1] for label, one in running.items()}
    assert results == {"a": 2.0, "b": 2.0}  # of the last arguments
    assert first["b"].built_in.startswith("cold process")
    assert swept[2]["b"].built_in == "warm process"
    assert len(noted()) == 2
    assert all_have_ended(noted())


def test_started_programs_get_the_labels_of_the_comparison():
    fails = own_process("def f(n):\n    return lambda: 1 / n\n")
    with started({"a": own_process(TIMES), "b": fails}) as running:
        with pytest.raises(CandidateError, match="candidate 'other' raised ZeroDivisionError"):
            compare({"a": running["a"], "other": running["b"]}, 0, **QUICK)
        assert len(compare(running, 1, check=False, **QUICK)) == 2  # it goes on after an error


def test_program_that_cannot_be_loaded_is_left_out(notes):
    noting, noted = notes
    programs = {"a": own_process(noting(TIMES)), "b": own_process("1 / 0\n" + TIMES)}
    with pytest.raises(CandidateError, match="candidate 'b' raised ZeroDivisionError"):
        started(programs).__enter__()
    failed = []
    with started(programs, on_error=failed.append) as running:
        assert list(running) == ["a"]
    assert [error.label for error in failed] == ["b"]
    assert all_have_ended(noted())


def test_failure_while_measuring_is_left_out():
    source = "def one():\n    calls = iter(range(30))\n    return lambda: (next(calls), None)[1]\n"
    good, fails = own_process(ONE.replace("1", "None")), own_process(source)
    left_out = []
    candidates = {"a": good, "b": fails, "c": good}
    result = compare(candidates, launches=7, on_error=left_out.append, **QUICK)
    assert list(result) == ["a", "c"]
    assert [(error.label, "StopIteration" in str(error)) for error in left_out] == [("b", True)]
    assert len(result.launches) == 7


def test_calls_of_programs_are_also_timed_one_by_one():
    long = "import time\ndef one():\n    return lambda: time.sleep(1e-3)\n"
    candidates = {"a": own_process(ONE), "b": own_process(long)}
    result = compare(candidates, launches=6, single_calls=True, check=False, time_limit=0.3)
    for timings in result.launches:
        a, b = timings["a"], timings["b"]
        assert a.single_calls == a.single
        assert len(a.single) > 50
        assert b.single == ()  # its blocks are calls
        assert b.single_calls == b.block_a + b.block_b
        assert a.memory == b.memory is None or a.memory > 1e6
