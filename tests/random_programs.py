"""Random networks and programs, each made by its seed, and what must be true of them.

`check_program(seed)` compiles one and compares it with torch, and `check_layers(seed)` one of
linear layers of any width; `number_function` and `tensor_program` make what the passes are tried
on. Nothing in here needs pytest:

    .venv/bin/python tests/random_programs.py 300

checks so many, and says how many were right.
"""

import random
import re
import sys
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import nn

from d2lhybrid import hybridize

WIDTHS = [1, 2, 3, 5, 7, 13, 64]
BATCHES = [0, 1, 2, 7, 64]
BATCH = "n"
ULP = 2.0**-23
NAN, INF = float("nan"), float("inf")
SPECIAL = [NAN, INF, -INF, -0.0, 0.0, 1e-40, -1e-45, 1e30, -1e30]


@dataclass
class RandomProgram:
    """A module, how it was written, and the shapes of its inputs, with 'n' for the batch."""

    text: str
    net: nn.Module
    shapes: list

    def inputs(self, rng, batch):
        """Numbers between 0.1 and 3, of either sign: safe to divide by."""
        return [self.numbers(rng, [batch if s == BATCH else s for s in one]) for one in self.shapes]

    @staticmethod
    def numbers(rng, shape, low=0.1, high=3.0):
        chance = torch.Generator().manual_seed(rng.getrandbits(32))
        sizes = low + (high - low) * torch.rand(shape, generator=chance)
        return sizes * (1 - 2 * torch.randint(0, 2, shape, generator=chance))


def random_program(seed):
    """One of three kinds in turn: layers in a row, a free program with layers, one without."""
    rng = random.Random(seed)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        if seed % 3 == 0:
            return sequential(rng)
        return Writer(rng, layers=seed % 3 == 1).program()


def feature_shape(rng, width):
    """Of an input whose last size is `width`: without a batch, with one, or with one size more."""
    return rng.choice([(width,), *[(BATCH, width)] * 2, (BATCH, rng.choice([1, 3]), width)])


# Layers in a row ----------------------------------------------------------------------------


def sequential(rng):
    width = first = rng.choice(WIDTHS)
    layers = []
    for _ in range(rng.randrange(1, 6)):
        wide = rng.choice(WIDTHS)
        layers.append(nn.Linear(width, wide, bias=rng.random() < 0.7))
        width = wide
        layers += rng.choice([[], [nn.ReLU()], [nn.Tanh()], [nn.Sigmoid()], [nn.Tanh(), nn.ReLU()]])
        layers += rng.choice([[], [nn.GELU()], [nn.GELU("tanh")], [nn.SiLU()], [nn.Softmax(-1)]])
        if width >= 7:  # of few numbers that are nearly equal, a norm makes rounding errors large
            layers += rng.choice([[], [], [nn.LayerNorm(width)], [nn.RMSNorm(width)]])
        layers += rng.choice([[], [], [nn.Dropout()], [nn.Identity()]])
    net = nn.Sequential(*layers).eval()
    return RandomProgram(repr(net), net, [feature_shape(rng, first)])


# Free programs ------------------------------------------------------------------------------

UNARY = {
    "relu": ["torch.relu({})", "F.relu({})", "{}.relu()", "self.relu({})"],
    "tanh": ["torch.tanh({})", "{}.tanh()", "self.tanh({})"],
    "sigmoid": ["torch.sigmoid({})", "{}.sigmoid()", "self.sigmoid({})"],
    "exp": ["torch.exp({})", "{}.exp()"],
    "log": ["torch.log({0} * {0} + 1.5)", "({0} * {0} + 1.5).log()"],
    "rsqrt": ["torch.rsqrt({0} * {0} + 1)"],
    "silu": ["F.silu({})"],
    "gelu": ["F.gelu({})", "F.gelu({}, approximate='tanh')"],
    "neg": ["-{}", "torch.neg({})", "{}.neg()"],
}
BINARY = {
    "add": ["{} + {}", "torch.add({}, {})", "torch.add(other={1}, input={0})"],
    "sub": ["{} - {}", "torch.sub({}, {})", "torch.sub(other={1}, input={0})"],
    "mul": ["{} * {}", "torch.mul({}, {})", "torch.multiply({}, {})"],
}
NUMBERS = ["2", "0.3", "-1.5", "1e-3"]
ROWS = {
    "softmax": ["torch.softmax({}, -1)", "F.softmax({}, dim=-1)", "{}.softmax(-1)"],
    "log_softmax": ["torch.log_softmax({}, -1)", "F.log_softmax({}, dim=-1)"],
    "norm": ["F.layer_norm({}, [WIDTH])", "F.rms_norm({}, [WIDTH])", "self.NAME({})"],
}
DENOMINATORS = ["(1.5 + torch.tanh({}))", "(torch.sigmoid({}) + 0.5)", "(1 + torch.relu({}))"]


