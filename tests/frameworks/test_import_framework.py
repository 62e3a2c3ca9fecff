"""Frameworks are imported quietly, or the reader learns in two lines how to get them."""

import os
import subprocess
import sys
import textwrap
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace

import pytest
from IPython.core.interactiveshell import InteractiveShell

from d2lhybrid import frameworks, import_framework
from d2lhybrid.frameworks import FrameworkNotFound
from tools import manifest

OTHERS = ["mxnet", "tensorflow", "paddle", "jax"]


@pytest.fixture(autouse=True)
def same_environment_after_the_test(monkeypatch):
    for name in frameworks.THREADS:
        monkeypatch.setenv(name, "")  # so that it is put back
        monkeypatch.delenv(name)


@pytest.fixture
def made_up(monkeypatch, tmp_path):
    """A framework that can be imported but is not, and what its file says of it."""
    (tmp_path / "made_up.py").write_text("import os; seen = dict(os.environ)")
    monkeypatch.syspath_prepend(tmp_path)
    file = SimpleNamespace()
    monkeypatch.setitem(frameworks.FRAMEWORKS, "made_up", file)
    yield file
    sys.modules.pop("made_up", None)


@pytest.fixture
def missing(made_up, monkeypatch):
    monkeypatch.setattr(frameworks, "find_spec", lambda name: None)
    return made_up


def test_versions_leave_out_what_another_framework_has_loaded(made_up, monkeypatch, tmp_path):
    for name, text in [("guest", ""), ("made_up", "import guest"), ("own", "")]:
        (tmp_path / f"{name}.py").write_text(f"{text}\n__version__ = '1.2'")
        monkeypatch.setitem(frameworks.FRAMEWORKS, name, None)
    monkeypatch.setattr(frameworks, "_came_along", set())
    monkeypatch.setattr(sys, "modules", sys.modules.copy())
    import_module("own")
    import_framework("made_up")
    assert {"made_up", "own"} <= frameworks.versions().keys()
    assert "guest" in sys.modules
    assert "guest" not in frameworks.versions()
    import_framework("guest")  # now somebody wants it
    assert frameworks.versions()["guest"] == "1.2"


def test_a_missing_framework_says_how_to_get_it_or_that_there_is_none(missing, monkeypatch):
    monkeypatch.setattr(frameworks, "this_system", lambda: "Darwin arm64")
    with pytest.raises(FrameworkNotFound, match=r"course\.py frameworks made_up"):
        import_framework("made_up")
    missing.SYSTEMS = ["Plan9 sparc"]
    with pytest.raises(ImportError, match="none for Darwin arm64") as caught:
        import_framework("made_up")
    assert caught.value.name == "made_up"
    missing.SYSTEMS.append("Darwin arm64")
    with pytest.raises(FrameworkNotFound, match=r"course\.py frameworks made_up"):
        import_framework("made_up")


def test_a_notebook_shows_two_lines_and_no_traceback(missing, monkeypatch):
    shell, shown = InteractiveShell(), []
    monkeypatch.setattr(shell, "_showtraceback", lambda *args: shown.append(args[2]))
    shell.run_cell("from d2lhybrid import import_framework\nimport_framework('made_up')")
    shell.history_manager.end_session()
    assert [len(lines) for lines in shown] == [2]
    assert shown[0][0] == "This needs made_up, which is not installed."


def test_threads_are_limited_before_the_import(made_up):
    loaded = import_framework("made_up", threads=3)
    assert {loaded.seen[name] for name in frameworks.THREADS} == {"3"}
    assert import_framework("made_up", threads=3) is loaded  # the cell is run once more
    assert import_framework("made_up") is loaded
    with pytest.raises(RuntimeError):
        import_framework("made_up", threads=2)
    assert os.environ["OMP_NUM_THREADS"] == "3"


def test_threads_are_the_frameworks_choice_by_default(made_up):
    assert not import_framework("made_up").seen.keys() & set(frameworks.THREADS)


def said_by(code, **environment):
    """What a fresh process prints to stdout; it must print nothing to stderr."""
    done = subprocess.run(
        [sys.executable, "-W", "default", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env={k: v for k, v in os.environ.items() if k != "PYTHONWARNINGS"} | environment,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout


PROGRAMS = {  # each compiles something, which is when C code likes to report
    "mxnet": """
        from mxnet import np, npx
        from mxnet.gluon import nn
        npx.set_np()
        net = nn.Dense(2)
        net.initialize()
        net.hybridize()
        array, other = np.ones((2, 3)), np.ones((2, 3)) * 2
        net(array)
        """,
    "tensorflow": """
        import tensorflow
        array, other = tensorflow.ones((2, 3)), tensorflow.Variable(tensorflow.ones((2, 3)) * 2)
        tensorflow.function(lambda x: x + 1, jit_compile=True)(array)
        numbered = tensorflow.function(lambda x, y: x + y)  # advice on retracing is held back
        [numbered(array, number) for number in range(9)]
        assert frameworks.name_of(array.device) == "cpu", array.device
        """,
    "paddle": """
        import paddle
        array, other = paddle.ones((2, 3)), paddle.ones((2, 3)) * 2
        array.stop_gradient = False
        for whole in (True, False):
            paddle.jit.to_static(paddle.nn.Linear(3, 2), full_graph=whole)(array)
        half = paddle.ones((2, 3), "bfloat16")
        assert mismatch(half, array) == "", mismatch(half, array)
        import logging
        logging.getLogger("mine").info("nobody asked for this")
        """,
    "jax": """
        import jax
        jax._src.hardware_utils.has_visible_nvidia_gpu = lambda: True
        array, other = jax.numpy.ones((2, 3)), jax.numpy.ones((2, 3)) * 2
        jax.jit(lambda x: x + 1)(array)
        lazy = jax.numpy.ones((2000, 2000))
        for _ in range(5):
            lazy = lazy @ lazy / 1000
        small = array + 1  # its own result is soon there
        assert not lazy.is_ready()
        frameworks.synchronize()
        assert lazy.is_ready()
        """,
}


@pytest.mark.parametrize("name", OTHERS)
def test_framework_prints_nothing_and_its_arrays_are_compared(name):
    must = os.environ.get("D2LHYBRID_NO_SKIPS") and name in manifest.needed("frameworks")
    if not find_spec(name) and not must:
        pytest.skip(f"{name} is not installed")
    said = said_by(
        f"""
        from d2lhybrid import mismatch, frameworks, import_framework
        module = import_framework({name!r}, threads=1)
        {textwrap.indent(textwrap.dedent(PROGRAMS[name]), " " * 8).lstrip()}
        assert module.__name__ == {name!r}
        assert mismatch(array, [[1.0] * 3] * 2) != ""  # a list is not an array
        import numpy
        assert mismatch(array, numpy.ones((2, 3), "float32")) == ""
        assert "difference of 1," in mismatch(array, other)
        assert frameworks.state()["threads"] == 1, frameworks.state()
        frameworks.synchronize()
        print(frameworks.versions()[{name!r}])
        """
    )
    assert said[0].isdecimal()
