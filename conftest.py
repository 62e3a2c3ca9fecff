"""What a bare `pytest` needs, wherever it is started. Its options are in pyproject.toml.

On several cores, pytest-xdist starts a process for each, and each of them reads this file.
"""

import atexit
import gc
import os
import shutil
import tempfile
import textwrap
import tomllib
from importlib.util import find_spec

import matplotlib.font_manager  # noqa: F401 (lists the fonts, or a notebook would say it does)
import nbval.kernel
import pytest
from nbval.plugin import IPyNbCell, IPyNbFile

from d2lhybrid import available_cores
from tools import manifest
from tools.checking import last_line

ENVIRONMENT = {}  # of the notebooks' kernels
NOT_COMPARED = "run, but not compared"
LONG = ["project", "cross_framework", "world"]  # folders of tests that take a minute


def pytest_xdist_auto_num_workers():
    """One process more than there are cores, since many tests wait: for a process, for a clock."""
    return available_cores() + 1


def pytest_sessionstart():
    gc.disable()  # importing all tests makes no garbage, and takes a third less time without it


def pytest_collection_finish():
    gc.enable()


def pytest_ignore_collect(collection_path):
    # A reader's own notebooks are not part of the check. One that is named on the command line is
    # run all the same, because pytest does not ask about it here.
    own = {path.name for path in manifest.notebooks()}
    if collection_path.suffix == ".ipynb" and collection_path.name not in own:
        return True


def pytest_collection_modifyitems(items):
    """Order the tests, and leave out the notebooks whose framework is not installed.

    No kernel is started for those.

    One that shows all frameworks, or a package that has no wheel for this Python, is run with what
    is there, and its outputs are not compared where something is missing. Where D2LHYBRID_NO_SKIPS
    is set, nothing may be left out: they are run and compared, and fail.
    """
    # The tests that wait for processes follow the notebooks, or one core would end alone.
    items.sort(key=lambda item: item.path.suffix == ".py" and item.path.parent.name not in LONG)
    if os.environ.get("D2LHYBRID_NO_SKIPS"):
        return
    for entry, path in zip(manifest.entries(), manifest.notebooks(), strict=True):
        cells = [item for item in items if item.path == path]
        for name in manifest.needed("frameworks", [entry]):
            if not find_spec(name):
                left_out = pytest.mark.skip(reason=f"{name} is not installed")
                for cell in cells:
                    cell.add_marker(left_out)
        if missing := missing_for_comparing(entry):
            for cell in [cell for cell in cells if isinstance(cell, IPyNbCell)]:
                cell.options["check"] = False
                # A report takes this along from a process of pytest-xdist.
                cell.user_properties.append((NOT_COMPARED, f"{NOT_COMPARED}: {missing}"))


def missing_for_comparing(entry):
    """Why a notebook can't show what its page does; '' if it can.

    The packages of requirements.txt are missing only where a Python has no wheel of them. A
    command counts for a notebook that shows all frameworks.
    """
    others = manifest.needed("compared_with", [entry])
    missing = [
        name for name in others + manifest.needed("packages", [entry]) if not find_spec(name)
    ]
    if others:
        missing += [name for name in manifest.needed("commands", [entry]) if not shutil.which(name)]
    are = "is" if len(missing) == 1 else "are"
    return f"{', '.join(missing)} {are} not installed" if missing else ""


def pytest_configure(config):
    # nbval reads this path relative to the working directory, which may be any.
    config.option.nbval_sanitize_with = str(config.rootpath / "tests" / "sanitize.cfg")
    # The notebooks' kernels must not depend on how this user has set up the machine. Each process
    # has its own folder, since IPython's history is a database that only one should write.
    folder = tempfile.TemporaryDirectory(prefix="ipython-", ignore_cleanup_errors=True)
    atexit.register(folder.cleanup)  # behind IPython's own, which writes there once more
    os.environ["IPYTHONDIR"] = folder.name
    for name in ("MPLBACKEND", "PYTHONWARNINGS", "PYTHONSTARTUP", "JPY_SESSION_NAME"):
        os.environ.pop(name, None)
    # Before its first program, torch.compile asks the C++ compiler for every kind of vectors, for
    # five seconds, and once more wherever its cache is empty. It may trust the processor instead.
    os.environ["TORCHINDUCTOR_VEC_ISA_OK"] = "1"
    ENVIRONMENT.update(os.environ)
    ENVIRONMENT["D2LHYBRID_TIME_LIMIT"] = "0.2"  # of a comparison: figures are not compared
    ENVIRONMENT.pop("PYTEST_CURRENT_TEST", None)  # there is one if a test has started us


