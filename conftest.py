"""What a bare `pytest` needs, wherever it is started: see also [tool.pytest] in pyproject.toml."""

import os
import tempfile


def pytest_configure(config):
    # nbval takes this path relative to the working directory; make it hold from any.
    config.option.nbval_sanitize_with = str(config.rootpath / "tests" / "sanitize.cfg")
    # The notebooks' kernels must not depend on how this user has set up the machine.
    os.environ["IPYTHONDIR"] = tempfile.mkdtemp(prefix="ipython-")
    for name in ("MPLBACKEND", "PYTHONWARNINGS", "PYTHONSTARTUP"):
        os.environ.pop(name, None)
