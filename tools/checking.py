"""`course.py check`: what pytest is asked to run, and the last line, which conftest.py prints."""

from . import environment, manifest
from .files import ROOT


def check(pytest=()):
    """Run all tests and all notebook cells, or only those that are named.

    All arguments go to pytest, for example `check notebooks/02_symbolic_programs.ipynb`, or `check
    -x tests`.
    """
    own = [name for name in pytest if name.endswith(".ipynb")]
    if away := [name for name in own if ROOT not in (ROOT / name).resolve().parents]:
        raise SystemExit(f"Notebooks are checked within the course: copy {away[0]} to work/ first.")
    environment.set_up()
    environment.add_frameworks(manifest.to_install(manifest.entries_in(pytest)))
    if not pytest:
        print("On two cores this takes 10 to 20 minutes. The last line is the answer.", flush=True)
    return environment.run([environment.VENV_PYTHON, "-m", "pytest", *pytest], cwd=ROOT)


def last_line(status, failed, arguments, left_out):
    """The last line of a check: `ready`, or the files of the notebooks and tests that failed.

    `status` is pytest's exit status, `failed` the ids of tests, `arguments` what pytest was given.
    `left_out` says which notebooks were left out, or were not compared, and why.
    """
    if status:
        files = dict.fromkeys(test.partition("::")[0] for test in failed)
        return f"not ready: {', '.join(files) or 'see above'}"
    ready = "ready, as far as was asked" if arguments else "ready"
    return f"{ready}, but for {'; '.join(sorted(left_out))}" if left_out else ready
