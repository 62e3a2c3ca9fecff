"""The passes: each keeps the meaning of random graphs, does its job, and no more when repeated."""

import random
from functools import cache
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from random_programs import number_function, tensor_program
from torch import nn

from d2lhybrid import get_net, trace
from d2lhybrid.hybrid.passes import (
    LARGEST_KERNEL,
    drop_unused,
    fold_constants,
    fuse,
    optimize,
    plan_memory,
    share_common,
)

PASSES = [fold_constants, share_common, drop_unused, fuse, plan_memory]
NAN, INF = float("nan"), float("inf")
NUMBERS = [0, 1, -2, 3, True, 0.0, -0.0, 1.0, 0.1, -7.5, 1e308, 5e-324, INF, -INF, NAN]


def meaning(graph, values):
    """What it computes, to the last bit; or how it fails."""
    try:
        result = graph(*values)
    except ZeroDivisionError:
        return "ZeroDivisionError"
    results = result if graph.container else [result]
    bits = [r.numpy().tobytes() if isinstance(r, torch.Tensor) else repr(r) for r in results]
    return type(result), bits


def random_numbers(seed):
    """A graph of numbers, of which some are bound, and values for it."""
    rng = random.Random(seed)
    graph = trace(number_function(seed), 1, 2, 3, 4)
    bound = rng.sample("abcd", k=rng.randrange(5))
    graph = graph.bind(**{name: rng.choice(NUMBERS) for name in bound})
    return graph, [rng.choices(NUMBERS, k=len(graph.inputs)) for _ in range(10)]


def random_tensors(seed):
    """A graph of tensors and perhaps a bound number, and values for it."""
    rng = random.Random(seed)
    program = tensor_program(seed)
    graph = trace(program.net, *program.inputs(rng, 2), 1.5)
    values = [[*program.inputs(rng, batch), 0.5] for batch in (1, 3)]
    for place, special in enumerate([NAN, INF, -0.0, 1e30][: values[1][0].numel()]):
        values[1][0].view(-1)[place] = special
    if rng.random() < 0.7:
        return graph.bind(s=rng.choice([2, -0.5, 1, 1.0])), [inputs[:-1] for inputs in values]
    return graph, values


@cache
def random_graphs():
    """Graphs of numbers and graphs of tensors, each with values for it."""
    return [make(seed) for seed in range(8) for make in (random_numbers, random_tensors)]


def test_passes_keep_the_meaning_in_any_order_and_are_idempotent():
    rng = random.Random(0)
    for graph, values in random_graphs():
        with torch.no_grad():
            before = [meaning(graph, one) for one in values]
            for step in [*rng.choices([*PASSES, optimize], k=6), optimize]:
                changed = step(graph)
                after = [meaning(changed, one) for one in values]
                assert str(step(changed)) == str(changed), (step.__name__, graph)
                assert changed.inputs == graph.inputs
                for was, now in zip(before, after, strict=True):
                    assert now == was or was == "ZeroDivisionError", (step.__name__, graph)
                    if step not in (drop_unused, optimize):  # what is dropped cannot fail
                        assert now == was, (step.__name__, graph)
                graph, before = changed, after


def test_first_three_passes_leave_nothing_unused_foldable_or_duplicate():
    for graph, _ in random_graphs():
        done = drop_unused(share_common(fold_constants(graph)))
        assert all(done.readers[node] for node in done.nodes), graph
        for node in done.nodes:
            constant = node.is_operation and all(one.op == "constant" for one in node.inputs)
            assert not constant or node.op == "div", f"{node} was not folded"
        keys = [
            (node.op, node.inputs, repr(node.value) if node.shape is None else id(node.value))
            for node in done.nodes
        ]
        assert len(set(keys)) == len(keys), f"something is computed twice: {done}"


def equations(graph):
    return [line.strip() for line in str(graph).splitlines()[1:]]


def one(function, *examples, **bound):
    return trace(function, *(examples or (1, 2))).bind(**bound)


# Folding ------------------------------------------------------------------------------------

FOLDS = [  # function, what a is bound to, the equations that are left
    (lambda a, b: a + 1 + b, 2, ["v1 = add(3, b)", "return v1"]),
    (lambda a, b: b + a * 2 * 3 - a, 2, ["v1 = add(b, 12)", "v2 = sub(v1, 2)", "return v2"]),
    (lambda a, b: (a / 4, b), 1, ["return 0.25, b"]),
    (lambda a, b: -a, 0.0, ["return -0.0"]),
    (lambda a, b: -(a * -1), 1, ["return 1"]),
    (lambda a, b: a - a, INF, ["return nan"]),
    (lambda a, b: a / 0 + b, 1, ["v1 = div(1, 0)", "v2 = add(v1, b)", "return v2"]),
    (lambda a, b: 1.0 / a, -0.0, ["v1 = div(1.0, -0.0)", "return v1"]),
    (lambda a, b: a / 0 * 2, 1, ["v1 = div(1, 0)", "v2 = mul(v1, 2)", "return v2"]),
]