@dataclass
class Value:
    """A name in the text, the shape of its value, and how large its numbers may be."""

    name: str
    shape: tuple
    bound: float = 3.0


class Writer:
    """Writes the `forward` of a module, line by line. Whatever it divides by is not near 0.

    So both ways of computing it in float32 are about equally far from the truth, and neither
    overflows, but for inputs that are special.
    """

    def __init__(self, rng, layers=True, steps=18, number=False):
        self.rng, self.layers, self.steps = rng, layers, steps
        self.lines, self.width = [], rng.choice(WIDTHS)
        main = feature_shape(rng, self.width)
        self.inputs = [Value("x", main)]
        if rng.random() < 0.4:
            smaller = tuple(s if s == BATCH or rng.random() < 0.6 else 1 for s in main)
            self.inputs.append(Value("y", rng.choice([smaller, smaller, (self.width,), ()])))
        self.values = list(self.inputs)
        self.scalars = [Value("s", None)] if number else []
        self.net = type("Net", (nn.Module,), {})()
        self.net.relu, self.net.tanh, self.net.sigmoid = nn.ReLU(), nn.Tanh(), nn.Sigmoid()

    def program(self):
        for _ in range(self.rng.randrange(2, self.steps + 1)):
            self.step()
        results = self.results()
        arguments = ", ".join([*(v.name for v in self.inputs), *["s"] * bool(self.scalars)])
        lines = "\n".join(f"    {line}" for line in [*self.lines, f"return {results}"])
        text = f"def forward(self, {arguments}):\n{lines}\n"
        space = {"torch": torch, "F": F}
        exec(compile(text, "<random program>", "exec"), space)
        type(self.net).forward = space["forward"]
        return RandomProgram(text, self.net, [value.shape for value in self.inputs])

    def results(self):
        last = self.values[-1].name
        if self.rng.random() < 0.5:
            return last
        some = self.rng.choices([*self.values, *self.values[-4:] * 2], k=self.rng.randrange(4))
        names = ", ".join([last, *(value.name for value in some)])
        return f"({names},)" if self.rng.random() < 0.7 else f"[{names}]"

    def step(self):
        kinds = ["unary"] * 4 + ["binary"] * 4 + ["number", "divide", "divide", "again"]
        kinds += (
            ["rows"] * 2 + ["linear"] * 5 * self.layers + ["scalar", "scalar"] * bool(self.scalars)
        )
        getattr(self, self.rng.choice(kinds))()

    def write(self, template, *operands, bound, shape=None):
        """One more line, where the shapes fit and the numbers stay small."""
        shape = shape or common_shape([one.shape for one in operands])
        if shape is None or bound > 1e4:
            return
        name = f"v{len(self.lines) + 1}"
        self.lines.append(f"{name} = {template.format(*(one.name for one in operands))}")
        self.values.append(Value(name, shape, bound))

    def unary(self):
        value, op = self.rng.choice(self.values[-3:]), self.rng.choice([*UNARY, "exp"])
        if op == "exp" and value.bound > 7:
            op = "tanh"
        bounds = {"exp": 1100.0, "tanh": 1.0, "sigmoid": 1.0, "rsqrt": 1.0, "log": value.bound + 1}
        self.write(self.rng.choice(UNARY[op]), value, bound=bounds.get(op, value.bound))

    def rows(self):
        value = self.rng.choice(self.values[-3:])
        if not value.shape or value.shape[-1] == BATCH:
            return
        width, name = value.shape[-1], f"norm{len(self.lines)}"
        op = "softmax" if width < 7 else self.rng.choice(list(ROWS))
        setattr(self.net, name, self.rng.choice([nn.LayerNorm, nn.RMSNorm])(width))
        template = self.rng.choice(ROWS[op]).replace("NAME", name).replace("WIDTH", str(width))
        bounds = {"softmax": 1.0, "log_softmax": 2 * value.bound + width}
        self.write(template, value, bound=bounds.get(op, width**0.5))

    def binary(self):
        pair = [self.rng.choice(self.values[-3:]), self.operand()]
        self.rng.shuffle(pair)
        op = self.rng.choice(list(BINARY))
        left, right = (one.bound for one in pair)
        bound = left * right if op == "mul" else left + right
        self.write(self.rng.choice(BINARY[op]), *pair, bound=bound)

    def number(self):
        value, number = self.rng.choice(self.values[-3:]), self.rng.choice(NUMBERS)
        template = self.rng.choice(["{} + {}", "{} - {}", "{} * {}"])
        pair = self.rng.choice([("{}", number), (number, "{}")])
        self.write(template.format(*pair), value, bound=2 * value.bound + 2)

    def divide(self):
        value, below = self.rng.choice(self.values[-4:]), self.rng.choice(self.values)
        ways = [
            ("{} / {}", [value, self.rng.choice(self.inputs)], 10 * value.bound),
            ("{} / {}", [value, self.parameter()], 2 * value.bound),
            ("{} / " + self.rng.choice(NUMBERS[:3]), [value], 4 * value.bound),
            ("{} / " + self.rng.choice(DENOMINATORS), [value, below], 2 * value.bound),
            (self.rng.choice(NUMBERS) + " / " + self.rng.choice(DENOMINATORS), [below], 4.0),
        ]
        template, operands, bound = self.rng.choice(ways)
        self.write(template, *operands, bound=bound)

    def again(self):
        """A line that was there already, for another name: something to share."""
        computed = self.values[len(self.inputs) :]
        if computed:
            before = self.rng.choice(computed)
            right = next(line for line in self.lines if line.startswith(f"{before.name} = "))
            self.write(right.partition(" = ")[2], bound=before.bound, shape=before.shape)

    def linear(self):
        value = self.rng.choice(self.values[-3:])
        if not value.shape:
            return
        k, m = value.shape[-1], self.rng.choice(WIDTHS)
        name, bias = f"layer{len(self.lines)}", self.rng.random() < 0.7
        setattr(self.net, name, nn.Linear(k, m, bias=bias))
        ways = ["self.NAME({})", "F.linear({}, self.NAME.weight, self.NAME.bias)"]
        ways += ["F.linear({}, weight=self.NAME.weight)"] * (not bias)
        template = self.rng.choice(ways).replace("NAME", name)
        bound = value.bound * k**0.5 + 1
        self.write(template, value, bound=bound, shape=(*value.shape[:-1], m))

    def scalar(self):
        """Arithmetic of numbers alone, or of a number and a tensor."""
        number = self.rng.choice(self.scalars).name
        other = self.rng.choice([*NUMBERS, *(one.name for one in self.scalars)])
        if self.rng.random() < 0.5:
            name = f"s{len(self.lines) + 1}"
            self.lines.append(f"{name} = {number} {self.rng.choice('+-*')} {other}")
            self.scalars.append(Value(name, None))
        else:
            value = self.rng.choice(self.values)
            self.write(f"{{}} {self.rng.choice('+-*')} {number}", value, bound=value.bound)

    def operand(self):
        return self.rng.choice([*self.values, *self.values[-2:], self.parameter()])

    def parameter(self):
        """A parameter that stretches to the shape of the first input, in one of many ways."""
        fixed = self.inputs[0].shape[-2:] if len(self.inputs[0].shape) == 3 else (self.width,)
        shape = tuple(size if self.rng.random() < 0.6 else 1 for size in fixed)
        shape = self.rng.choice([shape, shape[1:], (), (1, *shape)])
        shape = shape[-len(self.inputs[0].shape) :]
        name = f"p{len(self.net._parameters)}"
        numbers = RandomProgram.numbers(self.rng, shape, 0.5, 1.5)
        self.net.register_parameter(name, nn.Parameter(numbers))
        return Value(f"self.{name}", shape, 1.5)


