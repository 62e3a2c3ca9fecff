"""The exported program: the numbers that Python has, without Python; and what it refuses."""

import pickle
import re
import shlex
import shutil
import subprocess
import time
from functools import cache
from pathlib import Path

import pytest
import torch
from hybrid_helpers import Keeping, change
from torch import nn

from d2lhybrid import hybridize
from d2lhybrid.toolchain import FLAGS, CompilerNotFound, compiler_flags, find_compiler

try:
    CC = find_compiler()
except CompilerNotFound as error:
    pytest.skip(str(error), allow_module_level=True)

STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wno-unknown-pragmas"]


def elementwise(x):
    return (x * x - x * 3).exp() / (1 - x)


class NamedAsInC(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("EOF", torch.tensor(3.0))

    def forward(self, errno):
        return errno * self.EOF


NETS = {  # name: network, shape of its input
    "layers": (nn.Sequential(nn.Linear(7, 9), nn.ReLU(), nn.Linear(9, 5), nn.Tanh()), (2, 7)),
    "three axes, no bias": (nn.Linear(130, 11, bias=False), (2, 3, 130)),
    "an input": (lambda x: x, (2, 3)),
    "no parameters": (elementwise, (2, 4)),
    "named as in C": (NamedAsInC(), (2, 4)),
}
CASES = [(name, n) for name in NETS for n in (0, 1, 5)]


def build(folder, *arguments):
    """Build main.c and net.c so that each warning is an error. Returns the program's path."""
    command = [*CC, *STRICT, *arguments, "main.c", "net.c", "-o", "net", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "net"


def run(program, text="", *arguments, **options):
    """Run a program without any environment, in its folder."""
    options = {"input": text, "capture_output": True, "text": True} | options
    return subprocess.run([program, *arguments], cwd=program.parent, env={}, **options)


def text_of(x):
    return " ".join(f"{number:.9g}" for number in x.flatten().tolist())


def numbers_in(text):
    return [[float(number) for number in line.split()] for line in text.splitlines()]


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """name -> the network compiled, and its programs, built with all flags and without flags."""

    @cache
    def export(name):
        net, shape = NETS[name]
        fast = hybridize(net, torch.zeros(shape))
        return fast, *[
            build(fast.export(tmp_path_factory.mktemp("net")), *flags)
            for flags in (compiler_flags(), [])
        ]

    return export


@pytest.fixture
def copy(exported, tmp_path):
    """The exported files of a network, to be changed."""
    for file in exported("layers")[2].parent.iterdir():
        shutil.copy(file, tmp_path)
    return tmp_path


def test_prints_the_numbers_that_python_has(exported):
    for name, n in CASES:
        fast, same_flags, no_flags = exported(name)
        x = 2 * torch.randn(n, *NETS[name][1][1:])
        with torch.no_grad():
            expected = fast(x).flatten(1)
        for program, tolerance in ((same_flags, 0), (no_flags, 1e-5)):
            done = run(program, text_of(x), "weights.bin")
            assert (done.returncode, done.stderr) == (0, "")
            printed = torch.tensor(numbers_in(done.stdout)).reshape(expected.shape)
            torch.testing.assert_close(printed, expected, rtol=tolerance, atol=tolerance)
            assert done.stdout.count("\n") == n


@pytest.fixture(scope="module")
def echo(tmp_path_factory):
    """A program that prints what it reads."""
    fast = hybridize(lambda x: x, torch.zeros(1, 1))
    return build(fast.export(tmp_path_factory.mktemp("echo")))


def test_every_number_survives(echo):
    bits = torch.randint(-(2**31), 2**31, (5000,)).to(torch.int32)
    x = torch.cat([bits.view(torch.float32), torch.tensor([float("inf"), -0.0, 1e-45])])
    printed = torch.tensor(numbers_in(run(echo, text_of(x), "weights.bin").stdout))[:, 0]
    torch.testing.assert_close(printed, x, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(printed.signbit() | x.isnan(), x.signbit() | x.isnan())


TEXTS = [  # what is read, what is printed
    ("1 -0 .5 5. +1", "1 -0 0.5 5 1"),
    ("\n 1\t2\r\n\n3 \n", "1 2 3"),
    ("inf -Infinity NaN", "inf -inf nan"),
    ("1e39 -1e999 1e-46 0x1p3", "inf -inf 0 8"),
    ("1.00000017881393432617187499", "1.00000012"),  # as a double it would be 1.00000024
    ("0." + "0" * 990 + "1 " + "9" * 998, "0 inf"),
    ("", ""),
    (" \n", ""),
]


def test_reads_numbers_in_any_form(echo):
    for text, printed in TEXTS:
        assert run(echo, text, "weights.bin").stdout.splitlines() == printed.split()


def test_needs_the_c_library_and_nothing_else(exported):
    if not shutil.which("ldd"):
        pytest.skip("ldd, which tells what a program needs, is not on this machine")
    *_, program = exported("layers")
    needed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    names = {Path(line.split()[0]).name for line in needed.splitlines()}
    assert {"libc.so.6"} <= names or any("musl" in name for name in names)
    assert not [name for name in names if not re.match(r"linux-|ld-|libc\.|libm(vec)?\.", name)]


def test_links_into_one_file(copy):
    find = [*CC, "-print-file-name=libc.a"]
    found = subprocess.run(find, capture_output=True, text=True).stdout.strip()
    if not Path(found).is_absolute():
        pytest.skip("libc.a, the C library for static programs, is not on this machine")
    before = run(copy / "net", "1 " * 7, "weights.bin")
    assert run(build(copy, "-static"), "1 " * 7, "weights.bin").stdout == before.stdout
    if shutil.which("ldd"):
        assert subprocess.run(["ldd", copy / "net"], capture_output=True).returncode == 1


def test_the_line_in_main_c_builds_it(copy):
    line = re.search(r"Build it: *(cc .*)", (copy / "main.c").read_text()).group(1)
    assert set(FLAGS) <= set(shlex.split(line))
    (copy / "net").unlink()
    subprocess.run([*CC, *shlex.split(line)[1:]], cwd=copy, check=True)
    done = run(copy / "net", "1 " * 14, "weights.bin")
    assert len(numbers_in(done.stdout)) == 2


def test_weights_are_in_the_order_of_the_header(copy, exported):
    net, _ = NETS["layers"]
    header = (copy / "net.h").read_text()
    listed = re.search(r"Parameters: (.*?)\n\n", header, re.DOTALL).group(1)
    assert [line.split("  ") for line in map(str.strip, listed.splitlines())] == [
        ["weight_0", "float32[9, 7]"],
        ["bias_0", "float32[9]"],
        ["weight_2", "float32[5, 9]"],
        ["bias_2", "float32[5]"],
    ]
    assert "Input:       input  float32[n, 7]\n" in header
    assert exported("layers")[0].source in (copy / "net.c").read_text()
    numbers = torch.cat([p.detach().flatten() for p in net.parameters()])
    assert (copy / "weights.bin").read_bytes() == numbers.numpy().astype("<f4").tobytes()


def test_a_network_without_parameters_has_an_empty_file(exported):
    *_, program = exported("no parameters")
    assert (program.parent / "weights.bin").read_bytes() == b""
    assert "Parameters:  none\n" in (program.parent / "net.h").read_text()
    assert_refuses(run(program, "", "."), ". is not the 0 bytes of this network's weights")


def test_exports_the_weights_that_the_network_has_now(tmp_path):
    net = nn.Linear(3, 2)
    fast = hybridize(net, torch.zeros(1, 3))
    program = build(fast.export(tmp_path), *compiler_flags())

    for statement in (
        "net.weight.data.mul_(2)",
        "net.weight.data = torch.randn(2, 3)",
        "net.load_state_dict(nn.Linear(3, 2).state_dict(), assign=True)",
    ):
        change(net, statement)
        fast.export(tmp_path)
        x = torch.ones(1, 3)
        printed = torch.tensor(numbers_in(run(program, text_of(x), "weights.bin").stdout))
        torch.testing.assert_close(printed, net(x), msg=statement)


def test_makes_the_folder_and_writes_over_what_was_exported(tmp_path):
    fast = hybridize(torch.relu, torch.zeros(1, 3))
    folder = tmp_path / "new" / "one"
    for _ in range(2):
        assert fast.export(str(folder)) == folder
    assert {path.name for path in folder.iterdir()} == {"net.c", "net.h", "main.c", "weights.bin"}


def test_a_copy_can_be_exported_before_its_first_call(tmp_path):
    fast = pickle.loads(pickle.dumps(hybridize(nn.Tanh(), torch.zeros(1, 3))))
    assert "float32[n, 3]" in (fast.export(tmp_path) / "net.h").read_text()


# Timing -------------------------------------------------------------------------------------


def test_tells_the_time_of_a_call(exported):
    _, program, _ = exported("layers")
    start = time.perf_counter()
    done = run(program, "1 " * 7, "weights.bin", "20000")
    elapsed = time.perf_counter() - start
    [[seconds]] = numbers_in(done.stdout)
    assert 0 < 20000 * seconds < elapsed


def test_calls_as_often_as_it_is_told(copy):
    forward = re.search(r"int forward\(.*\)", (copy / "net.h").read_text()).group()
    says_n = '{ (void)input, (void)v4, (void)parameters; return printf("%td\\n", n) < 0; }'
    (copy / "net.c").write_text(f'#include <stdio.h>\n#include "net.h"\n{forward}\n{says_n}')
    program = build(copy)
    assert run(program, "1 " * 14, "weights.bin", "3").stdout.startswith("2\n2\n2\n")
    assert run(program, "1 " * 14, "weights.bin", "3").stdout.count("\n") == 4
    assert run(program, "", "weights.bin").stdout == "0\n"


# What is refused ----------------------------------------------------------------------------

USAGE = "usage: net WEIGHTS [CALLS] < ROWS, where CALLS is a whole number above 0"
THIRD = "item 3 of the input is not a number"
NO_NUMBERS = ["x", "3x", "3,4", "1.2.3", "-", "0x", "\ufeff3"]
WRONG_SIZE = "is not the 488 bytes of this network's weights"
ERRORS = [  # arguments, input, message
    ("", "", USAGE),
    ("weights.bin 1 2", "", USAGE),
    *[(f"weights.bin {calls}", "", USAGE) for calls in ("0", "-1", "1e3", "''")],
    ("nowhere.bin", "", "nowhere.bin: No such file or directory"),
    *[(f"{one}.bin", "", f"{one}.bin {WRONG_SIZE}") for one in ("short", "long", "empty")],
    (".", "", f". {WRONG_SIZE}"),
    ("weights.bin", "1 2 3 4 5 6", "the input has 6 numbers, and a row has 7"),
    ("weights.bin", "1 " * 15, "the input has 15 numbers, and a row has 7"),
    *[("weights.bin", f"1 2 {word} 4", f"{THIRD}: {word}") for word in NO_NUMBERS],
    ("weights.bin", "1 2 1e", f"{THIRD}: 1e"),
    ("weights.bin", "1 2 " + "3" * 1500, f"{THIRD}: {'3' * 40}"),
    ("weights.bin", "1 2\0 \0003\0", f"{THIRD}: "),  # the bytes of UTF-16
]


def assert_refuses(done, message):
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"net: {message}\n")


def test_refuses(exported):
    for arguments, text, message in ERRORS:
        *_, program = exported("layers")
        weights = (program.parent / "weights.bin").read_bytes()
        for name, data in (("short", weights[:-1]), ("long", weights + b"\0"), ("empty", b"")):
            (program.parent / f"{name}.bin").write_bytes(data)
        assert_refuses(run(program, text, *shlex.split(arguments)), message)


def test_refuses_input_that_cannot_be_read(exported):
    *_, program = exported("layers")
    with subprocess.Popen(["true"], stdin=subprocess.PIPE) as other:
        done = run(program, None, "weights.bin", stdin=other.stdin)  # an end that only writes
    assert_refuses(done, "the input cannot be read: Bad file descriptor")


def test_says_that_results_were_not_written(exported):
    if not Path("/dev/full").exists():
        pytest.skip("/dev/full, a file with no room, is not on this machine")
    *_, program = exported("layers")
    options = {"capture_output": False, "stderr": subprocess.PIPE}
    with open("/dev/full", "w") as full:
        done = run(program, "1 " * 7, "weights.bin", stdout=full, **options)
    assert done.returncode == 1
    assert done.stderr == "net: the results cannot be written: No space left on device\n"


def test_says_that_there_is_no_memory(copy):
    forward = re.search(r"int forward\(.*\)", (copy / "net.h").read_text()).group()
    (copy / "net.c").write_text(
        f'#include "net.h"\n{forward}\n{{ (void)n, (void)input, (void)v4; return !!parameters; }}'
    )
    done = run(build(copy), "1 " * 14, "weights.bin")
    assert_refuses(done, "there is no memory for a batch of 2 rows")
    main = (copy / "main.c").read_text()
    (copy / "main.c").write_text(
        main.replace("= realloc(old, (count + 1) * sizeof(float));", "= old;")
    )
    done = run(build(copy), "", "weights.bin")
    assert_refuses(done, "there is no memory for 138 numbers")  # 122, and room to align them


def test_the_weights_begin_at_a_multiple_of_64_bytes(tmp_path):
    # So large a piece of memory begins 16 bytes past a page, if it is left to malloc.
    hybridize(nn.Linear(512, 256), torch.randn(1, 512)).export(tmp_path)
    forward = re.search(r"int forward\(.*\)", (tmp_path / "net.h").read_text()).group()
    body = "{ (void)n, (void)input, (void)v1; return (size_t)parameters[0] % 64 != 0; }"
    (tmp_path / "net.c").write_text(f'#include "net.h"\n{forward}\n{body}\n')
    assert run(build(tmp_path), "1 " * 512, "weights.bin").returncode == 0


def test_says_that_the_machine_has_another_order_of_bytes(copy):
    main = (copy / "main.c").read_text()
    assert main.count("unsigned one = 1;") == 1
    (copy / "main.c").write_text(main.replace("unsigned one = 1;", "unsigned one = 1u << 24;"))
    done = run(build(copy), "", "weights.bin")
    assert_refuses(done, "the weights are little-endian, and this machine is big-endian")


REFUSED = [  # network, shapes of its inputs, message
    (torch.add, [(2, 3), (2, 3)], r"not float32\[n, 3\] and float32\[n, 3\] and float32"),
    (lambda x: (x, x + 1), [(2, 3)], r"not float32\[n, 3\] and float32\[n, 3\] and float32"),
    (torch.relu, [(3,)], r"with a batch, can be exported, not float32\[3\] and float32\[3\]"),
    (
        Keeping(lambda x, w: w, w=torch.tensor(3.0)),
        [(2, 3)],
        r"not float32\[n, 3\] and float32\[\]",
    ),
    (torch.relu, [(2, 0)], r"is float32\[n, 0\]; a row must have a number or more"),
]


@pytest.mark.parametrize(("net", "shapes", "message"), REFUSED)
def test_export_refuses(tmp_path, net, shapes, message):
    fast = hybridize(net, *[torch.zeros(shape) for shape in shapes])
    with pytest.raises(ValueError, match=message):
        fast.export(tmp_path / "new")
    assert not (tmp_path / "new").exists()
