"""Who would do what, and when: schedules with pretended times, and what bounds them.

    >>> tasks = {"a": (3, []), "b": (2, ["a"]), "c": (4, [])}
    >>> longest_path(tasks), makespan(list_schedule(tasks, workers=1))
    (5, 9)
    >>> makespan(list_schedule(tasks, workers=2))
    5

Explained in notebook 19. List scheduling and its anomalies are R. L. Graham's ("Bounds on
multiprocessing timing anomalies", 1969), the bounds on the length R. P. Brent's (1974).
"""

from collections.abc import Sequence
from graphlib import TopologicalSorter
from heapq import heappop, heappush
from math import inf

from .log import Span

Tasks = dict[str, tuple[float, Sequence[str]]]  # name -> how long it takes, what it waits for


def list_schedule(tasks: Tasks, workers: int) -> list[Span]:
    """Give each free worker the first task of the list that is ready; returns all spans.

    `tasks` maps a name to its duration and to the names of the tasks whose results it needs.
    The order of the dict is the order of the list. ValueError where tasks wait for each other.
    """
    waiting, free, ends = dict(tasks), list(range(1, workers + 1)), {}
    running, spans, now = [], [], 0
    while waiting or running:
        for name, (duration, needed) in list(waiting.items()):
            if free and all(ends.get(other, inf) <= now for other in needed):
                worker, ends[name] = free.pop(0), now + duration
                heappush(running, (ends[name], worker))
                spans.append(Span(f"worker {worker}", name, now, ends[name]))
                del waiting[name]
        if not running:
            raise ValueError(f"these tasks wait for each other: {', '.join(waiting)}")
        now = running[0][0]
        while running and running[0][0] == now:
            free.append(heappop(running)[1])
        free.sort()
    return spans


def makespan(spans: Sequence[Span]) -> float:
    """From the first start to the last end."""
    return max(span.end for span in spans) - min(span.start for span in spans)


def longest_path(tasks: Tasks) -> float:
    """The length of the longest chain of tasks that wait for each other, in time.

    No schedule is shorter, however many workers there are. Tasks must not wait in a circle.
    """
    waits, ends = {name: needed for name, (_, needed) in tasks.items()}, {}
    for name in TopologicalSorter(waits).static_order():
        ends[name] = tasks[name][0] + max((ends[other] for other in waits[name]), default=0)
    return max(ends.values())
