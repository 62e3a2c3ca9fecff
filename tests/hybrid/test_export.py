"""The exported program: the numbers that Python has, without Python; and what it refuses."""

import re
import shlex
import shutil
import subprocess
from functools import cache

import pytest
import torch
from hybrid_helpers import change
from torch import nn

from d2lhybrid import hybridize
from d2lhybrid.toolchain import FLAGS, CompilerNotFound, compiler_command, find_compiler

try:
    CC = find_compiler()
except CompilerNotFound as error:
    pytest.skip(str(error), allow_module_level=True)

HERE = compiler_command()[len(CC) :]
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wno-unknown-pragmas"]
STRICT += ["-Wno-unused-function", "-Wno-unused-parameter"]  # all networks have the same helpers


class NamedAsInC(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("EOF", torch.tensor(3.0))

    def forward(self, errno):
        return errno * self.EOF


NETS = {  # name: network, shape of its input
    "layers": (nn.Sequential(nn.Linear(7, 9), nn.ReLU(), nn.Linear(9, 5), nn.Tanh()), (2, 7)),
    "three axes, no bias": (nn.Linear(130, 11, bias=False), (2, 3, 130)),
    "an input": (lambda x: x, (2, 1)),
    "no parameters": (lambda x: (x * x - x * 3).exp() / (1 - x), (2, 4)),
    "named as in C": (NamedAsInC(), (2, 4)),
}


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
            build(fast.export(tmp_path_factory.mktemp("net")), *flags) for flags in (HERE, [])
        ]

    return export


