"""Processes that tests start, and look for afterwards."""

import os
import time
from pathlib import Path


def gone(pid):
    """Whether a process that need not be our child has ended, soon."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
            on_linux = Path("/proc/self").exists()
            if on_linux and ") Z " in Path(f"/proc/{pid}/stat").read_text():
                return True  # it has ended, and its exit code has not been asked for
        except OSError:
            return True
        time.sleep(0.05)
    return False
