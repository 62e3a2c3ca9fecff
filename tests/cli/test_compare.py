"""`python -m d2lhybrid compare mine.py`: what counts as a candidate, the answer, exit statuses."""

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from benchmark_helpers import launched, steady
from process_helpers import default_sigint, soon

from d2lhybrid import Comparison, mismatch
from d2lhybrid.benchmark.advice import advice
from d2lhybrid.benchmark.sweeps import Sweep
from d2lhybrid.benchmark.timing import CandidateError
from d2lhybrid.cli.compare import EXAMPLE, UnusableFile, builders, single_calls, was_interrupted
from d2lhybrid.cli.main import main
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
    TWO.replace("\n", "\r\n"): [],
    "\ufeff" + TWO: [],
    f"{TWO}def _helper(): ...\n": [],
    f"{TWO}def layer(size): ...\n": [],
    f"{TWO}def layer(size=3): ...\n": [],
    f"{TWO}def layer(*sizes): ...\n": [],
    f"{TWO}def layer(**options): ...\n": [],
    f"{TWO}def layer(*, size=3): ...\n": [],
    f"{TWO}def layer(size, /): ...\n": [],
    f"{TWO}class Net:\n    def forward(): ...\n": [],
    f"{TWO}third = lambda: slow\n": [],
    f"{TWO}import functools\n@functools.cache\ndef größe(): ...\n": ["größe"],
    f"{TWO}def third(): ...\ndef third(size): ...\n": [],  # the last one counts
}


@pytest.mark.parametrize(("source", "more"), CANDIDATES.items())
def test_candidates_are_functions_without_parameters(mine, source, more):
    assert builders(mine(source)) == ["slow", "quick", *more]


def test_first_candidate_is_the_first_definition_that_holds(mine):
    assert builders(mine(f"{TWO}def slow(): ...\n")) == ["quick", "slow"]


@pytest.mark.parametrize("parameters", ["size", "size, /"])
def test_candidates_for_sizes_have_exactly_one_parameter(mine, parameters):
    functions = [
        f"def f{i}({one}): ..." for i, one in enumerate([parameters, parameters, "", "*a"])
    ]
    assert builders(mine("\n".join(functions)), parameters=1) == ["f0", "f1"]


@pytest.mark.parametrize(
    "source",
    [
        "import torch\n",
        "def a(): ...\ndef b(n=3): ...\n",
        "def a(): ...\ndef b(:\n    ...\n",
        b"# \xe9\n",
        TWO.encode("utf-16"),  # by a PowerShell's >
        "def a(): ...\0",
    ],
)
def test_file_without_two_candidates_is_refused(exit_status, source, capsys):
    assert exit_status(source) == 2
    out, err = capsys.readouterr()
    assert (out, err.startswith("mine.py ")) == ("", True)


def test_file_that_cannot_be_read_is_refused(tmp_path):
    for path in (tmp_path / "none.py", tmp_path):
        with pytest.raises(UnusableFile):
            builders(path)


def test_idle_threads_sleep_soon_and_on_a_busy_machine_at_once(mine, monkeypatch):
    class Stop(Exception):
        pass

    def stop(*args, **options):
        raise Stop

    monkeypatch.setattr("d2lhybrid.cli.compare.compare", stop)
    before, active = os.environ, {"OMP_WAIT_POLICY": "ACTIVE"}
    for load, own, wanted in (
        (9e3, {}, {"GOMP_SPINCOUNT": "1000", "OPENBLAS_THREAD_TIMEOUT": "4"}),
        (0.0, {}, {"GOMP_SPINCOUNT": "30000", "OPENBLAS_THREAD_TIMEOUT": "20"}),
        (9e3, active, active),
    ):
        monkeypatch.setattr(os, "environ", before | own)
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 0.0, 0.0), raising=False)
        with pytest.raises(Stop):
            main(["compare", str(mine(TWO))])
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
        (["--cold-cache"], {"cold_cache": True}),
        (["--threads", "2"], {"threads": 2}),
        (["--processes", "30"], {"processes": 30, "time_limit": 15.0}),
        (["--time-limit", "2"], {"time_limit": 2.0}),
        (["--calls", "9", "--no-check"], {"calls": 9, "check": False}),
        (["--tolerance", "0.5"], {"tolerance": 0.5}),
    ],
)
def test_options_reach_compare(exit_status, monkeypatch, options, wanted):
    asked = {}

    def compare(programs, on_error, **given):
        slow, quick = programs["slow"], programs["quick"]
        assert replace(slow, build="quick") == quick
        asked.update(given, threads=slow.threads, cold_cache=slow.cold_cache, path=slow.path)
        raise ValueError

    monkeypatch.setattr("d2lhybrid.cli.compare.compare", compare)
    exit_status(TWO, *options)
    usual = {"processes": 9, "time_limit": 4.5, "calls": None, "check": True, "tolerance": None}
    usual |= {"threads": None, "cold_cache": False, "path": str(Path("mine.py").resolve())}
    assert asked == usual | {"single_calls": True} | wanted


