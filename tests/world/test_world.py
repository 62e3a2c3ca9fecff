"""Worlds: what functions get and give there, how they fail, and that nothing is left of them."""

import gc
import importlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
from process_helpers import default_sigint, gone, started_with_ctrl_c
from torch import nn

from d2lhybrid import RankError, World
from d2lhybrid.children.parent import how_it_ended
from d2lhybrid.world import world as module
from d2lhybrid.world.comm import Message

__name__ = "__main__"  # what follows travels as the functions of a notebook do

posix = pytest.mark.skipif(os.name != "posix", reason="signals and groups are POSIX's")


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory):
    """Where the worlds of these tests have their folders."""
    home = tmp_path_factory.mktemp("worlds")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(home))
        yield home
    assert list(home.iterdir()) == []


@pytest.fixture(scope="module")
def world(home):
    """Three processes for all tests: to start them takes seconds."""
    with World(3) as world:
        yield world


@pytest.fixture(scope="module")
def small(home):
    """One process."""
    with World(1) as world:
        yield world


@pytest.fixture(scope="module", autouse=True)
def _nothing_is_left():
    """Behind all tests: no thread, no open file, no child, no folder more than before."""
    dist.is_available()  # torch has loaded what it wants to
    gc.collect()
    before = left(os.getpid())
    yield
    gc.collect()
    after = left(os.getpid())
    # Threads of other tests may have ended since.
    assert all(after[kind] <= before[kind] for kind in before), (before, after)


def left(pid):
    """What this process has open, as far as the system tells."""
    found = {"threads": threading.active_count()}
    if Path("/proc/self/fd").exists():
        found["files"] = len(os.listdir(f"/proc/{pid}/fd"))
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        found["children"] = sum(map(bool, map(is_rank, children)))
    return found


def is_rank(pid):
    """Whether a process is one of a world's: torch's compiler starts some, too."""
    with suppress(OSError):  # it has ended by now
        return b"d2lhybrid.world.rank" in Path(f"/proc/{pid}/cmdline").read_bytes()


def processes(world):
    """The numbers that the system has given to the processes, by rank."""
    return [child.process.pid for child in world._children]


def hello(comm, *args):
    return comm.rank, comm.size, *args


def fails_in(world, error, message, function, *args, **options):
    """That the function fails with this message in all; returns the error."""
    with pytest.raises(error) as caught:
        world.run(function, *args, **options)
    assert str(caught.value) == message
    return caught.value


# What functions get and give ------------------------------------------------------------------


def test_each_rank_has_its_place_and_the_results_are_in_order(world):
    assert world.run(hello, "x", 2.5) == [(0, 3, "x", 2.5), (1, 3, "x", 2.5), (2, 3, "x", 2.5)]
    assert world.run(hello, ranks=2) == [(0, 2), (1, 2)]
    assert world.run(hello, ranks=1) == [(0, 1)]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1, bias=False)

    def forward(self, x):
        return self.layer(x)


def gradient(net, x):
    net(x).sum().backward()
    return {name: p.grad for name, p in net.named_parameters()}


def shares(comm, state, x):
    net = Net()
    net.load_state_dict(state)
    return gradient(net, x[comm.rank :: comm.size])


def test_a_network_is_trained_on_shares(world):
    net, x = Net(), torch.arange(12.0).reshape(6, 2)
    results = world.run(shares, net.state_dict(), x)
    total = sum(result["layer.weight"] for result in results)
    assert torch.equal(total, gradient(net, x)["layer.weight"])


def all_reduce(comm):
    number = torch.tensor([comm.rank + 1.0])
    dist.all_reduce(number)
    return number.item(), dist.get_rank(), dist.get_world_size()


def test_torch_distributed_is_ready_in_every_run(world):
    assert world.has_gloo
    assert repr(world) == "World(3), with gloo"
    assert world.run(all_reduce) == [(6.0, rank, 3) for rank in range(3)]
    assert world.run(all_reduce, ranks=2) == [(3.0, rank, 2) for rank in range(2)]


def ring(comm, x):
    sent = comm.isend(x * comm.rank, (comm.rank + 1) % comm.size)
    got = comm.receive((comm.rank - 1) % comm.size)
    sent.result()
    comm.send("bye", (comm.rank + 1) % comm.size)
    source, text = comm.receive_any()
    return got.sum().item(), source, text


def test_messages_go_from_rank_to_rank_and_are_listed(world):
    assert world.run(ring, torch.ones(10**5)) == [
        (2e5, 2, "bye"),
        (0.0, 0, "bye"),
        (1e5, 1, "bye"),
    ]
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
        comm.receive(0)
    return time.monotonic() - begin


