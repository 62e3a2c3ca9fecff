"""Run answers where they can do little harm: `course.py marks` needs this.

One process, which has imported torch and has one thread, is forked for each answer. In between
stands a keeper, which ends all that the answer has started.
"""

import contextlib
import ctypes
import importlib.util
import json
import os
import select
import shutil
import signal
import socket
import struct
import sys
import tempfile
import time
import traceback
from collections import deque
from pathlib import Path

from .answers import answer

try:
    import resource
except ImportError:  # Windows, where `marks` says that it does not run
    resource = None

LINUX = sys.platform == "linux"
LIBC = ctypes.CDLL(None) if LINUX else None
ALONE = 0x40000000 | 0x20000000 | 0x08000000  # CLONE_NEWNET, _NEWPID and _NEWIPC
NEW_USER = 0x10000000  # those who are not root need a user namespace for these
SUBREAPER, DIE_WITH_PARENT, KEEP_CAPS, AMBIENT = 36, 1, 8, 47  # for prctl
READ_ALL = 2  # CAP_DAC_READ_SEARCH
STRANGERS = range(60100, 65500)  # the user ids that answers have where root marks
LONG = 300  # seconds for the course's own solutions, and for all cells of a notebook
PROCESSES, LARGEST_FILE = 128, 2**26  # and threads; bytes
PRINTED = 2000  # characters that are kept of what an answer prints
LOST = {"verdict": "error", "said": "its keeper was killed", "seconds": 0}
VERDICTS = ("right", "not right", "not yet", "error", "time", "not judged")
SETTINGS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
SETTINGS |= {"TORCHINDUCTOR_COMPILE_THREADS": "1", "TORCHINDUCTOR_VEC_ISA_OK": "1"}
SETTINGS |= {"MPLBACKEND": "Agg", "D2LHYBRID_TIME_LIMIT": "0.2"}
PRELOADED = "numpy torch torch._dynamo torch._inductor.compile_fx torch.export matplotlib.pyplot "
PRELOADED += "networkx numba d2lhybrid"


def preload(place):
    """Import what most notebooks need, with `place` as home: some packages write there.

    SystemExit if that has started a thread, as forks forbid.
    """
    live_in(place)
    os.environ.update(SETTINGS)
    for name in PRELOADED.split():
        if importlib.util.find_spec(name.partition(".")[0]):
            importlib.import_module(name)
    d2lhybrid = sys.modules["d2lhybrid"]
    [getattr(d2lhybrid, name) for name in d2lhybrid.__all__]  # loads its modules
    if LINUX and len(os.listdir("/proc/self/task")) > 1:
        sys.exit("A package that the course needs starts threads when it is imported.")


# Many answers ---------------------------------------------------------------------------------


def judged(jobs, place, cores, limit, memory):
    """Judge jobs, several at a time: pairs of a job and its result, as each is ready.

    In the folder `place` each has a home while it runs. A job is what `answer` takes, with `limit`
    seconds of its own if it has that. A result has `verdict`, `said` by the check, what was
    `printed`, and the `seconds` that it took.

    Where the course's own cells or its solution fail, something that they need was not chosen; so
    that job is judged once more, with all cells above the exercise.
    """
    running, free, waiting = {}, list(range(cores)), deque(jobs)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    os.chmod(place, 0o711)
    try:
        while True:
            while free and waiting:
                job = waiting.popleft()
                reader, writer = os.pipe()
                slot, most = free.pop(), job.get("limit", limit)
                uid = stranger(slot)
                if not (pid := fork()):
                    in_keeper(job, writer, place, uid, most, memory)
                os.close(writer)
                running[reader] = job, pid, slot, []
            if not running:
                return
            for reader in select.select(list(running), [], [])[0]:
                job, pid, slot, parts = running[reader]
                if part := os.read(reader, 2**16):
                    parts.append(part)
                    continue
                del running[reader]
                os.close(reader)
                os.waitpid(pid, 0)
                free.append(slot)
                result = json.loads(b"".join(parts) or b"{}") or dict(LOST)
                failed = job["solution"] and result["verdict"] != "right"
                if (failed or result["verdict"] == "not judged") and not job.get("whole"):
                    waiting.append(job | {"whole": True, "limit": LONG})
                else:
                    yield job, result
    finally:
        for _, pid, *_ in running.values():
            os.kill(pid, signal.SIGTERM)
        for _, pid, *_ in running.values():
            os.waitpid(pid, 0)


