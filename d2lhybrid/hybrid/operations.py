"""The operations of the compiler. A new one is an entry in OPERATIONS; see `hybrid` for the rest.

    >>> add = OPERATIONS["add"]
    >>> add.function(1, 2), fill(add.c, ["x", "y"]), add.shape(("n", 3), (3,))
    (3, 'x + y', ('n', 3))

LAYERS, at the end, are recorded as several operations, or have options.
Explained in notebook 13. torch._inductor calls such entries lowerings, JAX calls them primitives
with their rules.
"""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from . import torch

functional = torch.nn.functional
BATCH = "n"  # the first size of a shape, where it may differ from call to call


class UnsupportedOperation(NotImplementedError):
    """The program needs an operation that this compiler does not have."""


def broadcast(*shapes):
    """Return the common shape of tensors, as NumPy and torch define it; None for numbers alone.

    ValueError where sizes do not fit, or the batch would not be the first.
    """
    if not shapes:
        return None
    common = [1] * max(map(len, shapes))
    for shape in shapes:
        for i, size in enumerate(shape, len(common) - len(shape)):
            if size != 1 and common[i] not in (1, size):
                raise ValueError(f"a size of {size} does not match {common[i]}")
            common[i] = common[i] if size == 1 else size
    if BATCH in common[1:]:
        raise ValueError("the batch must be the first size of the result")
    return tuple(common)


def linear_shape(x, weight, bias=None):
    """Return the shape of x @ weight.T + bias: (..., k), (m, k) and (m,) make (..., m)."""
    fits = len(weight) == 2 and BATCH not in weight and x[-1:] == weight[1:]
    if not fits or bias not in (None, weight[:1]):
        raise ValueError("the weight or the bias does not fit")
    return (*x[:-1], weight[0])


def row_shape(x):
    """Return the shape of what is computed from whole rows: (..., k) stays (..., k)."""
    if not x or x[-1] == BATCH:
        raise ValueError("it needs rows of a fixed size")
    return x


def layer_norm(x, eps):
    """Each row, moved to the mean 0 and scaled to the variance 1."""
    return functional.layer_norm(x, x.shape[-1:], eps=eps)


def rms_norm(x, eps):
    """Each row, scaled to the mean square 1."""
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps)


def softmax(x):
    """Each row, as positive numbers whose sum is 1."""
    return torch.softmax(x, -1)


def log_softmax(x):
    """The logarithm of each number in `softmax`."""
    return torch.log_softmax(x, -1)


gelu_tanh = partial(functional.gelu, approximate="tanh")


@dataclass(frozen=True)
class Operation:
    """What a node may compute: with numbers or tensors, in Python, in C, and with shapes.

    Without a template `rows` an operation is elementwise: `c` computes one number from one number
    of each operand. With it, the statement `rows` first computes all rows of the result, and `c`
    is then applied to each number in them.
    """

    function: Callable  # of numbers or tensors
    python: str  # an expression, with {} for each operand
    c: str  # the same for floats; with `rows`, the first {} is the number that `rows` computed
    operands: tuple[str, ...] = ("input",)  # what torch calls them
    optional: int = 0  # how many of the last operands may be missing
    shape: Callable = broadcast  # from the shapes of the tensors; ValueError where they do not fit
    # {0} is the address of the first operand, {n} rows of {k} numbers; {1} and so on are numbers,
    # or addresses of operands that each row needs as a whole; {out} is the address of the result,
    # {n} rows of {m} numbers. `c` gets the operands left over. Filled for a linear layer and for
    # layer_norm: `dots(n, 512, 256, x, weight, v2);`, `layer_norm(n, 256, 0.500000000f, x, v1);`.
    rows: str = ""

    @property
    def is_elementwise(self) -> bool:
        return not self.rows

    @property
    def sign(self) -> str:
        """`+`, `-`, `*` or `/`, of an operation that is written with a sign; or ''."""
        return "" if "(" in self.python else self.python.replace("{}", "").strip()

    @property
    def read_by_rows(self) -> int:
        """How many operands `rows` reads, the first ones.

        `c` has one place for what `rows` computed, and one for each remaining operand. A linear
        layer has 3 operands and 2 places: one of these is for the bias, so `rows` reads 3 - 1.
        """
        return len(self.operands) + 1 - self.c.count("{}") if self.rows else 0

    @property
    def is_row_by_row(self) -> bool:
        """Whether `rows` may compute one row at a time; `dots` needs many."""
        return bool(self.rows) and "{m}" not in self.rows


def infix(function, sign):
    """Return an operation that Python and C write alike, with a sign between two operands."""
    template = f"{{}} {sign} {{}}"
    return Operation(function, template, template, operands=("input", "other"))


def by_rows(function, operands):
    """Return an operation that makes rows from rows, by the C function of the same name."""
    name = function.__name__
    places = ", ".join("{}" for _ in operands)
    numbers = "".join(f"{{{i}}}, " for i in range(1, len(operands)))
    call = f"{name}({{n}}, {{k}}, {numbers}{{0}}, {{out}});"
    return Operation(function, f"{name}({places})", "{}", operands, shape=row_shape, rows=call)