def test_alpha_and_beta_are_those_of_the_run(world):
    assert world.run(timed_send, alpha=0.1, beta=5e-5)[1] >= 0.29 - 0.1
    begin = time.monotonic()
    world.run(timed_send, alpha=0.1, beta=5e-5)
    assert time.monotonic() - begin >= 0.3 - 1e-3


def counts(comm):
    comm.state["count"] = comm.state.get("count", comm.rank) + 1
    return comm.state["count"]


def settings(comm):
    return torch.get_num_threads(), torch.rand(1).item(), str(comm.device), torch.initial_seed()


def test_state_is_kept_and_dice_are_seeded_anew(world):
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


def large(comm, x):
    return x + comm.rank


def test_much_can_be_passed_and_returned(world):
    x = torch.arange(2.0**22)  # 16 MiB
    one, other = world.run(large, x, ranks=2)
    assert torch.equal(one, x)
    assert torch.equal(other, x + 1)


# What is printed ------------------------------------------------------------------------------


def prints(comm, *lines):
    for line in lines:
        print(comm.rank, line, flush=True)
    print("to stderr", file=sys.stderr)
    threading.Thread(target=print, args=("a thread", "of", comm.rank)).start()
    while threading.active_count() > 2:
        pass
    print("no end", end="")
    os.write(1, b"bytes")
    os.write(2, b"bytes")
    sys.stdout = sys.stderr = None
    return input() if comm.size > 3 else sys.stdin.read()


def test_what_is_printed_is_shown_behind_the_run_by_rank(world, capsys):
    assert world.run(prints, "a", "b\nc") == ["", "", ""]
    shown = capsys.readouterr()
    assert shown.err == ""
    assert shown.out == "".join(
        f"rank {rank}: {line}\n"
        for rank in range(3)
        for line in (
            f"{rank} a",
            f"{rank} b",
            "c",
            "to stderr",
            f"a thread of {rank}",
            "no end",
        )
    )
    world.run(hello)
    assert capsys.readouterr().out == ""


def prints_much(comm):
    print("begin")
    for number in range(1000):
        print(number, "x" * 1000)
    print("end")


def prints_and_fails(comm):
    print("before")
    print("inside")
    raise ValueError("after")


def test_of_what_is_too_much_the_begin_and_the_end_are_shown(world, capsys):
    world.run(prints_much, ranks=1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["rank 0: begin", f"rank 0: 0 {'x' * 1000}"]
    assert lines[-1] == "rank 0: end"
    total = len("begin\nend\n") + sum(len(f"{number} \n") + 1000 for number in range(1000))
    assert f"rank 0: ... {total - 4000:,} characters left out ..." in lines
    assert sum(map(len, lines)) < 5000


def test_what_was_printed_before_an_error_is_shown(world, capsys):
    with pytest.raises(RankError):
        world.run(prints_and_fails, ranks=1)
    assert capsys.readouterr().out == "rank 0: before\nrank 0: inside\n"


# Bad use --------------------------------------------------------------------------------------

number_of_the_notebook = 3


def uses_data(comm):
    return number_of_the_notebook


SIZES = [
    (0, ValueError, "^a world has 1 to 16 processes, of 200 MB each, got 0$"),
    (-1, ValueError, "got -1"),
    (17, ValueError, "got 17"),
    (2.5, TypeError, "float"),
    ("4", TypeError, "str"),
    (None, TypeError, "NoneType"),
]


def test_a_world_has_a_reasonable_size():
    for size, error, message in SIZES:
        with pytest.raises(error, match=message):
            World(size)


BAD_USE = [
    (hello, [], {"ranks": 0}, ValueError, "this world has 1 to 3 ranks, got 0"),
    (hello, [], {"ranks": 4}, ValueError, "this world has 1 to 3 ranks, got 4"),
    (hello, [], {"ranks": -1}, ValueError, "1 to 3 ranks, got -1"),
    (hello, [], {"ranks": 1.5}, TypeError, "float"),
    (hello, [], {"timeout": None}, TypeError, "NoneType"),
    (hello, [], {"timeout": float("nan")}, ValueError, "seconds, 0 or more, got nan$"),
    (hello, [], {"alpha": float("nan")}, ValueError, "^alpha must .* 0 or more, got nan$"),
    (hello, [], {"beta": -1}, ValueError, "^beta must .* 0 or more, got -1$"),
    (hello, [object()], {}, TypeError, "^object cannot be sent to another process: tensors, num"),
    (lambda comm: 1, [], {}, TypeError, "written with def, and got <lambda>"),
    (print, [], {}, TypeError, "written with def, and got print"),
    (uses_data, [], {}, TypeError, "'number_of_the_notebook', of type int, which stays here"),
]


def test_bad_use_is_an_error_before_anything_is_sent(world):
    for function, args, options, error, message in BAD_USE:
        with pytest.raises(error, match=message):
            world.run(function, *args, **options)
        assert world.run(hello, ranks=1) == [(0, 1)], message


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
        "ranks 0, 1 and 2 raised TypeError: returns_function returned what cannot be sent: function"
        " cannot be sent to another process: tensors, numbers, strings and None can, and lists, "
        "tuples and dicts of them",
    ),
    (
        divides,
        [],
        "ranks 0, 1 and 2 raised TypeError: divides() missing 1 required positional argument: 'by'",
    ),
]


