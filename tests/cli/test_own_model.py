"""`python -m d2lhybrid compare mine.py`: what counts as a candidate, the answer, the refusals."""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from process_helpers import soon

from d2lhybrid import Comparison, difference
from d2lhybrid.cli.advice import advice
from d2lhybrid.cli.main import main
from d2lhybrid.cli.own_model import EXAMPLE, UnusableFile, builders
from d2lhybrid.frameworks.threads import WAITING
from d2lhybrid.measure.sweeps import Sweep

ROOT = Path(__file__).parents[2]
QUICK = ["--launches", "6", "--time-limit", "0.06"]
TWO = """
def slow():
    return lambda: sum(range(30000)) and None

def quick():
    return lambda: sum(range(30)) and None
"""
RULE = (
    "; every `def` at the top level of the file builds one candidate, unless it has parameters or "
    'its name begins with "_"; `python -m d2lhybrid compare --example` prints such a file'
)


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
def asked(mine, monkeypatch):
    """What `compare` is asked, without an answer."""

    def compare(programs, on_error, **given):
        raise KeyError(given | {"labels": list(programs)})

    def asked(source, *options):
        with pytest.raises(KeyError) as stop:
            main(["compare", str(mine(source)), *options])
        return stop.value.args[0]

    monkeypatch.setattr("d2lhybrid.cli.own_model.compare", compare)
    return asked


# What counts as a candidate -------------------------------------------------------------------


CANDIDATES = {
    TWO: {},
    TWO.replace("\n", "\r\n"): {},
    "\ufeff" + TWO: {},
    f"{TWO}def _helper(): ...\n": {},
    f"{TWO}def layer(size): ...\n": {},
    f"{TWO}def layer(size=3): ...\n": {},
    f"{TWO}def layer(*sizes): ...\n": {},
    f"{TWO}def layer(**options): ...\n": {},
    f"{TWO}def layer(*, size=3): ...\n": {},
    f"{TWO}def layer(size, /): ...\n": {},
    f"{TWO}async def load(): ...\n": {},
    f"{TWO}class Net:\n    def forward(): ...\n": {},
    f"{TWO}if True:\n    def third(): ...\n": {},
    f"{TWO}third = lambda: slow\n": {},
    f"{TWO}import functools\n@functools.cache\ndef größe(): ...\n": {"größe": 9},
    f"{TWO}def third(): ...\ndef third(size): ...\n": {},  # the last one counts
}


def test_candidates_are_functions_without_parameters(mine):
    for source, more in CANDIDATES.items():
        found = builders(mine(source))
        assert list(found.items()) == [("slow", 2), ("quick", 5), *more.items()], source
    found = builders(mine(f"{TWO}def slow(): ...\n"))  # the first is the baseline
    assert list(found.items()) == [("quick", 5), ("slow", 7)]


REFUSED = [
    ("", "mine.py has no candidates" + RULE),
    ("import torch\n", "mine.py has no candidates" + RULE),
    ("\n\ndef a(): ...\n", "mine.py has only one candidate, a (line 3)" + RULE),
    ("def a(): ...\ndef b(n=3): ...\n", "mine.py has only one candidate, a (line 1)" + RULE),
    ("def a(): ...\ndef b(:\n    ...\n", "mine.py, line 2: invalid syntax"),
    ("def a():\n\tpass\n        pass\n", "mine.py, line 3: inconsistent use of tabs"),
    (b"# \xe9\n", "mine.py is no Python source in UTF-8: "),
    (TWO.encode("utf-16"), "mine.py is no Python source in UTF-8: "),  # by a PowerShell's >
    ("# coding: foo\n", "mine.py is no Python source in UTF-8: unknown encoding: foo"),
    ("def a(): ...\0", "mine.py is no Python source in UTF-8: source code "),
]


