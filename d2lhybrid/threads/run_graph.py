"""Run a graph on several threads: each node as soon as what it reads has been computed.

    >>> from ..hybrid.recorder import trace
    >>> run_parallel(trace(lambda a, b: (a + b) * (a - b), 1, 1), 5, 3)
    16

Built in notebook 19. Dask, TensorFlow and MXNet's engine find out in the same way what may run.
"""

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from graphlib import TopologicalSorter
from typing import Any

import torch

from ..hybrid.graph import Graph, Node
from ..hybrid.operations import OPERATIONS


def call(node: Node, *read: Any) -> Any:
    """What a node computes from the values that it reads."""
    return OPERATIONS[node.op].function(*read)


def run_parallel(
    graph: Graph,
    *values: Any,
    workers: int = 2,
    compute: Callable[..., Any] = call,
    timeout: float = 60,
) -> Any:
    """Run a graph, as `graph(*values)` does, on so many threads; returns what the graph returns.

    `compute(node, *read)` computes a node from the values that it reads; put another in its place
    to watch. An error of a node is raised here, after all that had been started has ended.
    TimeoutError, with their names, if no node ends for `timeout` seconds. Their threads end when
    they do: a thread can't be stopped from outside.
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
