"""PaddlePaddle: what the course changes in it, tried in a process of its own."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from d2lhybrid.frameworks import paddle

SCRIPT = """
import numpy
from d2lhybrid import frameworks, import_framework

p = import_framework("paddle", threads=1)


def tried(function, *args):
    try:
        return float(function(*args)[0])
    except Exception as error:
        return type(error)


def times(y):
    def function(x):
        return x * y
    return p.jit.to_static(function, full_graph=True)


x, twos = p.ones([3]), numpy.array([2.0, 2.0, 2.0], "float32")
for y, wanted in [
    (twos, TypeError),  # without us, this is the end of the process
    ([2.0, 2.0, 2.0], TypeError),
    (numpy.float32(2), 2.0),
    (numpy.array(2.0), 2.0),
    (p.to_tensor(twos), 2.0),
]:
    assert tried(times(y), x) == wanted, (y, tried(times(y), x))
assert tried(lambda: x * twos) == 2.0  # nothing is recorded

p.jit.save(p.nn.Linear(3, 2), "net", input_spec=[p.static.InputSpec([-1, 3])])
assert tried(p.jit.load("net"), p.ones([1, 4])) is ValueError
assert p.get_flags("FLAGS_new_executor_serial_run") == {"FLAGS_new_executor_serial_run": True}

assert [frameworks.needs_gradients(y) for y in (x * 2, 1.0)] == [False, None]
x.stop_gradient = False
assert frameworks.needs_gradients(x * 2)
assert frameworks.state()["gradients"] is True
p.set_grad_enabled(False)
assert frameworks.state()["gradients"] is False
"""


@pytest.mark.skipif(not find_spec("paddle"), reason="PaddlePaddle is not installed")
def test_recordings_gradients_and_executor_with_one_thread(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)  # to_static reads the source of a function
    command = [sys.executable, "script.py"]
    env = os.environ | {"PYTHONPATH": os.getcwd()}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env)
    assert (done.returncode, done.stderr) == (0, "")  # Paddle complains about nothing


def test_with_several_threads_programs_do_not_run_in_the_one_that_calls(monkeypatch):
    monkeypatch.setattr(os, "environ", os.environ | {"OMP_NUM_THREADS": "2"})
    monkeypatch.setattr(paddle, "refuse_what_is_no_number", lambda: None)
    with paddle.prepare():
        assert "FLAGS_new_executor_serial_run" not in os.environ
