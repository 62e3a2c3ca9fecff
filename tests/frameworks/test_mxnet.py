"""MXNet: a quiet import with today's NumPy, its engine, and a network that runs without Python."""

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

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
RUN_C = Path(d2lhybrid.__file__).with_name("without_python") / "run_mxnet.c"
INSTALLED = pytest.mark.skipif(not find_spec("mxnet"), reason="MXNet is not installed")
COMPILER = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")


def in_a_process(code, folder=None, **env):
    """What a fresh Python says on stdout and on stderr; it must end well."""
    start = "from d2lhybrid import import_framework\nmx = import_framework('mxnet', threads=1)\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{start}from mxnet import np, npx\nnpx.set_np()\n{code}"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(NOTEBOOKS.parent)} | env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


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
def test_it_is_imported_without_a_word_and_computes():
    code = "print((np.ones((2, 2)) + 1).sum().item()); npx.waitall()"
    assert in_a_process(code) == ("8.0\n", "")


@INSTALLED
def test_compare_waits_for_the_engine():
    code = """
from d2lhybrid import synchronize
from time import perf_counter
matrix = np.ones((1500, 1500))
npx.waitall()
start = perf_counter()
product = np.dot(matrix, matrix)
returned = perf_counter() - start
synchronize()
waited = perf_counter() - start
product.wait_to_read()
finished = perf_counter() - start
print(returned < waited / 2, finished - waited < waited / 2)
"""
    assert in_a_process(code)[0] == "True True\n"


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
    expected, header, library = in_a_process(code, tmp_path)[0].splitlines()
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
