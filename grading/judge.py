"""Judge the answers to one notebook's exercises: `sandbox` starts this file, in the sandbox.

It reads the notebook's exercises, one line of JSON, and then for each answer two lines: what to do,
and the student's cells. It writes a line of JSON for each. The course's cells run once, and each
answer in a fork of this process. Only the fork reads the student's cells, and the next answer is
sent when the last one's processes have ended, so no answer finds another one.

A fork copies no threads, child processes or files. Where the course's cells leave any behind, this
process ends; in another one, each fork then runs those of the course's cells that it needs.
"""

import ast
import contextlib
import dis
import functools
import importlib.util
import io
import json
import linecache
import multiprocessing
import os
import re
import shutil
import signal
import sys
import tempfile
import textwrap
import time
import traceback
import types
from pathlib import Path

PROCESSES, LARGEST_FILE = 64, 2**26  # bytes
PRINTED = 2000  # characters that are kept of what an answer prints
VERDICTS = ("right", "not right", "not yet", "error", "time", "not judged")
NAMING = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign)
# A sandbox shows no other processes, so that this is its first; it may end all others there.
ALONE = os.getpid() == 1


def serve(memory, *preloaded):
    """Judge what is asked for on stdin, until that is closed. `memory` in bytes."""
    requests, results = os.fdopen(os.dup(0), "rb", buffering=0), os.fdopen(os.dup(1), "w")
    for stream in (0, 1):
        os.dup2(os.open(os.devnull, os.O_RDWR), stream)
    exercises, done = json.loads(requests.readline()), 0
    for name in preloaded:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    place, main = tempfile.gettempdir(), types.ModuleType("__main__")
    sys.modules["__main__"], main.display = main, print
    live_in(tempfile.mkdtemp(dir=place))
    while line := requests.readline():
        request = json.loads(line)
        exercise = exercises[request["exercise"]]
        needed(exercise["before"], set())  # what it finds out of them is remembered in all forks
        if request["once"]:
            with contextlib.redirect_stdout(io.StringIO()):
                run(exercise["before"][done:], vars(main))
            done = len(exercise["before"])
            threads = [*Path("/proc/self/task").iterdir()]
            if len(threads) > 1 or (threads[0] / "children").read_text() or os.listdir():
                return
        result = in_fork(exercise, request, (requests, results), vars(main), place, memory)
        print(json.dumps(result), file=results, flush=True)


def live_in(home):
    os.environ |= dict.fromkeys(("HOME", "TMPDIR", "IPYTHONDIR", "MPLCONFIGDIR"), home)
    tempfile.tempdir = None  # asks anew where that is
    os.chdir(home)


# One answer -----------------------------------------------------------------------------------


def in_fork(exercise, request, streams, space, place, memory):
    """The result of one answer, which has a process, a home and limits of its own.

    A dict: the `verdict`, what was `said` beside it, what was `printed`, and the `seconds` it took.
    """
    started, most, result = time.monotonic(), count_processes() + PROCESSES, None
    late, context = started + request["limit"], multiprocessing.get_context("fork")
    (receiver, sender), home = context.Pipe(duplex=False), tempfile.mkdtemp(dir=place)
    with tempfile.TemporaryFile(dir=place) as printed:
        args = exercise, request, streams, space, home, memory, printed, sender
        process = context.Process(target=fork, args=args)
        process.start()
        sender.close()
        try:
            while not result and time.monotonic() < late and count_processes() <= most:
                result = receiver.poll(0.1) and received(receiver, process)
            if not result and time.monotonic() < late:
                result = "error", f"it started more than {PROCESSES} processes"
        finally:
            end(process)
            shutil.rmtree(home, ignore_errors=True)
        printed.seek(0)
        text = printed.read().decode(errors="replace")
    text = text if len(text) <= PRINTED else f"{text[:1000]}\n[...]\n{text[-1000:]}"
    seconds = time.monotonic() - started
    verdict, said = result or ("time", f"not done after {request['limit']:.0f} seconds")
    return {"verdict": verdict, "said": said[:PRINTED], "printed": text, "seconds": seconds}


