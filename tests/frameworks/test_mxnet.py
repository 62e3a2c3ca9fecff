"""MXNet: what its import is lent, its state, and a network that runs without Python."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy
import pytest

import d2lhybrid
from d2lhybrid.frameworks import mxnet

ROOT = Path(__file__).resolve().parents[2]
RUN_C = Path(d2lhybrid.__file__).with_name("without_python") / "run_mxnet.c"
INSTALLED = pytest.mark.skipif(not find_spec("mxnet"), reason="MXNet is not installed")
COMPILER = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")


def in_a_process(code, folder):
    """What a fresh Python says; it must end well."""
    start = "from d2lhybrid import import_framework\nmx = import_framework('mxnet', threads=1)\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{start}from mxnet import np, npx\nnpx.set_np()\n{code}"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_numpy_is_lent_it_gives_back():
    before = set(dir(numpy))
    with mxnet.prepare():
        assert set(mxnet.GONE) <= set(dir(numpy))
    assert set(dir(numpy)) == before


def test_a_stand_in_for_distutils_compares_versions(monkeypatch):
    monkeypatch.setattr(mxnet, "find_spec", lambda name: None)
    loaded = {name for name in sys.modules if name.startswith("distutils")}
    with mxnet.prepare():
        from distutils.version import LooseVersion

        assert LooseVersion("1.9.1") == [1, 9, 1]
    assert {name for name in sys.modules if name.startswith("distutils")} <= loaded


@pytest.fixture
def pretended(monkeypatch):
    """An MXNet that is loaded, and is asked for its state only."""
    module = ModuleType("mxnet")
    module.autograd = SimpleNamespace(is_recording=lambda: True)
    monkeypatch.setitem(sys.modules, "mxnet", module)
    return monkeypatch


@pytest.mark.parametrize(
    ("variable", "known"), [("3", {"threads": 3}), ("2,1", {}), ("", {}), (None, {})]
)
def test_its_state_is_its_threads_where_they_were_said(pretended, variable, known):
    if variable is None:
        pretended.delenv("OMP_NUM_THREADS", raising=False)
    else:
        pretended.setenv("OMP_NUM_THREADS", variable)
    assert mxnet.state() == {**known, "gradients": True}


@INSTALLED
@pytest.mark.skipif(not COMPILER, reason="there is no C compiler")
def test_an_exported_network_runs_without_python(tmp_path):
    code = """
from mxnet.gluon import nn
net = nn.HybridSequential()
net.add(nn.Dense(256, activation="relu"), nn.Dense(128, activation="relu"), nn.Dense(2))
net.initialize()
net.hybridize()
x = (np.arange(512) / 256 - 1).reshape(1, 512)
print(*net(x)[0].tolist())
net.export("my_mlp")
print(mx.libinfo.find_include_path())
print(mx.libinfo.find_lib_path()[0])
"""
    expected, header, library = in_a_process(code, tmp_path).splitlines()
    build = [COMPILER, "-Wall", "-Wextra", "-Werror", f"-I{header}", str(RUN_C), library]
    build += ["-o", "run", f"-Wl,-rpath,{Path(library).parent}"]
    subprocess.run(build, cwd=tmp_path, check=True)

    def run(*files, row):
        command = [str(tmp_path / "run"), *files]
        return subprocess.run(command, cwd=tmp_path, input=row, capture_output=True, text=True)

    files = "my_mlp-symbol.json", "my_mlp-0000.params"
    row = " ".join(str(i / 256 - 1) for i in range(512))
    done = run(*files, row=row)
    found, wanted = (numpy.array(text.split(), float) for text in (done.stdout, expected))
    assert numpy.allclose(found, wanted, rtol=0, atol=1e-6)

    refused = {
        "usage": run("my_mlp-symbol.json", row=row),
        "a row has 512 numbers": run(*files, row="1 2 3"),
        "missing.json": run("missing.json", files[1], row=row),
        "Invalid NDArray file format": run(files[0], files[0], row=row),
    }
    for why, done in refused.items():
        assert done.returncode == 1, why
        assert why in done.stderr
