"""Worlds: what functions get and give there, how they fail, and that nothing is left of them."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from process_helpers import gone

from d2lhybrid import RankError, World, world as module
from d2lhybrid.world.comm import Message

__name__ = "__main__"  # what follows travels as the functions of a notebook do

posix = pytest.mark.skipif(os.name != "posix", reason="signals and groups are POSIX's")


@pytest.fixture(scope="module")
def world():
    """Three processes for all tests: to start them takes seconds."""
    with World(3) as world:
        yield world
    assert processes(world) == []


@pytest.fixture(scope="module")
def small():
    """One process."""
    with World(1) as world:
        yield world


def processes(world):
    """The numbers that the system has given to the processes, by rank."""
    return [worker.process.pid for worker in world._workers]


def hello(comm, *args):
    return comm.rank, comm.size, *args


# What functions get and give ------------------------------------------------------------------


def test_results_are_in_the_order_of_ranks(world):
    assert world.run(hello, "x", 2.5) == [(0, 3, "x", 2.5), (1, 3, "x", 2.5), (2, 3, "x", 2.5)]
    assert world.run(hello, ranks=2) == [(0, 2), (1, 2)]
    assert world.run(hello, ranks=1) == [(0, 1)]


def all_reduce(comm):
    number = torch.tensor([comm.rank + 1.0])
    dist.all_reduce(number)
    return number.item(), dist.get_rank(), dist.get_world_size()


def test_torch_distributed_is_ready_in_every_run(world):
    assert world.has_gloo
    assert world.run(all_reduce) == [(6.0, rank, 3) for rank in range(3)]
    assert world.run(all_reduce, ranks=2) == [(3.0, rank, 2) for rank in range(2)]


def ring(comm, x):
    sent = comm.isend(x * comm.rank, (comm.rank + 1) % comm.size)
    got = comm.recv((comm.rank - 1) % comm.size)
    sent.result()
    comm.send("bye", (comm.rank + 1) % comm.size)
    source, text = comm.recv_any()
    return got.sum().item(), source, text


def test_messages_go_from_rank_to_rank_and_are_counted(world):
    ones = torch.ones(10**5)
    assert world.run(ring, ones) == [(2e5, 2, "bye"), (0.0, 0, "bye"), (1e5, 1, "bye")]
    assert world.messages == [
        Message(rank, (rank + 1) % 3, size) for rank in range(3) for size in (4 * 10**5, 0)
    ]
    world.run(hello)
    assert world.messages == []


def timed_send(comm):
    if comm.rank == 0:
        comm.send(torch.ones(1000), 1)
    begin = time.monotonic()
    if comm.rank == 1:
        comm.recv(0)
    return time.monotonic() - begin


def test_alpha_and_beta_are_those_of_the_run(world):
    begin = time.monotonic()
    assert world.run(timed_send, alpha=0.1, beta=5e-5)[1] >= 0.29 - 0.1
    assert time.monotonic() - begin >= 0.3 - 1e-3


def counts(comm):
    comm.state["count"] = comm.state.get("count", comm.rank) + 1
    return comm.state["count"]


def settings(comm):
    return torch.get_num_threads(), torch.rand(1).item(), str(comm.device), torch.initial_seed()


def test_state_is_kept_and_generators_are_seeded_anew(world):
    first = world.run(counts)
    assert world.run(counts, ranks=2) == [first[0] + 1, first[1] + 1]
    assert world.run(counts) == [first[0] + 2, first[1] + 2, first[2] + 1]
    one, other = world.run(settings), world.run(settings, threads=2)
    assert [each[0] for each in one + other] == [1, 1, 1, 2, 2, 2]
    assert [each[1] for each in one] == [each[1] for each in other]
    assert [each[3] for each in one] == [0, 1, 2]
    assert len({each[1] for each in one}) == 3


def barriers(comm, seconds):
    log = []
    for number in range(5):
        time.sleep(seconds * (comm.rank == number % comm.size))
        log.append(time.monotonic())
        comm.barrier()
        log.append(time.monotonic())
    return log


def test_no_rank_passes_a_barrier_before_all_have_come(world):
    logs = world.run(barriers, 0.02)
    for number in range(5):
        came = [log[2 * number] for log in logs]
        passed = [log[2 * number + 1] for log in logs]
        assert max(came) <= min(passed)


def context(comm):
    there = os.getcwd(), "new" in sys.path
    os.chdir("/")
    sys.path.clear()
    return there


def test_folder_and_path_are_those_of_here_in_every_run(world, tmp_path, monkeypatch):
    plain = os.getcwd(), False
    assert [world.run(context, ranks=1) for _ in range(2)] == [[plain]] * 2
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("new")
    assert world.run(context, ranks=1) == [(str(tmp_path.resolve()), True)]


# What is printed ------------------------------------------------------------------------------


def prints(comm, *lines):
    for line in lines:
        print(comm.rank, line, flush=True)
    print("to stderr", file=sys.stderr)
    print("no end", end="")
    os.write(1, b"bytes")
    return sys.stdin.read()


def test_what_is_printed_is_shown_after_the_run_by_rank(world, capsys):
    assert world.run(prints, "a", "b\nc") == ["", "", ""]
    shown = capsys.readouterr()
    assert shown.err == ""
    assert shown.out.splitlines() == [
        f"rank {rank}: {line}"
        for rank in range(3)
        for line in (f"{rank} a", f"{rank} b", "c", "to stderr", "no end")
    ]
    world.run(hello)
    assert capsys.readouterr().out == ""


def prints_and_fails(comm):
    print("before")
    raise ValueError("after")


def test_what_was_printed_before_an_error_is_shown(world, capsys):
    with pytest.raises(RankError):
        world.run(prints_and_fails, ranks=1)
    assert capsys.readouterr().out == "rank 0: before\n"


# Bad use --------------------------------------------------------------------------------------

number_of_the_notebook = 3


def uses_data(comm):
    return number_of_the_notebook


@pytest.mark.parametrize("size", [0, -1, 17])
def test_size_is_limited(size):
    with pytest.raises(ValueError, match="1 to 16"):
        World(size)


def test_a_world_for_which_memory_is_too_small_is_refused(monkeypatch):
    monkeypatch.setattr(module, "available_memory", lambda: 2e9)
    with pytest.raises(MemoryError, match="memory for a world of 14, not of 16"):
        World(16)


BAD_USE = [
    (hello, [], {"ranks": 0}, ValueError),
    (hello, [], {"ranks": 4}, ValueError),
    (hello, [object()], {}, TypeError),
    (uses_data, [], {}, TypeError),
]


def test_bad_use_is_an_error_before_anything_is_sent(world):
    for function, args, options, error in BAD_USE:
        with pytest.raises(error):
            world.run(function, *args, **options)
        assert world.run(hello, ranks=1) == [(0, 1)]


# Errors ---------------------------------------------------------------------------------------


def divides(comm, by):
    rest = comm.rank - by
    return 1 / rest


def divides_all(comm):
    return divides(comm, comm.rank)


def leaves(comm):
    sys.exit("for today")


def returns_function(comm):
    return [hello]


def line(function, offset):
    return function.__code__.co_firstlineno + offset


DIVISION = (
    f"ZeroDivisionError: division by zero\n  line {line(divides, 2)} of divides: return 1 / rest"
)
RAISED = [
    (divides, [1], f"rank 1 raised {DIVISION}"),
    (divides_all, [], f"ranks 0, 1 and 2 raised {DIVISION}"),
    (
        leaves,
        [],
        "ranks 0, 1 and 2 raised SystemExit: for today\n"
        f'  line {line(leaves, 1)} of leaves: sys.exit("for today")',
    ),
    (
        returns_function,
        [],
        "ranks 0, 1 and 2 raised TypeError: function cannot be sent to another process",
    ),
]


@pytest.mark.parametrize(("function", "args", "message"), RAISED)
def test_error_says_which_ranks_and_which_line(world, function, args, message):
    world.run(ring, torch.ones(1))
    before = processes(world)
    with pytest.raises(RankError) as caught:
        world.run(function, *args)
    assert str(caught.value) == message
    assert world.messages == []
    assert world.run(hello, ranks=1) == [(0, 1)]
    assert processes(world) == before  # an error costs nothing


def test_traceback_is_a_note(world):
    with pytest.raises(RankError) as caught:
        world.run(divides_all)
    (note,) = caught.value.__notes__
    assert note.startswith("On rank 0:\n")
    assert f"line {line(divides_all, 1)}, in divides_all\n    return divides(comm" in note
    assert "rank.py" not in note
    assert "workers.py" not in note


def left_over(comm, fails):
    if comm.rank == 0:
        comm.send(["failed", fails], 1)
        if fails:
            raise ValueError("after sending")
    return None if fails or comm.rank != 1 else comm.recv(0)


def test_messages_of_a_failed_run_are_not_received_later(world):
    before = processes(world)
    for _ in range(2):
        with pytest.raises(RankError, match="rank 0 raised ValueError: after sending"):
            world.run(left_over, True)
    assert world.run(left_over, False) == [None, ["failed", False], None]
    assert processes(world) == before


# Those that hang or die: all processes are replaced, so each of these tests costs seconds -------


def hangs(comm):
    print("begins")
    if comm.rank == 0:
        dist.all_reduce(torch.ones(1))
    if comm.rank == 1:
        sum(iter(int, 1))  # endless, and in C: no other thread gets its turn
    comm.isend(torch.ones(10**6), 0)


def test_timeout_shows_where_each_rank_hangs(world, capsys):
    world.run(counts)
    with pytest.raises(TimeoutError) as caught:
        world.run(hangs, timeout=2)
    assert str(caught.value).splitlines() == [
        "ranks 0, 1 and 2 had not ended after 2 s",
        f"  rank 0: line {line(hangs, 3)} of hangs: dist.all_reduce(torch.ones(1))",
        "  rank 1: does not answer",
        "  rank 2: has returned, and waits until what it has sent is received",
    ]
    assert capsys.readouterr().out == "".join(f"rank {rank}: begins\n" for rank in range(3))
    assert world.run(counts) == [1, 2, 3]  # the state of the old processes is lost


def fails_alone(comm):
    if comm.rank == 0:
        raise ValueError("alone")
    comm.barrier()


def test_error_of_one_rank_does_not_wait_for_the_others(world):
    begin = time.monotonic()
    with pytest.raises(RankError, match=r"^rank 0 raised ValueError: alone"):
        world.run(fails_alone, timeout=50)
    assert time.monotonic() - begin < 40


def fails_while_sending(comm):
    if comm.rank == 0:
        comm.isend(torch.ones(10**6), 1)
        raise ValueError("in the middle")


def test_rank_that_is_stuck_in_sending_is_replaced(world):
    world.run(counts)
    with pytest.raises(RankError, match=r"^rank 0 raised ValueError: in the middle"):
        world.run(fails_while_sending, ranks=2)
    assert processes(world) == []
    assert world.run(counts) == [1, 2, 3]


def kills(comm, process):
    if comm.rank == 0:
        os.kill(process, signal.SIGKILL)
    time.sleep(0.3)
    return "goes on"


@posix
def test_rank_that_takes_no_part_may_die_and_is_replaced(world):
    world.run(counts)
    third = processes(world)[2]
    assert world.run(kills, third, ranks=2) == ["goes on"] * 2
    assert world.run(counts) == [1, 2, 3]
    assert third not in processes(world)


def dies(comm):
    if comm.rank == 1:
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        os.write(2, b"last words\n")
        os.kill(os.getpid(), signal.SIGKILL)
    comm.recv(1)


@posix
def test_rank_that_dies_is_the_cause_and_not_the_rank_that_waits_for_it(world):
    with pytest.raises(RankError, match=r"^rank 1 was killed by signal 9 \(SIGKILL\)") as caught:
        world.run(dies)
    (note,) = caught.value.__notes__
    assert note.startswith("On rank 1:\n")
    assert note.endswith("last words")  # behind what earlier runs may have written there


# Ends -----------------------------------------------------------------------------------------


def waits(comm, seconds):
    time.sleep(seconds)
    return os.getpid()


def begins(comm, path):
    Path(path).touch()
    time.sleep(60)


@posix
def test_ctrl_c_ends_a_run_and_the_world_works_again(small, tmp_path):
    before, begun = signal.getsignal(signal.SIGINT), tmp_path / "begun"

    def interrupt():
        while not begun.exists():
            time.sleep(0.01)
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with pytest.raises(KeyboardInterrupt):
            small.run(begins, str(begun))
    finally:
        signal.signal(signal.SIGINT, before)
        thread.join()
    assert processes(small) == []
    assert small.run(waits, 0) == processes(small)


def test_closed_world_has_no_process_and_starts_new_ones(small):
    pids = small.run(waits, 0)
    small.close()
    small.close()
    assert all(gone(pid) for pid in pids)
    assert small.run(waits, 0) != pids


def test_world_ends_when_nobody_has_it_any_more_and_says_if_there_is_no_gloo(monkeypatch):
    monkeypatch.setattr(module, "LOOPBACK", {sys.platform: "no such device"})
    world = World(1)
    (pid,) = world.run(waits, 0)
    folder, there = Path(world._folder.name), weakref.ref(world)
    assert folder.exists()
    assert not world.has_gloo
    del world
    gc.collect()
    assert there() is None
    assert gone(pid)
    assert not folder.exists()
