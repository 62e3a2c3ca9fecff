"""Run a Python function with symbols in place of numbers or tensors, and record what it does.

    >>> trace(lambda a, b: (a + b) * (a + b), 1, 2)
    program(a, b):
        v1 = add(a, b)
        v2 = add(a, b)
        v3 = mul(v1, v2)
        return v3

Read `trace` first, then `Recorder`, which keeps what is computed, and `Symbol`, which stands for a
value. The refusals at the end may be skipped.
Explained in notebook 04; torch.fx calls these `Proxy` and `Tracer`, JAX calls them tracers.
"""

import copy
import inspect
import linecache
import os
import sys
from collections.abc import Callable
from contextvars import ContextVar
from numbers import Real
from pathlib import Path

from .graph import Graph, Node, plain_number
from .layers import LAYERS
from .operations import BATCH, OPERATIONS, UnsupportedOperation
from .torch_or_none import torch

# Files whose lines are not the user's program.
NOT_THE_USERS = tuple(str(Path(file).parent) + os.sep for file in (__file__, torch.__file__))
NOT_THE_USERS += (copy.__file__,)

RECORDER = ContextVar("recorder", default=None)  # the one that is recording now


class RecordingError(RuntimeError):
    """The program asks for something that a recording cannot hold."""


def noted_error(kind, text):
    """An error to raise. The recorder notes the first one, in case the program catches it.

    Here `..._error` returns an error, and `refuse_change`, a verb, raises one.
    """
    error, recorder = kind(text), RECORDER.get()
    if recorder and not recorder.first_error:
        recorder.first_error = error
    return error


def trace(function: Callable, *examples: torch.Tensor | Real) -> Graph:
    """Record what a function or a module does with its arguments.

    Python's own actions (an `if`, a `print`) happen now, and are not repeated when the graph runs.

    Args:
        function: A function, a module, or any other object that can be called.
        examples: One for each argument: a number, or a tensor of floats. Of a tensor its type and
            shape matter, of a number nothing. The first size of a tensor with two dimensions or
            more is the batch, and may differ from call to call.

    Raises:
        RecordingError: The function asks a symbol for something that only a value has (such as `if
            x`), changes a tensor in place, or computes a tensor from other tensors alone.
        UnsupportedOperation: It needs an operation that is not in OPERATIONS.
        ValueError: The shapes do not fit.
        TypeError: An example is neither a number nor a tensor of a floating-point type.
    """
    names = argument_names(function, len(examples))
    pairs = zip(names, examples, strict=True)
    return record_nodes(function, [input_node(name, example) for name, example in pairs])


def record_nodes(function, inputs):
    """As `trace`, with nodes in place of examples; numbers, and a 'batch', are no inputs."""
    recorder = Recorder(tensor_names(function))
    with recorder:
        result = function(*[Symbol(x, recorder) if isinstance(x, Node) else x for x in inputs])
    if recorder.first_error:  # the program caught it and went on in another way
        raise recorder.first_error
    # not isinstance: that asks a symbol for its __class__, which is refused
    container = type(result) if issubclass(type(result), (tuple, list, dict)) else None
    if container not in (None, tuple, list) or (container and not result):
        what = f"a {container.__name__} of {len(result)}"
        raise RecordingError(f"the program returns {what}; return a value, or use a tuple")
    outputs = tuple(map(recorder.node_of, result if container else [result]))
    name = getattr(function, "__name__", type(function).__name__)
    name = name if name.isidentifier() else "program"  # a lambda is called <lambda>
    nodes = tuple(node for node in inputs if isinstance(node, Node) and node.op == "input")
    return Graph(name, nodes, tuple(recorder.nodes), outputs, container)


def argument_names(function, count):
    """The names of the first parameters of a function or module."""
    called = function.forward if isinstance(function, torch.nn.Module) else function
    try:
        parameters = inspect.signature(called).parameters.values()
    except (TypeError, ValueError):  # some functions written in C do not say
        parameters = []
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [*named, *[f"x{i}" for i in range(len(named) + 1, count + 1)]][:count]


def tensor_names(function):
    """id of a tensor -> its name in the module that is called, or of which a method is."""
    module = getattr(function, "__self__", function)
    if not isinstance(module, torch.nn.Module):
        return {}
    named = [*module.named_buffers(), *module.named_parameters()]
    return {id(value): name for name, value in named}


