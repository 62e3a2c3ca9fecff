"""Processes that tests start, and look for afterwards."""

import os
import signal
import subprocess
import time
from pathlib import Path

from d2lhybrid import workers


def started_with_ctrl_c(command, **options):
    """A process that Ctrl-C ends as usual, and whose output can be read as text.

    A shell has its background jobs ignore it, and what a process ignores, its children ignore. A
    `preexec_fn` would do for them, but would copy this process with all locks of its threads.
    """
    pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(command, **pipes | options)
    finally:
        signal.signal(signal.SIGINT, before)


def soon(condition, seconds=5):
    """Whether this holds within so many seconds."""
    late = time.monotonic() + seconds
    while not (holds := condition()) and time.monotonic() < late:
        time.sleep(0.01)
    return holds


def gone(pid):
    """Whether a process that need not be our child has ended, soon."""

    def has_ended():
        try:
            os.kill(pid, 0)
            if not Path("/proc/self").exists():
                return False
            # so is one whose exit code has not been asked for, once its threads have ended
            is_zombie = ") Z " in Path(f"/proc/{pid}/stat").read_text()
            return is_zombie and len(os.listdir(f"/proc/{pid}/task")) == 1
        except OSError:
            return True

    return soon(has_ended)


def noted_starts(monkeypatch):
    """A list of the processes of workers that are started from now on."""
    found, start = [], workers.Worker.__init__

    def noted(worker, *args):
        start(worker, *args)
        found.append(worker.process)

    monkeypatch.setattr(workers.Worker, "__init__", noted)
    return found