def test_an_error_says_which_ranks_and_which_line(world):
    world.run(hello)
    before = processes(world)
    for function, args, message in RAISED:
        world.run(ring, torch.ones(1))
        fails_in(world, RankError, message, function, *args)
        assert world.messages == []
        assert world.run(hello, ranks=1) == [(0, 1)]
        assert processes(world) == before, message  # an error costs nothing


def test_the_traceback_is_a_note(world):
    error = fails_in(world, RankError, f"ranks 0, 1 and 2 raised {DIVISION}", divides_all)
    (note,) = error.__notes__
    assert note.startswith("On rank 0:\n")
    assert f"line {line(divides_all, 1)}, in divides_all\n    return divides(comm" in note
    assert "rank.py" not in note


def left_over(comm, fails):
    if comm.rank == 0:
        comm.send(["failed", fails], 1)
        if fails:
            raise ValueError("after sending")
    return None if fails or comm.rank != 1 else comm.receive(0)


def test_what_a_failed_run_has_sent_is_not_received_later(world):
    before = processes(world)
    for _ in range(2):
        with pytest.raises(RankError, match=r"^rank 0 raised ValueError: after sending"):
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


def test_who_hangs_is_shown_with_the_line(world, capsys):
    world.run(counts)
    message = f"""ranks 0, 1 and 2 had not ended after 2 s
  rank 0: line {line(hangs, 3)} of hangs: dist.all_reduce(torch.ones(1))
  rank 1: does not answer
  rank 2: has returned, and waits until what it has sent is received"""
    fails_in(world, TimeoutError, message, hangs, timeout=2)
    assert capsys.readouterr().out == "".join(f"rank {rank}: begins\n" for rank in range(3))
    assert world.run(counts) == [1, 2, 3]  # the state of the old processes is lost


def fails_alone(comm):
    if comm.rank == 0:
        raise ValueError("alone")
    comm.barrier()


def test_an_error_is_not_kept_until_all_others_have_ended(world):
    begin = time.monotonic()
    with pytest.raises(RankError, match=r"^rank 0 raised ValueError: alone"):
        world.run(fails_alone, timeout=50)
    assert time.monotonic() - begin < 40


def fails_while_sending(comm):
    if comm.rank == 0:
        comm.isend(torch.ones(10**6), 1)
        raise ValueError("in the middle")


def test_who_is_stuck_in_sending_is_replaced(world):
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
def test_who_takes_no_part_may_die_and_is_replaced(world):
    world.run(counts)
    third = processes(world)[2]
    assert world.run(kills, third, ranks=2) == ["goes on"] * 2
    assert gone(third)
    killed = r"^since the last run, rank 2 was killed by signal 9 .* their comm.state is lost$"
    with pytest.warns(RuntimeWarning, match=killed):
        assert world.run(counts) == [1, 2, 3]
    assert third not in processes(world)


# Not silently wrong -----------------------------------------------------------------------------


def echo(comm, value):
    return value


def test_threads_share_a_world(world):
    with ThreadPoolExecutor(3) as threads:
        calls = [threads.submit(world.run, echo, n, ranks=2) for n in range(12)]
        assert [call.result() for call in calls] == [[n, n] for n in range(12)]


def forks(comm):
    warnings.simplefilter("ignore")  # Python 3.12 and later warn of what threads may have locked
    process = os.fork()
    if process == 0:
        print("x" * 100_000)  # more than a pipe takes at once
        os._exit(0)
    print("parent")
    os.waitpid(process, 0)
    return "parent"


@posix
def test_a_copy_that_a_function_makes_of_its_process_says_nothing(world, capsys):
    before = processes(world)
    assert world.run(forks, ranks=2) == ["parent"] * 2
    assert world.run(hello, ranks=2) == [(0, 2), (1, 2)]
    assert processes(world) == before
    assert capsys.readouterr().out == "rank 0: parent\nrank 1: parent\n"


