"""Run a Python function with symbols in place of numbers or tensors, and record what it does.

    >>> trace(lambda a, b: (a + b) * (a + b), 1, 2)
    program(a, b):
        v1 = add(a, b)
        v2 = add(a, b)
        v3 = mul(v1, v2)
        return v3

Read `trace` first, then `Recorder`, which keeps what is computed, and `Symbol`, which stands for a
value. What is refused, and why, stands in the table REFUSED.
Explained in notebook 04; torch.fx calls these `Proxy` and `Tracer`, JAX calls them tracers.
"""

import inspect
from collections.abc import Callable
from numbers import Real

from . import torch
from .graph import Graph, Node, plain_number
from .lines import LastReturn, line_of, users_line
from .operations import BATCH, LAYERS, OPERATIONS, UnsupportedOperation


class RecordingError(RuntimeError):
    """The program asks for something that a recording cannot represent."""


def trace(function: Callable, *examples: torch.Tensor | Real) -> Graph:
    """Record what a function or a module does with its arguments, and return the graph.

    Python's own actions (an `if`, a `print`) happen now, and are not repeated when the graph runs.

    Args:
        function: A function, a module, or any other callable.
        examples: One for each argument: a number, or a tensor of floats. For a tensor, only its
            type and shape matter; the value of a number doesn't. The first size of a tensor with
            two dimensions or more is the batch, and may differ from call to call.

    Raises:
        RecordingError: The function asks a symbol for something that only a value has (such as `if
            x`), changes a tensor in place, or computes a tensor from other tensors alone.
        UnsupportedOperation: It needs an operation that is not in OPERATIONS.
        ValueError: The shapes do not fit.
        TypeError: An example is neither a number nor a tensor of a floating-point type.
    """
    names = argument_names(function, len(examples))
    return record_nodes(function, [*map(input_node, names, examples)])


def record_nodes(function, inputs):
    """Do what `trace` does, from a Node for each argument in place of an example.

    What is no Node, a number, is passed as it is, and is no input of the graph.
    """
    recorder = Recorder(tensor_names(function))
    with recorder, LastReturn() as last:
        result = function(*[Symbol(x, recorder) if isinstance(x, Node) else x for x in inputs])
    if recorder.first_error:  # the program caught it and went on in another way
        raise recorder.first_error
    recorder.end = last.place and line_of(*last.place)
    container = type(result) if type(result) in (tuple, list) else None
    nodes = tuple(node for node in inputs if isinstance(node, Node))
    parts = result if container else [result]
    kind = torch.Tensor if any(node.shape is not None for node in nodes) else Real
    # not isinstance: that asks a symbol for its __class__, which is refused
    wrong = [one for one in map(type, parts) if not issubclass(one, (Symbol, torch.Tensor, kind))]
    if wrong or not parts:
        what = wrong[0].__name__.replace("NoneType", "None") if wrong else "nothing"
        recorder.refuse("returns", what + (f" in a {container.__name__}" if container else ""))
    outputs = tuple(map(recorder.node_of, parts))
    name = getattr(function, "__name__", type(function).__name__)
    name = name if name.isidentifier() else "program"  # a lambda is called <lambda>
    return Graph(name, nodes, tuple(recorder.nodes), outputs, container)


def argument_names(function, count):
    """Return the names of the first `count` parameters of a function or module, else `x1`, `x2`."""
    called = function.forward if isinstance(function, torch.nn.Module) else function
    try:
        parameters = inspect.signature(called).parameters.values()
    except (TypeError, ValueError):  # some functions written in C do not say
        parameters = []
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [*named, *[f"x{i}" for i in range(len(named) + 1, count + 1)]][:count]


def tensor_names(function):
    """Return id of a tensor -> its name, for all parameters and buffers of a module.

    `function` is the module, or a method of it; for any other function there are none.
    """
    module = getattr(function, "__self__", function)
    if not isinstance(module, torch.nn.Module):
        return {}
    named = [*module.named_buffers(), *module.named_parameters()]
    return {id(value): name for name, value in named}


def input_node(name, example):
    """Return the input that an example stands for. TypeError if it is no number or float tensor."""
    if isinstance(example, Real):
        return Node("input", name=name)
    if not isinstance(example, torch.Tensor) or not example.is_floating_point():
        raise TypeError(f"an example is a number or a tensor of floats, and {name} is neither")
    shape = tuple(example.shape)
    if len(shape) > 1:
        shape = (BATCH, *shape[1:])
    return Node("input", name=name, shape=shape, dtype=example.dtype)


# What is recorded ---------------------------------------------------------------------------