def common_shape(shapes):
    """What torch would make of them; None where they do not fit or the batch would not be first."""
    stand_in = 11  # a size that nothing else has
    try:
        shapes = [[stand_in if size == BATCH else size for size in shape] for shape in shapes]
        common = torch.broadcast_shapes(*shapes)
    except RuntimeError:
        return None
    shape = tuple(BATCH if size == stand_in else size for size in common)
    return None if BATCH in shape[1:] else shape


# The check ----------------------------------------------------------------------------------


def check_program(seed):
    """Compile a random program, compare it with torch, on inputs and weights of all sorts.

    AssertionError, with the program, where they differ. On ordinary numbers the largest error,
    against float64, may be four times that of torch in float32, or four units in the last place of
    the largest result.
    """
    check(random_program(seed), seed)


def check(program, seed):
    try:
        with torch.no_grad():
            assert_agrees_with_torch(program, random.Random(seed + 0.5))
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {error}\n{program.text}\n{program.shapes}") from None


def assert_agrees_with_torch(program, rng):
    fast = hybridize(program.net, *program.inputs(rng, 2))
    batched = BATCH in program.shapes[0]
    # One row and then another, as many as the batches have, where a call takes one.
    batches = BATCHES if batched else [1] * sum(BATCHES)
    compare_errors(program.net, fast, [program.inputs(rng, batch) for batch in batches])

    def assert_agrees(result, inputs, what, rows=False):
        like, exact = program.net(*inputs), in_float64(program.net, inputs)
        assert_close(result, like, what, rows, exact)

    for inputs in special_inputs(program, rng, batched):
        assert_agrees(fast(*inputs), inputs, "special numbers", rows=batched)
    for name, layout in LAYOUTS.items():
        inputs = program.inputs(rng, 7)
        assert_agrees(fast(*map(layout, inputs)), inputs, name)
    for parameter in program.net.parameters():
        parameter.mul_(-0.75)
    inputs = program.inputs(rng, 7)
    assert_agrees(fast(*inputs), inputs, "weights changed in place")
    assert fast.compilations == 1, f"{fast.compilations} compilations"