def pytest_unconfigure(config):
    """Say on the last line whether the course is ready, and if not, where to look."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    status = getattr(config, "exit_status", None)
    if reporter is None or status is None or config.option.collectonly:
        return  # a process of pytest-xdist, or nothing was run
    failed = [*reporter.stats.get("failed", ()), *reporter.stats.get("error", ())]
    left_out = set()
    for report in [*reporter.stats.get("passed", ()), *reporter.stats.get("skipped", ())]:
        name, is_notebook, _ = report.nodeid.rpartition("/")[2].partition(".ipynb::")
        # A module that is skipped while it is collected has a report without properties.
        why = dict(getattr(report, "user_properties", ())).get(NOT_COMPARED, "")
        if report.skipped:
            why = report.longrepr[2].removeprefix("Skipped: ")
        if is_notebook and why:
            left_out.add(f"{name} ({why})")
    names = [report.nodeid for report in failed]
    print(last_line(status, names, config.invocation_params.args, left_out))


def pytest_sessionfinish(session, exitstatus):
    session.config.exit_status = exitstatus


def say_both_outputs(cell, kind, page, machine):
    """Report a difference in full; nbval would shorten it to one line."""
    for who, output in (("The page says", page), ("This machine says", machine)):
        cell.comparison_traceback += [f"{who} ({kind}):", textwrap.indent(str(output), "    ")]


def number_from_one(self, name, parent, cell_num, cell, options, make=IPyNbCell.__init__):
    """Number a notebook's cells as JupyterLab does; nbval begins at 0."""
    make(self, f"Cell {cell_num + 1}", parent, cell_num + 1, cell, options)


def start_as_for_a_reader(*args, start=nbval.kernel.start_new_kernel, **options):
    """Start a kernel in the environment that there was before any test.

    Where it finds pytest's mark there, ipykernel leaves what C code prints to the terminal;
    JupyterLab shows it. And a framework that a test has imported may have left its settings.
    """
    return start(*args, **options | {"env": ENVIRONMENT})


class Answer(pytest.Item):
    """An answer to an exercise, judged by the notebook's own kernel when all its cells have run.

    tests/exercises/NN_name.toml holds the answers to the exercises of the notebook of that name:
    code for the place between an exercise's cells and its check. `right` answers must be called
    right, `wrong` ones not right; neither may raise an error or hang.
    """

    def runtest(self):
        *before, check = cells_of(self.exercise, self.parent.nb)
        for code in [*before, self.answer, check]:
            messages = []
            self.parent.kernel.kc.execute_interactive(
                code,
                allow_stdin=False,
                timeout=self.config.option.nbval_cell_timeout,
                output_hook=messages.append,
            )
        said = [message["content"] for message in messages]
        lines = "".join(one.get("text", one.get("evalue", "")) for one in said).splitlines()
        verdicts = {line.partition(":")[0] for line in lines} & {"right", "not right", "not yet"}
        # An exercise may have several checks: a right answer passes all, a wrong one fails in one.
        wrong = "not right" in verdicts and "not yet" not in verdicts
        if not (verdicts == {"right"} if self.wanted == "right" else wrong):
            pytest.fail("\n".join([self.answer, "", "was judged:", *lines]), pytrace=False)

    def reportinfo(self):
        return self.path, None, f"{self.path.name}::{self.name}"


def cells_of(exercise, notebook):
    """The code of an exercise's cells. The last one is its check."""
    inside, found = False, []
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("#"):
            inside = cell.source.startswith(f"### Exercise {exercise}:")
        elif inside and cell.cell_type == "code":
            found.append(cell.source)
    return found


def cells_and_answers(self, collect=IPyNbFile.collect):
    yield from collect(self)
    answers = self.config.rootpath / "tests" / "exercises" / f"{self.path.stem}.toml"
    if not answers.exists():
        return
    for exercise in tomllib.loads(answers.read_text(encoding="utf-8"))["exercise"]:
        for wanted in ("right", "wrong"):
            for number, answer in enumerate(exercise[wanted], 1):
                name = f"Exercise {exercise['number']}, {wanted} {number}"
                item = Answer.from_parent(self, name=name)
                item.exercise, item.wanted, item.answer = exercise["number"], wanted, answer
                yield item


nbval.kernel.start_new_kernel = start_as_for_a_reader
IPyNbFile.collect = cells_and_answers
IPyNbCell.format_output_compare = say_both_outputs
IPyNbCell.__init__ = number_from_one
