"""Programs in real processes: mixed with candidates of this process, and several of each."""

import os
import re
import sys
from math import inf

import pytest
from process_helpers import gone, noted_starts

from d2lhybrid import CandidateError, build, compare, isolated, start_workers, sweep
from d2lhybrid.benchmark import processes
from d2lhybrid.benchmark.comparison import TooFewProcesses
from d2lhybrid.benchmark.statistics import least_processes

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
        "built": build(lambda: double),
        "program": isolated(program),
    }
    said = []
    result = compare(candidates, [1.0, 2.0, 3.0], progress=said.append, **QUICK)
    assert list(result) == ["ready", "built", "program"]
    assert [result[label].build_cost is None for label in result] == [True, False, False]
    assert said[0] == "starting program"
    assert len(result.processes) == 1


def test_each_trial_starts_each_program(notes):
    noting, noted = notes
    slow = "import time\ndef one():\n    time.sleep(0.05)\n    return lambda: 1\n"
    candidates, said = {"a": isolated(noting(ONE)), "b": isolated(noting(slow))}, []
    result = compare(candidates, processes=6, calls=10, progress=said.append, **QUICK)
    assert len(result.processes) == 6
    assert len(set(noted())) == 12
    assert os.getpid() not in noted()
    assert all_have_ended(noted())
    assert result.complete
    assert all(timings["b"].block_a for timings in result.processes)
    b = result["b"]
    assert b.low > 0
    assert b.total.time >= 0.05
    assert b.total.verdict == "slower"
    assert b.build_state == "cold process"
    assert ("in CPU time" in str(result)) == (sys.platform == "linux")
    assert said[0] == "process 1 of 6: starting a"  # nobody can say how long it takes
    assert any(re.fullmatch(r"process 6 of 6: warming up a", s) for s in said)
    assert said[-1] == ""


def test_programs_that_fail_are_left_out_and_not_started_again(notes):
    noting, noted = notes
    sources = {"a": ONE, "b": "1 / 0\n" + ONE, "c": "def one():\n    1 / 0\n", "d": ONE}
    candidates = {label: isolated(noting(source)) for label, source in sources.items()}
    left_out = []
    result = compare(candidates, processes=8, on_error=left_out.append, **QUICK)
    assert list(result) == ["a", "d"]
    assert [error.label for error in left_out] == ["b", "c"]
    assert result.alpha == 0.04  # as if the others had never been there
    assert len(noted()) == 4 + 7 * 2  # they are not started again
    two = {label: candidates[label] for label in "ab"}
    with pytest.raises(CandidateError, match="candidate 'b' raised ZeroDivisionError"):
        compare(two, baseline="b", processes=6, on_error=left_out.append, **QUICK)
    assert all_have_ended(noted())


@pytest.mark.parametrize(
    ("candidates", "options", "error"),
    [
        ("ab", {"processes": 5}, TooFewProcesses),
        ("abc", {"processes": 6}, TooFewProcesses),
        ("ab", {"calls": 9}, ValueError),
        ("af", {"processes": 6}, TypeError),
    ],
)
def test_processes_that_give_no_answer_are_refused(candidates, options, error):
    kinds = {label: isolated(ONE) for label in candidates} | {"f": lambda: 1}
    with pytest.raises(error):
        compare({label: kinds[label] for label in candidates}, **options)


def test_more_candidates_need_more_processes():
    assert [least_processes(others) for others in (1, 2, 3, 4, 10)] == [6, 7, 8, 8, 9]


TIMES = "def times(n, factor=1):\n    return lambda: n * factor\n"


def test_started_programs_serve_several_comparisons(notes):
    noting, noted = notes
    program, heavy = isolated(noting(TIMES)), isolated(noting(TIMES.replace("=1", "=1.0")))
    with start_workers({"a": program, "b": heavy}) as running:
        assert len(noted()) == 2
        with pytest.raises(ValueError, match="'b' does not return what 'a' returns"):
            compare(running | {"b": lambda n: n + 1}, 5, **QUICK)
        first = compare(running, 5, **QUICK)
        swept = sweep(running, float, [1, 2], **QUICK)
        results = {label: one.results[-1] for label, one in running.items()}
    assert results == {"a": 2.0, "b": 2.0}  # of the last arguments
    assert first["b"].build_state.startswith("cold process")
    assert swept[2]["b"].build_state == "warm process"
    assert len(noted()) == 2
    assert all_have_ended(noted())


