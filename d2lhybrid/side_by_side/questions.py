"""What is asked of a framework's ways in addition to their times: a program, like the others."""

import time
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

from d2lhybrid import python_calls, synchronize
from d2lhybrid.measure.candidates import in_words
from d2lhybrid.side_by_side.behaviour import TOOLS, behaviour

resource = None
with suppress(ImportError):  # there is none on Windows
    import resource

STEPS = 4  # of training, whose losses are compared
WATCHED = 0.05  # seconds of calls
CALLS = 100  # whose waits are counted


def answers(module, ways, steps, folder, weights, x, target, rate):
    """Ask at once; the candidate that is returned only hands out what was found.

    `ways` and `steps` are the labels and names of the functions in `module` that build them.
    Where there is a function `send`, its files go into a new folder below `folder`.
    """
    programs = import_module(f"d2lhybrid.side_by_side.{module}")
    asked = ("python_calls", "cores", "waits", "losses", "step_calls", "outcomes", "failures")
    found = {question: {} for question in asked}
    for label, name in ways.items():
        with noted(label, found["failures"]):
            built = getattr(programs, name)(weights, x[:1])
            call = getattr(built, "function", built)  # of one that repeats in C, a round
            found["python_calls"][label] = python_calls(call)  # now everything is compiled
            found["cores"][label] = cores(call)
            found["waits"][label] = waits(call)
    for label, name in steps.items():
        with noted(label, found["failures"]):
            step = getattr(programs, name)(weights, x, target, rate)
            found["losses"][label] = [step() for _ in range(STEPS)]
            found["step_calls"][label] = python_calls(step)
    framework = module.removeprefix("in_")
    if framework in TOOLS:
        found["outcomes"] = behaviour(framework)()
    if folder and hasattr(programs, "send"):
        own = Path(folder, framework)
        own.mkdir()
        programs.send(weights, x, own)
    return lambda: found


@contextmanager
def noted(label, failures):
    """Leave out a way that fails; the others can be asked all the same."""
    try:
        yield
    except Exception as error:
        failures[label] = in_words(error).partition("\n")[0]


def cores(function):
    """How many cores are at work during calls: the processor's seconds for one of the clock."""
    synchronize()
    start, worked = time.perf_counter(), time.process_time()
    while time.perf_counter() < start + WATCHED:
        function()
    synchronize()
    return (time.process_time() - worked) / (time.perf_counter() - start)


def waits(function):
    """How often in one call a thread of the process goes to sleep, to wait for another one.

    None where the system does not count it.
    """
    if resource is None:
        return None
    before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    for _ in range(CALLS):
        function()
    synchronize()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before) / CALLS