def test_fold_constants_on_examples():
    for function, a, left in FOLDS:
        assert equations(drop_unused(fold_constants(one(function, a=a)))) == left


def test_what_fails_is_left_to_fail_at_run_time():
    graph = optimize(one(lambda a, b: 1 / a, a=0))
    with pytest.raises(ZeroDivisionError):
        graph(1)


def test_what_no_number_can_do_is_left_to_fail_at_run_time():
    graph = optimize(one(lambda a, b: torch.exp(a) * b, a=1.0))
    with pytest.raises(TypeError):
        graph(1)


def test_parameters_are_not_folded():
    weight = nn.Parameter(torch.ones(4))
    graph = fold_constants(trace(lambda x, a: x + weight * a, torch.ones(4), 1).bind(a=2))
    assert [node.op for node in graph.nodes if node.is_operation] == ["mul", "add"]
    with torch.no_grad():
        weight += 1
        assert graph(torch.zeros(4)).tolist() == [4] * 4


# Sharing ------------------------------------------------------------------------------------

SHARED = [  # function of a and b, how many operations are left
    (lambda a, b: (a + b) * (a + b), 2),
    (lambda a, b: (a + b) * (b + a), 3),
    (lambda a, b: -(a - b) + -(a - b), 3),
    (lambda a, b: (a + 1) * (a + 1.0), 3),
    (lambda a, b: (a + 1) * (a + True), 3),
    (lambda a, b: (a + 1.0) * (a + True), 3),
    (lambda a, b: (a * 0.0) + (a * -0.0), 3),
    (lambda a, b: (a * 0) + (a * 0.0), 3),
    (lambda a, b: (a + NAN) * (a + NAN), 2),
    (lambda a, b: (a + 1) * (a + 1) * (b + 1), 4),
    (lambda a, b: (a + b, a + b), 1),
    (lambda a, b: (a + b) - (a - b), 3),
]


def test_share_common_on_examples():
    for function, left in SHARED:
        graph = share_common(one(function))
        assert len([node for node in graph.nodes if node.is_operation]) == left
        assert repr(graph(2, 3)) == repr(function(2, 3))


def test_a_parameter_is_shared_by_identity():
    one, other = nn.Parameter(torch.ones(4)), nn.Parameter(torch.ones(4))
    graph = share_common(trace(lambda x: x * one + x * one + x * other, torch.ones(4)))
    assert [node.op for node in graph.nodes].count("mul") == 2


# Dropping -----------------------------------------------------------------------------------


def test_dropping_what_no_output_needs():
    def function(a, b):
        dead = a * 3
        deader = dead + dead
        return a + b, deader if b is None else a

    graph = drop_unused(one(function))
    assert equations(graph) == ["v1 = add(a, b)", "return v1, a"]
    assert len(graph.nodes) == 1


def test_inputs_stay_even_if_they_are_not_read():
    graph = optimize(one(lambda a, b: b))
    assert str(graph) == "program(a, b):\n    return b"
    assert graph(1, 2) == 2


# Fusing -------------------------------------------------------------------------------------


def stored(graph):
    return [node for node in graph.nodes if node.is_operation and not node.fused]


def parts(node):
    """The operations that are computed together with a stored one, itself among them."""
    return [node] + [part for source in node.inputs if source.fused for part in parts(source)]


def read_by(node):
    """What a stored operation and all that is fused into it read from memory."""
    return [source for part in parts(node) for source in part.inputs if not source.fused]


def test_what_is_fused_is_read_once_and_alike():
    for graph, _ in random_graphs():
        graph = fuse(graph)
        reads = [source for node in graph.nodes for source in node.inputs]
        for node in graph.nodes:
            if node.fused:
                assert node.is_operation, graph
                assert (reads + list(graph.outputs)).count(node) == 1, graph
                reader = next(one for one in graph.nodes if node in one.inputs)
                assert reader.op != "linear", graph
                assert reader.shape == node.shape, graph
        for node in stored(graph):
            assert [part.op for part in parts(node)].count("linear") <= 1, graph
            assert len(parts(node)) <= LARGEST_KERNEL, graph
        together = sum(len(parts(node)) for node in stored(graph))
        assert together == sum(node.is_operation for node in graph.nodes), graph


