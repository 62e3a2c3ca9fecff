"""What is said below a table: of compilers, of warnings, of results that say nothing."""

import numpy
import pytest

from d2lhybrid import CandidateError, compare, isolated
from d2lhybrid.benchmark.results import Comparison
from d2lhybrid.frameworks.notes import notes_from

BREAK = """V1 sym.py:1] [0/0] [__graph_breaks] Graph break in user code at /home/me/mine.py:12
V1 sym.py:1] [0/0] [__graph_breaks] Graph Break Reason: Encountered graph break at CALL:
V1 sym.py:1] [0/0] [__graph_breaks]
V1 sym.py:1] [0/0] [__graph_breaks] Unsupported Tensor.item() call
V1 sym.py:1] [0/0] [__graph_breaks]   Hint: another
"""
LEFT = BREAK.replace("Encountered graph break at CALL", "Skipping it, falling back to eager. Why")
AGAIN = """V1 guards.py:1] [0/1] [__recompiles] Recompiling function f in /home/me/mine.py:10
V1 guards.py:1] [0/1] [__recompiles]     triggered by the following guard failure(s):
V1 guards.py:1] [0/1] [__recompiles]     - 0/0: tensor 'x' size mismatch at index 0
"""
JAX = "Compiling jit(f) with global shapes and types (ShapedArray(float32[8]),). Argument mapping\n"
HIT = "W1 convert_frame.py:1994] [0/8] torch._dynamo hit config.recompile_limit (8)\n"
WHY = "tensor 'x' size mismatch at index 0 (mine.py:10)"


@pytest.mark.parametrize(
    ("printed", "notes"),
    [
        ("hello\n", []),
        (BREAK + BREAK, ["graph break at mine.py:12: Unsupported Tensor.item() call"]),
        (LEFT, ["torch.compile left this to Python at mine.py:12: Unsupported Tensor.item() call"]),
        (AGAIN * 3, [f"compiled 3 times more: {WHY}"]),
        (AGAIN, [f"compiled once more: {WHY}"]),
        (HIT, ["torch.compile gave up at its limit of 8: other calls ran uncompiled"]),
        ("a.py:3: UserWarning: slow\n  f(x)\nb.py:4: UserWarning: slow\n", ["UserWarning: slow"]),
        ("WARNING:tensorflow:5 of 5, 0x1f\nWARNING:tensorflow:6 of 6, 0x2f\n", ["5 of 5, 0x1f"]),
        (f"x.py:1: MyWarning: {'long' * 100}\n", [f"MyWarning: {'long' * 100}"[:200]]),
    ],
)
def test_notes_from_what_is_printed(printed, notes):
    assert notes_from(printed, len(printed)) == notes


def test_what_is_compiled_while_it_is_timed_is_told_apart():
    assert notes_from(AGAIN * 3, len(AGAIN)) == [
        f"compiled 3 times more, 2 of them while it was timed: {WHY}"
    ]
    assert notes_from(JAX * 3, len(JAX)) == ["JAX compiled 2 times while it was timed: jit(f)"]


NETS = """
import warnings
import torch

x = torch.ones(3, requires_grad=True)

def plain():
    return lambda: x * 2

@torch.no_grad()
def double(x):
    warnings.warn("doubles")
    return x * 2

def careful():
    return lambda: double(x)

def broken():
    def call(x):
        torch._dynamo.graph_break()
        return x * 2
    return torch.compile(lambda x=x: call(x), backend="eager")

def nothing():
    return torch.compile(lambda: 6, backend="eager")

def silent():
    return lambda: None

def silent_as_well():
    return lambda: None

def unknown():
    return lambda: torch.full((3,), torch.nan)

def masked():
    import numpy
    return lambda: numpy.ma.masked_array([1.0, 2.0], [0, 1])

def coarse():
    return lambda: (x * 2).detach().bfloat16()

def silent_too():
    return lambda: (None, [])

def thrown_away():
    torch.compile(double, backend="eager")
    return careful()

def new():
    return lambda: (x * 2, None)

def cached():
    kept = x * 2
    return lambda: (kept, None)

def lazy():
    return lambda: (x * k for k in range(9))
"""


def notes_on(*names, **options):
    programs = {name: isolated(NETS, name.rstrip("2"), threads=1) for name in names}
    result = compare(programs, time_limit=0.05, **options)
    assert Comparison.from_dict(result.to_dict()) == result
    assert all(f"note: {note}" in str(result) for note in result.notes)
    return [note for note in result.notes if "processor's clock" not in note]


def test_a_warning_and_gradients_of_some_are_noted_with_names():
    assert notes_on("plain", "careful") == [
        "careful: UserWarning: doubles",
        "only 'plain' kept what gradients need: see torch.no_grad()",
    ]
    assert notes_on("plain", "broken")[0].startswith("broken: graph break at <program>:20")


def test_formats_that_differ_are_noted():
    found = notes_on("careful", "coarse")
    assert found[-1].endswith("is allowed: careful in float32; coarse in bfloat16")


def test_results_that_are_none_are_no_check():
    note = "all results are None or NaN, so only times were compared"
    assert notes_on("silent", "silent_too", check=False) == []
    assert note in notes_on("unknown", "unknown2")
    with pytest.raises(CandidateError, match="MaskedArray cannot be sent"):
        notes_on("masked", "masked2")
    found = notes_on("silent", "silent_as_well")
    assert note in found
    assert "silent: so short a call does next to nothing" in found
    assert not any("nothing" in note for note in notes_on("plain", "careful"))


def test_what_torch_compile_did_not_compile_is_noted():
    note = "torch.compile compiled no function that was called"
    assert notes_on("silent", "nothing", check=False)[0] == f"nothing: {note}"
    assert f"thrown_away: {note}" in notes_on("careful", "thrown_away")


SAME = "returned the same object in each call, so it may compute nothing"


def test_a_result_that_was_there_before_is_noted():
    assert notes_on("new", "cached") == [f"cached: {SAME}"]
    assert notes_on("cached", "cached2") == []  # as those do that write to their buffer
    kept = numpy.ones(3)
    found = compare({"new": lambda: 1 * kept, "kept": lambda: kept}, check=False, time_limit=0)
    assert list(found.notes) == [f"kept: {SAME}"]


def test_a_result_that_has_yet_to_be_computed_is_refused():
    with pytest.raises(CandidateError, match="returned a generator, which computes nothing"):
        notes_on("plain", "lazy", check=False)
    with pytest.raises(CandidateError, match="returned a map"):
        compare({"list": lambda: [1], "map": lambda: map(abs, [1])}, time_limit=0)


def test_what_jax_compiles_in_each_call_is_noted():
    pytest.importorskip("jax")
    text = "import jax, numpy\nx = numpy.ones(3)\ndef _f(x): return x + 1\n"
    text += "def one(): return lambda: {}(x)"
    programs = {"anew": isolated(text.format("jax.jit(lambda x: x + 1)"))}
    programs |= {"once": isolated(text.format("jax.jit(_f)"))}
    [note] = compare(programs, time_limit=0).notes
    assert note.startswith("anew: JAX compiled ")
    assert note.endswith(" times while it was timed: jit(<lambda>)")
