"""What is asked of each framework besides times: above all, what becomes of Python in a function.

    table = try_cases("jax", CASES, {"jit": jax.jit})

Each case is a small function. It is called plainly and compiled, on the same inputs, and all
that a call does is compared. What differs between the frameworks is in their `Adapter`. See
notebooks 07 and 14 to 18; `ask_frameworks`, which tries all frameworks, is of 18.
"""

import gc
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from typing import Any

import numpy

from ..benchmark.agreement import mismatch
from ..benchmark.processes import start_workers
from ..benchmark.timing import python_calls
from ..exercises import muted
from ..workers import format_exception_only
from . import installed_variants, program

STEPS = 4  # of training, whose losses are compared
ANSWERS = program("probes", "answers")


def ask_frameworks(
    weights: list, x: numpy.ndarray, target: numpy.ndarray, rate: float
) -> dict[str, dict[str, Any]]:
    """Ask the installed frameworks about more than times, with the arguments of a training step.

    Returns a dict from labels to answers for each question. The batch size is 1.

        python_calls  how many Python functions one call runs: {"JAX, jit": 1}
        losses        of the first four steps of training: {"JAX, jit": [1.02, 0.95, 0.90, 0.85]}
        outcomes      what becomes of Python in a function: {"jax.jit": {"a counter": "error"}}
        failures      why one has no answers: {"our compiler, hybridize": "CompilerNotFound: ..."}

    All variants of a framework share one process. CandidateError if that process fails as a whole.
    """
    variants, found = installed_variants(), {}
    files = dict.fromkeys(file for file, *_ in variants.values())
    # Two at a time, since each keeps a core busy. The processes end first, or if one has failed,
    # the pool would wait for the answers of the others.
    with ThreadPoolExecutor(2) as pool, start_workers(dict.fromkeys(files, ANSWERS)) as running:
        for file, runner in running.items():
            own = {label: row for label, (of, *row) in variants.items() if of == file}
            runner.start(file, (file, own, weights, x, target, rate))
        for answer in pool.map(_answer, running.values()):
            for question, by_label in answer.items():
                found.setdefault(question, {}).update(by_label)
    return found


def _answer(runner):
    """Build the candidate `answers` in a runner's process, and return the dict that it made."""
    runner.warm_up(share_cores=False)
    return runner.results[-1]


def answers(file, variants, weights, x, target, rate):
    """A candidate for a framework's own process: its part of what `ask_frameworks` returns.

    `file` is the framework's `in_<file>.py`. `variants` maps labels to the names of the functions
    there that build the variant and its step of training, None if there is none. All is asked at
    once; the function that is returned only hands out the answers.
    """
    programs = import_module(f"d2lhybrid.cross_framework.in_{file}")
    calls, losses, outcomes, failures = {}, {}, {}, {}
    for label, (build, train) in variants.items():
        try:
            if build:
                candidate = getattr(programs, build)(weights, x[:1])
                # Of one that repeats in C, a round; what is compiled is compiled before the count.
                calls[label] = python_calls(getattr(candidate, "function", candidate))
            if train:
                step = getattr(programs, train)(weights, x, target, rate)
                losses[label] = [step() for _ in range(STEPS)]
        except Exception as error:  # the others can be asked all the same
            failures[label] = format_exception_only(error).partition("\n")[0]
    if hasattr(programs, "compilers"):
        for case, row in try_cases(file, CASES, programs.compilers).items():
            for compiler, outcome in row.items():
                outcomes.setdefault(compiler, {})[case] = outcome
    found = {"python_calls": calls, "losses": losses, "outcomes": outcomes, "failures": failures}
    return lambda: found


def try_cases(
    framework: str,
    cases: dict[str, Callable],
    compilers: dict[str, Callable],
    *,
    plain: Callable = lambda case: case,
    before: Callable[[int], Any] = lambda number: None,
) -> dict[str, dict[str, str]]:
    """Try cases with compilers of an imported framework: is the result of each still right?

    `cases` maps labels to functions of one array, `compilers` maps labels to functions that compile
    a case. Each case is called on four arrays of three or four numbers, and everything that a call
    does is compared: its result or exception, what it prints, counts and keeps, and its argument.

    The uncompiled function is `plain(case)`. `before` is called before each call, with a number
    that is the same for the plain and the compiled function: seed random generators there.

    Returns a table: case -> compiler -> "right", "silently wrong" or "error".
    """
    global adapter, prepare
    adapter, prepare = ADAPTERS[framework](import_module(framework)), before
    gc.freeze()  # Paddle looks for garbage at each capture: now only among what comes from here on
    try:
        with muted():
            return {
                label: {name: outcome(case, make, plain(case)) for name, make in compilers.items()}
                for label, case in cases.items()
            }
    finally:
        gc.unfreeze()


# The frameworks -------------------------------------------------------------------------------


@dataclass
class Adapter:
    """What the cases need of a framework."""

    array: Callable  # from a list of numbers
    uniform: Callable  # a random number, to be added to the argument
    sum: Callable = lambda x: x.sum()
    numpy: Callable = lambda x: x.numpy()  # NumPy's array of the same numbers
    symbols: tuple[type, ...] = ()  # types without numbers, which must not be asked for them


def mxnet_adapter(mxnet):
    """Return the Adapter for MXNet, whose functions differ for arrays and for symbols."""
    mxnet.npx.set_np()

    def uniform(x):  # for a symbol there is another function of the same name
        symbolic = isinstance(x, mxnet.sym.Symbol)
        return (mxnet.sym if symbolic else mxnet).np.random.uniform(size=(1,))

    return Adapter(mxnet.np.array, uniform, numpy=lambda x: x.asnumpy())