def fork():
    """os.fork, during which no signal comes.

    Python drops what a handler raises in the functions that packages have called at a fork.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        return os.fork()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def in_keeper(job, writer, place, uid, limit, memory):
    """What a keeper does: have one answer judged, end what is left of it, tell the result."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # at Ctrl+C the marker ends it with SIGTERM
    try:
        with tempfile.TemporaryDirectory(dir=place, ignore_cleanup_errors=True) as home:
            result = kept(job, home, uid, limit, memory)
        os.write(writer, json.dumps(result).encode())
    finally:
        os._exit(0)  # whatever happens, a keeper does not become a second marker


def kept(job, home, uid, limit, memory):
    """The result of one answer, which has a process, a home and a time limit of its own."""
    processes = tasks(uid) + PROCESSES  # counted here: a user namespace hides whose they are
    isolate()
    reader, writer = os.pipe()
    started = time.monotonic()
    with tempfile.TemporaryFile(dir=home) as printed:
        if not (pid := fork()):
            try:
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                os.dup2(printed.fileno(), 1)
                os.dup2(printed.fileno(), 2)
                os.dup2(writer, 3)
                os.closerange(4, 4096)  # other answers' pipes, too
                confine(home, uid, memory, processes)
                me, result = os.getpid(), answer(job)
                if os.getpid() == me:  # not a copy that the answer has made of this process
                    os.write(3, json.dumps(result).encode())
            except BaseException:  # what has gone wrong here is not the answer's fault
                traceback.print_exc()
            finally:
                os._exit(0)
        os.close(writer)
        said, patience = b"", 0
        try:
            while (left := started + limit - time.monotonic()) > 0:
                if select.select([reader], [], [], left)[0]:
                    part = os.read(reader, 2**16)
                    said += part
                    if not part:
                        patience = 1  # it is ending, and how is worth knowing
                        break
        finally:
            status = end(pid, patience)
            tidy_up(uid)
        seconds = time.monotonic() - started
        size = printed.seek(0, os.SEEK_END)
        printed.seek(0)
        text = printed.read(PRINTED * 2)
        if size > PRINTED * 4:
            printed.seek(size - PRINTED * 2)
            text += b"\n[...]\n" + printed.read()
    try:
        result = json.loads(said)
        verdict, line = VERDICTS[VERDICTS.index(result["verdict"])], str(result["said"])
    except (ValueError, LookupError, TypeError, RecursionError):
        verdict, line = "error", f"the program ended itself, {ending(status)}"
        if size >= LARGEST_FILE:
            line = f"it printed more than {LARGEST_FILE // 2**20} MiB"
        if seconds >= limit:
            verdict, line = "time", f"not done after {limit:.0f} seconds"
    text = text.decode(errors="replace")
    if len(text) > PRINTED:
        text = f"{text[: PRINTED // 2]}\n[...]\n{text[-PRINTED // 2 :]}"
    return {"verdict": verdict, "said": line[:PRINTED], "printed": text, "seconds": seconds}


def ending(status):
    """How a process has ended, in words."""
    if os.WIFSIGNALED(status):
        return f"by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"with exit status {os.WEXITSTATUS(status)}"


# What the system takes away -------------------------------------------------------------------


def isolate():
    """Let a keeper's children have no network, and see and signal no processes but their own."""
    if not LINUX:
        return
    LIBC.prctl(SUBREAPER, 1)  # children that are left alone become the keeper's
    LIBC.prctl(DIE_WITH_PARENT, signal.SIGKILL)
    LIBC.unshare(ALONE | (NEW_USER if os.geteuid() else 0))


def confine(home, uid, memory, processes):
    """Leave this process a home, and limits of memory, processes and the size of files."""
    os.setsid()  # Ctrl+C is for the marker, which ends this process
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_DFL)
    if LINUX and os.getpid() == 1:  # it has a network of its own, so let it reach itself there
        with socket.socket() as any_socket:
            up = struct.pack("16sh22x", b"lo", 0x1)
            LIBC.ioctl(any_socket.fileno(), 0x8914, up)
    live_in(home)
    limits = {"CORE": 0, "DATA": memory, "FSIZE": LARGEST_FILE, "NPROC": processes}
    if stranger_can_run():
        os.chown(home, uid, uid)
        become(uid)
    os.chdir(home)
    for name, most in limits.items():
        if kind := getattr(resource, f"RLIMIT_{name}", None):
            highest = resource.getrlimit(kind)[1]
            most = most if highest == resource.RLIM_INFINITY else min(most, highest)
            resource.setrlimit(kind, (most, most))
    if LINUX:
        LIBC.prctl(DIE_WITH_PARENT, signal.SIGKILL)


