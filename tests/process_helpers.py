"""Processes that tests start, and look for afterwards."""

import os
import signal
import time
from pathlib import Path


def default_sigint():
    """Let Ctrl-C end this process as usual: a shell has its background jobs ignore it.

    What a process ignores, its children ignore: on POSIX, give them this as `preexec_fn`.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)


def soon(condition):
    """Whether this holds within five seconds."""
    late = time.monotonic() + 5
    while not (holds := condition()) and time.monotonic() < late:
        time.sleep(0.01)
    return holds


def gone(pid):
    """Whether a process that need not be our child has ended, soon."""

    def has_ended():
        try:
            os.kill(pid, 0)
            on_linux = Path("/proc/self").exists()
            # so is one whose exit code has not been asked for
            return on_linux and ") Z " in Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return True

    return soon(has_ended)