def paddle_adapter(paddle):
    """Return the Adapter for PaddlePaddle."""
    symbols = (paddle.pir.Value,)  # asked when its program is gone, it may end the process
    return Adapter(paddle.to_tensor, lambda x: paddle.rand([1]), symbols=symbols)


def jax_adapter(jax):
    """Return the Adapter for JAX."""

    def uniform(x):  # JAX has no random number without a key, and that has to come from somewhere
        return jax.random.uniform(jax.random.key(random.getrandbits(30)), [1])

    def to_numpy(x):
        jax.effects_barrier()  # what `jax.debug.print` prints comes later, unless one waits
        return numpy.asarray(x)

    return Adapter(jax.numpy.array, uniform, numpy=to_numpy)


ADAPTERS = {
    "mxnet": mxnet_adapter,
    "tensorflow": lambda tf: Adapter(tf.constant, lambda x: tf.random.uniform([1]), tf.reduce_sum),
    "paddle": paddle_adapter,
    "jax": jax_adapter,
    "torch": lambda torch: Adapter(torch.tensor, lambda x: torch.rand(1)),
}

# The cases ------------------------------------------------------------------------------------

adapter: Adapter  # of the framework that is tried, set by `try_cases`, as is `prepare`
factors = [1.0]  # changes from call to call
counters = {"calls": 0}
kept: list[Any] = []


def prints(x):
    print("here")
    return x * 2


def counts(x):
    counters["calls"] += 1
    return x * 2


def branches_on_data(x):
    if adapter.sum(x) > 0:
        return x * 2
    return -x


def branches_on_shape(x):
    if x.shape[0] > 3:
        return x * 2
    return -x


def reads_global(x):
    return x * factors[0]


def uses_python_rng(x):
    return x + random.uniform(0, 1)  # torch.compile overlooked random.random() for a while


def uses_rng(x):
    return x + adapter.uniform(x)


def adds_in_place(x):
    x += 1  # an update in place, for the caller, too, but only in some frameworks
    return x * 2


def reads_item(x):
    return x * float(adapter.numpy(x).sum())  # added up outside the framework


def loops_on_data(x):
    while adapter.sum(x) < 100:
        x = x + 10
    return x


def iterates(x):
    total = x[0] * 0
    for number in x:
        total = total + number * number
    return total


def binds_in_branch(x):  # a bug: Python reports it if the sum is not above 0
    if adapter.sum(x) > 0:
        y = x * 2
    return y


def leaks_argument(x):
    kept.append(x)
    return x * 2


CASES = {
    "a print": prints,
    "a counter": counts,
    "an if on the data": branches_on_data,
    "an if on a shape": branches_on_shape,
    "a global": reads_global,
    "Python's random number": uses_python_rng,
    "the framework's random number": uses_rng,
    "x += 1": adds_in_place,
    "a value read out": reads_item,
    "a while on the data": loops_on_data,
    "a for over the data": iterates,
    "a name bound in one branch": binds_in_branch,
    "a leaked argument": leaks_argument,
}
"""The functions that are tried: what one does -> the function, of one argument."""
# The example, other numbers, negative ones, another shape.
INPUTS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [-1.0, -2.0, -3.0], [1.0, 2.0, 3.0, 4.0]]

# The trial ------------------------------------------------------------------------------------


def outcome(function, compiler, plain):
    """Does the compiled function do what the plain one does? "right", "silently wrong" or "error".

    It is an error only if every call that went wrong has raised one. If an exception is what the
    plain function raises, too, then it is right.
    """
    try:
        compiled = compiler(function)
    except Exception:  # most compile only at the first call
        return "error"
    observe = observe_rng if function is uses_rng else observe_calls
    pairs = zip(observe(compiled), observe(plain), strict=True)
    wrong = [call["raised"] for call, plain in pairs if mismatch(call, plain)]
    if not wrong:
        return "right"
    return "error" if all(wrong) else "silently wrong"


def observe_calls(function):
    """Return what `observe_call` says for each of the INPUTS."""
    return [observe_call(function, number, values) for number, values in enumerate(INPUTS, 1)]


def observe_rng(function):
    """Return in one dict whether any call has raised, and whether each gets a new random number.

    Which number it is, nobody can foretell.
    """
    calls = [observe_call(function, number, INPUTS[0]) for number in range(4)]
    results = {str(call["result"]) for call in calls}
    raised = any(call["raised"] for call in calls)
    return [{"raised": raised, "always new": len(results) == len(calls)}]


def observe_call(function, number, values):
    """Call the function with an array of `values`, and return all that the call does as a dict.

    That is its result or exception, what it prints, counts and keeps, and its argument afterwards.
    `number` seeds what is random, and sets the number that the function reads from outside.
    """
    random.seed(number)  # chance, too, is to be the same for all
    prepare(number)
    factors[0] = 10.0 * number
    kept.clear()  # Paddle's reader of bytecode looks into what an earlier program has left
    counted = counters["calls"]
    x, result, raised = adapter.array(values), None, ""
    with redirect_stdout(StringIO()) as text:
        try:
            result = read(function(x))
        except Exception as error:
            raised = type(error).__name__
    return {
        "result": result,
        "raised": raised,
        "printed": text.getvalue(),
        "counted": counters["calls"] - counted,
        "argument": read(x),
        "kept": [read(value) for value in kept],
    }


def read(value):
    """The numbers of an array; for what has none, such as a symbol, the name of its type."""
    with suppress(Exception):
        if not isinstance(value, adapter.symbols):
            return adapter.numpy(value)
    return type(value).__name__