def speaks_late(comm):
    out = sys.stdout
    threading.Timer(0.1, lambda: print("of an earlier run", file=out, flush=True)).start()


def test_what_an_earlier_run_says_is_not_taken_for_this_ones(world, capsys):
    world.run(speaks_late, ranks=1)
    world.run(waits, 0.3, ranks=1)
    assert capsys.readouterr().out == ""


def changes_all(comm, folder):
    torch.set_grad_enabled(False)
    torch.set_default_dtype(torch.float16)
    torch.set_default_device("meta")
    os.chdir(folder)
    sys.path.clear()


def surroundings(comm):
    x = torch.ones(1)
    return [torch.is_grad_enabled(), str(x.dtype), x.device.type, os.getcwd(), "new" in sys.path]


def test_surroundings_are_those_of_here_in_every_run(world, tmp_path, monkeypatch):
    plain = [True, "torch.float32", "cpu", os.getcwd(), False]
    world.run(changes_all, str(tmp_path), ranks=1)
    assert world.run(surroundings, ranks=1) == [plain]
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("new")
    try:
        torch.set_default_dtype(torch.float64)
        torch.set_default_device("meta")
        with torch.no_grad():
            got = world.run(surroundings, ranks=1)
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)
    assert got == [[False, "torch.float64", "meta", str(tmp_path.resolve()), True]]


EDITED = """
import {helper}
def rate(): return {helper}.rate()
def work(comm): return {rate}, rate()
def works(comm): return rate
"""


def through(comm):
    return edited.rate()  # noqa: F821


