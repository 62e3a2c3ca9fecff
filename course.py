"""The commands of the course. They need only Python: everything else is installed into .venv, or
into the folder that the environment variable D2LHYBRID_VENV names.
"""

import atexit
import os
import shutil
import sys
import tempfile

PYTHONS = ((3, 11), (3, 12), (3, 13), (3, 14), (3, 15))


def main(*words):
    this = "{}.{}".format(*sys.version_info)
    if sys.version_info[:2] < PYTHONS[0]:
        sys.exit(f"The course needs Python 3.11 or later, and this is {this}. Install a newer one.")
    if sys.version_info[:2] > PYTHONS[-1]:
        print(f"The course is made for Python 3.11 to 3.15, and this is {this}.", flush=True)
    if not os.access(os.path.expanduser("~"), os.W_OK):  # Jupyter would end, as it writes there
        os.environ["HOME"] = home = tempfile.mkdtemp(prefix="d2lhybrid-")
        atexit.register(shutil.rmtree, home, ignore_errors=True)
    # Here, because an older Python can't read it.
    from tools.commands import run_command

    return run_command(words, about=__doc__)


if __name__ == "__main__":
    if sys.stdout:  # None where it was closed
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        sys.exit(main(*sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("Stopped.")
    except OSError as error:  # a full disk, or a folder that can't be written to
        sys.exit(f"That did not work: {error}.")