def received(receiver, process):
    """The verdict that an answer's process has sent, and what to say; or how it has ended."""
    try:
        verdict, said = json.loads(receiver.recv_bytes())
        return VERDICTS[VERDICTS.index(verdict)], str(said)
    except (EOFError, OSError, ValueError, TypeError, RecursionError):
        process.join(1)
        code = process.exitcode or 0
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit status {code}"
        return "error", f"the program ended itself, {how}"


def fork(exercise, request, streams, space, home, memory, printed, sender):
    """What the process of an answer does: limit itself, judge the answer, and send the verdict."""
    import resource  # here, since Windows has none

    os.setsid()
    live_in(home)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = home
    cells, elsewhere = json.loads(streams[0].readline())
    for stream in streams:
        stream.close()
    for stream in (1, 2):
        os.dup2(printed.fileno(), stream)
    for kind, most in {"CORE": 0, "DATA": memory, "FSIZE": LARGEST_FILE}.items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{kind}"), (most, most))
    me, result = os.getpid(), answer(exercise, request, cells, elsewhere, space)
    if os.getpid() == me:  # not a copy that the answer has made of this process
        sender.send_bytes(json.dumps(result).encode())


def count_processes():
    """How many processes can be seen; 0 where there is no /proc."""
    return sum(map(str.isdecimal, os.listdir("/proc"))) if os.path.isdir("/proc") else 0