def blocks_of(calls, seconds, **more):
    return steady(seconds, rounds=50, **{"calls": calls} | more)


def test_single_calls_come_from_each_launch_that_timed_them():
    single = tuple(i * 1e-3 for i in range(1, 101))
    processes = [
        {"a": blocks_of(1, 2e-3), "b": blocks_of(1, 3e-3, inner_calls=2), "c": blocks_of(1, 1e-3)},
        {"a": blocks_of(2, 9e-3), "b": blocks_of(2, 9e-3), "c": blocks_of(2, 9e-3, single=single)},
    ]
    processes[0]["a"] = replace(processes[0]["a"], memory=50_000_000)
    _, *rows = single_calls(launched(processes)).splitlines()
    assert [row.split() for row in rows] == [
        ["a", "2.000", "ms", "2.000", "ms", "50", "MB"],
        ["b"],  # its blocks are means of several calls
        ["c", "1.000", "ms", "90.00", "ms"],
    ]


def test_percentile_needs_five_slower_calls():
    for count, cells in ((100, 2), (99, 1), (500, 3)):
        timing = blocks_of(2, 1.0, single=(1.0,) * count)
        _, row, _ = single_calls(launched([{"a": timing, "b": timing}])).splitlines()
        assert len(row.split()) == 1 + 2 * cells


SIZES = """
def multiplied(n):
    return lambda: n * n

def added(n):
    return lambda: sum([n] * n)
"""


def test_sizes_make_a_sweep(exit_status, capsys):
    assert exit_status(SIZES, *QUICK, "--sizes", "2", "100", "--json", "r.json") == 0
    swept = Sweep.from_dict(json.loads(Path("r.json").read_text())["sweep"])
    assert [*swept] == [2, 100]
    assert [list(one) for one in swept.values()] == [["multiplied", "added"]] * 2
    table, *said = capsys.readouterr().out.split("\n\n")
    assert table == str(swept)
    assert [line.split(":")[0] for line in said[0].splitlines()] == ["2", "100"]


def test_each_number_of_threads_gets_a_table(exit_status, capsys):
    source = """
import os

def a():
    return lambda: os.environ.get("OMP_NUM_THREADS")

def b():
    return lambda: os.environ.get("OMP_NUM_THREADS")
"""
    assert exit_status(source, *QUICK, "--threads", "1", "2") == 0
    one, two = capsys.readouterr().out.split("With 2 threads:\n")
    assert one.startswith("\nWith 1 thread:\n")
    assert ", 1 thread," in one
    assert ", 2 threads," in two
    assert exit_status(source, "--threads", "1", "2", "--json", "r.json") == 2


NOTES_FOLDERS = """
import os
folder = os.environ["TORCHINDUCTOR_CACHE_DIR"]
assert not os.listdir(folder)
open(os.path.join(folder, "x"), "w").close()
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
        ("import os\nos._exit(3)\n" + TWO, "ended with exit code 3"),
        (A + "def b():\n    return 5\n", "candidate 'b' raised TypeError"),
        (A + "def b():\n    return lambda: 2\n", "--no-check compares their times all the same"),
        (A + "def b():\n    return lambda: 1.0 + 1e-4\n", "--tolerance "),
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


FAILS_IN_LAUNCH_3 = """
import os
count = 1 + (os.path.getsize("starts") if os.path.exists("starts") else 0)

