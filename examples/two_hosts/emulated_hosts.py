"""Two hosts on one machine, joined by a link whose rate and delay are set. Linux only, as root.

    sudo python examples/two_hosts/emulated_hosts.py --rate 100 --delay 2

runs `two_hosts` on them with torchrun, by the commands that two machines would need. With sudo,
`python` has to be the path of the Python that has torch.

A host is a network namespace: it has interfaces and addresses of its own, and reaches no others.
It is also a PID namespace: when its first process ends, the kernel ends all the others in it. That
first process reads a pipe of ours until its end, so both hosts are gone as soon as we are, however
we end. Each host has an interface, which is a TAP device: what the host sends, we read, hold back
for the delay, and write into the other's. How fast a host may send is set by `tc`, with a token
bucket (tbf). The delay would be the job of tc's netem, but not every kernel has it.
"""

import argparse
import os
import shlex
import struct
import subprocess
import sys
from collections import deque
from contextlib import contextmanager, suppress
from pathlib import Path
from select import select
from shutil import which
from time import monotonic

from d2lhybrid.children.parent import how_it_ended

NUMBER_OF_HOSTS = 2
COMMANDS = {"ip": "iproute2", "tc": "iproute2", "unshare": "util-linux", "nsenter": "util-linux"}
TUN = "/dev/net/tun"
MTU = 9000  # bytes in a frame: large ones, so that Python keeps up with them
BURST = 2 * (MTU + 14)  # bytes that may leave at once after a pause; 14 for Ethernet's header
QUEUE = 2**22  # bytes that may wait to leave
PORT = 29500  # the hosts are new, so it is free
MOST_RATE = 1000  # Mbit/s: more is too much for Python
TIME_LIMIT = 30.0  # seconds for a command that makes, sets up or ends a host: it takes milliseconds
GRACE = 2.0  # seconds in which the other host may say what it has noticed

# What torchrun and its processes need to know, or are not to say, on hosts such as these.
ENVIRONMENT = {
    "GLOO_SOCKET_IFNAME": "eth0",
    "OMP_NUM_THREADS": "1",  # the hosts share the cores of this machine
    "CUDA_VISIBLE_DEVICES": "",  # they would share a GPU, too, which NCCL refuses
    "TORCH_CPP_LOG_LEVEL": "ERROR",  # no warnings of addresses that have no names
    "LOGLEVEL": "CRITICAL",  # over a slow link torchrun's good-bye may come too late
}


class HostsError(RuntimeError):
    """This system can't make such hosts, or a command on one of them has failed."""


def main(arguments: list[str] | None = None) -> None:
    """Run `two_hosts` on two hosts. Exit code 1 if that fails, with one line that says why."""
    options, passed_on = parsed(arguments)
    if problem := what_is_missing():
        sys.exit(f"emulated_hosts: {problem}")
    try:
        with joined_hosts(options.rate) as hosts:
            for host in hosts:
                words = torchrun(host.number, passed_on)
                print(f"{host.name}: {shlex.join(['torchrun', *words])}", flush=True)
                python = [sys.executable, "-m", "torch.distributed.run"]  # which is torchrun
                host.start([*python, *words], ENVIRONMENT)
            # in each step a sum may be that much faster than rate and delay say
            ahead = 8e-3 * BURST / options.rate
            print(f"link: after a pause, {BURST} bytes leave at once ({ahead:.2f} ms)", flush=True)
            run(hosts, options.delay)
    except HostsError as error:
        sys.exit(f"emulated_hosts: {error}")
    except KeyboardInterrupt:
        print("emulated_hosts: interrupted; both hosts are gone", file=sys.stderr)
        sys.exit(130)


def parsed(arguments: list[str] | None) -> tuple[argparse.Namespace, list[str]]:
    """Rate and delay, and all options for `two_hosts`; exit code 2 where they make no sense."""
    import two_hosts as program  # loads torch

    parser = argparse.ArgumentParser(
        prog="emulated_hosts", allow_abbrev=False, epilog="All other options are two_hosts'."
    )
    rate, delay = program.within(1, MOST_RATE), program.within(0, 1000)
    parser.add_argument("--rate", type=rate, default=100, help="in each direction, in Mbit/s")
    parser.add_argument("--delay", type=delay, default=2, help="one way, in milliseconds")
    options, others = parser.parse_known_args(arguments)
    passed_on = ["--rate", f"{options.rate:g}", "--delay", f"{options.delay:g}", *others]
    program.parsed(passed_on, prog="emulated_hosts")
    return options, passed_on


def torchrun(number: int, arguments: list[str]) -> list[str]:
    """What stands behind torchrun on the host with this number."""
    return [
        *("--nnodes", str(NUMBER_OF_HOSTS), "--node-rank", str(number), "--nproc-per-node", "1"),
        *("--master-addr", address(0), "--master-port", str(PORT)),
        *(str(Path(__file__).with_name("two_hosts.py")), *arguments),
    ]


def run(hosts: list["Host"], delay: float) -> None:
    """Be the link, with a delay in milliseconds, until all commands on the hosts have ended.

    HostsError if one fails; the others then have little time left.
    """
    running = {process: host for host in hosts for process in host.started}
    late = None

    def is_over():
        nonlocal late
        codes = [process.poll() for process in running]
        if late is None and any(codes):
            late = monotonic() + GRACE
        return None not in codes or (late is not None and monotonic() > late)

    carry(*(host.tap for host in hosts), 1e-3 * delay, is_over)
    for process, host in running.items():
        if process.returncode:
            raise HostsError(f"{host.name}: the command {how_it_ended(process.returncode)}")


# Hosts --------------------------------------------------------------------------------------


