"""TensorFlow's file: devices, and what C writes. See `test_import_framework` for the rest."""

import os

import pytest

from d2lhybrid import compare, isolated
from d2lhybrid.frameworks import tensorflow


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


FUNCTION = """
import tensorflow
def one(): return tensorflow.function(lambda: tensorflow.constant(1.0))
"""


@pytest.mark.parametrize(("first", "state"), [("", "cold"), ("kept = one(); kept()", "warm")])
def test_process_is_cold_though_tensorflow_defines_functions_of_its_own(first, state):
    pytest.importorskip("tensorflow")
    program = isolated(FUNCTION + first)
    result = compare({"a": program, "b": program}, time_limit=0)["b"]
    assert result.build_state == f"{state} process"