def test_started_programs_get_the_labels_of_the_comparison():
    fails = isolated("def f(n):\n    return lambda: 1 / n\n")
    with start_workers({"a": isolated(TIMES), "b": fails}) as running:
        with pytest.raises(CandidateError, match="candidate 'other' raised ZeroDivisionError"):
            compare({"a": running["a"], "other": running["b"]}, 0, **QUICK)
        assert len(compare(running, 1, check=False, **QUICK)) == 2  # it goes on after an error


def test_program_that_cannot_be_loaded_is_left_out(notes):
    noting, noted = notes
    programs = {"a": isolated(noting(TIMES)), "b": isolated("1 / 0\n" + TIMES)}
    with pytest.raises(CandidateError, match="candidate 'b' raised ZeroDivisionError"):
        start_workers(programs).__enter__()
    failed = []
    with start_workers(programs, on_error=failed.append) as running:
        assert list(running) == ["a"]
    assert [error.label for error in failed] == ["b"]
    assert all_have_ended(noted())


@pytest.mark.skipif(sys.platform != "linux", reason="others do not say what a process takes")
@pytest.mark.parametrize(("all_of_it", "at_once", "largest"), [(inf, 4, ""), (420, 1, "large")])
def test_what_does_not_fit_into_memory_is_left_out(monkeypatch, all_of_it, at_once, largest):
    """The largest ends, but for the first; as many load at once as there is memory for."""
    sizes = {"first": 90, "small": 10, "large": 60, "middle": 40}  # beside Python's own
    source = "kept = bytearray(b'x' * {} * 2**20)\ndef a():\n    return int"
    programs = {label: isolated(source.format(size)) for label, size in sizes.items()}
    started, numbers, failed = noted_starts(monkeypatch), [], []

    def left():
        numbers.append(len(started))
        alive = [f"/proc/{one.pid}/status" for one in started if one.poll() is None]
        taken = [processes.bytes_in(file, "RssAnon") for file in alive]
        return all_of_it * 2**20 - sum(taken)

    monkeypatch.setattr(processes, "available_memory", left)
    with start_workers(programs, on_error=failed.append) as running:
        assert running.keys() == programs.keys() - {largest}
    assert numbers[1] == at_once
    took = r"candidate 'large' took [67]\d MiB, and was ended before memory ran out"
    assert [bool(re.fullmatch(took, str(error))) for error in failed] == [True] * bool(largest)


def test_failure_while_measuring_is_left_out():
    source = "def one():\n    calls = iter(range(30))\n    return lambda: (next(calls), None)[1]\n"
    good, fails = isolated(ONE.replace("1", "None")), isolated(source)
    left_out = []
    candidates = {"a": good, "b": fails, "c": good}
    result = compare(candidates, processes=7, on_error=left_out.append, **QUICK)
    assert list(result) == ["a", "c"]
    assert [(error.label, "StopIteration" in str(error)) for error in left_out] == [("b", True)]
    assert len(result.processes) == 7


def test_calls_of_programs_are_also_timed_one_by_one():
    long = "import time\ndef one():\n    return lambda: time.sleep(1e-3)\n"
    candidates = {"a": isolated(ONE), "b": isolated(long)}
    result = compare(candidates, processes=6, single_calls=True, check=False, time_limit=0.3)
    for timings in result.processes:
        a, b = timings["a"], timings["b"]
        assert a.single_calls == a.single
        assert len(a.single) > 50
        assert b.single == ()  # its blocks are calls
        assert b.single_calls == b.block_a + b.block_b
        assert b.median_time >= 1e-3  # it waits, so the wall's clock is taken for both
        assert a.memory == b.memory is None or a.memory > 1e6