def what_is_missing() -> str | None:
    """Why hosts can't be made here, or None."""
    if sys.platform != "linux":
        return "network namespaces are Linux's, and this is another system"
    if os.geteuid() != 0:
        return "only root may make network namespaces: sudo PATH_OF_PYTHON ..."
    for name, package in COMMANDS.items():
        if not which(name):
            return f"there is no command {name} here; the package {package} has it"
    try:
        os.close(open_tap()[0])
    except OSError as error:
        return f"this system makes no TAP device ({TUN}: {error.strerror})"
    words = ["unshare", "--net", "--pid", "--fork", *limit_rate("lo", 1)]
    problem = tried(words)
    return f"this system makes no such hosts: {problem}" if problem else None


@contextmanager
def joined_hosts(rate: float):
    """Two hosts, joined by a link of `rate` Mbit/s in each direction; they go with the block."""
    hosts = []
    try:
        for number in range(NUMBER_OF_HOSTS):
            hosts.append(Host(number, rate))
        yield hosts
    finally:
        for host in hosts:
            host.close()


class Host:
    """One host, with a loopback and the interface eth0.

    `tap` is our end of its link, and `started` are its commands, each a Popen.
    """

    def __init__(self, number: int, rate: float):
        self.number, self.name, self.started = number, f"host {number}", []
        self.tap, device = open_tap()
        # cat reads until we close the pipe, or are no more; what it prints first: all is ready
        new = ["unshare", "--net", "--pid", "--fork", "--kill-child"]
        self._first = subprocess.Popen(
            [*new, "sh", "-c", "echo && exec cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            if not select([self._first.stdout], [], [], TIME_LIMIT)[0]:
                raise HostsError(f"{self.name}: unshare has not begun within {TIME_LIMIT:g} s")
            self._first.stdout.readline()  # empty if unshare has failed; the next command says so
            done(f"ip link set {device} netns {self._first.pid} name eth0".split())
            done(self._inside(["ip", "link", "set", "lo", "up"]))
            done(self._inside(f"ip address add {address(number)}/24 dev eth0".split()))
            done(self._inside(f"ip link set eth0 mtu {MTU} up".split()))
            done(self._inside(limit_rate("eth0", rate)))
        except BaseException:
            self.close()
            raise

    def start(self, words: list[str], environment: dict[str, str] | None = None) -> None:
        """Start a command on this host. Ctrl-C reaches only us."""
        environment = os.environ | (environment or {})
        self.started.append(
            subprocess.Popen(self._inside(words), env=environment, start_new_session=True)
        )

    def close(self) -> None:
        """End all that runs on this host; its namespaces and its interface go with it."""
        os.close(self.tap)
        self._first.stdin.close()
        self._first.stdout.close()
        for process in (self._first, *self.started):
            try:
                process.wait(TIME_LIMIT)
            except subprocess.TimeoutExpired:  # unshare takes the host with it (--kill-child)
                process.kill()
                process.wait(TIME_LIMIT)

    def _inside(self, words):
        """A command that runs another one on this host."""
        spaces = f"/proc/{self._first.pid}/ns"
        return ["nsenter", f"--net={spaces}/net", f"--pid={spaces}/pid_for_children", *words]


def address(number: int) -> str:
    """The address of a host."""
    return f"10.0.0.{number + 1}"


def limit_rate(device: str, rate: float) -> list[str]:
    """The command that lets a device send `rate` Mbit/s, and `BURST` bytes more."""
    bucket = f"tbf rate {rate * 1e6:.0f}bit burst {BURST} limit {QUEUE}"
    return f"tc qdisc add dev {device} root {bucket}".split()


def done(words):
    """Run a command that must not fail."""
    if problem := tried(words):
        raise HostsError(f"{shlex.join(words)}: {problem}")


def tried(words: list[str]) -> str | None:
    """Run a command; in one line what went wrong, or None."""
    try:
        subprocess.run(words, capture_output=True, text=True, check=True, timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return f"no end within {TIME_LIMIT:g} s"
    except subprocess.CalledProcessError as error:
        return (error.stderr.strip().splitlines() or [f"exit code {error.returncode}"])[-1]


# The link -----------------------------------------------------------------------------------


def open_tap() -> tuple[int, str]:
    """A new TAP device, which goes when its file is closed: the file's number, and its name."""
    from fcntl import ioctl  # not on Windows

    set_interface, tap, no_header = 0x400454CA, 0x0002, 0x1000  # of linux/if_tun.h
    file = os.open(TUN, os.O_RDWR | os.O_NONBLOCK)
    try:
        answer = ioctl(file, set_interface, struct.pack("16sH22x", b"d2l%d", tap | no_header))
    except OSError:
        os.close(file)
        raise
    return file, answer[:16].rstrip(b"\0").decode()


def carry(one: int, other: int, delay: float, is_over) -> None:
    """Carry frames between two TAP devices, each `delay` seconds late, until `is_over()`."""
    across = {one: other, other: one}
    waiting = deque()  # (when it is due, where to, frame): the first to come is the first to go
    while not is_over():
        left = waiting[0][0] - monotonic() if waiting else 0.02
        for tap in select([one, other], [], [], max(0, min(left, 0.02)))[0]:
            for frame in frames(tap):
                waiting.append((monotonic() + delay, across[tap], frame))
        while waiting and waiting[0][0] <= monotonic():
            _, tap, frame = waiting.popleft()
            with suppress(OSError):  # an interface that is not up takes nothing
                os.write(tap, frame)


def frames(tap):
    """What waits to be read."""
    with suppress(OSError):  # nothing more, or the host is gone
        while True:
            yield os.read(tap, MTU + 100)


if __name__ == "__main__":
    main()
