"""String programs: what each step makes of a text, that meaning is kept, and what is refused."""

import random

import pytest

from d2lhybrid import run_program
from d2lhybrid.text import program
from d2lhybrid.text.program import (
    drop_unused_text,
    evoke_,
    fold_constants_text,
    free_after_last_use,
    inline,
    names_in,
    straight_line,
    substitute,
)

STEPS = [inline, free_after_last_use, fold_constants_text, drop_unused_text, substitute]


def test_the_running_example_step_by_step():
    text = inline(evoke_())
    assert text == "e = 1 + 2\nf = 3 + 4\ng = e + f\nprint(g)"
    assert substitute(text) == "print(1 + 2 + (3 + 4))"
    text = free_after_last_use(text)
    assert text == "e = 1 + 2\nf = 3 + 4\ng = e + f\ndel e, f\nprint(g)\ndel g"
    text = fold_constants_text(text)
    assert text == "e = 3\nf = 7\ng = 10\ndel e, f\nprint(10)\ndel g"
    assert drop_unused_text(text) == "print(10)"


CASES = [  # step, program, what it becomes
    (inline, "print(1)", "print(1)"),
    (inline, "def f(a): return a\nprint(f(f(3)))", "print(3)"),
    (inline, "def f(a, b): return b - a\nx = 1\nprint(f(x, 2 * x))", "x = 1\nprint(2 * x - x)"),
    (inline, "def f(a): return -a\ndef g(a): return f(a * a)\nprint(g(3))", "print(-(3 * 3))"),
    (inline, "def f(a):\n  b = a + 1\n  return b\nprint(f(1), 5)", "b = 1 + 1\nprint(b, 5)"),
    (inline, "a = 2\ndef f(a): return a * a\nprint(f(a + 1))", "a = 2\nprint((a + 1) * (a + 1))"),
    (free_after_last_use, "x = 1", "x = 1\ndel x"),
    (free_after_last_use, "x = 1\ny = x\nprint(y)", "x = 1\ny = x\ndel x\nprint(y)\ndel y"),
    (free_after_last_use, "x = 1\nprint(x)\ndel x", "x = 1\nprint(x)\ndel x"),
    (free_after_last_use, "x = 1\nprint(x, x)", "x = 1\nprint(x, x)\ndel x"),
    (fold_constants_text, "print(1 + 2 * 3 - 4)", "print(3)"),
    (fold_constants_text, "x = 2\ny = x * x\nprint(-y)", "x = 2\ny = 4\nprint(-4)"),
    (fold_constants_text, "print(-(1 + 2))", "print(-3)"),
    (
        fold_constants_text,
        "def f(a): return a\nx = f(1) + 2",
        "def f(a):\n    return a\nx = f(1) + 2",
    ),
    (fold_constants_text, "a = 1\ndef f(a): return a\nprint(f(a))", None),
    (drop_unused_text, "x = 1\ny = x\nz = y", ""),
    (drop_unused_text, "x = 1\ny = 2\nprint(y)\ndel x, y", "y = 2\nprint(y)\ndel y"),
    (drop_unused_text, "print(1)", "print(1)"),
    (substitute, "x = 1\ny = x + x\nprint(y)\ndel x", "print(1 + 1)"),
    (substitute, "x = 1\ny = x - 2\nprint(3 - y)", "print(3 - (1 - 2))"),
]


def test_rewriting_steps_keep_what_a_program_prints():
    for step, before, after in CASES:
        if after is not None:
            assert step(before) == after, before
        assert run_program(step(before)) == run_program(before), before


