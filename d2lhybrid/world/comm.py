"""How a process of a world speaks with the others: messages over sockets, from rank to rank.

Explained in notebook 26. `rank`, `size`, `send` and `isend` are MPI's words.
"""

import socket
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener, wait
from time import monotonic, sleep
from typing import Any, NamedTuple

from .serialization import content_bytes, dumps, loads

HOST = "127.0.0.1"
# Bytes that a socket holds on each side: so many may be sent before anything is received. It is set
# because systems differ, and because a lesson needs a message that doesn't fit.
BUFFER = 2**16


class Message(NamedTuple):
    """One message: the sender's rank, the receiver's, and the bytes of its tensors.

    Numbers, strings and what is sent around a value count 0 bytes.
    """

    source: int
    to: int
    bytes: int


class Comm:
    """One process's own place in a world: its `rank`, the `size`, and connections to the others.

    Every function that a world runs gets one as its first argument. There it has a `device`, too: a
    GPU of its own where there are enough, and otherwise the CPU; a `state`, a dict that is kept
    from one run to the next; and `barrier()`, which returns when all have called it.
    """

    def __init__(
        self, rank: int, size: int, peers: dict, run: int = 0, alpha: float = 0.0, beta: float = 0.0
    ):
        self.rank, self.size, self.messages = rank, size, []
        self._run, self._alpha, self._beta = run, alpha, beta
        self._peers = {peer: peers[peer] for peer in range(size) if peer != rank}
        self._out_free = self._in_free = 0.0  # when the last message will have passed
        self._senders, self._sent = {}, []  # threads by rank, and all that they were given
        self._last = rank

    def send(self, value: Any, to: int) -> None:
        """Send a value to another rank; returns when the network has all of it.

        A small one fits into the buffers on the way. For a large one this waits until the other
        side receives. ValueError if there is no such other rank, TypeError for what can't be sent.
        """
        self.isend(value, to).result()

    def isend(self, value: Any, to: int) -> Future:
        """Begin to send a value, and return at once; the future is done when `send` would return.

        What arrives is what the value was at this moment. Two messages to the same rank arrive in
        the order in which they were sent. Errors as of `send`.
        """
        connection, size = self._connection(to), content_bytes(value)
        begin = max(monotonic(), self._out_free)
        packed = dumps((self._run, begin, value))
        self._out_free = begin + self._alpha + self._beta * size
        self.messages.append(Message(self.rank, to, size))
        if to not in self._senders:
            self._senders[to] = ThreadPoolExecutor(1)
        sent = self._senders[to].submit(self._write, connection, to, packed, self._out_free)
        self._sent.append(sent)
        return sent

    def recv(self, source: int) -> Any:
        """Wait for the next value from this rank, and return it.

        ConnectionError if its process has ended, ValueError if there is no such other rank.
        """
        while True:
            run, value = self._read(source)
            if run == self._run:
                return value

    def recv_any(self) -> tuple[int, Any]:
        """Wait for a value from any rank; returns the rank and the value.

        It is fair: if several have sent, each gets its turn. ConnectionError if one has ended,
        ValueError if there are no others.
        """
        if not self._peers:
            raise ValueError(f"rank {self.rank} is alone, so nothing can be sent to it")
        while True:
            there = wait(self._peers.values())
            ready = [peer for peer, connection in self._peers.items() if connection in there]
            self._last = min(ready, key=lambda peer: (peer <= self._last, peer))
            run, value = self._read(self._last)
            if run == self._run:
                return self._last, value

    def finish(self) -> None:
        """Wait until the network has all that was sent. The first error of sending is raised."""
        for sent in self._sent:
            sent.result()

    def close(self) -> bool:
        """Send no more; returns whether nothing is stuck on its way out.

        A thread that is stuck in sending stays until its process ends.
        """
        for sender in self._senders.values():
            sender.shutdown(wait=False, cancel_futures=True)
        return all(sent.done() for sent in self._sent)

    def _connection(self, peer):
        """Return the connection to another rank. ValueError if there is no such rank."""
        if peer not in self._peers:
            raise ValueError(f"rank {self.rank} of {self.size} has no peer {peer!r}")
        return self._peers[peer]

    def _write(self, connection, to, packed, late):
        """Send these bytes; returns at the moment `late`, or when the network has them."""
        try:
            connection.send_bytes(packed)
        except OSError as error:
            raise ConnectionError(f"rank {to} has ended, so nothing can be sent to it") from error
        sleep_until(late)

    def _read(self, source):
        """Wait for the next message: returns its run's number, perhaps an earlier one, and
        value.
        """
        try:
            run, begin, value = loads(self._connection(source).recv_bytes())
        except (EOFError, OSError) as error:
            raise ConnectionError(f"rank {source} has ended, so it can't send anything") from error
        if run == self._run:
            took = self._alpha + self._beta * content_bytes(value)
            self._in_free = max(begin, self._in_free) + took
            sleep_until(self._in_free)
        return run, value


def sleep_until(moment: float) -> None:
    """Sleep until `monotonic()` has reached this moment: all processes have the same clock."""
    while (left := moment - monotonic()) > 0:
        sleep(left)


def listen(token: bytes) -> Listener:
    """Return a Listener on 127.0.0.1, on a free port; a caller without the token is refused."""
    return Listener((HOST, 0), backlog=128, authkey=token)


def connect(rank: int, listener: Listener, ports: list[int], token: bytes) -> dict[int, Connection]:
    """Return rank -> connection, for all other ranks.

    `ports` are those at which the ranks listen. Those before this one are called, and the calls of
    the others are accepted at `listener`, which is then closed.
    """
    peers = {}
    for peer in range(rank):
        peers[peer] = Client((HOST, ports[peer]), authkey=token)
        peers[peer].send_bytes(bytes([rank]))
    with listener:
        while len(peers) < len(ports) - 1:
            with suppress(AuthenticationError, EOFError, OSError):  # a stranger, who may hang up
                caller = listener.accept()
                peers[caller.recv_bytes()[0]] = caller
    for connection in peers.values():
        with socket.fromfd(connection.fileno(), socket.AF_INET, socket.SOCK_STREAM) as own:
            own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
            own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
            own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # a message is sent at once
    return peers