W, B, X, COLUMN = torch.ones(4, 4), torch.ones(4), torch.ones(2, 4), torch.ones(2, 1)
FUSED = [  # function of x and y, the equations that store something
    (lambda x, y: x + y, ["v1 = add(x, y)"]),
    (lambda x, y: -(x + y) * y, ["v3 = mul(neg(add(x, y)), y)"]),
    (lambda x, y: (x + y) * (x - y), ["v3 = mul(add(x, y), sub(x, y))"]),
    (
        lambda x, y: F.linear(x, W, B) + F.linear(y, W, B),
        ["v4 = linear(y, v1, v2)", "v5 = add(linear(x, v1, v2), v4)"],
    ),
    (lambda x, y: F.linear(torch.relu(x), W), ["v1 = relu(x)", "v3 = linear(v1, v2)"]),
    (lambda x, y: [z := x + y, z * y], ["v1 = add(x, y)", "v2 = mul(v1, y)"]),
    (lambda x, y: (z := torch.exp(x)) * z, ["v1 = exp(x)", "v2 = mul(v1, v1)"]),
    (lambda x, y: (z := -x) + y * z, ["v1 = neg(x)", "v3 = add(v1, mul(y, v1))"]),
]


def test_fuse_on_examples():
    for function, expected in FUSED:
        lines = [line.split(": float32[n, 4]") for line in equations(fuse(trace(function, X, X)))]
        assert ["".join(line) for line in lines if len(line) == 2] == expected


def test_what_is_stretched_is_not_computed_again_for_each_number():
    graph = fuse(trace(lambda x, y: x * torch.exp(y), X, COLUMN))
    assert [node.op for node in stored(graph)] == ["exp", "mul"]


def test_two_layers_are_never_fused_not_even_through_others():
    def function(x):
        return torch.tanh(F.linear(x, W) * 2) + torch.relu(-F.linear(x, W, B))

    graph = fuse(trace(function, X))
    assert len(stored(graph)) == 2


def test_a_long_chain_is_cut():
    def function(x):
        for _ in range(100):
            x = torch.tanh(x)
        return x

    graph = optimize(trace(function, X))
    sizes = [len(parts(node)) for node in stored(graph)]
    assert sum(sizes) == 100
    assert max(sizes) <= LARGEST_KERNEL
    assert len(sizes) <= 5


# Planning memory ----------------------------------------------------------------------------


def check_plan(graph):
    """Run through the plan: what is read must still be there, in a slot that is large enough."""
    memory, sizes = {}, graph.slot_sizes
    for node in stored(graph):
        sources = [source for source in read_by(node) if source.is_operation]
        for source in sources:
            if source not in graph.outputs:
                assert memory[source.slot] is source, "overwritten while it was to be read"
        if node in graph.outputs:
            assert node.slot is None, "a result is not for us to overwrite"
            continue
        assert node.slot not in [source.slot for source in sources], "overwritten while it is read"
        memory[node.slot] = node
        if node.shape is not None:
            assert all(room >= size for room, size in zip(sizes[node.slot], node.size, strict=True))
    assert all(node.slot is None for node in graph.nodes if node not in stored(graph))
    return len(memory)


def test_no_value_is_overwritten_while_it_is_to_be_read():
    for graph, _ in random_graphs():
        for before in (graph, drop_unused(graph), fuse(graph), fuse(drop_unused(graph))):
            after = plan_memory(before)
            check_plan(after)
            for batch in (0, 1, 5):
                assert after.memory_bytes(batch) <= before.memory_bytes(batch), before


def layers(*widths):
    return nn.Sequential(*[nn.Linear(k, m) for k, m in pairwise(widths)])


def test_a_deep_chain_needs_two_slots():
    graph = optimize(trace(layers(*[8] * 20), torch.ones(2, 8)))
    assert check_plan(graph) == 2
    assert graph.memory_bytes(3) == 2 * 8 * 4 * 3


def test_memory_of_the_courses_network():
    graph = drop_unused(trace(get_net(), torch.ones(1, 512)))
    assert graph.memory_bytes() == (256 + 256 + 128 + 128) * 4
    assert fuse(graph).memory_bytes() == (256 + 128) * 4
    assert optimize(graph).memory_bytes() == (256 + 128) * 4
    assert optimize(graph).memory_bytes(batch=10) == 10 * (256 + 128) * 4


def test_what_has_no_batch_is_counted_once():
    def function(x, y):
        z = torch.exp(y)
        return x * z + torch.tanh(z)

    graph = plan_memory(fuse(trace(function, torch.ones(2, 4), torch.ones(4))))
    assert [node.op for node in stored(graph)] == ["exp", "tanh", "add"]
    assert graph.memory_bytes(1) == graph.memory_bytes(100) == 2 * 4 * 4


def test_a_value_stays_until_its_last_reader():
    def function(x, y):
        first = F.linear(x, W)
        second = F.linear(first, W)
        third = F.linear(second, W)
        return F.linear(third + first, W)

    graph = optimize(trace(function, X, X))
    assert check_plan(graph) == 3