# An elementwise operation of one tensor needs only the first three fields. A C function that math.h
# does not have, such as relu, is in prelude.c.
OPERATIONS = {
    "add": infix(operator.add, "+"),
    "sub": infix(operator.sub, "-"),
    "mul": infix(operator.mul, "*"),
    "div": infix(operator.truediv, "/"),
    "neg": Operation(operator.neg, "-{}", "-{}"),
    "exp": Operation(torch.exp, "exp({})", "inline_expf({})"),
    "log": Operation(torch.log, "log({})", "inline_logf({})"),
    "relu": Operation(torch.relu, "relu({})", "relu({})"),
    "tanh": Operation(torch.tanh, "tanh({})", "inline_tanhf({})"),
    "sigmoid": Operation(torch.sigmoid, "sigmoid({})", "sigmoid({})"),
    "silu": Operation(functional.silu, "silu({})", "silu({})"),
    "gelu": Operation(functional.gelu, "gelu({})", "gelu({})"),
    "gelu_tanh": Operation(gelu_tanh, "gelu_tanh({})", "gelu_tanh({})"),
    "rsqrt": Operation(torch.rsqrt, "rsqrt({})", "1 / sqrtf({})"),
    "softmax": by_rows(softmax, operands=("input",)),
    "log_softmax": by_rows(log_softmax, operands=("input",)),
    "layer_norm": by_rows(layer_norm, operands=("input", "eps")),
    "rms_norm": by_rows(rms_norm, operands=("input", "eps")),
    "linear": Operation(
        functional.linear,
        "linear({}, {}, {})",
        "{} + {}",
        operands=("input", "weight", "bias"),
        optional=1,
        shape=linear_shape,
        rows="dots({n}, {k}, {m}, {0}, {1}, {out});",
    ),
}
"""Name -> Operation: all that the compiler can record, in PyTorch, in Python and in C."""


def operation_names():
    """Return the names that variables in generated text must not have, because operations do."""
    templates = " ".join(operation.c + operation.rows for operation in OPERATIONS.values())
    return {*OPERATIONS, *re.findall(r"\w+(?=\()", templates)}


def fill(template, values):
    """Return a template with the values in its places {}, in order.

    Places for which there is no value are left out, with the text before them:

    >>> fill("linear({}, {}, {})", ["x", "weight"])
    'linear(x, weight)'
    """
    *parts, end = template.split("{}")
    return "".join(part + value for part, value in zip(parts, values, strict=False)) + end


# Layers that are recorded as several operations, or that have options ------------------------
#
# Each function has the parameters of torch's own. It gets symbols and tensors, and the recorder.
# Inductor calls such rules decompositions.


def record_gelu(recorder, input, approximate="none"):
    """Record torch.nn.functional.gelu, exact or by a tanh; returns the symbol."""
    if approximate not in ("none", "tanh"):
        recorder.refuse("unsupported", f"gelu with approximate={approximate!r}")
    return recorder.compute("gelu" if approximate == "none" else "gelu_tanh", input)


def record_softmax(recorder, input, dim=None, _stacklevel=None, dtype=None):
    """Record torch.softmax, over the last axis only; returns the symbol."""
    return record_over_last("softmax", recorder, input, dim, dtype or _stacklevel)


def record_log_softmax(recorder, input, dim=None, _stacklevel=None, dtype=None):
    """Record torch.log_softmax, in the same way."""
    return record_over_last("log_softmax", recorder, input, dim, dtype or _stacklevel)


def record_over_last(name, recorder, input, dim, dtype):
    """Record what goes over the last axis; to go over another one is refused."""
    last = len(recorder.node_of(input).shape or ()) - 1
    # torch.softmax has the dtype in the place of nn.functional.softmax's _stacklevel, a number
    if isinstance(dtype, torch.dtype) or dim is None or dim not in (-1, last):
        recorder.refuse("unsupported", f"{name} with dim={dim} or a dtype")
    return recorder.compute(name, input)


def record_layer_norm(recorder, input, normalized_shape, weight=None, bias=None, eps=1e-5, *_):
    """Record torch.nn.functional.layer_norm, over the last axis only; returns the symbol."""
    normalized = recorder.compute("layer_norm", input, eps, over=normalized_shape)
    return scaled(recorder, normalized, weight, bias)


def record_rms_norm(recorder, input, normalized_shape, weight=None, eps=None):
    """Record torch.nn.functional.rms_norm, over the last axis only; returns the symbol."""
    eps = torch.finfo(recorder.node_of(input).dtype).eps if eps is None else eps
    normalized = recorder.compute("rms_norm", input, eps, over=normalized_shape)
    return scaled(recorder, normalized, weight, None)


def record_dropout(recorder, input, p=0.5, training=True, inplace=False):
    """Return the input: outside of training dropout does nothing, and in training it is refused."""
    if training and p > 0:
        recorder.refuse("unsupported", "dropout in training (call .eval() on the network first)")
    return input


def record_batch_norm(
    recorder, input, mean, variance, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5
):
    """Record torch.nn.functional.batch_norm of (n, features), outside of training.

    It takes the mean and the variance that were kept; returns the symbol.
    """
    if training:
        recorder.refuse("unsupported", "batch_norm in training (call .eval() on the network first)")
    if len(recorder.node_of(input).shape) != 2:
        recorder.refuse("unsupported", "batch_norm of other than rows")
    spread = recorder.compute("rsqrt", recorder.compute("add", variance, eps))
    centered = recorder.compute("sub", input, mean)
    return scaled(recorder, recorder.compute("mul", centered, spread), weight, bias)


def scaled(recorder, value, weight, bias):
    """Record a value times a weight, if there is one, plus a bias, if there is one."""
    value = value if weight is None else recorder.compute("mul", value, weight)
    return value if bias is None else recorder.compute("add", value, bias)


LAYERS = [record_gelu, record_softmax, record_log_softmax, record_dropout]
LAYERS += [record_layer_norm, record_rms_norm, record_batch_norm]
LAYERS = {one.__name__.removeprefix("record_"): one for one in LAYERS}
"""What torch calls it -> the function that records it."""
