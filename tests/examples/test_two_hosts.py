"""The same program on one machine and on two hosts, and the two hosts that are emulated here."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path

import emulated_hosts
import pytest
import torch
import torch.distributed as dist
import two_hosts
from emulated_hosts import BURST, HostsError, carry, joined_hosts, run
from process_helpers import default_sigint, soon

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "examples" / "two_hosts" / "emulated_hosts.py"
gloo = pytest.mark.skipif(os.name == "nt", reason="gloo does not work in all of torch on Windows")


@pytest.fixture
def mark(monkeypatch):
    """What stands in the environment of all processes that a test starts; in the end none is left.

    With the last process of a namespace the kernel removes it, and with it its interfaces.
    """
    if problem := emulated_hosts.what_is_missing():
        pytest.skip(problem)
    mark, spaces = uuid.uuid4().hex, namespaces()
    monkeypatch.setenv("D2LHYBRID_TEST", mark)
    yield mark
    soon(lambda: not left(mark))
    assert left(mark) == []
    assert namespaces() <= spaces
    assert [name for name in os.listdir("/sys/class/net") if name.startswith("d2l")] == []


def left(mark):
    """The numbers of the processes with this mark, but for our own."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended by now
            if mark.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return sorted({*found} - {os.getpid()})


def more_than_the_hosts(mark):
    """Whether a host runs a command, soon: a process that has just begun shows no environment yet.

    Two hosts without a command are four processes.
    """
    return soon(lambda: len(left(mark)) > 4)


def namespaces():
    """The network namespaces that some process is in, or that have a name."""
    found = {f"named {path.name}" for path in Path("/run/netns").glob("*")}
    for path in Path("/proc").glob("[0-9]*/ns/net"):
        with suppress(OSError):
            found.add(os.readlink(path))
    return found