def end(process):
    """Kill an answer's process, and what it has started; outside of a sandbox, in its session."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL) if ALONE else os.killpg(process.pid, signal.SIGKILL)
    process.join()
    with contextlib.suppress(ChildProcessError):
        while ALONE:  # the first process is the parent of all that are left alone
            os.waitpid(-1, 0)


def answer(exercise, request, cells, elsewhere, space):
    """Run what was handed in for an exercise, and judge it: a verdict, and what to say beside it.

    In `space` are the course's cells above the exercise, unless this fork has to run what it needs
    of them. Then come the exercise's own cells as the course has them, and the student's. What
    these have changed of what the check needs is put back; only the names that the check judges
    are the student's. The check is the course's, in a copy of its module that nobody sees.
    """
    said, checking, package = [], checks_of_our_own(), sys.modules["d2lhybrid"]
    checking.print = said.append
    names, check = {*exercise["answers"]}, (exercise["check"], "<check>")
    own = [(text, f"<exercise {i}>") for i, text in enumerate(exercise["own"])]
    cells = [(text, f"<answer {i}>") for i, text in enumerate(cells)]
    course = [] if request["once"] else needed(exercise["before"], reads([*cells, *own, check]))
    with contextlib.redirect_stdout(io.StringIO()):
        errors = failed([*course, *own], space)
    if errors:
        return "not judged", f"the course's own cells failed:\n{errors[0]}"
    kept = dict(space)
    if not request["is_solution"]:
        for name in names:
            space.pop(name, None)
        others = [(text, f"<other {i}>") for i, text in enumerate(elsewhere)]
        others = [one for one in others if one[0] not in dict(cells)]
        for one in needed(others, reads(cells) - kept.keys()):
            errors += failed([one], space, NAMING)
        for one in cells:
            errors += failed([one], space)
        print(*errors, sep="\n", end="", flush=True)
    if lost := sorted(names - space.keys()):
        if errors or not {*dict(cells)} <= {*dict(own)}:
            return "error", [*errors, f"there is no {lost[0]}"][0]
        return "not yet", "the answer's cell is not in the notebook"
    around = needed([*exercise["before"], *own], reads([check]))
    for name in reads([check, *around]) - names:
        if name in kept:
            space[name] = kept[name]
        else:
            space.pop(name, None)  # such as `print`, which is Python's
    sys.modules["d2lhybrid"] = package
    package.check = space["check"] = checking.check
    if problems := failed([check], space):
        return "error", problems[0]
    if request["is_solution"]:
        said.clear()
        errors = failed(cells, space)
    with contextlib.suppress(Exception):  # a student may have closed it
        sys.stdout.flush()
    for verdict in ("not yet", "not right", "right"):
        lines = [line for line in said if line.partition(":")[0] == verdict]
        if errors and (request["is_solution"] or (lines and verdict == "not yet")):
            return "error", errors[0]
        if lines:
            return verdict, lines[0]
    return "not judged", "this machine lacks what the check needs"


def checks_of_our_own():
    """The module of `check` once more, so that no answer can change what it does."""
    file = sys.modules[sys.modules["d2lhybrid"].check.__module__].__file__
    spec = importlib.util.spec_from_file_location("checks", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    same = module.same
    # An object of an answer's own class could say that it equals everything.
    module.same = lambda value, truth: type(value).__module__ != "__main__" and same(value, truth)
    return module


def failed(cells, space, kinds=ast.stmt):
    """Run cells. Returns [], or the error in the lines that a student would look for."""
    try:
        run(cells, space, kinds)
    except BaseException as error:
        calls = error.__traceback__
        while calls and not calls.tb_frame.f_code.co_filename.startswith("<"):
            calls = calls.tb_next
        return ["".join(traceback.format_exception(type(error), error, calls, limit=-4))]
    return []


def run(cells, space, kinds=ast.stmt):
    """Run the statements in (text, label) of cells, those of some kinds. Passes errors on."""
    for text, label in cells:
        for tree in ast.parse(as_python(text, label)).body:
            if isinstance(tree, kinds):
                exec(compile(ast.Module([tree], []), label, "exec"), space)


def as_python(text, label):
    """A cell as Python, noted so that its functions' source and its errors' lines are found.

    What only a notebook knows is mended: lines such as %timeit, and a cell that is indented.
    """
    try:
        ast.parse(text)
    except SyntaxError:
        text = re.sub(r"(?m)^(\s*)%time (?=\s*\S)", r"\1", textwrap.dedent(text))
        text = re.sub(r"(?m)^(\s*)(?:[%!].*|.*\?)$", r"\1pass", text)
    linecache.cache[label] = len(text), None, text.splitlines(keepends=True), label
    return text


# Which cells are needed -----------------------------------------------------------------------


@functools.cache
def names_of(text, label):
    """The names that a cell binds or changes, and those that it reads; none where it can't run."""
    try:
        code = compile(as_python(text, label), label, "exec")
    except (SyntaxError, ValueError):
        return set(), set()
    found = [one for scope in scopes(code) for one in dis.get_instructions(scope)]
    # Lines such as x.a = 1, x[0] = 1 and x.append(1) change x.
    makes = {*re.findall(r"(?m)^\s*(\w+)[.[]", text)}
    makes |= {one.argval for one in found if one.opname in ("STORE_NAME", "STORE_GLOBAL")}
    return makes, {one.argval for one in found if one.opname in ("LOAD_NAME", "LOAD_GLOBAL")}


def scopes(code):
    """Compiled Python, and the functions and classes in it."""
    inner = [one for one in code.co_consts if isinstance(one, types.CodeType)]
    return [code, *(scope for one in inner for scope in scopes(one))]


def reads(cells):
    return set().union(*(names_of(*one)[1] for one in cells))


def needed(cells, names):
    """Those of the cells that bind or change these names, and those that these need."""
    chosen, more = [], True
    while more:
        more = [one for one in cells if one not in chosen and names_of(*one)[0] & names]
        chosen += more
        names = names | reads(more)
    return [one for one in cells if one in chosen]


if __name__ == "__main__":
    try:
        serve(int(sys.argv[1]), *sys.argv[2:])
    finally:
        os._exit(0)  # threads that the course's cells have left would go on
