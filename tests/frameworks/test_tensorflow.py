"""TensorFlow's file: a quiet import, arrays, devices. Left out where it is not installed."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from types import SimpleNamespace

import pytest

from d2lhybrid.frameworks import tensorflow

SCRIPT = """
import json
from d2lhybrid import difference, frameworks, import_framework

tf = import_framework("tensorflow", threads=1)
x = tf.constant([1.0, 2.0])
compiled = tf.function(lambda x: x * 2, jit_compile=True)
print(json.dumps({
    "device": frameworks.name_of(x.device),
    "difference": difference(compiled(x), tf.constant([2.0, 4.0])),
    "variable": frameworks.to_numpy(tf.Variable([1.0])).tolist(),
    "other": frameworks.to_numpy([1, 2]).tolist(),
    "threads": frameworks.state()["threads"],
    "waited": frameworks.synchronize(),
}))
"""
here = pytest.mark.skipif(not find_spec("tensorflow"), reason="TensorFlow is not installed")


@here
def test_tensorflow_is_imported_quietly_and_knows_its_arrays_and_devices():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert found["difference"] == ""
    assert (found["variable"], found["other"]) == ([1.0], [1, 2])
    assert found["device"].startswith(("cpu", "gpu"))
    assert (found["threads"], found["waited"]) == (1, None)


@pytest.mark.parametrize(
    ("device", "name"),
    [
        ("/job:localhost/replica:0/task:0/device:CPU:0", "cpu"),
        ("/job:localhost/replica:0/task:0/device:GPU:1", "gpu:1"),
        ("cuda:0", None),
    ],
)
def test_a_device_is_named_without_its_job(device, name):
    assert tensorflow.name_of(device) == name


def test_what_c_writes_during_the_import_is_held_back(capfd):
    with tensorflow.stderr_of_c_held_back():
        os.write(2, b"a report on the processor")
    os.write(2, b"later")
    assert capfd.readouterr().err == "later"


def test_what_was_held_back_is_shown_if_the_import_fails(capfd):
    def fails():
        os.write(2, b"the reason")
        raise ImportError

    with pytest.raises(ImportError), tensorflow.stderr_of_c_held_back():
        fails()
    assert capfd.readouterr().err == "the reason"


def test_the_level_of_the_reader_is_kept(monkeypatch):
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "0")
    levels = []
    logger = SimpleNamespace(setLevel=levels.append)
    monkeypatch.setitem(sys.modules, "tensorflow", SimpleNamespace(get_logger=lambda: logger))
    with tensorflow.prepare():
        pass
    assert os.environ["TF_CPP_MIN_LOG_LEVEL"] == "0"
    assert levels == ["ERROR"]