def live_in(home):
    for name in ("HOME", "TMPDIR", "IPYTHONDIR", "MPLCONFIGDIR", "TORCHINDUCTOR_CACHE_DIR"):
        os.environ[name] = home
    tempfile.tempdir = None  # asks anew where that is


def become(uid):
    """Root becomes a stranger, who may still read what root may, but write nothing of root's."""
    LIBC.prctl(KEEP_CAPS, 1)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    for can in (1 << READ_ALL, 0):  # a container may lack even that
        version, sets = struct.pack("Ii", 0x20080522, 0), struct.pack("6I", can, can, can, 0, 0, 0)
        if LIBC.capset(version, sets) == 0:
            break
    LIBC.prctl(AMBIENT, 2, READ_ALL, 0, 0)


def stranger(slot):
    """A user id that is not that of another answer, nor, most likely, of another marker's."""
    return STRANGERS[(os.getpid() * 16 + slot) % len(STRANGERS)]


def stranger_can_run(known=[]):  # noqa: B006 - asked once
    """Whether this is root on Linux, and another user could run the course's Python."""
    if not known:
        known.append(LINUX and os.geteuid() == 0)
        if known[0]:
            if not (pid := fork()):
                try:
                    become(stranger(0))
                    files = [os.path.realpath(sys.executable), os.__file__]
                    files.append(sys.modules["d2lhybrid"].__file__)
                    os._exit(not all(Path(one).read_bytes() for one in files))
                finally:
                    os._exit(1)
            known[0] = os.waitpid(pid, 0)[1] == 0
    return known[0]


def tidy_up(uid):
    """Remove what a stranger has left where everybody may write."""
    for folder in ("/tmp", "/var/tmp", "/dev/shm") if os.geteuid() == 0 else ():
        for path in Path(folder).glob("*"):
            with contextlib.suppress(OSError):
                if path.lstat().st_uid == uid:
                    is_folder = path.is_dir() and not path.is_symlink()
                    shutil.rmtree(path) if is_folder else path.unlink()


def tasks(uid):
    """How many threads there are already of those whom a limit of processes would count."""
    uid, count = uid if os.geteuid() == 0 else os.getuid(), 0
    for number in others():
        with contextlib.suppress(OSError):  # it has ended
            mine = os.stat(f"/proc/{number}").st_uid == uid
            count += len(os.listdir(f"/proc/{number}/task")) if mine else 0
    return count


def others():
    """The numbers of all processes; [] where /proc is missing."""
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()] if LINUX else []


def cut_off():
    """What the system lets us take from answers: (the network and other processes, being root)."""
    if not (pid := fork()):
        lost = LINUX and LIBC.unshare(ALONE | (NEW_USER if os.geteuid() else 0)) == 0
        os._exit(0 if lost else 1)
    return os.waitpid(pid, 0)[1] == 0, stranger_can_run()


def end(pid, patience=0):
    """Kill a child, after some seconds at most, and all that it has started. Returns its status."""
    late, found = time.monotonic() + patience, {}
    while pid not in found and time.monotonic() < late:
        reap(found)
        time.sleep(0.002)
    while True:
        stopped, left = set(), descendants() or {pid} - found.keys()
        while left - stopped:  # what is stopped starts nothing
            for one in left - stopped:
                signal_to(one, signal.SIGSTOP)
            stopped |= left
            left = descendants()
        for one in stopped:
            signal_to(one, signal.SIGKILL)
        if not reap(found):
            return found.get(pid, 0)
        time.sleep(0.002)


def reap(found):
    """Ask for the status of each child that has ended. Returns whether there are others."""
    while True:
        try:
            one, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if not one:
            return True
        found[one] = status


def signal_to(pid, what):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, what)


def descendants():
    """The processes that this one has started, and those that they have; none without /proc."""
    parents = {}
    for number in others():
        with contextlib.suppress(OSError):  # it has ended
            text = Path(f"/proc/{number}/stat").read_text(errors="replace")
            parents[number] = int(text.rpartition(")")[2].split()[1])
    found, more = set(), {os.getpid()}
    while more:
        more = {one for one, parent in parents.items() if parent in more}
        found |= more
    return found