def input_node(name, example):
    if isinstance(example, Real):
        return Node("input", name=name)
    if not isinstance(example, torch.Tensor) or not example.is_floating_point():
        kind = example.dtype if isinstance(example, torch.Tensor) else type(example).__name__
        raise TypeError(f"an example is a number or a tensor of floats, and {name} is {kind}")
    shape = tuple(example.shape)
    if len(shape) > 1:
        shape = (BATCH, *shape[1:])
    return Node("input", name=name, shape=shape, dtype=example.dtype)


# What is recorded ---------------------------------------------------------------------------

# Other names that Python and torch have for an operation -> our name.
SYNONYMS = {"truediv": "div", "divide": "div", "true_divide": "div", "multiply": "mul"}
SYNONYMS |= {"subtract": "sub", "negative": "neg"}
REVERSED = {"radd": "add", "rsub": "sub", "rmul": "mul", "rtruediv": "div"}
# Arguments that come after the operands.
OPTIONS = {"relu": ["inplace"], "silu": ["inplace"], "dropout": ["p", "training", "inplace"]}
# Arguments with the values that change nothing.
WITHOUT_EFFECT = {"alpha": 1, "rounding_mode": None, "out": None, "inplace": False, "bias": None}
# Functions that look at a tensor's values. The recording would keep the answer as it is now.
NUMBER = ["__int__", "__float__", "__index__", "__complex__", "item", "tolist"]
READS_VALUES = {"__bool__", "__contains__", *NUMBER, "numpy", "__array__"}
READS_VALUES |= {"is_nonzero", "equal", "allclose"}
# torch's functions of these names; another library may have functions of the same names.
KNOWN = {
    vars(home)[spelling]
    for home in (torch, torch._C.TensorBase, torch.Tensor, torch.nn.functional)
    for name in (*OPERATIONS, *SYNONYMS, *REVERSED, *LAYERS, "dropout")
    for spelling in (name, f"__{name}__")
    if spelling in vars(home)
} - {torch.batch_norm}  # its parameters have another order


