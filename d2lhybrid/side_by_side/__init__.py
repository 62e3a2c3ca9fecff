"""The same network in every framework of the course, each way a program in a process of its own.

    result = compare(framework_ways(), network_weights(), network_input(rows=64))

Each file `in_*.py` holds one framework's programs. A function there builds one way to run the
network, from its weights and an input; `train_*` builds a step of training, from these, a target
and a learning rate. All arrays are NumPy's. `compilers` are for functions. `questions` and
`behaviour` ask about more than times. Explained in notebook 17, each framework in one of its own.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..benchmark.candidates import own_process
from ..benchmark.processes import Program, ProgramRunner, close_all

HERE = Path(__file__).resolve().parent
SIZES = (512, 256, 128, 2)


@dataclass(frozen=True)
class Programs:
    """The functions that build something in the file `in_<name>.py`: label -> function."""

    name: str
    ways: dict[str, str]  # the first is eager, if any is
    steps: dict[str, str] = field(default_factory=dict)  # of training
    needs: tuple[str, ...] = ()  # what must be installed, if it is not the module of this name

    @property
    def is_there(self) -> bool:
        """Whether all that they import is installed."""
        return all(map(find_spec, self.needs or [self.name]))


PROGRAMS_OF = {
    "PyTorch": Programs(
        "torch",
        {"eager": "eager", "TorchScript": "torchscript", "torch.compile": "torch_compile"},
        {
            "eager": "train_eager",
            "torch.compile": "train_torch_compile",  # the loss
            "in one graph": "train_in_one_graph",  # forward, backward and update
        },
    ),
    "MXNet": Programs(
        "mxnet",
        {"eager": "eager", "hybridized": "hybridized", "static": "static"},
        {"eager": "train_eager", "static": "train_static"},
    ),
    "Keras on TensorFlow": Programs(
        "tensorflow",
        {
            "eager": "eager_keras",
            "predict_on_batch": "predict_keras",
            "tf.function": "function_keras",
            "XLA": "xla_keras",
        },
    ),
    "TensorFlow": Programs(
        "tensorflow",
        {"eager": "eager", "tf.function": "function", "concrete": "concrete", "XLA": "xla"},
        {"eager": "train_eager", "tf.function": "train_function", "XLA": "train_xla"},
    ),
    "Paddle": Programs(
        "paddle",
        {"eager": "eager", "from bytecode": "bytecode", "from source": "source"},
        {"eager": "train_eager", "from bytecode": "train_bytecode", "from source": "train_source"},
    ),
    "JAX": Programs(
        "jax", {"eager": "eager", "jit": "jit"}, {"eager": "train_eager", "jit": "train_jit"}
    ),
    "JAX with nn.relu": Programs("jax", {"eager": "eager_relu", "jit": "jit_relu"}),
    "NumPy": Programs("numpy", {"three products": "products"}),
    "ONNX Runtime": Programs("onnxruntime", {"session": "session"}, needs=("onnx", "onnxruntime")),
    "our compiler": Programs(
        "our_compiler",
        {"hybridize": "hybridized", "in a C loop": "in_a_c_loop", "limit: reading": "reads"},
        needs=("torch",),
    ),
}


def missing_frameworks() -> list[str]:
    """The frameworks that are not installed, so that their ways cannot be run."""
    return [name for name, framework in PROGRAMS_OF.items() if not framework.is_there]


def framework_ways() -> dict[str, Program]:
    """Every installed way to run the course's network: "JAX, jit" -> program.

    The arguments are `network_weights()` and an input (rows, 512); a call returns (rows, 2).
    Nothing is kept for gradients, and each process has one thread and one core.
    """
    return _programs("ways")


def framework_steps() -> dict[str, Program]:
    """Every installed way to train the network: "JAX, jit" -> program, whose call is one step.

    The arguments are those of `framework_ways`, a target (rows, 2) and a learning rate. A step of
    plain gradient descent returns the mean squared error from before it.
    """
    return _programs("steps")


def _programs(kind):
    return {
        label: own_process(HERE / "way.py", threads=1, argv=(name, function))
        for name in _names()
        for label, function in functions_in(name, kind).items()
    }


def _names():
    """Of the files of programs that can be run here."""
    return dict.fromkeys(one.name for one in PROGRAMS_OF.values() if one.is_there)


def functions_in(name: str, kind: str) -> dict[str, str]:
    """The "ways" or "steps" that the file of this name holds: "JAX, jit" -> function."""
    return {
        f"{framework}, {label}": function
        for framework, programs in PROGRAMS_OF.items()
        if programs.name == name
        for label, function in getattr(programs, kind).items()
    }


def network_weights(sizes: Sequence[int] = SIZES) -> list[tuple[np.ndarray, np.ndarray]]:
    """Weights of a network with these widths: a matrix (inputs, outputs) and a bias for each layer.

    They are drawn at random, and are the same each time.
    """
    draw = np.random.default_rng(0).standard_normal
    return [
        (np.float32(draw((n, m)) / n**0.5), np.float32(0.1) * np.float32(draw(m)))
        for n, m in pairwise(sizes)
    ]


def network_input(rows: int = 1) -> np.ndarray:
    """An input (rows, 512), drawn at random, the same each time."""
    return np.float32(np.random.default_rng(1).standard_normal((rows, SIZES[0])))


def network_target(rows: int = 1) -> np.ndarray:
    """What the network is to learn, (rows, 2), drawn at random, the same each time."""
    return np.float32(np.random.default_rng(2).standard_normal((rows, SIZES[-1])))


def ask_frameworks(
    weights: list, x: np.ndarray, target: np.ndarray, rate: float
) -> dict[str, dict[str, Any]]:
    """Ask the installed frameworks more than times, with the arguments of `framework_steps`.

    Returns for each question a dict from labels to answers. The ways are asked with one row.

        python_calls  how many functions of Python one call calls: {"JAX, jit": 1}
        losses        of the first four steps of training: {"JAX, jit": [1.02, 0.95, 0.90, 0.85]}
        outcomes      what becomes of Python in a function: {"jax.jit": {"a counter": "error"}}
        failures      why a way has no answers: {"our compiler, hybridize": "CompilerNotFound: ..."}

    All ways of a framework share one process. A CandidateError if that fails as a whole.
    """
    asking, runners, found = own_process(HERE / "questions.py", "answers", threads=1), [], {}
    for name in _names():
        functions = functions_in(name, "ways"), functions_in(name, "steps")
        args = name, *functions, weights, x, target, rate
        runners.append(ProgramRunner(name, asking, args))
    pool = ThreadPoolExecutor(2)  # two at a time, since each keeps a core busy
    try:
        for answers in pool.map(_answers, runners):
            for question, answer in answers.items():
                found.setdefault(question, {}).update(answer)
    finally:
        close_all(runners)  # first, or the pool would wait for their answers
        pool.shutdown(cancel_futures=True)
    return found


def _answers(runner):
    runner.load()
    runner.warm_up(share_cores=False)
    return runner.results[-1]
