"""`python -m d2lhybrid compare mine.py`: what counts as a candidate, the answer, exit statuses."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from benchmark_helpers import several_processes, steady
from process_helpers import gone, started_with_ctrl_c

from d2lhybrid import Comparison, mismatch
from d2lhybrid.cli.compare import (
    EXAMPLE,
    EXPLAIN,
    Steps,
    _let_threads_sleep,
    advice,
    builders,
    single_calls,
)
from d2lhybrid.cli.main import main, run
from d2lhybrid.frameworks import WAITING

ROOT = Path(__file__).parents[2]
QUICK = ["--processes", "6", "--time-limit", "0.06"]
TWO = """
def slow():
    return lambda: sum(range(30000)) and None

def quick():
    return lambda: sum(range(30)) and None
"""


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """What a command writes into the environment is gone after the test."""
    monkeypatch.setattr(os, "environ", os.environ.copy())
    for name in WAITING:
        os.environ.pop(name, None)


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Writes mine.py, to the current folder."""
    monkeypatch.chdir(tmp_path)

    def write(source):
        path = Path("mine.py")
        path.write_bytes(source.encode() if isinstance(source, str) else source)
        return path

    return write


@pytest.fixture
def exit_status(mine):
    """Runs the command on a source, and returns its exit status."""

    def exit_status(source, *options):
        try:
            main(["compare", str(mine(source)), *options])
        except SystemExit as stop:
            return stop.code
        return 0

    return exit_status


def read_comparison(path="r.json"):
    return Comparison.from_dict(json.loads(Path(path).read_text())["comparison"])


# What counts as a candidate -------------------------------------------------------------------


CANDIDATES = {
    TWO: [],
    "\ufeff" + TWO: [],
    f"{TWO}def layer(size): ...\n": [],
    f"{TWO}def layer(*, size=3): ...\n": [],
    f"{TWO}class Net:\n    def forward(): ...\n": [],
    f"{TWO}import functools\n@functools.cache\ndef größe(): ...\n": ["größe"],
    f"{TWO}def third(): ...\ndef third(size): ...\n": [],  # the last one counts
}


@pytest.mark.parametrize(("source", "more"), CANDIDATES.items())
def test_candidates_are_functions_without_parameters(mine, source, more):
    assert builders(mine(source)) == ["slow", "quick", *more]


def test_candidates_for_sizes_have_exactly_one_parameter(mine):
    parameters = ["size", "size, /", "", "*a"]
    functions = [f"def f{i}({parameter}): ..." for i, parameter in enumerate(parameters)]
    assert builders(mine("\n".join(functions)), parameters=1) == ["f0", "f1"]


@pytest.mark.parametrize(
    "source",
    [
        "import torch\n",
        "def a(): ...\ndef b(n=3): ...\n",
        TWO.encode("utf-16"),  # by a PowerShell's >
        "def a(): ...\0",
    ],
)
def test_file_without_two_candidates_is_refused(exit_status, source, capsys):
    assert exit_status(source) == 2
    out, err = capsys.readouterr()
    assert (out, err.startswith("mine.py ")) == ("", True)


def test_idle_threads_sleep_soon_and_on_a_busy_machine_at_once(monkeypatch):
    before, active = os.environ, {"OMP_WAIT_POLICY": "ACTIVE"}
    for load, own, wanted in (
        (9e3, {}, {"GOMP_SPINCOUNT": "1000", "OPENBLAS_THREAD_TIMEOUT": "4"}),
        (0.0, {}, {"GOMP_SPINCOUNT": "30000", "OPENBLAS_THREAD_TIMEOUT": "20"}),
        (9e3, active, active),
    ):
        monkeypatch.setattr(os, "environ", before | own)
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 0.0, 0.0), raising=False)
        _let_threads_sleep()
        assert {name: os.environ[name] for name in WAITING if name in os.environ} == wanted


# The answer -----------------------------------------------------------------------------------


def test_answer_is_a_table_single_calls_and_a_sentence(exit_status, capsys):
    assert exit_status(TWO, *QUICK, "--json", "r.json") == 0
    out, err = capsys.readouterr()
    comparison = read_comparison()
    assert out == f"{comparison}\n\n{single_calls(comparison)}\n\n{advice(comparison)}\n"
    assert len(comparison.processes) == 6
    assert comparison["quick"].verdict == "faster"
    assert err == ""  # progress is for terminals


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ([], {}),
        (["--processes", "30"], {"processes": 30, "time_limit": 15.0}),
        (["--quick"], {"processes": 1, "time_limit": 1}),
        (["--time-limit", "2"], {"time_limit": 2.0}),
        (["--calls", "9", "--no-check"], {"calls": 9, "check": False}),
        (["--tolerance", "0.5"], {"tolerance": 0.5}),
    ],
)
def test_options_reach_compare(exit_status, monkeypatch, options, wanted):
    asked = {}

    def compare(programs, on_error, progress, **given):
        slow, quick = programs["slow"], programs["quick"]
        assert replace(slow, build="quick") == quick
        asked.update(given, threads=slow.threads, cold_cache=slow.cold_cache, path=slow.path)
        raise ValueError

    monkeypatch.setattr("d2lhybrid.cli.compare.compare", compare)
    exit_status(TWO, *options)
    usual = {"processes": 9, "time_limit": 4.5, "calls": None, "check": True, "tolerance": None}
    usual |= {"threads": None, "cold_cache": False, "path": str(Path("mine.py").resolve())}
    assert asked == usual | {"single_calls": True, "explain": EXPLAIN} | wanted