def a():
    return lambda: sum(range(300)) and None

def b():
    open("starts", "a").write(".")
    if count >= 3:
        os._exit(1)
    return lambda: sum(range(300)) and None
"""


def test_what_was_measured_before_a_failure_is_not_lost(exit_status, capsys):
    assert exit_status(FAILS_IN_LAUNCH_3, *QUICK, "--json", "r.json") == 3
    assert "left out: candidate 'b' ended with exit code 1" in capsys.readouterr().out
    assert len(read_comparison().processes) == 2


@pytest.mark.parametrize(
    ("complete", "failed", "wanted"),
    [
        (True, {"c"}, False),
        (False, set(), True),
        (False, {"c"}, True),  # c was left out, and then Ctrl-C came
        (False, {"a"}, False),
        (False, {"b", "c"}, False),
    ],
)
def test_interrupt_is_told_from_failure(complete, failed, wanted, exit_status, monkeypatch):
    """Exit status 130 is for Ctrl-C, even if a candidate had been left out by then."""
    answer = launched([{"a": steady(1.0), "b": steady(1.0)}] * 9, complete=complete)
    assert was_interrupted(answer, failed) is wanted
    swept = Sweep({1: replace(answer, complete=True), 2: answer}, complete=complete)
    assert was_interrupted(swept, failed) is wanted

    def compare(programs, on_error, **options):
        for label in failed:
            on_error(CandidateError(label, "failed"))
        return answer

    monkeypatch.setattr("d2lhybrid.cli.compare.compare", compare)
    assert exit_status(TWO) == (130 if wanted else 3)


def test_interrupt_between_two_sizes_is_one():
    answer = launched([{"a": steady(1.0), "b": steady(1.0)}] * 9)
    assert was_interrupted(Sweep({1: answer}, complete=False), {"c"})


@pytest.mark.parametrize(
    "options",
    [
        ["--processes", "5"],  # give no interval
        ["--processes", "0"],
        ["--processes", "many"],
        ["--calls", "1e3"],
        ["--json", "none/a.json"],
    ],
)
def test_options_that_cannot_be_are_refused(exit_status, options):
    assert exit_status(TWO, *options) == 2


def test_without_a_file_it_says_where_to_get_one(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["compare"])
    assert "`d2lhybrid compare --example` prints one" in capsys.readouterr().err


# As a command of its own ----------------------------------------------------------------------


def command(*arguments, stderr=subprocess.PIPE, **env):
    """Start the command in a process, where Ctrl-C is what it is in a terminal."""
    return subprocess.Popen(
        [sys.executable, "-m", "d2lhybrid", "compare", *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT)} | env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=stderr,
        preexec_fn=default_sigint if os.name == "posix" else None,
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


@pytest.mark.skipif(os.name != "posix", reason="closes a pipe as POSIX does")
def test_closed_pipe_ends_it_without_a_traceback(mine):
    mine(TWO)
    with command("mine.py", *QUICK) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal as POSIX has it")
def test_ctrl_c_ends_it_with_an_answer_and_leaves_nothing(mine):
    mine(f"import os\nopen('start_workers', 'a').write(f'{{os.getpid()}}\\n')\n{TWO}")
    controller, terminal = os.openpty()
    with command("mine.py", *QUICK, stderr=terminal) as process:
        os.close(terminal)
        shown = ""
        while not re.search(r"launch 3 of 6, about \d+ s left: starting", shown):
            shown += os.read(controller, 4096).decode()
        process.send_signal(signal.SIGINT)
        out = process.stdout.read()
    os.close(controller)
    assert process.returncode == 130
    assert out.endswith("faster than slow: it was interrupted, so let it run to its end.\n")
    started = [int(number) for number in Path("started").read_text().split()]
    assert soon(lambda: not any(map(is_running, started)))


def is_running(number):
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


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
