"""How ranks speak with each other; here they are threads, since a process costs seconds."""

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from d2lhybrid.world.comm import BUFFER, Comm, Message, connect, listen

LARGE = torch.arange(2.0**20)  # 4 MiB fit into no buffers


def meshed(size, token=b"token"):
    """The sockets of so many ranks, by rank, each connected with each other one."""
    listeners = [listen(token) for _ in range(size)]
    ports = [listener.address[1] for listener in listeners]
    with ThreadPoolExecutor(size) as pool:
        calls = [pool.submit(connect, r, listeners[r], ports, token) for r in range(size)]
        return [call.result(20) for call in calls]


@pytest.fixture
def mesh():
    """A function that connects ranks; all their sockets are closed behind the test."""
    made = []

    def mesh(size):
        made.append(meshed(size))
        return made[-1]

    yield mesh
    for each in [each for sockets in made for by_peer in sockets for each in by_peer.values()]:
        each.close()


@pytest.fixture
def world(mesh):
    """A function that calls one function for each rank, in threads, and returns their results."""

    def world(size, function, **options):
        comms = [Comm(rank, size, sockets, **options) for rank, sockets in enumerate(mesh(size))]
        with ThreadPoolExecutor(size) as pool:
            futures = [pool.submit(function, comm) for comm in comms]
            return [future.result(20) for future in futures]

    return world


@pytest.fixture
def pair(mesh):
    """A function that makes the comms of two ranks which have the same sockets."""
    sockets = mesh(2)

    def pair(**options):
        return [Comm(rank, 2, sockets[rank], **options) for rank in range(2)]

    return pair


# Sending and receiving ------------------------------------------------------------------------


def test_each_rank_receives_from_every_other_rank(world):
    def all_to_all(comm):
        others = [peer for peer in range(comm.size) if peer != comm.rank]
        for peer in others:
            comm.send([comm.rank, peer], peer)
        return [comm.recv(peer) for peer in others]

    for size in (1, 2, 5):
        pairs = [[[peer, rank] for peer in range(size) if peer != rank] for rank in range(size)]
        assert world(size, all_to_all) == pairs


def test_messages_arrive_in_the_order_of_sending_whatever_their_size(pair):
    one, other = pair()
    sent = [LARGE, None, torch.empty(0), "text", LARGE + 1, {"a": (1, LARGE)}]
    for value in sent:
        one.isend(value, 1)
    arrived = [other.recv(0) for _ in sent]
    assert torch.equal(arrived[0], LARGE)
    assert arrived[1:4:2] == [None, "text"]
    assert arrived[2].shape == (0,)
    assert torch.equal(arrived[4], LARGE + 1)
    assert torch.equal(arrived[5]["a"][1], LARGE)
    one.finish()


def test_isend_copies_the_value_at_once(pair):
    one, other = pair()
    value = LARGE.clone()
    sent = one.isend(value, 1)
    value.zero_()
    assert torch.equal(other.recv(0), LARGE)
    assert sent.result(10) is None


def test_small_send_is_buffered_and_large_send_waits_for_its_receiver(pair):
    one, other = pair()
    one.send(torch.ones(100), 1)
    sent = one.isend(LARGE, 1)
    time.sleep(0.05)
    assert not sent.done()
    other.recv(0)
    other.recv(0)
    sent.result(10)


