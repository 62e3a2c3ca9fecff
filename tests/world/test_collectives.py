"""Whether all-reduce adds up, sends what its table says, and gives each rank the same bits."""

from concurrent.futures import ThreadPoolExecutor
from itertools import product
from math import ceil, log2
from queue import SimpleQueue

import pytest
import torch

from d2lhybrid.world.collectives import halving_doubling, ring, ring_steps, star, tree

ALL = [halving_doubling, ring, star, tree]


class ThreadComm:
    """As much of a Comm as they need, between threads."""

    def __init__(self, rank, size, queues, sent):
        self.rank, self.size, self.queues, self.sent = rank, size, queues, sent

    def isend(self, value, to):
        assert to != self.rank
        self.sent.append((self.rank, to, value.nbytes))
        self.queues[self.rank, to].put(value.clone())

    send = isend

    def recv(self, source):
        return self.queues[source, self.rank].get(timeout=10)


def run(function, tensors):
    """What each rank returns, and all that was sent."""
    n, sent = len(tensors), []
    queues = {(a, b): SimpleQueue() for a in range(n) for b in range(n)}
    with ThreadPoolExecutor(n) as pool:
        results = [
            pool.submit(function, ThreadComm(rank, n, queues, sent), tensor)
            for rank, tensor in enumerate(tensors)
        ]
        return [result.result(20) for result in results], sent


def numbers_of_ranks(function):
    return (1, 2, 4, 8) if function is halving_doubling else (1, 2, 3, 4, 5, 7, 8)


def test_each_rank_gets_the_sum_and_keeps_its_own():
    for function, shape in product(ALL, [(), (0,), (1,), (10,), (3, 5), (64,)]):
        for n in numbers_of_ranks(function):
            tensors = [torch.randint(-9, 9, shape).float() for _ in range(n)]
            kept = [tensor.clone() for tensor in tensors]
            results, _ = run(function, tensors)
            for result in results:
                assert torch.equal(result, sum(kept)), (function, shape, n)
                assert all(result is not tensor for tensor in tensors)
            assert all(map(torch.equal, tensors, kept)), (function, shape, n)


def test_a_transposed_tensor_is_a_tensor_too():
    tensors = [torch.arange(6.0).view(2, 3).t() for _ in range(4)]
    for function in ALL:
        results, _ = run(function, tensors)
        assert all(torch.equal(result, 4 * tensors[0]) for result in results), function


def test_all_ranks_have_the_same_bits():
    for function in ALL:
        for n in numbers_of_ranks(function):
            results, _ = run(function, [torch.randn(1000) for _ in range(n)])
            assert all(torch.equal(result, results[0]) for result in results), (function, n)


TABLE = [
    (star, lambda n: 2 * (n - 1), lambda n: n - 1),
    (tree, lambda n: 2 * (n - 1), lambda n: ceil(log2(n))),
    (halving_doubling, lambda n: 2 * n * log2(n), lambda n: 2 * (n - 1) / n),
    (ring, lambda n: 2 * n * (n - 1), lambda n: 2 * (n - 1) / n),
]


def test_message_counts_match_the_table_in_the_docs():
    for function, messages, busiest in TABLE:
        for n in (2, 4, 8, *(3, 5, 6) * (function is tree)):
            x = torch.ones(64)
            results, sent = run(function, [x] * n)
            by_rank = [sum(size for source, _, size in sent if source == r) for r in range(n)]
            assert all(torch.equal(result, n * x) for result in results), (function, n)
            assert len(sent) == messages(n), (function, n)
            assert sum(by_rank) == 2 * (n - 1) * x.nbytes, (function, n)
            assert max(by_rank) == busiest(n) * x.nbytes, (function, n)


def test_a_ring_speaks_with_neighbors_only():
    _, sent = run(ring, [torch.ones(8)] * 4)
    assert {(source, to) for source, to, _ in sent} == {(0, 1), (1, 2), (2, 3), (3, 0)}


def test_the_star_adds_in_the_order_of_ranks_and_the_ring_in_a_known_one():
    tensors = [torch.randn(1001) for _ in range(5)]
    assert torch.equal(run(star, tensors)[0][0], sum(tensors))
    parts = [tensor.tensor_split(5) for tensor in tensors]
    expected = torch.cat([sum(parts[(c + k) % 5][c] for k in range(5)) for c in range(5)])
    assert torch.equal(run(ring, tensors)[0][0], expected)


def test_the_steps_of_a_ring_are_the_states_of_one_tensor():
    def states(comm, x):
        return [state.tolist() for state in ring_steps(comm, x)]

    results, _ = run(states, [torch.ones(3)] * 3)
    assert results[0] == [[1, 1, 1], [1, 1, 2], [1, 3, 2], [3, 3, 2], [3, 3, 3]]


def test_halving_says_for_which_numbers_of_ranks_it_is():
    with pytest.raises(ValueError, match=r"2, 4, 8, 16 .* ranks, got 3"):
        run(halving_doubling, [torch.ones(3)] * 3)


def test_a_sum_has_no_gradient_for_it_would_not_know_of_the_other_ranks():
    for function in ALL:
        results, _ = run(function, [torch.ones(4, requires_grad=True) for _ in range(4)])
        assert [result.requires_grad for result in results] == [False] * 4, function
        assert all(torch.equal(result, torch.full((4,), 4.0)) for result in results), function


def test_each_rank_gets_the_sum_in_its_own_shape():
    shapes = (8,), (2, 4), (4, 2), (8, 1)
    for function in ALL:
        results, _ = run(function, [torch.ones(shape) for shape in shapes])
        assert [tuple(result.shape) for result in results] == [*shapes], function
        assert all((result == 4).all() for result in results), function