# Other names that Python and torch have for an operation -> our name.
SYNONYMS = {"truediv": "div", "divide": "div", "true_divide": "div", "multiply": "mul"}
SYNONYMS |= {"subtract": "sub", "negative": "neg"}
REVERSED = {"radd": "add", "rsub": "sub", "rmul": "mul", "rtruediv": "div"}
# Arguments with the values that change nothing.
WITHOUT_EFFECT = {"alpha": 1, "rounding_mode": None, "out": None, "inplace": False, "bias": None}
# Functions that look at a tensor's values. The recording would keep the answer as it is now.
LOOKS = ["__int__", "__float__", "__index__", "__complex__", "__bool__", "__contains__"]
LOOKS += ["item", "tolist", "numpy", "__array__"]
READS_VALUES = {*LOOKS, "is_nonzero", "equal", "allclose"}
# torch's functions of these names; another library may have functions of the same names.
KNOWN = {
    vars(home)[spelling]
    for home in (torch, torch._C.TensorBase, torch.Tensor, torch.nn.functional)
    for name in (*OPERATIONS, *SYNONYMS, *REVERSED, *LAYERS)
    for spelling in (name, f"__{name}__")
    if spelling in vars(home)
} - {torch.batch_norm}  # its parameters have another order


# Why something is refused -> what the error says: {line} is the user's line, {} what was asked.
REFUSED = {
    "asks": "{line} asks a symbol {}; it has no value yet, so {} outside of the recording",
    "changes": "{line} changes a tensor in place ({}), which a recording cannot hold; make a new "
    "one instead",
    "reads values": "{line} looks at the values of a tensor ({}), and the recording would keep "
    "them as they are now; compute with the tensor itself",
    "computed": "a tensor was computed from other tensors alone, in {line}; it would be kept as it "
    "is now. Compute it from the inputs, or hold it in a parameter",
    "returns": "{line} returns {}; return a tensor, or a list or tuple of tensors",
    "another recording": "{line} uses a symbol of another recording",
    "unsupported": "{} in {line} is not supported; supported are {operations}",
}


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
        self.end = None  # the line where the program returned, once it has ended

    def __torch_function__(self, function, types, args=(), kwargs=None):
        """Record a call with a symbol, and make any other call, unless it has to be refused."""
        name, kwargs = function.__name__, kwargs or {}
        self.refuse_if_in_place(name)
        if any(issubclass(kind, Symbol) for kind in types):
            if function not in KNOWN:
                self.refuse("unsupported", name)
            return self.add_call(name, args, kwargs)
        if name in READS_VALUES:
            self.refuse("reads values", name)
        if kwargs.get("out") is not None:
            self.refuse("changes", "out=")
        result, operands = function(*args, **kwargs), [*args, *kwargs.values()]
        for made in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(made, torch.Tensor) and not any(made is x for x in operands):
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
            return LAYERS[op](self, *args, **kwargs)
        if op not in OPERATIONS:
            self.refuse("unsupported", op)
        operation = OPERATIONS[op]
        given = dict(zip(operation.operands, args, strict=False)) | kwargs
        # not ==: a tensor compares its elements; `given` stands for no value
        given = {k: v for k, v in given.items() if v is not WITHOUT_EFFECT.get(k, given)}
        values = [given.pop(name) for name in operation.operands if name in given]
        missing = len(operation.operands) - len(values)
        if given or len(args) > len(operation.operands) or missing > operation.optional:
            self.refuse("unsupported", f"{op} with {', '.join(given) or 'these arguments'}")
        return self.add(op, tuple(map(self.node_of, values[::order])))

    def compute(self, op, *values, over=None):
        """Add a node that computes `op` of symbols, numbers or tensors; returns its symbol.

        `over`, if given, must be the size of the last axis alone.
        """
        inputs = tuple(map(self.node_of, values))
        if over is not None and tuple(over) != inputs[0].shape[-1:]:
            self.refuse("unsupported", f"{op} over several axes")
        return self.add(op, inputs)

    def add(self, op, inputs):
        """Add a node that computes `op`, of OPERATIONS, from these nodes; returns its symbol.

        UnsupportedOperation for different types, ValueError where the shapes do not fit.
        """
        shapes = [node.shape for node in inputs if node.shape is not None]
        types = {node.dtype for node in inputs if node.shape is not None}
        if len(types) > 1:
            self.refuse("unsupported", f"{op} of {' and '.join(sorted(map(str, types)))}")
        try:
            shape = OPERATIONS[op].shape(*shapes)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{op}: {error}; in {users_line()}") from None
        dtype = types.pop() if types else None
        self.nodes.append(Node(op, inputs, shape=shape, dtype=dtype))
        return Symbol(self.nodes[-1], self)

    def node_of(self, value):
        """The node of an operand: a symbol has one, for a number or a tensor one is added."""
        if isinstance(value, Symbol):
            if value.recorder is not self:
                self.refuse("another recording")
            if value.node.op == "batch":
                self.refuse("unsupported", "the batch size as a number")
            return value.node
        if isinstance(value, Real):
            self.nodes.append(Node("constant", value=plain_number(value)))
            return self.nodes[-1]
        if not isinstance(value, torch.Tensor):
            self.refuse("unsupported", type(value).__name__)
        if id(value) in self.made or value.grad_fn is not None:
            self.refuse("computed")
        if id(value) not in self.parameters:
            name = self.name_of.get(id(value), "")
            node = Node("parameter", (), value, name, tuple(value.shape), value.dtype)
            self.parameters[id(value)] = node
            self.nodes.append(node)
        return self.parameters[id(value)]

    def refuse(self, reason, *what):
        """Raise RecordingError, or UnsupportedOperation; REFUSED has the reasons.

        The first error is kept, in case the program catches it.
        """
        kind = UnsupportedOperation if reason == "unsupported" else RecordingError
        names = {"line": self.end or users_line(), "operations": ", ".join(OPERATIONS)}
        error = kind(REFUSED[reason].format(*what, **names))
        self.first_error = self.first_error or error
        raise error from None

    def refuse_if_in_place(self, name):
        """RecordingError where a method's name says that it changes a tensor."""
        if name in IN_PLACE or (name.endswith("_") and not name.endswith("__")):
            self.refuse("changes", name)


