"""The generated C for other machines: it compiles for them, and computes the same on an Arm."""

import os
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from d2lhybrid import hybridize
from d2lhybrid.hybrid.guard import GUARD_SOURCE
from d2lhybrid.hybrid.operations import OPERATIONS
from d2lhybrid.toolchain import run_compiler, with_exports

ARM = Path("/usr/aarch64-linux-gnu")  # Debian's libraries for an arm64, as qemu-user wants them
TARGETS = [f"{cpu}-{system}" for cpu in ("x86_64", "aarch64") for system in ("linux-gnu", "macos")]
TARGETS += ["x86_64-windows-gnu", "aarch64-windows-gnu"]
FORMATS = {"linux": b"\x7fELF", "macos": b"\xcf\xfa\xed\xfe", "windows": b""}  # of an object file


class EachOperation(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(70, 33), nn.Linear(33, 5, bias=False)

    def forward(self, x):
        x = F.layer_norm(self.first(x), (33,))
        x = F.rms_norm(torch.tanh(x) + F.gelu(x) - F.silu(x) * torch.sigmoid(x), (33,))
        x = F.gelu(x, approximate="tanh") / torch.exp(-x) + torch.rsqrt(x * x + 1)
        x = torch.softmax(self.last(torch.relu(x)), -1)
        return torch.log(x + 1) + torch.log_softmax(x, -1)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A network, and the folder of what was exported of it."""
    net = EachOperation().requires_grad_(False)
    fast = hybridize(net, torch.zeros(1, 70))
    assert {node.op for node in fast.graph.nodes if node.is_operation} == {*OPERATIONS}
    return net, fast.export(tmp_path_factory.mktemp("net"))


def needed(there, what):
    if not there:
        assert "D2LHYBRID_NO_SKIPS" not in os.environ
        pytest.skip(f"needs {what}")


@pytest.fixture
def choose(monkeypatch):
    """A function that makes zig the compiler, for a target; without it, the test is skipped."""
    needed(find_spec("ziglang"), "ziglang")
    zig = [sys.executable, "-m", "ziglang", "cc", "-target"]
    return lambda target: monkeypatch.setenv("CC", shlex.join([*zig, target]))


@pytest.mark.parametrize("target", TARGETS)
def test_compiles_for_other_machines(exported, choose, tmp_path, target):
    choose(target)
    compiled, guard, library = (tmp_path / name for name in ("object", "guard.c", "library.c"))
    guard.write_text(GUARD_SOURCE)
    library.write_text(with_exports((exported[1] / "net.c").read_text()))
    for source in (*exported[1].glob("*.c"), guard, library):
        run_compiler("-c", source, "-o", compiled)
        assert compiled.read_bytes().startswith(FORMATS[target.split("-")[1]])
    exports = b"-export:forward" in compiled.read_bytes().lower()
    assert exports == ("windows" in target)


def test_an_arm64_has_the_numbers_of_torch(exported, choose, tmp_path):
    needed(shutil.which("qemu-aarch64") and ARM.exists(), "qemu-user and libc6-arm64-cross")
    choose("aarch64-linux-gnu.2.31")
    net, folder = exported
    run_compiler(folder / "main.c", folder / "net.c", "-o", tmp_path / "net", "-lm")
    x = torch.randn(9, 70)
    rows = " ".join(map(str, x.flatten().tolist()))
    command = ["qemu-aarch64", "-L", ARM, tmp_path / "net", folder / "weights.bin"]
    done = subprocess.run(command, input=rows, capture_output=True, text=True, check=True)
    printed = torch.tensor([float(number) for number in done.stdout.split()]).reshape(9, 5)
    torch.testing.assert_close(printed, net(x))