def test_a_file_without_two_candidates_is_refused(mine, capsys):
    for source, message in REFUSED:
        path = mine(source)
        with pytest.raises(UnusableFile) as refused:
            builders(path)
        assert str(refused.value).startswith(message), source
        assert "None" not in str(refused.value), source
        with pytest.raises(SystemExit) as stop:
            main(["compare", str(path)])
        assert stop.value.code == 2, source
        assert capsys.readouterr() == ("", f"{refused.value}\n"), source


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(UnusableFile, match=r"none\.py: No such file or directory$"):
        builders(tmp_path / "none.py")
    with pytest.raises(UnusableFile, match=r" is no file; save the program as one$"):
        builders(tmp_path)


def test_idle_threads_sleep_soon_and_on_a_busy_machine_at_once(asked, monkeypatch):
    before, active = os.environ, {"OMP_WAIT_POLICY": "ACTIVE"}
    for load, own, wanted in (
        (9e3, {}, {"GOMP_SPINCOUNT": "1000", "OPENBLAS_THREAD_TIMEOUT": "4"}),
        (0.0, {}, {"GOMP_SPINCOUNT": "30000", "OPENBLAS_THREAD_TIMEOUT": "20"}),
        (9e3, active, active),
    ):
        monkeypatch.setattr(os, "environ", before | own)
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 0.0, 0.0), raising=False)
        asked(TWO)
        assert {name: os.environ[name] for name in WAITING if name in os.environ} == wanted


# The answer -----------------------------------------------------------------------------------


def test_the_answer_ends_with_one_sentence_and_what_follows_is_written(mine, capsys):
    main(["compare", str(mine(TWO)), *QUICK, "--json", "r.json"])
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[1].split()[0] == "slow"
    assert lines[1].split()[-1] == "baseline"
    assert lines[2].split()[-1] == "faster"
    assert "6 launches" in out
    assert lines[-2] == ""
    assert re.fullmatch(
        r"Take quick: a call is \d+\.\d\d times as fast as with slow \(.* to .*\)\.", lines[-1]
    )
    assert err == ""  # progress is for terminals
    answers = json.loads(Path("r.json").read_text())["answers"]
    assert answers["quick"]["verdict"] == "faster"
    assert answers["quick"]["low"] <= answers["quick"]["speedup"] <= answers["quick"]["high"]
    assert answers["slow"]["speedup"] == 1


def test_files_and_other_forms_of_the_answer(mine, capsys):
    files = ["--json", "r.json", "--plot", "r.png"]
    main(["compare", str(mine(TWO)), *QUICK, *files, "--markdown", "--calls", "1000"])
    out = capsys.readouterr().out
    written = json.loads(Path("r.json").read_text())
    read = Comparison.from_dict(written["comparison"])
    assert written["format"] == 3
    assert out.startswith(read.to_markdown())
    assert len(read.launches) == 6
    assert read.calls == 1000
    assert out.splitlines()[0].startswith("|")
    assert "| 1000 calls " in out
    assert out.splitlines()[-1].startswith("Take quick for 1000 calls: with building, that is ")
    assert Path("r.png").read_bytes().startswith(b"\x89PNG")


def test_by_default_there_are_launches_enough(asked):
    usual = {"launches": 9, "min_launches": 6, "extra_launches": 27, "time_limit": 4.5}
    usual |= {"calls": None, "check": True, "tolerance": None, "single_calls": True}
    assert asked(TWO) == usual | {"labels": ["slow", "quick"]}
    many = asked("".join(f"def f{i}(): ...\n" for i in range(20)), "--no-check")
    assert many["launches"] == many["min_launches"] == 10  # 9 give no interval for so many
    assert many["check"] is False
    own = asked(TWO, "--launches", "30", "--time-limit", "2")
    assert own["extra_launches"] == 0
    assert (own["launches"], own["min_launches"], own["time_limit"]) == (30, 30, 2.0)


def test_a_file_may_be_in_another_folder_print_and_import_its_neighbours(mine, capsys):
    Path("sub").mkdir()
    Path("sub/beside.py").write_text("")
    script = "if __name__ == '__main__':\n    raise SystemExit('run as a script')\n"
    mine(f"import beside\nprint('loading')\n{script}{TWO}").rename("sub/mine.py")
    main(["compare", "sub/mine.py", *QUICK])
    assert "faster" in capsys.readouterr().out


