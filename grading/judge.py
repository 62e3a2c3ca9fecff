"""Judge the answers to one notebook's exercises: `sandbox` starts this file, in the sandbox.

For each answer it receives two messages of JSON, what to do and the student's cells, and sends one
with what came of it. The course's cells run once, and each answer in a fork of this process. Only
the fork reads the student's cells, and the next answer is sent when the last one's processes have
ended, so no answer finds another one. After an answer that has broken this process, or has left
something in the sandbox, another one is started.

A fork copies no threads, child processes or files. Where the course's cells leave any behind, this
process ends; in another one, each fork then runs those of the course's cells that it needs.
"""

import ast
import contextlib
import ctypes
import dis
import functools
import glob
import importlib
import io
import json
import linecache
import multiprocessing.connection
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import traceback
import types
import zlib
from pathlib import Path

LONG = 300  # seconds for the course's own solutions, and for all cells above an exercise
THREADS = 64 + 8 * os.cpu_count()  # of an answer: libraries start some for each core
LARGEST_FILE = 2**26  # bytes
PRINTED = 2000  # characters that are kept of what an answer prints
VERDICTS = ("right", "not right", "not yet", "error", "time", "not judged")
# A sandbox shows no other processes, so that this is its first; it may end all others there.
ALONE = os.getpid() == 1


