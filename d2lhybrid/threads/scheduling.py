"""Schedules of a graph on several workers: real ones on threads, and pretended ones on paper.

    >>> from ..hybrid.recorder import trace
    >>> run_parallel(trace(lambda a, b: (a + b) * (a - b), 1, 1), 5, 3)
    16

    >>> tasks = {"a": (3, []), "b": (2, ["a"]), "c": (4, [])}
    >>> longest_path(tasks), makespan(list_schedule(tasks, workers=1))
    (5, 9)
    >>> makespan(list_schedule(tasks, workers=2))
    5

Built in notebook 20. Dask, TensorFlow and MXNet's engine find out in the same way what may run.
List scheduling and its anomalies are R. L. Graham's ("Bounds on multiprocessing timing anomalies",
1969), the bounds on the length R. P. Brent's (1974).
"""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from graphlib import TopologicalSorter
from heapq import heappop, heappush
from math import inf
from typing import Any

import torch

from ..hybrid.graph import Graph, Node
from ..hybrid.operations import OPERATIONS
from .events import Span

Tasks = dict[str, tuple[float, Sequence[str]]]  # name -> how long it takes, what it waits for


def call(node: Node, *read: Any) -> Any:
    """Return what a node computes from the values that it reads."""
    return OPERATIONS[node.op].function(*read)


def run_parallel(
    graph: Graph,
    *values: Any,
    workers: int = 2,
    compute: Callable[..., Any] = call,
    timeout: float = 60,
) -> Any:
    """Run a graph, as `graph(*values)` does, on `workers` threads; returns what the graph returns.

    `compute(node, *read)` computes a node from the values that it reads; pass another function to
    observe the execution. ValueError if the number of values is not the number of inputs. The error
    of a node is raised here, after every node that had started has ended. TimeoutError, with the
    names of the nodes that are running, if no node ends for `timeout` seconds. Their threads end
    when the nodes do, because a thread can't be stopped from outside.
    """
    value_of = dict(zip(graph.inputs, values, strict=True))
    value_of |= {node: node.value for node in graph.nodes if not node.is_operation}
    operations = {n: set(n.inputs) - value_of.keys() for n in graph.nodes if n.is_operation}
    order, running, stuck = TopologicalSorter(operations), {}, []
    order.prepare()
    gradients, threads = torch.is_grad_enabled(), torch.get_num_threads()

    def set_up():
        # A new thread would record gradients, whatever the caller does. And it takes over the limit
        # of threads only at a PyTorch call that asks for it; a product of matrices by MKL does not
        # ask. So it is set here.
        torch.set_grad_enabled(gradients)
        torch.set_num_threads(threads)

    pool = ThreadPoolExecutor(workers, initializer=set_up)
    try:
        while order.is_active():
            for node in order.get_ready():
                read = [value_of[source] for source in node.inputs]
                running[pool.submit(compute, node, *read)] = node
            done, _ = wait(running, timeout, return_when=FIRST_COMPLETED)
            if not done:
                stuck = [graph.names[node] for job, node in running.items() if job.running()]
                raise TimeoutError(f"waited {timeout:g} s for {', '.join(stuck)}")
            for job in done:
                node = running.pop(job)
                value_of[node] = job.result()
                order.done(node)
    finally:
        # after an error nothing more is started
        pool.shutdown(wait=not stuck, cancel_futures=True)
    return graph.as_returned(value_of[node] for node in graph.outputs)


# On paper -----------------------------------------------------------------------------------


def list_schedule(tasks: Tasks, workers: int) -> list[Span]:
    """Give each free worker the first task in the list that is ready; returns a Span for each task.

    `tasks` maps a name to its duration and to the names of the tasks whose results it needs. The
    order of the dict is the order of the list. ValueError if tasks wait for each other in a cycle.
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
    """Return the time from the first start to the last end."""
    return max(span.end for span in spans) - min(span.start for span in spans)


def longest_path(tasks: Tasks) -> float:
    """Return the length, in time, of the longest chain of tasks that wait for each other.

    No schedule is shorter, however many workers there are. `tasks` are those of `list_schedule`;
    CycleError, a ValueError, if they wait for each other in a cycle.
    """
    waits, ends = {name: needed for name, (_, needed) in tasks.items()}, {}
    for name in TopologicalSorter(waits).static_order():
        ends[name] = tasks[name][0] + max((ends[other] for other in waits[name]), default=0)
    return max(ends.values())