def test_two_large_sends_to_each_other_deadlock(pair):
    comms = pair()
    threads = [
        threading.Thread(target=comm.send, args=(LARGE, 1 - comm.rank), daemon=True)
        for comm in comms
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(0.1)
    assert all(thread.is_alive() for thread in threads)
    for comm in comms:
        assert torch.equal(comm.recv(1 - comm.rank), LARGE)
    for thread in threads:
        thread.join(10)
    assert not any(thread.is_alive() for thread in threads)


def test_messages_are_counted_with_the_bytes_of_their_tensors(pair):
    one, _ = pair()
    for value in (torch.ones(3), "text", [torch.ones(2).double(), 1]):
        one.isend(value, 1)
    assert one.messages == [(0, 1, 12), (0, 1, 0), (0, 1, 16)]
    assert one.messages[0] == Message(source=0, to=1, bytes=12)


def test_what_fails_is_not_counted_as_a_message(pair):
    one, _ = pair()
    with pytest.raises(TypeError, match=r"^object cannot be sent"):
        one.isend(object(), 1)
    with pytest.raises(ValueError, match="no peer"):
        one.send(1, 0)
    assert one.messages == []
    assert one.close()


@pytest.mark.parametrize("peer", [1, 3, -1])  # itself, beyond the end, negative
def test_unknown_peer_raises(peer):
    comm = Comm(1, 3, dict.fromkeys(range(4)))
    for use, args in [(comm.send, (1, peer)), (comm.isend, (1, peer)), (comm.recv, (peer,))]:
        with pytest.raises(ValueError, match="has no peer"):
            use(*args)


def test_run_on_some_ranks_has_no_other_peers(mesh):
    sockets = mesh(3)
    comm = Comm(0, 2, sockets[0])
    with pytest.raises(ValueError, match="has no peer 2"):
        comm.send(1, 2)
    Comm(2, 3, sockets[2], run=0).send("from outside", 0)
    Comm(1, 2, sockets[1]).send("from inside", 0)
    assert comm.recv_any() == (1, "from inside")


# From any -------------------------------------------------------------------------------------


def test_receive_any_is_fair(mesh):
    comms = [Comm(rank, 4, sockets) for rank, sockets in enumerate(mesh(4))]
    for comm, count in [(comms[1], 6), (comms[2], 2), (comms[3], 3)]:
        for number in range(count):
            comm.send(number, 0)
    time.sleep(0.05)  # all of it has arrived
    arrived = [comms[0].recv_any() for _ in range(11)]
    assert [source for source, _ in arrived] == [1, 2, 3, 1, 2, 3, 1, 3, 1, 1, 1]
    for source in (1, 2, 3):
        numbers = [number for other, number in arrived if other == source]
        assert numbers == sorted(numbers)


def test_receive_any_without_others_raises():
    with pytest.raises(ValueError, match="is alone"):
        Comm(0, 1, {}).recv_any()


# What is left over ----------------------------------------------------------------------------


def test_messages_of_an_earlier_run_are_not_received(pair):
    for number, receive in enumerate([lambda comm: comm.recv(0), Comm.recv_any]):
        one, _ = pair(run=2 * number)
        for value in ("left", torch.ones(1000), "over"):
            one.send(value, 1)
        one, other = pair(run=2 * number + 1)
        one.isend("new", 1)
        assert receive(other) in ("new", (0, "new"))


def test_close_tells_whether_something_is_stuck(pair):
    one, other = pair()
    one.isend("small", 1).result(10)
    assert one.close()
    one, other = pair()
    first, second = one.isend(LARGE, 1), one.isend("behind it", 1)
    assert not one.close()
    assert second.cancelled()
    assert other.recv(0) == "small"
    other.recv(0)
    first.result(10)
    assert one.close()


def test_finish_waits_until_all_is_sent(pair):
    one, other = pair()
    sent = [one.isend(LARGE, 1) for _ in range(3)]
    receiver = threading.Thread(target=lambda: [other.recv(0) for _ in sent])
    receiver.start()
    one.finish()
    assert all(each.done() for each in sent)
    receiver.join(10)


# Who has ended --------------------------------------------------------------------------------


def test_lost_peer_raises_connection_error(mesh):
    sockets = mesh(3)
    Comm(1, 3, sockets[1]).send("the last", 0)
    for each in sockets[1].values():
        each.close()
    comm = Comm(0, 3, sockets[0])
    assert comm.recv(1) == "the last"
    lost = "^rank 1 has ended, so it can't send anything$"
    for receive in (lambda: comm.recv(1), comm.recv_any):
        with pytest.raises(ConnectionError, match=lost):
            receive()
    sent = comm.isend(LARGE, 1)
    with pytest.raises(ConnectionError, match=r"^rank 1 has ended, so nothing can be sent to it$"):
        sent.result(10)
    with pytest.raises(ConnectionError):
        comm.finish()
    assert isinstance(sent.exception(), ConnectionError)


def with_socket(way, use):
    """What a function says of the socket of a Connection, which keeps it."""
    raw = socket.socket(fileno=way.fileno())
    try:
        return use(raw)
    finally:
        raw.detach()


# The emulated link ----------------------------------------------------------------------------

CLOCK = 1e-3  # a clock may show a little less than has passed


def timed(do):
    begin = time.monotonic()
    result = do()
    return time.monotonic() - begin, result


def test_a_message_takes_alpha_and_for_each_byte_beta_on_both_sides(mesh):
    for alpha, beta, count in [(0.05, 0, 1000), (0, 1e-5, 1000), (0.02, 1e-5, 500), (0.03, 1, 0)]:
        least = alpha + beta * 4 * count - CLOCK
        one, other = [Comm(r, 2, s, alpha=alpha, beta=beta) for r, s in enumerate(mesh(2))]
        sending, _ = timed(lambda: one.send(torch.ones(count), 1))  # noqa: B023
        assert sending >= least, (alpha, beta)
        values = torch.ones(count)
        both = lambda: (one.isend(values, 1), other.recv(0), other.recv(0))  # noqa: B023, E731
        receiving, (sent, *_) = timed(both)
        assert receiving >= least, (alpha, beta)
        sent.result(10)


def test_messages_leave_and_enter_one_after_the_other(mesh):
    comms = [Comm(rank, 3, sockets, alpha=0.04) for rank, sockets in enumerate(mesh(3))]
    begin = time.monotonic()
    for future in [comms[0].isend("a", 1), comms[0].isend("b", 2)]:
        future.result(10)
    assert time.monotonic() - begin >= 0.08 - CLOCK  # one leaves behind the other
    for comm in comms[1:]:
        comm.recv(0)
    begin = time.monotonic()
    futures = [comms[1].isend("c", 0), comms[2].isend("d", 0)]
    comms[0].recv_any()
    comms[0].recv_any()
    assert time.monotonic() - begin >= 0.08 - CLOCK  # and one enters behind the other
    for future in futures:
        future.result(10)


def test_two_directions_and_two_pairs_do_not_wait_for_each_other(pair):
    comms = pair(alpha=0.3)
    begin = time.monotonic()
    for comm in comms:
        comm.isend(comm.rank, 1 - comm.rank)
    assert [comm.recv(1 - comm.rank) for comm in comms] == [1, 0]
    # 1.2 s if each waited for each; the sum of these sleeps is what a test may rely on
    assert time.monotonic() - begin < 0.9
    for comm in comms:
        comm.finish()


# Finding each other ---------------------------------------------------------------------------


def test_connect_turns_callers_without_the_token_away():
    listeners = [listen(b"secret") for _ in range(2)]
    ports = [listener.address[1] for listener in listeners]
    strangers = [socket.create_connection(("127.0.0.1", ports[0])) for _ in range(2)]
    strangers[0].sendall(b"GET / HTTP/1.1\r\n\r\n")
    strangers[1].close()
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(connect, r, listeners[r], ports, b"secret") for r in range(2)]
        one, other = (call.result(20) for call in calls)
    assert (list(one), list(other)) == ([1], [0])
    Comm(1, 2, other).send("hello", 0)
    assert Comm(0, 2, one).recv(1) == "hello"
    for each in [*strangers, *one.values(), *other.values()]:
        each.close()


def test_only_this_machine_can_connect_and_buffers_are_small(mesh):
    with listen(b"token") as listener:
        assert listener.address[0] == "127.0.0.1"
    way, ask = mesh(2)[0][1], socket.socket.getsockopt
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        size = with_socket(way, lambda raw: ask(raw, socket.SOL_SOCKET, option))  # noqa: B023
        assert BUFFER <= size <= 4 * BUFFER
    assert with_socket(way, lambda raw: ask(raw, socket.IPPROTO_TCP, socket.TCP_NODELAY))