def started(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=PROGRAM.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


# On two hosts -------------------------------------------------------------------------------


def test_two_hosts_train_alike_and_no_faster_than_the_link_allows(mark):
    rate, delay = 20, 10  # Mbit/s, ms
    options = f"--rate {rate} --delay {delay} --sizes 1000 250000 500000 --repeats 3 --steps 4"
    process = started(PROGRAM, *options.split())
    printed, errors = process.communicate(timeout=100)
    assert process.returncode == 0, errors
    assert errors == ""
    commands = [line for line in printed.splitlines() if line.startswith("host")]
    assert [re.search(r"host (\d).* --node-rank (\d)", line).groups() for line in commands] == [
        ("0", "0"),
        ("1", "1"),
    ]
    assert "processes: 2, with gloo;" in printed
    assert f"link: after a pause, {BURST} bytes leave at once" in printed
    assert "predicted: alpha is 2 x 10 ms, rate 20 Mbit/s" in printed
    assert "all processes end with the same bits: True" in printed
    difference = re.search("largest difference .*: (.*)", printed)[1]
    assert float(difference) < two_hosts.ROUNDING
    rows = dict(re.findall(r"^ +([\d,]+) +(\d+\.\d+) ", printed, re.MULTILINE))
    times = {int(size.replace(",", "")): float(ms) for size, ms in rows.items()}
    assert list(times) == [1000, 250_000, 500_000]
    for size, milliseconds in times.items():
        # Each host has to get as many bytes as the tensor has, and the other's last word.
        assert milliseconds >= delay
        assert milliseconds >= 8e-3 * (size - BURST) / rate


def test_hosts_are_separate(mark):
    with joined_hosts(100) as hosts:
        spaces = {os.readlink(f"/proc/{host._first.pid}/ns/net") for host in hosts}
        assert len(spaces | {os.readlink("/proc/self/ns/net")}) == 3
        # a bridge to nothing else: there are two interfaces, and one route
        only = "test $(grep -c : /proc/net/dev) = 2 && test $(wc -l < /proc/net/route) = 2"
        for host in hosts:
            host.start(["sh", "-c", only])
        run(hosts, 0)


def test_the_link_is_late_in_both_directions(mark):
    wait = "import socket; c = socket.create_server(('10.0.0.1', 5000)).accept()[0]"
    answer = f"{wait}; c.sendall(c.recv(1))"
    ask = """
import socket, sys, time
for _ in range(1000):
    try:
        c = socket.create_connection(("10.0.0.1", 5000))
        break
    except ConnectionRefusedError:
        time.sleep(0.01)
start = time.monotonic()
c.sendall(b"?")
assert c.recv(1) == b"?"
sys.exit(time.monotonic() - start < 0.06)
"""
    with joined_hosts(100) as hosts:
        hosts[0].start([sys.executable, "-c", answer])
        hosts[1].start([sys.executable, "-c", ask])
        run(hosts, 30)


@pytest.mark.parametrize("number", [0, 1])
def test_a_command_that_fails_ends_both_hosts(mark, monkeypatch, number):
    monkeypatch.setattr(emulated_hosts, "GRACE", 0.1)
    with joined_hosts(100) as hosts:
        hosts[number].start(["sh", "-c", "exit 3"])
        hosts[1 - number].start(["sleep", "60"])
        with pytest.raises(HostsError) as error:
            run(hosts, 0)
    assert str(error.value) == f"host {number}: the command ended with exit code 3"


def test_a_host_that_is_killed_ends_both(mark, monkeypatch):
    monkeypatch.setattr(emulated_hosts, "GRACE", 0.1)
    with joined_hosts(100) as hosts:
        for host in hosts:
            host.start(["sh", "-c", "sleep 60 & sleep 60"])
        hosts[1]._first.kill()
        with pytest.raises(HostsError, match="host 1: the command "):
            run(hosts, 0)


def fail_with_two_hosts(mark):
    with joined_hosts(100) as hosts:
        hosts[0].start(["sleep", "60"])
        assert more_than_the_hosts(mark)
        raise ZeroDivisionError


def test_an_error_of_ours_ends_both_hosts(mark):
    with pytest.raises(ZeroDivisionError):
        fail_with_two_hosts(mark)


def test_a_host_that_cannot_be_made_leaves_nothing(mark, monkeypatch):
    monkeypatch.setattr(emulated_hosts, "limit_rate", lambda *_: ["tc", "qdisc", "nonsense"])
    with pytest.raises(HostsError, match="tc qdisc nonsense: "), joined_hosts(100):
        pass


@pytest.mark.parametrize("number", [signal.SIGTERM, getattr(signal, "SIGKILL", None)])
def test_both_hosts_go_when_we_are_killed(mark, number):
    code = """
from emulated_hosts import joined_hosts, run
with joined_hosts(100) as hosts:
    for host in hosts:
        host.start(["sh", "-c", "sleep 60 & sleep 60"])
    print("ready", flush=True)
    run(hosts, 0)
"""
    process = started("-c", code)
    assert process.stdout.readline() == "ready\n"
    assert more_than_the_hosts(mark)
    process.send_signal(number)
    process.communicate(timeout=10)
    assert process.returncode == -number


def test_ctrl_c(mark):
    process = started(PROGRAM, start_new_session=True, preexec_fn=default_sigint)
    assert process.stdout.readline().startswith("host 0: torchrun --nnodes 2 --node-rank 0 ")
    assert more_than_the_hosts(mark)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=10)
    assert errors == "emulated_hosts: interrupted; both hosts are gone\n"
    assert process.returncode == 130


# On one machine -----------------------------------------------------------------------------


@gloo
def test_one_machine(tmp_path):
    file = tmp_path / "a_copy.py"  # it needs nothing else
    file.write_bytes(Path(two_hosts.__file__).read_bytes())
    loopback = {"linux": "lo", "darwin": "lo0"}.get(sys.platform, "lo")
    options = f"--standalone --nproc-per-node 2 {file} --sizes 4 4000 --repeats 2 --steps 3"
    process = started(
        *("-m", "torch.distributed.run", *options.split()),
        env=os.environ | {"GLOO_SOCKET_IFNAME": loopback},
    )
    printed, errors = process.communicate(timeout=100)
    assert process.returncode == 0, errors
    assert "all processes end with the same bits: True" in printed
    assert "predicted" not in printed
    assert re.findall("^ +([0-9,]+) ", printed, re.MULTILINE) == ["4", "4,000"]


@pytest.fixture
def one_process(monkeypatch):
    """A group of this process alone."""
    for name, value in {"RANK": "0", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    group = dict(store=dist.HashStore(), rank=0, world_size=1)
    start = dist.init_process_group
    monkeypatch.setattr(dist, "init_process_group", lambda *a, **k: start(*a, **k, **group))
    state = torch.get_rng_state()
    yield
    torch.set_rng_state(state)
    assert not dist.is_initialized()


def ended(*arguments):
    with pytest.raises(SystemExit) as ending:
        two_hosts.main(["--sizes", "4", "8", "--repeats", "1", *arguments])
    return ending.value.code


@gloo
def test_one_process_has_nothing_to_send(one_process, capsys):
    assert ended("--steps", "2") == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "all processes end with the same bits: True",
        "largest difference from one process, of the largest: 0.0e+00",
        "one process: nothing to send",
    ]


