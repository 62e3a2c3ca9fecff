"""PaddlePaddle, in one process of its own: what it says is asked for once, and looked at below."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from d2lhybrid.frameworks import paddle

INSTALLED = pytest.mark.skipif(not find_spec("paddle"), reason="PaddlePaddle is not installed")
OPERANDS = {
    "numpy.array([2.0])": "TypeError",
    "numpy.ones(3, 'float32')": "TypeError",
    "[1.0, 2.0, 3.0]": "TypeError",
    "numpy.float32(2)": "2.0",
    "numpy.array(2.0)": "2.0",
    "p.to_tensor([2.0, 2.0, 2.0])": "2.0",
}
SCRIPT = """
import json, numpy
from d2lhybrid import frameworks, import_framework

p = import_framework("paddle", threads=1)
import operands  # only now, as it imports Paddle


def tried(function, *args):
    try:
        return str(float(function(*args)[0]))
    except Exception as error:
        return type(error).__name__


p.jit.save(p.nn.Linear(3, 2), "net", input_spec=[p.static.InputSpec([-1, 3])])
w, whole = p.ones([3]), dict(full_graph=True)
said = {
    "failing": tried(p.jit.load("net"), p.ones([1, 4])),
    "operands": [tried(p.jit.to_static(f, **whole), w) for f in operands.FUNCTIONS],
    "not recorded": tried(lambda: w * numpy.array([2.0, 2.0, 2.0], "float32")),
    "serial": list(p.get_flags("FLAGS_new_executor_serial_run").values()),
    "needed": [frameworks.needs_gradients(w * 2), frameworks.needs_gradients(1.0)],
    "gradients": [frameworks.state()["gradients"]],
}
w.stop_gradient = False
said["needed"].append(frameworks.needs_gradients(w * 2))
p.set_grad_enabled(False)
said["gradients"].append(frameworks.state()["gradients"])
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What a fresh Python says that has imported Paddle; it must not complain about anything."""
    folder = tmp_path_factory.mktemp("paddle")
    names = [f"times{n}" for n in range(len(OPERANDS))]
    functions = [
        f"def {name}(x):\n    return x * {y}\n" for name, y in zip(names, OPERANDS, strict=True)
    ]
    text = f"import numpy, paddle as p\n{''.join(functions)}FUNCTIONS = [{', '.join(names)}]\n"
    (folder / "operands.py").write_text(text)  # to_static reads the source of a function
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.getcwd()},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@INSTALLED
def test_a_failing_program_raises_and_prints_nothing(said):
    assert said["failing"] == "ValueError"


@INSTALLED
def test_an_array_in_a_recording_is_an_error_and_not_the_end_of_the_process(said):
    assert dict(zip(OPERANDS, said["operands"], strict=True)) == OPERANDS
    assert said["not recorded"] == "2.0"


@INSTALLED
def test_gradients_are_part_of_the_state_and_needed_by_some_results(said):
    assert said["gradients"] == [True, False]
    assert said["needed"] == [False, None, True]


@INSTALLED
def test_with_one_thread_programs_run_in_the_one_that_calls_them(said):
    assert said["serial"] == [True]


def test_with_several_threads_they_do_not(monkeypatch):
    monkeypatch.setattr(os, "environ", os.environ | {"OMP_NUM_THREADS": "2"})
    monkeypatch.setattr(paddle, "refuse_what_is_no_number", lambda: None)
    with paddle.prepare():
        assert "FLAGS_new_executor_serial_run" not in os.environ