REFUSED = [  # program, the line and the reason in the error
    ("x = 1\nx = 2", "line 2: cannot rewrite `x = 2`: 'x' has a value already"),
    ("def f(a): return a\nf = 1", "line 2: .*'f' has a value already"),
    ("print(y)", "line 1: .*'y' has no value here"),
    ("x = 1 + y", "line 1: .*'y' has no value here"),
    ("def f(a): return a\nx = f(y)", "line 2: .*'y' has no value here"),
    ("x = 1\ndel x\nprint(x)", "line 3: .*'x' has no value here"),
    ("del x", "line 1: .*'x' has no value here"),
    ("def f(a): return b\nb = 1\nprint(f(1))", "line 1: .*'b' has no value here"),
    ("def f(a): return f(a)\nprint(f(1))", "line 1: .*and functions defined above"),
    ("x = add(1, 2)", "line 1: .*and functions defined above"),
    ("def f(a): return a\nprint(f(1, 2))", "line 2: .*'f' takes 1 arguments"),
    ("def f(a): return a\nprint(f(a=1))", "line 2: .*and functions defined above"),
    ("def f(a=1): return a", "line 1: .*only plain parameters"),
    ("def f(a, a): return a", "line 1: .*a name that nothing else has"),
    ("def f(a): return a\ndef g(f): return f", "line 2: .*a name that nothing else has"),
    ("x = 1\ndel x, x", "line 2: .*'x' has no value here"),
    ("def f(*a): return a", "line 1: .*only plain parameters"),
    ("@d\ndef f(a): return a", "line 2: .*only plain parameters"),
    ("def f(a): return", "line 1: .*only definitions"),
    ("def f(a):\n  return a\n  print(a)", r"line 3: cannot rewrite `print\(a\)`: .*never runs"),
    ("def f(a):\n  return a\n  b = a\n  return b", "line 3: .*never runs"),
    ("def f():\n  print(1)\n  return 1", "line 2: .*only print"),
    ("def f():\n  x = 1\n  del x\n  return 1", "line 3: .*only definitions"),
    ("def f():\n  def g(): return 1\n  return 1", "line 2: .*in the main program"),
    ("def f(a): return a\ndef f(b): return b", "line 2: .*defined once"),
    ("if 1: print(1)", "line 1: cannot rewrite `if 1:`: only definitions"),
    ("x, y = 1", "line 1: .*only definitions"),
    ("x += 1", "line 1: .*only definitions"),
    ("print(1, end=2)", "line 1: .*only print"),
    ("x = 1\nx(2)", "line 2: .*only print"),
    ("def f(a): return a\nf(1)", "line 2: .*only print"),
    ("x = 1\nbreakpoint()", "line 2: .*only print"),
    ("print = 1\nprint(2)", "line 2: .*only print"),
    ("x = 1 / 2", "line 1: .*only integers, names"),
    ("x = 0.5", "line 1: .*only integers, names"),
    ("x = True", "line 1: .*only integers, names"),
    ("x = print(1)", "line 1: .*and functions defined above"),
]


def test_straight_line_refuses_other_programs():
    for text, reason in REFUSED:
        with pytest.raises(ValueError, match=reason):
            straight_line(text)


def test_what_is_no_python_is_a_syntax_error():
    with pytest.raises(SyntaxError):
        straight_line("x = ")


def test_inlining_refuses_to_give_a_name_two_values():
    with pytest.raises(ValueError, match="'b' has a value already"):
        inline("def f(a):\n  b = a + 1\n  return b\nprint(f(1), f(2))")


def random_program(rng):
    """A straight-line program with functions, shadowed names, unused values and `del`."""
    lines, functions, names = [], {}, []

    def expression(names, depth=0):
        kind = rng.random()
        if depth == 3 or kind < 0.3:
            return str(rng.choice(range(-3, 9)))
        if kind < 0.55 and names:
            return rng.choice(names)
        if kind < 0.7 and functions:
            name = rng.choice(list(functions))
            arguments = [expression(names, depth + 1) for _ in range(functions[name])]
            return f"{name}({', '.join(arguments)})"
        if kind < 0.78:
            return f"-({expression(names, depth + 1)})"
        left, right = expression(names, depth + 1), expression(names, depth + 1)
        return f"({left}) {rng.choice('+-*')} ({right})"

    for i in range(rng.randrange(3)):
        parameters = ["a", "b", "x0"][: rng.randrange(4)]
        lines.append(f"def f{i}({', '.join(parameters)}): return {expression(parameters)}")
        functions[f"f{i}"] = len(parameters)
    for i in range(rng.randrange(1, 7)):
        lines.append(f"x{i} = {expression(names)}")
        names.append(f"x{i}")
        if rng.random() < 0.4:
            lines.append(f"print({expression(names)}, {expression(names)})")
        if rng.random() < 0.2:
            lines.append(f"del {names.pop(rng.randrange(len(names)))}")
    return "\n".join(lines)


def test_steps_keep_the_meaning_of_random_programs_in_any_order():
    for seed in range(40):
        rng = random.Random(seed)
        text = random_program(rng)
        meaning = run_program(text)
        for step in rng.choices(STEPS, k=6):
            once = step(text)
            assert run_program(once) == meaning, (seed, step.__name__, text, once)
            assert step(once) == once, (seed, "a second time changes more")
            text = once


def test_names_in_leaves_out_functions():
    definition, _, call = straight_line("def f(a): return a\nx = f(1)\nprint(f(x) + x)")
    assert names_in(definition) == []
    assert names_in(call) == ["x"]


def test_run_program_uses_a_namespace_of_its_own():
    assert run_program("x = 1\nprint(x)") == "1\n"
    with pytest.raises(NameError):
        run_program("print(x)")
    with pytest.raises(NameError):
        run_program("print(random)")


def test_the_texts_are_the_books():
    assert program.add_() + program.fancy_func_() + "print(fancy_func(1, 2, 3, 4))" == evoke_()
    assert run_program(evoke_()) == "10\n"