def blocks_of(calls, seconds, **more):
    return steady(seconds, rounds=50, **{"calls": calls} | more)


def test_single_calls_come_from_each_process_that_timed_them():
    single = tuple(i * 1e-3 for i in range(1, 101))
    processes = [
        {"a": blocks_of(1, 2e-3), "b": blocks_of(1, 3e-3, inner_calls=2), "c": blocks_of(1, 1e-3)},
        {"a": blocks_of(2, 9e-3), "b": blocks_of(2, 9e-3), "c": blocks_of(2, 9e-3, single=single)},
    ]
    processes[0]["a"] = replace(processes[0]["a"], memory=50_000_000)
    _, *rows = single_calls(several_processes(processes)).splitlines()
    assert [row.split() for row in rows] == [
        ["a", "2.000", "ms", "2.000", "ms", "50", "MB"],
        ["b"],  # its blocks are means of several calls
        ["c", "1.000", "ms", "90.00", "ms"],
    ]


def test_only_some_candidates_and_the_baseline(exit_status, monkeypatch, capsys):
    def compare(programs, **given):
        raise ValueError(f"{list(programs)}, {given['processes']}")

    monkeypatch.setattr("d2lhybrid.cli.compare.compare", compare)
    for options, said in (
        ([], "['slow', 'quick', 'third'], 7"),  # the fewest that give an interval
        (["--only", "third"], "['slow', 'third'], 9"),
        (["--only", "slow", "fourth"], "builds ['slow', 'quick', 'third'], not ['fourth']"),
    ):
        assert exit_status(f"{TWO}def third(): ...\n", *options) == 2
        assert f"{said}\n" in capsys.readouterr().err


def test_quick_answer_holds_for_this_run_only(exit_status, capsys):
    assert exit_status(TWO, "--quick", "--time-limit", "0.06", "--json", "r.json") == 0
    assert capsys.readouterr().out.endswith(" This holds for this run only.\n")
    (timings,) = read_comparison().processes
    assert timings["quick"].single


@pytest.mark.parametrize(
    ("seconds", "terminal", "lines"), [(30.0, False, 1), (1.0, False, 0), (30.0, True, 0)]
)
def test_one_line_says_how_long_all_will_take(monkeypatch, seconds, terminal, lines):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    sys.stderr.isatty = lambda: terminal
    now = iter([0.0, *[seconds] * 9])
    monkeypatch.setattr("d2lhybrid.cli.compare.monotonic", lambda: next(now))
    steps = Steps(comparisons=2)
    for text in ("process 1 of 7: starting a", *["size 3, 1 of 2: process 2 of 7: starting a"] * 2):
        steps(text)
    line = "The first process of each took 30 s; all 14 take 7.0 minutes or less.\n"
    assert sys.stderr.getvalue().count("minutes") == sys.stderr.getvalue().count(line) == lines


SIZES = """
def multiplied(n):
    return lambda: n * n

def added(n):
    return lambda: sum([n] * n)
"""


def test_sizes_make_a_sweep(exit_status, capsys):
    assert exit_status(SIZES, *QUICK, "--sizes", "2", "100", "--json", "r.json") == 0
    pairs = json.loads(Path("r.json").read_text())["sweep"]["comparisons"]
    assert [(size, [*one["processes"][0]]) for size, one in pairs] == [
        (2, ["multiplied", "added"]),
        (100, ["multiplied", "added"]),
    ]
    _, costs, said = capsys.readouterr().out.split("\n\n")
    rows = [re.sub(r"[\d.]+ .?s", "T", row).split() for row in costs.splitlines()]
    assert rows == [["build", "cost", "multiplied", "added"], ["2", "T", "T"], ["100", "T", "T"]]
    assert [line.split(":")[0] for line in said.splitlines()] == ["2", "100"]


def test_each_number_of_threads_gets_a_table(exit_status, capsys):
    assert exit_status(TWO, *QUICK, "--threads", "1", "2") == 0
    one, two = capsys.readouterr().out.split("With 2 threads:\n")
    assert one.startswith("\nWith 1 thread:\n")
    assert "slow" in two
    assert exit_status(TWO, "--threads", "1", "2", "--json", "r.json") == 2


NOTES_FOLDERS = """
import os
folder = os.environ["TORCHINDUCTOR_CACHE_DIR"]
assert not os.listdir(folder)
open("folders", "a").write(folder + "\\n")
"""