@pytest.fixture
def copy(exported, tmp_path):
    """The exported files of a network, to be changed."""
    shutil.copytree(exported("layers")[2].parent, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.mark.parametrize("name", NETS)
def test_prints_the_numbers_that_python_has(exported, name):
    fast, same_flags, no_flags = exported(name)
    for n in (0, 1, 5):
        x = 2 * torch.randn(n, *NETS[name][1][1:])
        with torch.no_grad():
            expected = fast(x).flatten(1)
        for program, tolerance in ((same_flags, 0), (no_flags, 1e-5)):
            done = run(program, text_of(x), "weights.bin")
            assert (done.returncode, done.stderr) == (0, "")
            printed = torch.tensor(numbers_in(done.stdout)).reshape(expected.shape)
            torch.testing.assert_close(printed, expected, rtol=tolerance, atol=tolerance)
            assert done.stdout.count("\n") == n


def test_every_number_survives(exported):
    bits = torch.randint(-(2**31), 2**31, (5000,)).to(torch.int32)
    x = torch.cat([bits.view(torch.float32), torch.tensor([float("inf"), -0.0, 1e-45])])
    *_, program = exported("an input")
    printed = torch.tensor(numbers_in(run(program, text_of(x), "weights.bin").stdout))[:, 0]
    torch.testing.assert_close(printed, x, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(printed.signbit() | x.isnan(), x.signbit() | x.isnan())


def test_the_line_in_main_c_builds_it(copy):
    line = re.search(r"Build it: *(cc .*)", (copy / "main.c").read_text()).group(1)
    assert set(FLAGS) <= set(shlex.split(line))
    (copy / "net").unlink()
    subprocess.run([*CC, *shlex.split(line)[1:]], cwd=copy, check=True)
    assert len(numbers_in(run(copy / "net", "1 " * 14, "weights.bin").stdout)) == 2


def test_the_header_lists_the_weights_in_order(copy, exported):
    net, _ = NETS["layers"]
    header = (copy / "net.h").read_text()
    listed = ["weight_0  float32[9, 7]", "bias_0  float32[9]", "weight_2  float32[5, 9]"]
    listed = "\n                ".join([*listed, "bias_2  float32[5]"])
    assert f"Parameters:  {listed}\n" in header
    assert "Input:       input  float32[n, 7]\n" in header
    assert exported("layers")[0].source in (copy / "net.c").read_text()
    numbers = torch.cat([p.detach().flatten() for p in net.parameters()])
    assert (copy / "weights.bin").read_bytes() == numbers.numpy().astype("<f4").tobytes()


def test_exports_the_weights_that_the_network_has_now(tmp_path):
    net, x = nn.Linear(3, 2), torch.ones(1, 3)
    fast = hybridize(net, torch.zeros(1, 3))
    folder = tmp_path / "new" / "one"
    program = build(fast.export(str(folder)), *HERE)
    for statement in ("net.weight.data.mul_(2)", "net.weight.data = torch.randn(2, 3)"):
        change(net, statement)
        assert fast.export(folder) == folder
        printed = torch.tensor(numbers_in(run(program, text_of(x), "weights.bin").stdout))
        torch.testing.assert_close(printed, net(x), msg=statement)


def with_forward(copy, body):
    """The program, built with another body of `forward`."""
    forward = re.search(r"int forward\(.*\)", (copy / "net.h").read_text()).group()
    names = re.findall(r"(\w+)[,)]", forward)
    unused = "".join(f"(void){name};" for name in names)
    text = f'#include <stdio.h>\n#include "net.h"\n{forward}\n{{ {unused} {body} }}\n'
    (copy / "net.c").write_text(text)
    return build(copy)


def test_calls_as_often_as_it_is_told_and_prints_the_time_of_a_call(copy, exported):
    program = with_forward(copy, 'return printf("%td\\n", n) < 0;')
    lines = run(program, "1 " * 14, "weights.bin", "3").stdout.splitlines()
    assert lines[:3] == ["2"] * 3
    assert len(lines) == 4
    _, program, _ = exported("layers")
    [[seconds]] = numbers_in(run(program, "1 " * 7, "weights.bin", "20000").stdout)
    assert 0 < seconds < 1e-3


def test_the_weights_begin_at_a_multiple_of_64_bytes(copy):
    # such a piece of memory begins 16 bytes past that, if it is left to malloc
    program = with_forward(copy, "return (size_t)parameters[0] % 64 != 0;")
    assert run(program, "1 " * 7, "weights.bin").returncode == 0


# arguments, input, a word of the message
ERRORS = [("", "", "usage"), ("weights.bin 1 2", "", "usage"), ("weights.bin 0", "", "usage")]
ERRORS += [(f"{one}.bin", "", "weights") for one in ("nowhere", "short", "long", "empty")]
ERRORS += [(".", "", "weights"), ("weights.bin", "1 2 3 4 5 6", "input")]
ERRORS += [
    ("weights.bin", f"1 2 {word} 4 5 6 7", "input") for word in ("x", "3x", "3,4", "-", "\0")
]


def test_refuses_what_it_cannot_read(copy):
    weights = (copy / "weights.bin").read_bytes()
    for name, data in (("short", weights[:-1]), ("long", weights + b"\0"), ("empty", b"")):
        (copy / f"{name}.bin").write_bytes(data)
    for arguments, text, word in ERRORS:
        done = run(copy / "net", text, *shlex.split(arguments))
        assert (done.returncode, done.stdout) == (1, ""), (arguments, text)
        assert done.stderr.startswith("net: ")
        assert word in done.stderr, (arguments, text)


NOT_EXPORTED = [  # network, shapes of its inputs
    (torch.add, [(2, 3), (2, 3)]),
    (lambda x: (x, x + 1), [(2, 3)]),
    (torch.relu, [(3,)]),
    (torch.relu, [(2, 0)]),
]


@pytest.mark.parametrize(("net", "shapes"), NOT_EXPORTED)
def test_export_needs_one_input_and_one_output_with_a_batch(tmp_path, net, shapes):
    fast = hybridize(net, *[torch.zeros(shape) for shape in shapes])
    with pytest.raises(ValueError, match="one input and one output"):
        fast.export(tmp_path / "new")
    assert not (tmp_path / "new").exists()