@gloo
@pytest.mark.parametrize("wrong", ["bits", "values"])
def test_wrong_training_is_said_and_is_the_exit_code(one_process, monkeypatch, capsys, wrong):
    if wrong == "bits":  # rank 0 ends with -0 for 0, or one bit more
        monkeypatch.setattr(dist, "broadcast", lambda first, source: first.sub_(1e-6))
    else:
        results = [torch.ones(3), torch.ones(3) + 1e-4]
        monkeypatch.setattr(two_hosts, "trained", lambda *a, **k: results.pop())
    assert ended() == 1
    assert f"same bits: {wrong != 'bits'}" in capsys.readouterr().out


def test_trained_shards_average_to_the_whole_batch(monkeypatch):
    """Both shards in one process: what the other sends is computed before."""
    cpu, sent = torch.device("cpu"), []
    monkeypatch.setattr(dist, "all_reduce", lambda gradient: sent.append(gradient.clone()))
    before = torch.get_rng_state()
    for rank in (0, 1):  # one step: the gradients of both at the same parameters
        two_hosts.trained(1, cpu, rank, 2, batch=32)
    assert not torch.equal(*sent)
    monkeypatch.setattr(dist, "all_reduce", lambda gradient: gradient.copy_(sum(sent)))
    together = two_hosts.trained(1, cpu, 0, 2, batch=32)
    alone = two_hosts.trained(1, cpu, 0, 1, batch=32)
    torch.set_rng_state(before)
    assert (together - alone).abs().max() < 1e-6
    assert len(alone) == 32 * 64 + 64 + 64 + 1


def test_it_is_for_torchrun(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(SystemExit, match="torchrun starts this program"):
        two_hosts.main([])


# The model ----------------------------------------------------------------------------------


def test_ring_seconds():
    alpha, beta = two_hosts.of_link(100, 2)  # Mbit/s, ms
    assert (alpha, beta) == pytest.approx((2e-3, 80e-9))
    # two steps, each with half of a megabyte: 40 ms on the way, and 2 ms late
    assert two_hosts.ring_seconds(1_000_000, 2, alpha, beta) == pytest.approx(0.084)
    assert two_hosts.ring_seconds(1_000_000, 4, alpha, beta) == pytest.approx(6 * 0.022)
    assert two_hosts.ring_seconds(1_000_000, 1, alpha, beta) == 0


@pytest.mark.parametrize("ranks", [2, 5])
def test_fitted_is_the_inverse(ranks):
    sizes, model = (1000, 4_000_000), (3e-3, 8e-9)
    first, last = (two_hosts.ring_seconds(size, ranks, *model) for size in sizes)
    assert two_hosts.fitted(sizes[0], first, sizes[1], last, ranks) == pytest.approx(model)


# The link -----------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs sockets that keep frames apart")
def test_carry_is_late_and_keeps_the_order():
    pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2)]
    for pair in pairs:
        for end in pair:
            end.setblocking(False)
    (left_end, one), (right_end, other) = pairs
    frames, seen = [b"first", b"second", b"third"], []
    for frame in frames:
        left_end.send(frame)
    right_end.send(b"back")
    start = time.monotonic()

    def is_over():
        with suppress(BlockingIOError):
            seen.append((right_end.recv(100), time.monotonic() - start))
        return len(seen) == 3 or time.monotonic() > start + 10

    try:
        carry(one.fileno(), other.fileno(), 0.05, is_over)
        assert [frame for frame, _ in seen] == frames
        assert min(when for _, when in seen) >= 0.05
        assert left_end.recv(100) == b"back"
    finally:
        for pair in pairs:
            for end in pair:
                end.close()


def test_limit_rate():
    words = " ".join(emulated_hosts.limit_rate("eth0", 2.5))
    assert words == f"tc qdisc add dev eth0 root tbf rate 2500000bit burst {BURST} limit 4194304"


# Arguments ----------------------------------------------------------------------------------

