"""The same network in every framework, each variant a program in a process of its own.

    weights, x, _ = network_data(rows=64)
    result = compare(framework_variants(), weights, x)

    in_*.py    one framework each: the functions that build its variants
    variants   those that can share this process, and the comparisons that `bench` runs
    probes     questions besides times: Python calls, losses, what becomes of Python code

A function in `in_*.py` builds one variant of the network, from its weights and an input;
`train_*` builds a training step, from these, a target and a learning rate. All arrays are NumPy
arrays. `compilers` are for functions. Explained in notebook 18; each framework has its own.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np

from ..benchmark.candidates import isolated
from ..benchmark.processes import Program

SIZES = (512, 256, 128, 2)
# Framework and variant -> the file `in_<file>.py`, the function in it that builds the variant, and
# the one that builds its step of training. Of each framework, eager is first, if it has that.
VARIANTS = {
    "PyTorch, eager": ("torch", "eager", "train_eager"),
    "PyTorch, TorchScript": ("torch", "torchscript", None),
    "PyTorch, torch.compile": ("torch", "torch_compile", "train_torch_compile"),  # the loss
    "PyTorch, in one graph": ("torch", None, "train_in_one_graph"),  # forward, backward and update
    "MXNet, eager": ("mxnet", "eager", "train_eager"),
    "MXNet, hybridized": ("mxnet", "hybridized", None),
    "MXNet, static": ("mxnet", "static", "train_static"),
    "Keras on TensorFlow, eager": ("tensorflow", "eager_keras", None),
    "Keras on TensorFlow, predict_on_batch": ("tensorflow", "predict_keras", None),
    "Keras on TensorFlow, tf.function": ("tensorflow", "function_keras", None),
    "Keras on TensorFlow, XLA": ("tensorflow", "xla_keras", None),
    "TensorFlow, eager": ("tensorflow", "eager", "train_eager"),
    "TensorFlow, tf.function": ("tensorflow", "function", "train_function"),
    "TensorFlow, concrete": ("tensorflow", "concrete", None),
    "TensorFlow, XLA": ("tensorflow", "xla", "train_xla"),
    "Paddle, eager": ("paddle", "eager", "train_eager"),
    "Paddle, from bytecode": ("paddle", "bytecode", "train_bytecode"),
    "Paddle, from source": ("paddle", "source", "train_source"),
    "JAX, eager": ("jax", "eager", "train_eager"),
    "JAX, jit": ("jax", "jit", "train_jit"),
    "JAX with nn.relu, eager": ("jax", "eager_relu", None),
    "JAX with nn.relu, jit": ("jax", "jit_relu", None),
    "NumPy, three products": ("numpy", "products", None),
    "ONNX Runtime, session": ("onnxruntime", "session", None),
    "our compiler, hybridize": ("our_compiler", "hybridized", None),
    "our compiler, in a C loop": ("our_compiler", "in_a_c_loop", None),
    "our compiler, limit: reading": ("our_compiler", "reads", None),
}
# What a file imports, if it is not the module of its name.
IMPORTS = {"onnxruntime": ["onnx", "onnxruntime"], "our_compiler": ["torch"]}
# What the process of a variant runs.
PROGRAM = """
from d2lhybrid.cross_framework.{module} import {function}

def build(*args):
    return {function}(*args)
"""


def missing_frameworks() -> list[str]:
    """Return the frameworks that are not installed, so that their variants cannot be run.

    The names are those with which labels begin, such as "PyTorch" and "Keras on TensorFlow".
    """
    missing = [label for label, (file, *_) in VARIANTS.items() if not is_installed(file)]
    return list(dict.fromkeys(label.partition(", ")[0] for label in missing))


def is_installed(file: str) -> bool:
    """Whether all that the file `in_<file>.py` imports is installed."""
    return all(map(find_spec, IMPORTS.get(file, [file])))


def framework_variants(training: bool = False) -> dict[str, Program]:
    """Return all installed variants of the course's network, or of its training.

    The result maps labels such as "JAX, jit" to programs. Their arguments are weights and an input
    (rows, 512), see `network_data`; a call returns (rows, 2). Nothing is recorded for gradients.
    Each process has one thread and one core.

    With `training`, a target (rows, 2) and a learning rate follow. A call is then one step of plain
    gradient descent, and returns the mean squared error before that step.
    """
    place = 2 if training else 1
    found = {label: (row[0], row[place]) for label, row in installed_variants().items()}
    return {label: program(f"in_{file}", name) for label, (file, name) in found.items() if name}


def installed_variants() -> dict[str, tuple]:
    """Return the rows of `VARIANTS` that can be run here."""
    return {label: row for label, row in VARIANTS.items() if is_installed(row[0])}


def program(module: str, function: str) -> Program:
    """Return the Program that `function` of a module in this folder builds, with one thread."""
    return isolated(PROGRAM.format(module=module, function=function), threads=1)


def network_data(rows: int = 1, sizes: Sequence[int] = SIZES) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return (weights, input, target) for a network of these widths, the same each time.

    The weights are a matrix (inputs, outputs) and a bias (outputs,) for each layer; the input is
    (rows, 512), the target (rows, 2). All are float32 and drawn at random.
    """
    return network_weights(sizes), network_input(rows), network_target(rows)


def network_weights(sizes: Sequence[int] = SIZES) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the weights of a network of these widths: (matrix, bias) for each layer.

    A matrix is (inputs, outputs), a bias (outputs,). They are drawn at random, and are the same
    each time.
    """
    draw = np.random.default_rng(0).standard_normal
    return [
        (np.float32(draw((n, m)) / n**0.5), np.float32(0.1) * np.float32(draw(m)))
        for n, m in pairwise(sizes)
    ]


def network_input(rows: int = 1) -> np.ndarray:
    """Return an input (rows, 512), drawn at random, the same each time."""
    return np.float32(np.random.default_rng(1).standard_normal((rows, SIZES[0])))


def network_target(rows: int = 1) -> np.ndarray:
    """Return what the network is to learn, (rows, 2), drawn at random, the same each time."""
    return np.float32(np.random.default_rng(2).standard_normal((rows, SIZES[-1])))