def test_single_calls_and_memory_are_shown(mine, capsys):
    big = "held = bytearray(80_000_000)\nfor i in range(0, len(held), 4096):\n    held[i] = 1\n"
    main(["compare", str(mine(big + TWO)), "--launches", "6", "--json", "r.json"])
    out = capsys.readouterr().out
    lines = out.splitlines()
    start = next(i for i, line in enumerate(lines) if "single calls: p50" in line)
    header, slow, quick = lines[start : start + 3]
    assert header.split()[-4:] == ["p95", "p99", "peak", "memory"]
    written = json.loads(Path("r.json").read_text())["comparison"]["launches"]
    assert len(quick.split()) == 1 + 4 * 2, quick  # each figure has a unit
    assert len(written[0]["quick"]["single"]) >= 100
    for row in (slow, quick):
        assert int(row.split()[-2]) > 80, row


SIZES = """
def multiplied(n):
    return lambda: n * n

def added(n):
    return lambda: sum([n] * n)
"""


def test_sizes_make_a_sweep(mine, capsys):
    sizes = ["--sizes", "2", "100", "--json", "r.json"]
    main(["compare", str(mine(SIZES + "def other(): ...\n")), *QUICK, *sizes])
    swept = Sweep.from_dict(json.loads(Path("r.json").read_text())["sweep"])
    assert list(swept) == [2, 100]
    assert [list(one) for one in swept.values()] == [["multiplied", "added"]] * 2
    said = [str(swept), "", *(f"{size}: {advice(one)}" for size, one in swept.items()), ""]
    assert capsys.readouterr().out == "\n".join(said)
    with pytest.raises(SystemExit):
        main(["compare", str(mine(TWO)), "--sizes", "2"])
    assert "mine.py has no candidates; with --sizes, every such" in capsys.readouterr().err


def test_threads_words_and_inputs_reach_the_file(mine, capsys):
    source = """
import os, sys
threads, *words = os.environ.get("OMP_NUM_THREADS"), *sys.argv[1:]
given = iter(range(10**9))

def _inputs():
    return (next(given),)

def a():
    return lambda x: (threads, words, x)

def b():
    return lambda x: (threads, ["-n", "5"], x)
"""
    fresh, words = ["--fresh", "_inputs"], ["--", "-n", "5"]
    options = ["--threads", "1", "2", *fresh, "--json", "r.json", *words]
    main(["compare", str(mine(source)), *QUICK, *options])
    out = capsys.readouterr().out
    assert out.startswith("With 1 thread:\n")
    assert "\nWith 2 threads:\n" in out
    for threads in (1, 2):
        written = json.loads(Path(f"r-{threads}.json").read_text())["comparison"]
        assert written["machine"]["threads"] == threads
    main(["compare", str(mine(source.replace('"-n", "5"', ""))), *QUICK, *fresh])
    wrong = source.replace("], x)", "], x + 1)")
    with pytest.raises(SystemExit) as stop:
        main(["compare", str(mine(wrong)), *QUICK, *fresh, *words])
    assert stop.value.code == 2
    with pytest.raises(SystemExit):
        main(["compare", str(mine(TWO)), "--fresh", "_inputs"])
    assert "mine.py has no function '_inputs' at its top level" in capsys.readouterr().err


def test_against_another_run(mine, capsys):
    eight = ["--launches", "8", "--time-limit", "0.08", "--against", "old.json"]
    main(["compare", str(mine(TWO)), *eight[:4], "--json", "old.json"])
    capsys.readouterr()
    slower = TWO.replace("range(30)", "range(3000)")
    for source, allowed, status in ((TWO, "99", 0), (slower, "50", 1)):
        with pytest.raises(SystemExit) if status else nullcontext() as stop:
            main(["compare", str(mine(source)), *eight, "--fail-if-slower", allowed])
        assert not status or stop.value.code == status
        _, table = capsys.readouterr().out.split("time then")
        (row,) = [line for line in table.splitlines() if line.startswith("quick")]
        assert source is TWO or row.endswith(" slower")
    Path("old.json").write_text("{}")
    with pytest.raises(SystemExit, match=r"old\.json is not what --json writes"):
        main(["compare", "mine.py", *eight])
    Path("old.json").unlink()
    with pytest.raises(SystemExit, match=r"cannot read old\.json: No such file"):
        main(["compare", "mine.py", *eight])


