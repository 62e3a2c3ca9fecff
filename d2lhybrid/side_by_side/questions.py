"""What is asked of a framework's ways in addition to their times: a program, like the others."""

from contextlib import contextmanager
from importlib import import_module

from d2lhybrid import python_calls
from d2lhybrid.side_by_side.behaviour import CASES, try_cases
from d2lhybrid.workers import format_exception_only

STEPS = 4  # of training, whose losses are compared


def answers(framework, ways, steps, weights, x, target, rate):
    """Ask at once; the candidate that is returned only hands out what was found.

    `ways` and `steps` are the labels and names of the functions in its file that build them.
    """
    programs = import_module(f"d2lhybrid.side_by_side.in_{framework}")
    calls, losses, outcomes, failures = {}, {}, {}, {}
    for label, name in ways.items():
        with noted(label, failures):
            built = getattr(programs, name)(weights, x[:1])
            # Of one that repeats in C, a round; what is compiled is compiled before the counting.
            calls[label] = python_calls(getattr(built, "function", built))
    for label, name in steps.items():
        with noted(label, failures):
            step = getattr(programs, name)(weights, x, target, rate)
            losses[label] = [step() for _ in range(STEPS)]
    if hasattr(programs, "compilers"):
        for case, row in try_cases(framework, CASES, programs.compilers).items():
            for compiler, outcome in row.items():
                outcomes.setdefault(compiler, {})[case] = outcome
    found = {"python_calls": calls, "losses": losses, "outcomes": outcomes, "failures": failures}
    return lambda: found


@contextmanager
def noted(label, failures):
    """Leave out a way that fails; the others can be asked all the same."""
    try:
        yield
    except Exception as error:
        failures[label] = format_exception_only(error).partition("\n")[0]