# Symbols, and the names of their methods ----------------------------------------------------

BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "divmod"]
BINARY += ["and", "or", "xor", "lshift", "rshift"]
UNARY = ["neg", "pos", "abs", "invert", "round"]
COMPARISONS = [f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge")]
IN_PLACE = {f"__i{name}__" for name in BINARY} | {"__setitem__", "__delitem__", "__set__"}
RECORDED = {f"__{name}__" for name in [*BINARY, *[f"r{op}" for op in BINARY], *UNARY, "getitem"]}
# What Python asks that only a value can answer: the question, what to do instead, the methods.
QUESTIONS = [
    ("for a comparison", "compare", COMPARISONS),
    ("for its value", "look at it", [*LOOKS, "__len__", "__iter__"]),
]


def recording(name):
    """Return the method of Symbol that records an operator of Python's, such as `__add__`."""

    def method(self, *others):
        if self.node.shape is None and name in IN_PLACE:
            return NotImplemented  # a number cannot change; Python then takes `a = a + b`
        self.recorder.refuse_if_in_place(name)
        return self.recorder.add_call(name, (self, *others), {})

    return method


def refusing(question, verb):
    """Return the method of Symbol that refuses a question which only a value can answer."""
    return lambda self, *others, **options: self.recorder.refuse("asks", question, verb)


class Symbol:
    """Stands for a value that is not there yet. Computing with it adds to the recording.

    The methods of RECORDED, IN_PLACE and QUESTIONS are added below.
    """

    # as torch.Tensor has it: NumPy's numbers then leave `number + symbol` to the symbol
    __array_priority__ = 1000

    def __init__(self, node, recorder):
        self.node, self.recorder = node, recorder

    def __setattr__(self, name, value):
        if name not in ("node", "recorder"):
            self.recorder.refuse("changes", "__set__")  # such as `x.data = y`
        object.__setattr__(self, name, value)

    def __repr__(self):
        return f"Symbol({self.node.type or 'a number'})"

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return NotImplemented  # a recorder, which torch asks first, knows what to do

    def __getattr__(self, name):
        """Return a function that records a method of tensors, such as `x.relu()`.

        AttributeError for a number, UnsupportedOperation for a method that is not in OPERATIONS.
        """
        if name.startswith("__") or self.node.shape is None:
            raise AttributeError(f"{self!r} has no attribute {name!r}")
        self.recorder.refuse_if_in_place(name)
        if SYNONYMS.get(name, name) not in {*OPERATIONS, *LAYERS}:
            self.recorder.refuse("unsupported", name)
        return lambda *args, **kwargs: self.recorder.add_call(name, (self, *args), kwargs)

    @property
    def shape(self):
        """The sizes as numbers. The size of the batch is a symbol, which refuses to be a number."""
        if self.node.shape is None:
            raise AttributeError("a number has no shape")
        batch = Symbol(Node("batch"), self.recorder)
        return tuple(batch if size == BATCH else size for size in self.node.shape)

    def dim(self):
        return len(self.shape)

    dtype = property(lambda self: self.node.dtype)

    @property
    def __class__(self):
        """Refused. `isinstance` looks here; if this were Tensor, torch's C code would read it as
        one.
        """
        self.recorder.refuse("asks", "of what type it is", "decide")

    def __hash__(self):
        """As torch's tensors, a symbol for a tensor is hashed by identity; a number is refused."""
        if self.node.shape is None:
            self.recorder.refuse("asks", "whether a set or a dict holds it", "look it up")
        return object.__hash__(self)


for name in RECORDED | IN_PLACE - {"__set__"}:
    setattr(Symbol, name, recording(name))
for question, verb, names in QUESTIONS:
    for name in names:
        setattr(Symbol, name, refusing(question, verb))
