"""All-reduce: the tensors of all ranks are added up, and each rank gets the sum.

    >>> from . import World
    >>> def own_sum(comm, x):
    ...     return ring(comm, x * comm.rank).tolist()
    >>> with World(3) as world:
    ...     world.run(own_sum, torch.tensor([1.0, 10.0]))
    [[3.0, 30.0], [3.0, 30.0], [3.0, 30.0]]

Explained in notebook 26. Each function gets a rank's own `Comm` and its own tensor, of any shape,
which stays as it is. It returns the sum: a new tensor of the same shape and dtype, without a
gradient. All ranks call the same one, with tensors of equally many elements, and get the same bits.
For n ranks and tensors of S bytes they send, in rounds that must wait for each other:

                        messages     bytes, the busiest rank     rounds
    star                2(n-1)       (n-1) S                     2(n-1)
    tree                2(n-1)       ceil(log2(n)) S             2 ceil(log2(n))
    halving_doubling    2n log2(n)   2(n-1)/n S                  2 log2(n)
    ring                2n(n-1)      2(n-1)/n S                  2(n-1)
"""

from collections.abc import Iterator

import torch

from .comm import Comm


def ring_steps(comm: Comm, x: torch.Tensor) -> Iterator[torch.Tensor]:
    """A ring all-reduce, step by step: yields the growing sum, the same tensor each time.

    In the first half each rank adds what it receives to its own, and in the second it copies it.
    """
    total = x.detach().flatten().clone()
    chunks = total.tensor_split(comm.size)  # views: what is added to a chunk is added to total
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    yield total.view_as(x)
    for step in range(2 * (comm.size - 1)):
        comm.isend(chunks[(comm.rank - step) % comm.size], right)
        own = chunks[(comm.rank - step - 1) % comm.size]
        if step < comm.size - 1:
            own.add_(comm.recv(left))
        else:
            own.copy_(comm.recv(left))
        yield total.view_as(x)


def ring(comm: Comm, x: torch.Tensor) -> torch.Tensor:
    """Return the sum over all ranks, in chunks: chunk c is added up from rank c round to c - 1.

    P. Patarasuk and X. Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations
    (2009).
    """
    *_, total = ring_steps(comm, x)
    return total


def star(comm: Comm, x: torch.Tensor) -> torch.Tensor:
    """Return the sum over all ranks: rank 0 receives all, adds in their order, and sends it."""
    total = x.detach().flatten().clone()
    if comm.rank > 0:
        comm.send(total, 0)
        return comm.recv(0).view_as(x)
    for rank in range(1, comm.size):
        total += comm.recv(rank)
    for rank in range(1, comm.size):
        comm.isend(total, rank)
    return total.view_as(x)


def tree(comm: Comm, x: torch.Tensor) -> torch.Tensor:
    """Return the sum over all ranks, in pairs: up a binomial tree to rank 0, and down again.

    Works for any number of ranks; R. Thakur, R. Rabenseifner and W. Gropp describe it and its
    rivals in Optimization of collective communication operations in MPICH (2005).
    """
    total, distance = x.detach().flatten().clone(), 1
    while distance < comm.size and comm.rank % (2 * distance) == 0:
        if comm.rank + distance < comm.size:
            total += comm.recv(comm.rank + distance)
        distance *= 2
    if comm.rank > 0:
        comm.send(total, comm.rank - distance)
        total = comm.recv(comm.rank - distance)
    while distance > 1:
        distance //= 2
        if comm.rank + distance < comm.size:
            comm.isend(total, comm.rank + distance)
    return total.view_as(x)


def halving_doubling(comm: Comm, x: torch.Tensor) -> torch.Tensor:
    """Return the sum over all ranks: halves are exchanged and added, then quarters, and back.

    Rabenseifner's algorithm; see `tree` for the source. ValueError unless the number of ranks is a
    power of two.
    """
    if comm.size & (comm.size - 1):
        raise ValueError(f"halving needs 2, 4, 8, 16 ... ranks, got {comm.size}")
    total = x.detach().flatten().clone()
    mine, exchanged, distance = total, [], comm.size // 2
    while distance:
        peer = comm.rank ^ distance
        low, high = mine.tensor_split(2)
        mine, other = (low, high) if comm.rank < peer else (high, low)
        comm.isend(other, peer)
        mine += comm.recv(peer)
        exchanged.append((peer, mine, other))
        distance //= 2
    for peer, mine, other in reversed(exchanged):
        comm.isend(mine, peer)
        other.copy_(comm.recv(peer))
    return total.view_as(x)
