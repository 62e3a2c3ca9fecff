"""Start `judge` in a sandbox that others maintain, and ask it about one answer after the other."""

import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.files import ROOT

from .judge import LONG

# What Python, compilers and the package need of the system. All else is not in the sandbox.
SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/sys"]
SYSTEM += ["/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts"]
# What most notebooks import, and what starts no thread then.
PRELOADED = "torch._inductor.compile_fx torch.export matplotlib.pyplot networkx numba d2lhybrid"
JUDGE = Path(__file__).with_name("judge.py")
ENVIRONMENT = """PYTHONIOENCODING=utf-8:replace USER=student MPLBACKEND=Agg D2LHYBRID_TIME_LIMIT=0.2
OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
TORCHINDUCTOR_COMPILE_THREADS=1 TORCHINDUCTOR_VEC_ISA_OK=1"""


def find_sandbox(trust):
    """The command that runs what follows it in a sandbox: bubblewrap, or [] in a container.

    SystemExit where there is neither, unless `trust` says that it may run all the same.
    """
    command = ["bwrap", "--unshare-all", "--as-pid-1", "--die-with-parent", "--cap-drop", "ALL"]
    command += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    for path in [*SYSTEM, sys.prefix, sys.base_prefix, ROOT / "d2lhybrid", JUDGE]:
        command += ["--ro-bind-try", path, path]
    command += ["--remount-ro", "/", "--chdir", "/tmp"]
    if trust and os.name == "posix":
        return []
    if shutil.which("bwrap") and not subprocess.call([*command, sys.executable, "-c", ""]):
        return command
    if os.path.exists("/.dockerenv") or "container" in os.environ:
        return []
    sys.exit(
        "This runs strangers' code, so it needs a sandbox: bubblewrap (on Linux), or a container. "
        "TEACHING.md shows both. On Linux and macOS, --trust does without one."
    )


class Judge:
    """A process that judges answers to one notebook; started when it is asked, again if it died."""

    def __init__(self, command, memory):
        self.command = [*command, sys.executable, "-P", JUDGE, str(memory), *PRELOADED.split()]
        self.process, self.in_sandbox = None, bool(command)

    def start(self):
        env = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "LD_LIBRARY_PATH")}
        if not self.in_sandbox:  # else it has a /tmp of its own
            self.place = tempfile.TemporaryDirectory(prefix="marks-")  # the judge removes it, too
            env["TMPDIR"] = self.place.name
        env |= {"PYTHONPATH": str(ROOT), **dict(one.split("=") for one in ENVIRONMENT.split())}
        self.host, end = multiprocessing.Pipe()
        streams = {"stdin": end, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with end:
            self.process = subprocess.Popen(self.command, env=env, **streams)

    def ask(self, request, cells=(), others=()):
        """What comes of an answer, as `judge.in_fork` returns it."""
        if not self.process:
            self.start()
        try:
            for message in (request, [cells, others]):
                self.host.send_bytes(json.dumps(message).encode())
            result = json.loads(self.host.recv_bytes())
        except (OSError, EOFError):
            result = {"verdict": "error", "said": "the judging process was killed", "last": True}
        if result["last"]:
            self.close()
        return result

    def close(self):
        """End the process, and with a sandbox all that it has started."""
        if self.process:
            self.process.kill()
            self.process.wait()
            self.host.close()
            self.process = None
            if not self.in_sandbox:
                self.place.cleanup()


def judge_all(judge, lesson, works, limit):
    """Yield (student, notebook, exercise) and what comes of it, for each of (student, work).

    First comes the course's own solution. Where that fails, its cells may leave behind what a fork
    misses, so it is tried again, and all that follows judged, without running them once for all.
    """
    once = True
    for number, exercise in lesson.exercises.items():
        own = judge.ask({**exercise.solved(), "once": once, "limit": LONG})
        if once and own["verdict"] != "right":
            once = False
            judge.close()
            own = judge.ask({**exercise.solved(), "once": once, "limit": LONG})
        for student, work in works:
            if work.damage:
                result = {"verdict": "error", "said": work.damage}
            elif own["verdict"] != "right":
                said = f"the course's own solution fails: {own['said']}"
                result = {"verdict": "not judged", "said": said}
            else:
                request = exercise.to_solve() | {"once": once, "limit": limit + 4 * own["seconds"]}
                result = judge.ask(request, work.cells.get(number, []), work.others)
            yield (student, lesson.name, number), result
    judge.close()
