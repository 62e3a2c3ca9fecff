"""Schedules with pretended times: that they are possible, and as short as theory says."""

import random
from itertools import pairwise

import pytest

from d2lhybrid import Span, list_schedule, longest_path, makespan


def random_tasks(rng):
    """Tasks that take 1 to 9; each waits for some of those with a smaller number."""
    tasks = {
        str(i): (rng.randint(1, 9), [str(j) for j in range(i) if rng.random() < 0.3])
        for i in range(rng.randint(1, 14))
    }
    names = rng.sample(list(tasks), k=len(tasks))  # the list may have them in any order
    return {name: tasks[name] for name in names}


def assert_possible(seed):
    """The schedule of random tasks keeps every rule, and both bounds of its length."""
    rng = random.Random(seed)
    tasks, workers = random_tasks(rng), rng.randint(1, 5)
    spans = list_schedule(tasks, workers)
    assert sorted(span.label for span in spans) == sorted(tasks)
    start = {span.label: span.start for span in spans}
    end = {span.label: span.end for span in spans}
    ready = {name: max((end[n] for n in needed), default=0) for name, (_, needed) in tasks.items()}
    assert all(end[name] == start[name] + duration for name, (duration, _) in tasks.items())
    assert all(start[name] >= ready[name] for name in tasks)

    lanes = {span.lane for span in spans}
    assert lanes <= {f"worker {i}" for i in range(1, workers + 1)}
    for lane in lanes:  # nobody does two things at once
        own = sorted((span.start, span.end) for span in spans if span.lane == lane)
        assert all(one[1] <= other[0] for one, other in pairwise(own))

    for name in tasks:  # nobody idles while a task is ready
        for now in range(ready[name], start[name]):
            assert sum(span.start <= now < span.end for span in spans) == workers
    for i, name in enumerate(tasks):  # none is overtaken by another that is later in the list
        assert all(not ready[name] <= start[other] < start[name] for other in [*tasks][i + 1 :])

    work, span = sum(duration for duration, _ in tasks.values()), longest_path(tasks)
    assert max(work / workers, span) <= makespan(spans) <= work / workers + span
    assert list_schedule(tasks, workers) == spans


def test_random_schedules_are_valid_and_within_the_bounds():
    for seed in range(60):
        assert_possible(seed)


GRAHAM = {str(i): time for i, time in enumerate((3, 2, 2, 2, 4, 4, 4, 4, 9), 1)}
WAITS = {("9", "1"), ("5", "4"), ("6", "4"), ("7", "4"), ("8", "4")}  # 9 waits for 1


@pytest.mark.parametrize(
    ("workers", "less", "dropped", "length"),
    [
        (3, 0, set(), 12),
        (3, 1, set(), 13),  # shorter tasks, a longer schedule
        (4, 0, set(), 15),  # more workers
        (3, 0, {("5", "4"), ("6", "4")}, 16),  # less to wait for
    ],
)
def test_grahams_anomalies(workers, less, dropped, length):
    waits = WAITS - dropped
    tasks = {
        name: (time - less, [needed for waiting, needed in waits if waiting == name])
        for name, time in GRAHAM.items()
    }
    assert makespan(list_schedule(tasks, workers)) == length


def test_first_free_worker_gets_the_first_ready_task():
    tasks = {"c": (1, ["a"]), "a": (2, []), "b": (1.5, []), "d": (1, [])}
    tasks["e"] = (1, ["c", "d"])
    assert list_schedule(tasks, 2) == [
        Span("worker 1", "a", 0, 2),
        Span("worker 2", "b", 0, 1.5),
        Span("worker 2", "d", 1.5, 2.5),
        Span("worker 1", "c", 2, 3),
        Span("worker 1", "e", 3, 4),  # though worker 2 has been free for longer
    ]


@pytest.mark.parametrize(
    ("tasks", "names"),
    [
        ({"a": (1, ["a"])}, "a"),
        ({"a": (1, []), "b": (1, ["c", "a"]), "c": (1, ["b"])}, "b, c"),
    ],
)
def test_cyclic_tasks_raise(tasks, names):
    with pytest.raises(ValueError, match=f"^these tasks wait for each other: {names}$"):
        list_schedule(tasks, 2)


@pytest.mark.parametrize(
    ("tasks", "length"),
    [
        ({"a": (3, []), "b": (4, [])}, 4),
        ({"b": (4, ["a"]), "a": (3, [])}, 7),
        ({"a": (1, []), "b": (5, ["a"]), "c": (2, ["a"]), "d": (1, ["b", "c"])}, 7),
    ],
)
def test_longest_path(tasks, length):
    assert longest_path(tasks) == length
    assert makespan(list_schedule(tasks, len(tasks))) == length  # so many workers reach it


def test_makespan_begins_with_the_first_start():
    assert makespan([Span("a", "", 5, 9), Span("b", "", 3, 4), Span("c", "", 4, 8)]) == 6