def compare_errors(net, fast, batches):
    """The largest errors of both against float64, over all batches; results must look alike."""
    scale = ours = torchs = 0.0
    for inputs in batches:
        result, like = fast(*inputs), net(*inputs)
        assert type(result) is type(like), f"a {type(result).__name__}"
        exact = in_float64(net, inputs)
        for one, other, true in zip(as_list(result), as_list(like), exact, strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype), f"{one.shape} {one.dtype}"
            assert one.is_contiguous(), "not contiguous"
            assert not one.requires_grad, "requires gradients"
            assert same_specials(one, other), f"NaN or infinity elsewhere: {one} {other}"
            finite = other.isfinite() & true.isfinite()
            if finite.any():
                scale = max(scale, true[finite].abs().max().item())
                ours = max(ours, (one - true)[finite].abs().max().item())
                torchs = max(torchs, (other - true)[finite].abs().max().item())
    allowed = max(4 * torchs, 4 * ULP * scale)
    assert ours <= allowed, f"errors {ours:.3g} and torch's {torchs:.3g}, results up to {scale:.3g}"


def as_list(result):
    return [result] if isinstance(result, torch.Tensor) else list(result)


def same_specials(one, other):
    kinds = torch.isnan, torch.isposinf, torch.isneginf
    return all(torch.equal(kind(one), kind(other)) for kind in kinds)


def in_float64(net, inputs):
    return as_list(deepcopy(net).double()(*[x.double() for x in inputs]))


def assert_close(result, like, what, rows=False, exact=None):
    """Special numbers at the same places; others nearly the same, in each row on its own.

    `exact` is the result in float64. It may be four times as far off as torch is: a norm of nearly
    equal numbers magnifies the rounding errors of both.
    """
    like = as_list(like)
    for one, other, true in zip(as_list(result), like, exact or like, strict=True):
        assert one.shape == other.shape, f"{what}: {one.shape}, torch {other.shape}"
        assert same_specials(one, other), f"{what}: {one}, torch {other}"
        by_row = rows and one.dim() > 1
        parts = zip(one, other, true, strict=True) if by_row else [(one, other, true)]
        for mine, theirs, known in parts:
            finite = theirs.isfinite() & known.isfinite()
            mine, theirs, known = (x[finite].double() for x in (mine, theirs, known))
            if len(known):
                error, torchs = (mine - known).abs().max(), (theirs - known).abs().max()
                allowed = max(2**-16 * max(known.abs().max(), 1), 4 * torchs)
                assert error <= allowed, f"{what}: {one}, torch {other}"


