"""Programs in real processes: mixed with candidates of this process, launched several times."""

import os
import re

import pytest
from process_helpers import gone

from d2lhybrid import CandidateError, compare, own_process, recipe, started, sweep
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


def test_candidates_of_both_kinds_can_be_compared():
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


def test_arguments_are_sent_and_results_checked():
    program = "def shift(n, *, step=1):\n    return lambda: n + step\n"
    candidates = {"a": own_process(program), "b": own_process(program.replace("=1", "=2"))}
    with pytest.raises(ValueError, match="'b' does not return what 'a' returns: 7 against 6"):
        compare(candidates, 5, **QUICK)
    assert len(compare(candidates, 5, check=False, **QUICK)) == 2


def test_every_launch_starts_every_program_and_building_counts_in_the_total(notes):
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
    assert "launch 1 of 6: warming up b" in said
    assert "launch 1 of 6: measuring" in said
    assert any(re.fullmatch(r"launch 2 of 6, about \d+ s left: starting a", s) for s in said)
    assert any(re.fullmatch(r"launch 6 of 6, about \d+ s left: warming up a", s) for s in said)
    assert said[-1] == ""


FAILS_LATER = """
import os

def one():
    if os.path.exists({path!r}):
        raise RuntimeError("the second time")
    open({path!r}, "w").close()
    return lambda: 1
"""


def test_a_program_that_fails_in_a_later_launch_ends_it(tmp_path, notes):
    noting, noted = notes
    program = noting(FAILS_LATER.format(path=str(tmp_path / "here")))
    candidates = {"a": own_process(noting(ONE)), "b": own_process(program)}
    with pytest.raises(CandidateError, match="candidate 'b' raised RuntimeError: the second time"):
        compare(candidates, launches=6, **QUICK)
    assert len(noted()) == 4
    assert all_have_ended(noted())


def test_programs_that_fail_at_the_start_can_be_left_out(notes):
    noting, noted = notes
    sources = {"a": ONE, "b": "1 / 0\n" + ONE, "c": "def one():\n    1 / 0\n", "d": ONE}
    candidates = {label: own_process(noting(source)) for label, source in sources.items()}
    left_out = []
    result = compare(candidates, launches=8, on_error=left_out.append, **QUICK)
    assert list(result) == ["a", "d"]
    assert [error.label for error in left_out] == ["b", "c"]
    assert result.alpha == 0.04  # as if the others had never been there
    assert len(noted()) == 4 + 7 * 2  # they are not started again
    for broken in "bc":
        two = {label: candidates[label] for label in ("a", broken)}
        error = f"candidate '{broken}' raised ZeroDivisionError"
        with pytest.raises(CandidateError, match=error):
            compare(two, baseline=broken, launches=6, on_error=left_out.append, **QUICK)
        with pytest.raises(ValueError, match="nothing is left to compare with 'a'"):
            compare(two, launches=6, on_error=left_out.append, **QUICK)
    assert all_have_ended(noted())


REFUSED = [
    ("ab", {"launches": 5}, ValueError, "^5 launches give no 95 % interval for 2 .* takes 6$"),
    ("abc", {"launches": 6}, ValueError, "^6 launches give no 95 % interval for 3 .* takes 7$"),
    ("ab", {"calls": 9}, ValueError, "^calls needs launches: the total is measured once in"),
    ("af", {"launches": 6}, TypeError, "^only programs can be launched .*, not 'f'; see"),
]


def test_launches_that_give_no_answer_are_refused():
    for candidates, options, error, message in REFUSED:
        kinds = {label: own_process(ONE) for label in candidates} | {"f": lambda: 1}
        with pytest.raises(error, match=message):
            compare({label: kinds[label] for label in candidates}, **options)


def test_the_more_candidates_the_more_launches():
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


def test_started_programs_are_called_as_the_comparison_calls_them():
    fails = own_process("def f(n):\n    return lambda: 1 / n\n")
    with started({"a": own_process(TIMES), "b": fails}) as running:
        with pytest.raises(CandidateError, match="candidate 'other' raised ZeroDivisionError"):
            compare({"a": running["a"], "other": running["b"]}, 0, **QUICK)
        assert len(compare(running, 1, check=False, **QUICK)) == 2  # it goes on after an error


def test_a_program_that_cannot_be_loaded_starts_nothing_or_is_left_out(notes):
    noting, noted = notes
    programs = {"a": own_process(noting(TIMES)), "b": own_process("1 / 0\n" + TIMES)}
    with pytest.raises(CandidateError, match="candidate 'b' raised ZeroDivisionError"):
        started(programs).__enter__()
    assert all_have_ended(noted())
    failed = []
    with started(programs, on_error=failed.append) as running:
        assert list(running) == ["a"]
    assert [error.label for error in failed] == ["b"]
    assert all_have_ended(noted())


def test_what_is_started_cannot_be_launched():
    programs = {"a": own_process(ONE), "b": own_process(ONE)}
    refused = pytest.raises(TypeError, match="only programs can be launched several times")
    with started(programs) as running, refused:
        compare(running, launches=6)
    with pytest.raises(CandidateError, match="while it was built and first called"):
        compare(running)  # behind the block


def test_a_candidate_that_fails_among_the_others_is_left_out():
    source = "def one():\n    calls = iter(range(30))\n    return lambda: (next(calls), None)[1]\n"
    good, fails = own_process(ONE.replace("1", "None")), own_process(source)
    left_out = []
    candidates = {"a": good, "b": fails, "c": good}
    result = compare(candidates, launches=7, on_error=left_out.append, **QUICK)
    assert list(result) == ["a", "c"]
    assert [(error.label, "StopIteration" in str(error)) for error in left_out] == [("b", True)]
    assert len(result.launches) == 7


def test_the_threads_of_numpy_are_named():
    one = own_process("import numpy\ndef one():\n    return lambda: 1\n", threads=1)
    source = "from threadpoolctl import threadpool_limits\nimport numpy\nthreadpool_limits(2)\n"
    two = own_process(source + "def one():\n    return lambda: 1\n")
    assert compare({"a": one, "b": two}, time_limit=0.05).machine["threads"] == "1 and 2"


def test_programs_with_other_cores_can_be_shown_on_a_busy_machine(monkeypatch):
    monkeypatch.setattr("d2lhybrid.benchmark.comparison.is_busy", lambda load: True)
    programs = {"a": own_process(ONE, threads=1), "b": own_process(ONE)}
    assert "note: the machine was busy when this began" in str(compare(programs, **QUICK))