def test_a_run_can_fail_where_a_candidate_is_slower_than_the_baseline(mine):
    quick, slow = "sum(range(3)) and None", "sum(range(3000)) and None"
    source = f"def a():\n    return lambda: {quick}\n\ndef b():\n    return lambda: {slow}\n"
    for allowed, status in (("50", 1), ("99.99", 0)):
        with pytest.raises(SystemExit) if status else nullcontext() as stop:
            main(["compare", str(mine(source)), *QUICK, "--fail-if-slower", allowed])
        assert not status or stop.value.code == status


NOTES_FOLDERS = """
import os
folder = os.environ["TORCHINDUCTOR_CACHE_DIR"]
assert not os.listdir(folder)
open(os.path.join(folder, "x"), "w").close()
open("folders", "a").write(folder + "\\n")
"""


def test_a_cold_cache_is_an_empty_folder_that_is_removed(mine):
    main(["compare", str(mine(NOTES_FOLDERS + TWO)), *QUICK, "--cold-cache"])
    folders = Path("folders").read_text().splitlines()
    assert len(set(folders)) == 12
    assert not any(map(os.path.exists, folders))


# What fails -----------------------------------------------------------------------------------

A = "def a():\n    return lambda: 1\n\n"


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        ("import nowhere\n" + TWO, 1, "candidate 'slow' raised ModuleNotFoundError: No module"),
        ("import os\nos._exit(3)\n" + TWO, None, "ended with exit code 3"),
        (
            A + "def b():\n    return 5\n",
            4,
            "candidate 'b' raised TypeError: b() must return a function without arguments, not int"
            '; if it is no candidate, let its name begin with "_"\n',
        ),
        (
            A + "def b():\n    return lambda x: x\n",
            4,
            "missing 1 required positional argument: 'x'; what the function returns is called "
            'without arguments; if it is no candidate, let its name begin with "_"\n',
        ),
        (
            A + "def b():\n    return lambda: 2\n",
            4,
            "'b' does not return what 'a' returns: 2 against 1; "
            "--no-check compares their times all the same\n",
        ),
        (
            A.replace("1", "object()") + "def b():\n    return lambda: object()\n",
            4,
            "candidate 'b' returned what cannot be checked: object cannot be sent to another "
            "process: arrays, tensors, numbers, strings and None can, and lists, tuples and dicts "
            "of them; --no-check needs no result\n",
        ),
    ],
)
def test_without_a_second_candidate_there_is_no_answer(mine, source, line, message, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["compare", str(mine(source)), *QUICK])
    assert stop.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.startswith(f"mine.py, line {line}: " if line else "mine.py, line 4: ")
    first, *others = err.splitlines()
    assert first.count("mine.py") == 1
    assert others in ([], ["mine.py: nothing is left to compare with 'a'"])
    assert "Traceback" not in err
    assert "check=" not in err


def test_what_fails_is_left_out_and_the_others_go_on(mine, capsys):
    fails = "def fails():\n    raise MemoryError\n\ndef differs():\n    return lambda: 7\n"
    with pytest.raises(SystemExit) as stop:
        main(["compare", str(mine(TWO + fails)), *QUICK, "--launches", "8", "--json", "r.json"])
    assert stop.value.code == 3
    out = capsys.readouterr().out
    assert "Take quick: " in out
    assert "\nleft out: mine.py, line 8: candidate 'fails' raised MemoryError\n" in out
    assert "\nleft out: mine.py, line 10: 'differs' does not return what 'slow' returns: " in out
    assert list(json.loads(Path("r.json").read_text())["comparison"]["launches"][0]) == [
        "slow",
        "quick",
    ]


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