def special_inputs(program, rng, batched):
    """For each special number a row in which it stands, or an input where there are no rows."""
    # torch's own norms and gelu make NaN of infinity, even where the result is a number.
    special = [NAN] if re.search("(?i)norm|gelu", program.text) else SPECIAL
    special = special[:3] if program.text.startswith("Layers") else special
    calls = [program.inputs(rng, len(special)) for _ in ([0] if batched else special)]
    rows = calls[0][0] if batched else [inputs[0] for inputs in calls]
    for row, number in zip(rows, special, strict=True):
        flat = row.view(-1)
        for place in rng.sample(range(len(flat)), k=rng.randint(1, min(3, len(flat)))):
            flat[place] = number
    return calls


def strided(x):
    """The same numbers, each followed in memory by one that is not part of the tensor."""
    return torch.stack([x, torch.full_like(x, NAN)], dim=-1)[..., 0]


def with_offset(x):
    return torch.cat([torch.full((1,), NAN), x.reshape(-1)])[1:].view(x.shape)


def misaligned(x):
    """The same numbers at an address that four does not divide."""
    raw = bytearray(1) + x.numpy().tobytes()
    return torch.frombuffer(raw, dtype=torch.float32, offset=1).view(x.shape)


LAYOUTS = {f.__name__: f for f in (strided, with_offset, misaligned)}


# Layers of any width --------------------------------------------------------------------------

BETWEEN = [nn.ReLU, nn.Tanh, nn.Sigmoid, nn.Identity]


def check_layers(seed):
    """As `check_program`, for linear layers of any width, with something elementwise between.

    Numbers that are only large are left out: a layer may have a single result, in which they nearly
    cancel.
    """
    rng = random.Random(seed)
    widths = [rng.randrange(1, 71) for _ in range(rng.randrange(2, 6))]
    if rng.random() < 0.25:
        widths[rng.randrange(len(widths))] = rng.randrange(71, 1101)
    net = nn.Sequential()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        for k, m in pairwise(widths):
            net.extend([nn.Linear(k, m, bias=rng.random() < 0.7), rng.choice(BETWEEN)()])
    shape = rng.choice([(BATCH, widths[0])] * 4 + [(BATCH, 3, widths[0]), (widths[0],)])
    check(RandomProgram(f"Layers: {net}", net, [shape]), seed)


# What the passes are tried on ---------------------------------------------------------------


def number_function(seed):
    """A function of four numbers: shared and dead values, constants, results of any kind."""
    rng = random.Random(seed)
    names, lines = list("abcd"), []
    constants = ["1", "1.0", "True", "0.0", "-0.0", "2", "-3", "0.5", "1e308", "nan", "inf"]

    def operand():
        return rng.choice(constants) if rng.random() < 0.3 else rng.choice(names[-6:])

    for i in range(rng.randrange(1, 15)):
        name = rng.choice(names[-6:])
        kinds = [f"{operand()} {sign} {name}" for sign in "+-*/"] + [f"-{name}"]
        kinds += [f"{name} {sign} {operand()}" for sign in "+-*"]
        kinds += [line.partition(" = ")[2] for line in lines[-3:]]
        lines.append(f"v{i} = {rng.choice(kinds)}")
        names.append(f"v{i}")
    results = [names[-1], *rng.sample(names, k=rng.randrange(3))]
    lines.append("return " + (results[0] if len(results) == 1 else ", ".join(results)))
    text = "def numbers(a, b, c, d):\n" + "\n".join(f"    {line}" for line in lines)
    space = {"nan": NAN, "inf": INF}
    exec(compile(text, "<random function>", "exec"), space)
    return space["numbers"]


def tensor_program(seed):
    """A program of tensors and of a number `s`, which is the last argument."""
    rng = random.Random(seed)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return Writer(rng, layers=seed % 2 == 0, steps=20, number=True).program()


if __name__ == "__main__":
    count = int(sys.argv[1])
    for seed in range(count):
        check_program(seed)
        check_layers(seed)
    print(f"{count} of {count} random programs agree with torch, and as many layers of any width")
