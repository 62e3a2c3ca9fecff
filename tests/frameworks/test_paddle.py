"""PaddlePaddle, quietly imported; each test in a process of its own, for it changes the process."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

pytestmark = pytest.mark.skipif(not find_spec("paddle"), reason="PaddlePaddle is not installed")


def run(code, threads=None):
    """What a fresh Python prints that has imported Paddle; it must not complain about anything."""
    imported = f"p = import_framework('paddle', threads={threads})"
    code = f"from d2lhybrid import import_framework; {imported}\n{code}"
    unset = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=unset)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_compiling_says_nothing_about_itself():
    for full_graph in (False, True):
        code = f"net = p.jit.to_static(p.nn.Linear(3, 2), full_graph={full_graph})"
        assert run(f"{code}\nprint(*net(p.ones([1, 3])).shape)") == ["1", "2"]


def test_a_failing_program_raises_and_prints_nothing():
    assert run("""
import os, tempfile
os.chdir(tempfile.mkdtemp())
p.jit.save(p.nn.Linear(3, 2), "net", input_spec=[p.static.InputSpec([-1, 3])])
try:
    p.jit.load("net")(p.ones([1, 4]))
except ValueError as error:
    print(type(error).__name__)
""") == ["ValueError"]


OPERANDS = {
    "numpy.array([2.0])": "TypeError",
    "numpy.ones(3, 'float32')": "TypeError",
    "[1.0, 2.0, 3.0]": "TypeError",
    "numpy.float32(2)": "2.0",
    "numpy.array(2.0)": "2.0",
    "p.to_tensor([2.0, 2.0, 2.0])": "2.0",
}


def test_an_array_in_a_recording_is_an_error_and_not_the_end_of_the_process(tmp_path):
    functions = [f"def times{n}(x):\n    return x * {one}\n" for n, one in enumerate(OPERANDS)]
    program = tmp_path / "program.py"  # to_static reads the source of a function
    program.write_text("import numpy, paddle as p\n" + "".join(functions))
    said = run(f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import program
for n in range({len(OPERANDS)}):
    times = getattr(program, f"times{{n}}")
    try:
        print(float(p.jit.to_static(times, full_graph=True)(p.ones([3]))[0]))
    except Exception as error:
        print(type(error).__name__)
""")
    assert dict(zip(OPERANDS, said, strict=True)) == OPERANDS


def test_calls_that_are_not_recorded_are_left_alone():
    assert run("import numpy\nprint(float((p.ones([2]) * numpy.ones(2, 'float32')).sum()))") == [
        "2.0"
    ]


def test_the_remarks_of_other_libraries_stay_hidden():
    assert run("""
import logging
logging.getLogger("matplotlib").info("a remark")
print(len(logging.root.handlers), logging.root.level == logging.WARNING)
""") == ["0", "True"]


def test_an_array_becomes_numpys():
    assert run("""
from d2lhybrid import difference
import numpy
for dtype in ("float32", "bfloat16", "int64"):
    ones = p.ones([2]).astype(dtype)
    print(repr(difference(ones, numpy.ones(2, "int64" if dtype == "int64" else "float32"))))
print(bool(difference(p.ones([2]), p.zeros([2]))))
""") == ["''", "''", "''", "True"]


def test_whether_gradients_are_kept_is_part_of_the_state():
    code = "from d2lhybrid.frameworks import state\nprint(state()['gradients'])"
    assert run(code) == ["True"]
    assert run(f"p.set_grad_enabled(False)\n{code}") == ["False"]


def test_whether_a_result_needs_gradients():
    code = "from d2lhybrid.frameworks import needs_gradients as n\nw = p.ones([2])\n"
    code += "print(n(w * 2), n(1.0))\nw.stop_gradient = False\nprint(n(w * 2))"
    assert run(code) == ["False", "None", "True"]


@pytest.mark.parametrize(("threads", "serial"), [(1, "True"), (None, "False")])
def test_with_one_thread_programs_run_in_the_one_that_calls_them(threads, serial):
    code = "print(*p.get_flags('FLAGS_new_executor_serial_run').values())"
    assert run(code, threads) == [serial]