def serve(memory, *preloaded):
    """Judge what is asked for on stdin, a socket, until that is closed. `memory` in bytes."""
    host = multiprocessing.connection.Connection(os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    if sys.platform == "linux":  # no answer can open this process's files or memory
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
    place, main, done = tempfile.gettempdir(), types.ModuleType("__main__"), 0
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = place
    live_in(place)
    for name in preloaded:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    live_in(tempfile.mkdtemp(dir=place))
    signal.signal(signal.SIGALRM, lambda *_: os._exit(1))  # the first process has no default
    sys.modules["__main__"], main.display = main, print
    while True:
        request = json.loads(host.recv_bytes())
        before = request["before"]
        needed(before, set())  # what it finds out of them is remembered in all forks
        if request["once"]:
            signal.alarm(LONG)
            with contextlib.redirect_stdout(io.StringIO()):
                errors = failed(before[done:], vars(main))
            signal.alarm(0)
            done = len(before)
            threads = [*Path("/proc/self/task").iterdir()]
            if errors or len(threads) > 1 or (threads[0] / "children").read_text() or os.listdir():
                return
        clean = traces()
        result = in_fork(request, host, vars(main), place, memory)
        result["last"] = host.poll() or traces() != clean
        host.send_bytes(json.dumps(result).encode())


def traces():
    """What an answer in a sandbox could leave for those that follow: files, and our own limits."""
    if ALONE:
        # Python and the course may lie below /tmp, read-only; -xdev leaves them out.
        find = "find /tmp /dev/shm -xdev -mindepth 1 -printf %p,%C@,"
        return subprocess.getoutput(find, errors="replace"), Path("/proc/self/limits").read_text()


def live_in(home):
    os.environ |= dict.fromkeys(("HOME", "TMPDIR", "IPYTHONDIR", "MPLCONFIGDIR"), home)
    tempfile.tempdir = None  # asks anew where that is
    os.chdir(home)


# One answer -----------------------------------------------------------------------------------


def in_fork(request, host, space, place, memory):
    """The result of one answer, which has a process, a home and limits of its own.

    A dict: the `verdict`, what was `said` beside it, what was `printed`, and the `seconds` it took.
    """
    started, limit = time.monotonic(), request["limit"]
    home = tempfile.TemporaryDirectory(dir=place, ignore_cleanup_errors=True)
    file = functools.partial(tempfile.TemporaryFile, dir=place)
    with home, file() as printed, file() as sent:
        args = request, host, space, home.name, memory, printed.fileno(), sent.fileno()
        child = multiprocessing.get_context("fork").Process(target=fork, args=args)
        child.start()
        try:
            while child.is_alive() and time.monotonic() < started + limit and not crowded(child):
                child.join(0.1)
        finally:
            end(child)
        text, result = (os.pread(one.fileno(), LARGEST_FILE, 0) for one in (printed, sent))
    seconds = time.monotonic() - started
    if result:
        verdict, said = json.loads(result)
    elif seconds > limit:
        verdict, said = "time", f"not done after {limit:.0f} seconds"
    else:
        verdict, said = "error", f"the program ended itself, or started more than {THREADS} threads"
    text = text.decode(errors="replace")
    text = text if len(text) <= PRINTED else f"{text[:1000]}\n[...]\n{text[-1000:]}"
    # What a student's process writes may be anything: an error here ends this process.
    verdict, said = VERDICTS[VERDICTS.index(verdict)], str(said)[:PRINTED]
    return {"verdict": verdict, "said": said, "printed": text, "seconds": seconds}


def fork(request, host, space, home, memory, printed, sent):
    """What the process of an answer does: limit itself, judge the answer, and write the verdict."""
    import resource  # here, since Windows has none

    os.setsid()
    live_in(home)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = home
    cells, elsewhere = json.loads(host.recv_bytes())
    host.close()
    for stream in (1, 2):
        os.dup2(printed, stream)
    for kind, most in {"CORE": 0, "DATA": memory, "FSIZE": LARGEST_FILE}.items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{kind}"), (most, most))
    me, result = os.getpid(), answer(request, cells, elsewhere, space)
    if os.getpid() == me:  # not a copy that the answer has made of this process
        os.write(sent, json.dumps(result).encode())
    os._exit(0)  # without waiting for threads that it has started


def crowded(process):
    """Whether an answer has more than THREADS: in its session, or, in a sandbox, in all there."""
    count = 0
    # None on macOS. Path.glob would raise if a process ends while its folder is read.
    for path in glob.iglob("/proc/[0-9]*/task/*"):
        with contextlib.suppress(ProcessLookupError):  # it has ended
            count += ALONE or os.getsid(int(os.path.basename(path))) == process.pid
    return count > THREADS


def end(process):
    """Kill an answer's process, and what it has started; outside of a sandbox, in its session."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1 if ALONE else -process.pid, signal.SIGKILL)
    process.join()
    with contextlib.suppress(ChildProcessError):
        while ALONE:  # the first process is the parent of all that are left alone
            os.waitpid(-1, 0)


def answer(request, cells, elsewhere, space):
    """Run what was handed in for an exercise, and judge it: a verdict, and what to say beside it.

    In `space` are the course's cells above the exercise, unless this fork has to run what it needs
    of them. Then come the exercise's own cells as the course has them, and the student's. What
    these have changed of what the check needs is put back; only the names that the check judges
    are the student's. The check is the course's, in a copy of its module that nobody sees.
    """
    said, package = [], sys.modules["d2lhybrid"]
    our_check = check_of_our_own(package, said)
    names, own, check = {*request["answers"]}, request["own"], request["check"]
    course = [] if request["once"] else needed(request["before"], reads([*cells, *own, check]))
    with contextlib.redirect_stdout(io.StringIO()):
        errors = failed([*course, *own], space)
    if errors:
        return "not judged", f"the course's own cells failed:\n{errors[0]}"
    kept = dict(space)
    for name in names:
        space.pop(name, None)
    others = [one for one in elsewhere if one not in cells]
    for one in [*needed(others, reads(cells) - kept.keys()), *cells]:
        errors += failed([one], space)
    print(*errors, sep="\n", end="", flush=True)
    if lost := sorted(names - space.keys()):
        if errors or not {*cells} <= {*own}:
            return "error", [*errors, f"there is no {lost[0]}"][0]
        return "not yet", "the answer's cell is not in the notebook"
    ours = reads([check, *needed([*request["before"], *own], reads([check]))]) - names
    for name in ours:
        space.pop(name, None)  # such as `print`, which is Python's
    space.update((name, kept[name]) for name in ours & kept.keys())
    sys.modules["d2lhybrid"] = package
    package.check = space["check"] = our_check
    if problems := failed([check], space):
        return "error", problems[0]
    with contextlib.suppress(Exception):  # a student may have closed it
        sys.stdout.flush()
    for verdict in ("not yet", "not right", "right"):
        if lines := [line for line in said if line.partition(":")[0] == verdict]:
            return ("error", errors[0]) if errors and verdict == "not yet" else (verdict, lines[0])
    return "not judged", "this machine lacks something that the check needs"


def check_of_our_own(package, said):
    """`check` once more, which appends to `said` and which no answer can change."""
    space = {"__name__": "check", "print": said.append}
    exec(Path(sys.modules[package.check.__module__].__file__).read_text("utf-8"), space)
    same = space["same"]
    # An object of an answer's own class could say that it equals everything.
    space["same"] = lambda value, truth: type(value).__module__ != "__main__" and same(value, truth)
    return space["check"]


def failed(cells, space):
    """Run cells. Returns [], or the error with those lines of cells that led to it."""
    try:
        for text in cells:
            exec(compiled(text), space)
    except BaseException as error:
        ours = [one for one in traceback.extract_tb(error.__traceback__) if "<cell" in one.filename]
        lines = traceback.format_list(ours) + traceback.format_exception_only(error)
        return ["".join(lines)]
    return []


def compiled(text):
    """A cell as code, noted so that its functions' source and its errors' lines are found.

    What only a notebook knows is mended: lines such as %timeit, and a cell that is indented.
    """
    label = f"<cell {zlib.crc32(text.encode(errors='replace'))}>"
    try:
        ast.parse(text)
    except SyntaxError:
        text = re.sub(r"(?m)^(\s*)%time (?=\s*\S)", r"\1", textwrap.dedent(text))
        text = re.sub(r"(?m)^(\s*)(?:[%!].*|.*\?)$", r"\1pass", text)
    linecache.cache[label] = len(text), None, text.splitlines(keepends=True), label
    return compile(text, label, "exec")


# Which cells are needed -----------------------------------------------------------------------


@functools.cache
def names_of(text):
    """The names that a cell binds or changes, and those that it reads; none where it can't run."""
    try:
        code = compiled(text)
    except (SyntaxError, ValueError):
        return set(), set()
    found = [one for scope in scopes(code) for one in dis.get_instructions(scope)]
    # Lines such as x.a = 1, x[0] = 1 and x.append(1) change x.
    makes = {*re.findall(r"(?m)^\s*(\w+)[.[]", text)}
    makes |= {one.argval for one in found if one.opname in ("STORE_NAME", "STORE_GLOBAL")}
    return makes, {one.argval for one in found if one.opname in ("LOAD_NAME", "LOAD_GLOBAL")}


def scopes(code):
    """Compiled Python, and the functions and classes in it."""
    return [code, *(s for one in code.co_consts if hasattr(one, "co_code") for s in scopes(one))]


def reads(cells):
    return set().union(*(names_of(text)[1] for text in cells))


def needed(cells, names):
    """Those of the cells that bind or change these names, and those that these need."""
    chosen, more = [], True
    while more:
        more = [one for one in cells if one not in chosen and names_of(one)[0] & names]
        chosen += more
        names = names | reads(more)
    return [one for one in cells if one in chosen]


if __name__ == "__main__":
    place = os.environ.get("TMPDIR", "")  # made for us, by whom may be killed; none in a sandbox
    try:
        serve(int(sys.argv[1]), *sys.argv[2:])
    finally:
        shutil.rmtree(place, ignore_errors=True)
        os._exit(0)  # threads that the course's cells have left would go on