WRONG = [
    ("--rate 0 --delay 1", "argument --rate: a number from 1 to"),
    ("--rate nan --delay 1", "argument --rate: a number from 1 to"),
    ("--rate 10 --delay -1", "argument --delay: a number from 0 to 1000, got '-1'"),
    ("--rate 10 --delay soon", "got 'soon'"),
    ("--sizes 4", "--sizes needs two different sizes"),
    ("--sizes 8 8", "--sizes needs two different sizes"),
    ("--sizes 4 6", "argument --sizes: a number of bytes that 4 divides, got '6'"),
    ("--sizes 4 0", "argument --sizes: a whole number from 4 to"),
    ("--repeats 0", "argument --repeats: a whole number from 1 to 1000, got '0'"),
    ("--steps 1.5", "argument --steps: a whole number from 1 to 10000, got '1.5'"),
    ("--speed 3", "unrecognized arguments: --speed 3"),
]


@pytest.mark.parametrize(("arguments", "problem"), WRONG)
@pytest.mark.parametrize("program", [two_hosts, emulated_hosts])
def test_arguments_that_make_no_sense(capsys, program, arguments, problem):
    with pytest.raises(SystemExit) as ending:
        program.main(arguments.split())
    assert ending.value.code == 2
    assert problem in capsys.readouterr().err.splitlines()[-1]


def test_rate_and_delay_belong_together(capsys):
    with pytest.raises(SystemExit):
        two_hosts.parsed(["--rate", "10"])
    assert "--rate and --delay belong together" in capsys.readouterr().err


def test_arguments_are_passed_on():
    options, passed_on = emulated_hosts.parsed(["--steps", "3", "--rate=2.5"])
    assert (options.rate, options.delay) == (2.5, 2)
    assert passed_on == ["--rate", "2.5", "--delay", "2", "--steps", "3"]
    assert two_hosts.parsed(passed_on).steps == 3
    assert emulated_hosts.torchrun(1, passed_on)[2:4] == ["--node-rank", "1"]


# Where there are no such hosts --------------------------------------------------------------


@pytest.mark.parametrize(
    ("lacking", "problem"),
    [
        ("linux", "network namespaces are Linux's, and this is another system"),
        ("root", "only root may make network namespaces: sudo "),
        ("command", "there is no command tc here; the package iproute2 has it"),
        ("tap", "this system makes no TAP device (/dev/net/tun: Operation not permitted)"),
        ("tbf", "this system makes no such hosts: Specified qdisc kind is unknown."),
    ],
)
def test_what_is_missing_is_said_in_one_line(monkeypatch, lacking, problem):
    def refuse():
        raise PermissionError(1, "Operation not permitted")

    said = "some words\nSpecified qdisc kind is unknown.\n"

    def run(words, **options):
        if lacking == "tbf":
            raise subprocess.CalledProcessError(1, words, "", said)

    change = monkeypatch.setattr
    change(sys, "platform", "darwin" if lacking == "linux" else "linux")
    change(os, "geteuid", lambda: int(lacking == "root"), raising=False)
    change(emulated_hosts, "which", lambda name: lacking != "command" or name != "tc")
    change(emulated_hosts, "open_tap", refuse if lacking == "tap" else lambda: (os.dup(0), "d2l0"))
    change(subprocess, "run", run)
    change(emulated_hosts, "joined_hosts", None)  # it is not even tried
    with pytest.raises(SystemExit) as ending:
        emulated_hosts.main([])
    assert ending.value.code.startswith(f"emulated_hosts: {problem}")
    assert "\n" not in ending.value.code


@pytest.mark.parametrize(
    ("beta", "words"),
    [(8e-8, "100 Mbit/s"), (8e-9, "1 Gbit/s"), (6.1e-10, "13.1 Gbit/s"), (0, "none"), (-1, "none")],
)
def test_a_rate_in_words(beta, words):
    assert two_hosts.rate_of(beta) == words


def test_a_command_that_never_ends_is_said(monkeypatch):
    monkeypatch.setattr(emulated_hosts, "TIME_LIMIT", 0.2)
    with pytest.raises(HostsError, match=r"no end within 0\.2 s"):
        emulated_hosts.done(["sleep", "60"])


def test_a_command_says_in_one_line_how_it_failed():
    assert emulated_hosts.tried(["true"]) is None
    assert emulated_hosts.tried(["false"]) == "exit code 1"


def test_an_unshare_that_hangs_ends_with_a_message(mark, monkeypatch, tmp_path):
    false_unshare = tmp_path / "unshare"
    false_unshare.write_text("#!/bin/sh\nexec sleep 60\n")
    false_unshare.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(emulated_hosts, "TIME_LIMIT", 0.3)
    with pytest.raises(HostsError, match="host 0: unshare has not begun"):
        emulated_hosts.Host(0, 100)
