"""What becomes of Python in a function that a framework compiles? See notebooks 07 and 13 to 17.

    table = try_cases("jax", CASES, {"jit": jax.jit})

Each case is a small function. It is called plainly and compiled, on the same inputs, and all
that a call does is compared. What differs between the frameworks is in their `Tools`.
"""

import gc
import random
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from importlib import import_module
from io import StringIO
from typing import Any

import numpy

from d2lhybrid import difference, muted


def try_cases(
    framework: str,
    cases: dict[str, Callable],
    compilers: dict[str, Callable],
    *,
    plain: Callable = lambda case: case,
    before: Callable[[int], Any] = lambda number: None,
) -> dict[str, dict[str, str]]:
    """Try cases with compilers of a framework, which has been imported: is the result still right?

    `cases` maps labels to functions of one array, `compilers` labels to functions that compile a
    case. Each case is called on four arrays of three or four numbers, and all that a call does is
    compared: its result or exception, what it prints, counts and keeps, and its argument.

    What is called plainly is `plain(case)`. `before` is called before each call, with a number,
    the same for the plain and the compiled one: seed there what is random.

    Returns a table: case -> compiler -> "right", "silently wrong" or "error".
    """
    global its
    its = replace(TOOLS[framework](import_module(framework)), before=before)
    gc.freeze()  # Paddle looks for garbage at each capture: now only among what comes from here on
    try:
        with muted():
            return {
                label: {
                    name: outcome(case, compiler, plain(case))
                    for name, compiler in compilers.items()
                }
                for label, case in cases.items()
            }
    finally:
        gc.unfreeze()


# The frameworks -------------------------------------------------------------------------------


@dataclass
class Tools:
    """What the cases need of a framework."""

    array: Callable  # from a list of numbers
    dice: Callable  # a random number, to be added to the argument
    sum: Callable = lambda x: x.sum()
    numpy: Callable = lambda x: x.numpy()  # NumPy's array of the same numbers
    before: Callable = lambda number: None  # called before each call
    symbols: tuple[type, ...] = ()  # types without numbers, which must not be asked for them


def mxnet_tools(mxnet):
    mxnet.npx.set_np()

    def dice(x):  # for a symbol there is another function of the same name
        symbolic = isinstance(x, mxnet.sym.Symbol)
        return (mxnet.sym if symbolic else mxnet).np.random.uniform(size=(1,))

    return Tools(mxnet.np.array, dice, numpy=lambda x: x.asnumpy())


def tensorflow_tools(tensorflow):
    random_number = tensorflow.random.uniform
    return Tools(tensorflow.constant, lambda x: random_number([1]), sum=tensorflow.reduce_sum)


def paddle_tools(paddle):
    symbols = (paddle.pir.Value,)  # asked when its program is gone, it may end the process
    return Tools(paddle.to_tensor, lambda x: paddle.rand([1]), symbols=symbols)


def jax_tools(jax):
    def dice(x):  # JAX has no random number without a key, and that has to come from somewhere
        return jax.random.uniform(jax.random.key(random.getrandbits(30)), [1])

    def read_array(x):
        jax.effects_barrier()  # what `jax.debug.print` prints comes later, unless one waits
        return numpy.asarray(x)

    return Tools(jax.numpy.array, dice, numpy=read_array)


def torch_tools(torch):
    return Tools(torch.tensor, lambda x: torch.rand(1))


TOOLS = {
    "mxnet": mxnet_tools,
    "tensorflow": tensorflow_tools,
    "paddle": paddle_tools,
    "jax": jax_tools,
    "torch": torch_tools,
}

# The cases ------------------------------------------------------------------------------------

its: Tools  # the tools of the framework that is tried
factors = [1.0]  # changes from call to call
counters = {"calls": 0}
kept: list[Any] = []


def prints(x):
    print("here")
    return x * 2


def counts(x):
    counters["calls"] += 1
    return x * 2