def test_what_was_measured_before_a_failure_is_not_lost(mine, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["compare", str(mine(FAILS_IN_LAUNCH_3)), *QUICK, "--json", "r.json"])
    assert stop.value.code == 3
    out = capsys.readouterr().out
    assert "2 launches, " in out
    assert "left out: mine.py, line 8: candidate 'b' ended with exit code 1" in out
    assert len(json.loads(Path("r.json").read_text())["comparison"]["launches"]) == 2


def test_a_tolerance_can_be_given(mine, capsys):
    text = "def a():\n    return lambda: 3.0\n\ndef b():\n    return lambda: 3.0001\n"
    for options, status, said in (
        (["--tolerance", "3.3e-5"], 2, "; --tolerance 3.4e-05 would let it pass; --no-check"),
        (["--tolerance", "3.4e-5"], 0, ""),
    ):
        with pytest.raises(SystemExit) if status else nullcontext() as stop:
            main(["compare", str(mine(text)), *QUICK, *options])
        assert not status or stop.value.code == status
        assert said in capsys.readouterr().err


def test_results_that_differ_can_be_compared_all_the_same(mine, capsys):
    other = TWO.replace("sum(range(300)) and None", "sum(range(300))")
    main(["compare", str(mine(other)), *QUICK, "--no-check"])
    assert "Take quick" in capsys.readouterr().out


OPTIONS = [
    (
        ["--launches", "5"],
        "mine.py: 5 launches give no 95 % interval for 2 candidates .slow, quick.; it",
    ),
    (["--launches", "1", "--calls", "9"], "mine.py: calls needs launches"),
    (["--launches", "0"], "argument --launches: '0' must be a whole number, 1 or more"),
    (["--launches", "many"], "argument --launches: 'many' must be a whole number, 1 or more"),
    (["--calls", "1e3"], "argument --calls: '1e3' must be a whole number, 1 or more"),
    (["--time-limit", "0"], "argument --time-limit: '0' must be seconds, above 0 and finite"),
    (["--time-limit", "nan"], "argument --time-limit: 'nan' must be seconds, above 0"),
    (["--time-limit", "long"], "argument --time-limit: 'long' must be seconds, above 0"),
    (["--tolerance", "2"], "argument --tolerance: '2' must be a number from 0 to 1"),
    (["--tolerance", "x"], "argument --tolerance: 'x' must be a number from 0 to 1"),
    (["--json", "none/a.json"], "argument --json: .*No such file or directory"),
    (["--sizes", "2", "--fail-if-slower", "5"], "are for one size, without --sizes"),
    (["--plot", "a.gif"], "argument --plot: 'a.gif' must end in .png, .pdf or .svg"),
]


def test_options_that_cannot_be_are_refused_at_once(mine, capsys):
    path = str(mine(TWO))
    for options, message in OPTIONS:
        with pytest.raises(SystemExit) as stop:
            main(["compare", path, *options])
        assert stop.value.code == 2, options
        assert re.search(message, capsys.readouterr().err), options


def test_without_a_file_it_says_where_to_get_one(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["compare"])
    assert stop.value.code == 2
    err = capsys.readouterr().err
    assert "which file? `python -m d2lhybrid compare --example` prints one" in err


# As a command of its own ----------------------------------------------------------------------


def command(*arguments, **options):
    """Start the command in a process, where Ctrl-C is what it is in a terminal."""
    if os.name == "posix":
        options["preexec_fn"] = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen(
        [sys.executable, "-m", "d2lhybrid", "compare", *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT)} | options.pop("env", {}),
        text=True,
        encoding="utf-8",
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options,
    )


def test_closed_streams_cost_nothing(mine):
    mine(TWO)
    shell = f'"{sys.executable}" -m d2lhybrid compare mine.py {" ".join(QUICK)} --json r.json'
    for closed in (">&-", "2>&-"):
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        ended = subprocess.run(
            f"{shell} {closed}", shell=True, capture_output=True, env=environment
        )
        assert (ended.returncode, ended.stderr) == (0, b""), closed
        assert Comparison.from_dict(json.loads(Path("r.json").read_text())["comparison"])
        Path("r.json").unlink()