def test_cold_cache_is_an_empty_folder_that_is_removed(exit_status):
    assert exit_status(NOTES_FOLDERS + TWO, *QUICK, "--cold-cache") == 0
    folders = Path("folders").read_text().splitlines()
    assert len(set(folders)) == 12
    assert not any(map(os.path.exists, folders))


# What fails -----------------------------------------------------------------------------------

A = "def a():\n    return lambda: 1.0\n\n"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import nowhere\n" + TWO, "candidate 'slow' raised ModuleNotFoundError"),
        (A + "def b():\n    return lambda: 2\n", "--no-check compares their times anyway"),
        (A + "def b():\n    return lambda: 1.0 + 1e-9\n", "--tolerance "),
    ],
)
def test_without_a_second_candidate_there_is_no_answer(exit_status, source, message, capsys):
    assert exit_status(source, *QUICK) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.splitlines()[-1].startswith("mine.py: ")


def test_failed_candidate_is_left_out_and_the_others_go_on(exit_status, capsys):
    fails = "def fails():\n    raise MemoryError\n\ndef differs():\n    return lambda: 7\n"
    assert exit_status(TWO + fails, *QUICK, "--processes", "8", "--json", "r.json") == 3
    out = capsys.readouterr().out
    assert "Take quick: " in out
    assert "\nleft out: candidate 'fails' raised MemoryError (mine.py, line 8)\n" in out
    assert "\nleft out: 'differs' does not return what 'slow' returns: " in out
    assert list(read_comparison()) == ["slow", "quick"]


@pytest.mark.parametrize(
    "options",
    [
        ["--processes", "5"],  # give no interval
        ["--json", "none/a.json"],
    ],
)
def test_options_that_cannot_be_are_refused(exit_status, options):
    assert exit_status(TWO, *options) == 2


# As a command of its own ----------------------------------------------------------------------


def command(*arguments, stderr=subprocess.PIPE, **env):
    """Start the command in a process, where Ctrl-C is what it is in a terminal."""
    return started_with_ctrl_c(
        [sys.executable, "-m", "d2lhybrid", "compare", *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT)} | env,
        stderr=stderr,
    )


def test_own_modules_and_a_terminal_without_every_sign_do_not_disturb(mine):
    mine(TWO)
    for name in ("random", "json", "argparse", "statistics"):
        Path(f"{name}.py").write_text("raise SystemExit('the wrong one')\n")
    with command("mine.py", *QUICK, PYTHONIOENCODING="ascii") as process:
        out, err = process.communicate()
    assert "?s" in out  # microseconds
    assert err == ""
    assert process.returncode == 0


def test_closed_output_stops_nothing(monkeypatch):
    monkeypatch.setattr("d2lhybrid.cli.main.main", lambda: None)
    monkeypatch.setattr(sys, "stdout", None)  # as Python has it then
    run()


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal as POSIX has it")
def test_ctrl_c_ends_it_with_an_answer_and_leaves_nothing(mine):
    mine(f"import os\nopen('started', 'a').write(f'{{os.getpid()}}\\n')\n{TWO}")
    controller, terminal = os.openpty()
    with command("mine.py", *QUICK, stderr=terminal) as process:
        os.close(terminal)
        shown = ""
        while not re.search(r"process 3 of 6: starting", shown):
            shown += os.read(controller, 4096).decode()
        process.send_signal(signal.SIGINT)
        out = process.stdout.read()
    os.close(controller)
    assert process.returncode == 130
    assert out.endswith("faster than slow: let it finish.\n")
    assert out.count("interrupted") == 1
    started = [int(number) for number in Path("started").read_text().split()]
    assert all(map(gone, started))


@pytest.mark.skipif(os.name != "posix", reason="Windows ends a process at once")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stopped_while_building_it_says_what_was_built(mine, number):
    hangs = "def hangs():\n    open('hangs', 'w').close()\n    import time\n    time.sleep(99)\n"
    mine(TWO + hangs)
    with command("mine.py", *QUICK[2:]) as process:
        while not Path("hangs").exists():
            time.sleep(0.01)
        process.send_signal(number)
        out, err = process.communicate()
    first, second = out.splitlines()
    assert first.startswith("Interrupted before anything was measured: process 1 of 7: warming up")
    assert " hangs (" in first
    assert second.startswith("Before that: process 1 of 7: starting slow (")
    assert (err, process.returncode) == ("", 130)


# The example ----------------------------------------------------------------------------------


def test_example_is_a_file_that_can_be_compared(mine, capsys):
    main(["compare", "--example"])
    text = capsys.readouterr().out
    assert text == EXAMPLE.read_text(encoding="utf-8")
    assert builders(mine(text)) == ["eager", "compiled", "torchscript"]
    namespace = {"__name__": "mine"}
    exec(compile(text, "mine.py", "exec"), namespace)
    # torch.compile needs a C++ compiler, and time
    eager, torchscript = (namespace[name]()() for name in ("eager", "torchscript"))
    assert mismatch(torchscript, eager) == ""