def chooses_by_data(x):
    if its.sum(x) > 0:
        return x * 2
    return -x


def chooses_by_shape(x):
    if x.shape[0] > 3:
        return x * 2
    return -x


def looks_outside(x):
    return x * factors[0]


def throws_pythons_dice(x):
    return x + random.uniform(0, 1)  # torch.compile overlooked random.random() for a while


def throws_its_dice(x):
    return x + its.dice(x)


def adds_to_its_argument(x):
    x += 1  # an update in place, for the caller, too, but only in some frameworks
    return x * 2


def takes_out(x):
    return x * sum_outside(x)


def sum_outside(x):  # outside the framework, that is
    return float(its.numpy(x).sum())


def loops_by_data(x):
    while its.sum(x) < 100:
        x = x + 10
    return x


def loops_over_data(x):
    total = x[0] * 0
    for number in x:
        total = total + number * number
    return total


def one_branch(x):  # a bug: Python reports it if the sum is not above 0
    if its.sum(x) > 0:
        y = x * 2
    return y


def keeps(x):
    kept.append(x)
    return x * 2


CASES = {
    "a print": prints,
    "a counter": counts,
    "an if on the data": chooses_by_data,
    "an if on a shape": chooses_by_shape,
    "a number from outside": looks_outside,
    "Python's random number": throws_pythons_dice,
    "the framework's random number": throws_its_dice,
    "x += 1": adds_to_its_argument,
    "a number taken out": takes_out,
    "a while on the data": loops_by_data,
    "a for over the data": loops_over_data,
    "a variable of one branch": one_branch,
    "keeps its argument": keeps,
}
"""The functions that are tried: what one does -> the function, of one argument."""
# The example, other numbers, negative ones, another shape.
INPUTS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [-1.0, -2.0, -3.0], [1.0, 2.0, 3.0, 4.0]]

# The trial ------------------------------------------------------------------------------------


def outcome(function, compiler, plain):
    """Does the compiled function do what the plain one does?

    It is an error only if every call that went wrong has raised one. If an exception is what
    the plain function raises, too, then it is right.
    """
    try:
        compiled = compiler(function)
    except Exception:  # most compile only at the first call
        return "error"
    watch = watch_dice if function is throws_its_dice else watch_calls
    pairs = zip(watch(compiled), watch(plain), strict=True)
    wrong = [call["raised"] for call, plain in pairs if difference(call, plain)]
    if not wrong:
        return "right"
    return "error" if all(wrong) else "silently wrong"


def watch_calls(program):
    """All that the program does, for each input."""
    return [observe(program, number, values) for number, values in enumerate(INPUTS, 1)]


def watch_dice(program):
    """Whether each call gets a number of its own. Which number it is, nobody can foretell."""
    calls = [observe(program, number, INPUTS[0]) for number in range(4)]
    results = {str(call["result"]) for call in calls}
    raised = any(call["raised"] for call in calls)
    return [{"raised": raised, "always new": len(results) == len(calls)}]


def observe(program, number, values):
    """All that one call does: result or error, text, counter, argument, what it keeps."""
    random.seed(number)  # chance, too, is to be the same for all
    its.before(number)
    factors[0] = 10.0 * number
    kept.clear()  # Paddle's reader of bytecode looks into what an earlier program has left
    counted = counters["calls"]
    x, result, raised = its.array(values), None, ""
    with redirect_stdout(StringIO()) as text:
        try:
            result = read(program(x))
        except Exception as error:
            raised = type(error).__name__
    return {
        "result": result,
        "raised": raised,
        "printed": text.getvalue(),
        "counted": counters["calls"] - counted,
        "argument": read(x),
        "kept": [read(one) for one in kept],
    }


def read(value):
    """The numbers of an array; for what has none, such as a symbol, the name of its type."""
    if isinstance(value, its.symbols):
        return type(value).__name__
    try:
        return its.numpy(value)
    except Exception:
        return type(value).__name__