def test_modules_are_those_of_here_after_an_edit(small, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    name, helper = f"edited_{os.getpid()}", f"helper_{os.getpid()}"
    (tmp_path / f"{helper}.py").write_text("def rate(): return 1\n")
    (tmp_path / f"{name}.py").write_text(EDITED.format(helper=helper, rate=1))
    mine = importlib.import_module(name)
    monkeypatch.setitem(globals(), "edited", mine)
    assert small.run(mine.work) == [(1, 1)]
    assert small.run(through) == [1]
    small.run(counts)
    (tmp_path / f"{helper}.py").write_text("def rate(): return 200\n")
    (tmp_path / f"{name}.py").write_text(EDITED.format(helper=helper, rate=200))
    importlib.reload(sys.modules[helper])
    importlib.reload(mine)
    with pytest.warns(RuntimeWarning, match=r"_\d+\.py has changed: all processes are repl"):
        assert small.run(mine.work) == [(200, 200)]
    assert small.run(through) == [200]
    assert small.run(counts) == [1]


def test_modules_that_are_installed_are_not_watched(tmp_path, monkeypatch):
    for place in ("dist-packages", "mine"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "some.py").touch()
        loaded = SimpleNamespace(__file__=str(tmp_path / place / "some.py"))
        monkeypatch.setitem(sys.modules, place, loaded)
    watched = [path for path in map(Path, module.own_modules()) if tmp_path in path.parents]
    assert watched == [tmp_path / "mine" / "some.py"]


@posix
def test_a_process_that_is_stopped_is_late_also_for_a_large_argument(small):
    small.run(hello)
    (pid,) = processes(small)
    os.kill(pid, signal.SIGSTOP)
    begin = time.monotonic()
    with pytest.raises(TimeoutError, match=r"rank 0: does not answer$"):
        small.run(echo, torch.zeros(10**6), timeout=1)
    assert time.monotonic() - begin < 15


def test_the_folder_may_be_removed_while_nothing_runs(world, home):
    before = processes(world)
    for folder in home.iterdir():
        shutil.rmtree(folder)
    assert len(world.run(hello, timeout=20)) == 3
    assert processes(world) == before


def waiting_policy(comm):
    return os.environ["OMP_WAIT_POLICY"]


def test_threads_that_wait_use_no_core(world, monkeypatch):
    assert world.run(waiting_policy, ranks=1) == ["PASSIVE"]
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")  # who has decided otherwise is heard
    assert module.variables()["OMP_WAIT_POLICY"] == "ACTIVE"


def fails_long(comm):
    try:
        raise KeyError("the cause")
    except KeyError as error:
        raise ValueError("x" * 10**6) from error


def test_a_long_error_is_cut_and_its_cause_is_in_the_note(world):
    with pytest.raises(RankError) as caught:
        world.run(fails_long, ranks=1)
    (note,) = caught.value.__notes__
    assert len(str(caught.value)) < 5000
    assert len(note) < 5000
    assert "characters left out" in note
    assert "KeyError: 'the cause'" in note


# This one comes last, since nobody needs the processes after it.


def dies(comm):
    if comm.rank == 1:
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        os.write(2, b"last words\n")
        os.kill(os.getpid(), signal.SIGKILL)
    comm.receive(1)


@posix
def test_who_dies_is_the_cause_and_not_who_waits_for_it(world):
    killed = f"rank 1 {how_it_ended(-signal.SIGKILL)}"
    error = fails_in(world, RankError, killed, dies)
    (note,) = error.__notes__
    assert note.startswith("On rank 1:\n")
    assert note.endswith("last words")  # behind what earlier runs may have written there


# Ends -----------------------------------------------------------------------------------------


def waits(comm, seconds):
    time.sleep(seconds)
    return os.getpid()


def interrupted_when(condition):
    """As Ctrl-C does, once the condition holds."""

    def interrupt():
        while not condition():
            time.sleep(0.01)
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    return thread


@pytest.fixture
def ctrl_c():
    """Ctrl-C raises KeyboardInterrupt."""
    before = signal.getsignal(signal.SIGINT)
    default_sigint()
    yield
    signal.signal(signal.SIGINT, before)


def begins(comm, path):
    Path(path).touch()
    time.sleep(60)


def test_ctrl_c_ends_a_run_and_a_start_and_the_world_works_again(small, ctrl_c, tmp_path):
    begun = tmp_path / "begun"
    threads = [interrupted_when(begun.exists)]
    with pytest.raises(KeyboardInterrupt):
        small.run(begins, str(begun))
    assert processes(small) == []
    threads.append(interrupted_when(lambda: processes(small)))
    with pytest.raises(KeyboardInterrupt):
        small.run(waits, 0)
    assert processes(small) == []
    for thread in threads:
        thread.join()
    assert small.run(waits, 0) == processes(small)


def test_a_closed_world_has_no_process_and_no_folder(small, home):
    pids, folders = small.run(waits, 0), set(home.iterdir())
    small.close()
    small.close()
    assert all(gone(pid) for pid in pids)
    assert repr(small) == "World(1), closed"
    assert len(folders - set(home.iterdir())) == 1
    with pytest.raises(RuntimeError, match=r"^this world is closed; make another one$"):
        small.run(waits, 0)


def test_two_worlds_of_a_thread_end_with_it_and_one_has_no_group(monkeypatch):
    pids, said = [], []

    def use():
        one = World(1)
        monkeypatch.setattr(module, "LOOPBACK", {sys.platform: "no such device"})
        other = World(1)
        pids.extend(one.run(waits, 0) + other.run(waits, 0))
        said.extend([one.has_gloo, other.has_gloo, repr(other)])

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    gc.collect()
    assert len(set(pids)) == 2
    assert all(map(gone, pids))
    assert said[:2] == [True, False]
    assert said[2].startswith("World(1), without gloo: ")


PARENT = """
import os, sys, time
from pathlib import Path
from d2lhybrid import World

def work(comm, seconds):
    Path("pid").write_text(str(os.getpid()))
    Path("pid").rename("worker")
    time.sleep(seconds)

if __name__ == "__main__":
    world = World(1)
    if os.fork() == 0:
        try:
            world.run(work, 60)
        except RuntimeError as error:
            print(error, flush=True)
        raise SystemExit
    os.wait()
    print(len(os.listdir(os.environ["TMPDIR"])), "folder", flush=True)
    world.run(work, 60)
"""
FORKED = "this world belongs to the process that started it\n1 folder\n"  # and it works, still


@posix
def test_all_ends_with_the_program_and_a_copy_of_it_ends_nothing(tmp_path):
    package = str(Path(module.__file__).parents[2])
    parents = {}
    for how in (signal.SIGINT, signal.SIGKILL):
        folder = tmp_path / how.name
        (folder / "tmp").mkdir(parents=True)
        (folder / "parent.py").write_text(PARENT)
        parents[how] = started_with_ctrl_c(
            [sys.executable, "parent.py"],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": package, "TMPDIR": str(folder / "tmp")},
            start_new_session=True,  # as in a terminal: the signal goes to its whole group
        )
    for how, parent in parents.items():
        folder = tmp_path / how.name
        with parent:
            while not (folder / "worker").exists() and parent.poll() is None:
                time.sleep(0.05)
            os.killpg(parent.pid, how)
            said, errors = parent.communicate(timeout=30)
        assert gone(int((folder / "worker").read_text()))
        assert errors.endswith("KeyboardInterrupt\n") == (how == signal.SIGINT)
        assert said == FORKED
        assert list((folder / "tmp").iterdir()) == []
