"""How a process of a world speaks with the others: messages over sockets, from rank to rank.

Explained in notebook 25. `rank`, `size`, `send` and `isend` are MPI's words.
"""

import socket
import struct
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from selectors import EVENT_READ, DefaultSelector
from time import monotonic, sleep
from typing import Any, NamedTuple

import torch

from .packing import content_bytes, pack, unpack

HOST = "127.0.0.1"
# Bytes that a socket holds on each side: so many may be sent before anything is received. It is set
# because systems differ, and because a lesson needs a message that doesn't fit.
BUFFER = 2**16
STRANGER = 5.0  # seconds in which a caller must say that it is none
HEADER = struct.Struct("!qqd")  # number of the run, bytes that follow, seconds of `monotonic()`


class Message(NamedTuple):
    """One message: the sender's rank, the receiver's, and the bytes of its tensors.

    Numbers, strings and what is sent around a value count 0 bytes.
    """

    source: int
    to: int
    bytes: int


class PeerLost(ConnectionError):
    """Another process of the world has ended, so nothing can come from it."""


class Comm:
    """One process's own place in a world: its `rank`, how many there are, and a way to each.

    `device` is a GPU of its own where there are enough, and otherwise the CPU. `state` is a dict
    that is kept from one run to the next. Every function that a world runs gets one as its first
    argument.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        sockets: dict[int, socket.socket],
        run: int = 0,
        alpha: float = 0.0,
        beta: float = 0.0,
        barrier: Callable[[], None] = lambda: None,
        state: dict | None = None,
        device: str = "cpu",
    ):
        self.rank, self.size, self.device = rank, size, torch.device(device)
        self.state = {} if state is None else state
        self.messages = []
        self.barrier = barrier
        self._run, self._alpha, self._beta = run, alpha, beta
        self._sockets = {peer: sockets[peer] for peer in range(size) if peer != rank}
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
        the order in which they were sent.
        """
        peer = self._socket(to)
        packed, size = pack(value), content_bytes(value)
        took = self._alpha + self._beta * size
        begin = max(monotonic(), self._out_free)
        self._out_free = begin + took
        self.messages.append(Message(self.rank, to, size))
        if to not in self._senders:
            self._senders[to] = ThreadPoolExecutor(1)
        self._sent.append(self._senders[to].submit(self._write, peer, to, packed, begin, took))
        return self._sent[-1]

    def receive(self, source: int) -> Any:
        """Wait for the next value from this rank. PeerLost if its process has ended."""
        while True:
            run, value = self._read(source)
            if run == self._run:
                return value

    def receive_any(self) -> tuple[int, Any]:
        """Wait for a value from any rank; returns the rank and the value.

        If several have sent, each gets its turn. ValueError if there are no others.
        """
        if not self._sockets:
            raise ValueError(f"rank {self.rank} is alone, and nothing can come to it")
        with DefaultSelector() as selector:
            for peer, each in self._sockets.items():
                selector.register(each, EVENT_READ, peer)
            while True:
                ready = [key.data for key, _ in selector.select()]
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

    def _socket(self, peer):
        if peer not in self._sockets:
            others = ", ".join(map(str, self._sockets)) or "there are no others"
            raise ValueError(f"rank {self.rank} of {self.size} has no peer {peer!r}, but: {others}")
        return self._sockets[peer]

    def _write(self, peer, to, packed, begin, took):
        try:
            peer.sendall(HEADER.pack(self._run, len(packed), begin) + packed)
        except OSError as error:
            raise PeerLost(f"rank {to} has ended, and can't be sent anything") from error
        sleep_until(begin + took if took else 0)

    def _read(self, source):
        peer = self._socket(source)
        try:
            run, size, begin = HEADER.unpack(read_exactly(peer, HEADER.size))
            packed = read_exactly(peer, size)
        except OSError as error:
            raise PeerLost(f"rank {source} has ended, and nothing can come from it") from error
        if run != self._run:
            return run, None  # left over from a run that was not finished
        value = unpack(packed)
        if took := self._alpha + self._beta * content_bytes(value):
            self._in_free = max(begin, self._in_free) + took
            sleep_until(self._in_free)
        return run, value


def read_exactly(each: socket.socket, count: int) -> bytearray:
    """So many bytes from a socket. ConnectionError if it is closed before."""
    content, there = bytearray(count), 0
    while there < count:
        got = each.recv_into(memoryview(content)[there:])
        if not got:
            raise ConnectionError("closed by the other side")
        there += got
    return content


def sleep_until(moment: float) -> None:
    """Sleep until `monotonic()` has reached this moment: all processes have the same clock."""
    while (left := moment - monotonic()) > 0:
        sleep(left)


def listen() -> socket.socket:
    """A socket at which the others can knock; the system chooses its port."""
    listener = socket.socket()
    _set_buffers(listener)  # connections inherit them
    listener.bind((HOST, 0))
    listener.listen()
    return listener


def connect(
    rank: int, listener: socket.socket, ports: list[int], token: bytes, timeout: float
) -> dict[int, socket.socket]:
    """A socket to each other rank: call those before this one, and wait for the others' calls.

    What calls without the token is turned away. TimeoutError if a rank doesn't call in time.
    """
    sockets = {}
    for peer in range(rank):
        sockets[peer] = own = socket.socket()
        _set_buffers(own)
        own.settimeout(timeout)
        own.connect((HOST, ports[peer]))
        own.sendall(token + bytes([rank]))
    with listener:
        listener.settimeout(timeout)
        while len(sockets) < len(ports) - 1:
            caller, _ = listener.accept()
            caller.settimeout(STRANGER)
            with suppress(OSError):
                said = read_exactly(caller, len(token) + 1)
                if said[:-1] == token:
                    sockets[said[-1]] = caller
                    continue
            caller.close()
    for each in sockets.values():
        each.settimeout(None)
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # a message is sent at once
    return sockets


def _set_buffers(each):
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        each.setsockopt(socket.SOL_SOCKET, option, BUFFER)
