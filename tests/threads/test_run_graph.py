"""Graphs on several threads: the same results, in an order that is allowed, and two at once."""

import random
import threading
from threading import Barrier, BrokenBarrierError
from time import sleep

import pytest
import torch
from hybrid_helpers import bits, fancy_func
from random_programs import as_list, random_program

from d2lhybrid import Gate, Log, get_net, run_parallel, trace
from d2lhybrid.threads.scheduling import call


def recorded(seed):
    """The graph of a random program, and values for it."""
    program = random_program(seed)
    values = program.inputs(random.Random(seed), 3)
    return trace(program.net, *values), values


def assert_same(graph, values, workers):
    with torch.no_grad():
        one, other = graph(*values), run_parallel(graph, *values, workers=workers)
    assert type(other) is type(one)
    assert bits(as_list(other)) == bits(as_list(one))


def test_random_programs_give_the_same_bits():
    for seed in range(12):
        assert_same(*recorded(seed), workers=1 + seed % 4)


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: a + a,
        lambda a, b: (a + a) * (a + a) - b,
        lambda a, b: (a * b, a, a * b, b),
        lambda a, b: [a - b],
        lambda a, b: 2 * b + 1,
    ],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_results_have_the_functions_structure(function, workers):
    result = run_parallel(trace(function, 1, 2), 5, 3, workers=workers)
    assert (type(result), result) == (type(function(5, 3)), function(5, 3))


@pytest.mark.parametrize("gradients", [True, False])
def test_grad_mode_is_the_callers(gradients):
    x = torch.ones(2, 512)
    graph = trace(get_net(), x)
    with torch.set_grad_enabled(gradients):
        assert run_parallel(graph, x).requires_grad == graph(x).requires_grad == gradients


def test_intra_op_threads_are_the_callers(monkeypatch):
    given = []
    monkeypatch.setattr(torch, "set_num_threads", given.append)
    run_parallel(trace(get_net(), torch.ones(2, 512)), torch.ones(2, 512))
    assert set(given) == {torch.get_num_threads()}


def assert_in_order(seed):
    graph, values = recorded(seed)
    log = Log()

    def compute(node, *read):
        with log.span(threading.current_thread().name, graph.names[node]):
            return call(node, *read)

    run_parallel(graph, *values, workers=4, compute=compute)
    place = {text: place for place, (_, _, text) in enumerate(log.events)}
    operations = [node for node in graph.nodes if node.is_operation]
    assert len(log.events) == len(place) == 2 * len(operations)  # each node once
    for node in operations:
        for source in node.inputs:
            if source.is_operation:
                ends, starts = f"ends {graph.names[source]}", f"starts {graph.names[node]}"
                assert place[ends] < place[starts], graph


def test_nodes_start_after_their_inputs():
    for seed in range(8):
        assert_in_order(seed)


def meeting(graph, timeout):
    """Computes nodes, but the two that the last one reads only if both are computed at once."""
    together = Barrier(2, timeout=timeout)

    def compute(node, *read):
        if node not in graph.outputs:
            together.wait()
        return call(node, *read)

    return compute


def test_independent_nodes_run_concurrently():
    graph = trace(fancy_func, 1, 2, 3, 4)
    assert run_parallel(graph, 1, 2, 3, 4, compute=meeting(graph, 10)) == 10


def test_one_worker_computes_one_node_at_a_time():
    graph = trace(fancy_func, 1, 2, 3, 4)
    with pytest.raises(BrokenBarrierError):
        run_parallel(graph, 1, 2, 3, 4, workers=1, compute=meeting(graph, 0.05))


def test_error_is_raised_and_no_thread_remains():
    before, together, ended = threading.enumerate(), Barrier(2, timeout=10), []
    graph = trace(fancy_func, 1, 2, 3, 4)

    def compute(node, *read):
        together.wait()
        if read == (1, 2):
            raise ArithmeticError("one and two")
        sleep(0.05)
        ended.append(read)

    with pytest.raises(ArithmeticError, match="one and two"):
        run_parallel(graph, 1, 2, 3, 4, compute=compute)
    assert ended == [(3, 4)]
    assert threading.enumerate() == before


def test_nothing_more_is_started_after_an_error():
    started = []

    def compute(node, *read):
        started.append(node)
        if len(started) == 1:
            raise ArithmeticError
        sleep(0.05)

    graph = trace(lambda a: tuple(a + i for i in range(20)), 1)
    with pytest.raises(ArithmeticError):
        run_parallel(graph, 1, workers=1, compute=compute)
    assert len(started) < 20


def test_timeout_names_the_stuck_node():
    before, gate = threading.enumerate(), Gate()

    def compute(node, *read):
        if node is graph.nodes[0]:
            gate.wait(10)
        return call(node, *read)

    graph = trace(fancy_func, 1, 2, 3, 4)
    with pytest.raises(TimeoutError, match=r"^waited 0\.2 s for v1$"):
        run_parallel(graph, 1, 2, 3, 4, compute=compute, timeout=0.2)
    gate.open()
    for thread in set(threading.enumerate()) - set(before):
        thread.join(10)
    assert threading.enumerate() == before