def test_what_is_no_file_and_what_can_t_be_written(mine, capsys):
    for arguments, message in (
        (["."], "^. is no file; save the program as one"),
        (["mine.py", *QUICK, "--json", "/dev/full"], "cannot write /dev/full: No space left"),
    ):
        mine(TWO)
        with pytest.raises(SystemExit) as stop:
            main(["compare", *arguments])
        assert re.search(message, f"{capsys.readouterr().err}{stop.value}")


def test_neither_modules_of_ones_own_nor_a_terminal_without_every_sign_disturb_it(mine):
    mine(TWO)
    for name in ("random", "json", "argparse", "statistics"):
        Path(f"{name}.py").write_text("raise SystemExit('the wrong one')\n")
    with command("mine.py", *QUICK, env={"PYTHONIOENCODING": "ascii"}) as process:
        out, err = process.communicate()
    assert "?s" in out  # microseconds
    assert err == ""
    assert "Take quick" in out
    assert process.returncode == 0


@pytest.mark.skipif(os.name != "posix", reason="closes a pipe as POSIX does")
def test_nobody_need_read_the_answer(mine):
    mine(TWO)
    with command("mine.py", *QUICK, "--json", "r.json") as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1
    assert json.loads(Path("r.json").read_text())["comparison"]


def in_terminal(path, time_limit, until):
    """Run the command in a terminal, and press Ctrl-C when it shows `until`.

    Returns exit status, stdout and what the terminal showed.
    """
    controller, terminal = os.openpty()
    with command(
        str(path), "--launches", "6", "--time-limit", time_limit, stderr=terminal
    ) as process:
        os.close(terminal)
        shown = ""
        while not (pressed := re.search(until, shown)):
            shown += os.read(controller, 4096).decode()
        process.send_signal(signal.SIGINT)
        out = process.stdout.read()
        assert pressed
    while True:
        try:
            more = os.read(controller, 4096).decode()
        except OSError:  # Linux says so at the end
            more = ""
        if not more:
            break
        shown += more
    os.close(controller)
    return process.returncode, out, shown


def is_running(number):
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal as POSIX has it")
@pytest.mark.parametrize(
    ("wait", "time_limit", "until", "status", "sentence"),
    [
        ("time.sleep(60)", "60", "launch 1 of 6: starting slow", 130, ""),
        # whole rounds, if there are any by then, are an answer
        ("", "60", "launch 1 of 6: 0 s of 10 s", 130, "(Take quick: .*)?"),
        (
            "",
            "0.06",
            r"launch 3 of 6, about \d+ s left: starting",
            130,
            "This run cannot tell whether quick is faster than slow: "
            "it was interrupted, so let it run to its end\\.",
        ),
    ],
)
def test_ctrl_c_ends_it_and_leaves_nothing(mine, wait, time_limit, until, status, sentence):
    note = "import os, time\nopen('started', 'a').write(f'{os.getpid()}\\n')\n"
    returned, out, shown = in_terminal(mine(f"{note}{wait}\n{TWO}"), time_limit, until)
    assert returned == status
    assert "Traceback" not in out + shown
    assert re.fullmatch(sentence, (out.splitlines() or [""])[-1])
    started = [int(number) for number in Path("started").read_text().split()]
    assert soon(lambda: not any(map(is_running, started)))


# The example ----------------------------------------------------------------------------------


def test_the_example_is_a_file_that_can_be_compared(mine, capsys):
    main(["compare", "--example"])
    text = capsys.readouterr().out
    assert text == EXAMPLE.read_text(encoding="utf-8")
    assert list(builders(mine(text))) == ["eager", "compiled", "torchscript"]
    namespace = {"__name__": "mine"}
    exec(compile(text, "mine.py", "exec"), namespace)
    # torch.compile needs a C++ compiler, and time
    eager, torchscript = (namespace[name]()() for name in ("eager", "torchscript"))
    assert difference(torchscript, eager) == ""