class Recorder(torch.overrides.TorchFunctionMode):
    """Keeps the nodes in the order of computing.

    Within its `with`, torch calls `__torch_function__` instead of any function of its own.
    """

    def __init__(self, name_of):
        super().__init__()
        self.name_of = name_of  # id of a tensor -> its name
        self.nodes = []
        self.parameters = {}  # id of a tensor -> its node
        self.made = {}  # id -> tensor, for those that were computed during the recording
        self.first_error = None  # of the recording; the program may have caught it

    def __enter__(self):
        self.token = RECORDER.set(self)
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        RECORDER.reset(self.token)

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name, kwargs = function.__name__, kwargs or {}
        refuse_change(name)
        operands = [*args, *kwargs.values()]
        if any(isinstance(operand, Symbol) for operand in operands):
            if function not in KNOWN:
                raise unsupported_error(f"{function}" if name.strip("_") in OPERATIONS else name)
            return self.add_call(name, args, kwargs)
        if name in READS_VALUES:
            raise recording_error(
                f"looks at the values of a tensor ({name}), and the recording would keep them as "
                "they are now; compute with the tensor itself"
            )
        if kwargs.get("out") is not None:
            raise change_error("out=")
        result = function(*args, **kwargs)
        for made in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(made, torch.Tensor) and not any(made is operand for operand in operands):
                self.made[id(made)] = made
        return result

    def add_call(self, name, args, kwargs):
        """Add what torch, or Python, calls `name`. Returns the symbol of its result.

        `2 - x` arrives as `rsub(x, 2)`, and is added as `sub(2, x)`.
        """
        op, order = name.strip("_"), 1
        if op in REVERSED:
            op, order = REVERSED[op], -1
        op = SYNONYMS.get(op, op)
        if op in LAYERS:
            if kwargs.pop("inplace", False):
                raise change_error(f"{op}_")
            try:
                return LAYERS[op](self, *args, **kwargs)
            except UnsupportedOperation as error:
                raise unsupported_error(str(error)) from None
        operands = OPERATIONS[op].operands if op in OPERATIONS else ("input",)
        names = [*operands, *OPTIONS.get(op, [])]
        given = dict(zip(names, args, strict=False)) | kwargs
        for key, value in WITHOUT_EFFECT.items():
            if key in given and given[key] is value:  # not ==: a tensor compares its elements
                del given[key]
        if "inplace" in given:
            raise change_error(f"{op}_")
        if op == "dropout":
            if given.get("training", True) and given.get("p", 0.5) > 0:
                advice = "; call .eval() on the network first"
                raise unsupported_error("dropout in training", advice)
            return given["input"]
        if op not in OPERATIONS:
            raise unsupported_error(op)
        values = [given.pop(name) for name in operands if name in given]
        missing = len(operands) - len(values)
        if given or len(args) > len(names) or missing > OPERATIONS[op].optional:
            raise unsupported_error(f"{op} with {', '.join(given) or f'{len(args)} argument(s)'}")
        return self.add(op, tuple(map(self.node_of, values[::order])))

    def compute(self, op, *values, over=None):
        """Add a node, from values of any kind; `over` must be the size of the last axis alone."""
        inputs = tuple(map(self.node_of, values))
        if over is not None and tuple(over) != inputs[0].shape[-1:]:
            raise UnsupportedOperation(f"{op} over several axes")
        return self.add(op, inputs)

    def add(self, op, inputs):
        """Add a node, whose operation OPERATIONS has. Returns the symbol of its result."""
        where = users_line()
        shapes = [node.shape for node in inputs if node.shape is not None]
        types = {node.dtype for node in inputs if node.shape is not None}
        if len(types) > 1:
            raise unsupported_error(f"{op} of {' and '.join(sorted(map(str, types)))}")
        try:
            shape = OPERATIONS[op].shape(*shapes)
        except (TypeError, ValueError) as error:
            what = ", ".join(node.type or "a number" for node in inputs)
            raise ValueError(f"{op}({what}): {error}; in {where}") from None
        dtype = types.pop() if types else None
        self.nodes.append(Node(op, inputs, shape=shape, dtype=dtype, where=where))
        return Symbol(self.nodes[-1], self)

    def node_of(self, value):
        """The node of an operand: a symbol has one, for a number or a tensor one is added."""
        if isinstance(value, Symbol):
            if value.recorder is not self:
                raise recording_error("uses a symbol of another recording")
            if value.node.op == "batch":
                raise unsupported_error("the batch size as a number")
            return value.node
        if isinstance(value, Real):
            self.nodes.append(Node("constant", value=plain_number(value)))
            return self.nodes[-1]
        if not isinstance(value, torch.Tensor):
            kind = type(value).__name__
            raise recording_error(f"computes with a {kind}; use numbers and tensors")
        if id(value) in self.made or value.grad_fn is not None:
            raise noted_error(
                RecordingError,
                f"a tensor was computed from other tensors alone, in {users_line()}; it would be "
                "kept as it is now. Compute it from the inputs, or hold it in a parameter",
            )
        if id(value) not in self.parameters:
            name = self.name_of.get(id(value), "")
            node = Node("parameter", (), value, name, tuple(value.shape), value.dtype)
            self.parameters[id(value)] = node
            self.nodes.append(node)
        return self.parameters[id(value)]


# Symbols, and the names of their methods ----------------------------------------------------

BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "divmod"]
BINARY += ["and", "or", "xor", "lshift", "rshift"]
UNARY = ["neg", "pos", "abs", "invert", "round"]
COMPARISONS = [f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge")]
IN_PLACE = {f"__i{name}__" for name in BINARY} | {"__setitem__", "__delitem__", "__set__"}
RECORDED = {f"__{name}__" for name in [*BINARY, *[f"r{op}" for op in BINARY], *UNARY, "getitem"]}
COPIES = ["__copy__", "__deepcopy__", "__reduce_ex__"]
NO_VALUE = "it has no value yet, so {} outside of the recording"
QUESTIONS = {
    ("whether it is true", NO_VALUE.format("decide")): ["__bool__"],
    ("for a comparison", NO_VALUE.format("compare")): COMPARISONS,
    ("for its number", NO_VALUE.format("look at it")): NUMBER,
    ("for its length or its items", "compute with it as a whole"): ["__len__", "__iter__"],
    ("what it contains", NO_VALUE.format("look at it")): ["__contains__"],
    ("to become a NumPy array", NO_VALUE.format("convert it")): ["__array__", "numpy"],
    ("whether a set or a dict holds it", NO_VALUE.format("look it up")): ["_asked_to_hash"],
    ("for a copy", "use it as it is, nothing changes it"): COPIES,
}


def recording(name):
    """The method that records an operator of Python's."""

    def method(self, *others):
        if self.node.shape is None and name in IN_PLACE:
            return NotImplemented  # a number cannot change; Python then takes `a = a + b`
        refuse_change(name)
        return self.recorder.add_call(name, (self, *others), {})

    return method


def refusing(question, advice):
    """The method that refuses a question which only a value can answer."""

    def method(self, *others, **options):
        raise recording_error(f"asks a symbol {question}; {advice}")

    return method


class Symbol:
    """Stands for a value that is not there yet. Computing with it adds to the recording.

    The methods of RECORDED, IN_PLACE and QUESTIONS, such as `_asked_to_hash`, are added below.
    """

    # as torch.Tensor has it: NumPy's numbers then leave `number + symbol` to the symbol
    __array_priority__ = 1000

    def __init__(self, node, recorder):
        self.node, self.recorder = node, recorder

    def __setattr__(self, name, value):
        if name not in ("node", "recorder"):
            raise change_error("__set__")  # such as `x.data = y`
        object.__setattr__(self, name, value)

    def __repr__(self):
        return f"Symbol({self.node.type or 'a number'})"

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise unsupported_error(function.__name__)  # the recorder did not find the symbol in it

    def __getattr__(self, name):
        """A method of tensors, such as `x.relu()`."""
        if name.startswith("__") or self.node.shape is None:
            raise AttributeError(f"{self!r} has no attribute {name!r}")
        refuse_change(name)
        if SYNONYMS.get(name, name) not in {*OPERATIONS, *LAYERS}:
            raise unsupported_error(name)
        return lambda *args, **kwargs: self.recorder.add_call(name, (self, *args), kwargs)

    @property
    def shape(self):
        """The sizes as numbers. The size of the batch is a symbol, which refuses to be a number."""
        if self.node.shape is None:
            raise AttributeError("a number has no shape")
        batch = Symbol(Node("batch"), self.recorder)
        return tuple(batch if size == BATCH else size for size in self.node.shape)

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def dim(self):
        return len(self.shape)

    dtype = property(lambda self: self.node.dtype)

    @property
    def __class__(self):
        """`isinstance` looks here. If this were Tensor, torch's C code would read it as one."""
        raise recording_error(
            "asks a symbol of what type it is; it has a type of its own, so decide outside of the "
            "recording"
        )

    def __hash__(self):
        """As torch's tensors, a symbol for a tensor is hashed by identity; a number is refused."""
        return object.__hash__(self) if self.node.shape is not None else self._asked_to_hash()


for name in RECORDED | IN_PLACE - {"__set__"}:
    setattr(Symbol, name, recording(name))
for question, names in QUESTIONS.items():
    for name in names:
        setattr(Symbol, name, refusing(*question))


# Refusals -----------------------------------------------------------------------------------


def recording_error(what):
    return noted_error(RecordingError, f"{users_line()} {what}")


def refuse_change(name):
    """RecordingError where a method's name says that it changes a tensor."""
    if name in IN_PLACE or (name.endswith("_") and not name.endswith("__")):
        raise change_error(name)


def change_error(how):
    return recording_error(
        f"changes a tensor in place ({how}), which a recording cannot hold; make a new one instead"
    )


def unsupported_error(name, advice=""):
    return noted_error(
        UnsupportedOperation,
        f"{name} in {users_line()} is not supported{advice}; supported are {', '.join(OPERATIONS)}",
    )


def users_line():
    """The line of the user's program that runs now: "line 3 of forward, `if x > 0:`"."""
    frame, layer = sys._getframe(1), ""
    while frame.f_back and frame.f_code.co_filename.startswith(NOT_THE_USERS):
        module = frame.f_locals.get("self")
        is_module = issubclass(type(module), torch.nn.Module)
        if not layer and is_module and not [*module.children()]:
            layer = f"{module!r}, called in "
        frame = frame.f_back
    code, place = frame.f_code, f"line {frame.f_lineno}"
    if not code.co_name.startswith(("<module", "<cell")):
        place += f" of {code.co_name}"
    text = linecache.getline(code.co_filename, frame.f_lineno, frame.f_globals).strip()
    return f"{layer}{place}, `{text}`" if text else layer + place
