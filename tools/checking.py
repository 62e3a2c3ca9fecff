"""`course.py check`: what pytest is asked to run, and the last lines, which conftest.py prints."""

import re
import sys
from collections import Counter

from . import environment, manifest
from .files import ROOT


def check(part=None, pytest=()):
    """Run every test and every notebook cell, or those that are named; more words go to pytest.

    For example `check notebooks/02_symbolic_programs.ipynb`, or `check -x tests`.
    """
    pytest = [*notebooks_of(part), *pytest]
    environment.set_up()
    environment.add_frameworks(manifest.to_install(manifest.entries_in(pytest)))
    if not pytest:
        print(
            "This runs every test and every cell of every notebook. It takes 10 to 20 minutes on\n"
            "two cores, less on more. The last line says whether the course is ready.",
            flush=True,
        )
    return environment.run([environment.VENV_PYTHON, "-m", "pytest", *pytest], cwd=ROOT)


def notebooks_of(part):
    """The notebooks of the part with a number, as a check names them; without a number, none."""
    if part is None:
        return []
    parts = manifest.course()["parts"]
    if part not in map(str, range(len(parts))):
        names = ", ".join(f"{i} {one['title']['en']}" for i, one in enumerate(parts))
        sys.exit(f"--part needs the number of a part, not {part!r}. The parts: {names}.")
    return [f"notebooks/{entry['name']}.ipynb" for entry in parts[int(part)]["notebooks"]]


def slowest(took):
    """A line that names the files in which most of the time went, from (test, seconds)."""
    seconds = Counter()
    for test, duration in took:
        seconds[test.partition("::")[0].rpartition("/")[2].removesuffix(".ipynb")] += duration
    return f"slowest: {', '.join(f'{file} {s:.0f} s' for file, s in seconds.most_common(5))}"


def last_line(status, failed, arguments, left_out):
    """The last line of a check: `ready`, or the notebooks and tests that failed.

    `left_out` says of each notebook that was left out, or was not compared, why.
    """
    if status == 0:
        ready = "ready, as far as was asked" if arguments else "ready"
        reasons = [f"{name} ({why.removeprefix('Skipped: ')})" for name, why in left_out.items()]
        return f"{ready}, but for {'; '.join(sorted(reasons))}" if reasons else ready
    places = {}
    for one in failed:  # such as "notebooks/05_torchscript.ipynb::Cell 7"
        file, _, test = one.partition("::")
        about = re.search(r"\[(\d\d_\w+)-(\w+)\]", test)  # a rule, and the notebook that broke it
        place, test = about.groups() if about else (file.rpartition("/")[2], test)
        places.setdefault(place.removesuffix(".ipynb"), []).append(test)
    where = []
    for file, (first, *more) in places.items():
        where.append(f"{file} ({first} and {len(more)} more)" if more else f"{file} ({first})")
    where = "; ".join(where).replace(" ()", "")
    return f"not ready: {where or 'see above'}"
